/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Figures as SVG, one panel below the other, in units of a CSS pixel:
 *
 *	+--------------------------------+
 *	| title                          |
 *	| legend                         |
 *	| y title                        |
 *	|  labels | plot                 |
 *	|         +--------------------- |
 *	|             labels             |
 *	|             x title            |
 *	+--------------------------------+
 *
 * Text and axes are drawn in `currentColor`, so that a page in a dark theme can set it.
 */
#include "report/figure.h"

#include "base/cleanup.h"
#include "report/markup.h"
#include "report/palette.h"

#include <math.h>

enum {
	WIDTH = 800,
	MARGIN = 16,
	PLOT_LEFT = 84,
	PLOT_WIDTH = WIDTH - PLOT_LEFT - 24,
	PLOT_HEIGHT = 320,
	LINE_HEIGHT = 20,
	AXIS_HEIGHT = 56, /* tick labels and title below the plot */
	COLUMN = 7, /* about the width of a character of 13 px */
	LEGEND_COLUMNS = (WIDTH - 3 * MARGIN - 30) / COLUMN, /* behind the sample */
	TITLE_COLUMNS = (WIDTH - 2 * MARGIN) / 10, /* a title's are wider */
};

/* Where a panel's plot lies. */
struct frame {
	const struct figure *figure;
	double top, height; /* of the plot */
};

static double x_of(const struct frame *frame, double value)
{
	return PLOT_LEFT + PLOT_WIDTH * axis_position(&frame->figure->x, value);
}

static double y_of(const struct frame *frame, double value)
{
	return frame->top + frame->height * (1 - axis_position(&frame->figure->y, value));
}

static void add_text(
	struct strbuf *out, double x, double y, const char *attributes, const char *text)
{
	strbuf_addf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
	markup_add(out, text);
	strbuf_add(out, "</text>\n");
}

/* No wider than this many columns. */
static void add_cut(struct strbuf *out, double x, double y, const char *attributes,
	const char *text, size_t columns)
{
	AUTO_RELEASE(strbuf) struct strbuf cut = { 0 };
	text_add_cut(&cut, text, columns);
	add_text(out, x, y, attributes, cut.text ? cut.text : "");
}

static void add_line(
	struct strbuf *out, double x1, double y1, double x2, double y2, const char *how)
{
	strbuf_addf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
		y2, how);
}

static void add_axes(struct strbuf *out, const struct frame *frame)
{
	static const char grid[] = "stroke=\"currentColor\" stroke-opacity=\"0.15\"";
	static const char edge[] = "stroke=\"currentColor\"";
	double bottom = frame->top + frame->height;
	struct ticks ticks;
	axis_ticks(&frame->figure->y, 7, &ticks);
	for (unsigned i = 0; i < ticks.count && !frame->figure->y.is_hidden; i++) {
		double y = y_of(frame, ticks.at[i]);
		add_line(out, PLOT_LEFT, y, PLOT_LEFT + PLOT_WIDTH, y, grid);
		add_text(out, PLOT_LEFT - 8, y + 4, " text-anchor=\"end\"", ticks.labels[i].text);
	}
	axis_ticks(&frame->figure->x, 12, &ticks);
	for (unsigned i = 0; i < ticks.count; i++) {
		double x = x_of(frame, ticks.at[i]);
		add_line(out, x, bottom, x, bottom + 5, edge);
		add_text(out, x, bottom + 20, " text-anchor=\"middle\"", ticks.labels[i].text);
	}
	add_line(out, PLOT_LEFT, bottom, PLOT_LEFT + PLOT_WIDTH, bottom, edge);
	add_text(out, PLOT_LEFT + PLOT_WIDTH / 2.0, bottom + 42, " text-anchor=\"middle\"",
		frame->figure->x.title);
	add_text(out, MARGIN, frame->top - 14, "", frame->figure->y.title);
}

static void add_point(
	struct strbuf *out, const struct frame *frame, char command, double x, double y)
{
	strbuf_addf(out, "%c%.1f %.1f", command, x_of(frame, x), y_of(frame, y));
}

