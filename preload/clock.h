/* SPDX-License-Identifier: MIT */
/*
 * Two clocks: the run's, which all its processes share, and a thread's own CPU time.
 *
 * The run's clock is the processor's counter where the trace file says how to turn it into ns
 * (10 ns a reading), else clock_gettime() (20 to 30 ns).
 *
 * Reading a thread's CPU clock is a system call (250 to 450 ns). As long as the thread keeps its
 * core both clocks advance alike, so it is read only when the thread may have lost it. The kernel
 * tells by rseq: it clears the thread's rseq_cs pointer at every switch and migration. Without
 * rseq, and for what it does not tell, a time in which a thread recorded nothing does.
 *
 * In a profiled program (profile_page.h) an instruction is 1 ns of CPU time. Then the two clocks have nothing
 * to do with one another, and the CPU clock is read for every row. The C library's clock_gettime() would be counted as the
 * program's own work there: its instructions are not the recorder's.
 */
#ifndef PRELOAD_CLOCK_H
#define PRELOAD_CLOCK_H

#include "kernel_clock.h"
#include "trace_record.h"

#include <stdbool.h>
#include <stdint.h>

struct run_clock {
	uint64_t base_ticks, base_ns;
	uint32_t mult, shift; /* mult 0: clock_gettime() */
};

extern __attribute__((visibility("hidden"))) struct run_clock run_clock;
extern __attribute__((visibility("hidden"))) bool kernel_shows_sleep; /* cpu_clock_try_sleep() */

/* CLOCK_MONOTONIC, as the kernel says. */
__attribute__((visibility("hidden"))) uint64_t clock_asked_ns(void);

/* CLOCK_MONOTONIC, as the run counts it. */
static inline uint64_t clock_ns(void)
{
#ifdef __x86_64__
	if (__builtin_expect(run_clock.mult != 0, 1)) {
		__extension__ typedef unsigned __int128 wide;
		uint64_t ticks = __builtin_ia32_rdtsc() - run_clock.base_ticks;
		return run_clock.base_ns +
		       (uint64_t)((wide)ticks * run_clock.mult >> run_clock.shift);
	}
#endif
	return clock_asked_ns();
}

/* The next reading is no earlier than what comes before it: else the processor may read its counter ahead of that. */
static inline void clock_order(void)
{
#ifdef __x86_64__
	__builtin_ia32_lfence();
#endif
}

/* A thread's CPU time, as far as it is known. */
struct cpu_clock {
	const volatile uint64_t *witness; /* holds `armed` while the thread keeps its core */
	uint64_t armed;
	uint64_t quiet_ns; /* after longer silence the clock is read in any case */
	uint64_t seen_ns; /* when it was last asked */
	uint64_t lead_ns; /* CPU time less the run's clock, modulo 2^64 */
	uint64_t cpu_ns; /* the last answer: it never falls */
	int64_t behind_ns; /* what it is known to be behind the kernel's, where waits are estimated */
	uint32_t estimates; /* since the kernel was asked */
	uint32_t readings; /* of the kernel's clock, so far, or put off */
	bool shows_sleep; /* a thread that slept is seen like one that lost its core */
	bool puts_off; /* does not read: until it does so again, it stands still where it would have */
	const volatile uint64_t *counted; /* instructions of a profiled thread; NULL: it is not */
};

/* When a thread starts, and in the child of a fork. counted: as in struct cpu_clock. */
void cpu_clock_start(struct cpu_clock *clock, const volatile uint64_t *counted);

/* For answers from now_ns on. Returns the instant of the reading: if the thread lost its core since now_ns, that was before it. */
uint64_t cpu_clock_read(struct cpu_clock *clock, uint64_t now_ns);

/* From here on it goes on from this time, an estimate, without a reading. */
void cpu_clock_set(struct cpu_clock *clock, uint64_t now_ns, uint64_t cpu_ns);

/*
 * Whether the kernel shows a thread that sleeps as one that loses its core: not all do. Sleeps twice; false
 * where that did not tell.
 */
bool cpu_clock_try_sleep(void);

/* In real ns, also of a profiled thread. It falls where an estimate before was too high. */
uint64_t cpu_clock_real_ns(struct cpu_clock *clock, uint64_t now_ns);

/* True if the thread has kept its core since the clock was last asked or set: it did not sleep either. */
static inline bool cpu_clock_is_awake(const struct cpu_clock *clock)
{
	return clock->shows_sleep && *clock->witness == clock->armed;
}

/* True if the thread may have lost its core since the last time. */
static inline bool cpu_clock_is_stale(const struct cpu_clock *clock, uint64_t now_ns)
{
	return *clock->witness != clock->armed || now_ns - clock->seen_ns > clock->quiet_ns;
}

/* What has been counted until now, of a profiled thread. */
static inline void cpu_clock_count(struct cpu_clock *clock, uint64_t now_ns)
{
	clock->lead_ns = *clock->counted + 1 - now_ns; /* 0 is unknown */
}

/* CPU time of the calling thread, which owns the clock, at an instant just past. */
static inline uint64_t cpu_clock_at(struct cpu_clock *clock, uint64_t now_ns)
{
	if (__builtin_expect(
		    *clock->witness != clock->armed || now_ns - clock->seen_ns > clock->quiet_ns,
		    0)) {
		if (clock->counted)
			cpu_clock_count(clock, now_ns);
		else
			(void)cpu_clock_read(clock, now_ns);
	}
	clock->seen_ns = now_ns;
	uint64_t cpu_ns = now_ns + clock->lead_ns;
	if ((int64_t)(cpu_ns - clock->cpu_ns) > 0)
		clock->cpu_ns = cpu_ns;
	return clock->cpu_ns;
}

/*
 * Two halves of cpu_clock_at(), for who gives back at now_ns what others wait for: the system call may cost it its
 * core, which it must not lose while they wait. Nothing may be asked between the two; the first is for before, if
 * it costs no call.
 */
static inline void cpu_clock_before(struct cpu_clock *clock, uint64_t now_ns)
{
	if (clock->counted || !cpu_clock_is_stale(clock, now_ns))
		(void)cpu_clock_at(clock, now_ns);
}

/* At now_ns, or when it lost its core just after that. */
void cpu_clock_after(struct cpu_clock *clock, uint64_t now_ns);

#endif
