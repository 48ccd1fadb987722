/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reference simulator on a program's full trace: reference PROFILE.ccp TRACE MACHINE.yaml...
 *
 * PROFILE and TRACE are of one run, `corecast profile --instructions TRACE -o PROFILE -- PROGRAM`: the profile's timeline says
 * where threads meet. Prints for each machine a line of tab-separated columns: its name, the time in ns, instructions,
 * cycles of all cores by what they went to, mispredictions per branch, lines from memory.
 */
#include "bench/refsim/predictors.h"
#include "bench/refsim/run.h"
#include "bench/refsim/targets.h"
#include "full_trace.h"
#include "meaning/meaning.h"
#include "trace/reader.h"
#include "uarch/profile_store.h"
#include "uarch/profile_timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>

enum { PLAIN_CODES = 2 }; /* behind the trace's */

struct bytes {
	char *start;
	size_t count;
};

static int map_file(const char *path, struct bytes *ret, struct err *err)
{
	struct stat info;
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0)
		return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	*ret = (struct bytes){ map, (size_t)info.st_size };
	return 0;
}

/* The streams of instructions. */

struct stream {
	struct full_trace_cursor cursor;
	uint32_t trace_thread; /* whose number it has there */
	size_t at, extra_at;
	bool is_there, is_over;
};

struct program {
	struct profile profile;
	struct full_trace *trace;
	/* The trace's; a plain load and a plain store; the trace's without the stores of what
	 * loads, too: a call through memory or a string stores elsewhere. */
	struct code *codes;
	size_t code_count;
	struct meaning *meaning;
	struct replay *replay;
	uint32_t threads;
	struct stream *streams; /* by thread of the replay */
};

static bool loads_and_stores(const struct code *code)
{
	return (code->flags & CODE_LOAD) && (code->flags & CODE_STORE);
}

/* The lines that an instruction accesses besides its first: plain loads, or stores; both in turn, after its load. */
static size_t add_extra(const struct program *program, struct stream *stream, uint32_t op,
	struct micro_op *ops, size_t room)
{
	const struct full_trace_cursor *cursor = &stream->cursor;
	const struct code *code = &program->codes[cursor->ops[op].code];
	bool loads = code->flags & CODE_LOAD, stores = code->flags & CODE_STORE;
	size_t count = 0, seen = 0;
	for (; stream->extra_at < cursor->extra_count && cursor->extra[stream->extra_at].op <= op;
		stream->extra_at++) {
		if (cursor->extra[stream->extra_at].op < op || count == room)
			continue;
		bool is_store = stores && (!loads || seen++ % 2 == 0);
		ops[count++] = (struct micro_op){ cursor->extra[stream->extra_at].address,
			(uint32_t)program->code_count + is_store, 0 };
	}
	return count;
}

static bool stores_elsewhere(const struct program *program, const struct stream *stream)
{
	const struct full_trace_cursor *cursor = &stream->cursor;
	size_t extra = stream->extra_at;
	while (extra < cursor->extra_count && cursor->extra[extra].op < stream->at)
		extra++;
	return loads_and_stores(&program->codes[cursor->ops[stream->at].code]) &&
	       extra < cursor->extra_count && cursor->extra[extra].op == stream->at;
}

static bool next_block(struct stream *stream)
{
	stream->at = stream->extra_at = 0;
	stream->is_over = !full_trace_next(&stream->cursor);
	return !stream->is_over;
}

static size_t read_stream(
	void *context, uint32_t thread, size_t wanted, struct micro_op *ops, size_t *ret_ops)
{
	const struct program *program = context;
	struct stream *stream = &program->streams[thread];
	size_t count = 0, made = 0;
	while (count < wanted && stream->is_there && !stream->is_over) {
		if (stream->at == stream->cursor.count && !next_block(stream))
			break;
		if (stream->at == stream->cursor.count)
			continue;
		struct micro_op *op = &ops[made++];
		*op = stream->cursor.ops[stream->at];
		if (stores_elsewhere(program, stream))
			op->code += (uint32_t)program->code_count + PLAIN_CODES;
		size_t room = REFRUN_OPS - made - (wanted - count);
		made += add_extra(program, stream, (uint32_t)stream->at, ops + made, room);
		stream->at++;
		count++;
	}
	*ret_ops = made;
	return count;
}

