/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include "profiled.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAS_RSEQ 1
#endif

enum {
	/* A voluntary switch inside a system call may not clear rseq_cs on every kernel. */
	QUIET_NS = 100000,
	/* Where it does, the two clocks only drift: by interrupts, say. */
	QUIET_WHERE_SHOWN_NS = 10000000,
	/* Without rseq: no preemption is shorter, and a reading costs a tenth of it. */
	QUIET_WITHOUT_RSEQ_NS = 5000,
	/* Longer than to give back what others sleep for, shorter than their turns on the core. */
	GIVING_BACK_NS = 50000,
};

struct run_clock run_clock;
bool kernel_shows_sleep;

uint64_t clock_asked_ns(void)
{
#ifdef __x86_64__
	if (profiled_page) {
		struct timespec now = { 0 };
		long number = SYS_clock_gettime; /* in: the call, out: its status, which is 0 */
		__asm__ volatile("syscall"
				 : "+a"(number)
				 : "D"(CLOCK_MONOTONIC), "S"(&now)
				 : "rcx", "r11", "memory");
		return timespec_ns(&now);
	}
#endif
	return kernel_clock_ns(CLOCK_MONOTONIC);
}

#ifdef HAS_RSEQ
/*
 * A critical section of one byte that nobody ever runs. The kernel wants the signature in front of
 * the abort address, which is never jumped to.
 */
static const struct {
	char section[16];
	uint32_t signature;
	char abort[12];
} never_run __attribute__((aligned(16))) = { .signature = 0x53053053 };

static const struct {
	uint32_t version, flags;
	uint64_t start, length, abort;
} descriptor __attribute__((aligned(32))) = {
	.start = (uintptr_t)never_run.section,
	.length = 1,
	.abort = (uintptr_t)never_run.abort,
};

/* C libraries before 2.35 have none of these. */
extern __typeof__(__rseq_offset) __rseq_offset __attribute__((weak));
extern __typeof__(__rseq_size) __rseq_size __attribute__((weak));

static volatile uint64_t *rseq_cs(void)
{
	if (!&__rseq_size || !&__rseq_offset || __rseq_size == 0)
		return NULL;
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	return (volatile uint64_t *)&area->rseq_cs;
}
#else
static volatile uint64_t *rseq_cs(void)
{
	return NULL;
}
#endif

/*
 * A program with critical sections of its own is not disturbed: it stores its descriptor at the
 * start of each, and calls nobody inside; what stands there when we are called is left over.
 */
static void arm(struct cpu_clock *clock)
{
	if (clock->witness != &clock->armed)
		*(volatile uint64_t *)clock->witness = clock->armed;
}

/* Never what is armed: the clock is always asked. */
static const uint64_t never_armed;

void cpu_clock_start(struct cpu_clock *clock, const volatile uint64_t *counted)
{
	volatile uint64_t *cs = rseq_cs();
	*clock = (struct cpu_clock){ .quiet_ns = QUIET_WITHOUT_RSEQ_NS, .counted = counted };
	clock->witness = &clock->armed;
	if (counted) {
		clock->witness = &never_armed;
		clock->armed = 1;
	}
#ifdef HAS_RSEQ
	if (cs && !counted) {
		clock->witness = cs;
		clock->armed = (uintptr_t)&descriptor;
		clock->shows_sleep = kernel_shows_sleep;
		clock->quiet_ns = clock->shows_sleep ? QUIET_WHERE_SHOWN_NS : QUIET_NS;
	}
#endif
	clock->seen_ns = clock_ns();
	(void)cpu_clock_read(clock, clock->seen_ns);
}

/* The section stays away, which costs the kernel time at the next switch: a wait follows, and that sets the clock. */
static void put_off(struct cpu_clock *clock, uint64_t now_ns, uint64_t cpu_ns)
{
	clock->readings++;
	clock->lead_ns = cpu_ns - now_ns;
	clock->seen_ns = now_ns;
}

void cpu_clock_set(struct cpu_clock *clock, uint64_t now_ns, uint64_t cpu_ns)
{
	arm(clock);
	clock->estimates++;
	put_off(clock, now_ns, cpu_ns);
}

#ifdef HAS_RSEQ
/* The kernel has looked at the section: nothing stands there any more. */
static bool shows_a_sleep(volatile uint64_t *cs)
{
	const struct timespec moment = { .tv_nsec = 1 };
	*cs = (uintptr_t)&descriptor;
	(void)syscall(SYS_nanosleep, &moment, NULL); /* else nothing is shown */
	return *cs != (uintptr_t)&descriptor;
}

bool cpu_clock_try_sleep(void)
{
	volatile uint64_t *cs = rseq_cs();
	return cs && shows_a_sleep(cs) && shows_a_sleep(cs);
}
#else
bool cpu_clock_try_sleep(void)
{
	return false;
}
#endif

uint64_t cpu_clock_read(struct cpu_clock *clock, uint64_t now_ns)
{
	if (clock->puts_off) {
		put_off(clock, now_ns, clock->seen_ns + clock->lead_ns);
		return now_ns;
	}
	if (clock->counted) {
		cpu_clock_count(clock, now_ns);
		return now_ns;
	}
	clock->readings++;
	clock->behind_ns = 0;
	clock->estimates = 0;
	arm(clock); /* first: a switch from here on is seen the next time */
	/* Before the system call, at whose return the kernel likes to give the core away. */
	uint64_t time_ns = clock_ns();
	clock->lead_ns = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID) - time_ns;
	return time_ns;
}

void cpu_clock_after(struct cpu_clock *clock, uint64_t now_ns)
{
	if (clock->seen_ns == now_ns || clock->counted || !cpu_clock_is_stale(clock, now_ns))
		return; /* it was known before */
	uint64_t time_ns = cpu_clock_read(clock, now_ns);
	clock->seen_ns = now_ns;
	/* If it lost its core in between, its own time since then is that of giving back. */
	uint64_t given_ns = time_ns - now_ns > GIVING_BACK_NS ? time_ns : now_ns;
	uint64_t cpu_ns = given_ns + clock->lead_ns;
	/* Kept at once: if the reading cost it its core, the next one tells nothing of the time before. */
	if ((int64_t)(cpu_ns - clock->cpu_ns) > 0)
		clock->cpu_ns = cpu_ns;
}

uint64_t cpu_clock_real_ns(struct cpu_clock *clock, uint64_t now_ns)
{
	if (clock->counted)
		return kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	(void)cpu_clock_at(clock, now_ns);
	return now_ns + clock->lead_ns;
}
