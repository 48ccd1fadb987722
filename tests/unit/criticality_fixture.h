/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Timelines made by hand, for tests of the account and of its findings. */
#ifndef TESTS_CRITICALITY_FIXTURE_H
#define TESTS_CRITICALITY_FIXTURE_H

#include "cmocka_all.h"

#include "criticality/analysis.h"

enum { MAIN = 10, US = 1000, MS = 1000000 };

static inline void send(struct analysis *analysis, struct event event)
{
	struct event_sink sink = analysis_sink(analysis);
	event.pid = 1;
	assert_int_equal(sink_event(&sink, &event, NULL), 0);
}

/* Sends one event; see event.h for the fields. */
static inline void at(struct analysis *analysis, uint64_t time_ns, uint32_t tid,
	enum event_kind kind, enum event_what what, uint64_t object)
{
	send(analysis, (struct event){ .time_ns = time_ns,
			       .tid = tid,
			       .kind = (uint8_t)kind,
			       .what = (uint8_t)what,
			       .object = object });
}

static inline void flagged(struct analysis *analysis, uint64_t time_ns, uint32_t tid,
	enum event_kind kind, enum event_what what, uint64_t object, uint16_t flags)
{
	send(analysis, (struct event){ .time_ns = time_ns,
			       .tid = tid,
			       .kind = (uint8_t)kind,
			       .what = (uint8_t)what,
			       .object = object,
			       .flags = flags });
}

static inline struct analysis *new_analysis(struct analysis_opts opts)
{
	struct analysis *analysis = NULL;
	assert_int_equal(analysis_new(&opts, &analysis, NULL), 0);
	return analysis;
}

static inline struct results *finish(struct analysis *analysis, uint64_t end_ns)
{
	struct event_sink sink = analysis_sink(analysis);
	struct results *results = NULL;
	assert_int_equal(sink_finish(&sink, end_ns, NULL), 0);
	assert_int_equal(analysis_results(analysis, &results, NULL), 0);
	return results;
}

static inline const struct result_thread *thread_of(const struct results *results, uint32_t tid)
{
	for (size_t i = 0; i < results->thread_count; i++)
		if (results->threads[i].tid == tid)
			return &results->threads[i];
	fail_msg("no thread %u", tid);
	return NULL;
}

static inline void assert_exact(const struct results *results)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < results->thread_count; i++)
		sum += results->threads[i].criticality_ns;
	assert_int_equal(sum, results->active_ns);
	assert_int_equal(results->active_ns + results->idle_ns, results->elapsed_ns);
}

#endif
