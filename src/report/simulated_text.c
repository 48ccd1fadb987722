/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated settings in a terminal. */
#include "report/simulated.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Columns of the numbers in a row. */
enum { NUMBERS_OF_REQUESTS = 49, NUMBERS_OF_RUNS = 26 };

enum { AXES_SHOWN = 3, AXIS_WIDTH = 9, NAME = 26, BUSIEST_LEAST = 10 };

/* The axes that have a column: those with several values, as many as fit. */
struct shown {
	size_t axes[AXES_SHOWN], widths[AXES_SHOWN];
	size_t count;
};

static size_t axis_width(const struct simulated *simulated, size_t axis)
{
	const struct grid_axis *of = &simulated->grid->axes[axis];
	const struct model_parameter *parameter = &simulated->model->parameters[of->parameter];
	size_t width = strlen(parameter->name);
	for (size_t i = 0; i < of->count; i++) {
		char text[MODEL_FORMAT_BYTES];
		model_format(of->values[i], parameter->unit, text);
		width = strlen(text) > width ? strlen(text) : width;
	}
	size_t most = simulated->has_requests || simulated->grid->axis_count > 2 ? AXIS_WIDTH
										 : 2 * AXIS_WIDTH;
	return width < most ? width : most;
}

static struct shown choose_axes(const struct simulated *simulated)
{
	struct shown shown = { 0 };
	for (size_t i = 0; i < simulated->grid->axis_count && shown.count < AXES_SHOWN; i++) {
		if (simulated->grid->axes[i].count < 2)
			continue;
		shown.axes[shown.count] = i;
		shown.widths[shown.count++] = axis_width(simulated, i);
	}
	return shown;
}

static void add_half(struct strbuf *out, const struct estimate *estimate, size_t columns)
{
	char text[16] = "-";
	if (isfinite(estimate->low) && estimate->mean != 0)
		snprintf(text, sizeof text, "%.1f%%",
			100 * (estimate->high - estimate->mean) / fabs(estimate->mean));
	text_add_right(out, text, columns);
}

static void add_percent(struct strbuf *out, double share, size_t columns)
{
	char text[16] = "-";
	if (isfinite(share))
		snprintf(text, sizeof text, "%.*f%%", share < 0.0995 ? 1 : 0, 100 * share);
	text_add_right(out, text, columns);
}

/* Columns that are left for the busiest object. */
static size_t busiest_room(const struct simulated *simulated, const struct shown *shown,
	const struct text_style *style)
{
	size_t used = simulated->has_requests ? NUMBERS_OF_REQUESTS : NUMBERS_OF_RUNS;
	for (size_t i = 0; i < shown->count; i++)
		used += shown->widths[i] + 2;
	/* Two before it, two for the mark after it. */
	size_t width = text_width(style);
	return width >= used + 4 + BUSIEST_LEAST ? width - used - 4 : 0;
}

static void add_heads(struct strbuf *out, const struct simulated *simulated,
	const struct shown *shown, const struct text_style *style)
{
	for (size_t i = 0; i < shown->count; i++) {
		size_t parameter = simulated->grid->axes[shown->axes[i]].parameter;
		strbuf_add(out, "  ");
		text_add_right(out, simulated->model->parameters[parameter].name, shown->widths[i]);
	}
	if (simulated->has_requests)
		strbuf_add(out, "  response      ±      p99    served   lost  cores");
	else
		strbuf_addf(out, "%11s       ±  cores",
			strcmp(simulated_main_metric(simulated)->name, "run") == 0 ? "run time"
										   : "iteration");
	strbuf_add(out, busiest_room(simulated, shown, style) ? "  busiest\n" : "\n");
}

static void add_busiest(struct strbuf *out, const struct simulated *simulated,
	const struct simulated_setting *setting, size_t columns)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	size_t busiest = simulated_busiest(simulated, setting);
	strbuf_add(out, "  ");
	if (busiest == SIZE_MAX) {
		strbuf_add(out, "-");
		return;
	}
	strbuf_addf(&text, "%.0f%%", 100 * setting->objects[busiest].utilisation.mean);
	text_add_cut(out, simulated->model->objects[busiest].name, columns - 5);
	strbuf_addf(out, " %s", text.text ? text.text : "");
}

static void add_numbers(struct strbuf *out, const struct simulated *simulated,
	const struct simulated_setting *setting)
{
	const struct goal_metric *metric = simulated_main_metric(simulated);
	const struct estimate *main_value = goal_metric_of(metric, setting);
	if (simulated->has_requests) {
		text_add_right(
			out, quantity_format(QUANTITY_TIME, setting->response_s.mean).text, 10);
		add_half(out, &setting->response_s, 7);
		text_add_right(out, quantity_format(QUANTITY_TIME, setting->p99_s.mean).text, 9);
		text_add_right(out,
			quantity_format(QUANTITY_RATE, setting->throughput_per_s.mean).text, 10);
		add_percent(out, setting->error_share.mean + setting->dropped_share.mean, 7);
	} else {
		text_add_right(out, quantity_format(QUANTITY_TIME, main_value->mean).text, 11);
		add_half(out, main_value, 8);
	}
	add_percent(out, setting->cores.mean, 7);
}

