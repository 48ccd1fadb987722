/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel_time.h"

#include "preload/call_trials.h"
#include "preload/kernel_clock.h"
#include "thread.h"

#include <stddef.h>
#include <sys/syscall.h>

enum {
	NUMBERS = 512, /* of system calls; a higher one shares */
	EMULATED_NS =
		300, /* without trials: that the emulator may need more for one call than another */
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

static size_t index_of(int64_t number)
{
	return number >= 0 && number < NUMBERS ? (size_t)number : NUMBERS - 1;
}

/* Times of one call's trials, in order. */
struct trial {
	uint64_t ns[CALL_TRIALS];
	unsigned count;
};

static struct {
	bool are_on, are_over;
	uint64_t begin_ns;
	struct trial emulated[NUMBERS], native[NUMBERS];
	uint64_t added_ns; /* to a call that was not tried */
} trials;

static void add_trial(struct trial *trial, uint64_t ns)
{
	unsigned i = trial->count;
	if (i == CALL_TRIALS)
		return;
	trial->count++;
	for (; i > 0 && trial->ns[i - 1] > ns; i--)
		trial->ns[i] = trial->ns[i - 1];
	trial->ns[i] = ns;
}

/* 0: there was none. */
static uint64_t median_of(const struct trial *trial)
{
	return trial->ns[trial->count / 2];
}

void kernel_trials_begin(void)
{
	trials.are_on = true;
}

static long make_native(long number, long a, long b, long c, long d)
{
	uint64_t begin_ns = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	long result = syscall(number, a, b, c, d, 0, 0);
	uint64_t end_ns = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	add_trial(&trials.native[index_of(number)], end_ns - begin_ns);
	return result;
}

static bool is_tried(size_t index)
{
	return trials.emulated[index].count > 0 && trials.native[index].count > 0;
}

/* That the emulator adds to such calls. */
static uint64_t added(size_t index)
{
	uint64_t emulated = median_of(&trials.emulated[index]);
	uint64_t native = median_of(&trials.native[index]);
	if (!is_tried(index))
		return trials.added_ns;
	return emulated > native ? emulated - native : 0;
}

void kernel_trials_end(void)
{
	uint64_t sum = 0, count = 0;
	trials.are_on = false;
	call_trials(make_native);
	for (size_t i = 0; i < NUMBERS; i++) {
		sum += is_tried(i) ? added(i) : 0;
		count += is_tried(i);
	}
	trials.added_ns = count > 0 ? sum / count : 0;
	trials.are_over = count > 0;
}

/* Where there were no trials: of all calls, and of those of a number, the shortest so far. A program may make long ones only. */
static uint64_t least_ns, least_of[NUMBERS];

/* Another thread's may be lost: it comes again. */
static void note_least(uint64_t *least, uint64_t ns)
{
	uint64_t before = __atomic_load_n(least, __ATOMIC_RELAXED);
	if (before == 0 || ns < before)
		__atomic_store_n(least, ns, __ATOMIC_RELAXED);
}

/* What a call takes at the least, with what the emulator does about each: as little as any of this kind, if that is not much. */
static uint64_t seen_least(int64_t number, uint64_t ns)
{
	uint64_t *least = &least_of[index_of(number)];
	note_least(&least_ns, ns);
	note_least(least, ns);
	uint64_t most = __atomic_load_n(&least_ns, __ATOMIC_RELAXED) + EMULATED_NS;
	uint64_t nothing = __atomic_load_n(least, __ATOMIC_RELAXED);
	return nothing < most ? nothing : most;
}

/* Beyond a call that does nothing. */
static uint64_t beyond_least(int64_t number, uint64_t ns)
{
	uint64_t nothing =
		trials.are_over ? median_of(&trials.native[SYS_getppid]) + added(index_of(number))
				: seen_least(number, ns);
	return ns > nothing ? ns - nothing : 0;
}

void kernel_call_begin(struct thread *thread, int64_t number, bool is_program)
{
	if (trials.are_on) {
		trials.begin_ns = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		return;
	}
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
	if (trials.are_on) {
		add_trial(&trials.emulated[index_of(number)],
			kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID) - trials.begin_ns);
		return 0;
	}
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
