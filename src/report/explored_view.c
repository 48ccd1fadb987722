/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicted design spaces: figures, a page, CSV, text, JSON. */
#include "report/explored.h"

#include "base/cleanup.h"
#include "report/figure.h"
#include "report/json.h"
#include "report/page.h"
#include "report/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 20, TIME = 10, ENERGY = 11, SLOWER = 9, CELL = 8 };

static struct quantity_text seconds(const struct explored_point *point)
{
	return quantity_format(QUANTITY_TIME, (double)point->ns / 1e9);
}

static double slower(const struct explored *explored, const struct explored_point *point)
{
	double best_ns = (double)explored->points[explored->order[0]].ns;
	return best_ns > 0 ? (double)point->ns / best_ns - 1 : 0;
}

/* A figure's full name: "l3.size". */
static void add_name(struct strbuf *out, const struct machine_field *field)
{
	strbuf_addf(out, "%s%s%s", field->section, *field->section ? "." : "", field->key);
}

/* "3.33333333333333 GHz" for people: four digits, unless it is a whole number or a word. */
static void round_value(char value[MACHINE_VALUE_BYTES])
{
	char *end, digits[16];
	double number = strtod(value, &end);
	if (end == value || number == floor(number))
		return;
	/* Never longer than what is there. */
	int length = snprintf(digits, sizeof digits, "%.4g", number);
	if (length <= 0 || length > end - value)
		return;
	memcpy(value, digits, (size_t)length);
	memmove(value + length, end, strlen(end) + 1);
}

/* "dispatch_width 4, frequency 2.5 GHz": what varies, then what follows. */
static void add_design(struct strbuf *out, const struct explored *explored, size_t point)
{
	struct processor processor;
	char value[MACHINE_VALUE_BYTES];
	const struct machine_field *field;
	const char *comma = "";
	for (size_t i = 0; (field = space_axis(explored->space, i)); i++, comma = ", ") {
		space_format(explored->space, i, point, value);
		round_value(value);
		strbuf_add(out, comma);
		add_name(out, field);
		strbuf_addf(out, " %s", value);
	}
	if (space_point(explored->space, explored->base, point, &processor, NULL) != 1)
		return;
	for (size_t i = 0; (field = space_setting(explored->space, i)); i++) {
		machine_field_format(field, &processor, value);
		round_value(value);
		strbuf_add(out, ", ");
		add_name(out, field);
		strbuf_addf(out, " %s", value);
	}
}

static void add_findings(struct strbuf *out, const struct explored *explored, const char *subject)
{
	const struct explored_point *best = &explored->points[explored->order[0]];
	strbuf_addf(out, "%s is fastest, %s, with ", subject, seconds(best).text);
	add_design(out, explored, explored->order[0]);
	strbuf_addf(out,
		".\n%zu of %zu points around %s were predicted; %zu of them within %g%% of it.\n",
		explored->done, explored->count, explored->base->name, explored->near_count,
		100 * explored->within);
	if (explored->left_out > 0) {
		size_t first = 0;
		while (explored->points[first].state != EXPLORED_LEFT_OUT)
			first++;
		strbuf_addf(out, "%zu are not to be; the first because: %s.\n", explored->left_out,
			explored->points[first].why);
	}
	if (explored->failed > 0) {
		size_t first = 0;
		while (explored->points[first].state != EXPLORED_FAILED)
			first++;
		strbuf_addf(out, "%zu could not be predicted; the first because: %s.\n",
			explored->failed, explored->points[first].why);
	}
	if (explored->pareto_count > 0) {
		size_t last = explored->pareto[explored->pareto_count - 1];
		strbuf_addf(out, "Least energy: %s J and %s with ",
			number_format(explored->points[last].energy_j).text,
			seconds(&explored->points[last]).text);
		add_design(out, explored, last);
		strbuf_add(out, ".\n");
	}
}

/* A column for each figure that varies, as wide as its name. */
static void add_cells(struct strbuf *out, const struct explored *explored, const size_t *point)
{
	const struct machine_field *field;
	for (size_t i = 0; (field = space_axis(explored->space, i)); i++) {
		AUTO_RELEASE(strbuf) struct strbuf name = { 0 };
		char value[MACHINE_VALUE_BYTES] = "";
		add_name(&name, field);
		if (point) {
			space_format(explored->space, i, *point, value);
			round_value(value);
		}
		strbuf_add(out, "  ");
		text_add_right(out, point || !name.text ? value : name.text,
			name.length > CELL ? name.length : CELL);
		out->failed |= name.failed;
	}
}

/* The head, or a point's row. */
static void add_row(struct strbuf *out, const struct explored *explored, const size_t *index,
	const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf cells = { 0 }, energy = { 0 }, more = { 0 };
	struct quantity_text time = { "time" };
	if (index) {
		const struct explored_point *point = &explored->points[*index];
		time = seconds(point);
		strbuf_addf(&energy, point->energy_j > 0 ? "%s J" : "-",
			number_format(point->energy_j).text);
		strbuf_addf(&more, "%+.1f%%", 100 * slower(explored, point));
	}
	add_cells(&cells, explored, index);
	text_add_right(out, time.text, TIME);
	text_add_right(out, index && energy.text ? energy.text : "energy", ENERGY);
	text_add_right(out, index && more.text ? more.text : "slower", SLOWER);
	text_add_cut(
		out, cells.text ? cells.text : "", text_width(style) - (TIME + ENERGY + SLOWER));
	text_trim(out);
	strbuf_add(out, "\n");
	out->failed |= cells.failed || energy.failed || more.failed;
}

