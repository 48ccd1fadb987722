/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/run_clock.h"

#include "base/clock.h"
#include "base/readfile.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	MEASURE_NS = 20000000, /* an error of 20 ns is then a millionth */
	ATTEMPTS = 50, /* at a reading that nothing interrupts */
	SHIFT = 31,
};

struct moment {
	uint64_t ticks, ns;
};

#ifdef __x86_64__

#include <cpuid.h>

static bool counter_is_invariant(void)
{
	enum { POWER_LEAF = 0x80000007, INVARIANT = 1 << 8 };
	unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
	return __get_cpuid(POWER_LEAF, &eax, &ebx, &ecx, &edx) && edx & INVARIANT;
}

/* Whether the time is worked out in the process itself: where the counters of the cores differ it is a system call. */
static bool time_needs_no_call(void)
{
	uint64_t call_ticks = UINT64_MAX, time_ticks = UINT64_MAX;
	for (int i = 0; i < ATTEMPTS; i++) {
		uint64_t start = __builtin_ia32_rdtsc();
		(void)syscall(SYS_getppid);
		uint64_t called = __builtin_ia32_rdtsc();
		(void)clock_now_ns(CLOCK_MONOTONIC);
		uint64_t end = __builtin_ia32_rdtsc();
		call_ticks = called - start < call_ticks ? called - start : call_ticks;
		time_ticks = end - called < time_ticks ? end - called : time_ticks;
	}
	return time_ticks < call_ticks;
}

/*
 * The kernel itself keeps time by the counter only when it found it to be invariant and the same
 * on all cores. Hypervisors' clocks are this counter, too, with a factor of the host's; processes work it out themselves only if the
 * host promises that the counter is the same on all cores.
 */
bool run_clock_is_steady(void)
{
	char source[32] = ""; /* none where the kernel does not say */
	(void)readfile_line("", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		source, sizeof source);
	bool is_hosts = strcmp(source, "kvm-clock") == 0 ||
			strcmp(source, "hyperv_clocksource_tsc_page") == 0;
	return strcmp(source, "tsc") == 0 ||
	       (is_hosts && counter_is_invariant() && time_needs_no_call());
}

/* Both clocks at once: the attempt that took least. */
static struct moment read_both(void)
{
	struct moment best = { 0 };
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < ATTEMPTS; i++) {
		uint64_t before = __builtin_ia32_rdtsc();
		uint64_t ns = clock_now_ns(CLOCK_MONOTONIC);
		uint64_t took = __builtin_ia32_rdtsc() - before;
		if (took >= least)
			continue;
		least = took;
		best = (struct moment){ before + took / 2, ns };
	}
	return best;
}

void run_clock_measure(struct trace_header *header)
{
	if (!run_clock_is_steady())
		return;
	struct moment start = read_both();
	const struct timespec pause = { .tv_nsec = MEASURE_NS };
	(void)nanosleep(&pause, NULL); /* a shorter one is less precise, no more */
	struct moment end = read_both();
	if (end.ticks <= start.ticks || end.ns <= start.ns)
		return;
	double mult = (double)(end.ns - start.ns) / (double)(end.ticks - start.ticks) *
		      (double)(1ull << SHIFT);
	if (mult < 1 || mult > UINT32_MAX)
		return;
	header->clock_base_ticks = start.ticks;
	header->clock_base_ns = start.ns;
	header->clock_mult = (uint32_t)(mult + 0.5);
	header->clock_shift = SHIFT;
}

#else

bool run_clock_is_steady(void)
{
	return true; /* of all others that there are programs for, arm64 */
}

void run_clock_measure(struct trace_header *header)
{
	(void)header;
}

#endif
