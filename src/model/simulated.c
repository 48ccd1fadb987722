/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/simulated.h"

#include "model/goal.h"
#include "model/graph.h"
#include "model/sample.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/*
 * An open queue that is not stable keeps a share of what arrives; a stable one of the same length holds a
 * few. More than this share of all requests unended, in most replications, is growth.
 */
static const double UNENDED_SHARE = 0.05;

/* The rows of one setting, and how to estimate from them. */
struct rows {
	const struct model *model;
	const double *first;
	size_t count, size;
	double *values; /* room for one number of each */
};

typedef double number_function(const struct rows *rows, const double *row, size_t at);

static struct estimate estimate(const struct rows *rows, number_function *function, size_t at)
{
	for (size_t i = 0; i < rows->count; i++)
		rows->values[i] = function(rows, rows->first + i * rows->size, at);
	return estimate_of(rows->values, rows->count);
}

static double plain(const struct rows *rows, const double *row, size_t at)
{
	(void)rows;
	return row[at];
}

static double per_second(const struct rows *rows, const double *row, size_t at)
{
	(void)rows;
	return row[GRAPH_TIME_S] > 0 ? row[at] / row[GRAPH_TIME_S] : NAN;
}

static double share_of_ended(const struct rows *rows, const double *row, size_t at)
{
	(void)rows;
	double all = row[GRAPH_SERVED] + row[GRAPH_FAILED] + row[GRAPH_DROPPED];
	return all > 0 ? row[at] / all : NAN;
}

/* GRAPH_COUNT at `at`, and what was spent after it. */
static double mean_time(const struct rows *rows, const double *row, size_t at)
{
	(void)rows;
	return row[at + GRAPH_COUNT] > 0 ? row[at + GRAPH_SPENT_S] / row[at + GRAPH_COUNT] : NAN;
}

static double error_response(const struct rows *rows, const double *row, size_t at)
{
	(void)rows;
	(void)at;
	return row[GRAPH_FAILED] > 0 ? row[GRAPH_FAILED_S] / row[GRAPH_FAILED] : NAN;
}

static double iteration(const struct rows *rows, const double *row, size_t at)
{
	(void)rows;
	(void)at;
	return row[GRAPH_TICKS] > 0 ? row[GRAPH_TIME_S] / row[GRAPH_TICKS] : NAN;
}

static double core_utilisation(const struct rows *rows, const double *row, size_t at)
{
	(void)at;
	double cores = row[sample_at(rows->model) + SAMPLE_CORES];
	return cores > 0 ? per_second(rows, row, GRAPH_BUSY_S) / cores : NAN;
}

/* Ratios of counts are taken over all replications together. */
static double ratio_of_sums(const struct rows *rows, size_t above, size_t below)
{
	double a = 0, b = 0;
	for (size_t i = 0; i < rows->count; i++) {
		a += rows->first[i * rows->size + above];
		b += rows->first[i * rows->size + below];
	}
	return b > 0 ? a / b : NAN;
}

/* By what an object's held time or length is divided to be a utilisation; NaN: it has none. */
static double capacity(
	const struct rows *rows, const struct model_object *object, const double *parameters)
{
	double size = 0;
	switch (object->kind) {
	case MODEL_MUTEX:
	case MODEL_SPIN:
	case MODEL_RWLOCK:
		return 1;
	case MODEL_DISK:
	case MODEL_LIMIT:
		/* It was evaluated before: this cannot fail. */
		(void)model_evaluate(
			rows->model, &object->size, MODEL_NUMBER, parameters, &size, NULL);
		return size > 0 ? size : 1;
	default:
		return NAN;
	}
}

static void scale(struct estimate *estimate, double factor)
{
	estimate->mean *= factor;
	estimate->low *= factor;
	estimate->high *= factor;
}

