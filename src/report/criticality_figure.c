/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stack, bottle graph and strip over time as figures of boxes. */
#include "report/criticality_view.h"

#include "base/cleanup.h"

#include <math.h>
#include <stdlib.h>

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static size_t shown_threads(const struct criticality_view *view)
{
	size_t count = view->row_count;
	return count <= SHOWN_THREADS + 1 ? count : SHOWN_THREADS;
}

static void set_title(struct figure *figure, const struct criticality_view *view, const char *what)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_addf(&text, "%s: %s", view->subject, what);
	figure_set(figure, &figure->title, text.text ? text.text : "");
	figure_set(figure, &figure->summary,
		view->results->finding_count > 0 ? view->findings[0] : "");
}

static struct series *add_others(
	struct figure *figure, const struct criticality_view *view, size_t room)
{
	AUTO_RELEASE(strbuf) struct strbuf name = { 0 };
	strbuf_addf(&name, "%zu others", view->row_count - SHOWN_THREADS);
	return figure_add(figure, SERIES_BOXES, SHOWN_THREADS, name.text ? name.text : "", room);
}

void figure_of_stack(struct figure *figure, const struct criticality_view *view)
{
	const struct results *r = view->results;
	double end = 0;
	set_title(figure, view, "criticality stack");
	figure->height = 48;
	figure->x = (struct axis){ .title = "criticality: time, divided among who ran",
		.quantity = QUANTITY_TIME };
	figure->y = (struct axis){ .title = "", .is_hidden = true, .high = 1 };
	axis_fit(&figure->x, 0, seconds(r->elapsed_ns));
	for (size_t i = 0; i < shown_threads(view); i++) {
		double begin = end;
		end += seconds(view->rows[i].criticality_ns);
		series_add_box(figure_add(figure, SERIES_BOXES, (unsigned)i, view->labels[i], 1),
			begin, end, 0, 1);
	}
	if (shown_threads(view) < view->row_count)
		series_add_box(add_others(figure, view, 1), end, seconds(r->active_ns), 0, 1);
}

struct bottle {
	double width, height;
	const char *name;
	size_t slot;
};

static int by_width(const void *a, const void *b)
{
	const struct bottle *x = a, *y = b;
	if (x->width != y->width)
		return x->width > y->width ? -1 : 1;
	return (x->slot < y->slot) - (x->slot > y->slot);
}

/* All threads that have no colour of their own, as wide as they are together. */
static struct bottle others_of(const struct criticality_view *view)
{
	uint64_t running = 0, criticality = 0;
	for (size_t i = shown_threads(view); i < view->row_count; i++) {
		running += view->rows[i].running_ns;
		criticality += view->rows[i].criticality_ns;
	}
	return (struct bottle){ criticality ? (double)running / (double)criticality : 0,
		seconds(criticality), NULL, SHOWN_THREADS };
}

void figure_of_bottle(struct figure *figure, const struct criticality_view *view)
{
	const struct results *r = view->results;
	struct bottle bottles[SHOWN_THREADS + 1];
	size_t count = shown_threads(view);
	double widest = 1, top = 0;
	set_title(figure, view, "bottle graph");
	for (size_t i = 0; i < count; i++) {
		double width = thread_parallelism(&view->rows[i]);
		bottles[i] = (struct bottle){ isnan(width) ? 0 : width,
			seconds(view->rows[i].criticality_ns), view->labels[i], i };
	}
	if (count < view->row_count)
		bottles[count++] = others_of(view);
	qsort(bottles, count, sizeof *bottles, by_width);
	if (count > 0)
		widest = fmax(widest, bottles[0].width);
	figure->x = (struct axis){ .title = "parallelism: threads that ran meanwhile" };
	figure->y = (struct axis){ .title = "criticality", .quantity = QUANTITY_TIME };
	axis_fit(&figure->x, 0, widest);
	axis_fit(&figure->y, 0, seconds(r->elapsed_ns));
	for (size_t i = 0; i < count; i++) {
		const struct bottle *b = &bottles[i];
		struct series *series =
			b->name ? figure_add(figure, SERIES_BOXES, (unsigned)b->slot, b->name, 1)
				: add_others(figure, view, 1);
		series_add_box(series, 0, b->width, top, top + b->height);
		top += b->height;
	}
}

void figure_of_strip(struct figure *figure, const struct criticality_view *view)
{
	const struct results *r = view->results;
	double tops[STRIP_BINS] = { 0 };
	double bin_s = seconds(r->bin_ns);
	set_title(figure, view, "criticality over time");
	figure->height = 200;
	figure->x = (struct axis){ .title = "time", .quantity = QUANTITY_TIME };
	figure->y = (struct axis){ .title = "share of the criticality", .high = 1 };
	axis_fit(&figure->x, 0, seconds(r->elapsed_ns));
	for (size_t i = 0; i < view->row_count; i++) {
		bool is_own = i < shown_threads(view);
		struct series *series = NULL;
		if (is_own)
			series = figure_add(
				figure, SERIES_BOXES, (unsigned)i, view->labels[i], STRIP_BINS);
		else if (i == shown_threads(view))
			series = add_others(figure, view, STRIP_BINS);
		for (uint32_t b = 0; b < r->bin_count && b < STRIP_BINS && series; b++) {
			uint64_t ns = 0;
			for (size_t k = i; k < (is_own ? i + 1 : view->row_count); k++)
				ns += thread_bin_ns(&view->rows[k], b);
			double end = fmin((b + 1) * bin_s, seconds(r->elapsed_ns));
			double share = seconds(ns) / (end - b * bin_s);
			series_add_box(series, b * bin_s, end, tops[b], fmin(tops[b] + share, 1));
			tops[b] += share;
		}
	}
}
