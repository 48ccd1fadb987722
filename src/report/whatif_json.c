/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions of the replay as JSON: docs/formats/whatif.json.md. */
#include "report/json.h"
#include "report/whatif_view.h"

static json_t *seconds(uint64_t ns)
{
	return json_real((double)ns / 1e9);
}

static json_t *threads_json(const struct whatif_answer *answer, const struct whatif_point *point)
{
	struct criticality_view view;
	const struct results *r = point->results;
	json_t *threads = json_array();
	criticality_view_init(&view, r, "", answer->before.finder);
	for (size_t i = 0; i < r->thread_count && !view.failed; i++) {
		const struct result_thread *t = &r->threads[i];
		double share =
			r->elapsed_ns ? (double)t->criticality_ns / (double)r->elapsed_ns : 0;
		threads = json_push(
			threads, json_pack("{s:I, s:o, s:o, s:o, s:o}", "tid", (json_int_t)t->tid,
					 "name", json_text(view.threads[i]), "criticality_s",
					 seconds(t->criticality_ns), "share", json_number(share),
					 "running_s", seconds(t->running_ns)));
	}
	if (view.failed) {
		json_decref(threads);
		threads = NULL;
	}
	criticality_view_release(&view);
	return threads;
}

static json_t *with_prediction(
	json_t *object, const struct whatif_answer *answer, const struct whatif_point *point)
{
	object = json_with(object, "cores", json_integer(point->cores));
	object = json_with(object, "predicted_s", seconds(point->predicted_ns));
	object = json_with(object, "low_s", seconds(point->low_ns));
	object = json_with(object, "high_s", seconds(point->high_ns));
	object = json_with(object, "speedup", json_number(whatif_speedup(answer, point)));
	return json_with(object, "threads", threads_json(answer, point));
}

void report_whatif_json(struct strbuf *out, const struct whatif_answer *answer)
{
	const struct replay_facts *f = answer->facts;
	json_t *changes = json_array(), *points = json_array();
	for (size_t i = 0; i < answer->change_count; i++)
		changes = json_push(changes, json_text(answer->changes[i]));
	for (size_t i = 0; i < answer->point_count; i++)
		points = json_push(
			points, with_prediction(json_object(), answer, &answer->points[i]));
	json_t *object = json_pack("{s:i, s:o, s:o, s:o, s:b, s:I, s:o, s:o}", "version", 1,
		"measured_s", seconds(f->measured_ns), "replayed_s", seconds(answer->replayed_ns),
		"replay_error", json_number(answer->error), "is_within_limit",
		answer->is_within_limit, "recorded_cores", (json_int_t)f->cores, "available",
		json_number(f->available), "changes", changes);
	object = json_with(object, "condition_waits", json_integer((json_int_t)f->conditions));
	object = json_with(
		object, "condition_waits_by_order", json_integer((json_int_t)f->by_order));
	object =
		json_with(object, "meanings_left_out", json_integer((json_int_t)answer->forgotten));
	object = json_with(object, "locks_in_order", json_integer((json_int_t)f->in_turns));
	object = json_with(object, "supplies", json_integer((json_int_t)f->supplies));
	object = json_with(object, "pieces_dealt", json_integer((json_int_t)f->dealt));
	object = json_with(object, "shared_rounds", json_integer((json_int_t)f->shared_rounds));
	object = json_with(object, "tickers", json_integer((json_int_t)f->tickers));
	object = json_with(object, "polls", json_integer((json_int_t)f->polls));
	object = json_with(object, "lost_events", json_integer((json_int_t)f->lost));
	object = json_with(object, "left_out", json_integer((json_int_t)f->left_out));
	object = with_prediction(object, answer, &answer->points[answer->point_count - 1]);
	json_add(out, json_with(object, "points", points));
}
