/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building figures. */
#include "report/figure.h"

#include "base/strbuf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void figure_release(struct figure *figure)
{
	for (size_t i = 0; i < figure->count; i++) {
		free(figure->series[i].name);
		free(figure->series[i].points);
	}
	free(figure->series);
	free(figure->title);
	free(figure->summary);
	*figure = (struct figure){ 0 };
}

void figure_set(struct figure *figure, char **text, const char *value)
{
	struct strbuf clean = { 0 };
	text_add_clean(&clean, value);
	strbuf_add(&clean, "");
	if (strbuf_failed(&clean) < 0)
		figure->failed = true;
	free(*text);
	*text = clean.text;
}

struct series *figure_add(struct figure *figure, enum series_kind kind, unsigned slot,
	const char *name, size_t capacity)
{
	struct series *grown = realloc(figure->series, (figure->count + 1) * sizeof *grown);
	if (!grown) {
		figure->failed = true;
		return NULL;
	}
	figure->series = grown;
	struct series *series = &grown[figure->count++];
	*series = (struct series){ .kind = kind, .slot = slot };
	figure_set(figure, &series->name, name);
	series->points = calloc(capacity ? capacity : 1, sizeof *series->points);
	if (!series->points)
		figure->failed = true;
	return figure->failed ? NULL : series;
}

void series_add(struct series *series, double x, double y, double y_high)
{
	if (series && isfinite(x) && isfinite(y) && isfinite(y_high))
		series->points[series->count++] =
			(struct figure_point){ .x = x, .y = y, .y_high = y_high };
}

void series_add_box(struct series *series, double x, double x_high, double y, double y_high)
{
	if (!series || !(x_high > x) || !(y_high > y) || !isfinite(x_high) || !isfinite(y_high))
		return;
	series->points[series->count++] =
		(struct figure_point){ .x = x, .y = y, .y_high = y_high, .x_high = x_high };
}

int figure_failed(const struct figure *figure)
{
	return figure->failed ? -ENOMEM : 0;
}

struct range {
	double low, high;
};

static void range_add(struct range *range, double value, bool is_log)
{
	if (is_log && !(value > 0))
		return;
	range->low = fmin(range->low, value);
	range->high = fmax(range->high, value);
}

void figure_fit(struct figure *figure)
{
	struct range core = { INFINITY, -INFINITY }, all = core;
	for (size_t i = 0; i < figure->count; i++) {
		const struct series *s = &figure->series[i];
		for (size_t k = 0; k < s->count && s->kind != SERIES_RULE; k++) {
			if (s->kind != SERIES_BAND)
				range_add(&core, s->points[k].y, figure->y.is_log);
			range_add(&all, s->points[k].y, figure->y.is_log);
			range_add(&all,
				s->kind == SERIES_BAND ? s->points[k].y_high : s->points[k].y,
				figure->y.is_log);
		}
	}
	if (core.low > core.high)
		core = all;
	/* A band may add half to a linear axis, and a factor of 3 to each end of a logarithmic one:
	   beyond that it would flatten what it surrounds. */
	double slack = figure->y.is_log ? 3 : 1.5;
	axis_fit(&figure->y, fmax(all.low, core.low / slack), fmin(all.high, core.high * slack));
}

double series_at(const struct figure *figure, const struct series *series, double x, bool high)
{
	const struct figure_point *p = series->points;
	if (series->count == 0 || x < p[0].x || x > p[series->count - 1].x)
		return NAN;
	size_t low = 0, end = series->count - 1;
	while (end - low > 1) { /* p[low].x <= x <= p[end].x */
		size_t middle = low + (end - low) / 2;
		if (p[middle].x <= x)
			low = middle;
		else
			end = middle;
	}
	double from = axis_position(&figure->x, p[low].x), to = axis_position(&figure->x, p[end].x);
	double y0 = axis_position(&figure->y, high ? p[low].y_high : p[low].y);
	double y1 = axis_position(&figure->y, high ? p[end].y_high : p[end].y);
	double part = to > from ? (axis_position(&figure->x, x) - from) / (to - from) : 0;
	return axis_value(&figure->y, y0 + part * (y1 - y0));
}

struct name_place figure_name_place(
	const struct figure *figure, const struct series *rule, unsigned number)
{
	struct name_place place = { 0 };
	if (rule->count == 0)
		return place;
	double x = rule->points[0].x, position = axis_position(&figure->x, x);
	/* In the narrowest figure a name takes a third of the plot, and can reach over the labels. */
	place.is_left = position > (number == 0 ? 0.25 : 0.65);
	for (size_t i = 0; i < figure->count; i++)
		if (figure->series[i].kind == SERIES_LINE) {
			double y = series_at(figure, &figure->series[i], x, false);
			place.is_low = axis_position(&figure->y, y) > 0.5;
			break;
		}
	return place;
}

bool figure_in_legend(const struct figure *figure, size_t index)
{
	const struct series *series = &figure->series[index];
	if (series->count == 0)
		return false;
	for (size_t i = 0; i < index && series->kind == SERIES_BAND; i++)
		if (figure->series[i].kind == SERIES_BAND && figure->series[i].count > 0 &&
			strcmp(figure->series[i].name, series->name) == 0)
			return false;
	return true;
}