static void add_row(struct strbuf *out, const struct simulated *simulated,
	const struct shown *shown, size_t index, const struct text_style *style)
{
	const struct simulated_setting *setting = &simulated->settings[index];
	AUTO_RELEASE(strbuf) struct strbuf line = { 0 };
	for (size_t i = 0; i < shown->count; i++) {
		size_t axis = shown->axes[i];
		size_t parameter = simulated->grid->axes[axis].parameter;
		char text[MODEL_FORMAT_BYTES];
		model_format(grid_value(simulated->grid, axis, index),
			simulated->model->parameters[parameter].unit, text);
		strbuf_add(&line, "  ");
		text_add_right(&line, text, shown->widths[i]);
	}
	if (setting->code < 0) {
		strbuf_addf(&line, "  %s",
			setting->code == -EINTR ? "not simulated: interrupted" : setting->error);
		text_add_cut(out, line.text ? line.text : "", text_width(style));
		strbuf_add(out, "\n");
		return;
	}
	add_numbers(&line, simulated, setting);
	size_t room = busiest_room(simulated, shown, style);
	if (room)
		add_busiest(&line, simulated, setting, room);
	if (setting->does_grow || setting->is_unsettled || setting->is_helped ||
		setting->are_stranded)
		strbuf_add(&line, " !");
	text_trim(&line);
	strbuf_add(out, line.text ? line.text : "");
	strbuf_add(out, "\n");
}

static void add_parts(struct strbuf *out, const struct simulated *simulated,
	const struct simulated_setting *setting)
{
	if (!simulated->model->part_count)
		return;
	strbuf_add(out, "\n");
	text_add_left(out, "part", NAME);
	strbuf_add(out, "      time       ±       per second\n");
	for (size_t i = 0; i < simulated->model->part_count; i++) {
		const struct simulated_timed *part = &setting->parts[i];
		text_add_left(out, simulated->model->parts[i], NAME);
		text_add_right(out, quantity_format(QUANTITY_TIME, part->time_s.mean).text, 10);
		add_half(out, &part->time_s, 8);
		text_add_right(out, quantity_format(QUANTITY_RATE, part->per_s).text, 17);
		strbuf_add(out, "\n");
	}
}

static void add_objects(struct strbuf *out, const struct simulated *simulated,
	const struct simulated_setting *setting)
{
	if (!simulated->model->object_count)
		return;
	strbuf_add(out, "\n");
	text_add_left(out, "object", NAME);
	strbuf_add(out, "  busy    length     most   uses       wait     wait time\n");
	for (size_t i = 0; i < simulated->model->object_count; i++) {
		const struct simulated_object *object = &setting->objects[i];
		text_add_left(out, simulated->model->objects[i].name, NAME);
		add_percent(out, object->utilisation.mean, 6);
		text_add_right(out, number_format(object->length.mean).text, 10);
		text_add_right(out, quantity_format(QUANTITY_COUNT, object->peak).text, 9);
		text_add_right(out, quantity_format(QUANTITY_RATE, object->uses_per_s).text, 11);
		add_percent(out, object->wait_share, 7);
		text_add_right(out, quantity_format(QUANTITY_TIME, object->wait_s).text, 10);
		strbuf_add(out, "\n");
	}
}

static void add_sentences(
	struct strbuf *out, const struct simulated *simulated, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf best = { 0 };
	simulated_add_best(&best, simulated);
	const struct model_recorded *notes = &simulated->notes->recorded;
	if (best.text || notes->note_count)
		strbuf_add(out, "\n");
	if (best.text)
		text_add_wrapped(out, best.text, text_width(style), "", "");
	for (size_t i = 0; i < notes->note_count; i++)
		text_add_wrapped(out, notes->notes[i], text_width(style), "! ", "  ");
}

/* Parameters that were set to one value. */
static void add_fixed(
	struct strbuf *out, const struct simulated *simulated, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	for (size_t i = 0; i < simulated->grid->axis_count; i++) {
		const struct grid_axis *axis = &simulated->grid->axes[i];
		const struct model_parameter *parameter =
			&simulated->model->parameters[axis->parameter];
		char value[MODEL_FORMAT_BYTES];
		if (axis->count > 1)
			continue;
		model_format(axis->values[0], parameter->unit, value);
		strbuf_addf(&text, "%s%s=%s", text.length ? ", " : "With ", parameter->name, value);
	}
	if (text.text)
		text_add_wrapped(out, text.text, text_width(style), "", "  ");
}

static void add_all(struct strbuf *out, const struct simulated *simulated, const char *subject,
	const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf head = { 0 };
	const struct shown shown = choose_axes(simulated);
	strbuf_addf(&head, "%s: ", subject);
	simulated_add_method(&head, simulated);
	text_add_wrapped(out, head.text ? head.text : "", text_width(style), "", "");
	add_fixed(out, simulated, style);
	strbuf_add(out, "\n");
	add_heads(out, simulated, &shown, style);
	for (size_t i = 0; i < simulated->count; i++)
		add_row(out, simulated, &shown, i, style);
	if (simulated->count == 1 && simulated->done == 1) {
		add_parts(out, simulated, &simulated->settings[0]);
		add_objects(out, simulated, &simulated->settings[0]);
	}
	add_sentences(out, simulated, style);
}

void report_simulated_text(struct strbuf *out, const struct simulated *simulated,
	const char *subject, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	add_all(&text, simulated, subject, style);
	text_add_in_charset(out, &text, style);
}
