/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A figure in a terminal. The plot is a grid of cells; a cell shows the topmost of
 *
 *	a mark (measured)	● ▲ ■		o x #	without UTF-8
 *	a line (predicted)	braille dots	* + =
 *	a band (uncertain)	░ ▒ ▓		. : %
 *
 * so that the three are told apart without colour. A cell has 2 x 4 braille dots:
 *
 *	bit 0  bit 3
 *	bit 1  bit 4
 *	bit 2  bit 5
 *	bit 6  bit 7		(Unicode, "Braille Patterns", U+2800)
 */
#include "report/figure.h"

#include "base/cleanup.h"
#include "report/palette.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DOTS_X = 2, DOTS_Y = 4, EMPTY = 0xFF };

struct cell {
	uint8_t dots; /* of the line */
	uint8_t line, mark, band; /* slots; EMPTY: none */
};

struct canvas {
	const struct figure *figure;
	const struct text_style *style;
	size_t columns, rows;
	struct cell *cells; /* row by row, from the top */
};

static struct cell *cell_at(struct canvas *canvas, size_t column, size_t row)
{
	return &canvas->cells[row * canvas->columns + column];
}

/* The dots, counted from the left and from the top, that show a value; the cell is that / DOTS. */
static size_t dot_column(const struct canvas *canvas, double x)
{
	double last = (double)(canvas->columns * DOTS_X - 1);
	return (size_t)lround(axis_position(&canvas->figure->x, x) * last);
}

static size_t dot_row(const struct canvas *canvas, double y)
{
	double last = (double)(canvas->rows * DOTS_Y - 1);
	return (size_t)lround((1 - axis_position(&canvas->figure->y, y)) * last);
}

/* The x that a column of dots shows. */
static double x_of_dot(const struct canvas *canvas, double dot)
{
	return axis_value(&canvas->figure->x, dot / (double)(canvas->columns * DOTS_X - 1));
}

static void draw_band(struct canvas *canvas, const struct series *series)
{
	for (size_t column = 0; column < canvas->columns; column++) {
		double x = x_of_dot(canvas, (double)(column * DOTS_X) + 0.5);
		double low = series_at(canvas->figure, series, x, false);
		double high = series_at(canvas->figure, series, x, true);
		if (isnan(low) || isnan(high))
			continue;
		size_t last = dot_row(canvas, low) / DOTS_Y;
		for (size_t row = dot_row(canvas, high) / DOTS_Y; row <= last; row++)
			cell_at(canvas, column, row)->band = (uint8_t)series->slot;
	}
}

static void draw_dot(struct canvas *canvas, size_t x, size_t y, unsigned slot)
{
	static const uint8_t bits[DOTS_Y][DOTS_X] = { { 0x01, 0x08 }, { 0x02, 0x10 },
		{ 0x04, 0x20 }, { 0x40, 0x80 } };
	struct cell *cell = cell_at(canvas, x / DOTS_X, y / DOTS_Y);
	if (cell->line != slot)
		cell->dots = 0;
	cell->line = (uint8_t)slot;
	cell->dots |= bits[y % DOTS_Y][x % DOTS_X];
}

/* Lines after the first are dashed, the more the higher their slot. */
static bool is_gap(size_t x, unsigned slot)
{
	return slot > 0 && x / DOTS_X % (slot + 2) == 0;
}

static void draw_line(struct canvas *canvas, const struct series *series)
{
	size_t previous = SIZE_MAX;
	for (size_t x = 0; x < canvas->columns * DOTS_X; x++) {
		double value =
			series_at(canvas->figure, series, x_of_dot(canvas, (double)x), false);
		if (isnan(value)) {
			previous = SIZE_MAX;
			continue;
		}
		size_t row = dot_row(canvas, value);
		size_t from = previous == SIZE_MAX ? row : previous;
		previous = row;
		if (is_gap(x, series->slot))
			continue;
		/* A steep piece fills the dots between its ends, without the previous column's. */
		from = from < row ? from + 1 : from > row ? from - 1 : row;
		size_t top = from < row ? from : row, bottom = from < row ? row : from;
		for (size_t y = top; y <= bottom; y++)
			draw_dot(canvas, x, y, series->slot);
	}
}

