/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_time.h"

#include "preload/kernel_clock.h"
#include "thread.h"

#include <stddef.h>
#include <sys/syscall.h>

enum {
	NUMBERS = 512, /* of system calls; a higher one shares */
	EMULATED_NS = 300, /* that the emulator may need more for one call than for another */
};

static const int left_out[] = { SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_brk,
	SYS_madvise, SYS_futex, SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_execve,
	SYS_execveat, SYS_prctl, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
	SYS_sched_yield,
	/* What the recorder asks in the program. */
	SYS_getrusage, SYS_clock_gettime };

static bool is_left_out(int64_t number)
{
	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		if (left_out[i] == number)
			return true;
	return false;
}

/* Of all calls, and of those of a number, the shortest so far, 0: none. A program may make long ones only. */
static uint64_t least_ns, least_of[NUMBERS];

/* Another thread's may be lost: it comes again. */
static void note_least(uint64_t *least, uint64_t ns)
{
	uint64_t before = __atomic_load_n(least, __ATOMIC_RELAXED);
	if (before == 0 || ns < before)
		__atomic_store_n(least, ns, __ATOMIC_RELAXED);
}

/* Beyond a call that does nothing, with what the emulator does about each: as little as any of this kind, if that is not much. */
static uint64_t beyond_least(int64_t number, uint64_t ns)
{
	uint64_t *least = &least_of[number < NUMBERS ? number : NUMBERS - 1];
	note_least(&least_ns, ns);
	note_least(least, ns);
	uint64_t most = __atomic_load_n(&least_ns, __ATOMIC_RELAXED) + EMULATED_NS;
	uint64_t nothing = __atomic_load_n(least, __ATOMIC_RELAXED);
	if (nothing > most)
		nothing = most;
	return ns > nothing ? ns - nothing : 0;
}

void kernel_call_begin(struct thread *thread, int64_t number, bool is_program)
{
	if (!thread)
		return;
	struct kernel_call *call = &thread->kernel_call;
	call->number = is_program && !is_left_out(number) ? number : -1;
	if (call->number < 0)
		return;
	call->sleeps = kernel_sleeps();
	call->cpu_ns = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t kernel_call_end(struct thread *thread, int64_t number)
{
	if (!thread || number < 0 || thread->kernel_call.number != number)
		return 0;
	struct kernel_call *call = &thread->kernel_call;
	uint64_t ns = beyond_least(number, kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID) - call->cpu_ns);
	call->number = -1;
	if (!thread->last_sum || kernel_sleeps() != call->sleeps)
		return 0;
	thread->last_sum->counts.system_calls++;
	thread->last_sum->counts.system_ns += ns;
	return ns;
}
