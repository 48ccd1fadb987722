/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "full_trace.h"

#include "base/mem.h"
#include "plugin/profile_raw.h"
#include "plugin/trace_raw.h"
#include "uarch/profile_import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct block {
	const uint32_t *codes;
	uint32_t count;
};

struct chunk {
	const struct trace_chunk *head;
	const uint64_t *words;
	size_t count;
	uint64_t instructions; /* of the thread before it */
};

struct lane {
	struct profile_thread thread;
	struct chunk *chunks;
	size_t count, capacity;
	uint64_t instructions;
};

struct full_trace {
	const char *bytes;
	size_t size;
	struct code *codes;
	size_t code_count, code_capacity;
	struct block *blocks;
	size_t block_count; /* room for so many; those that were never written have a count of 0 */
	struct lane *lanes;
	size_t lane_count, lane_capacity;
};

void full_trace_free(struct full_trace *trace)
{
	if (!trace)
		return;
	if (trace->bytes)
		(void)munmap((void *)(uintptr_t)trace->bytes, trace->size);
	for (size_t i = 0; i < trace->lane_count; i++)
		free(trace->lanes[i].chunks);
	free(trace->lanes);
	free(trace->blocks);
	free(trace->codes);
	free(trace);
}

static int add_code(struct full_trace *trace, const char *payload, size_t bytes)
{
	if (bytes < sizeof(struct raw_code))
		return -EINVAL;
	int r = mem_grow(
		&trace->codes, &trace->code_capacity, trace->code_count + 1, sizeof(*trace->codes));
	if (r < 0)
		return r;
	struct raw_code raw;
	memcpy(&raw, payload, sizeof(raw));
	trace->codes[trace->code_count++] = profile_code(&raw);
	return 0;
}

static int add_block(struct full_trace *trace, const char *payload, size_t bytes)
{
	struct trace_block head;
	if (bytes < sizeof(head))
		return -EINVAL;
	memcpy(&head, payload, sizeof(head));
	const uint32_t *codes = (const uint32_t *)(const void *)(payload + sizeof(head));
	if (head.count == 0 || head.count > FULL_TRACE_BLOCK_MAX ||
		bytes < sizeof(head) + head.count * sizeof(*codes) || head.id > 1 << 26)
		return -EINVAL;
	for (uint32_t i = 0; i < head.count; i++) {
		if (codes[i] >= trace->code_count)
			return -EINVAL;
	}
	int r = mem_grow(
		&trace->blocks, &trace->block_count, head.id + (size_t)1, sizeof(*trace->blocks));
	if (r < 0)
		return r;
	trace->blocks[head.id] = (struct block){ codes, head.count };
	return 0;
}

static int find_lane(struct full_trace *trace, uint32_t thread, struct lane **ret)
{
	if (thread > 1 << 20)
		return -EINVAL;
	int r = mem_grow(
		&trace->lanes, &trace->lane_capacity, thread + (size_t)1, sizeof(*trace->lanes));
	if (r < 0)
		return r;
	if (thread >= trace->lane_count)
		trace->lane_count = thread + (size_t)1;
	*ret = &trace->lanes[thread];
	return 0;
}

static int add_thread(struct full_trace *trace, const char *payload, size_t bytes)
{
	struct raw_thread raw;
	struct lane *lane = NULL;
	if (bytes < sizeof(raw))
		return -EINVAL;
	memcpy(&raw, payload, sizeof(raw));
	int r = find_lane(trace, raw.thread, &lane);
	if (r < 0)
		return r;
	lane->thread = (struct profile_thread){ .pid = raw.pid,
		.tid = raw.tid,
		.instructions = raw.instructions,
		.accesses = raw.accesses };
	return 0;
}

static bool is_block(uint64_t word)
{
	return word >> TRACE_TAG_SHIFT == TRACE_BLOCK_WORD;
}

static int add_chunk(struct full_trace *trace, const char *payload, size_t bytes)
{
	const struct trace_chunk *head = (const void *)payload;
	struct lane *lane = NULL;
	if (bytes < sizeof(*head))
		return -EINVAL;
	int r = find_lane(trace, head->thread, &lane);
	if (r < 0)
		return r;
	struct chunk chunk = { head, (const void *)(payload + sizeof(*head)),
		(bytes - sizeof(*head)) / sizeof(uint64_t), lane->instructions };
	for (size_t i = 0; i < chunk.count; i++) {
		uint32_t id = (uint32_t)chunk.words[i];
		if (!is_block(chunk.words[i]))
			continue;
		if (id >= trace->block_count || !trace->blocks[id].count)
			return -EINVAL;
		lane->instructions += trace->blocks[id].count;
	}
	r = mem_grow(&lane->chunks, &lane->capacity, lane->count + 1, sizeof(*lane->chunks));
	if (r < 0)
		return r;
	lane->chunks[lane->count++] = chunk;
	return 0;
}

static int add_record(struct full_trace *trace, uint32_t kind, const char *payload, size_t bytes)
{
	switch (kind) {
	case RAW_CODE:
		return add_code(trace, payload, bytes);
	case RAW_THREAD:
		return add_thread(trace, payload, bytes);
	case RAW_TRACE_BLOCK:
		return add_block(trace, payload, bytes);
	case RAW_TRACE_CHUNK:
		return add_chunk(trace, payload, bytes);
	default:
		return 0;
	}
}

