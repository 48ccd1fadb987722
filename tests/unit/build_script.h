/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timelines for the model builder, written event by event, and questions to the models that it makes of them. */
#ifndef TESTS_BUILD_SCRIPT_H
#define TESTS_BUILD_SCRIPT_H

#include "cmocka_all.h"

#include "base/mem.h"
#include "builder/build.h"
#include "model/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAIN = 10, LOCK = 100, OTHER_LOCK = 101, ROUTINE = 0x500 };

/* Each thread has a clock of CPU time; the time of day passes by a microsecond for each event. */
struct script {
	struct build *build;
	struct event_sink sink;
	uint64_t now_ns, cpu_ns[64];
};

static inline void send(struct script *s, struct event event)
{
	event.time_ns = s->now_ns += 1000;
	event.pid = MAIN;
	event.cpu_ns = ++s->cpu_ns[event.tid];
	assert_int_equal(sink_event(&s->sink, &event, NULL), 0);
}

static inline void op(struct script *s, uint32_t tid, enum event_kind kind, enum event_what what,
	uint64_t object, uint64_t site)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = (uint8_t)what,
			.object = object,
			.site = site });
}

static inline void work(struct script *s, uint32_t tid, uint64_t ns)
{
	s->cpu_ns[tid] += ns;
}

static inline void start(struct script *s, uint32_t tid)
{
	send(s, (struct event){ .tid = tid,
			.kind = EVENT_THREAD_START,
			.object = tid == MAIN ? 0 : ROUTINE,
			.site = 1,
			.value = tid == MAIN ? 0 : MAIN });
}

static inline void locked(struct script *s, uint32_t tid, uint64_t lock, uint64_t site)
{
	op(s, tid, EVENT_PASS, WHAT_MUTEX, lock, site);
	op(s, tid, EVENT_RELEASE, WHAT_MUTEX, lock, site + 1);
}

static inline struct script begin_with(const struct build_opts *opts, uint32_t workers)
{
	struct script s = { 0 };
	assert_int_equal(build_new(opts, &s.build), 0);
	s.sink = build_sink(s.build);
	start(&s, MAIN);
	for (uint32_t i = 1; i <= workers; i++)
		start(&s, i);
	return s;
}

static inline struct script begin(uint32_t workers)
{
	return begin_with(&(struct build_opts){ .name = "test", .cores = 4 }, workers);
}

static inline struct model *finish(struct script *s, uint32_t workers)
{
	struct model *model = NULL;
	struct err err = { "" };
	for (uint32_t i = 1; i <= workers; i++)
		op(s, i, EVENT_THREAD_EXIT, WHAT_NONE, 0, 0);
	op(s, MAIN, EVENT_THREAD_EXIT, WHAT_NONE, 0, 0);
	assert_int_equal(sink_finish(&s->sink, s->now_ns, NULL), 0);
	if (build_model(s->build, &model, &err) < 0)
		fail_msg("%s", err.text);
	build_free(s->build);
	return model;
}

static inline const struct model_fragment *fragment_of(
	const struct model *model, size_t group, enum model_op wanted)
{
	for (size_t i = 0; i < model->groups[group].fragment_count; i++)
		if (model->groups[group].fragments[i].op == wanted)
			return &model->groups[group].fragments[i];
	return NULL;
}

static inline double value_with(
	const struct model *model, const struct model_value *value, double workers)
{
	double parameters[8], result = NAN;
	for (size_t i = 0; i < model->parameter_count; i++)
		parameters[i] = model->parameters[i].value;
	parameters[model_find_parameter(model, "workers")] = workers;
	struct err err;
	if (model_evaluate(model, value, MODEL_NUMBER, parameters, &result, &err) < 0)
		fail_msg("%s", err.text);
	return result;
}

static inline double size_of(const struct model *model, const struct model_object *object)
{
	double result = NAN;
	struct err err;
	if (model_evaluate(model, &object->size, MODEL_NUMBER, NULL, &result, &err) < 0)
		fail_msg("%s", err.text);
	return result;
}

static inline bool has_note(const struct model *model, const char *text)
{
	for (size_t i = 0; i < model->recorded.note_count; i++)
		if (strstr(model->recorded.notes[i], text))
			return true;
	return false;
}

#endif