static void draw_marks(struct canvas *canvas, const struct series *series)
{
	for (size_t i = 0; i < series->count; i++) {
		size_t column = dot_column(canvas, series->points[i].x) / DOTS_X;
		size_t row = dot_row(canvas, series->points[i].y) / DOTS_Y;
		cell_at(canvas, column, row)->mark = (uint8_t)series->slot;
	}
}

static void draw(struct canvas *canvas)
{
	for (size_t i = 0; i < canvas->columns * canvas->rows; i++)
		canvas->cells[i] = (struct cell){ 0, EMPTY, EMPTY, EMPTY };
	for (size_t i = 0; i < canvas->figure->count; i++) {
		const struct series *series = &canvas->figure->series[i];
		switch (series->kind) {
		case SERIES_BAND:
			draw_band(canvas, series);
			break;
		case SERIES_LINE:
			draw_line(canvas, series);
			break;
		case SERIES_MARKS:
			draw_marks(canvas, series);
			break;
		case SERIES_BOXES:
		case SERIES_RULE:
			break;
		}
	}
}

static void add_glyph(struct strbuf *out, const struct text_style *style, enum series_kind kind,
	unsigned slot, uint8_t dots)
{
	const struct palette_slot *look = palette_slot(slot);
	uint32_t glyph = 0;
	switch (kind) {
	case SERIES_MARKS:
		glyph = style->is_utf8 ? look->glyph : look->glyph_ascii;
		break;
	case SERIES_LINE:
		glyph = style->is_utf8 ? 0x2800u + dots : (uint32_t)look->line_ascii;
		break;
	case SERIES_BAND:
		glyph = style->is_utf8 ? look->fill : look->fill_ascii;
		break;
	case SERIES_BOXES:
	case SERIES_RULE:
		return;
	}
	if (style->has_colour)
		strbuf_addf(out, "\033[%s%sm", kind == SERIES_MARKS ? "1;" : "", look->sgr);
	text_add_code_point(out, glyph);
	if (style->has_colour)
		strbuf_add(out, "\033[0m");
}

static void add_cell(struct strbuf *out, const struct text_style *style, const struct cell *cell)
{
	if (cell->mark != EMPTY)
		add_glyph(out, style, SERIES_MARKS, cell->mark, 0);
	else if (cell->line != EMPTY)
		add_glyph(out, style, SERIES_LINE, cell->line, cell->dots);
	else if (cell->band != EMPTY)
		add_glyph(out, style, SERIES_BAND, cell->band, 0);
	else
		strbuf_add(out, " ");
}

static bool is_blank(const struct cell *cell)
{
	return cell->mark == EMPTY && cell->line == EMPTY && cell->band == EMPTY;
}

static void add_row(
	struct strbuf *out, struct canvas *canvas, size_t row, const char *label, size_t gutter)
{
	strbuf_add(out, " ");
	text_add_right(out, label, gutter - 1);
	const char *edge = canvas->style->is_utf8 ? (*label ? " ┤" : " │") : (*label ? " +" : " |");
	strbuf_add(out, edge);
	size_t used = canvas->columns; /* no spaces at the end of a line */
	while (used > 0 && is_blank(cell_at(canvas, used - 1, row)))
		used--;
	for (size_t column = 0; column < used; column++)
		add_cell(out, canvas->style, cell_at(canvas, column, row));
	strbuf_add(out, "\n");
}

/* The x axis: its line with a tick mark above each label, and the labels centred below. */
static void add_x_axis(struct strbuf *out, const struct canvas *canvas, size_t gutter)
{
	struct ticks ticks;
	axis_ticks(&canvas->figure->x, (unsigned)(canvas->columns / 8), &ticks);
	bool is_utf8 = canvas->style->is_utf8;
	size_t width = gutter + 2 + canvas->columns;
	AUTO_FREE bool *marks = calloc(canvas->columns, sizeof *marks);
	AUTO_FREE char *labels = malloc(width + sizeof ticks.labels[0].text);
	if (!marks || !labels) {
		out->failed = true;
		return;
	}
	memset(labels, ' ', width);
	size_t end = 0;
	for (unsigned i = 0; i < ticks.count; i++) {
		size_t column = dot_column(canvas, ticks.at[i]) / DOTS_X;
		size_t length = strlen(ticks.labels[i].text);
		size_t at = gutter + 2 + column - length / 2;
		if (at + length > width || (end > 0 && at < end + 1))
			continue;
		marks[column] = true;
		memcpy(labels + at, ticks.labels[i].text, length);
		end = at + length;
	}
	labels[end] = '\0';
	text_add_repeated(out, " ", gutter + 1);
	strbuf_add(out, is_utf8 ? "└" : "+");
	for (size_t i = 0; i < canvas->columns; i++)
		strbuf_add(out, marks[i] ? (is_utf8 ? "┬" : "+") : (is_utf8 ? "─" : "-"));
	strbuf_addf(out, "\n%s\n", labels);
}

