/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Google Benchmark's JSON: entries named BASE/threads:N. Aggregates are skipped, as the repetitions
 * they come from are there, unless --benchmark_report_aggregates_only left only them: then the
 * medians are read.
 *
 * The rate items_per_second is a throughput of all threads, but only if the benchmark is timed by
 * the wall clock (UseRealTime or UseManualTime: "/real_time" or "/manual_time" in the name);
 * otherwise it is per second of CPU time and says nothing about scaling.
 */
#include "scaling/runs_formats.h"

#include "base/strbuf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gbench {
	const char *name;
	const struct runs_read_opts *opts;
	struct names bases; /* benchmarks with /threads:N */
	const char *base; /* the one that is read; borrowed from `bases` */
	bool has_iterations; /* not only aggregates */
	size_t failed;
	struct strbuf scratch; /* of base_of(); a failure is remembered and asked for once */
	uint32_t *seen; /* rows so far of each thread count */
	struct runs *runs;
};

static void gbench_release(struct gbench *g)
{
	names_release(&g->bases);
	strbuf_release(&g->scratch);
	free(g->seen);
	runs_free(g->runs);
	*g = (struct gbench){ 0 };
}

static const char *string_of(const json_t *entry, const char *key)
{
	const char *text = json_string_value(json_object_get(entry, key));
	return text ? text : "";
}

static bool is_aggregate(const json_t *entry)
{
	return strcmp(string_of(entry, "run_type"), "aggregate") == 0;
}

static bool is_failed(const json_t *entry)
{
	return json_is_true(json_object_get(entry, "error_occurred")) ||
	       json_is_true(json_object_get(entry, "skipped"));
}

/* The name without its /threads:N, until the next call, and that N. NULL if it has none. */
static const char *base_of(struct gbench *g, const json_t *entry, uint32_t *ret_threads)
{
	static const char mark[] = "/threads:";
	const char *name = string_of(entry, "run_name");
	if (!*name) /* before version 1.4.1 */
		name = string_of(entry, "name");
	const char *at = strstr(name, mark);
	if (!at)
		return NULL;
	const char *number = at + sizeof mark - 1;
	char digits[8] = "";
	size_t length = strspn(number, "0123456789");
	if (length >= sizeof digits)
		return NULL;
	memcpy(digits, number, length);
	if (runs_parse_threads(digits, ret_threads) < 0)
		return NULL;
	g->scratch.length = 0;
	strbuf_add_bytes(&g->scratch, name, (size_t)(at - name));
	strbuf_add(&g->scratch, number + length);
	return strbuf_failed(&g->scratch) ? NULL : g->scratch.text;
}

/* Lists the benchmarks and chooses one. */
static int choose(struct gbench *g, const json_t *benchmarks, struct err *err)
{
	int wanted = -1;
	for (size_t i = 0; i < json_array_size(benchmarks); i++) {
		uint32_t threads;
		const char *base = base_of(g, json_array_get(benchmarks, i), &threads);
		if (!base)
			continue;
		int index = names_add(&g->bases, base);
		if (index == -E2BIG)
			return err_set(err, -EINVAL, "%s: more than %d benchmarks", g->name,
				(int)NAMES_MAX);
		if (index < 0)
			return err_set(err, -ENOMEM, "out of memory");
		if (g->opts->select && strcmp(base, g->opts->select) == 0)
			wanted = index;
	}
	if (strbuf_failed(&g->scratch))
		return err_set(err, -ENOMEM, "out of memory");
	if (g->bases.count == 0)
		return err_set(err, -EINVAL,
			"%s: no benchmark is named .../threads:N: register it with "
			"->ThreadRange(1, 8)->UseRealTime()",
			g->name);
	if (g->opts->select && wanted < 0)
		return err_set(err, -EINVAL, "%s: no benchmark '%s': there are %s", g->name,
			text_show(g->opts->select).text, names_show(&g->bases).text);
	if (!g->opts->select && g->bases.count > 1)
		return err_set(err, -EINVAL, "%s: it has several benchmarks: --select one of %s",
			g->name, names_show(&g->bases).text);
	g->base = g->bases.items[wanted < 0 ? 0 : wanted];
	return 0;
}

