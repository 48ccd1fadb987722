/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The closing table and its JSON twin (docs/formats/measure.md). */
#include "measure_summary.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "collect/argv.h"
#include "collect/noise.h"
#include "report/where_text.h"
#include "scaling/forecast.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* Forecasts are asked for this many times the highest count measured: so far their accuracy was tested. */
enum { FORECAST_FACTOR = 2, PLACES_SHOWN = 10 };

/* Of running and waiting time: more than this is not the scheduler's usual housekeeping. */
static const double DISTURBED_SHARE = 0.05;

static void cleanup_json(json_t **json)
{
	json_decref(*json);
}

void summary_release(struct summary *summary)
{
	free(summary->runs);
	where_free(summary->where);
	*summary = (struct summary){ 0 };
}

int summary_add(struct summary *summary, const struct summary_run *run)
{
	int status = mem_grow(
		&summary->runs, &summary->capacity, summary->run_count + 1, sizeof *summary->runs);
	if (status == 0)
		summary->runs[summary->run_count++] = *run;
	return status;
}

static int estimate_noise(
	const struct summary *summary, struct noise_point **ret, size_t *ret_count)
{
	AUTO_FREE struct noise_sample *samples = calloc(summary->run_count + 1, sizeof *samples);
	if (!samples)
		return -ENOMEM;
	for (size_t i = 0; i < summary->run_count; i++)
		samples[i] =
			(struct noise_sample){ summary->runs[i].threads, summary->runs[i].value };
	return noise_estimate(samples, summary->run_count, ret, ret_count);
}

/* The mean over the runs of one count of one field; NAN if no run knows it. */
static double mean_of(const struct summary *summary, uint32_t threads, size_t field_offset)
{
	double sum = 0;
	size_t count = 0;
	for (size_t i = 0; i < summary->run_count; i++) {
		const struct summary_run *run = &summary->runs[i];
		double value = *(const double *)((const char *)run + field_offset);
		if (run->threads == threads && !isnan(value)) {
			sum += value;
			count++;
		}
	}
	return count ? sum / (double)count : NAN;
}

static double speedup(
	const struct summary *summary, const struct noise_point *base, const struct noise_point *p)
{
	return summary->has_throughput ? p->median / base->median : base->median / p->median;
}

/* A number in `width` columns, "-" where it is not known. */
static void print_number(FILE *out, int width, const char *format, double value)
{
	char text[32] = "-";
	if (!isnan(value))
		(void)snprintf(text, sizeof text, format, value); /* cut is fine: a table */
	fprintf(out, "%*s", width, text);
}

static void print_point(const struct summary *summary, const struct noise_point *base,
	const struct noise_point *point, FILE *out)
{
	fprintf(out, "%7u %5u", point->threads, point->runs);
	print_number(out, 12, "%.5g", point->median);
	print_number(out, 9, "%.1f%%", point->spread * 100);
	print_number(out, 9, "%.2f", speedup(summary, base, point));
	print_number(out, 10, "%.4g",
		mean_of(summary, point->threads, offsetof(struct summary_run, cpu_s)));
	print_number(out, 10, "%.3g",
		mean_of(summary, point->threads, offsetof(struct summary_run, wait_for_core_s)));
	print_number(out, 10, "%.1f",
		mean_of(summary, point->threads, offsetof(struct summary_run, rss_bytes)) / 1e6);
	fputc('\n', out);
}

/* The counts that want more runs, as -n takes them, and how many; false if none does. */
static bool more_runs(const struct noise_point *points, size_t count, struct strbuf *ret_counts,
	uint32_t *ret_runs)
{
	*ret_runs = 0;
	for (size_t i = 0; i < count; i++) {
		if (points[i].wanted_runs <= points[i].runs)
			continue;
		strbuf_addf(ret_counts, "%s%u", *ret_runs ? "," : "", points[i].threads);
		if (points[i].wanted_runs > *ret_runs)
			*ret_runs = points[i].wanted_runs;
	}
	return *ret_runs > 0;
}

void summary_add_resume_command(
	const struct summary *summary, const char *counts, uint32_t repeats, struct strbuf *out)
{
	strbuf_addf(out, "corecast measure --resume -n %s -r %u -o ", counts, repeats);
	argv_quote_word(out, summary->path);
	strbuf_addf(out, " %s-- %s", summary->options, summary->command);
}

