/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/model.h"

#include "report/json.h"

#include <string.h>

static json_t *value_json(
	const struct model *model, const struct model_value *value, enum model_unit unit)
{
	double number = 0;
	json_t *object = json_object();
	if (model_evaluate(model, value, unit, NULL, &number, NULL) == 0)
		object = json_with(object, "value", json_number(number));
	if (value->formula)
		object = json_with(object, "formula", json_text(value->formula));
	return object;
}

static json_t *parameters_json(const struct model *model)
{
	json_t *array = json_array();
	for (size_t i = 0; i < model->parameter_count; i++) {
		const struct model_parameter *p = &model->parameters[i];
		json_t *object = json_with(json_object(), "name", json_text(p->name));
		object = json_with(object, "value", json_number(p->value));
		object = json_with(object, "unit",
			json_text(p->unit == MODEL_TIME   ? "s"
				  : p->unit == MODEL_RATE ? "1/s"
							  : ""));
		object = json_with(object, "note", p->note ? json_text(p->note) : json_null());
		array = json_push(array, object);
	}
	return array;
}

static json_t *groups_json(const struct model *model)
{
	json_t *array = json_array();
	for (size_t i = 0; i < model->group_count; i++) {
		const struct model_group *group = &model->groups[i];
		json_t *object = json_with(json_object(), "name", json_text(group->name));
		object = json_with(
			object, "at_start", value_json(model, &group->count, MODEL_NUMBER));
		object = json_with(
			object, "fragments", json_integer((json_int_t)group->fragment_count));
		array = json_push(array, object);
	}
	return array;
}

static json_t *objects_json(const struct model *model)
{
	json_t *array = json_array();
	for (size_t i = 0; i < model->object_count; i++) {
		const struct model_object *o = &model->objects[i];
		json_t *object = json_with(json_object(), "name", json_text(o->name));
		object = json_with(object, "kind", json_text(model_object_word(o->kind)));
		object = json_with(object, "size", value_json(model, &o->size, MODEL_NUMBER));
		object = json_with(object, "initial", value_json(model, &o->initial, MODEL_NUMBER));
		array = json_push(array, object);
	}
	return array;
}

static json_t *pair_json(double measured, double simulated)
{
	json_t *object = json_with(
		json_object(), "recorded", measured > 0 ? json_number(measured) : json_null());
	object = json_with(object, "simulated", json_number(simulated));
	return json_with(object, "error", json_number(model_fit_error(measured, simulated)));
}

static json_t *fit_json(const struct model_fit *fit)
{
	if (!fit)
		return json_null();
	if (!fit->is_known)
		return json_with(json_object(), "failed", json_text(fit->why));
	json_t *object = json_with(json_object(), "time_s",
		fit->is_open ? json_null() : pair_json(fit->measured_s, fit->simulated_s));
	object = json_with(object, "cpu_s", pair_json(fit->measured_cpu_s, fit->simulated_cpu_s));
	object = json_with(
		object, "throughput_per_s", pair_json(fit->measured_per_s, fit->simulated_per_s));
	return json_with(object, "response_s",
		pair_json(fit->measured_response_s, fit->simulated_response_s));
}

void report_model_json(struct strbuf *out, const struct model_report *report)
{
	const struct model *model = report->model;
	json_t *notes = json_array();
	for (size_t i = 0; i < model->recorded.note_count; i++)
		notes = json_push(notes, json_text(model->recorded.notes[i]));
	json_t *root = json_with(json_object(), "version", json_integer(1));
	root = json_with(root, "name", json_text(model->name));
	root = json_with(root, "program",
		model->recorded.program ? json_text(model->recorded.program) : json_null());
	root = json_with(root, "parameters", parameters_json(model));
	root = json_with(root, "threads", groups_json(model));
	root = json_with(root, "objects", objects_json(model));
	root = json_with(root, "fit", fit_json(report->fit));
	root = json_with(root, "notes", notes);
	json_add(out, root);
}