static void fill_object(const struct rows *rows, size_t index, const double *parameters,
	struct simulated_object *ret)
{
	const struct model_object *object = &rows->model->objects[index];
	size_t at = graph_object_at(rows->model, index);
	bool is_limit = object->kind == MODEL_LIMIT;
	ret->length = estimate(rows, per_second, at + GRAPH_AREA);
	ret->utilisation = is_limit ? ret->length : estimate(rows, per_second, at + GRAPH_HELD_S);
	scale(&ret->utilisation, 1 / capacity(rows, object, parameters));
	ret->uses_per_s = ratio_of_sums(rows, at + GRAPH_USES, GRAPH_TIME_S);
	ret->wait_share = ratio_of_sums(rows, at + GRAPH_WAITS, at + GRAPH_USES);
	ret->wait_s = ratio_of_sums(rows, at + GRAPH_WAITED_S, at + GRAPH_WAITS);
	for (size_t i = 0; i < rows->count; i++)
		ret->peak = fmax(ret->peak,
			rows->first[i * rows->size + sample_peak_at(rows->model, index)]);
}

static void fill_timed(const struct rows *rows, size_t at, struct simulated_timed *ret)
{
	ret->time_s = estimate(rows, mean_time, at);
	ret->per_s = ratio_of_sums(rows, at + GRAPH_COUNT, GRAPH_TIME_S);
}

static bool is_open(const struct model *model)
{
	for (size_t i = 0; i < model->source_count; i++)
		if (model->sources[i].kind != MODEL_CLOSED)
			return true;
	return false;
}

/* True for most of the replications. */
static bool is_mostly(const struct rows *rows, bool (*fact)(const double *row))
{
	size_t hits = 0;
	for (size_t i = 0; i < rows->count; i++)
		hits += fact(rows->first + i * rows->size + sample_at(rows->model));
	return 2 * hits > rows->count;
}

static bool has_backlog(const double *sample)
{
	return sample[SAMPLE_UNENDED] >
	       UNENDED_SHARE * (sample[SAMPLE_ENDED] + sample[SAMPLE_UNENDED]);
}

/* MSER-5 looks at the first half; batches of 5 may leave it a little short. */
static bool never_settled(const double *sample)
{
	return sample[SAMPLE_WARM_UP] > 0.49;
}

static void fill(const struct rows *rows, const double *parameters, struct simulated_setting *ret)
{
	const struct model *model = rows->model;
	size_t at = sample_at(model);
	struct estimate *const responses[] = { &ret->response_s, &ret->p50_s, &ret->p90_s,
		&ret->p95_s, &ret->p99_s };
	for (size_t i = 0; i < sizeof responses / sizeof *responses; i++)
		*responses[i] = estimate(rows, plain, at + SAMPLE_RESPONSE_S + i);
	ret->throughput_per_s = estimate(rows, per_second, GRAPH_SERVED);
	ret->errors_per_s = estimate(rows, per_second, GRAPH_FAILED);
	ret->dropped_per_s = estimate(rows, per_second, GRAPH_DROPPED);
	ret->error_share = estimate(rows, share_of_ended, GRAPH_FAILED);
	ret->dropped_share = estimate(rows, share_of_ended, GRAPH_DROPPED);
	ret->error_response_s = estimate(rows, error_response, 0);
	ret->cores = estimate(rows, core_utilisation, 0);
	ret->core_count = rows->first[at + SAMPLE_CORES];
	ret->run_s = estimate(rows, plain, at + SAMPLE_RUN_S);
	ret->iteration_s = estimate(rows, iteration, 0);
	for (size_t i = 0; i < model->object_count; i++)
		fill_object(rows, i, parameters, &ret->objects[i]);
	for (size_t i = 0; i < model->part_count; i++)
		fill_timed(rows, graph_part_at(model, i), &ret->parts[i]);
	size_t fragments = (graph_tally_size(model) - graph_fragment_at(model, 0, 0)) / GRAPH_TIMED;
	for (size_t i = 0; i < fragments; i++)
		fill_timed(rows, graph_fragment_at(model, 0, i), &ret->fragments[i]);
	ret->warm_up_share = estimate(rows, plain, at + SAMPLE_WARM_UP).mean;
	ret->does_grow = is_open(model) && is_mostly(rows, has_backlog);
	ret->is_unsettled = is_mostly(rows, never_settled);
	ret->are_stranded = estimate(rows, plain, at + SAMPLE_STRANDED).mean > 0;
	ret->is_helped = estimate(rows, plain, at + SAMPLE_LENT).mean > 0;
}

