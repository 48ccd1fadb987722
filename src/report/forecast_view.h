/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every report of a forecast shares: which counts it shows, speedups, its findings in words,
 * and its figures.
 */
#ifndef REPORT_FORECAST_VIEW_H
#define REPORT_FORECAST_VIEW_H

#include "report/figure.h"
#include "report/report.h"

/* The measured value where there is one, else the predicted one. */
double forecast_known_value(const struct forecast_point *point);

/*
 * How many times as fast as one thread; measured against measured where possible, so that one
 * thread is exactly 1. NAN if it cannot be said.
 */
double forecast_speedup(const struct forecast *forecast, const struct forecast_point *point);

/* How many times as fast `b` is as `a` under a metric. NAN if either is not positive. */
double speed_ratio(enum metric metric, double a, double b);

/* The point for a count; NULL outside 1..point_count. */
const struct forecast_point *forecast_at(const struct forecast *forecast, uint32_t threads);

/*
 * Which counts a table shows, that cannot show all: powers of two, the best, where scaling stops, the
 * highest measured, the target, and the other measured ones if these are few.
 */
struct selection {
	const struct forecast *forecast; /* borrowed */
	bool has_few_measured;
};
struct selection selection_of(const struct forecast *forecast);
bool selection_has(const struct selection *selection, uint32_t threads);

/* A row of a table, as text. */
enum { FORECAST_COLUMNS = 6, CELL_BYTES = 72 };
struct row {
	char cells[FORECAST_COLUMNS][CELL_BYTES];
};
extern const char *const forecast_heads[FORECAST_COLUMNS];
struct row forecast_row(const struct forecast *forecast, const struct forecast_point *point);
/* threads; value and interval of a; value and interval of b; how many times as fast b is. */
struct row comparison_row(const struct comparison *comparison, uint32_t threads);

/* The last count that both forecasts have. */
uint32_t comparison_target(const struct comparison *comparison);

/* Appends sentences, each ended by a line break, the answer first. */
void findings_forecast(struct strbuf *out, const struct forecast *forecast);
void findings_comparison(struct strbuf *out, const struct comparison *comparison);

/* Fill an empty figure; release it afterwards. */
void figure_of_forecast(
	struct figure *figure, const struct forecast *forecast, const char *subject);
void figure_of_stalls(struct figure *figure, const struct forecast *forecast);
void figure_of_comparison(struct figure *figure, const struct comparison *comparison);

/* The stall category with the largest value at a count; NULL if there is none above zero. */
const struct forecast_stall *forecast_worst_stall(
	const struct forecast *forecast, uint32_t threads, double *ret_share);
/* Whether there is any of it: `measure --sync-stalls` has a column for each kind, of which a program uses few. */
bool forecast_has_stall(const struct forecast *forecast, const struct forecast_stall *stall);
bool forecast_has_stalls(const struct forecast *forecast); /* any of any category */
/* A category's share of all stalls at a count, 0..1. */
double forecast_stall_share(
	const struct forecast *forecast, const struct forecast_stall *stall, uint32_t threads);

#endif
