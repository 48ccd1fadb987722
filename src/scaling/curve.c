/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From runs to a curve. The value of a thread count is the median of its repeats; the spread is the
 * standard error of that median, from a scale that an outlier hardly moves: the median of the
 * differences between all pairs of repeats.
 */
#include "scaling/curve.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_REPEATS_MAX = 64 }; /* more repeats than that are thinned: pairs grow as the square */

/* Median of the differences between all pairs. */
static double pair_difference(const double *sorted, size_t count)
{
	double picked[PAIRS_REPEATS_MAX];
	size_t kept = count < PAIRS_REPEATS_MAX ? count : PAIRS_REPEATS_MAX;
	for (size_t i = 0; i < kept; i++)
		picked[i] = sorted[kept == count ? i : i * (count - 1) / (kept - 1)];
	double pairs[PAIRS_REPEATS_MAX * (PAIRS_REPEATS_MAX - 1) / 2];
	size_t pair_count = 0;
	for (size_t i = 0; i < kept; i++)
		for (size_t j = 0; j < i; j++)
			pairs[pair_count++] = picked[i] - picked[j];
	return order_median(pairs, pair_count);
}

/* Relative standard error of the median of `sorted`, two values or more. */
static double spread_of(const double *sorted, size_t count)
{
	/* Error of the median over the mean pair difference, for 2.. repeats with normal noise:
	   simulated (400,000 sets each). For many it tends to sqrt(pi / 2) / 0.9539 / sqrt(n), from
	   which 10 repeats are 12% away, and on the safe side. */
	static const double error_per_difference[] = { 0.6267, 0.5399, 0.4928, 0.5103, 0.4423,
		0.4504, 0.4054, 0.4061 };
	double factor = count - 2 < ARRAY_SIZE(error_per_difference)
				? error_per_difference[count - 2]
				: sqrt(M_PI / 2) / 0.9539 / sqrt((double)count);
	return factor * pair_difference(sorted, count) / order_median_of_ordered(sorted, count);
}

void curve_free(struct curve *curve)
{
	if (!curve)
		return;
	for (size_t i = 0; i < curve->point_count; i++)
		free(curve->points[i].stalls);
	for (size_t i = 0; i < curve->stall_count; i++)
		free(curve->stall_names[i]);
	for (size_t i = 0; i < curve->note_count; i++)
		free(curve->notes[i]);
	free(curve->points);
	free(curve->stall_names);
	free(curve->notes);
	free(curve);
}

static int compare_rows(const void *a, const void *b)
{
	const struct runs_row *x = *(const struct runs_row *const *)a;
	const struct runs_row *y = *(const struct runs_row *const *)b;
	return (x->threads > y->threads) - (x->threads < y->threads);
}

/* The rows of one thread count, and room for one value of each. */
struct group {
	const struct runs_row **rows;
	size_t count;
	double *values;
};

static double median_rss(const struct group *group)
{
	size_t known = 0;
	for (size_t i = 0; i < group->count; i++)
		if (!isnan(group->rows[i]->rss_bytes))
			group->values[known++] = group->rows[i]->rss_bytes;
	return order_median(group->values, known);
}

static double median_stall(const struct group *group, size_t stall)
{
	size_t known = 0;
	for (size_t i = 0; i < group->count; i++)
		if (!isnan(group->rows[i]->stalls[stall]))
			group->values[known++] = group->rows[i]->stalls[stall];
	return order_median(group->values, known);
}

static void merge_values(const struct group *group, struct curve_point *ret)
{
	for (size_t i = 0; i < group->count; i++) {
		const struct runs_row *row = group->rows[i];
		group->values[i] = row->value;
		ret->repeats += row->merged > 0 ? row->merged : 1;
	}
	ret->value = order_median(group->values, group->count);
	const struct runs_row *first = group->rows[0];
	ret->spread = NAN;
	if (group->count > 1)
		ret->spread = spread_of(group->values, group->count);
	else if (first->merged > 1 && first->stddev > 0)
		ret->spread = first->stddev / sqrt((double)first->merged) / first->value;
}

