/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What came out of simulating settings: estimates from independent replications, each with its 95%
 * confidence interval, and what a reader of them must know. docs/models/simulate.md says how.
 */
#ifndef MODEL_SIMULATED_H
#define MODEL_SIMULATED_H

#include "base/strbuf.h"
#include "model/grid.h"
#include "model/steady.h"

/* What was run, as its processes hand it in: all replications of a setting, setting by setting. */
struct simulated_runs {
	size_t replications;
	double *rows; /* sample_size() numbers each */
	struct simulated_run {
		int code; /* 0; a negative errno: it failed; -EINTR: not run */
		char text[256]; /* why */
	} * runs;
};

struct simulated_object {
	struct estimate utilisation; /* 0 to 1: held, served, in use; NaN: has none */
	struct estimate length; /* of who or what waits in it */
	double peak;
	double uses_per_s, wait_share, wait_s; /* wait_s: mean over uses that waited; NaN: none */
};

struct simulated_timed {
	struct estimate time_s;
	double per_s; /* how often */
};

struct simulated_setting {
	int code; /* 0: simulated; else the first failure, or -EINTR */
	const char *error; /* borrowed from the runs */
	size_t replications;
	struct estimate response_s, p50_s, p90_s, p95_s, p99_s; /* of served requests */
	struct estimate throughput_per_s; /* served */
	struct estimate errors_per_s, error_response_s, dropped_per_s;
	struct estimate error_share, dropped_share; /* of all that ended */
	struct estimate cores; /* utilisation; NaN: as many as threads */
	double core_count; /* 0: as many as threads */
	struct estimate run_s, iteration_s; /* of programs that end; of ticks */
	struct simulated_object *objects; /* as the model's */
	struct simulated_timed *parts, *fragments; /* fragments: of all groups in order */
	double warm_up_share;
	bool does_grow; /* requests arrive faster than they end */
	bool is_unsettled; /* warming up took half of the run or more */
	bool are_stranded; /* threads still waited when the program ended, while others like them had ended */
	bool is_helped; /* threads came to a standstill, and were lent more than a few items */
};

struct simulated {
	const struct model *model; /* borrowed, as the grid */
	const struct grid *grid;
	struct simulated_setting *settings;
	size_t count, done; /* done: simulated without failure */
	size_t replications;
	uint64_t seed, requests;
	double duration_s;
	bool has_requests;
	const char *goal; /* borrowed; NULL: none */
	size_t best; /* SIZE_MAX: none */
	size_t equals; /* other settings that the intervals do not tell from the best one */
	const char *why_none; /* no setting meets the goal, or NULL */
	struct model *notes; /* its recorded.notes are the notes on these results */
	size_t fragment_count;
};

struct simulated_input {
	const struct model *model;
	const struct grid *grid;
	const struct simulated_runs *runs; /* borrowed, must outlive the result */
	uint64_t seed, requests;
	double duration_s;
	const char *goal; /* as goal.h; checked before */
};

/* 0; -EINVAL, -ENOMEM. */
int simulated_new(const struct simulated_input *input, struct simulated **ret, struct err *err);
void simulated_free(struct simulated *simulated);
CLEANUP_DEFINE(simulated, simulated_free)

/* "workers=4, rate=70 /s" */
void simulated_add_setting(struct strbuf *out, const struct simulated *simulated, size_t setting);

/* Of simulated_notes.c: appends the notes. 0 or -ENOMEM. */
int simulated_add_notes(struct simulated *simulated);

#endif