static void move_stream(void *context, uint32_t thread, uint32_t list, uint64_t instructions)
{
	const struct program *program = context;
	struct stream *stream = &program->streams[thread];
	const struct stream *source = &program->streams[list];
	stream->is_there = source->is_there;
	if (!source->is_there)
		return;
	stream->cursor.thread = source->trace_thread;
	stream->extra_at = 0;
	stream->is_over = !full_trace_seek(&stream->cursor, instructions, &stream->at);
}

static void start_streams(struct program *program)
{
	for (uint32_t i = 0; i < program->threads; i++) {
		struct stream *stream = &program->streams[i];
		uint32_t pid, tid;
		*stream = (struct stream){ 0 };
		(void)replay_thread(program->replay, i, &pid, &tid); /* it exists */
		for (uint32_t k = 0; k < full_trace_threads(program->trace); k++) {
			struct profile_thread known = full_trace_thread(program->trace, k);
			if (known.pid != pid || known.tid != tid || stream->is_there)
				continue;
			stream->cursor = full_trace_start(program->trace, k);
			stream->trace_thread = k;
			stream->is_there = true;
		}
	}
}

/* The timeline. */

static uint16_t any_stretch(void *context, const struct event *event)
{
	(void)context;
	(void)event;
	return 0;
}

static int load_replay(struct program *program, struct err *err)
{
	struct replay_opts opts = { .meaning = program->meaning, .stretch = any_stretch };
	int code = replay_new(&opts, &program->replay, err);
	if (code < 0)
		return code;
	struct event_sink sink = replay_sink(program->replay);
	return profile_timeline_replay(&program->profile, "the timeline", &sink, err);
}

/* After a deadlock: without the meanings that led there, as the prediction does. False: there is nothing to change. */
static bool settle(struct program *program, struct err *err)
{
	size_t count = 0;
	for (uint32_t cond; replay_stuck(program->replay, count, &cond); count++)
		meaning_forget(program->meaning, cond);
	if (count == 0)
		return replay_settle(program->replay);
	replay_free(TAKE(program->replay));
	return load_replay(program, err) == 0;
}

static int load_timeline(struct program *program, struct err *err)
{
	if (!program->profile.timeline)
		return err_set(err, -EINVAL, "the profile has no timeline");
	int code = meaning_new(&program->meaning);
	if (code < 0)
		return err_set(err, code, "out of memory");
	meaning_of_other_pace(program->meaning);
	struct event_sink sink = meaning_sink(program->meaning);
	code = profile_timeline_replay(&program->profile, "the timeline", &sink, err);
	if (code == 0)
		code = load_replay(program, err);
	uint32_t pid, tid;
	while (code == 0 && replay_thread(program->replay, program->threads, &pid, &tid))
		program->threads++;
	program->streams = calloc(program->threads + 1, sizeof(*program->streams));
	return code == 0 && !program->streams ? err_set(err, -ENOMEM, "out of memory") : code;
}

static int copy_codes(struct program *program, struct err *err)
{
	const struct code *codes = full_trace_codes(program->trace, &program->code_count);
	program->codes = calloc(2 * program->code_count + PLAIN_CODES, sizeof(*codes));
	if (!program->codes)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(program->codes, codes, program->code_count * sizeof(*codes));
	program->codes[program->code_count] =
		(struct code){ .class = CODE_MOVE, .flags = CODE_LOAD };
	program->codes[program->code_count + 1] =
		(struct code){ .class = CODE_MOVE, .flags = CODE_STORE };
	struct code *again = program->codes + program->code_count + PLAIN_CODES;
	memcpy(again, codes, program->code_count * sizeof(*codes));
	for (size_t i = 0; i < program->code_count; i++)
		again[i].flags &= (uint8_t) ~(loads_and_stores(&again[i]) ? CODE_STORE : 0);
	return 0;
}

static int load(const char *profile, const char *trace, struct program *ret, struct err *err)
{
	struct bytes bytes = { 0 };
	int code = map_file(profile, &bytes, err);
	if (code == 0)
		code = profile_read(bytes.start, bytes.count, profile, &ret->profile, err);
	if (code == 0)
		code = full_trace_open(trace, &ret->trace, err);
	if (code == 0)
		code = copy_codes(ret, err);
	return code < 0 ? code : load_timeline(ret, err);
}

