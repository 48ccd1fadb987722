/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much the constants of the default method are fitted to the curves that score it.
 *
 * 1. Each constant is moved down and up by a third: the score must hardly change.
 * 2. Candidates are drawn at random around the defaults (each constant by a factor of up to two).
 *    For each source, the candidate that is best on all OTHER sources predicts it. What comes out
 *    is the score of choosing constants this way, on sources that had no say in the choice.
 */
#include "corpus.h"
#include "score.h"

#include "base/mem.h"
#include "base/rng.h"
#include "scaling/auto.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 100, SEEDS = 5, CONSTANTS = sizeof(struct auto_model) / sizeof(double) };

static const char *const names[] = { "drift[0]", "drift[1]", "drift[2]", "start_slope",
	"start_slope_sd", "tail_degrees", "sigma_centre", "noise_centre", "prior_width",
	"serial_prior", "law_residual", "between", "seen", "unseen" };
_Static_assert(ARRAY_SIZE(names) == CONSTANTS, "a name for each constant");

static int run(const struct auto_model *model, const struct tasks *tasks)
{
	for (size_t i = 0; i < tasks->count; i++) {
		const struct curve *seen = &tasks->items[i].seen;
		uint32_t target = tasks->items[i].target;
		struct forecast f = { .metric = seen->metric,
			.point_count = target,
			.measured_max = seen->points[seen->point_count - 1].threads };
		AUTO_FREE struct forecast_point *points = calloc(target, sizeof *points);
		if (!points)
			return -ENOMEM;
		f.points = points;
		int code = auto_predict(model, seen, &f, NULL);
		for (size_t k = 0; k < f.note_count; k++)
			free(f.notes[k]);
		free(f.notes);
		if (code < 0)
			return code;
		task_judge(&tasks->items[i], &f, &tasks->results[i]);
	}
	return 0;
}

static struct auto_model moved(size_t constant, double factor)
{
	double values[CONSTANTS];
	memcpy(values, &auto_model_default, sizeof values);
	values[constant] *= factor;
	struct auto_model model;
	memcpy(&model, values, sizeof model);
	return model;
}

static struct auto_model drawn(struct rng *rng)
{
	double values[CONSTANTS];
	memcpy(values, &auto_model_default, sizeof values);
	for (size_t i = 0; i < CONSTANTS; i++)
		values[i] *= exp2(2 * rng_uniform(rng) - 1);
	struct auto_model model;
	memcpy(&model, values, sizeof model);
	return model;
}

static void print(const char *name, const struct score *s)
{
	printf("%-24s %5.3f %5.3f %5.3f  %6.3f  %5.3f  %5.3f  %5.3f\n", name, s->below10,
		s->below20, s->below35, s->median_error, s->coverage, s->coverage_by_source,
		s->width);
	fflush(stdout);
}

static int move_each(const struct tasks *tasks)
{
	for (size_t i = 0; i < CONSTANTS; i++) {
		for (int up = 0; up < 2; up++) {
			struct auto_model model = moved(i, up ? 4.0 / 3 : 3.0 / 4);
			char name[64];
			int code = run(&model, tasks);
			if (code < 0)
				return code;
			struct score s = score_of(tasks, 0);
			(void)snprintf(name, sizeof name, "%s %s", names[i], up ? "up" : "down");
			print(name, &s);
		}
	}
	return 0;
}

/* What a choice of constants is judged by: the score and, smoother, shares at other errors. */
static double merit(const struct score *s)
{
	return (s->below10 + 2 * s->below20 + s->below35) / 4;
}

/* The merit of each source under the results that are there. */
static void merits(const struct tasks *tasks, double *ret)
{
	for (size_t first = 0, end, k = 0; first < tasks->count; first = end, k++) {
		struct score s = { 0 };
		end = tasks_source_end(tasks, first);
		(void)score_add_source(tasks, first, end, 0, &s); /* has a case */
		ret[k] = merit(&s);
	}
}

static size_t best_without(const double *by_candidate, size_t sources, size_t left_out)
{
	size_t best = 0;
	double best_sum = -INFINITY;
	for (size_t c = 0; c < CANDIDATES; c++) {
		double sum = 0;
		for (size_t k = 0; k < sources; k++)
			sum += k == left_out ? 0 : by_candidate[c * sources + k];
		if (sum > best_sum) {
			best_sum = sum;
			best = c;
		}
	}
	return best;
}

/* Keeps the errors of each of a hundred candidates, then takes each source's from the one chosen without it. */
static int leave_sources_out(struct tasks *tasks, uint64_t seed)
{
	size_t sources = 0;
	for (size_t first = 0; first < tasks->count; first = tasks_source_end(tasks, first))
		sources++;
	AUTO_FREE struct result *kept = calloc(CANDIDATES * tasks->count, sizeof *kept);
	AUTO_FREE double *by_candidate = calloc(CANDIDATES * sources, sizeof *by_candidate);
	if (!kept || !by_candidate)
		return -ENOMEM;
	struct rng rng;
	rng_init(&rng, seed);
	for (size_t c = 0; c < CANDIDATES; c++) {
		struct auto_model model = drawn(&rng);
		int code = run(&model, tasks);
		if (code < 0)
			return code;
		merits(tasks, &by_candidate[c * sources]);
		memcpy(&kept[c * tasks->count], tasks->results, tasks->count * sizeof *kept);
	}
	for (size_t first = 0, end, k = 0; first < tasks->count; first = end, k++) {
		end = tasks_source_end(tasks, first);
		size_t c = best_without(by_candidate, sources, k);
		for (size_t i = first; i < end; i++) {
			tasks->results[i].error = kept[c * tasks->count + i].error;
			tasks->results[i].inside = kept[c * tasks->count + i].inside;
		}
	}
	struct score s = score_of(tasks, 0);
	/* Candidates are not chosen by their intervals. */
	s.coverage = s.coverage_by_source = s.width = NAN;
	print("sources left out", &s);
	return 0;
}

int main(int argc, char **argv)
{
	AUTO(corpus) struct corpus *corpus = NULL;
	AUTO(tasks) struct tasks *tasks = NULL;
	struct err err = { "out of memory" };
	if (argc != 2) {
		fputs("Usage: sensitivity DIR\n", stderr);
		return 2;
	}
	int code = corpus_read(argv[1], false, &corpus, &err);
	if (code == 0)
		code = tasks_make(corpus, false, &tasks);
	if (code == 0)
		code = run(&auto_model_default, tasks);
	if (code == 0) {
		struct score s = score_of(tasks, 0);
		printf("constants                 <10%%  <20%%  <35%%  median  cover by src  "
		       "width\n");
		print("defaults", &s);
		code = move_each(tasks);
	}
	for (uint64_t seed = 1; code == 0 && seed <= SEEDS; seed++)
		code = leave_sources_out(tasks, seed);
	if (code < 0) {
		fprintf(stderr, "sensitivity: %s\n", err.text);
		return 1;
	}
	return 0;
}
