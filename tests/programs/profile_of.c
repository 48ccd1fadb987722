/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile_of TIMELINE.csv OUT.ccp: a profile whose timeline is that, its CPU times being instructions, and whose
 * stretches all execute the same: additions, loads that mostly hit, branches. For tests of what reads profiles,
 * on machines without an emulator.
 */
#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "preload/profile_page.h"
#include "trace/csv_read.h"
#include "trace/writer.h"
#include "uarch/profile_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS = 1000, CODES = 10, REUSE_ROWS = 6 };

struct made {
	struct profile profile;
	size_t thread_capacity, class_capacity;
	struct map threads; /* pid, tid -> index */
	struct doing {
		size_t class; /* plus one */
		uint64_t at;
	} * doing;
	size_t doing_capacity;
	const struct event_sink *next;
};

static size_t thread_of(struct made *made, const struct event *event)
{
	struct profile *p = &made->profile;
	uint64_t *place;
	int code = map_add(&made->threads, event->pid, event->tid, p->thread_count, &place);
	if (code > 0) {
		if (mem_grow(&p->threads, &made->thread_capacity, p->thread_count + 1,
			    sizeof *p->threads) < 0 ||
			mem_grow(&made->doing, &made->doing_capacity, p->thread_count + 1,
				sizeof *made->doing) < 0)
			abort();
		made->doing[p->thread_count] = (struct doing){ 0 };
		p->threads[p->thread_count++] =
			(struct profile_thread){ .pid = event->pid, .tid = event->tid };
	}
	return (size_t)*place;
}

static size_t class_of(struct made *made, size_t thread, const struct event *event)
{
	struct profile *p = &made->profile;
	uint64_t stretch = profile_stretch(event->kind, event->what, event->site);
	for (size_t i = 0; i < p->class_count; i++)
		if (p->classes[i].thread == thread && p->classes[i].stretch == stretch)
			return i;
	if (mem_grow(&p->classes, &made->class_capacity, p->class_count + 1, sizeof *p->classes) <
		0)
		abort();
	p->classes[p->class_count++] = (struct profile_class){ .thread = (uint32_t)thread,
		.stretch = stretch,
		.site = event->site,
		.kind = event->kind,
		.what = event->what };
	return p->class_count - 1;
}

static int take_event(void *context, const struct event *event, struct err *err)
{
	struct made *made = context;
	if (event->kind == EVENT_NAME && event->what == WHAT_THREAD && event->text) {
		size_t named = thread_of(
			made, &(struct event){ .pid = event->pid, .tid = (uint32_t)event->object });
		snprintf(made->profile.threads[named].name, sizeof made->profile.threads->name,
			"%s", event->text);
	}
	if (profile_is_border(event->kind) && event->tid > 0) {
		size_t thread = thread_of(made, event);
		struct doing *doing = &made->doing[thread];
		uint64_t done = event->cpu_ns > doing->at ? event->cpu_ns - doing->at : 0;
		if (doing->class > 0)
			made->profile.classes[doing->class - 1].instructions += done;
		made->profile.threads[thread].instructions += done;
		doing->at += done;
		doing->class = 0;
		if (!profile_is_wait(event->kind))
			doing->class = class_of(made, thread, event) + 1;
		if (doing->class > 0)
			made->profile.classes[doing->class - 1].stretches++;
	}
	return sink_event(made->next, event, err);
}

static int finish(void *context, uint64_t end_ns, struct err *err)
{
	return sink_finish(((struct made *)context)->next, end_ns, err);
}

static int by_place(const void *a, const void *b)
{
	const struct profile_class *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->stretch > y->stretch) - (x->stretch < y->stretch);
}

/* 7 additions in a chain of two each, 2 loads, a branch. */
static void make_codes(struct profile *p)
{
	p->codes = calloc(CODES, sizeof *p->codes);
	p->micro_ops = calloc(OPS, sizeof *p->micro_ops);
	if (!p->codes || !p->micro_ops)
		abort();
	p->code_count = CODES;
	p->micro_op_count = OPS;
	for (unsigned i = 0; i < CODES; i++) {
		bool is_load = i % 4 == 1 && i < 8, is_branch = i == CODES - 1;
		p->codes[i] = (struct code){ .address = 0x1000 + 4 * i,
			.reads = is_branch ? 1 << 16 : UINT64_C(1) << (i / 2),
			.address_reads = is_load ? 1u << 15 : 0,
			.writes = is_branch ? 0 : UINT64_C(1) << ((i + 1) / 2),
			.class = is_branch ? CODE_BRANCH
				 : is_load ? CODE_MOVE
					   : CODE_ALU,
			.flags = is_load ? CODE_LOAD : 0,
			.bytes = 4,
			.data_bytes = is_load ? 8 : 0 };
	}
	for (unsigned i = 0; i < OPS; i++)
		p->micro_ops[i] = (struct micro_op){ .code = i % CODES,
			.address = p->codes[i % CODES].flags ? 0x100000 + i * 16 : 0,
			.taken = i % (3 * CODES) == 9 };
}

