/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Figures as Vega-Lite specifications: a layer for each series, and one that shows the numbers at the
 * count under the pointer. Ticks and all text come from here, so that the browser formats nothing and
 * shows what the other renderers show.
 */
#include "report/figure.h"

#include "base/cleanup.h"
#include "report/json.h"
#include "report/palette.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEIGHT = 320 }; /* of the plot, as in the SVG */

/* "['0','20 s','40 s'][round(datum.index * 2)]": Vega numbers the ticks of an axis from 0 to 1. */
static json_t *labels_expression(const struct ticks *ticks)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, "[");
	for (unsigned i = 0; i < ticks->count; i++)
		strbuf_addf(&text, "%s'%s'", i ? "," : "", ticks->labels[i].text);
	strbuf_addf(&text, "][round(datum.index * %u)]", ticks->count - 1);
	return strbuf_failed(&text) < 0 ? NULL : json_text(text.text);
}

static json_t *axis_json(const struct axis *axis, unsigned wanted, bool has_grid)
{
	struct ticks ticks;
	axis_ticks(axis, wanted, &ticks);
	json_t *values = json_array();
	for (unsigned i = 0; i < ticks.count; i++)
		values = json_push(values, json_number(ticks.at[i]));
	if (axis->is_hidden) {
		json_decref(values);
		return json_null();
	}
	return json_pack("{s:o, s:o, s:b, s:b, s:i}", "values", values, "labelExpr",
		labels_expression(&ticks), "grid", has_grid, "labelOverlap", true,
		"labelSeparation", 6);
}

static json_t *scale_json(const struct axis *axis)
{
	return json_pack("{s:s, s:[f, f], s:b, s:b}", "type", axis->is_log ? "log" : "linear",
		"domain", axis->low, axis->high, "nice", false, "clamp", true);
}

static json_t *x_json(const struct figure *figure)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "field", "x", "type", "quantitative", "title",
		figure->x.title, "scale", scale_json(&figure->x), "axis",
		axis_json(&figure->x, 12, false));
}

static json_t *y_json(const struct figure *figure)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "field", "y", "type", "quantitative", "title",
		figure->y.title, "scale", scale_json(&figure->y), "axis",
		axis_json(&figure->y, 7, true));
}

/* Values beyond the axes are cut here: Vega leaves out what a logarithmic scale cannot show. */
static double within(const struct axis *axis, double value)
{
	return fmin(fmax(value, axis->low), axis->high);
}

static json_t *data_json(const struct figure *figure, const struct series *series)
{
	json_t *values = json_array();
	for (size_t i = 0; i < series->count; i++) {
		const struct figure_point *p = &series->points[i];
		values = json_push(values,
			json_pack("{s:f, s:f, s:f}", "x", p->x, "y", within(&figure->y, p->y),
				"high", within(&figure->y, p->y_high)));
	}
	return json_pack("{s:o}", "values", values);
}

/* The dash of a slot as an array of lengths; Vega draws a solid line for an empty one. */
static json_t *dash_json(const char *dash)
{
	json_t *lengths = json_array();
	while (*dash) {
		char *end;
		lengths = json_push(lengths, json_integer(strtol(dash, &end, 10)));
		dash = end;
	}
	return lengths;
}

static json_t *band_json(const struct figure *figure, const struct series *series)
{
	return json_pack("{s:o, s:{s:s, s:s, s:f}, s:{s:o, s:o, s:{s:s}}}", "data",
		data_json(figure, series), "mark", "type", "area", "color",
		palette_slot(series->slot)->colour, "opacity", 0.2, "encoding", "x", x_json(figure),
		"y", y_json(figure), "y2", "field", "high");
}

static json_t *line_json(const struct figure *figure, const struct series *series)
{
	const struct palette_slot *look = palette_slot(series->slot);
	return json_pack("{s:o, s:{s:s, s:s, s:f, s:o}, s:{s:o, s:o}}", "data",
		data_json(figure, series), "mark", "type", "line", "color", look->colour,
		"strokeWidth", 2.5, "strokeDash", dash_json(look->dash), "encoding", "x",
		x_json(figure), "y", y_json(figure));
}

static json_t *marks_json(const struct figure *figure, const struct series *series)
{
	const struct palette_slot *look = palette_slot(series->slot);
	return json_pack("{s:o, s:{s:s, s:s, s:s, s:b, s:i, s:f, s:s, s:f}, s:{s:o, s:o}}", "data",
		data_json(figure, series), "mark", "type", "point", "shape",
		palette_marker_name(look->marker), "fill", look->colour, "filled", true, "size", 60,
		"opacity", 1.0, "stroke", "white", "strokeWidth", 1.0, "encoding", "x",
		x_json(figure), "y", y_json(figure));
}

