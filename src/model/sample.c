/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/sample.h"

#include "base/order.h"

#include "model/graph.h"
#include "model/steady.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/*
 * Without a limit of its own, a model that never ends would run for ever: at 20 million events a second
 * this is about half a minute.
 */
#define EVENT_LIMIT UINT64_C(500000000)

size_t sample_at(const struct model *model)
{
	return graph_tally_size(model);
}

size_t sample_peak_at(const struct model *model, size_t object)
{
	return sample_at(model) + SAMPLE_FIXED + object;
}

size_t sample_size(const struct model *model)
{
	return sample_peak_at(model, model->object_count);
}

bool sample_has_requests(const struct model *model)
{
	for (size_t i = 0; i < model->group_count; i++)
		for (uint32_t k = 0; k < model->groups[i].fragment_count; k++)
			if (model->groups[i].fragments[k].op == MODEL_BEGIN)
				return true;
	return model->source_count > 0;
}

bool sample_never_ends(const struct model *model)
{
	bool is_endless = false;
	for (size_t i = 0; i < model->source_count; i++) {
		const struct model_source *source = &model->sources[i];
		is_endless |= source->kind != MODEL_ARRIVALS && source->kind != MODEL_BATCH &&
			      !source->requests.formula && source->requests.value <= 0;
	}
	for (size_t i = 0; i < model->group_count; i++)
		for (uint32_t k = 0; k < model->groups[i].fragment_count; k++) {
			enum model_op op = model->groups[i].fragments[k].op;
			if (op == MODEL_END || op == MODEL_FAIL)
				return false;
		}
	return is_endless;
}

/* Linear between order statistics. */
static double quantile(const double *sorted, size_t count, double share)
{
	double at = share * (double)(count - 1);
	size_t below = (size_t)at;
	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static int describe(const double *responses, size_t count, double *row, struct err *err)
{
	static const struct {
		int at;
		double share;
	} wanted[] = { { SAMPLE_P50_S, 0.5 }, { SAMPLE_P90_S, 0.9 }, { SAMPLE_P95_S, 0.95 },
		{ SAMPLE_P99_S, 0.99 } };
	AUTO_FREE double *sorted = malloc(count * sizeof *sorted);
	if (!sorted)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(sorted, responses, count * sizeof *sorted);
	order_doubles(sorted, count);
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += sorted[i];
	row[SAMPLE_RESPONSE_S] = sum / (double)count;
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		row[wanted[i].at] = quantile(sorted, count, wanted[i].share);
	return 0;
}

/* The first mark at which warming up was over; the number of marks: at none. */
static size_t find_mark(const struct graph *graph, size_t warm_up)
{
	size_t mark = 0;
	while (mark < graph_mark_count(graph) &&
		graph_mark(graph, mark)[GRAPH_SERVED] < (double)warm_up)
		mark++;
	return mark;
}

static int fill_row(const struct sample_options *options, const struct graph *graph, double *row,
	struct err *err)
{
	const struct model *model = options->model;
	size_t count, size = graph_tally_size(model);
	const double *responses = graph_responses(graph, &count);
	const double *tally = graph_tally(graph);
	/* A run that ends by itself is a whole: all of it counts. */
	bool has_limit = options->requests || options->duration_s > 0;
	size_t warm_up = has_limit ? steady_warm_up(responses, count) : 0;
	size_t mark = find_mark(graph, warm_up), from = 0;
	memcpy(row, tally, size * sizeof *row);
	if (warm_up && mark < graph_mark_count(graph)) {
		const double *left_out = graph_mark(graph, mark);
		for (size_t i = 0; i < size; i++)
			row[i] -= left_out[i];
		from = (size_t)left_out[GRAPH_SERVED];
	}
	for (size_t i = 0; i < model->object_count; i++)
		row[sample_peak_at(model, i)] = (double)(int64_t)graph_object_peak(graph, i);
	row += size;
	for (int i = SAMPLE_RESPONSE_S; i <= SAMPLE_P99_S; i++)
		row[i] = NAN;
	row[SAMPLE_RUN_S] = tally[GRAPH_TIME_S];
	row[SAMPLE_WARM_UP] = count ? (double)warm_up / (double)count : 0;
	row[SAMPLE_UNENDED] = (double)(int64_t)graph_unended(graph);
	row[SAMPLE_ENDED] = tally[GRAPH_SERVED] + tally[GRAPH_FAILED] + tally[GRAPH_DROPPED];
	row[SAMPLE_EVENTS] = (double)(int64_t)graph_event_count(graph);
	row[SAMPLE_CORES] = graph_cores(graph);
	row[SAMPLE_THREADS] = graph_threads(graph);
	row[SAMPLE_STRANDED] = (double)(int64_t)graph_stranded(graph);
	row[SAMPLE_LENT] = (double)(int64_t)graph_lent(graph);
	return count > from ? describe(responses + from, count - from, row, err) : 0;
}

int sample_run(const struct sample_options *options, double *row, struct err *err)
{
	const struct graph_options of_graph = {
		.model = options->model,
		.parameters = options->parameters,
		.seed = options->seed,
		.request_limit = options->requests,
		.duration_s = options->duration_s,
		.event_limit = options->event_limit ? options->event_limit : EVENT_LIMIT,
	};
	int code = model_check_at(options->model, options->parameters, err);
	if (code < 0)
		return code;
	AUTO(graph) struct graph *graph = NULL;
	code = graph_new(&of_graph, &graph, err);
	if (code == 0)
		code = graph_run(graph, err);
	return code < 0 ? code : fill_row(options, graph, row, err);
}
