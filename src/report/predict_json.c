/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions as JSON: docs/formats/predict.json.md. */
#include "base/cleanup.h"
#include "report/json.h"
#include "report/predict_view.h"

#include <string.h>

static json_t *seconds(uint64_t ns)
{
	return json_real((double)ns / 1e9);
}

static json_t *stack_json(const double stack[PREDICT_PARTS])
{
	json_t *object = json_object();
	for (unsigned k = 0; k < PREDICT_PARTS; k++)
		object = json_with(object, predict_part_name(k), json_number(stack[k]));
	return object;
}

static const struct result_thread *find_result(
	const struct results *results, const struct predicted_thread *thread)
{
	for (size_t i = 0; i < results->thread_count; i++)
		if (results->threads[i].pid == thread->pid &&
			results->threads[i].tid == thread->tid)
			return &results->threads[i];
	return NULL;
}

static json_t *thread_json(const struct predict_answer *answer, const struct predict_point *point,
	const struct predicted_thread *thread)
{
	const struct results *r = point->results;
	const struct result_thread *result = find_result(r, thread);
	double criticality_ns = result ? (double)result->criticality_ns : 0;
	AUTO_FREE char *name = predict_thread_name(answer, thread);
	json_t *object = name ? json_object() : NULL;
	object = json_with(object, "tid", json_integer(thread->tid));
	object = json_with(object, "name", json_text(name ? name : ""));
	object = json_with(object, "instructions", json_integer((json_int_t)thread->instructions));
	object = json_with(object, "cpi", stack_json(thread->stack));
	object = json_with(object, "running_s", seconds(thread->time.ran_ns));
	object = json_with(object, "waiting_s", seconds(thread->time.waited_ns));
	object = json_with(object, "ready_s", seconds(thread->time.ready_ns));
	object = json_with(object, "criticality_s", json_number(criticality_ns / 1e9));
	return json_with(object, "share",
		json_number(r->elapsed_ns ? criticality_ns / (double)r->elapsed_ns : 0));
}

static json_t *point_json(const struct predict_answer *answer, const struct predict_point *point)
{
	const struct prediction *p = &point->prediction;
	json_t *threads = json_array();
	for (size_t i = 0; i < p->thread_count; i++)
		threads = json_push(threads, thread_json(answer, point, &p->threads[i]));
	json_t *object = json_with(json_object(), "name", json_text(point->processor.name));
	object = json_with(object, "cores", json_integer(p->cores));
	object = json_with(object, "predicted_s", seconds(p->ns));
	object = json_with(object, "low_s", seconds(point->low_ns));
	object = json_with(object, "high_s", seconds(point->high_ns));
	object = json_with(object, "alone_s", seconds(point->alone_ns ? point->alone_ns : p->ns));
	object = json_with(object, "instructions", json_number(p->instructions));
	object = json_with(object, "cpi", stack_json(p->stack));
	object = json_with(object, "memory_bytes", json_number(p->memory_bytes));
	object = json_with(object, "energy_j",
		p->energy.total_j > 0 ? json_real(p->energy.total_j) : json_null());
	object = json_with(object, "main_s", seconds(p->main_ns));
	object = json_with(object, "crit_s", seconds(p->crit_ns));
	return json_with(object, "threads", threads);
}

/* The sentences after the first, which is the answer itself. */
static json_t *notes_json(const struct predict_answer *answer)
{
	AUTO_RELEASE(strbuf) struct strbuf lines = { 0 };
	predict_add_findings(&lines, answer);
	json_t *notes = lines.failed ? NULL : json_array();
	char *rest = NULL;
	char *line = lines.text ? strtok_r(lines.text, "\n", &rest) : NULL;
	while (line && (line = strtok_r(NULL, "\n", &rest)))
		notes = json_push(notes, json_text(line));
	return notes;
}

void report_predict_json(struct strbuf *out, const struct predict_answer *answer)
{
	json_t *machines = json_array();
	for (size_t i = 0; i < answer->point_count; i++)
		machines = json_push(machines, point_json(answer, &answer->points[i]));
	json_t *object = json_pack("{s:i, s:o, s:o, s:o}", "version", 1, "profile",
		json_text(answer->subject), "machines", machines, "notes", notes_json(answer));
	json_add(out, object);
}
