/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timelines written by hand, loaded into a replay: what its tests have in common. */
#ifndef TESTS_UNIT_REPLAY_FIXTURE_H
#define TESTS_UNIT_REPLAY_FIXTURE_H

#include "cmocka_all.h"
#include "meaning/meaning.h"
#include "replay/replay.h"
#include "trace/csv_read.h"

#include <string.h>

/* The columns of a timeline; of one whose threads tell their work. */
#define HEAD "time_ns,tid,event,what,object,site,value,flags\n"
#define WORK_HEAD "time_ns,tid,cpu_ns,event,what,object,site,value,flags\n"

struct fixture {
	struct meaning *meaning;
	struct replay *replay;
};

static inline void feed(const char *text, const struct event_sink *sink)
{
	struct err err = { "" };
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	assert_non_null(in);
	int code = timeline_csv_read(in, "test", sink, NULL, &err);
	if (code < 0)
		fail_msg("%s", err.text);
	(void)fclose(in);
}

static inline struct fixture load(const char *text, uint32_t cores)
{
	struct fixture f = { 0 };
	assert_int_equal(meaning_new(&f.meaning), 0);
	struct event_sink sink = meaning_sink(f.meaning);
	feed(text, &sink);
	struct replay_opts opts = { .cores = cores, .meaning = f.meaning };
	assert_int_equal(replay_new(&opts, &f.replay, NULL), 0);
	sink = replay_sink(f.replay);
	feed(text, &sink);
	return f;
}

/* Nothing is known of its conditions. */
static inline struct fixture load_as_recorded(const char *text, uint32_t cores)
{
	struct fixture f = { 0 };
	struct replay_opts opts = { .cores = cores };
	assert_int_equal(replay_new(&opts, &f.replay, NULL), 0);
	struct event_sink sink = replay_sink(f.replay);
	feed(text, &sink);
	return f;
}

static inline void release(struct fixture *f)
{
	replay_free(f->replay);
	meaning_free(f->meaning);
}

/* A thread runs so many times as fast; they are counted from 0 as the timeline names them. */
static inline struct replay_change speed_of(uint64_t thread, double factor)
{
	return (struct replay_change){
		{ .kind = REPLAY_THREAD, .pid = 1, .number = 4000000 + thread }, factor
	};
}

static inline uint64_t play(
	struct fixture *f, uint32_t cores, const struct replay_change *changes, size_t count)
{
	struct err err = { "" };
	uint64_t ns = 0;
	struct replay_run run = { .cores = cores, .changes = changes, .change_count = count };
	int code = replay_run(f->replay, &run, &ns, &err);
	if (code < 0)
		fail_msg("%s", err.text);
	return ns;
}

#endif
