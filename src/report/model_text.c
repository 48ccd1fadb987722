/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/model.h"

#include "base/cleanup.h"
#include "report/quantity.h"

#include <math.h>
#include <string.h>

enum { NAME_COLUMNS = 28, WORD_COLUMNS = 11 };

/* "4", or "workers + 1 = 5". */
static void add_value(
	struct strbuf *out, const struct model *model, const struct model_value *value)
{
	double number = 0;
	int code = model_evaluate(model, value, MODEL_NUMBER, NULL, &number, NULL);
	if (value->formula)
		strbuf_addf(out, "%s = ", value->formula);
	if (code == 0)
		strbuf_addf(out, "%.6g", number);
}

static bool is_given(const struct model_value *value)
{
	return value->formula || value->value != 0;
}

/* How many threads of a group are started, by whoever starts them; NULL: it differs. */
static const struct model_value *spawned(const struct model *model, size_t group)
{
	const struct model_value *found = NULL;
	for (size_t i = 0; i < model->group_count; i++)
		for (size_t j = 0; j < model->groups[i].fragment_count; j++) {
			const struct model_fragment *f = &model->groups[i].fragments[j];
			if (f->op != MODEL_SPAWN || f->object != group)
				continue;
			if (found)
				return NULL;
			found = &f->count.value;
		}
	return found;
}

static void add_groups(struct strbuf *out, const struct model *model)
{
	static const struct model_value one = { .value = 1 };
	strbuf_add(out, "\nthreads\n");
	for (size_t i = 0; i < model->group_count; i++) {
		const struct model_group *group = &model->groups[i];
		const struct model_value *count = &group->count;
		strbuf_add(out, "  ");
		text_add_left(out, group->name, NAME_COLUMNS);
		strbuf_add(out, " ");
		if (!is_given(count))
			count = spawned(model, i);
		if (!count)
			strbuf_add(out, "started now and then");
		else
			add_value(out, model, is_given(count) ? count : &one);
		strbuf_addf(out, ", %u fragments\n", group->fragment_count);
	}
}

static const char *size_word(enum model_object_kind kind)
{
	static const char *const words[MODEL_OBJECT_KINDS] = { [MODEL_MUTEX] = "instances",
		[MODEL_SPIN] = "instances",
		[MODEL_RWLOCK] = "instances",
		[MODEL_BARRIER] = "threads",
		[MODEL_SEMAPHORE] = "at first",
		[MODEL_QUEUE] = "items at most",
		[MODEL_LIMIT] = "in all",
		[MODEL_DISK] = "at once" };
	return words[kind];
}

static void add_objects(struct strbuf *out, const struct model *model)
{
	static const char *const words[MODEL_OBJECT_KINDS] = { "mutex", "spin lock", "rwlock",
		"barrier", "condition", "semaphore", "queue", "limit", "disk" };
	if (model->object_count > 0)
		strbuf_add(out, "\nwhere they meet\n");
	for (size_t i = 0; i < model->object_count; i++) {
		const struct model_object *object = &model->objects[i];
		strbuf_add(out, "  ");
		text_add_left(out, object->name, NAME_COLUMNS);
		strbuf_add(out, " ");
		text_add_left(out, words[object->kind], WORD_COLUMNS);
		if (is_given(&object->size) && size_word(object->kind)) {
			strbuf_add(out, " ");
			add_value(out, model, &object->size);
			strbuf_addf(out, " %s", size_word(object->kind));
		}
		if (is_given(&object->initial)) {
			strbuf_add(out, " ");
			add_value(out, model, &object->initial);
			strbuf_add(out, " items at first");
		}
		if (is_given(&object->instances)) {
			strbuf_add(out, " ");
			add_value(out, model, &object->instances);
			strbuf_add(
				out, object->are_replies ? " inboxes of who asks" : " instances");
		}
		text_trim(out);
		strbuf_add(out, "\n");
	}
}

static void add_parameters(struct strbuf *out, const struct model *model)
{
	if (model->parameter_count > 0)
		strbuf_add(out, "\nwhat can be set\n");
	for (size_t i = 0; i < model->parameter_count; i++) {
		const struct model_parameter *parameter = &model->parameters[i];
		char value[MODEL_FORMAT_BYTES];
		model_format(parameter->value, parameter->unit, value);
		strbuf_add(out, "  ");
		text_add_left(out, parameter->name, NAME_COLUMNS);
		strbuf_addf(out, " %s", value);
		if (parameter->note) {
			strbuf_add(out, "   ");
			text_add_clean(out, parameter->note);
		}
		strbuf_add(out, "\n");
	}
}

static void add_pair(struct strbuf *out, const char *what, double measured, double simulated,
	enum quantity quantity)
{
	if (!(measured > 0))
		return;
	strbuf_add(out, "  ");
	text_add_left(out, what, 16);
	strbuf_add(out, " ");
	text_add_right(out, quantity_format(quantity, measured).text, 12);
	text_add_right(out, quantity_format(quantity, simulated).text, 12);
	strbuf_addf(out, "%9.1f%%\n", 100 * model_fit_error(measured, simulated));
}

static void add_fit(struct strbuf *out, const struct model_fit *fit, size_t width)
{
	if (!fit)
		return;
	if (!fit->is_known) {
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		strbuf_addf(&text, "The model cannot be simulated: %s", fit->why);
		strbuf_add(out, "\n");
		text_add_wrapped(out, strbuf_failed(&text) < 0 ? "" : text.text, width, "", "");
		return;
	}
	strbuf_add(out, "\nat the setting of the run    recorded   simulated     error\n");
	add_pair(out, "time", fit->is_open ? 0 : fit->measured_s, fit->simulated_s, QUANTITY_TIME);
	add_pair(out, "CPU time", fit->measured_cpu_s, fit->simulated_cpu_s, QUANTITY_TIME);
	add_pair(out, "throughput", fit->measured_per_s, fit->simulated_per_s, QUANTITY_RATE);
	add_pair(out, "response", fit->measured_response_s, fit->simulated_response_s,
		QUANTITY_TIME);
}

void report_model_text(
	struct strbuf *out, const struct model_report *report, const struct text_style *style)
{
	const struct model *model = report->model;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	text_add_clean(&text, report->subject);
	strbuf_add(&text, ": a model");
	if (model->recorded.program) {
		strbuf_add(&text, " of ");
		text_add_cut(&text, model->recorded.program, 50);
	}
	strbuf_add(&text, "\n");
	add_groups(&text, model);
	add_objects(&text, model);
	add_parameters(&text, model);
	add_fit(&text, report->fit, text_width(style));
	for (size_t i = 0; i < model->recorded.note_count; i++) {
		strbuf_add(&text, i == 0 ? "\n" : "");
		text_add_wrapped(&text, model->recorded.notes[i], text_width(style), "- ", "  ");
	}
	text_add_in_charset(out, &text, style);
}
