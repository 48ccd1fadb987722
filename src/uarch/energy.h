/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The energy of a run on a processor with a power model (struct power of processor.h): leakage of its cores and of
 * what is beside them for as long as the program runs, C V^2 for each cycle's worth of dispatch slots used, a share
 * of that for cycles unused (stalls, idle cores), and a price for each line from memory. V follows the frequency
 * between the pairs that the machine file has. (Butts and Sohi, "A static power model for architects", MICRO 2000;
 * activity by dispatched micro-operations as a stand-in for per-unit activity.)
 */
#ifndef UARCH_ENERGY_H
#define UARCH_ENERGY_H

#include "uarch/processor.h"

#include <stdbool.h>

/* What a run did. */
struct energy_use {
	double seconds; /* from start to end */
	uint32_t cores; /* powered; those that wait cost, too */
	double uops; /* dispatched, by all cores: core_result.uops times instructions */
	double memory_lines; /* to and from memory */
};

struct energy {
	double static_j, dynamic_j, uncore_j, memory_j; /* J */
	double total_j;
	double edp_js; /* energy-delay product: J s */
};

bool energy_is_known(const struct processor *processor);

/* V at a frequency: between the pairs of the file on a straight line, beyond them as the nearest. 0: no power model. */
double energy_volts(const struct power *power, double hz);

/* All 0 if the processor has no power model. */
struct energy energy_of(const struct processor *processor, const struct energy_use *use);

#endif
