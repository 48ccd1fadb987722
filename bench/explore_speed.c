/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many design points a second one core predicts, for a program of EPOCHS stretches by THREADS threads in all, which
 * meet at a barrier after each: explore_speed [EPOCHS [THREADS]]. Everything of a point is in it, the caches, the core
 * and the replay; loading the profile is not, since it is done once for all points.
 */
#include "base/cleanup.h"
#include "preload/profile_page.h"
#include "uarch/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPS = 1000, CODES = 20, TRACES = 32, CLASSES = 3, WORK = 100000, PLAYED_S = 2 };

/* CPU time: others on the machine do not count. */
static double now_s(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* that clock is always there */
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check(int code, const struct err *err)
{
	if (code >= 0)
		return;
	fprintf(stderr, "explore_speed: %s\n", err->text);
	exit(1);
}

static void *room(size_t count, size_t size)
{
	void *memory = calloc(count, size);
	if (!memory)
		exit(1);
	return memory;
}

/* A start and two loops that take turns, each with 32 micro-traces of half loads. */
static void make_class(struct profile *p, uint32_t thread, uint64_t stretch, uint64_t instructions)
{
	uint32_t index = (uint32_t)p->class_count++;
	p->classes[index] = (struct profile_class){ .thread = thread,
		.stretch = stretch,
		.stretches = 1,
		.instructions = instructions,
		.loads = instructions / 2,
		.fetches = instructions / 10 };
	for (unsigned i = 0; i < TRACES; i++)
		p->micro[p->micro_count++] = (struct micro_trace){ .class = index,
			.count = OPS,
			.ops = p->micro_ops,
			.weight = (double)instructions / TRACES };
	for (uint32_t code = 0; code < CODES; code += 2)
		for (unsigned scope = PROFILE_PRIVATE; scope <= PROFILE_GLOBAL; scope++)
			for (uint16_t bin = 4; bin < 80; bin += 8)
				p->reuse[p->reuse_count++] = (struct profile_reuse){ .class = index,
					.code = code,
					.scope = (uint16_t)scope,
					.bin = bin,
					.samples = 30,
					.count = (double)instructions / 200 };
}

static int by_place(const void *a, const void *b)
{
	const struct profile_class *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->stretch > y->stretch) - (x->stretch < y->stretch);
}

static void make_profile(struct profile *p, uint32_t threads, uint64_t epochs)
{
	size_t classes = (size_t)threads * CLASSES;
	p->threads = room(threads, sizeof *p->threads);
	p->classes = room(classes, sizeof *p->classes);
	p->codes = room(CODES, sizeof *p->codes);
	p->micro_ops = room(OPS, sizeof *p->micro_ops);
	p->micro = room(classes * TRACES, sizeof *p->micro);
	p->reuse = room(classes * CODES * 10, sizeof *p->reuse);
	p->timeline = room(1, 1);
	p->timeline_bytes = 1; /* it is fed by hand */
	p->code_count = CODES;
	p->thread_count = threads;
	for (unsigned i = 0; i < CODES; i++)
		p->codes[i] = (struct code){ .address = 4 * i,
			.writes = UINT64_C(1) << (i % 12),
			.reads = UINT64_C(1) << ((i + 5) % 12),
			.address_reads = i % 2 ? 0 : UINT64_C(1) << 14,
			.class = i % 2 ? CODE_ALU : CODE_MOVE,
			.flags = i % 2 ? 0 : CODE_LOAD,
			.data_bytes = i % 2 ? 0 : 8 };
	for (unsigned i = 0; i < OPS; i++)
		p->micro_ops[i] = (struct micro_op){ .code = i % CODES,
			.address = i % 2 ? 0 : 4096 + i * 24 };
	for (uint32_t i = 0; i < threads; i++) {
		p->threads[i] = (struct profile_thread){ .pid = 1, .tid = i + 1 };
		make_class(p, i, PROFILE_START, WORK);
		for (uint64_t site = 1; site < CLASSES; site++)
			make_class(p, i, profile_stretch(EVENT_PASS, WHAT_BARRIER, site),
				WORK * (epochs / 2 + 1));
	}
	qsort(p->classes, p->class_count, sizeof *p->classes, by_place);
	/* Both loops are alike, so that rows fit whichever of them comes first now. */
}

static void put(const struct event_sink *sink, struct event event)
{
	struct err err = { "" };
	event.pid = 1;
	check(sink_event(sink, &event, &err), &err);
}