/* Boxes say in a tooltip what they are; a box alone has its name in it. */
static json_t *boxes_json(const struct figure *figure, const struct series *series)
{
	json_t *values = json_array();
	for (size_t i = 0; i < series->count; i++) {
		const struct figure_point *p = &series->points[i];
		enum quantity x = figure->x.quantity, y = figure->y.quantity;
		values = json_push(
			values, json_pack("{s:f, s:f, s:f, s:f, s:o, s:s, s:s}", "x", p->x,
					"high_x", p->x_high, "y", p->y, "high", p->y_high, "name",
					json_text(series->name), "size_x",
					quantity_format(x, p->x_high - p->x).text, "size_y",
					quantity_format(y, p->y_high - p->y).text));
	}
	json_t *tooltip = json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "field", "name",
		"title", "thread", "field", "size_x", "title", figure->x.title, "field", "size_y",
		"title", figure->y.is_hidden ? "" : figure->y.title);
	if (figure->y.is_hidden)
		json_array_remove(tooltip, 2);
	return json_pack(
		"{s:{s:o}, s:{s:s, s:s, s:f, s:s, s:f}, s:{s:o, s:o, s:{s:s}, s:{s:s}, s:o}}",
		"data", "values", values, "mark", "type", "rect", "color",
		palette_slot(series->slot)->colour, "opacity", 1.0, "stroke", "white",
		"strokeWidth", series->count > 1 ? 0.0 : 1.0, "encoding", "x", x_json(figure), "y",
		y_json(figure), "x2", "field", "high_x", "y2", "field", "high", "tooltip", tooltip);
}

static json_t *rule_json(const struct figure *figure, const struct series *series)
{
	return json_pack("{s:o, s:{s:s, s:[i, i], s:f}, s:{s:o}}", "data",
		data_json(figure, series), "mark", "type", "rule", "strokeDash", 2, 3, "opacity",
		0.6, "encoding", "x", x_json(figure));
}

/* The name of a rule, beside its upper end. */
static json_t *rule_name_json(
	const struct figure *figure, const struct series *series, unsigned number)
{
	struct name_place place = figure_name_place(figure, series, number);
	int below = 9 + 16 * (int)number;
	return json_pack("{s:o, s:{s:s, s:o, s:s, s:i, s:i}, s:{s:o, s:{s:i}}}", "data",
		data_json(figure, series), "mark", "type", "text", "text", json_text(series->name),
		"align", place.is_left ? "right" : "left", "dx", place.is_left ? -6 : 6, "fontSize",
		12, "encoding", "x", x_json(figure), "y", "value",
		place.is_low ? HEIGHT - below : below);
}

/* What a series says at x, for people. */
static json_t *value_json(const struct figure *figure, const struct series *series, double x)
{
	enum quantity quantity = figure->y.quantity;
	for (size_t i = 0; i < series->count; i++) {
		const struct figure_point *p = &series->points[i];
		if (p->x != x)
			continue;
		if (series->kind != SERIES_BAND)
			return json_string(quantity_format(quantity, p->y).text);
		return json_sprintf("%s to %s", quantity_format(quantity, p->y).text,
			quantity_format(quantity, p->y_high).text);
	}
	return json_string("-");
}

/* The series with the most points: where the pointer can stop. NULL if nothing is drawn. */
static const struct series *longest_series(const struct figure *figure)
{
	const struct series *longest = NULL;
	for (size_t i = 0; i < figure->count; i++)
		if (figure->series[i].kind != SERIES_RULE &&
			figure->series[i].kind != SERIES_BOXES &&
			(!longest || figure->series[i].count > longest->count))
			longest = &figure->series[i];
	return longest;
}

struct field {
	char name[24];
};

/* The name of the field that holds a series' text. */
static struct field field_of(size_t series)
{
	struct field field;
	snprintf(field.name, sizeof field.name, "s%zu", series);
	return field;
}

/* A row for each x, with a text of each series. */
static json_t *pointer_data(const struct figure *figure, const struct series *longest)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < longest->count; i++) {
		double x = longest->points[i].x;
		json_t *row = json_pack("{s:f}", "x", x);
		for (size_t k = 0; k < figure->count; k++)
			row = json_with(
				row, field_of(k).name, value_json(figure, &figure->series[k], x));
		rows = json_push(rows, row);
	}
	return json_pack("{s:o}", "values", rows);
}

