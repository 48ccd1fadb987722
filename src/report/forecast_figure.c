/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forecasts and comparisons as figures. */
#include "report/forecast_view.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Whether a linear axis would press what was measured into its first sixteenth. */
static bool is_far(const struct forecast *f)
{
	return f->measured_max > 0 && f->point_count / 16 > f->measured_max;
}

/* Whether the values can only be read on a logarithmic axis: see palette.h. */
static bool is_steep(const struct forecast *f)
{
	double low = INFINITY, high = 0;
	for (size_t i = 0; i < f->point_count; i++) {
		double value = forecast_known_value(&f->points[i]);
		if (!(value > 0) || !isfinite(value))
			continue;
		low = fmin(low, value);
		high = fmax(high, value);
	}
	return high / low > (f->metric == METRIC_TIME ? 5 : 100);
}

static void set_x_axis(struct figure *figure, size_t target, bool is_log)
{
	figure->x = (struct axis){ .title = "threads", .is_threads = true };
	figure->x.is_log = is_log && target > 1;
	axis_fit(&figure->x, 1, (double)target);
}

static void set_y_axis(struct figure *figure, enum metric metric, bool is_log)
{
	figure->y = (struct axis){ .is_log = is_log, .quantity = quantity_of_metric(metric) };
	figure->y.title = metric == METRIC_TIME         ? "time"
			  : metric == METRIC_THROUGHPUT ? "throughput"
							: "value";
}

/* Far more counts than a figure has pixels only make it large: keep those that move. */
static bool is_drawn(const struct figure *figure, const struct forecast *f, size_t i)
{
	enum { STEPS = 800 };
	if (i == 0 || i + 1 == f->point_count || f->point_count <= STEPS)
		return true;
	double here = axis_position(&figure->x, f->points[i].threads) * STEPS;
	double before = axis_position(&figure->x, f->points[i - 1].threads) * STEPS;
	return floor(here) > floor(before);
}

static void add_band(
	struct figure *figure, const struct forecast *f, unsigned slot, const char *name)
{
	struct series *band = figure_add(figure, SERIES_BAND, slot, name, f->point_count);
	for (size_t i = 0; i < f->point_count; i++)
		if (is_drawn(figure, f, i))
			series_add(band, f->points[i].threads, f->points[i].low, f->points[i].high);
}

static void add_line(
	struct figure *figure, const struct forecast *f, unsigned slot, const char *name)
{
	struct series *line = figure_add(figure, SERIES_LINE, slot, name, f->point_count);
	for (size_t i = 0; i < f->point_count; i++)
		if (is_drawn(figure, f, i))
			series_add(line, f->points[i].threads, f->points[i].value, 0);
}

static void add_marks(
	struct figure *figure, const struct forecast *f, unsigned slot, const char *name)
{
	struct series *marks = figure_add(figure, SERIES_MARKS, slot, name, f->point_count);
	for (size_t i = 0; i < f->point_count; i++)
		series_add(marks, f->points[i].threads, f->points[i].measured, 0);
}

/* A vertical line, called `what` and its count. */
static void add_rule(struct figure *figure, uint32_t threads, const char *what)
{
	AUTO_RELEASE(strbuf) struct strbuf name = { 0 };
	strbuf_addf(&name, "%s %" PRIu32, what, threads);
	series_add(
		figure_add(figure, SERIES_RULE, 0, name.text ? name.text : "", 1), threads, 0, 0);
}

/* From left to right, as their names are placed: figure_rule_name_is_left(). */
static void add_limits(struct figure *figure, const struct forecast *f)
{
	uint32_t target = (uint32_t)f->point_count, measured = f->measured_max;
	uint32_t stop = f->stops_scaling_at;
	if (stop > 0 && stop < measured)
		add_rule(figure, stop, "stops scaling at");
	if (measured > 0 && measured < target)
		add_rule(figure, measured, "measured up to");
	if (stop > 0 && stop >= measured && stop < target)
		add_rule(figure, stop, "stops scaling at");
}

static void set_summary(struct figure *figure, const struct strbuf *findings)
{
	figure_set(figure, &figure->summary, findings->text ? findings->text : "");
}

