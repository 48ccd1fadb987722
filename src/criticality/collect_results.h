/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside this room: what an analysis holds, and how its results are taken out of it. */
#ifndef CRITICALITY_COLLECT_RESULTS_H
#define CRITICALITY_COLLECT_RESULTS_H

#include "criticality/analysis.h"
#include "criticality/blame.h"

/* A thread that failed a trylock a moment ago. */
struct spin {
	struct event last; /* the last failure */
	bool is_waiting; /* after the second one in a row */
	bool is_off_core;
};

/* A call that was on some thread's stack. */
struct frame {
	uint32_t pid;
	uint64_t begin, end; /* end: its canonical frame address */
	uint64_t site;
};

/* Addresses of a process, without the end. */
struct code_range {
	uint32_t pid;
	uint64_t begin, end;
};

struct analysis {
	struct account account;
	struct blame blame;
	uint64_t others_ns, others_wall_ns; /* as in struct analysis_opts */
	struct result_module *modules;
	size_t module_count, module_capacity;
	struct code_range *runtimes; /* modules that spin for their users */
	size_t runtime_count, runtime_capacity;
	size_t spinning; /* threads, by their samples */
	struct result_stack *stacks;
	size_t stack_count, stack_capacity;
	struct index stack_index; /* (id, process) to its place */
	char **names; /* of threads that have not started; NULL once taken */
	size_t name_count, name_capacity;
	struct index name_index;
	struct spin *spins;
	size_t spin_count, spin_capacity;
	struct frame *frames; /* the newest of each end */
	size_t frame_count, frame_capacity;
	struct index frame_index;
	char *program;
	uint64_t events, lost;
};

/* Everything but the findings is computed here, those by findings.h. Names move. 0 or -ENOMEM. */
int collect_results(struct analysis *analysis, struct results *results);

#endif