static json_t *tooltip_json(const struct figure *figure)
{
	json_t *fields = json_array();
	fields = json_push(fields, json_pack("{s:s, s:s, s:s}", "field", "x", "type",
					   "quantitative", "title", figure->x.title));
	for (size_t i = 0; i < figure->count; i++)
		if (figure->series[i].kind != SERIES_RULE)
			fields = json_push(fields,
				json_pack("{s:s, s:s, s:o}", "field", field_of(i).name, "type",
					"nominal", "title", json_text(figure->series[i].name)));
	return fields;
}

/* An invisible rule at each x; the one nearest to the pointer appears and says all values there. */
static json_t *pointer_json(const struct figure *figure, const struct series *longest)
{
	json_t *select = json_pack("{s:s, s:b, s:s, s:s, s:[s]}", "type", "point", "nearest", true,
		"on", "pointerover", "clear", "pointerout", "encodings", "x");
	json_t *opacity = json_pack("{s:{s:s, s:b, s:f}, s:f}", "condition", "param", "pointer",
		"empty", false, "value", 0.5, "value", 0.0);
	return json_pack("{s:o, s:[{s:s, s:o}], s:{s:s}, s:{s:o, s:o, s:o}}", "data",
		pointer_data(figure, longest), "params", "name", "pointer", "select", select,
		"mark", "type", "rule", "encoding", "x", x_json(figure), "opacity", opacity,
		"tooltip", tooltip_json(figure));
}

static json_t *layers_json(const struct figure *figure)
{
	json_t *layers = json_array();
	for (size_t i = 0; i < figure->count; i++) {
		const struct series *series = &figure->series[i];
		switch (series->kind) {
		case SERIES_BAND:
			layers = json_push(layers, band_json(figure, series));
			break;
		case SERIES_LINE:
			layers = json_push(layers, line_json(figure, series));
			break;
		case SERIES_MARKS:
			layers = json_push(layers, marks_json(figure, series));
			break;
		case SERIES_BOXES:
			layers = json_push(layers, boxes_json(figure, series));
			break;
		case SERIES_RULE:
			layers = json_push(layers, rule_json(figure, series));
			break;
		}
	}
	unsigned rules = 0;
	for (size_t i = 0; i < figure->count; i++)
		if (figure->series[i].kind == SERIES_RULE)
			layers = json_push(
				layers, rule_name_json(figure, &figure->series[i], rules++));
	const struct series *longest = longest_series(figure);
	return longest ? json_push(layers, pointer_json(figure, longest)) : layers;
}

/* The ink is the page's text colour, so that a dark theme needs no second specification. */
static json_t *axis_config_json(void)
{
	static const char ink[] = "currentColor";
	return json_pack("{s:s, s:s, s:s, s:f, s:s, s:s, s:i, s:i, s:s}", "labelColor", ink,
		"titleColor", ink, "gridColor", ink, "gridOpacity", 0.15, "domainColor", ink,
		"tickColor", ink, "labelFontSize", 13, "titleFontSize", 13, "titleFontWeight",
		"normal");
}

/* The y title lies flat above the axis, as in the SVG. */
static json_t *config_json(void)
{
	enum { LABELS = 56, ABOVE = -10 };
	static const char ink[] = "currentColor";
	return json_pack(
		"{s:s, s:o, s:{s:i, s:i, s:i, s:i, s:s, s:s, s:b}, s:{s:n}, s:{s:s}, s:{s:s}}",
		"font", "system-ui, 'DejaVu Sans', sans-serif", "axis", axis_config_json(), "axisY",
		"minExtent", LABELS, "titleAngle", 0, "titleX", -LABELS, "titleY", ABOVE,
		"titleAlign", "left", "titleBaseline", "bottom", "domain", false, "view", "stroke",
		"rule", "color", ink, "text", "color", ink);
}

json_t *figure_vega(const struct figure *figure)
{
	if (figure_failed(figure) < 0)
		return NULL;
	return json_pack("{s:s, s:s, s:i, s:n, s:s, s:o, s:o}", "$schema",
		"https://vega.github.io/schema/vega-lite/v6.json", "width", "container", "height",
		figure->height > 0 ? (int)figure->height : HEIGHT, "background", "description",
		figure->summary ? figure->summary : "", "config", config_json(), "layer",
		layers_json(figure));
}
