/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicted.h"

#include "machines.h"
#include "timeline_save.h"

#include "base/path.h"
#include "uarch/profile_timeline.h"

#include <errno.h>
#include <stdlib.h>

/* Six times what a design space takes for a point: one processor's answer should not hang on what is drawn. */
enum { MICRO_INSTRUCTIONS = 400000 };

int predicted_load(struct predicted *predicted, size_t micro_instructions, struct err *err)
{
	int code = profile_load(predicted->path, &predicted->profile, err);
	return code < 0 ? code : predicted_prepare(predicted, micro_instructions, err);
}

/* The timeline, with the meanings as they are. */
static int load(struct predicted *predicted, struct err *err)
{
	const struct predict_opts opts = { .meaning = predicted->meaning,
		.micro_instructions = predicted->micro_instructions };
	int code = rppm_new(&predicted->profile, &opts, &predicted->rppm, err);
	if (code < 0)
		return err_prefix(err, code, "%s", predicted->path);
	struct event_sink sink = rppm_sink(predicted->rppm);
	code = profile_timeline_replay(&predicted->profile, predicted->path, &sink, err);
	if (code < 0)
		return code;
	rppm_facts(predicted->rppm, &predicted->facts);
	return 0;
}

int predicted_prepare(struct predicted *predicted, size_t micro_instructions, struct err *err)
{
	if (meaning_new(&predicted->meaning) < 0 || symbols_new(&predicted->symbols) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	predicted->finder = analysed_finder(predicted->symbols);
	predicted->micro_instructions = micro_instructions;
	meaning_of_other_pace(predicted->meaning);
	struct event_sink sink = meaning_sink(predicted->meaning);
	int code = profile_timeline_replay(&predicted->profile, predicted->path, &sink, err);
	meaning_forget_ends(predicted->meaning);
	return code < 0 ? code : load(predicted, err);
}

/* After -EDEADLK: prepares it again without the meanings that led there. -EDEADLK if that is none. */
static int prepare_again(struct predicted *predicted, struct err *err)
{
	size_t count = 0;
	for (uint32_t cond; rppm_stuck(predicted->rppm, count, &cond); count++)
		meaning_forget(predicted->meaning, cond);
	if (count == 0)
		return rppm_settle(predicted->rppm) ? 0 : -EDEADLK;
	predicted->forgotten += count;
	rppm_free(TAKE(predicted->rppm));
	return load(predicted, err);
}

int predicted_settle(
	struct predicted *predicted, const struct processor *processor, struct err *err)
{
	const struct predict_run run = { .processor = processor };
	for (;;) {
		AUTO_RELEASE(prediction) struct prediction prediction = { 0 };
		int code = rppm_run(predicted->rppm, &run, &prediction, err);
		if (code == -EDEADLK)
			code = prepare_again(predicted, err);
		else
			return code;
		if (code < 0)
			return code;
	}
}

static void point_release(struct predict_point *point)
{
	processor_release(&point->processor);
	prediction_release(&point->prediction);
	results_free(point->results);
}

void predicted_release(struct predicted *predicted)
{
	for (size_t i = 0; i < predicted->point_count; i++)
		point_release(&predicted->points[i]);
	free(predicted->points);
	rppm_free(predicted->rppm);
	meaning_free(predicted->meaning);
	symbols_free(predicted->symbols);
	profile_release(&predicted->profile);
	*predicted = (struct predicted){ 0 };
}

/* With this seed, its timeline analysed. */
static int predict_whole(struct predicted *predicted, struct predict_run *run,
	struct predict_point *point, struct err *err)
{
	AUTO(analysis) struct analysis *analysis = NULL;
	const struct analysis_opts opts = { .cores = run->cores ? run->cores
								: point->processor.cores };
	int code = analysis_new(&opts, &analysis, err);
	if (code < 0)
		return code;
	struct event_sink sink = analysis_sink(analysis);
	run->sink = &sink;
	code = rppm_run(predicted->rppm, run, &point->prediction, err);
	run->sink = NULL;
	return code < 0 ? code : analysis_results(analysis, &point->results, err);
}

struct draw {
	uint64_t ns, seed;
};

static int by_time(const void *a, const void *b)
{
	const struct draw *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->seed > y->seed) - (x->seed < y->seed);
}