static int merge(const struct runs *runs, const struct group *group, struct curve *curve)
{
	struct curve_point *point = &curve->points[curve->point_count];
	*point = (struct curve_point){ .threads = group->rows[0]->threads };
	point->stalls = calloc(runs->stall_count + 1, sizeof *point->stalls);
	if (!point->stalls)
		return -ENOMEM;
	curve->point_count++;
	merge_values(group, point);
	point->rss_bytes = median_rss(group);
	for (size_t i = 0; i < runs->stall_count; i++)
		point->stalls[i] = median_stall(group, i);
	return 0;
}

static int merge_all(const struct runs *runs, struct curve *curve)
{
	AUTO_FREE const struct runs_row **rows = calloc(runs->row_count, sizeof *rows);
	AUTO_FREE double *values = calloc(runs->row_count, sizeof *values);
	curve->points = calloc(runs->row_count, sizeof *curve->points);
	if (!rows || !values || !curve->points)
		return -ENOMEM;
	for (size_t i = 0; i < runs->row_count; i++)
		rows[i] = &runs->rows[i];
	qsort(rows, runs->row_count, sizeof *rows, compare_rows);
	for (size_t first = 0, end; first < runs->row_count; first = end) {
		for (end = first + 1; end < runs->row_count; end++)
			if (rows[end]->threads != rows[first]->threads)
				break;
		struct group group = { &rows[first], end - first, values };
		if (merge(runs, &group, curve) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_note(struct curve *curve, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int add_note(struct curve *curve, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int length = vasprintf(&curve->notes[curve->note_count], fmt, ap);
	va_end(ap);
	if (length < 0)
		return -ENOMEM;
	curve->note_count++;
	return 0;
}

/* The first point without the category; NULL if every point has it. */
static const struct curve_point *point_without(const struct curve *curve, size_t stall)
{
	for (size_t i = 0; i < curve->point_count; i++)
		if (isnan(curve->points[i].stalls[stall]))
			return &curve->points[i];
	return NULL;
}

/* Keeps the stall categories that every point has, in their order. */
static int name_stalls(const struct runs *runs, struct curve *curve)
{
	curve->notes = calloc(runs->note_count + runs->stall_count + 1, sizeof *curve->notes);
	curve->stall_names = calloc(runs->stall_count + 1, sizeof *curve->stall_names);
	if (!curve->notes || !curve->stall_names)
		return -ENOMEM;
	for (size_t i = 0; i < runs->note_count; i++)
		if (add_note(curve, "%s", runs->notes[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < runs->stall_count; i++) {
		const struct curve_point *without = point_without(curve, i);
		if (without) {
			if (add_note(curve,
				    "stall category '%s' is not used: it is missing at thread "
				    "count %u",
				    runs->stall_names[i], without->threads) < 0)
				return -ENOMEM;
			continue;
		}
		char *name = strdup(runs->stall_names[i]);
		if (!name)
			return -ENOMEM;
		for (size_t k = 0; k < curve->point_count; k++)
			curve->points[k].stalls[curve->stall_count] = curve->points[k].stalls[i];
		curve->stall_names[curve->stall_count++] = name;
	}
	return 0;
}

int curve_from_runs(const struct runs *runs, struct curve **ret, struct err *err)
{
	if (runs->row_count == 0)
		return err_set(err, -EINVAL, "there are no runs");
	AUTO(curve) struct curve *curve = calloc(1, sizeof *curve);
	if (!curve)
		return err_set(err, -ENOMEM, "out of memory");
	curve->metric = runs->metric;
	curve->cores = runs->cores;
	curve->has_stall_seconds = runs->has_stall_seconds;
	if (merge_all(runs, curve) < 0 || name_stalls(runs, curve) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE(curve);
	return 0;
}