static void add_rows(struct strbuf *out, const struct explored *explored, const size_t *indices,
	size_t count, const struct text_style *style)
{
	add_row(out, explored, NULL, style);
	for (size_t i = 0; i < count && i < ROWS_SHOWN; i++)
		add_row(out, explored, &indices[i], style);
	if (count > ROWS_SHOWN)
		strbuf_addf(out, "and %zu more: --csv has all\n", count - ROWS_SHOWN);
}

void report_explored_text(struct strbuf *out, const struct explored *explored, const char *subject,
	const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 }, findings = { 0 };
	add_findings(&findings, explored, subject);
	text_add_lines(&text, &findings, text_width(style), "", "  ");
	strbuf_addf(&text, "\nWithin %g%% of the fastest\n", 100 * explored->within);
	add_rows(&text, explored, explored->order, explored->near_count, style);
	if (explored->pareto_count > 0) {
		strbuf_add(&text, "\nNo other is better in both time and energy\n");
		add_rows(&text, explored, explored->pareto, explored->pareto_count, style);
	}
	text.failed |= findings.failed;
	text_add_in_charset(out, &text, style);
}

static json_t *point_json(const struct explored *explored, size_t index)
{
	const struct explored_point *point = &explored->points[index];
	struct processor processor = *explored->base;
	const struct machine_field *field;
	json_t *set = json_object();
	for (size_t i = 0; (field = space_axis(explored->space, i)); i++) {
		AUTO_RELEASE(strbuf) struct strbuf name = { 0 };
		add_name(&name, field);
		set = name.text ? json_with(set, name.text,
					  json_number(space_value(explored->space, i, index)))
				: NULL;
	}
	bool is_there = space_point(explored->space, explored->base, index, &processor, NULL) == 1;
	for (size_t i = 0; is_there && (field = space_setting(explored->space, i)); i++) {
		AUTO_RELEASE(strbuf) struct strbuf name = { 0 };
		add_name(&name, field);
		set = name.text ? json_with(set, name.text,
					  json_number(machine_field_get(field, &processor)))
				: NULL;
	}
	json_t *object = json_with(json_object(), "set", set);
	object = json_with(object, "predicted_s", json_real((double)point->ns / 1e9));
	object = json_with(
		object, "energy_j", point->energy_j > 0 ? json_real(point->energy_j) : json_null());
	return json_with(object, "cpi", json_number(point->cpi));
}

void report_explored_json(struct strbuf *out, const struct explored *explored, const char *subject)
{
	json_t *points = json_array(), *near = json_array(), *pareto = json_array();
	for (size_t i = 0; i < explored->done; i++)
		points = json_push(points, point_json(explored, explored->order[i]));
	for (size_t i = 0; i < explored->near_count; i++)
		near = json_push(near, json_integer((json_int_t)i));
	/* Places in `points`, which is by time, as the front is. */
	for (size_t i = 0, at = 0; i < explored->pareto_count; i++) {
		while (explored->order[at] != explored->pareto[i])
			at++;
		pareto = json_push(pareto, json_integer((json_int_t)at));
	}
	json_t *object = json_pack("{s:i, s:o, s:o}", "version", 1, "profile", json_text(subject),
		"base", json_text(explored->base->name));
	object = json_with(object, "count", json_integer((json_int_t)explored->count));
	object = json_with(object, "left_out", json_integer((json_int_t)explored->left_out));
	object = json_with(object, "failed", json_integer((json_int_t)explored->failed));
	object = json_with(object, "within", json_number(explored->within));
	object = json_with(object, "points", points);
	object = json_with(object, "within_bound", near);
	json_add(out, json_with(object, "pareto", pareto));
}

void report_explored_csv(struct strbuf *out, const struct explored *explored)
{
	const struct machine_field *field;
	for (size_t i = 0; (field = space_axis(explored->space, i)); i++) {
		add_name(out, field);
		strbuf_add(out, ",");
	}
	for (size_t i = 0; (field = space_setting(explored->space, i)); i++) {
		add_name(out, field);
		strbuf_add(out, ",");
	}
	strbuf_add(out, "time,energy_j,cpi\n");
	for (size_t i = 0; i < explored->done; i++) {
		size_t index = explored->order[i];
		const struct explored_point *point = &explored->points[index];
		struct processor processor = *explored->base;
		(void)space_point(explored->space, explored->base, index, &processor,
			NULL); /* it is there: it was predicted */
		for (size_t k = 0; space_axis(explored->space, k); k++)
			strbuf_addf(out, "%.15g,", space_value(explored->space, k, index));
		for (size_t k = 0; (field = space_setting(explored->space, k)); k++)
			strbuf_addf(out, "%.15g,", machine_field_get(field, &processor));
		strbuf_addf(out, "%.9f,", (double)point->ns / 1e9);
		if (point->energy_j > 0)
			strbuf_addf(out, "%.9g", point->energy_j);
		strbuf_addf(out, ",%.6g\n", point->cpi);
	}
}

