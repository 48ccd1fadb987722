/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/predict_parts.h"

#include "base/path.h"
#include "preload/profile_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *predict_part_name(unsigned part)
{
	return part < CORE_COMPONENTS ? core_component_name((enum core_component)part) : "sync";
}

/* The thread of the profile that an event is of; negative: nobody counted it. A number may be used again. */
static ptrdiff_t find_thread(struct rppm *rppm, const struct event *event)
{
	const struct profile *profile = rppm->profile;
	uint64_t *place;
	int code = map_add(&rppm->threads, event->pid, event->tid, UINT64_MAX, &place);
	if (code < 0)
		return code;
	bool is_new = code > 0 || event->kind == EVENT_THREAD_START;
	size_t from = *place == UINT64_MAX ? 0 : *place + 1;
	for (size_t i = from; is_new && i < profile->thread_count; i++)
		if (profile->threads[i].pid == event->pid &&
			profile->threads[i].tid == event->tid) {
			*place = i;
			break;
		}
	return *place == UINT64_MAX ? -ENOENT : (ptrdiff_t)*place;
}

static uint16_t stretch_of(void *context, const struct event *event)
{
	struct rppm *rppm = context;
	ptrdiff_t thread = find_thread(rppm, event);
	if (thread < 0)
		return 0;
	if (!profile_is_border(event->kind))
		return rppm->stretches[thread];
	uint64_t stretch = profile_stretch(event->kind, event->what, event->site);
	ptrdiff_t class = profile_find_class(rppm->profile, (uint32_t)thread, stretch);
	bool is_known = class >= 0 && class < PREDICT_CLASSES_MAX;
	rppm->stretches[thread] = is_known ? (uint16_t)(class + 1) : 0;
	return rppm->stretches[thread];
}

int rppm_new(const struct profile *profile, const struct predict_opts *opts, struct rppm **ret,
	struct err *err)
{
	if (profile->timeline_bytes == 0 || profile->class_count == 0)
		return err_set(err, -EINVAL,
			"the profile says nothing to predict from: it has no %s",
			profile->class_count ? "timeline" : "executed code");
	AUTO(rppm) struct rppm *rppm = calloc(1, sizeof *rppm);
	if (!rppm)
		return err_set(err, -ENOMEM, "out of memory");
	rppm->profile = profile;
	rppm->micro_instructions =
		opts->micro_instructions ? opts->micro_instructions : PREDICT_MICRO_DEFAULT;
	rppm->stretches = calloc(profile->thread_count + 1, sizeof *rppm->stretches);
	if (!rppm->stretches)
		return err_set(err, -ENOMEM, "out of memory");
	int code = statstack_new(profile, &rppm->statstack, err);
	if (code == 0 && statstack_answer_init(&rppm->answer, rppm->statstack) < 0)
		code = err_set(err, -ENOMEM, "out of memory");
	struct replay_opts replay = {
		.meaning = opts->meaning, .stretch = stretch_of, .stretch_context = rppm
	};
	if (code == 0)
		code = replay_new(&replay, &rppm->replay, err);
	if (code < 0)
		return code;
	*ret = TAKE(rppm);
	return 0;
}

void rppm_free(struct rppm *rppm)
{
	if (!rppm)
		return;
	replay_free(rppm->replay);
	statstack_answer_release(&rppm->answer);
	statstack_free(rppm->statstack);
	core_program_free(rppm->program);
	free(rppm->classes);
	free(rppm->slots);
	free(rppm->odds);
	free(rppm->stretches);
	map_release(&rppm->threads);
	free(rppm);
}

/* The program and its libraries, but for the recorder. */
static bool is_module(const struct event *event)
{
	static const char ours[] = "libcorecast-";
	return event->kind == EVENT_NAME && event->what == WHAT_MODULE && event->text &&
	       strncmp(path_file_name(event->text), ours, sizeof ours - 1) != 0;
}

