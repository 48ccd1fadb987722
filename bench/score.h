/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the accuracy benchmarks share: cases from a corpus, and scores.
 *
 * For each curve and m in SCORE_LIMITS a method sees the points with threads <= m and predicts those
 * with m < threads <= 2m. It is a case if there are at least 4 points to see, the largest of them
 * is at least 0.75 m, and there is a point to predict. A case's error is its worst relative error;
 * a refusal is a miss. Shares are averaged over sources, each weighing the same.
 */
#ifndef BENCH_SCORE_H
#define BENCH_SCORE_H

#include "corpus.h"

#include "base/cleanup.h"
#include "scaling/forecast.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCORE_LIMITS 8, 12, 16, 24, 32

struct task {
	const struct corpus_curve *curve;
	uint32_t m;
	struct curve seen; /* owns its array of points, borrows what is in them */
	size_t first, predicted; /* the curve's points [first, first + predicted) */
	uint32_t target; /* thread count of the last of them */
};

struct result {
	double error; /* INFINITY: refused */
	size_t inside; /* of the predicted points, in the interval */
	double *widths; /* of the predicted points' intervals, over the value */
};

struct tasks {
	struct task *items; /* of one source after another */
	struct result *results;
	size_t count;
	double *widths, *scratch;
};

struct score {
	size_t cases, refused;
	double below10, below20, below35, median_error; /* averaged over sources */
	double median_all; /* over all cases */
	double coverage, coverage_by_source, width;
};

/*
 * With sparse, only powers of two are seen, of curves that were measured more densely.
 * 0 or -ENOMEM. The corpus must outlive the tasks.
 */
int tasks_make(const struct corpus *corpus, bool sparse, struct tasks **ret);
void tasks_free(struct tasks *tasks);

CLEANUP_DEFINE(tasks, tasks_free)

/* Fills the result of a task; f NULL is a refusal. */
void task_judge(const struct task *task, const struct forecast *f, struct result *ret);

/* The end of the source that starts at task `first`. */
size_t tasks_source_end(const struct tasks *tasks, size_t first);

/* m 0: all cases. score_add_source() adds the sums of one source, false if it has no case. */
struct score score_of(const struct tasks *tasks, uint32_t m);
bool score_add_source(
	const struct tasks *tasks, size_t first, size_t end, uint32_t m, struct score *s);

#endif
