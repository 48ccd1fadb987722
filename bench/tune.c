/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the best thread count of every measured curve with every policy, as the paper's Tables 2 and 3:
 * E, how much better the best count is than the chosen one; S, intervals until it is chosen; E_S, the mean
 * error of those intervals; S>10%, how many of them cost more than 10%. Between measured counts
 * a curve is a straight line in logarithms. E is of the count that is held after
 * HELD more intervals. --noise adds that relative noise to every interval.
 */
#include "corpus.h"
#include "curve_rates.h"

#include "base/cleanup.h"
#include "tune/tuner.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No search is allowed to take longer. */
enum { STEPS_MAX = 100, RUNS = 10, HELD = 10, SOURCES_MAX = 64 };

static const double COSTLY = 0.1, STEPS_AIM = 5;

struct outcome {
	double error, steps, step_error, costly;
};

struct request {
	const char *folder, *only;
	double noise;
	bool curves, held_out;
	struct tune_process_model model;
};

static int search(const struct tuner_opts *opts, double noise, const struct curve_rates *rates,
	struct rng *rng, struct outcome *ret)
{
	AUTO(tuner) struct tuner *tuner = NULL;
	struct tuner_decision decision;
	int code = tuner_new(opts, &tuner, &decision, NULL);
	*ret = (struct outcome){ 0 };
	bool is_searching = true;
	for (int held = 0; code == 0 && held < HELD && ret->steps < STEPS_MAX;) {
		double rate = rates->rate[decision.threads];
		double error = rates->best / rate - 1;
		is_searching = is_searching && decision.state == TUNER_SEARCHING;
		held += !is_searching;
		if (decision.state == TUNER_HOLDING)
			ret->error = error;
		if (is_searching) {
			ret->steps++;
			ret->step_error += error;
			ret->costly += error > COSTLY;
		}
		code = tuner_measured(
			tuner, rate * fmax(1 + noise * rng_normal(rng), 0.01), 1, &decision, NULL);
	}
	ret->step_error /= ret->steps;
	return code;
}

static void sum_up(struct outcome *sum, const struct outcome *one, double weight)
{
	sum->error += weight * one->error;
	sum->steps += weight * one->steps;
	sum->step_error += weight * one->step_error;
	sum->costly += weight * one->costly;
}

/* What a policy did on a source's curves: sums, and how many there were. */
struct source_sum {
	struct outcome sum;
	double curves, worst;
};

static int search_curve(const struct tune_policy *policy, bool drawn,
	const struct curve_rates *rates, const struct request *request, struct rng *rng,
	struct outcome *ret)
{
	struct tuner_opts opts = { .policy = policy,
		.space = { .max = rates->max, .model = &request->model } };
	if (!drawn && policy == &tune_policy_opresca)
		for (uint32_t i = 0; i < 3; i++)
			opts.space.initial[i] = (i + 1) * rates->max / 4;
	*ret = (struct outcome){ 0 };
	int runs = drawn || request->noise > 0 ? RUNS : 1; /* else all are the same */
	for (int i = 0; i < runs; i++) {
		struct outcome one;
		opts.seed = (uint64_t)i;
		int code = search(&opts, request->noise, rates, rng, &one);
		if (code < 0)
			return code;
		sum_up(ret, &one, 1.0 / runs);
	}
	return 0;
}

/* Fills an entry for each source; their number, or a negative errno. */
static int run(const struct tune_policy *policy, const char *name, bool drawn,
	const struct corpus *corpus, const struct request *request, struct source_sum *ret)
{
	struct rng rng;
	rng_init(&rng, 1);
	int sources = 0;
	for (size_t i = 0; i < corpus->count; i++) {
		const struct corpus_curve *c = &corpus->curves[i];
		if (i == 0 || strcmp(c->source, c[-1].source) != 0) {
			if (sources == SOURCES_MAX)
				return -E2BIG;
			ret[sources++] = (struct source_sum){ 0 };
		}
		struct curve_rates rates;
		if (!curve_rates_make(c->curve, &rates))
			continue;
		struct outcome mean;
		int code = search_curve(policy, drawn, &rates, request, &rng, &mean);
		if (code < 0)
			return code;
		if (request->curves)
			printf("curve %-10s %-60s E %.3f S %.1f E_S %.2f S>10%% %.1f\n", name,
				c->id, mean.error, mean.steps, mean.step_error, mean.costly);
		struct source_sum *s = &ret[sources - 1];
		sum_up(&s->sum, &mean, 1);
		s->worst = fmax(s->worst, mean.error);
		s->curves++;
	}
	return sources;
}