static int see_event(void *context, const struct event *event, struct err *err)
{
	struct rppm *rppm = context;
	rppm->modules += is_module(event);
	return sink_event(&rppm->sink, event, err);
}

static int finish(void *context, uint64_t end_ns, struct err *err)
{
	const struct rppm *rppm = context;
	return sink_finish(&rppm->sink, end_ns, err);
}

struct event_sink rppm_sink(struct rppm *rppm)
{
	rppm->sink = replay_sink(rppm->replay);
	return (struct event_sink){ .context = rppm, .event = see_event, .finish = finish };
}

bool rppm_stuck(const struct rppm *rppm, size_t n, uint32_t *ret_meaning)
{
	return replay_stuck(rppm->replay, n, ret_meaning);
}

bool rppm_settle(struct rppm *rppm)
{
	return replay_settle(rppm->replay);
}

void rppm_facts(const struct rppm *rppm, struct replay_facts *ret)
{
	replay_facts(rppm->replay, ret);
}

void prediction_release(struct prediction *prediction)
{
	free(prediction->classes);
	free(prediction->threads);
	*prediction = (struct prediction){ 0 };
}

static int make_room(const struct rppm *rppm, struct prediction *prediction)
{
	struct replay_facts facts;
	replay_facts(rppm->replay, &facts);
	prediction->class_count = rppm->profile->class_count;
	prediction->thread_count = facts.threads;
	prediction->classes = calloc(prediction->class_count + 1, sizeof *prediction->classes);
	prediction->threads = calloc(facts.threads + 1, sizeof *prediction->threads);
	return prediction->classes && prediction->threads ? 0 : -ENOMEM;
}

enum { MEMORY_ROUNDS = 6 };

/* What memory's bandwidth costs depends on who runs together, that on how long things take. */
static int settle_memory(struct rppm *rppm, const struct predict_run *run,
	struct class_curve *curves, struct prediction *prediction, struct err *err)
{
	AUTO_FREE struct overlap *overlaps = calloc(prediction->class_count + 1, sizeof *overlaps);
	if (!overlaps)
		return err_set(err, -ENOMEM, "out of memory");
	int code = 0;
	bool is_queued = false;
	bool has_changed =
		predict_needs_memory(run->processor, prediction->cores, curves, prediction);
	for (int round = 0; code == 0 && has_changed && round < MEMORY_ROUNDS; round++) {
		const struct predict_run quiet = { .processor = run->processor,
			.cores = prediction->cores };
		code = predict_play(rppm, &quiet, curves, prediction, overlaps, err);
		if (code < 0)
			return code;
		has_changed = predict_memory(run->processor, overlaps, prediction, curves);
		is_queued = true;
	}
	if (code == 0 && is_queued)
		code = predict_classes_queued(rppm, run->processor, curves, prediction, err);
	return code;
}

int rppm_run(
	struct rppm *rppm, const struct predict_run *run, struct prediction *ret, struct err *err)
{
	AUTO_RELEASE(prediction)
	struct prediction prediction = { .cores = run->cores ? run->cores : run->processor->cores };
	int code = predict_classes_prepare(rppm, run->seed, err);
	if (code == 0 && make_room(rppm, &prediction) < 0)
		code = err_set(err, -ENOMEM, "out of memory");
	if (code < 0)
		return code;
	AUTO_FREE struct class_curve *curves = calloc(prediction.class_count + 1, sizeof *curves);
	if (!curves)
		return err_set(err, -ENOMEM, "out of memory");
	code = predict_classes_beside(rppm, run->processor, curves, &prediction, err);
	if (code == 0)
		code = settle_memory(rppm, run, curves, &prediction, err);
	prediction.has_pages = statstack_has_pages(rppm->statstack);
	struct predict_run last = *run;
	last.cores = prediction.cores;
	if (code == 0)
		code = predict_play(rppm, &last, curves, &prediction, NULL, err);
	if (code < 0)
		return code;
	*ret = prediction;
	prediction = (struct prediction){ 0 };
	return 0;
}
