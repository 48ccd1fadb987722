/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A forecast as JSON: docs/formats/forecast.json.md. Keys keep the order in which they are set. */
#include "report/forecast_view.h"

#include "report/json.h"

#include <stdint.h>

enum { FORMAT_VERSION = 1 };

static json_t *point_json(const struct forecast_point *p)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o}", "threads", (json_int_t)p->threads, "value",
		json_number(p->value), "low", json_number(p->low), "high", json_number(p->high),
		"measured", json_number(p->measured));
}

static json_t *points_json(const struct forecast *f)
{
	json_t *points = json_array();
	for (size_t i = 0; i < f->point_count; i++)
		points = json_push(points, point_json(&f->points[i]));
	return points;
}

static json_t *stalls_json(const struct forecast *f)
{
	json_t *stalls = json_array();
	for (size_t i = 0; i < f->stall_count; i++)
		stalls = json_push(stalls,
			json_pack("{s:o, s:o}", "name", json_text(f->stalls[i].name),
				"share_at_target", json_number(f->stalls[i].share_at_target)));
	return stalls;
}

static json_t *notes_json(const struct forecast *f)
{
	json_t *notes = json_array();
	for (size_t i = 0; i < f->note_count; i++)
		notes = json_push(notes, json_text(f->notes[i]));
	return notes;
}

static json_t *count_or_null(uint32_t count)
{
	return count > 0 ? json_integer(count) : json_null();
}

/* Only what was asked for is there. */
static json_t *with_advice(json_t *object, const struct advice *advice)
{
	if (!(advice->factor_now > 0))
		return object;
	return json_with(object, "what_next",
		json_pack("{s:o, s:o, s:o}", "threads", count_or_null(advice->threads),
			"factor_now", json_number(advice->factor_now), "factor_then",
			json_number(advice->factor_then)));
}

static json_t *forecast_json(const struct forecast *f)
{
	json_t *object = json_pack("{s:i, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "version",
		FORMAT_VERSION, "method", json_text(f->method), "metric",
		json_text(metric_name(f->metric)), "points", points_json(f), "best_threads",
		(json_int_t)f->best_threads, "stops_scaling_at", count_or_null(f->stops_scaling_at),
		"stalls", stalls_json(f), "notes", notes_json(f));
	return with_advice(object, &f->advice);
}

void report_forecast_json(struct strbuf *out, const struct forecast *forecast)
{
	json_add(out, forecast_json(forecast));
}

static json_t *side_json(const char *label, const struct forecast *f)
{
	return json_pack("{s:o, s:o}", "label", json_text(label), "forecast", forecast_json(f));
}

static json_t *ratios_json(const struct comparison *c)
{
	json_t *ratios = json_array();
	for (size_t i = 0; i < c->a->point_count && i < c->b->point_count; i++) {
		const struct forecast_point *a = &c->a->points[i], *b = &c->b->points[i];
		double ratio = speed_ratio(c->a->metric, a->value, b->value);
		ratios =
			json_push(ratios, json_pack("{s:I, s:o}", "threads", (json_int_t)a->threads,
						  "speed_of_b_over_a", json_number(ratio)));
	}
	return ratios;
}

void report_comparison_json(struct strbuf *out, const struct comparison *c)
{
	json_add(out, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "version", FORMAT_VERSION,
			      "metric", json_text(metric_name(c->a->metric)), "a",
			      side_json(c->label_a, c->a), "b", side_json(c->label_b, c->b),
			      "ratios", ratios_json(c), "crosses_at", count_or_null(c->crossing)));
}
