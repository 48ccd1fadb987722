/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Distributions from what was seen: quantiles at equal probability, linear in between, whose mean is
 * the sample's. The last quantile alone would give outliers too much weight (a 32nd of the draws would
 * lie between it and the one before), so it is moved until the mean is right; what is left is scaled.
 */
#include "builder/parts.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUANTILE_STEPS = 32, COUNT_ENTRIES = 64 };

static double drawn_mean(const double *quantiles, uint32_t count)
{
	double sum = 0;
	for (uint32_t i = 0; i + 1 < count; i++)
		sum += (quantiles[i] + quantiles[i + 1]) / 2;
	return sum / (count - 1);
}

/* Values are sorted. */
static void match_mean(double *quantiles, uint32_t count, double mean)
{
	double *last = &quantiles[count - 1], least = quantiles[count - 2];
	*last += 2 * (count - 1) * (mean - drawn_mean(quantiles, count));
	if (*last < least)
		*last = least;
	double drawn = drawn_mean(quantiles, count);
	for (uint32_t i = 0; i < count && drawn > 0; i++)
		quantiles[i] *= mean / drawn;
}

int build_dist(struct model *model, double *values, size_t count, struct model_dist *ret)
{
	*ret = (struct model_dist){ 0 };
	if (count == 0)
		return 0;
	order_doubles(values, count);
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	if (sum <= 0)
		return 0;
	if (count < 3 || values[0] >= values[count - 1]) {
		ret->kind = MODEL_FIXED;
		ret->a.value = sum / (double)count;
		return 0;
	}
	uint32_t steps = count - 1 < QUANTILE_STEPS ? (uint32_t)count - 1 : QUANTILE_STEPS;
	double *quantiles = model_alloc(model, steps + 1, sizeof *quantiles);
	if (!quantiles)
		return -ENOMEM;
	for (uint32_t i = 0; i <= steps; i++)
		quantiles[i] = values[(count - 1) * i / steps];
	match_mean(quantiles, steps + 1, sum / (double)count);
	*ret = (struct model_dist){
		.kind = MODEL_QUANTILES, .quantiles = quantiles, .quantile_count = steps + 1
	};
	return 0;
}

static int compare_counts(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

/* Of more values than COUNT_ENTRIES: the means of as many parts with equally many. */
int build_counts(struct model *model, const uint64_t *values, size_t count, struct model_count *ret)
{
	AUTO_FREE uint64_t *sorted = calloc(count + 1, sizeof *sorted);
	struct model_count_entry *entries = model_alloc(model, COUNT_ENTRIES, sizeof *entries);
	*ret = (struct model_count){ 0 };
	if (!sorted || !entries)
		return -ENOMEM;
	memcpy(sorted, values, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, compare_counts);
	size_t kinds = 0;
	for (size_t i = 0; i < count; i++)
		kinds += i == 0 || sorted[i] != sorted[i - 1];
	size_t parts = kinds <= COUNT_ENTRIES ? count : COUNT_ENTRIES;
	uint32_t used = 0;
	for (size_t i = 0; i < parts; i++) {
		size_t from = count * i / parts, to = count * (i + 1) / parts;
		double sum = 0;
		for (size_t j = from; j < to; j++)
			sum += (double)sorted[j];
		uint64_t mean = (uint64_t)(sum / (double)(to - from) + 0.5);
		if (used == 0 || entries[used - 1].count != mean)
			entries[used++].count = mean;
		entries[used - 1].probability += (double)(to - from) / (double)count;
	}
	if (used == 1) {
		ret->value.value = (double)entries[0].count;
		return 0;
	}
	ret->entries = entries;
	ret->entry_count = used;
	return 0;
}

int build_formula(struct model *model, struct model_value *ret, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;
	va_start(args, fmt);
	int length = vasprintf(&text, fmt, args);
	va_end(args);
	if (length < 0)
		return -ENOMEM;
	*ret = (struct model_value){ .formula = model_text(model, text) };
	return ret->formula ? 0 : -ENOMEM;
}
