/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One replication of one setting, as a row of numbers: what was counted after warming up (a tally of
 * graph.h), SAMPLE_* after it, and the greatest length of each object. Rows of a model have one size, so that
 * processes can hand them to one another.
 */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include "model/model.h"

/* Places after the tally. */
enum {
	SAMPLE_RESPONSE_S, /* mean of served requests; NaN: none */
	SAMPLE_P50_S,
	SAMPLE_P90_S,
	SAMPLE_P95_S,
	SAMPLE_P99_S,
	SAMPLE_RUN_S, /* the whole run */
	SAMPLE_WARM_UP, /* share of the run's requests that was left out; 0.5: it did not settle */
	SAMPLE_UNENDED, /* requests that had arrived and not ended */
	SAMPLE_ENDED, /* that had, warming up included */
	SAMPLE_EVENTS,
	SAMPLE_CORES, /* 0: as many as threads */
	SAMPLE_THREADS,
	SAMPLE_STRANDED, /* threads: see graph_stranded() */
	SAMPLE_LENT, /* more than few: see sim_lent_beyond_few() */
	SAMPLE_FIXED,
};

enum { SAMPLE_REQUESTS = 10000 }; /* a replication's, as in the paper (6.2) */

struct sample_options {
	const struct model *model; /* borrowed */
	const double *parameters; /* of all */
	uint64_t seed;
	uint64_t requests; /* ends after so many; 0: by itself */
	double duration_s; /* ends then; 0: by itself */
	uint64_t event_limit;
};

/* Numbers in a row. */
size_t sample_size(const struct model *model);

/* Where SAMPLE_* begin, and the greatest length of an object. */
size_t sample_at(const struct model *model);
size_t sample_peak_at(const struct model *model, size_t object);

/* Fills `row`. 0; -EDEADLK, -E2BIG, -EINVAL, -ENOMEM with the reason. */
int sample_run(const struct sample_options *options, double *row, struct err *err);

/* Whether requests arrive or are begun in a model: if not, its run time is what counts. */
bool sample_has_requests(const struct model *model);

/* Whether requests come without end, and none ever does: only time can end a replication. */
bool sample_never_ends(const struct model *model);

#endif