static int allocate(struct simulated *simulated, struct simulated_setting *setting)
{
	struct model *memory = simulated->notes;
	setting->objects =
		model_alloc(memory, simulated->model->object_count + 1, sizeof *setting->objects);
	setting->parts =
		model_alloc(memory, simulated->model->part_count + 1, sizeof *setting->parts);
	setting->fragments =
		model_alloc(memory, simulated->fragment_count + 1, sizeof *setting->fragments);
	return setting->objects && setting->parts && setting->fragments ? 0 : -ENOMEM;
}

/* The first failure of a setting's replications; those that were not run make it not run. */
static void take_failure(const struct simulated_run *runs, struct simulated_setting *setting)
{
	for (size_t i = 0; i < setting->replications && setting->code == 0; i++)
		if (runs[i].code < 0) {
			setting->code = runs[i].code;
			setting->error = runs[i].text;
		}
}

static int fill_all(struct simulated *simulated, const struct simulated_runs *runs)
{
	const struct model *model = simulated->model;
	AUTO_FREE double *parameters = calloc(model->parameter_count + 1, sizeof *parameters);
	AUTO_FREE double *values = calloc(runs->replications, sizeof *values);
	if (!parameters || !values)
		return -ENOMEM;
	struct rows rows = { .model = model,
		.count = runs->replications,
		.size = sample_size(model),
		.values = values };
	for (size_t i = 0; i < simulated->count; i++) {
		struct simulated_setting *setting = &simulated->settings[i];
		setting->replications = runs->replications;
		take_failure(runs->runs + i * runs->replications, setting);
		if (allocate(simulated, setting) < 0)
			return -ENOMEM;
		if (setting->code < 0)
			continue;
		rows.first = runs->rows + i * runs->replications * rows.size;
		grid_setting(simulated->grid, model, i, parameters);
		fill(&rows, parameters, setting);
		simulated->done++;
	}
	return 0;
}

int simulated_new(const struct simulated_input *input, struct simulated **ret, struct err *err)
{
	AUTO(simulated) struct simulated *simulated = calloc(1, sizeof *simulated);
	size_t count = grid_size(input->grid);
	if (simulated)
		simulated->settings = calloc(count, sizeof *simulated->settings);
	if (!simulated || !simulated->settings || !(simulated->notes = model_new()))
		return err_set(err, -ENOMEM, "out of memory");
	const struct model *model = input->model;
	simulated->model = model;
	simulated->grid = input->grid;
	simulated->count = count;
	simulated->replications = input->runs->replications;
	simulated->seed = input->seed;
	simulated->requests = input->requests;
	simulated->duration_s = input->duration_s;
	simulated->has_requests = sample_has_requests(model);
	simulated->goal = input->goal;
	simulated->fragment_count =
		(graph_tally_size(model) - graph_fragment_at(model, 0, 0)) / GRAPH_TIMED;
	int code = fill_all(simulated, input->runs);
	if (code < 0)
		return err_set(err, code, "out of memory");
	code = goal_choose(simulated, err);
	if (code == 0 && simulated_add_notes(simulated) < 0)
		code = err_set(err, -ENOMEM, "out of memory");
	if (code == 0)
		*ret = TAKE(simulated);
	return code;
}

void simulated_free(struct simulated *simulated)
{
	if (!simulated)
		return;
	model_free(simulated->notes);
	free(simulated->settings);
	free(simulated);
}
