/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Raw files as a profiler's backend writes them, and timelines, made by hand. */
#ifndef TESTS_UNIT_PROFILE_FIXTURE_H
#define TESTS_UNIT_PROFILE_FIXTURE_H

#include "base/strbuf.h"
#include "plugin/profile_raw.h"
#include "preload/profile_page.h"
#include "trace_fixture.h"
#include "uarch/profile_import.h"

static inline void raw_begin(struct strbuf *raw)
{
	struct raw_header header = { .magic = RAW_MAGIC, .version = RAW_VERSION };
	strcpy(header.backend, "by hand");
	strbuf_add_bytes(raw, (const char *)&header, sizeof header);
}

static inline void raw_add(
	struct strbuf *raw, enum raw_kind kind, const void *payload, size_t bytes)
{
	static const char padding[8];
	struct raw_record record = { .kind = kind, .bytes = (uint32_t)bytes };
	strbuf_add_bytes(raw, (const char *)&record, sizeof record);
	if (bytes > 0)
		strbuf_add_bytes(raw, payload, bytes);
	strbuf_add_bytes(raw, padding, -bytes % 8);
}

/* All of one class of instructions. */
static inline void raw_count(struct strbuf *raw, uint32_t thread, uint64_t stretch,
	uint64_t instructions, enum code_class class)
{
	struct raw_counts counts = {
		.thread = thread,
		.stretch = stretch,
		.stretches = 1,
		.instructions = instructions,
		.system_calls = thread,
		.system_ns = 10 * instructions,
	};
	counts.mix[class] = instructions;
	raw_add(raw, RAW_COUNTS, &counts, sizeof counts);
}

static inline void raw_thread(
	struct strbuf *raw, uint32_t thread, uint32_t tid, uint64_t instructions)
{
	struct raw_thread row = { thread, 1, tid, 0, instructions, 0 };
	raw_add(raw, RAW_THREAD, &row, sizeof row);
}

/* Bytes of a closed trace with these events; the caller frees. */
static inline void *timeline_of(const struct event *events, size_t count, size_t *ret_bytes)
{
	struct trace_path path;
	trace_path_init(&path);
	write_trace(path.text, events, count, CLOSED);
	FILE *in = fopen(path.text, "re");
	assert_non_null(in);
	assert_int_equal(fseek(in, 0, SEEK_END), 0);
	*ret_bytes = (size_t)ftell(in);
	rewind(in);
	void *bytes = malloc(*ret_bytes);
	assert_int_equal(fread(bytes, 1, *ret_bytes, in), *ret_bytes);
	fclose(in);
	trace_path_release(&path);
	return bytes;
}

#endif