static void add_band(struct strbuf *out, const struct frame *frame, const struct series *series)
{
	strbuf_addf(out, "<path class=\"band\" fill=\"%s\" fill-opacity=\"0.2\" d=\"",
		palette_slot(series->slot)->colour);
	for (size_t i = 0; i < series->count; i++)
		add_point(out, frame, i ? 'L' : 'M', series->points[i].x, series->points[i].y_high);
	for (size_t i = series->count; i-- > 0;)
		add_point(out, frame, 'L', series->points[i].x, series->points[i].y);
	strbuf_add(out, "Z\"/>\n");
}

static void add_stroke(struct strbuf *out, unsigned slot)
{
	const struct palette_slot *look = palette_slot(slot);
	strbuf_addf(out, "stroke=\"%s\" stroke-width=\"2.5\" stroke-dasharray=\"%s\" fill=\"none\"",
		look->colour, *look->dash ? look->dash : "none");
}

static void add_path(struct strbuf *out, const struct frame *frame, const struct series *series)
{
	strbuf_add(out, "<path class=\"line\" stroke-linejoin=\"round\" ");
	add_stroke(out, series->slot);
	strbuf_add(out, " d=\"");
	for (size_t i = 0; i < series->count; i++)
		add_point(out, frame, i ? 'L' : 'M', series->points[i].x, series->points[i].y);
	strbuf_add(out, "\"/>\n");
}

/* Markers of about the same area, with an edge in the colour of the paper. */
static void add_marker(struct strbuf *out, double x, double y, unsigned slot)
{
	static const char *const shapes[] = {
		[MARKER_CIRCLE] = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z",
		[MARKER_TRIANGLE] = "M0 -5.5L5.2 4H-5.2Z",
		[MARKER_SQUARE] = "M-4 -4H4V4H-4Z",
		[MARKER_DIAMOND] = "M0 -5.6L5.6 0L0 5.6L-5.6 0Z",
	};
	const struct palette_slot *look = palette_slot(slot);
	strbuf_addf(out,
		"<path class=\"mark\" transform=\"translate(%.1f %.1f)\" fill=\"%s\" "
		"stroke=\"#fff\" "
		"d=\"%s\"/>\n",
		x, y, look->colour, shapes[look->marker]);
}

static void add_marks(struct strbuf *out, const struct frame *frame, const struct series *series)
{
	for (size_t i = 0; i < series->count; i++)
		add_marker(out, x_of(frame, series->points[i].x), y_of(frame, series->points[i].y),
			series->slot);
}

/* A fill that is told from others without its colour: stripes of the paper's colour over it. */
static void add_hatches(struct strbuf *out)
{
	static const char *const stripes[PALETTE_SLOTS] = { "", "M0 8L8 0", "M0 0L8 8", "M0 4H8",
		"M4 0V8", "M0 4H8M4 0V8", "M0 8L8 0M0 0L8 8", "M2 0V8M6 0V8", "M0 2H8M0 6H8",
		"M2 4h4", "M4 2v4", "M2 4h4M4 2v4" };
	strbuf_add(out, "<defs>\n");
	for (unsigned i = 1; i < PALETTE_SLOTS; i++)
		strbuf_addf(out,
			"<pattern id=\"hatch%u\" width=\"8\" height=\"8\" "
			"patternUnits=\"userSpaceOnUse\"><path d=\"%s\" stroke=\"#fff\" "
			"stroke-opacity=\"0.55\" stroke-width=\"1.2\"/></pattern>\n",
			i, stripes[i]);
	strbuf_add(out, "</defs>\n");
}

static void add_rect(
	struct strbuf *out, double x, double y, double width, double height, unsigned slot)
{
	const char *colour = palette_slot(slot)->colour;
	strbuf_addf(out,
		"<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
		"fill=\"%s\"/>\n",
		x, y, width, height, colour);
	if (slot % PALETTE_SLOTS > 0)
		strbuf_addf(out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
			"fill=\"url(#hatch%u)\"/>\n",
			x, y, width, height, slot % PALETTE_SLOTS);
}

