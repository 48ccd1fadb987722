/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A timeline read once, from the first event to the last, and what it says: an event sink in front,
 * results behind.
 *
 *	struct analysis_opts opts = { 0 };
 *	AUTO(analysis) struct analysis *analysis = NULL;
 *	analysis_new(&opts, &analysis, err);
 *	struct event_sink sink = analysis_sink(analysis);
 *	... a source feeds the sink and finishes it ...
 *	analysis_results(analysis, &results, err);
 *
 * A trylock that fails again within 10 us on the same object is a spin: from the second failure until
 * it succeeds, or until 10 us after the last failure, the thread counts as waiting. (Two context
 * switches take about as long: nobody gives work away in smaller pieces.)
 *
 * Runtimes of OpenMP and oneTBB spin before they sleep, which a recorder in the kernel sees as running. A thread that is
 * sampled in their code waits from that sample on, until one elsewhere or until it does something else: as the
 * samples fall anywhere in such a stretch, its length is right on average. They do next to nothing but that by themselves.
 * So does a thread whose sample says that it only spins (event.h), whoever recorded it: the place in the code then is what it waits
 * for, a lock of which nobody knows who has it.
 */
#ifndef CRITICALITY_ANALYSIS_H
#define CRITICALITY_ANALYSIS_H

#include "base/cleanup.h"
#include "criticality/results.h"
#include "trace/sink.h"

struct analysis_opts {
	uint64_t window_from_ns, window_to_ns; /* since the first event; to = 0: the whole run */
	bool needs_core; /* active means on a core, not also runnable */
	uint32_t cores; /* that the run had, for upper bounds; 0: unknown */
	/* Waiting that so many cores could not have served is no loss; 0: all of it is. */
	uint32_t served_cores;
	/* CPU time that other programs had of those cores while they were watched for so long; 0: they were not. */
	uint64_t others_ns, others_wall_ns;
};

struct analysis;

/* 0 or -ENOMEM. */
int analysis_new(const struct analysis_opts *opts, struct analysis **ret, struct err *err);
void analysis_free(struct analysis *analysis);
CLEANUP_DEFINE(analysis, analysis_free)

/* Borrows the analysis. Its event() fails with -ENOMEM and -ERANGE (account.h). */
struct event_sink analysis_sink(struct analysis *analysis);

/* After the sink was finished, once. The caller frees *ret. 0 or -ENOMEM. */
int analysis_results(struct analysis *analysis, struct results **ret, struct err *err);

#endif
