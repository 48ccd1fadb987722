/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speed of the analysis: events/s of processor time from memory to results, from a file to nothing,
 * and from a file to results. Threads take locks, for which they wait one time in four, and meet at
 * no barrier. Usage: criticality [EVENTS [THREADS]]
 */
#include "base/cleanup.h"
#include "base/number.h"
#include "base/rng.h"
#include "criticality/analysis.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum { EVENTS = 4000000, THREADS = 8, THREADS_MAX = 1024, LOCKS = 16, RUNS = 5, SEED = 1 };

static const char *path = "/tmp/corecast-bench-criticality.cct";

enum step { STEP_COMPUTE, STEP_WAIT, STEP_WOKEN, STEP_HOLD };

struct actor {
	uint64_t now_ns;
	uint64_t lock;
	enum step step;
};

struct timeline {
	struct event *events;
	size_t count;
	uint32_t threads;
	struct actor actors[THREADS_MAX];
};

static double now_s(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* cannot fail: it always exists */
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The next event of an actor; its time moves to the one after. */
static struct event act(struct actor *actor, struct rng *rng)
{
	struct event event = { .time_ns = actor->now_ns, .what = WHAT_MUTEX };
	if (actor->step == STEP_COMPUTE)
		actor->lock = 0x55550000a000 + 64 * rng_below(rng, LOCKS);
	event.object = actor->lock;
	event.site = 0x555500001000 + 32 * rng_below(rng, 6);
	switch (actor->step) {
	case STEP_COMPUTE:
		event.kind = rng_below(rng, 4) ? EVENT_PASS : EVENT_WAIT;
		actor->step = event.kind == EVENT_WAIT ? STEP_WAIT : STEP_HOLD;
		break;
	case STEP_WAIT:
		event.kind = EVENT_WOKEN;
		actor->step = STEP_WOKEN;
		break;
	case STEP_WOKEN:
		event.kind = EVENT_PASS;
		event.flags = EVENT_WAITED;
		event.woken_ns = event.time_ns;
		actor->step = STEP_HOLD;
		break;
	case STEP_HOLD:
		event.kind = EVENT_RELEASE;
		actor->step = STEP_COMPUTE;
		break;
	}
	actor->now_ns += 200 + rng_below(rng, 5000);
	return event;
}

static int make(struct timeline *timeline, uint32_t events)
{
	struct rng rng;
	rng_init(&rng, SEED);
	timeline->events = calloc(events, sizeof *timeline->events);
	if (!timeline->events)
		return -ENOMEM;
	for (uint32_t i = 0; i < timeline->threads; i++)
		timeline->actors[i].now_ns = 1000 + i;
	for (; timeline->count < events; timeline->count++) {
		uint32_t first = 0;
		for (uint32_t i = 1; i < timeline->threads; i++)
			if (timeline->actors[i].now_ns < timeline->actors[first].now_ns)
				first = i;
		struct event event = act(&timeline->actors[first], &rng);
		event.pid = 1;
		event.tid = 1 + first;
		timeline->events[timeline->count] = event;
	}
	return 0;
}

/* WOKEN is not written: the reader makes it from what PASS says. */
static int write_file(const struct timeline *timeline, struct err *err)
{
	struct trace_writer_opts opts = { .create = { .is_simulated = true } };
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	int code = trace_writer_new(path, &opts, &writer, err);
	if (code < 0)
		return code;
	struct event_sink sink = trace_writer_sink(writer);
	for (size_t i = 0; i < timeline->count && code == 0; i++)
		if (timeline->events[i].kind != EVENT_WOKEN)
			code = sink_event(&sink, &timeline->events[i], err);
	return code < 0 ? code
			: sink_finish(&sink, timeline->events[timeline->count - 1].time_ns, err);
}

static int from_memory(const struct timeline *timeline, uint64_t *ret_events, struct err *err)
{
	struct analysis_opts opts = { 0 };
	AUTO(analysis) struct analysis *analysis = NULL;
	AUTO(results) struct results *results = NULL;
	int code = analysis_new(&opts, &analysis, err);
	if (code < 0)
		return code;
	struct event_sink sink = analysis_sink(analysis);
	for (size_t i = 0; i < timeline->count && code == 0; i++)
		code = sink_event(&sink, &timeline->events[i], err);
	if (code == 0)
		code = analysis_results(analysis, &results, err);
	*ret_events = timeline->count;
	return code;
}

static int read_file(const struct timeline *timeline, uint64_t *ret_events, struct err *err)
{
	(void)timeline;
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	struct event event;
	int code = trace_reader_open(path, &reader, err);
	while (code == 0 && (code = trace_reader_next(reader, &event, err)) > 0)
		code = 0;
	if (code == 0)
		*ret_events = trace_reader_quality(reader)->events;
	return code;
}

static int from_file(const struct timeline *timeline, uint64_t *ret_events, struct err *err)
{
	(void)timeline;
	struct analysis_opts opts = { 0 };
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	AUTO(analysis) struct analysis *analysis = NULL;
	AUTO(results) struct results *results = NULL;
	int code = trace_reader_open(path, &reader, err);
	if (code == 0)
		code = analysis_new(&opts, &analysis, err);
	if (code < 0)
		return code;
	struct event_sink sink = analysis_sink(analysis);
	code = trace_reader_replay(reader, &sink, err);
	if (code == 0)
		code = analysis_results(analysis, &results, err);
	*ret_events = trace_reader_quality(reader)->events;
	return code;
}

/* The best of several runs. */
static int measure(const char *name, const struct timeline *timeline,
	int (*run)(const struct timeline *, uint64_t *, struct err *))
{
	double best = 0;
	for (int i = 0; i < RUNS; i++) {
		struct err err;
		uint64_t events = 0;
		double begin = now_s();
		if (run(timeline, &events, &err) < 0) {
			fprintf(stderr, "criticality: %s\n", err.text);
			return 1;
		}
		double rate = (double)events / (now_s() - begin) / 1e6;
		best = rate > best ? rate : best;
	}
	printf("%-28s %8.1f M events/s\n", name, best);
	return 0;
}

int main(int argc, char **argv)
{
	static struct timeline timeline;
	uint32_t events = EVENTS;
	struct err err;
	timeline.threads = THREADS;
	if ((argc > 1 && number_parse_u32(argv[1], &events) < 0) ||
		(argc > 2 && number_parse_u32(argv[2], &timeline.threads) < 0) || events == 0 ||
		timeline.threads == 0 || timeline.threads > THREADS_MAX) {
		fprintf(stderr, "Usage: criticality [EVENTS [THREADS]]\n");
		return 2;
	}
	if (make(&timeline, events) < 0 || write_file(&timeline, &err) < 0) {
		fprintf(stderr, "criticality: cannot make the timeline\n");
		free(timeline.events);
		return 1;
	}
	printf("%u events of %u threads\n", events, timeline.threads);
	int status = measure("memory to results", &timeline, from_memory);
	status |= measure("file, read only", &timeline, read_file);
	status |= measure("file to results", &timeline, from_file);
	free(timeline.events);
	(void)remove(path); /* it is in /tmp */
	return status;
}