/* A box alone has its name in it where there is room. */
static void add_boxes(struct strbuf *out, const struct frame *frame, const struct series *series)
{
	for (size_t i = 0; i < series->count; i++) {
		const struct figure_point *p = &series->points[i];
		double x = x_of(frame, p->x), y = y_of(frame, p->y_high);
		double width = x_of(frame, p->x_high) - x, height = y_of(frame, p->y) - y;
		/* Boxes side by side touch; those above one another are kept apart. */
		add_rect(out, x, y, width, fmax(height - (series->count > 1 ? 0 : 1), 0.3),
			series->slot);
		double needed = COLUMN * (double)text_columns(series->name) + 12;
		if (series->count == 1 && height >= 17 && width >= needed)
			add_text(out, x + width / 2, y + height / 2 + 4,
				" class=\"note\" text-anchor=\"middle\"", series->name);
	}
}

static void add_rule(struct strbuf *out, const struct frame *frame, const struct series *series)
{
	double x = series->count > 0 ? x_of(frame, series->points[0].x) : PLOT_LEFT;
	add_line(out, x, frame->top, x, frame->top + frame->height,
		"stroke=\"currentColor\" stroke-opacity=\"0.6\" stroke-dasharray=\"2 3\"");
}

/* The names of rules, each on a line of its own, over all that is drawn. */
static void add_rule_names(struct strbuf *out, const struct frame *frame)
{
	unsigned number = 0;
	for (size_t i = 0; i < frame->figure->count; i++) {
		const struct series *series = &frame->figure->series[i];
		if (series->kind != SERIES_RULE || series->count == 0)
			continue;
		struct name_place place = figure_name_place(frame->figure, series, number);
		double below = 13 + number * 17.0;
		add_text(out, x_of(frame, series->points[0].x) + (place.is_left ? -6 : 6),
			frame->top + (place.is_low ? frame->height + 4 - below : below),
			place.is_left ? " class=\"note\" text-anchor=\"end\"" : " class=\"note\"",
			series->name);
		number++;
	}
}

static void add_series(struct strbuf *out, const struct frame *frame)
{
	for (size_t i = 0; i < frame->figure->count; i++) {
		const struct series *series = &frame->figure->series[i];
		switch (series->kind) {
		case SERIES_BAND:
			add_band(out, frame, series);
			break;
		case SERIES_LINE:
			add_path(out, frame, series);
			break;
		case SERIES_MARKS:
			add_marks(out, frame, series);
			break;
		case SERIES_BOXES:
			add_boxes(out, frame, series);
			break;
		case SERIES_RULE:
			add_rule(out, frame, series);
			break;
		}
	}
	add_rule_names(out, frame);
}

enum { SAMPLE = 30 };

/* What a series looks like, at the left of a legend's entry; returns its width. */
static double add_sample(struct strbuf *out, const struct series *series, double x, double y)
{
	if (series->kind == SERIES_MARKS) {
		add_marker(out, x + 7, y, series->slot);
		return SAMPLE / 2.0;
	}
	if (series->kind == SERIES_BOXES) {
		add_rect(out, x, y - 6, SAMPLE, 12, series->slot);
		return SAMPLE;
	}
	if (series->kind == SERIES_BAND) {
		strbuf_addf(out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"12\" fill=\"%s\" "
			"fill-opacity=\"0.2\"/>\n",
			x, y - 6, SAMPLE, palette_slot(series->slot)->colour);
	} else {
		strbuf_addf(out, "<path d=\"M%.1f %.1fh%d\" ", x, y, SAMPLE);
		add_stroke(out, series->slot);
		strbuf_add(out, "/>\n");
	}
	return SAMPLE;
}

/* The series in the order of a legend: marks, lines, bands, boxes; NULL after the last. */
static const struct series *legend_next(const struct figure *figure, const struct series *previous)
{
	static const enum series_kind order[] = { SERIES_MARKS, SERIES_LINE, SERIES_BAND,
		SERIES_BOXES };
	bool is_past = !previous;
	for (size_t k = 0; k < sizeof order / sizeof *order; k++)
		for (size_t i = 0; i < figure->count; i++) {
			const struct series *series = &figure->series[i];
			if (series->kind != order[k] || !figure_in_legend(figure, i))
				continue;
			if (is_past)
				return series;
			is_past = series == previous;
		}
	return NULL;
}