static void fill_class(struct profile *p, size_t index)
{
	struct profile_class *class = &p->classes[index];
	uint64_t tenth = class->instructions / 10;
	class->mix[CODE_BRANCH] = tenth;
	class->mix[CODE_MOVE] = class->loads = 2 * tenth;
	class->mix[CODE_ALU] = class->instructions - 3 * tenth;
	class->fetches = tenth;
	for (unsigned i = 0; i < PROFILE_HISTORIES; i++)
		class->branches[i] = (struct profile_branches){
			.executions = (double)tenth, .entropy = 0.1, .missed = 0.05
		};
	p->micro[p->micro_count] = (struct micro_trace){ .class = (uint32_t)index,
		.count = OPS,
		.ops = p->micro_ops,
		.weight = (double)class->instructions };
	p->micro_count += class->instructions > 0;
	static const struct {
		uint64_t distance;
		double share;
	} rows[REUSE_ROWS / 2] = { { 3, 0.9 }, { 2000, 0.08 }, { UINT64_MAX, 0.02 } };
	for (uint16_t scope = PROFILE_PRIVATE; scope <= PROFILE_GLOBAL && tenth > 0; scope++)
		for (unsigned i = 0; i < REUSE_ROWS / 2; i++)
			p->reuse[p->reuse_count++] =
				(struct profile_reuse){ .class = (uint32_t)index,
					.code = 1,
					.scope = scope,
					.bin = rows[i].distance == UINT64_MAX
						       ? REUSE_INFINITE
						       : (uint16_t)reuse_bin(rows[i].distance),
					.samples = 100,
					.count = rows[i].share * (double)class->loads };
}

static void make_classes(struct profile *p)
{
	qsort(p->classes, p->class_count, sizeof *p->classes, by_place);
	p->micro = calloc(p->class_count, sizeof *p->micro);
	p->reuse = calloc(p->class_count * REUSE_ROWS, sizeof *p->reuse);
	if (!p->micro || !p->reuse)
		abort();
	for (size_t i = 0; i < p->class_count; i++)
		fill_class(p, i);
}

static int read_timeline(struct made *made, const char *csv, const char *trace, struct err *err)
{
	AUTO_FILE FILE *in = fopen(csv, "re");
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	if (!in)
		return err_set(err, -errno, "cannot read '%s'", csv);
	int code = trace_writer_new(trace,
		&(struct trace_writer_opts){ .create = { .is_simulated = true } }, &writer, err);
	if (code < 0)
		return code;
	struct event_sink writing = trace_writer_sink(writer);
	struct event_sink sink = { made, take_event, finish };
	made->next = &writing;
	return timeline_csv_read(in, csv, &sink, NULL, err);
}

static int take_trace(struct profile *p, const char *trace, struct err *err)
{
	AUTO_FILE FILE *in = fopen(trace, "re");
	if (!in || fseek(in, 0, SEEK_END) != 0)
		return err_set(err, -errno, "cannot read '%s'", trace);
	long size = ftell(in);
	rewind(in);
	p->timeline = malloc(size > 0 ? (size_t)size : 1);
	if (!p->timeline || fread(p->timeline, 1, (size_t)size, in) != (size_t)size)
		return err_set(err, -EIO, "cannot read '%s'", trace);
	p->timeline_bytes = (size_t)size;
	return 0;
}

static int write_out(const struct profile *p, const char *path, struct err *err)
{
	AUTO_RELEASE(outfile) struct outfile out = { 0 };
	AUTO_FREE void *bytes = NULL;
	size_t count = 0;
	int code = profile_write(p, &bytes, &count, err);
	if (code == 0)
		code = outfile_open(&out, path, err);
	if (code < 0)
		return code;
	if (fwrite(bytes, 1, count, out.file) != count)
		return err_set(err, -EIO, "cannot write '%s'", path);
	return outfile_commit(&out, err);
}

int main(int argc, char **argv)
{
	struct made made = { 0 };
	struct err err = { "" };
	AUTO_FREE char *trace = NULL;
	if (argc != 3 || asprintf(&trace, "%s.cct", argv[2]) < 0)
		return 2;
	int code = read_timeline(&made, argv[1], trace, &err);
	if (code == 0)
		code = take_trace(&made.profile, trace, &err);
	(void)remove(trace); /* a leftover is no failure */
	if (code == 0) {
		make_codes(&made.profile);
		make_classes(&made.profile);
		made.profile.command = strdup("./by_hand");
		made.profile.quality = (struct profile_quality){ .has_timeline = true,
			.backend = "by hand",
			.reuse_rate = 1000,
			.micro_period = 1e6 };
		code = write_out(&made.profile, argv[2], &err);
	}
	profile_release(&made.profile);
	map_release(&made.threads);
	free(made.doing);
	if (code < 0)
		fprintf(stderr, "%s\n", err.text);
	return code < 0;
}
