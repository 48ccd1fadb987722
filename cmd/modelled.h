/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stalls without counters, for `measure --stalls modelled`: at each thread count the program is profiled once, and
 * the cycles in which the cores of a machine file would stand are computed from that.
 */
#ifndef CMD_MODELLED_H
#define CMD_MODELLED_H

#include "collect/stalls.h"
#include "uarch/predict.h"

struct modelled {
	char *const *program; /* with {n} */
	const char *count_variable; /* of the environment */
	struct processor processor;
	struct stalls_model model; /* for stalls_opts; borrows this struct */
	/* Those that are known. */
	struct modelled_count {
		uint32_t threads;
		double cycles[PREDICT_PARTS];
	} * counts;
	size_t count, capacity;
};

/* `machine`: as machine_load(). 0; what it and profiler_check() say. */
int modelled_init(struct modelled *modelled, char *const *program, const char *count_variable,
	const char *machine, struct err *err);
void modelled_release(struct modelled *modelled);

#endif