void figure_legend_html(struct strbuf *out, const struct figure *figure)
{
	strbuf_add(out, "<ul class=\"legend\">\n");
	for (const struct series *s = legend_next(figure, NULL); s; s = legend_next(figure, s)) {
		strbuf_addf(out, "<li><svg width=\"%d\" height=\"14\" aria-hidden=\"true\">",
			s->kind == SERIES_MARKS ? SAMPLE / 2 : SAMPLE);
		(void)add_sample(out, s, 0, 7); /* its width is set above */
		strbuf_add(out, "</svg> ");
		markup_add(out, s->name);
		strbuf_add(out, "</li>\n");
	}
	strbuf_add(out, "</ul>\n");
}

/* Returns the y below it. */
static double add_legend(struct strbuf *out, const struct figure *figure, double top)
{
	double x = MARGIN;
	for (const struct series *s = legend_next(figure, NULL); s; s = legend_next(figure, s)) {
		double width = SAMPLE + 6 + COLUMN * (double)text_columns(s->name) + 22;
		if (x > MARGIN && x + width > WIDTH) {
			x = MARGIN;
			top += LINE_HEIGHT;
		}
		double text = x + add_sample(out, s, x, top + 10) + 6;
		add_cut(out, text, top + 14, "", s->name, LEGEND_COLUMNS);
		x = text + width - SAMPLE - 6;
	}
	return top + LINE_HEIGHT;
}

/* Returns the y below it. */
static double add_panel(struct strbuf *out, const struct figure *figure, double top, bool is_inline)
{
	struct frame frame = { .figure = figure };
	double below = top + MARGIN;
	if (!is_inline && figure->title) {
		add_cut(out, MARGIN, below + 14, " class=\"title\"", figure->title, TITLE_COLUMNS);
		below += 1.5 * LINE_HEIGHT;
	}
	if (!is_inline)
		below = add_legend(out, figure, below);
	frame.top = below + 1.6 * LINE_HEIGHT;
	frame.height = figure->height > 0 ? figure->height : PLOT_HEIGHT;
	add_axes(out, &frame);
	add_series(out, &frame);
	return frame.top + frame.height + AXIS_HEIGHT;
}

static void add_head(struct strbuf *out, const struct figure *figure, double height, bool is_inline)
{
	if (!is_inline)
		strbuf_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	strbuf_addf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
		"height=\"%.0f\" role=\"img\" class=\"figure\" color=\"#222\" "
		"fill=\"currentColor\" "
		"font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"13\">\n<title>",
		WIDTH, height, WIDTH, height);
	markup_add(out, figure->title ? figure->title : "");
	strbuf_add(out, "</title>\n<desc>");
	markup_add(out, figure->summary ? figure->summary : "");
	strbuf_add(out, "</desc>\n<style>.title{font-size:16px;font-weight:600}"
			".note{font-size:12px;paint-order:stroke;stroke-width:3px;"
			"stroke-linejoin:round;stroke:");
	strbuf_add(out, is_inline ? "var(--paper)" : "#fff"); /* few but browsers know var() */
	strbuf_add(out, "}</style>\n");
	add_hatches(out);
	if (!is_inline)
		strbuf_addf(
			out, "<rect width=\"%d\" height=\"%.0f\" fill=\"#fff\"/>\n", WIDTH, height);
}

void figure_svg(struct strbuf *out, const struct figure *figures, size_t count, bool is_inline)
{
	AUTO_RELEASE(strbuf) struct strbuf panels = { 0 };
	double height = 0;
	for (size_t i = 0; i < count; i++) {
		if (figure_failed(&figures[i]) < 0) {
			out->failed = true;
			return;
		}
		height = add_panel(&panels, &figures[i], height, is_inline);
	}
	if (strbuf_failed(&panels) < 0)
		out->failed = true;
	add_head(out, &figures[0], height, is_inline);
	strbuf_add(out, panels.text ? panels.text : "");
	strbuf_add(out, "</svg>\n");
}
