/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast this machine's caches and memory are, measured. Latencies are of loads whose address is
 * the result of the load before, at random in sets on huge pages where the kernel gives them; rates are of reading a
 * word of each line of four arrays side by side, on pages as programs get them. What could not be measured is 0.
 */
#ifndef MACHINE_MEMORY_SPEED_H
#define MACHINE_MEMORY_SPEED_H

#include "base/err.h"
#include "machine/machine.h"
#include "machine/memory_curve.h"

enum { MEMORY_PAGED = 2 };

struct memory_speed {
	/* memory_curve.h's; of the first two levels the latency is that of a chain of pointers. */
	struct memory_levels levels;
	double lifetime_ns; /* memory_curve_lifetime() of the last level */
	double spread; /* of memory's latency, what is another time each time (memory_curve_spread()) */
	double level_bytes_per_s; /* that one core streams from the last level */
	double kept; /* memory_curve_kept() of a quarter more than the last level has room for */
	double core_bytes_per_s; /* that one core streams from memory */
	double bytes_per_s; /* that all usable cores together do, on huge pages */
	/* What loads at random in a set of small pages take longer for it, so many that the TLB has no place for them. */
	struct {
		uint64_t bytes;
		double more_ns;
	} paged[MEMORY_PAGED];
	double fault_ns; /* of the first touch of 4 KiB of fresh memory, and of giving it back */
};

/* Levels and their lifetime, up to three seconds of many short rounds. 0 or -ENOMEM. */
int memory_levels_measure(const struct machine *machine, struct memory_speed *ret, struct err *err);

/* All else, for levels that are known: a second. */
void memory_rates_measure(const struct machine *machine, struct memory_speed *ret);

#endif
