/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hyperfine --export-json: one result for each value of the parameter that --parameter-scan or
 * --parameter-list varied, with the time of each run.
 */
#include "scaling/runs_formats.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* What people call the number of threads, where a result has several parameters. */
static const char *const thread_parameters[] = { "threads", "n", "nthreads", "num_threads", "t",
	"jobs", "j", "cores", "cpus", "procs", "p", "workers" };

struct hyperfine {
	const char *name;
	struct runs *runs;
	size_t *result_of; /* thread count: 1 + the result that had it */
	size_t failed; /* runs with another exit code than 0 */
};

static void hyperfine_release(struct hyperfine *h)
{
	runs_free(h->runs);
	free(h->result_of);
	*h = (struct hyperfine){ 0 };
}

/* The parameter that is the number of threads; NULL if that is not clear. */
static const json_t *threads_parameter(const json_t *parameters)
{
	if (json_object_size(parameters) == 1)
		return json_object_iter_value(json_object_iter((json_t *)parameters));
	for (size_t i = 0; i < ARRAY_SIZE(thread_parameters); i++) {
		const json_t *value = json_object_get(parameters, thread_parameters[i]);
		if (value)
			return value;
	}
	return NULL;
}

static int read_threads(const struct hyperfine *h, const json_t *result, size_t index,
	uint32_t *ret, struct err *err)
{
	const json_t *parameters = json_object_get(result, "parameters");
	if (json_object_size(parameters) == 0)
		return err_set(err, -EINVAL,
			"%s: results[%zu] has no parameter: run hyperfine with --parameter-scan "
			"threads 1 8 'program {threads}'",
			h->name, index);
	const json_t *value = threads_parameter(parameters);
	if (!value)
		return err_set(err, -EINVAL,
			"%s: results[%zu] has %zu parameters and none is named 'threads'", h->name,
			index, json_object_size(parameters));
	char number[32] = "";
	const char *text = json_string_value(value);
	if (json_is_integer(value))
		(void)snprintf(number, sizeof number, "%lld",
			(long long)json_integer_value(value)); /* fits */
	if (runs_parse_threads(text ? text : number, ret) < 0)
		return err_set(err, -EINVAL,
			"%s: results[%zu]: '%s' is not a thread count: a whole number, 1 to %d",
			h->name, index, text_show(text ? text : number).text,
			(int)RUNS_THREADS_MAX);
	return 0;
}

/* Two results of one thread count are two programs or two settings, not repeats. */
static int check_first(
	struct hyperfine *h, const json_t *results, size_t index, uint32_t threads, struct err *err)
{
	size_t earlier = h->result_of[threads];
	h->result_of[threads] = index + 1;
	if (earlier == 0)
		return 0;
	const char *a =
		json_string_value(json_object_get(json_array_get(results, earlier - 1), "command"));
	const char *b =
		json_string_value(json_object_get(json_array_get(results, index), "command"));
	return err_set(err, -EINVAL,
		"%s: results[%zu] ('%s') and results[%zu] ('%s') both ran %u threads: export one "
		"command, with one parameter",
		h->name, earlier - 1, text_show(a ? a : "").text, index, text_show(b ? b : "").text,
		threads);
}

/* A number of an array; NAN if it has no such item. */
static double number_at(const json_t *array, size_t index)
{
	const json_t *item = json_array_get(array, index);
	return json_is_number(item) ? json_number_value(item) : NAN;
}

static int add_time(struct hyperfine *h, const struct runs_row *row, size_t index,
	const char *field, struct err *err)
{
	if (!isfinite(row->value) || row->value <= 0)
		return err_set(err, -EINVAL, "%s: results[%zu].%s: not a time above 0", h->name,
			index, field);
	return runs_add_row(h->runs, row, h->name, err);
}

/* Every run of a result. */
static int read_times(
	struct hyperfine *h, const json_t *result, size_t index, uint32_t threads, struct err *err)
{
	const json_t *times = json_object_get(result, "times");
	const json_t *codes = json_object_get(result, "exit_codes");
	const json_t *memory = json_object_get(result, "memory_usage_byte");
	for (size_t i = 0; i < json_array_size(times); i++) {
		const json_t *code = json_array_get(codes, i);
		/* null: ended by a signal */
		if (code && !(json_is_integer(code) && json_integer_value(code) == 0)) {
			h->failed++;
			continue;
		}
		char field[32];
		(void)snprintf(field, sizeof field, "times[%zu]", i); /* fits */
		struct runs_row row = { .threads = threads,
			.repeat = (uint32_t)i,
			.value = number_at(times, i),
			.rss_bytes = number_at(memory, i) };
		int added = add_time(h, &row, index, field, err);
		if (added < 0)
			return added;
	}
	return 0;
}

/* A result without its times, as after an edit: its median, else its mean. */
static int read_summary(
	struct hyperfine *h, const json_t *result, size_t index, uint32_t threads, struct err *err)
{
	const char *field = json_object_get(result, "median") ? "median" : "mean";
	const json_t *value = json_object_get(result, field);
	struct runs_row row = { .threads = threads,
		.value = json_is_number(value) ? json_number_value(value) : NAN,
		.rss_bytes = NAN };
	return add_time(h, &row, index, field, err);
}

static int read_result(struct hyperfine *h, const json_t *results, size_t index, struct err *err)
{
	const json_t *result = json_array_get(results, index);
	uint32_t threads;
	int code = read_threads(h, result, index, &threads, err);
	if (code == 0)
		code = check_first(h, results, index, threads, err);
	if (code < 0)
		return code;
	if (json_array_size(json_object_get(result, "times")) > 0)
		return read_times(h, result, index, threads, err);
	return read_summary(h, result, index, threads, err);
}

int runs_hyperfine_read(const json_t *results, const char *name, const struct runs_read_opts *opts,
	struct runs **ret, struct err *err)
{
	if (opts->metric == METRIC_THROUGHPUT)
		return err_set(
			err, -EINVAL, "%s: hyperfine measures a time, not a throughput", name);
	AUTO_RELEASE(hyperfine) struct hyperfine h = { .name = name };
	h.runs = runs_new(METRIC_TIME, NULL, 0);
	h.result_of = calloc(RUNS_THREADS_MAX + 1, sizeof *h.result_of);
	if (!h.runs || !h.result_of)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < json_array_size(results); i++) {
		int code = read_result(&h, results, i, err);
		if (code < 0)
			return code;
	}
	if (h.runs->row_count == 0)
		return err_set(err, -EINVAL,
			h.failed ? "%s: every run failed" : "%s: \"results\" is empty", name);
	if (h.failed && runs_add_note(h.runs, "%zu %s an exit code other than 0: skipped", h.failed,
				h.failed == 1 ? "run has" : "runs have") < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE(h.runs);
	return 0;
}
