/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A figure as data: two axes and what is drawn between them. It is built once (forecast_figure.c)
 * and drawn by whoever shows it: figure_text() in a terminal, figure_svg() on paper, figure_vega()
 * on a page. None of these knows what a forecast is.
 *
 *	struct figure figure = { .title = ..., .x = ..., .y = ... };
 *	struct series *line = figure_add(&figure, SERIES_LINE, 0, "forecast", count);
 *	if (line) ... line->points[i] = ...
 *	figure_fit(&figure);
 *
 * An addition that finds no memory returns NULL and is remembered: figure_failed().
 */
#ifndef REPORT_FIGURE_H
#define REPORT_FIGURE_H

#include "report/axis.h"
#include "report/text.h"

#include <jansson.h>
#include <stddef.h>

enum series_kind {
	SERIES_BAND, /* uncertain: between y and y_high */
	SERIES_LINE, /* predicted */
	SERIES_MARKS, /* measured */
	SERIES_BOXES, /* shares of something measured: from x, y to x_high, y_high; not in a terminal */
	SERIES_RULE, /* a vertical line at x with its name: one point; not shown in a terminal */
};

struct figure_point {
	double x, y;
	double y_high; /* of a band or a box */
	double x_high; /* of a box */
};

struct series {
	enum series_kind kind;
	unsigned slot; /* palette.h */
	char *name; /* clean text, in legends and tooltips */
	struct figure_point *points; /* ascending x, all finite */
	size_t count;
};

struct figure {
	char *title; /* clean text; may be NULL */
	char *summary; /* what it shows, in words, for those who cannot see it; may be NULL */
	struct axis x, y;
	unsigned height; /* of the plot in pixels; 0: as a curve's */
	struct series *series; /* drawn in this order, later on top */
	size_t count;
	bool failed;
};

void figure_release(struct figure *figure);

/* Room for `capacity` points; count starts at 0: use series_add(). NULL without memory. */
struct series *figure_add(struct figure *figure, enum series_kind kind, unsigned slot,
	const char *name, size_t capacity);

/* Appends; points that are not finite are left out. `series` may be NULL (then nothing happens). */
void series_add(struct series *series, double x, double y, double y_high);

/* The same for a box; what has no area is left out. */
void series_add_box(struct series *series, double x, double x_high, double y, double y_high);

/* Sets *text to a cleaned copy. */
void figure_set(struct figure *figure, char **text, const char *value);

/*
 * Fits the y axis to lines and marks, and to bands as far as they leave those readable (a band may
 * be cut at the axis's end).
 */
void figure_fit(struct figure *figure);

/* 0, or -ENOMEM if anything could not be added. */
int figure_failed(const struct figure *figure);

/* y of a line (y_high of a band if `high`) at x, along the axes; NAN outside the series. */
double series_at(const struct figure *figure, const struct series *series, double x, bool high);

/*
 * Where the name of a vertical line, the number-th of its figure, stands: on its left or right (the
 * first one's on the left where there is room, the others' on the right), and at the end of the plot
 * that the first line of the figure is far from.
 */
struct name_place {
	bool is_left, is_low;
};
struct name_place figure_name_place(
	const struct figure *figure, const struct series *rule, unsigned number);

/*
 * Whether a legend names the index-th series: not one without points, and of bands with one name
 * (the intervals of several lines) the first.
 */
bool figure_in_legend(const struct figure *figure, size_t index);

/* A plot of style->width columns and `rows` rows, with axes and a legend. Always UTF-8. */
void figure_text(struct strbuf *out, const struct figure *figure, const struct text_style *style,
	unsigned rows);

/*
 * The figures below one another in one SVG document; count >= 1. Inline: an element for an HTML page
 * that shows title, legend and background itself.
 */
void figure_svg(struct strbuf *out, const struct figure *figures, size_t count, bool is_inline);

/* The legend of an inline figure: an HTML list. */
void figure_legend_html(struct strbuf *out, const struct figure *figure);

/* The figure as a Vega-Lite specification with its data, as wide as its container. NULL: memory. */
json_t *figure_vega(const struct figure *figure);

#endif