/* A machine. */

static void print(
	const char *name, const struct program *program, const struct refrun_result *result)
{
	struct refcore_counts sum = { 0 };
	for (uint32_t i = 0; i < program->threads; i++) {
		const struct refcore_counts *core = &result->cores[i];
		sum.instructions += core->instructions;
		sum.cycles += core->cycles;
		sum.branches += core->branches;
		sum.mispredicted += core->mispredicted;
		for (int part = 0; part < REFCORE_PARTS; part++)
			sum.parts[part] += core->parts[part];
	}
	printf("%s\t%llu\t%llu", name, (unsigned long long)result->ns,
		(unsigned long long)sum.instructions);
	for (int part = 0; part < REFCORE_PARTS; part++)
		printf("\t%.4f", (double)sum.parts[part] / (double)sum.instructions);
	printf("\t%.4f\t%llu\n", sum.branches ? (double)sum.mispredicted / (double)sum.branches : 0,
		(unsigned long long)result->memory_lines);
	for (uint32_t i = 0; getenv("REFERENCE_THREADS") && i < program->threads; i++) {
		const struct refcore_counts *core = &result->cores[i];
		fprintf(stderr, "thread %u: %llu instructions, %llu cycles:", i,
			(unsigned long long)core->instructions, (unsigned long long)core->cycles);
		for (int part = 0; part < REFCORE_PARTS; part++)
			fprintf(stderr, " %llu", (unsigned long long)core->parts[part]);
		fputc('\n', stderr);
	}
	if (result->missing)
		fprintf(stderr, "reference: the trace lacks %llu instructions of the timeline's\n",
			(unsigned long long)result->missing);
}

static int simulate(struct program *program, const char *path, struct err *err)
{
	AUTO_RELEASE(processor) struct processor processor = { 0 };
	struct bytes text = { 0 };
	int code = map_file(path, &text, err);
	if (code == 0)
		code = processor_parse(path, text.start, text.count, &processor, err);
	if (code < 0)
		return code;
	struct refcore_predictor *predictors = calloc(program->threads + 1, sizeof(*predictors));
	if (!predictors)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; code == 0 && i < program->threads; i++) {
		struct branch_predictor *predictor = NULL;
		struct target_predictor *targets = NULL;
		if (processor.predictor == PREDICTOR_PERFECT)
			continue;
		code = branch_predictor_new(
			processor.predictor, processor.predictor_bytes, &predictor);
		if (code == 0)
			code = target_predictor_new(processor.predictor_bytes,
				processor.predictor != PREDICTOR_BIMODAL, &targets);
		predictors[i] = (struct refcore_predictor){ branch_predictor_predict, predictor,
			target_predictor_predict, target_predictor_take, targets };
	}
	start_streams(program);
	struct refrun_input input = { .processor = &processor,
		.replay = program->replay,
		.threads = program->threads,
		.codes = program->codes,
		.read = read_stream,
		.move = move_stream,
		.read_context = program,
		.predictors = predictors };
	struct refrun_result result = { 0 };
	if (code < 0)
		code = err_set(err, -ENOMEM, "out of memory");
	else
		code = refrun(&input, NULL, &result, err);
	if (code == 0 && result.cores)
		print(processor.name, program, &result);
	for (uint32_t i = 0; i < program->threads; i++) {
		branch_predictor_free(predictors[i].context);
		target_predictor_free(predictors[i].target_context);
	}
	free(predictors);
	free(result.cores);
	return code;
}

int main(int argc, char **argv)
{
	struct program program = { 0 };
	struct err err = { "" };
	if (argc < 4) {
		fprintf(stderr, "usage: reference PROFILE.ccp TRACE MACHINE.yaml...\n");
		return 2;
	}
	int code = load(argv[1], argv[2], &program, &err);
	for (int i = 3; code == 0 && i < argc; i++)
		do
			code = simulate(&program, argv[i], &err);
		while (code == -EDEADLK && settle(&program, &err));
	if (code < 0)
		fprintf(stderr, "reference: %s\n", err.text);
	full_trace_free(program.trace);
	replay_free(program.replay);
	meaning_free(program.meaning);
	profile_release(&program.profile);
	free(program.codes);
	free(program.streams);
	return code < 0;
}