/* All points, and the front. */
static void figure_of_energy(struct figure *figure, const struct explored *explored)
{
	struct series *all = figure_add(figure, SERIES_MARKS, 1, "designs", explored->done);
	for (size_t i = 0; i < explored->done; i++) {
		const struct explored_point *p = &explored->points[explored->order[i]];
		if (p->energy_j > 0)
			series_add(all, (double)p->ns / 1e9, p->energy_j, 0);
	}
	/* One point has no line. */
	enum series_kind kind = explored->pareto_count > 1 ? SERIES_LINE : SERIES_MARKS;
	struct series *front =
		figure_add(figure, kind, 0, "no other is better", explored->pareto_count);
	for (size_t i = 0; i < explored->pareto_count; i++) {
		const struct explored_point *p = &explored->points[explored->pareto[i]];
		series_add(front, (double)p->ns / 1e9, p->energy_j, 0);
	}
	const struct explored_point *last = &explored->points[explored->order[explored->done - 1]];
	figure->x = (struct axis){ .title = "time", .quantity = QUANTITY_TIME };
	axis_fit(&figure->x, 0, (double)last->ns / 1e9);
	figure->y = (struct axis){ .title = "energy in J" };
}

/* By time, as marks in their order. */
static void figure_of_times(struct figure *figure, const struct explored *explored)
{
	struct series *all = figure_add(figure, SERIES_MARKS, 1, "designs", explored->done);
	for (size_t i = 0; i < explored->done; i++)
		series_add(all, (double)(i + 1),
			(double)explored->points[explored->order[i]].ns / 1e9, 0);
	figure->x = (struct axis){ .title = "designs, fastest first" };
	axis_fit(&figure->x, 0, (double)explored->done);
	figure->y = (struct axis){ .title = "time", .quantity = QUANTITY_TIME };
}

static void make_figure(struct figure *figure, const struct explored *explored, const char *subject)
{
	AUTO_RELEASE(strbuf) struct strbuf title = { 0 }, summary = { 0 };
	strbuf_addf(
		&title, "%s: %zu designs around %s", subject, explored->done, explored->base->name);
	add_findings(&summary, explored, subject);
	figure_set(figure, &figure->title, title.text ? title.text : "");
	figure_set(figure, &figure->summary, summary.text ? summary.text : "");
	if (explored->pareto_count > 0)
		figure_of_energy(figure, explored);
	else
		figure_of_times(figure, explored);
	figure_fit(figure);
}

void report_explored_svg(struct strbuf *out, const struct explored *explored, const char *subject)
{
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	make_figure(&figure, explored, subject);
	if (figure_failed(&figure) < 0)
		out->failed = true;
	else
		figure_svg(out, &figure, 1, false);
}

static void add_page_rows(
	struct strbuf *out, const struct explored *explored, const size_t *indices, size_t count)
{
	static const char *const heads[] = { "time", "slower", "energy", "design" };
	page_words_table_begin(out, heads, 4);
	for (size_t i = 0; i < count && i < 10 * ROWS_SHOWN; i++) {
		const struct explored_point *point = &explored->points[indices[i]];
		AUTO_RELEASE(strbuf) struct strbuf design = { 0 }, energy = { 0 }, more = { 0 };
		strbuf_addf(&energy, point->energy_j > 0 ? "%s J" : "-",
			number_format(point->energy_j).text);
		strbuf_addf(&more, "%+.1f%%", 100 * slower(explored, point));
		add_design(&design, explored, indices[i]);
		struct quantity_text time = seconds(point);
		const char *const cells[] = { time.text, more.text ? more.text : "",
			energy.text ? energy.text : "", design.text ? design.text : "" };
		page_table_row(out, cells, 4);
	}
	page_table_end(out);
}

void report_explored_html(struct strbuf *out, const struct explored *explored, const char *subject)
{
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	AUTO_RELEASE(strbuf) struct strbuf title = { 0 }, findings = { 0 };
	strbuf_addf(&title, "%s: designs around %s", subject, explored->base->name);
	page_begin(out, title.text ? title.text : "");
	add_findings(&findings, explored, subject);
	page_findings(out, findings.text ? findings.text : "");
	make_figure(&figure, explored, subject);
	page_figure(out, &figure);
	out->failed |= figure_failed(&figure) < 0;
	page_section(out, "Fastest");
	add_page_rows(out, explored, explored->order,
		explored->near_count > ROWS_SHOWN ? explored->near_count
		: explored->done < ROWS_SHOWN     ? explored->done
						  : ROWS_SHOWN);
	if (explored->pareto_count > 0) {
		page_section(out, "No other is better in both time and energy");
		add_page_rows(out, explored, explored->pareto, explored->pareto_count);
	}
	page_end(out, "corecast " CORECAST_VERSION ".");
}
