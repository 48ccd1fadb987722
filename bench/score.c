/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cases of the accuracy benchmarks and their scores. */
#include "score.h"

#include "base/mem.h"

#include <errno.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t limits[] = { SCORE_LIMITS };
enum { SEEN_MIN = 4 };

/* Copies what may be seen; tells whether anything was thinned away. */
static bool see(const struct curve *curve, uint32_t m, bool sparse, struct curve *ret)
{
	bool thinned = false;
	for (size_t i = 0; i < curve->point_count && curve->points[i].threads <= m; i++) {
		uint32_t n = curve->points[i].threads;
		bool kept = !sparse || (n & (n - 1)) == 0;
		if (kept)
			ret->points[ret->point_count++] = curve->points[i];
		thinned |= !kept;
	}
	return thinned;
}

static bool is_case(const struct task *t)
{
	return t->predicted > 0 && t->seen.point_count >= SEEN_MIN &&
	       4 * t->seen.points[t->seen.point_count - 1].threads >= 3 * t->m;
}

static int add_tasks(
	struct tasks *tasks, size_t *capacity, const struct corpus_curve *c, bool sparse)
{
	const struct curve *curve = c->curve;
	for (size_t k = 0; k < ARRAY_SIZE(limits); k++) {
		struct task t = { .curve = c, .m = limits[k], .seen = *curve };
		AUTO_FREE struct curve_point *points =
			calloc(curve->point_count + 1, sizeof *points);
		if (!points || mem_grow(&tasks->items, capacity, tasks->count + 1, sizeof t) < 0)
			return -ENOMEM;
		t.seen.points = points;
		t.seen.point_count = 0;
		bool thinned = see(curve, t.m, sparse, &t.seen);
		while (t.first < curve->point_count && curve->points[t.first].threads <= t.m)
			t.first++;
		while (t.first + t.predicted < curve->point_count &&
			curve->points[t.first + t.predicted].threads <= 2 * t.m)
			t.target = curve->points[t.first + t.predicted++].threads;
		if (!is_case(&t) || (sparse && !thinned))
			continue;
		t.seen.points = TAKE(points);
		tasks->items[tasks->count++] = t;
	}
	return 0;
}

int tasks_make(const struct corpus *corpus, bool sparse, struct tasks **ret)
{
	AUTO(tasks) struct tasks *tasks = calloc(1, sizeof *tasks);
	size_t capacity = 0, points = 0;
	if (!tasks)
		return -ENOMEM;
	for (size_t i = 0; i < corpus->count; i++)
		if (add_tasks(tasks, &capacity, &corpus->curves[i], sparse) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < tasks->count; i++)
		points += tasks->items[i].predicted;
	tasks->results = calloc(tasks->count + 1, sizeof *tasks->results);
	tasks->widths = calloc(points + 1, sizeof *tasks->widths);
	tasks->scratch = calloc(points + tasks->count + 1, sizeof *tasks->scratch);
	if (!tasks->results || !tasks->widths || !tasks->scratch)
		return -ENOMEM;
	for (size_t i = 0, at = 0; i < tasks->count; at += tasks->items[i++].predicted)
		tasks->results[i].widths = tasks->widths + at;
	*ret = TAKE(tasks);
	return 0;
}

void tasks_free(struct tasks *tasks)
{
	if (!tasks)
		return;
	for (size_t i = 0; i < tasks->count; i++)
		free(tasks->items[i].seen.points);
	free(tasks->items);
	free(tasks->results);
	free(tasks->widths);
	free(tasks->scratch);
	free(tasks);
}

void task_judge(const struct task *task, const struct forecast *f, struct result *ret)
{
	ret->inside = 0;
	ret->error = f ? 0 : INFINITY;
	const struct curve_point *truth = &task->curve->curve->points[task->first];
	for (size_t i = 0; f && i < task->predicted; i++) {
		double measured = truth[i].value;
		const struct forecast_point *p = &f->points[truth[i].threads - 1];
		ret->error = fmax(ret->error, fabs(p->value - measured) / measured);
		ret->inside += measured >= p->low && measured <= p->high;
		ret->widths[i] = (p->high - p->low) / p->value;
	}
}

size_t tasks_source_end(const struct tasks *tasks, size_t first)
{
	const char *source = tasks->items[first].curve->source;
	size_t end = first;
	while (end < tasks->count && strcmp(tasks->items[end].curve->source, source) == 0)
		end++;
	return end;
}

/* Sorts `values`. */
static double median(double *values, size_t count)
{
	if (count == 0)
		return NAN;
	gsl_sort(values, 1, count);
	return gsl_stats_median_from_sorted_data(values, 1, count);
}

bool score_add_source(
	const struct tasks *tasks, size_t first, size_t end, uint32_t m, struct score *s)
{
	const struct result *results = tasks->results;
	double *scratch = tasks->scratch;
	size_t count = 0, inside = 0, points = 0;
	double below[3] = { 0 };
	for (size_t i = first; i < end; i++) {
		if (m && tasks->items[i].m != m)
			continue;
		double e = results[i].error;
		below[0] += e < 0.10;
		below[1] += e < 0.20;
		below[2] += e < 0.35;
		scratch[count++] = e;
		s->refused += isinf(e) != 0;
		if (!isinf(e)) {
			inside += results[i].inside;
			points += tasks->items[i].predicted;
		}
	}
	if (count == 0)
		return false;
	s->cases += count;
	s->below10 += below[0] / (double)count;
	s->below20 += below[1] / (double)count;
	s->below35 += below[2] / (double)count;
	s->median_error += median(scratch, count);
	s->coverage_by_source += points ? (double)inside / (double)points : 0;
	return true;
}

/* The figures over all cases and points, whatever their source. */
static void score_pooled(const struct tasks *tasks, uint32_t m, struct score *s)
{
	double *scratch = tasks->scratch;
	size_t inside = 0, points = 0, cases = 0;
	for (size_t i = 0; i < tasks->count; i++)
		if (!m || tasks->items[i].m == m)
			scratch[cases++] = tasks->results[i].error;
	s->median_all = median(scratch, cases);
	for (size_t i = 0; i < tasks->count; i++) {
		const struct result *r = &tasks->results[i];
		if ((m && tasks->items[i].m != m) || isinf(r->error))
			continue;
		inside += r->inside;
		for (size_t k = 0; k < tasks->items[i].predicted; k++)
			scratch[points++] = r->widths[k];
	}
	s->coverage = points ? (double)inside / (double)points : NAN;
	s->width = median(scratch, points);
}

struct score score_of(const struct tasks *tasks, uint32_t m)
{
	struct score s = { 0 };
	size_t sources = 0;
	for (size_t first = 0, end; first < tasks->count; first = end) {
		end = tasks_source_end(tasks, first);
		sources += score_add_source(tasks, first, end, m, &s);
	}
	double n = sources ? (double)sources : 1;
	s.below10 /= n;
	s.below20 /= n;
	s.below35 /= n;
	s.median_error /= n;
	s.coverage_by_source /= n;
	score_pooled(tasks, m, &s);
	return s;
}