void figure_of_forecast(struct figure *figure, const struct forecast *f, const char *subject)
{
	set_x_axis(figure, f->point_count, is_steep(f) || is_far(f));
	set_y_axis(figure, f->metric, is_steep(f));
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_addf(&text, "%s: %s up to %zu threads", subject, figure->y.title, f->point_count);
	figure_set(figure, &figure->title, text.text ? text.text : "");
	AUTO_RELEASE(strbuf) struct strbuf findings = { 0 };
	findings_forecast(&findings, f);
	set_summary(figure, &findings);
	add_limits(figure, f);
	add_band(figure, f, 0, "90% interval");
	add_line(figure, f, 0, "forecast");
	add_marks(figure, f, 0, "measured");
	figure_fit(figure);
}

static int by_share(const void *a, const void *b)
{
	double x = (*(const struct forecast_stall *const *)a)->share_at_target;
	double y = (*(const struct forecast_stall *const *)b)->share_at_target;
	return (x < y) - (x > y);
}

static void add_stall(struct figure *figure, const struct forecast *f,
	const struct forecast_stall *const *stalls, size_t count, unsigned slot, const char *name)
{
	struct series *line = figure_add(figure, SERIES_LINE, slot, name, f->point_count);
	for (size_t i = 0; i < f->point_count; i++) {
		double sum = 0;
		for (size_t k = 0; k < count; k++)
			sum += stalls[k]->values[i];
		if (is_drawn(figure, f, i))
			series_add(line, f->points[i].threads, sum, 0);
	}
}

/* The largest at the target first; what has no slot of its own is summed up. */
void figure_of_stalls(struct figure *figure, const struct forecast *f)
{
	enum { OWN_LINES = 6 };
	set_x_axis(figure, f->point_count,
		is_steep(f) || is_far(f)); /* as the forecast's, to be read together */
	figure->y = (struct axis){ .title = "stalls, summed over threads",
		.quantity = f->has_stall_seconds ? QUANTITY_TIME : QUANTITY_COUNT };
	figure_set(figure, &figure->title, "Stalls by category");
	AUTO_FREE const struct forecast_stall **sorted = calloc(f->stall_count, sizeof *sorted);
	if (!sorted) {
		figure->failed = true;
		return;
	}
	size_t count = 0;
	for (size_t i = 0; i < f->stall_count; i++)
		if (forecast_has_stall(f, &f->stalls[i]))
			sorted[count++] = &f->stalls[i];
	qsort(sorted, count, sizeof *sorted, by_share);
	size_t own = count <= OWN_LINES + 1 ? count : OWN_LINES;
	for (size_t i = 0; i < own; i++)
		add_stall(figure, f, &sorted[i], 1, (unsigned)i, sorted[i]->name);
	if (own < count)
		add_stall(figure, f, &sorted[own], count - own, OWN_LINES, "all others");
	if (f->measured_max > 0 && f->measured_max < f->point_count)
		add_rule(figure, f->measured_max, "measured up to");
	figure_fit(figure);
}

static void add_named(struct figure *figure, const struct forecast *f, unsigned slot,
	const char *label, const char *what,
	void (*add)(struct figure *, const struct forecast *, unsigned, const char *))
{
	AUTO_RELEASE(strbuf) struct strbuf name = { 0 };
	strbuf_addf(&name, "%s%s", label, what);
	add(figure, f, slot, name.text ? name.text : "");
}

void figure_of_comparison(struct figure *figure, const struct comparison *c)
{
	size_t target =
		c->a->point_count > c->b->point_count ? c->a->point_count : c->b->point_count;
	bool steep = is_steep(c->a) || is_steep(c->b);
	set_x_axis(figure, target, steep || is_far(c->a) || is_far(c->b));
	set_y_axis(figure, c->a->metric, steep);
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_addf(&text, "%s and %s: %s up to %zu threads", c->label_a, c->label_b,
		figure->y.title, target);
	figure_set(figure, &figure->title, text.text ? text.text : "");
	AUTO_RELEASE(strbuf) struct strbuf findings = { 0 };
	findings_comparison(&findings, c);
	set_summary(figure, &findings);
	if (c->crossing > 0)
		add_rule(figure, c->crossing, "cross at");
	add_named(figure, c->a, 0, c->label_a, ", 90% interval", add_band);
	add_named(figure, c->b, 1, c->label_b, ", 90% interval", add_band);
	add_named(figure, c->a, 0, c->label_a, "", add_line);
	add_named(figure, c->b, 1, c->label_b, "", add_line);
	add_named(figure, c->a, 0, c->label_a, ", measured", add_marks);
	add_named(figure, c->b, 1, c->label_b, ", measured", add_marks);
	figure_fit(figure);
}
