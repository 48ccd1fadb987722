/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/fit.h"

#include "model/graph.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EVENTS_MAX = 50000000 };

double model_fit_error(double measured, double simulated)
{
	return measured > 0 ? fabs(measured - simulated) / measured : (double)NAN;
}

/* Mean time in the queues that sources fill, until a thread takes the request. */
static double queued_s(const struct model *model, const double *tally)
{
	double sum_s = 0, count = 0;
	for (size_t i = 0; i < model->source_count; i++) {
		uint32_t index = model->sources[i].queue;
		const double *queue = tally + graph_object_at(model, index);
		double instances = 0; /* of which the tally's times are means */
		(void)model_evaluate(model, &model->objects[index].instances, MODEL_NUMBER, NULL,
			&instances, NULL); /* it has been checked */
		sum_s += queue[GRAPH_HELD_S] * fmax(instances, 1);
		count += queue[GRAPH_USES];
	}
	return count > 0 ? sum_s / count : 0;
}

static void add(const struct model *model, const struct graph *graph, struct model_fit *fit)
{
	const double *tally = graph_tally(graph);
	size_t count;
	const double *responses = graph_responses(graph, &count);
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += responses[i];
	fit->simulated_s += tally[GRAPH_TIME_S] / FIT_RUNS;
	fit->simulated_cpu_s += tally[GRAPH_BUSY_S] / FIT_RUNS;
	if (tally[GRAPH_TIME_S] > 0)
		fit->simulated_per_s += tally[GRAPH_SERVED] / tally[GRAPH_TIME_S] / FIT_RUNS;
	fit->simulated_queued_s += queued_s(model, tally) / FIT_RUNS;
	if (count > 0)
		fit->simulated_response_s += sum / (double)count / FIT_RUNS;
}

int model_fit_run(const struct model *model, struct model_fit *ret)
{
	const struct model_recorded *recorded = &model->recorded;
	struct model_fit fit = { .is_known = true,
		.is_open = model->source_count > 0,
		.measured_s = recorded->duration_s,
		.measured_cpu_s =
			recorded->core_utilisation * recorded->cores * recorded->duration_s,
		.measured_per_s = recorded->throughput_per_s,
		.measured_response_s = recorded->response_s };
	for (uint64_t seed = 1; seed <= FIT_RUNS; seed++) {
		AUTO(graph) struct graph *graph = NULL;
		struct err err;
		struct graph_options options = { .model = model,
			.seed = seed,
			.duration_s = fit.is_open ? recorded->duration_s : 0,
			.event_limit = EVENTS_MAX };
		int code = graph_new(&options, &graph, &err);
		if (code == 0)
			code = graph_run(graph, &err);
		if (code == -ENOMEM)
			return code;
		if (code < 0) {
			fit.is_known = false;
			(void)snprintf(
				fit.why, sizeof fit.why, "%.250s", err.text); /* cut is fine */
			break;
		}
		add(model, graph, &fit);
	}
	*ret = fit;
	return 0;
}

static struct model_parameter *find_think(struct model *model)
{
	uint32_t think = model_find_parameter(model, "think");
	for (size_t i = 0; think != MODEL_NONE && i < model->source_count; i++)
		if (model->sources[i].kind == MODEL_CLOSED)
			return &model->parameters[think];
	return NULL;
}

int model_fit_think(struct model *model, struct model_fit *fit)
{
	enum { TIMES = 4 };
	const double least_s = 1e-9;
	struct model_parameter *think = find_think(model);
	double seen_s = think ? think->value : 0;
	for (int i = 0; i < TIMES && think && fit->is_known; i++) {
		think->value = fmax(seen_s - fit->simulated_queued_s, least_s);
		int code = model_fit_run(model, fit);
		if (code < 0)
			return code;
	}
	return 0;
}

int model_fit_response(struct model *model, double response_s, struct model_fit *fit)
{
	double own_s = fit->is_known ? fit->simulated_response_s : 0, way_s = response_s - own_s;
	struct model_parameter *think = find_think(model);
	char text[200], times[2][MODEL_FORMAT_BYTES];
	model_format(response_s, MODEL_TIME, times[0]);
	model_format(own_s, MODEL_TIME, times[1]);
	bool is_told = own_s > 0 && way_s > 0 && (!think || way_s < think->value);
	(void)snprintf(text, sizeof text, "clients measured %s, the program's own part is %s: %s",
		times[0], times[1],
		is_told ? "the rest is taken to be the way to it and back, at any load"
			: "that tells nothing of the way between them");
	if (model_add_note(model, text) < 0)
		return -ENOMEM;
	if (!is_told)
		return 0;
	model->way.value = way_s;
	model->recorded.response_s = response_s;
	if (think)
		think->value -= way_s;
	return model_fit_run(model, fit);
}

static bool is_far(double measured, double simulated)
{
	static const double bad = 0.25; /* a round number */
	return measured > 0 && model_fit_error(measured, simulated) > bad;
}

int model_fit_add_note(struct model *model, const struct model_fit *fit)
{
	bool is_slowed = model->recorded.is_slowed;
	char text[200] = "";
	if (!fit->is_known)
		return 0;
	if (!fit->is_open && is_far(fit->measured_s, fit->simulated_s) &&
		!(is_slowed && fit->simulated_s < fit->measured_s))
		(void)snprintf(text, sizeof text, "the run took %.3g s, and its model takes %.3g s",
			fit->measured_s, fit->simulated_s);
	if (is_far(fit->measured_response_s, fit->simulated_response_s) &&
		!(is_slowed && fit->simulated_response_s < fit->measured_response_s))
		(void)snprintf(text, sizeof text,
			"the run answered in %.3g ms, and its model does in %.3g ms",
			fit->measured_response_s * 1e3, fit->simulated_response_s * 1e3);
	if (is_far(fit->measured_per_s, fit->simulated_per_s) &&
		!(is_slowed && fit->simulated_per_s > fit->measured_per_s))
		(void)snprintf(text, sizeof text,
			"the run served %.3g requests/s, and its model serves %.3g",
			fit->measured_per_s, fit->simulated_per_s);
	if (!*text)
		return 0;
	strcat(text, ": do not trust what it says of other settings");
	return model_add_note(model, text);
}