static double number_of(const json_t *entry, const char *key)
{
	const json_t *value = json_object_get(entry, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool is_of_base(struct gbench *g, const json_t *entry, uint32_t *ret_threads)
{
	const char *base = base_of(g, entry, ret_threads);
	return base && strcmp(base, g->base) == 0;
}

/* Whether the entry is a row: a repetition, or a median where there are only aggregates. */
static bool is_row(struct gbench *g, const json_t *entry, uint32_t *ret_threads)
{
	if (!is_of_base(g, entry, ret_threads))
		return false;
	if (g->has_iterations)
		return !is_aggregate(entry);
	return strcmp(string_of(entry, "aggregate_name"), "median") == 0;
}

/* Throughput where every row has it, unless a time is asked for. */
static int choose_metric(struct gbench *g, const json_t *benchmarks, struct err *err)
{
	uint32_t threads;
	for (size_t i = 0; i < json_array_size(benchmarks); i++) {
		const json_t *entry = json_array_get(benchmarks, i);
		g->has_iterations |= !is_aggregate(entry) && is_of_base(g, entry, &threads);
	}
	bool has_rate = strstr(g->base, "/real_time") || strstr(g->base, "/manual_time");
	for (size_t i = 0; i < json_array_size(benchmarks); i++) {
		const json_t *entry = json_array_get(benchmarks, i);
		if (is_row(g, entry, &threads) && !is_failed(entry))
			has_rate &= !isnan(number_of(entry, "items_per_second"));
	}
	g->runs->metric = g->opts->metric;
	if (g->opts->metric == METRIC_UNKNOWN)
		g->runs->metric = has_rate ? METRIC_THROUGHPUT : METRIC_TIME;
	if (g->opts->metric == METRIC_THROUGHPUT && !has_rate)
		return err_set(err, -EINVAL,
			"%s: '%s' has no throughput by the wall clock: call "
			"state.SetItemsProcessed() and register it with ->UseRealTime()",
			g->name, text_show(g->base).text);
	return 0;
}

static double unit_seconds(const char *unit)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 } };
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].seconds;
	return NAN;
}

static int read_entry(struct gbench *g, const json_t *entry, size_t index, struct err *err)
{
	uint32_t threads;
	if (!is_row(g, entry, &threads))
		return 0;
	if (is_failed(entry)) {
		g->failed++;
		return 0;
	}
	struct runs_row row = {
		.threads = threads, .repeat = g->seen[threads]++, .rss_bytes = NAN
	};
	row.value = g->runs->metric == METRIC_THROUGHPUT
			    ? number_of(entry, "items_per_second")
			    : number_of(entry, "real_time") *
				      unit_seconds(string_of(entry, "time_unit"));
	if (!isfinite(row.value) || row.value <= 0)
		return err_set(err, -EINVAL,
			"%s: benchmarks[%zu] ('%s'): %s is not a measurement above 0", g->name,
			index, text_show(string_of(entry, "name")).text,
			g->runs->metric == METRIC_THROUGHPUT ? "items_per_second"
							     : "real_time with time_unit");
	return runs_add_row(g->runs, &row, g->name, err);
}

static int add_notes(struct gbench *g)
{
	if (g->failed && runs_add_note(g->runs, "%zu %s an error: skipped", g->failed,
				 g->failed == 1 ? "run has" : "runs have") < 0)
		return -ENOMEM;
	if (g->runs->metric == METRIC_TIME)
		return runs_add_note(g->runs,
			"real_time is per iteration as Google Benchmark reports it, which "
			"before its version 1.9.0 was divided by the threads: a throughput "
			"(SetItemsProcessed, UseRealTime) is clearer");
	return 0;
}

int runs_gbench_read(const json_t *benchmarks, const char *name, const struct runs_read_opts *opts,
	struct runs **ret, struct err *err)
{
	AUTO_RELEASE(gbench) struct gbench g = { .name = name, .opts = opts };
	g.runs = runs_new(METRIC_UNKNOWN, NULL, 0);
	g.seen = calloc(RUNS_THREADS_MAX + 1, sizeof *g.seen);
	if (!g.runs || !g.seen)
		return err_set(err, -ENOMEM, "out of memory");
	int code = choose(&g, benchmarks, err);
	if (code == 0)
		code = choose_metric(&g, benchmarks, err);
	for (size_t i = 0; code == 0 && i < json_array_size(benchmarks); i++)
		code = read_entry(&g, json_array_get(benchmarks, i), i, err);
	if (code < 0)
		return code;
	if (strbuf_failed(&g.scratch))
		return err_set(err, -ENOMEM, "out of memory");
	if (g.runs->row_count == 0)
		return err_set(
			err, -EINVAL, "%s: every run of '%s' failed", name, text_show(g.base).text);
	if (add_notes(&g) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE(g.runs);
	return 0;
}
