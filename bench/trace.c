/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speed of the trace file: events of threads that share locks, written, read raw, closed, read
 * again; and how many bytes an event takes. Usage: trace [EVENTS [THREADS]], or trace FILE.cct to
 * read and close a recording.
 */
#include "base/cleanup.h"
#include "base/number.h"
#include "base/rng.h"
#include "trace/close.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { EVENTS = 20000000, THREADS = 8, LOCKS = 16, RUNS = 3, SEED = 1, THREADS_MAX = 4096 };

static const char *path = "/tmp/corecast-bench-trace.cct";

struct bench_thread {
	uint64_t now_ns, cpu_ns;
};

static double now_s(void)
{
	struct timespec now;
	(void)clock_gettime(
		CLOCK_PROCESS_CPUTIME_ID, &now); /* cannot fail: this clock always exists */
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int fail(const struct err *err)
{
	fprintf(stderr, "trace: %s\n", err->text);
	return 1;
}

/* A thread computes, takes a lock, for which it waits one time in four, and gives it back. */
static int lock_once(struct event_sink *sink, struct rng *rng, struct bench_thread *thread,
	uint32_t tid, struct err *err)
{
	uint64_t work_ns = 200 + rng_below(rng, 5000);
	struct event event = { .pid = 1, .tid = tid, .what = WHAT_MUTEX };
	event.object = 0x55550000a000 + 64 * rng_below(rng, LOCKS);
	event.site = 0x555500001000 + 32 * rng_below(rng, 6);
	event.time_ns = thread->now_ns += work_ns;
	event.cpu_ns = thread->cpu_ns += work_ns;
	int code = 0;
	event.kind = EVENT_PASS;
	if (rng_below(rng, 4) == 0) {
		event.kind = EVENT_WAIT;
		code = sink_event(sink, &event, err);
		event.kind = EVENT_PASS;
		event.flags = EVENT_WAITED;
		event.time_ns = thread->now_ns += 1000 + rng_below(rng, 30000);
		event.woken_ns = event.time_ns - 100 - rng_below(rng, 900);
		event.cpu_ns = thread->cpu_ns += 700;
		event.value = 1 + rng_below(rng, 8);
	}
	if (code == 0)
		code = sink_event(sink, &event, err);
	work_ns = 50 + rng_below(rng, 400);
	event.kind = EVENT_RELEASE;
	event.flags = 0;
	event.value = 0;
	event.time_ns = thread->now_ns += work_ns;
	event.cpu_ns = thread->cpu_ns += work_ns;
	return code < 0 ? code : sink_event(sink, &event, err);
}

static int write_raw(uint64_t events, uint32_t threads, struct err *err)
{
	static struct bench_thread states[THREADS_MAX];
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	struct trace_writer_opts opts = { .is_recording = true,
		.create.sources = TRACE_BY_SIMULATOR };
	struct rng rng;
	rng_init(&rng, SEED);
	int code = trace_writer_new(path, &opts, &writer, err);
	if (code < 0)
		return code;
	struct event_sink sink = trace_writer_sink(writer);
	for (uint32_t i = 0; i < threads; i++)
		states[i] = (struct bench_thread){ .now_ns = 1000000000 };
	for (uint64_t i = 0; i < events && code == 0; i += 2) {
		uint32_t thread = (uint32_t)(i / 2 % threads);
		code = lock_once(&sink, &rng, &states[thread], thread + 1, err);
	}
	return code;
}

static int read_once(struct err *err)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	struct event event;
	uint64_t sum = 0;
	double start = now_s();
	int code = trace_reader_open(path, &reader, err);
	if (code < 0)
		return code;
	while ((code = trace_reader_next(reader, &event, err)) > 0)
		sum += event.time_ns ^ event.object;
	if (code < 0)
		return code;
	const struct trace_quality *quality = trace_reader_quality(reader);
	double seconds = now_s() - start;
	printf("read %-6s %11llu events, %llu threads, %llu lost: %.3f s, %.1f M events/s (sum "
	       "%llx)\n",
		quality->is_closed ? "closed" : "raw", (unsigned long long)quality->events,
		(unsigned long long)quality->threads, (unsigned long long)quality->lost, seconds,
		1e-6 * (double)quality->events / seconds, (unsigned long long)sum);
	return 0;
}

static int read_and_close(const char *raw, struct err *err)
{
	struct trace_closed closed;
	int code = 0;
	double start = now_s();
	if (code == 0)
		code = trace_close(raw, path, 0, &closed, err);
	if (code < 0)
		return code;
	double seconds = now_s() - start;
	printf("close       %11llu records: %.3f s, %.1f M records/s, %.1f bytes each (raw %.1f)\n",
		(unsigned long long)closed.records, seconds,
		1e-6 * (double)closed.records / seconds,
		(double)closed.bytes / (double)closed.records,
		(double)closed.raw_bytes / (double)closed.records);
	for (int i = 0; i < RUNS && code == 0; i++)
		code = read_once(err);
	return code;
}

int main(int argc, char **argv)
{
	uint32_t events = EVENTS, threads = THREADS;
	struct err err;
	int code = 0;
	const char *raw = path;
	if (argc > 1 && number_parse_u32(argv[1], &events) < 0)
		raw = argv[1];
	if (argc > 2 &&
		(number_parse_u32(argv[2], &threads) < 0 || threads < 1 || threads > THREADS_MAX)) {
		fputs("Usage: trace [EVENTS [THREADS]] | FILE.cct\n", stderr);
		return 2;
	}
	if (raw == path) {
		double start = now_s();
		code = write_raw(events, threads, &err);
		double seconds = now_s() - start;
		printf("write       %11u events: %.3f s, %.1f M events/s\n", events, seconds,
			1e-6 * events / seconds);
		for (int i = 0; i < RUNS && code == 0; i++)
			code = read_once(&err);
	}
	if (code == 0)
		code = read_and_close(raw, &err);
	(void)remove(path); /* a temporary file */
	return code < 0 ? fail(&err) : 0;
}
