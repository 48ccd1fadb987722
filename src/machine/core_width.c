/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/core_width.h"

#include "machine/chain.h"
#include "machine/speed_clock.h"

enum {
	TRIES = 4, /* an interrupt makes one too long */
	CHAIN = 2000,
	GROUPS = 1000,
	GROUP = 8, /* more than a core adds in a cycle */
};

/* Returns ns. */
static double add_apart(void)
{
	uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, step = 1;
	double began_ns = speed_now_ns();
	for (int i = 0; i < GROUPS; i++) {
#if defined(__x86_64__)
		__asm__ volatile(
			"add %8, %0\n\tadd %8, %1\n\tadd %8, %2\n\tadd %8, %3\n\t"
			"add %8, %4\n\tadd %8, %5\n\tadd %8, %6\n\tadd %8, %7"
			: "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
			: "r"(step)
			: "cc");
#elif defined(__aarch64__)
		__asm__ volatile(
			"add %0, %0, %8\n\tadd %1, %1, %8\n\tadd %2, %2, %8\n\t"
			"add %3, %3, %8\n\tadd %4, %4, %8\n\tadd %5, %5, %8\n\t"
			"add %6, %6, %8\n\tadd %7, %7, %8"
			: "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
			: "r"(step));
#endif
	}
	return speed_now_ns() - began_ns;
}

struct core_look core_look(void)
{
	double chain_ns = 0, apart_ns = 0;
	for (int i = 0; i < TRIES; i++) {
		chain_ns = speed_least(chain_ns, chain_run_ns(CHAIN));
		apart_ns = speed_least(apart_ns, add_apart());
	}
	double cycles_a_ns = CHAIN_CYCLES * (double)CHAIN / chain_ns;
	if (cycles_a_ns <= 0)
		return (struct core_look){ 0 };
	return (struct core_look){ GROUPS * (double)GROUP / apart_ns / cycles_a_ns,
		cycles_a_ns * 1e9 };
}
