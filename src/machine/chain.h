/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A chain of instructions each of which waits for the one before: the clock of the core. Multiplications take 3 cycles on
 * every x86-64 of the last ten years, additions of registers 1 on Arm's.
 */
#ifndef MACHINE_CHAIN_H
#define MACHINE_CHAIN_H

#include "machine/speed_clock.h"

#include <stdint.h>

#if defined(__x86_64__)
#define CHAIN_CYCLES 3
#elif defined(__aarch64__)
#define CHAIN_CYCLES 1
#else
#define CHAIN_CYCLES 0 /* not known */
#endif

/* So many, which go on with `value`. */
static inline uint64_t chain_links(uint64_t value, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
#if defined(__x86_64__)
		__asm__ volatile("imul %0, %0" : "+r"(value) : : "cc");
#elif defined(__aarch64__)
		__asm__ volatile("add %0, %0, %0" : "+r"(value));
#endif
	}
	return value;
}

/* The time of so many, in ns. */
static inline double chain_run_ns(unsigned count)
{
	double began_ns = speed_now_ns();
	(void)chain_links(3, count);
	return speed_now_ns() - began_ns;
}

#endif