/* All arrive, the last one does not wait; threads take turns at being last. */
static void feed(const struct event_sink *sink, uint32_t threads, uint64_t epochs)
{
	struct err err = { "" };
	for (uint32_t i = 1; i <= threads; i++)
		put(sink, (struct event){ .kind = EVENT_THREAD_START, .tid = i, .value = i > 1 });
	for (uint64_t epoch = 1; epoch <= epochs; epoch++) {
		uint32_t last = (uint32_t)(epoch % threads) + 1;
		struct event at = { .time_ns = epoch * 1000,
			.cpu_ns = epoch * WORK,
			.what = WHAT_BARRIER,
			.object = 64,
			.site = 1 + epoch % 2 };
		for (uint32_t i = 1; i <= threads; i++) {
			at.tid = i;
			at.kind = EVENT_WAIT;
			if (i != last)
				put(sink, at);
		}
		at.kind = EVENT_PASS;
		at.tid = last;
		put(sink, at);
		at.flags = EVENT_WAITED;
		at.value = last;
		for (uint32_t i = 1; i <= threads; i++) {
			at.tid = i;
			at.woken_ns = at.time_ns;
			if (i != last)
				put(sink, at);
		}
	}
	for (uint32_t i = threads; i >= 1; i--)
		put(sink, (struct event){ .kind = EVENT_THREAD_EXIT,
				  .tid = i,
				  .time_ns = (epochs + 1) * 1000,
				  .cpu_ns = (epochs + 1) * WORK });
	check(sink_finish(sink, (epochs + 1) * 1000, &err), &err);
}

static struct processor machine(unsigned point)
{
	struct processor p = { .cores = 8,
		.frequency_hz = 2e9 + 1e8 * (point % 16),
		.dispatch_width = 2 + point % 5,
		.retire_width = 8,
		.rob = 64 + 32 * (point % 7),
		.issue_queue = 64,
		.load_queue = 64,
		.store_queue = 48,
		.front_end = 15,
		.predictor = PREDICTOR_TAGE,
		.predictor_bytes = 32768,
		.load_ports = 3,
		.store_ports = 4,
		.port_count = 6,
		.instruction = { .bytes = 32768, .ways = 8, .latency = 4, .shared_by = 1 },
		.levels = { { .bytes = 32768,
				    .ways = 8,
				    .latency = 4,
				    .shared_by = 1,
				    .misses = 12 },
			{ .bytes = 1 << 20, .ways = 16, .latency = 14, .shared_by = 1 },
			{ .bytes = 16 << 20, .ways = 16, .latency = 45, .shared_by = 8 } },
		.level_count = 3,
		.memory_ns = 80,
		.memory_bytes_per_s = point % 2 ? 20e9 : 0,
		.transfer_ns = 40,
		.lock_cycles = 40,
		.wake_ns = 1000 };
	for (unsigned i = 0; i < CODE_CLASSES; i++)
		p.units[i] = (struct unit){ .latency = 1 + i % 4, .interval = 1, .ports = 0x3b };
	return p;
}

int main(int argc, char **argv)
{
	uint64_t epochs = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
	uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 4;
	struct profile profile = { 0 };
	struct err err = { "" };
	AUTO(rppm) struct rppm *rppm = NULL;
	if (epochs == 0 || threads == 0 || threads > 1000)
		return 2;
	/* An epoch is a stretch of one thread, as in the paper. */
	uint64_t barriers = epochs / threads + (epochs < threads);
	make_profile(&profile, threads, barriers);
	check(rppm_new(&profile, &(struct predict_opts){ 0 }, &rppm, &err), &err);
	struct event_sink sink = rppm_sink(rppm);
	feed(&sink, threads, barriers);
	unsigned points = 0;
	double began_s = now_s(), took_s = 0;
	do {
		const struct processor processor = machine(points);
		AUTO_RELEASE(prediction) struct prediction prediction = { 0 };
		check(rppm_run(rppm, &(struct predict_run){ .processor = &processor }, &prediction,
			      &err),
			&err);
		points++;
		took_s = now_s() - began_s;
	} while (took_s < PLAYED_S);
	printf("%u points in %.2f s of CPU time: %.0f a second, %llu epochs of %u threads\n",
		points, took_s, points / took_s, (unsigned long long)epochs, threads);
	profile_release(&profile);
	return 0;
}
