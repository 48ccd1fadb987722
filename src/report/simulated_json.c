/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/simulated.h"

#include "report/json.h"

#include <errno.h>
#include <math.h>

static json_t *estimate_json(const struct estimate *estimate)
{
	if (!isfinite(estimate->mean))
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "mean", json_number(estimate->mean), "low",
		json_number(estimate->low), "high", json_number(estimate->high));
}

static json_t *set_json(const struct simulated *simulated, size_t setting)
{
	json_t *set = json_object();
	for (size_t i = 0; i < simulated->grid->axis_count; i++)
		set = json_with(set,
			simulated->model->parameters[simulated->grid->axes[i].parameter].name,
			json_number(grid_value(simulated->grid, i, setting)));
	return set;
}

/* The estimate of the mean, and percentiles. */
static json_t *response_json(const struct simulated_setting *setting)
{
	json_t *response = estimate_json(&setting->response_s);
	if (!json_is_object(response))
		return response;
	response = json_with(response, "p50", json_number(setting->p50_s.mean));
	response = json_with(response, "p90", json_number(setting->p90_s.mean));
	response = json_with(response, "p95", json_number(setting->p95_s.mean));
	return json_with(response, "p99", json_number(setting->p99_s.mean));
}

static json_t *utilisation_json(
	const struct simulated *simulated, const struct simulated_setting *setting)
{
	json_t *all = json_object();
	if (isfinite(setting->cores.mean))
		all = json_with(all, "cores", estimate_json(&setting->cores));
	for (size_t i = 0; i < simulated->model->object_count; i++)
		if (isfinite(setting->objects[i].utilisation.mean))
			all = json_with(all, simulated->model->objects[i].name,
				estimate_json(&setting->objects[i].utilisation));
	return all;
}

static json_t *objects_json(
	const struct simulated *simulated, const struct simulated_setting *setting)
{
	json_t *all = json_object();
	for (size_t i = 0; i < simulated->model->object_count; i++) {
		const struct simulated_object *object = &setting->objects[i];
		all = json_with(all, simulated->model->objects[i].name,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "kind",
				model_object_word(simulated->model->objects[i].kind), "length",
				estimate_json(&object->length), "peak", json_number(object->peak),
				"uses_per_s", json_number(object->uses_per_s), "wait_share",
				json_number(object->wait_share), "wait_s",
				json_number(object->wait_s)));
	}
	return all;
}

static json_t *timed_json(const struct simulated_timed *timed)
{
	json_t *value = estimate_json(&timed->time_s);
	return json_is_object(value) ? json_with(value, "per_s", json_number(timed->per_s)) : value;
}

static json_t *parts_json(
	const struct simulated *simulated, const struct simulated_setting *setting)
{
	json_t *all = json_object();
	for (size_t i = 0; i < simulated->model->part_count; i++)
		all = json_with(all, simulated->model->parts[i], timed_json(&setting->parts[i]));
	return all;
}

static json_t *fragments_json(
	const struct simulated *simulated, const struct simulated_setting *setting)
{
	json_t *groups = json_object();
	size_t at = 0;
	for (size_t i = 0; i < simulated->model->group_count; i++) {
		const struct model_group *group = &simulated->model->groups[i];
		json_t *all = json_object();
		for (uint32_t k = 0; k < group->fragment_count; k++)
			all = json_with(all, group->fragments[k].name,
				timed_json(&setting->fragments[at++]));
		groups = json_with(groups, group->name, all);
	}
	return groups;
}

static json_t *share_json(const struct estimate *share, const struct estimate *per_s)
{
	return json_pack(
		"{s:o, s:o}", "share", estimate_json(share), "per_s", estimate_json(per_s));
}

static json_t *setting_json(const struct simulated *simulated, size_t index, bool has_fragments)
{
	const struct simulated_setting *setting = &simulated->settings[index];
	json_t *value = json_pack("{s:o}", "set", set_json(simulated, index));
	if (setting->code < 0)
		return json_with(value, "error",
			json_text(setting->code == -EINTR ? "interrupted" : setting->error));
	value = json_with(value, "response_s", response_json(setting));
	value = json_with(value, "throughput_per_s", estimate_json(&setting->throughput_per_s));
	json_t *errors = share_json(&setting->error_share, &setting->errors_per_s);
	errors = json_with(errors, "response_s", estimate_json(&setting->error_response_s));
	value = json_with(value, "errors", errors);
	value = json_with(
		value, "dropped", share_json(&setting->dropped_share, &setting->dropped_per_s));
	value = json_with(value, "utilisation", utilisation_json(simulated, setting));
	value = json_with(value, "objects", objects_json(simulated, setting));
	value = json_with(value, "parts", parts_json(simulated, setting));
	if (has_fragments)
		value = json_with(value, "fragments", fragments_json(simulated, setting));
	value = json_with(value, "run_s", estimate_json(&setting->run_s));
	value = json_with(value, "iteration_s", estimate_json(&setting->iteration_s));
	value = json_with(value, "warm_up_share", json_number(setting->warm_up_share));
	value = json_with(value, "grows", json_boolean(setting->does_grow));
	value = json_with(value, "settled", json_boolean(!setting->is_unsettled));
	value = json_with(value, "stranded", json_boolean(setting->are_stranded));
	return json_with(value, "helped", json_boolean(setting->is_helped));
}

static json_t *best_json(const struct simulated *simulated)
{
	if (simulated->best == SIZE_MAX)
		return json_null();
	return json_pack("{s:o, s:o, s:I}", "goal", json_text(simulated->goal), "set",
		set_json(simulated, simulated->best), "as_good", (json_int_t)simulated->equals);
}

void report_simulated_json(struct strbuf *out, const struct simulated *simulated,
	const char *subject, bool has_fragments)
{
	json_t *settings = json_array(), *notes = json_array();
	for (size_t i = 0; i < simulated->count; i++)
		settings = json_push(settings, setting_json(simulated, i, has_fragments));
	for (size_t i = 0; i < simulated->notes->recorded.note_count; i++)
		notes = json_push(notes, json_text(simulated->notes->recorded.notes[i]));
	json_add(out,
		json_pack("{s:i, s:o, s:I, s:I, s:I, s:o, s:f, s:o, s:o, s:o}", "version", 1,
			"model", json_text(subject), "replications",
			(json_int_t)simulated->replications, "seed", (json_int_t)simulated->seed,
			"requests", (json_int_t)simulated->requests, "duration_s",
			simulated->duration_s > 0 ? json_number(simulated->duration_s)
						  : json_null(),
			"confidence", 0.95, "settings", settings, "best", best_json(simulated),
			"notes", notes));
}