static bool is_measured(const struct noise_point *points, size_t count, uint32_t threads)
{
	for (size_t i = 0; i < count; i++)
		if (points[i].threads == threads)
			return true;
	return false;
}

/* A count that is not measured: of 1, 2, 4, ... as far as there are cores, else the least above 2. */
static uint32_t missing_count(const struct summary *summary, const struct noise_point *points,
	size_t count, uint32_t from)
{
	for (uint32_t n = 1; n <= summary->usable; n *= 2)
		if (n >= from && !is_measured(points, count, n))
			return n;
	uint32_t n = from > 3 ? from : 3;
	while (is_measured(points, count, n))
		n++;
	return n;
}

/* Too few counts for a forecast: some more. */
static void add_measure_command(const struct summary *summary, const struct noise_point *points,
	size_t count, struct strbuf *out)
{
	AUTO_RELEASE(strbuf) struct strbuf counts = { 0 };
	uint32_t n = 0;
	for (size_t i = count; i < forecast_methods[0]->min_points; i++) {
		n = missing_count(summary, points, count, n + 1);
		strbuf_addf(&counts, "%s%u", i > count ? "," : "", n);
	}
	if (strbuf_failed(&counts) < 0)
		out->failed = true;
	else
		summary_add_resume_command(summary, counts.text, points[0].runs, out);
}

/* The command that comes next. */
static void add_next_command(const struct summary *summary, const struct noise_point *points,
	size_t count, struct strbuf *out)
{
	if (count < forecast_methods[0]->min_points) {
		add_measure_command(summary, points, count, out);
		return;
	}
	strbuf_add(out, "corecast forecast ");
	argv_quote_word(out, summary->path);
	strbuf_addf(out, " --to %u", points[count - 1].threads * FORECAST_FACTOR);
}

/* Says at which counts threads waited for a core though there were as many cores. */
static void print_disturbance(
	const struct summary *summary, const struct noise_point *points, size_t count, FILE *out)
{
	double worst = 0;
	uint32_t threads = 0;
	for (size_t i = 0; i < count && points[i].threads <= summary->usable; i++) {
		double wait_s = mean_of(
			summary, points[i].threads, offsetof(struct summary_run, wait_for_core_s));
		double cpu_s =
			mean_of(summary, points[i].threads, offsetof(struct summary_run, cpu_s));
		double share = wait_s / (wait_s + cpu_s);
		if (share > worst) { /* false if not known */
			worst = share;
			threads = points[i].threads;
		}
	}
	if (worst > DISTURBED_SHARE)
		fprintf(out,
			"\nDisturbed: up to %.0f%% of the threads' time was waiting for a core (at "
			"%u),\nthough there were enough: other work ran, or there are more threads "
			"than n.\n",
			worst * 100, threads);
}