static int read_records(struct full_trace *trace, struct err *err)
{
	const struct raw_header *header = (const void *)trace->bytes;
	if (trace->size < sizeof(*header) || header->magic != RAW_MAGIC ||
		header->version != RAW_VERSION)
		return err_set(err, -EINVAL, "not a file of the profiler's records");
	for (size_t at = sizeof(*header); trace->size - at >= sizeof(struct raw_record);) {
		const struct raw_record *record = (const void *)(trace->bytes + at);
		at += sizeof(*record);
		size_t bytes = (record->bytes + (size_t)7) & ~(size_t)7;
		if (bytes > trace->size - at)
			break; /* the run was killed */
		int r = add_record(trace, record->kind, trace->bytes + at, record->bytes);
		if (r < 0)
			return err_set(err, r, "record at byte %zu: %s", at, strerror(-r));
		at += bytes;
	}
	return 0;
}

int full_trace_open(const char *path, struct full_trace **ret, struct err *err)
{
	AUTO(full_trace) struct full_trace *trace = calloc(1, sizeof(*trace));
	if (!trace)
		return err_set(err, -ENOMEM, "out of memory");
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	if (fd < 0 || fstat(fd, &stat) < 0)
		return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (stat.st_size == 0)
		return err_set(err, -EINVAL, "'%s' is empty", path);
	void *bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return err_set(err, -errno, "cannot map '%s': %s", path, strerror(errno));
	trace->bytes = bytes;
	trace->size = (size_t)stat.st_size;
	int r = read_records(trace, err);
	if (r < 0)
		return r;
	*ret = TAKE(trace);
	return 0;
}

const struct code *full_trace_codes(const struct full_trace *trace, size_t *ret_count)
{
	*ret_count = trace->code_count;
	return trace->codes;
}

size_t full_trace_threads(const struct full_trace *trace)
{
	return trace->lane_count;
}

struct profile_thread full_trace_thread(const struct full_trace *trace, uint32_t thread)
{
	return trace->lanes[thread].thread;
}

struct full_trace_cursor full_trace_start(const struct full_trace *trace, uint32_t thread)
{
	return (struct full_trace_cursor){ .trace = trace, .thread = thread };
}

/* The thread's next word, without taking it; false at its end. */
static bool peek(struct full_trace_cursor *cursor, uint64_t *ret_word)
{
	const struct lane *lane = &cursor->trace->lanes[cursor->thread];
	while (cursor->chunk < lane->count && cursor->word >= lane->chunks[cursor->chunk].count) {
		cursor->chunk++;
		cursor->word = 0;
	}
	if (cursor->chunk >= lane->count)
		return false;
	*ret_word = lane->chunks[cursor->chunk].words[cursor->word];
	return true;
}

static void add_address(struct full_trace_cursor *cursor, uint64_t word)
{
	size_t index = word >> TRACE_TAG_SHIFT;
	uint64_t address = word & ((UINT64_C(1) << TRACE_TAG_SHIFT) - 1);
	if (index >= cursor->count)
		return;
	if (!cursor->ops[index].address)
		cursor->ops[index].address = address;
	else if (cursor->extra_count < FULL_TRACE_EXTRA_MAX)
		cursor->extra[cursor->extra_count++] =
			(struct full_trace_extra){ address, (uint32_t)index };
}

/* Whether the block's last instruction went elsewhere than on, now that the next block is known. */
static void set_taken(struct full_trace_cursor *cursor, bool has_next, uint64_t next_word)
{
	struct micro_op *last = &cursor->ops[cursor->count - 1];
	const struct code *code = &cursor->trace->codes[last->code];
	last->taken = code->class == CODE_JUMP;
	if (code->class != CODE_BRANCH || !has_next)
		return;
	const struct block *next = &cursor->trace->blocks[(uint32_t)next_word];
	last->taken = cursor->trace->codes[next->codes[0]].address != code->address + code->bytes;
}

bool full_trace_next(struct full_trace_cursor *cursor)
{
	uint64_t word = 0;
	bool has_word = peek(cursor, &word);
	while (has_word && !is_block(word)) { /* addresses without their block */
		cursor->word++;
		has_word = peek(cursor, &word);
	}
	if (!has_word)
		return false;
	const struct trace_chunk *head =
		cursor->trace->lanes[cursor->thread].chunks[cursor->chunk].head;
	cursor->stretch = head->stretch;
	cursor->stretches = head->stretches;
	cursor->begin_ns = head->begin_ns;
	cursor->end_ns = head->end_ns;
	const struct block *block = &cursor->trace->blocks[(uint32_t)word];
	cursor->count = block->count;
	cursor->extra_count = 0;
	for (uint32_t i = 0; i < block->count; i++)
		cursor->ops[i] = (struct micro_op){ .code = block->codes[i] };
	cursor->word++;
	while ((has_word = peek(cursor, &word)) && !is_block(word)) {
		add_address(cursor, word);
		cursor->word++;
	}
	set_taken(cursor, has_word, word);
	return true;
}

bool full_trace_seek(struct full_trace_cursor *cursor, uint64_t instructions, size_t *ret_op)
{
	const struct lane *lane = &cursor->trace->lanes[cursor->thread];
	size_t low = 0, high = lane->count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (lane->chunks[middle].instructions <= instructions)
			low = middle;
		else
			high = middle;
	}
	cursor->chunk = low;
	cursor->word = 0;
	cursor->count = cursor->extra_count = 0;
	uint64_t before = low < lane->count ? lane->chunks[low].instructions : 0;
	while (full_trace_next(cursor)) {
		if (instructions < before + cursor->count) {
			*ret_op = (size_t)(instructions - before);
			return true;
		}
		before += cursor->count;
	}
	return false;
}