/* The mean over sources, each the mean over its curves. */
static void print_row(const char *name, const struct source_sum *sources, int count)
{
	struct outcome mean = { 0 }, pooled = { 0 };
	double used = 0, curves = 0, worst = 0;
	for (int i = 0; i < count; i++) {
		if (sources[i].curves == 0)
			continue;
		used++;
		curves += sources[i].curves;
		worst = fmax(worst, sources[i].worst);
		sum_up(&mean, &sources[i].sum, 1 / sources[i].curves);
		sum_up(&pooled, &sources[i].sum, 1);
	}
	printf("%-15s %5.0f %3.0f  %6.3f %5.2f %6.3f %6.2f    %6.3f %5.2f %6.3f %6.2f  %6.2f\n",
		name, curves, used, mean.error / used, mean.steps / used, mean.step_error / used,
		mean.costly / used, pooled.error / curves, pooled.steps / curves,
		pooled.step_error / curves, pooled.costly / curves, worst);
}

/* Constants that were chosen without the source that they are scored on: the least E with at most 5 steps. */
static int run_held_out(const struct corpus *corpus, const struct request *request)
{
	static const double seconds[] = { 0.25, 0.33, 0.5 }, gains[] = { 0.003, 0.005, 0.01 },
			    deviations[] = { 0.8, 1.5, 3 };
	enum { VARIANTS = 27 };
	static struct source_sum variants[VARIANTS][SOURCES_MAX], chosen[SOURCES_MAX];
	int sources = 0;
	for (int v = 0; v < VARIANTS && sources >= 0; v++) {
		struct request varied = *request;
		varied.model.second = seconds[v % 3];
		varied.model.gain_min = gains[v / 3 % 3];
		varied.model.exponent.start_slope_sd = deviations[v / 9];
		sources = run(&tune_policy_process, "", false, corpus, &varied, variants[v]);
	}
	for (int out = 0; out < sources; out++) {
		double least = INFINITY;
		for (int v = 0; v < VARIANTS; v++) {
			double error = 0, steps = 0, used = 0;
			for (int s = 0; s < sources; s++) {
				const struct source_sum *sum = &variants[v][s];
				if (s == out || sum->curves == 0)
					continue;
				error += sum->sum.error / sum->curves;
				steps += sum->sum.steps / sum->curves;
				used++;
			}
			if (steps <= STEPS_AIM * used && error < least) {
				least = error;
				chosen[out] = variants[v][out];
			}
		}
	}
	if (sources > 0)
		print_row("held out", chosen, sources);
	return sources;
}

static int run_policies(const struct corpus *corpus, const struct request *request)
{
	static struct source_sum sums[SOURCES_MAX];
	int count = 0;
	for (const struct tune_policy *const *p = tune_policies; *p && count >= 0; p++) {
		if (request->only && strcmp((*p)->name, request->only) != 0)
			continue;
		count = run(*p, (*p)->name, false, corpus, request, sums);
		if (count > 0)
			print_row((*p)->name, sums, count);
		if (count > 0 && *p == &tune_policy_opresca) {
			count = run(*p, "drawn", true, corpus, request, sums);
			print_row("opresca, drawn", sums, count > 0 ? count : 0);
		}
	}
	return count;
}

static int parse(int argc, char **argv, struct request *ret)
{
	*ret = (struct request){ .model = tune_process_default };
	static const struct option options[] = { { "noise", required_argument, NULL, 'n' },
		{ "only", required_argument, NULL, 'o' }, { "curves", no_argument, NULL, 'c' },
		{ "held-out", no_argument, NULL, 'h' }, { "second", required_argument, NULL, 's' },
		{ "gain", required_argument, NULL, 'g' },
		{ "caution", required_argument, NULL, 'a' },
		{ "slope-sd", required_argument, NULL, 'd' }, { 0 } };
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		double *number = c == 'n'   ? &ret->noise
				 : c == 's' ? &ret->model.second
				 : c == 'g' ? &ret->model.gain_min
				 : c == 'a' ? &ret->model.caution
				 : c == 'd' ? &ret->model.exponent.start_slope_sd
					    : NULL;
		if (number)
			*number = strtod(optarg, NULL);
		else if (c == 'o')
			ret->only = optarg;
		else if (c == 'c')
			ret->curves = true;
		else if (c == 'h')
			ret->held_out = true;
		else
			return -EINVAL;
	}
	ret->folder = argv[optind];
	return optind + 1 == argc ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct request request;
	if (parse(argc, argv, &request) < 0) {
		fprintf(stderr,
			"Usage: tune [--noise R] [--only POLICY] [--curves] [--held-out] "
			"[--second SHARE] [--gain R] [--caution R] [--slope-sd R] FOLDER\n");
		return 2;
	}
	struct err err;
	AUTO(corpus) struct corpus *corpus = NULL;
	if (corpus_read(request.folder, false, &corpus, &err) < 0) {
		fprintf(stderr, "tune: %s\n", err.text);
		return 1;
	}
	printf("%-15s %5s %3s  %6s %5s %6s %6s    %6s %5s %6s %6s  %6s\n", "", "", "", "E", "S",
		"E_S", "S>10%", "pooled", "S", "E_S", "S>10%", "worst");
	int code =
		request.held_out ? run_held_out(corpus, &request) : run_policies(corpus, &request);
	if (code < 0)
		fprintf(stderr, "tune: %s\n", strerror(-code));
	return code < 0;
}