static int print_advice(const struct summary *summary, const struct noise_point *points,
	size_t count, FILE *out, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf counts = { 0 };
	AUTO_RELEASE(strbuf) struct strbuf more = { 0 };
	AUTO_RELEASE(strbuf) struct strbuf next = { 0 };
	uint32_t runs;
	bool wants_more = more_runs(points, count, &counts, &runs);
	if (wants_more)
		summary_add_resume_command(summary, counts.text, runs, &more);
	add_next_command(summary, points, count, &next);
	if (strbuf_failed(&counts) < 0 || strbuf_failed(&more) < 0 || strbuf_failed(&next) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (wants_more && isnan(points[0].spread))
		fprintf(out, "\nNoise is unknown: every count was run once. To know it:\n  %s\n",
			more.text);
	else if (wants_more)
		fprintf(out,
			"\nNoisy: the median is not within %.0f%% at %s threads. To settle it:\n"
			"  %s\n",
			NOISE_TARGET * 100, counts.text, more.text);
	if (count < forecast_methods[0]->min_points)
		fprintf(out, "\nNext: a forecast needs %u thread counts: %s\n",
			forecast_methods[0]->min_points, next.text);
	else
		fprintf(out, "\nNext: %s\n", next.text);
	return 0;
}

static int print_where(const struct summary *summary, FILE *out, struct err *err)
{
	if (!summary->where)
		return 0;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, "\n");
	where_text(summary->where, PLACES_SHOWN, &text);
	if (strbuf_failed(&text) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	fputs(text.text, out);
	return 0;
}

int summary_print_table(const struct summary *summary, FILE *out, struct err *err)
{
	AUTO_FREE struct noise_point *points = NULL;
	size_t count = 0;
	if (estimate_noise(summary, &points, &count) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (count == 0) {
		fprintf(out, "No run finished: '%s' has no rows.\n", summary->path);
		return 0;
	}
	fprintf(out, "%7s %5s%12s%9s%9s%10s%10s%10s\n", "threads", "runs",
		summary->has_throughput ? "per second" : "time (s)", "noise", "speedup", "CPU (s)",
		"wait (s)", "RSS (MB)");
	for (size_t i = 0; i < count; i++)
		print_point(summary, &points[0], &points[i], out);
	fputs("\nnoise: spread of one run; wait: for a core, summed over threads.\n", out);
	int status = print_where(summary, out, err);
	print_disturbance(summary, points, count, out);
	return status < 0 ? status : print_advice(summary, points, count, out, err);
}

/* JSON has no NAN: what is not known is null. */
static json_t *number_or_null(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static json_t *point_json(const struct summary *summary, const struct noise_point *base,
	const struct noise_point *point)
{
	uint32_t threads = point->threads;
	return json_pack("{s:i, s:i, s:f, s:o, s:o, s:f, s:o, s:o, s:o, s:i}", "threads", threads,
		"runs", point->runs, "median", point->median, "spread",
		number_or_null(point->spread), "median_error", number_or_null(point->median_error),
		"speedup", speedup(summary, base, point), "cpu_s",
		number_or_null(mean_of(summary, threads, offsetof(struct summary_run, cpu_s))),
		"wait_for_core_s",
		number_or_null(
			mean_of(summary, threads, offsetof(struct summary_run, wait_for_core_s))),
		"rss_bytes",
		number_or_null(mean_of(summary, threads, offsetof(struct summary_run, rss_bytes))),
		"wanted_runs", point->wanted_runs);
}

static json_t *where_json(const struct where *where)
{
	json_t *places = json_array();
	for (size_t i = 0; i < where->place_count; i++) {
		const struct where_place *p = &where->places[i];
		(void)json_array_append_new(
			places, json_pack("{s:s?, s:s?, s:i, s:s?, s:s?, s:I, s:I, s:f, s:o}",
					"function", p->function, "file", p->file, "line", p->line,
					"caller", p->caller, "module", p->module, "address",
					(json_int_t)p->address, "count", (json_int_t)p->count,
					"share", p->share, "seconds", number_or_null(p->seconds)));
	}
	return json_pack("{s:s, s:s, s:I, s:o, s:I, s:o}", "category", where->category, "unit",
		where->unit, "count", (json_int_t)where->count, "seconds",
		number_or_null(where->seconds), "lost", (json_int_t)where->lost, "places", places);
}

int summary_print_json(const struct summary *summary, FILE *out, struct err *err)
{
	AUTO_FREE struct noise_point *points = NULL;
	size_t count = 0;
	if (estimate_noise(summary, &points, &count) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(list, point_json(summary, &points[0], &points[i]));
	AUTO_RELEASE(strbuf) struct strbuf next = { 0 };
	if (count > 0)
		add_next_command(summary, points, count, &next);
	__attribute__((cleanup(cleanup_json)))
	json_t *root = json_pack("{s:i, s:s, s:s, s:s, s:o, s:i, s:i, s:o, s:s?}", "version", 1,
		"file", summary->path, "command", summary->command, "metric",
		summary->has_throughput ? "throughput" : "time", "points", list, "failed_runs",
		(int)summary->failed, "missing_runs", (int)summary->missing, "where",
		summary->where ? where_json(summary->where) : json_null(), "next", next.text);
	if (!root || json_dumpf(root, out, JSON_INDENT(2)) < 0)
		return err_set(err, -EIO, "cannot print the result as JSON");
	fputc('\n', out);
	return 0;
}
