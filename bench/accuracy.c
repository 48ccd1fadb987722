/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores every forecasting method, and simple baselines, on measured curves: score.h. */
#include "baselines.h"
#include "corpus.h"
#include "score.h"

#include "base/mem.h"
#include "scaling/forecast.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t limits[] = { SCORE_LIMITS };

static void print_row(const char *method, uint32_t m, const struct score *s)
{
	char limit[16] = "all";
	if (m)
		(void)snprintf(limit, sizeof limit, "%u", m); /* always fits */
	printf("%-8s %4s %5zu %5zu  %5.3f %5.3f %5.3f  %6.3f  %6.3f  ", method, limit, s->cases,
		s->refused, s->below10, s->below20, s->below35, s->median_error, s->median_all);
	if (s->width > 0)
		printf("%5.3f  %5.3f  %5.3f\n", s->coverage, s->coverage_by_source, s->width);
	else
		printf("%5s  %5s  %5s\n", "-", "-", "-");
}

static void print_cases(const char *method, const struct tasks *tasks)
{
	for (size_t i = 0; i < tasks->count; i++)
		printf("case %s m=%u %s %.4f inside %zu/%zu\n", method, tasks->items[i].m,
			tasks->items[i].curve->id, tasks->results[i].error,
			tasks->results[i].inside, tasks->items[i].predicted);
}

static void print_sources(const char *method, const struct tasks *tasks)
{
	for (size_t first = 0, end; first < tasks->count; first = end) {
		end = tasks_source_end(tasks, first);
		struct score s = { 0 };
		(void)score_add_source(tasks, first, end, 0, &s); /* has a case */
		printf("source %-8s %-14s %5zu %5zu  %5.3f %5.3f %5.3f  %6.3f  coverage %5.3f\n",
			method, tasks->items[first].curve->source, s.cases, s.refused, s.below10,
			s.below20, s.below35, s.median_error, s.coverage_by_source);
	}
}

struct request {
	const char *folder;
	bool counters, cases, sources, sparse;
	const char *only; /* a method's name, or NULL */
};

static void run(const struct forecast_method *method, const struct tasks *tasks)
{
	for (size_t i = 0; i < tasks->count; i++) {
		const struct task *t = &tasks->items[i];
		struct forecast_opts opts = { .target = t->target };
		AUTO(forecast) struct forecast *f = NULL;
		(void)forecast_run(&t->seen, method, &opts, &f, NULL); /* a refusal leaves f NULL */
		task_judge(t, f, &tasks->results[i]);
	}
}

static void score_method(const struct forecast_method *method, const struct tasks *tasks,
	const struct request *request)
{
	if (request->only && strcmp(request->only, method->name) != 0)
		return;
	if (method->needs_stalls && !request->counters)
		return;
	run(method, tasks);
	if (request->cases)
		print_cases(method->name, tasks);
	if (request->sources)
		print_sources(method->name, tasks);
	for (size_t k = 0; k <= ARRAY_SIZE(limits); k++) {
		uint32_t m = k < ARRAY_SIZE(limits) ? limits[k] : 0;
		struct score s = score_of(tasks, m);
		print_row(method->name, m, &s);
	}
	fflush(stdout);
}

static int score_all(const struct request *request, struct err *err)
{
	AUTO(corpus) struct corpus *corpus = NULL;
	AUTO(tasks) struct tasks *tasks = NULL;
	int code = corpus_read(request->folder, request->counters, &corpus, err);
	if (code < 0)
		return code;
	code = tasks_make(corpus, request->sparse, &tasks);
	if (code < 0)
		return err_set(err, code, "out of memory");
	printf("%zu curves, %zu cases; shares and median by source, intervals over points\n",
		corpus->count, tasks->count);
	printf("method      m cases  ref.   <10%%  <20%%  <35%%  median  pooled  cover  by src  "
	       "width\n");
	score_method(&baseline_line, tasks, request);
	score_method(&baseline_damped, tasks, request);
	for (const struct forecast_method *const *m = forecast_methods; *m; m++)
		score_method(*m, tasks, request);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "counters", required_argument, NULL, 'c' },
		{ "method", required_argument, NULL, 'm' }, { "cases", no_argument, NULL, 'l' },
		{ "sources", no_argument, NULL, 's' }, { "sparse", no_argument, NULL, 'p' },
		{ 0 } };
	struct request request = { 0 };
	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (option == 'c') {
			request.folder = optarg;
			request.counters = true;
		} else if (option == 'm') {
			request.only = optarg;
		} else if (option == 'l') {
			request.cases = true;
		} else if (option == 's') {
			request.sources = true;
		} else if (option == 'p') {
			request.sparse = true;
		} else {
			return 2;
		}
	}
	if (!request.folder && optind < argc)
		request.folder = argv[optind];
	if (!request.folder) {
		fputs("Usage: accuracy [--method NAME] [--cases] [--sources] [--sparse] DIR | "
		      "--counters "
		      "DIR\n",
			stderr);
		return 2;
	}
	struct err err;
	if (score_all(&request, &err) < 0) {
		fprintf(stderr, "accuracy: %s\n", err.text);
		return 1;
	}
	return 0;
}