/* Least, middle and most of as many predictions, and the middle one's seed. */
static int draw_all(struct predicted *predicted, struct predict_run *run, uint32_t count,
	struct predict_point *point, struct err *err)
{
	AUTO_FREE struct draw *draws = calloc(count, sizeof *draws);
	if (!draws)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < count; i++) {
		AUTO_RELEASE(prediction) struct prediction one = { 0 };
		run->seed = i;
		int code = rppm_run(predicted->rppm, run, &one, err);
		if (code < 0)
			return code;
		draws[i] = (struct draw){ one.ns, i };
	}
	qsort(draws, count, sizeof *draws, by_time);
	point->low_ns = draws[0].ns;
	point->high_ns = draws[count - 1].ns;
	run->seed = draws[(count - 1) / 2].seed;
	return 0;
}

/* The same without those who use the cores' other hardware threads. */
static int predict_alone(struct predicted *predicted, const struct predict_run *run,
	struct predict_point *point, struct err *err)
{
	AUTO_RELEASE(prediction) struct prediction alone = { 0 };
	struct processor processor = point->processor; /* borrows its texts */
	struct predict_run again = *run;
	if (processor.sibling_busy == 0)
		return 0;
	processor.sibling_busy = 0;
	again.processor = &processor;
	int code = rppm_run(predicted->rppm, &again, &alone, err);
	point->alone_ns = alone.ns;
	return code;
}

static int predict_drawn(struct predicted *predicted, struct predict_run *run,
	uint32_t replications, struct predict_point *point, struct err *err)
{
	run->seed = 0;
	int code = replications > 1 ? draw_all(predicted, run, replications, point, err) : 0;
	point->seed = run->seed;
	if (code == 0)
		code = predict_alone(predicted, run, point, err);
	return code < 0 ? code : predict_whole(predicted, run, point, err);
}

/* One processor, which is point->processor: the prediction in the middle is the answer. */
static int predict_point(struct predicted *predicted, uint32_t cores, uint32_t replications,
	struct predict_point *point, struct err *err)
{
	struct predict_run run = { .processor = &point->processor, .cores = cores };
	int code = predict_drawn(predicted, &run, replications, point, err);
	while (code == -EDEADLK && (code = prepare_again(predicted, err)) == 0)
		code = predict_drawn(predicted, &run, replications, point, err);
	if (replications == 1)
		point->low_ns = point->high_ns = point->prediction.ns;
	return code < 0 ? err_prefix(err, code, "%s on %s", predicted->path, point->processor.name)
			: 0;
}

int predicted_points(struct predicted *predicted, const struct option_strings *machines,
	uint32_t cores, uint32_t replications, struct err *err)
{
	struct predict_point *points = calloc(machines->count, sizeof *points);
	if (!points)
		return err_set(err, -ENOMEM, "out of memory");
	predicted->points = points;
	predicted->point_count = machines->count;
	int code = 0;
	/* All machines first: a slip in the last one's file should not cost the time of the others. */
	for (size_t i = 0; code == 0 && i < machines->count; i++)
		code = machine_load(machines->items[i], &points[i].processor, err);
	if (code == 0)
		code = predicted_load(predicted, MICRO_INSTRUCTIONS, err);
	for (size_t i = 0; code == 0 && i < machines->count; i++)
		code = predict_point(predicted, cores, replications, &points[i], err);
	return code;
}

struct last_point {
	struct predicted *predicted;
	uint32_t cores;
};

static int play_last(void *context, const struct event_sink *sink, struct err *err)
{
	const struct last_point *last = context;
	const struct predict_point *point =
		&last->predicted->points[last->predicted->point_count - 1];
	const struct predict_run run = { .processor = &point->processor,
		.cores = last->cores,
		.seed = point->seed,
		.sink = sink };
	AUTO_RELEASE(prediction) struct prediction again = { 0 };
	return rppm_run(last->predicted->rppm, &run, &again, err);
}

int predicted_write(struct predicted *predicted, uint32_t cores, const char *path, struct err *err)
{
	struct last_point last = { predicted, cores };
	return timeline_save(path, play_last, &last, err);
}

struct predict_answer predicted_answer(const struct predicted *predicted)
{
	return (struct predict_answer){ .subject = path_file_name(predicted->path),
		.profile = &predicted->profile,
		.facts = &predicted->facts,
		.finder = &predicted->finder,
		.points = predicted->points,
		.point_count = predicted->point_count,
		.forgotten = predicted->forgotten };
}