/* A sample of the series, as it is drawn; returns its columns. */
static size_t add_sample(
	struct strbuf *out, const struct text_style *style, const struct series *series)
{
	enum { STROKE = 0x12, LINE_CELLS = 5, OTHER_CELLS = 1 }; /* STROKE: two dots side by side */
	if (series->kind != SERIES_LINE) {
		add_glyph(out, style, series->kind, series->slot, 0);
		return OTHER_CELLS;
	}
	for (size_t cell = 1; cell <= LINE_CELLS; cell++)
		if (is_gap(cell * DOTS_X, series->slot))
			strbuf_add(out, " ");
		else
			add_glyph(out, style, SERIES_LINE, series->slot, STROKE);
	return LINE_CELLS;
}

static void add_legend_of(struct strbuf *out, const struct canvas *canvas, enum series_kind kind,
	size_t gutter, size_t *used)
{
	enum { SAMPLE_MAX = 6 };
	for (size_t i = 0; i < canvas->figure->count; i++) {
		const struct series *series = &canvas->figure->series[i];
		if (series->kind != kind || !figure_in_legend(canvas->figure, i))
			continue;
		size_t columns = text_columns(series->name);
		size_t room = text_width(canvas->style) - gutter - 2 - SAMPLE_MAX;
		columns = columns < room ? columns : room;
		if (*used + columns + SAMPLE_MAX + 3 > text_width(canvas->style))
			*used = 0;
		if (*used == 0) {
			strbuf_add(out, "\n");
			text_add_repeated(out, " ", gutter + 2);
			*used = gutter + 2;
		} else {
			strbuf_add(out, "   ");
			*used += 3;
		}
		*used += add_sample(out, canvas->style, series) + 1 + columns;
		strbuf_add(out, " ");
		text_add_left(out, series->name, columns);
	}
}

static void add_legend(struct strbuf *out, const struct canvas *canvas, size_t gutter)
{
	size_t used = 0;
	add_legend_of(out, canvas, SERIES_MARKS, gutter, &used);
	add_legend_of(out, canvas, SERIES_LINE, gutter, &used);
	add_legend_of(out, canvas, SERIES_BAND, gutter, &used);
	strbuf_add(out, "\n");
}

static size_t gutter_for(const struct ticks *ticks)
{
	size_t widest = 0;
	for (unsigned i = 0; i < ticks->count; i++) {
		size_t columns = text_columns(ticks->labels[i].text);
		widest = columns > widest ? columns : widest;
	}
	return widest + 1;
}

void figure_text(struct strbuf *out, const struct figure *figure, const struct text_style *style,
	unsigned rows)
{
	struct ticks ticks;
	axis_ticks(&figure->y, rows / 3 + 1, &ticks);
	size_t gutter = gutter_for(&ticks);
	struct canvas canvas = { .figure = figure,
		.style = style,
		.columns = text_width(style) - gutter - 3,
		.rows = rows };
	AUTO_FREE struct cell *cells = calloc(canvas.columns * rows, sizeof *cells);
	if (!cells || figure_failed(figure) < 0) {
		out->failed = true;
		return;
	}
	canvas.cells = cells;
	draw(&canvas);
	strbuf_addf(out, " %s\n", figure->y.title);
	for (size_t row = 0; row < rows; row++) {
		const char *label = "";
		for (unsigned i = 0; i < ticks.count; i++)
			if (dot_row(&canvas, ticks.at[i]) / DOTS_Y == row)
				label = ticks.labels[i].text;
		add_row(out, &canvas, row, label, gutter);
	}
	add_x_axis(out, &canvas, gutter);
	text_add_repeated(
		out, " ", gutter + 2 + (canvas.columns - text_columns(figure->x.title)) / 2);
	strbuf_add(out, figure->x.title);
	add_legend(out, &canvas, gutter);
}
