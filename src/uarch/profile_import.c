/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * First all records are taken as they come, then each kind is sorted and what belongs together added up:
 * a backend may write a thread's counts before it says who the thread is.
 */
#include "uarch/profile_import.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "uarch/profile_importing.h"
#include "uarch/profile_timeline.h"

#include <errno.h>
#include <string.h>

/* Beyond it sums of doubles would not be finite any more. */
#define COUNT_MAX 1e18

static void importing_release(struct importing *importing)
{
	free(importing->threads);
	free(importing->reuse);
	free(importing->micro);
	free(importing->branches);
	map_release(&importing->thread_numbers);
}

static int out_of_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory: the profile is too large");
}

/* Room for one more at the end of *array. */
static int grow_one(void *array, size_t *capacity, size_t count, size_t size, struct err *err)
{
	return mem_grow(array, capacity, count + 1, size) < 0 ? out_of_memory(err) : 0;
}

static bool is_count(double count)
{
	return count >= 0 && count <= COUNT_MAX;
}

static int find_numbered(
	struct importing *importing, uint32_t number, struct numbered **ret, struct err *err)
{
	uint64_t *index = NULL;
	int added = map_add(&importing->thread_numbers, number, 0, importing->thread_count, &index);
	if (added < 0)
		return out_of_memory(err);
	if (added) {
		uint64_t at = *index;
		int code = grow_one(&importing->threads, &importing->thread_capacity,
			importing->thread_count, sizeof *importing->threads, err);
		if (code < 0)
			return code;
		importing->threads[at] = (struct numbered){ .number = number };
		importing->thread_count++;
		*ret = &importing->threads[at];
		return 0;
	}
	*ret = &importing->threads[*index];
	return 0;
}

/* Records. Each is given its payload, of the size that its kind has at least. */

struct code profile_code(const struct raw_code *raw)
{
	return (struct code){ .address = raw->address,
		.reads = raw->reads,
		.address_reads = raw->address_reads,
		.writes = raw->writes,
		.class = raw->class,
		.flags = raw->flags,
		.bytes = raw->bytes,
		.data_bytes = raw->data_bytes };
}

static int take_code(struct importing *importing, const unsigned char *payload, struct err *err)
{
	struct profile *profile = importing->profile;
	struct raw_code raw;
	memcpy(&raw, payload, sizeof raw);
	int code = grow_one(&profile->codes, &importing->code_capacity, profile->code_count,
		sizeof *profile->codes, err);
	if (code < 0)
		return code;
	if (raw.class >= CODE_CLASSES)
		return err_set(err, -EINVAL, "an instruction of class %u", raw.class);
	profile->codes[profile->code_count++] = profile_code(&raw);
	return 0;
}

static int take_thread(struct importing *importing, const unsigned char *payload, struct err *err)
{
	struct raw_thread raw;
	struct numbered *numbered = NULL;
	memcpy(&raw, payload, sizeof raw);
	int code = find_numbered(importing, raw.thread, &numbered, err);
	if (code < 0 || !numbered)
		return code;
	numbered->is_told = true;
	numbered->thread.pid = raw.pid;
	numbered->thread.tid = raw.tid;
	numbered->thread.instructions = raw.instructions;
	numbered->thread.accesses = raw.accesses;
	return 0;
}

static int take_counts(struct importing *importing, const unsigned char *payload, struct err *err)
{
	struct profile *profile = importing->profile;
	struct raw_counts raw;
	struct numbered *numbered = NULL;
	memcpy(&raw, payload, sizeof raw);
	int code = find_numbered(importing, raw.thread, &numbered, err);
	if (code == 0)
		code = grow_one(&profile->classes, &importing->class_capacity, profile->class_count,
			sizeof *profile->classes, err);
	if (code < 0)
		return code;
	struct profile_class *class = &profile->classes[profile->class_count++];
	*class = (struct profile_class){
		.thread = raw.thread,
		.stretch = raw.stretch,
		.stretches = raw.stretches,
		.instructions = raw.instructions,
		.loads = raw.loads,
		.stores = raw.stores,
		.fetches = raw.fetches,
		.first_touches = raw.first_touches,
		.first_touches_global = raw.first_touches_global,
		.system_calls = raw.system_calls,
		.system_ns = raw.system_ns,
	};
	memcpy(class->mix, raw.mix, sizeof class->mix);
	return 0;
}

static int take_reuse(struct importing *importing, const unsigned char *payload, struct err *err)
{
	struct raw_reuse raw;
	memcpy(&raw, payload, sizeof raw);
	if (raw.scope >= PROFILE_SCOPES || raw.bin >= REUSE_BINS || !is_count(raw.count))
		return err_set(err, -EINVAL, "a reuse distance of scope %u, bin %u, count %g",
			raw.scope, raw.bin, raw.count);
	int code = grow_one(&importing->reuse, &importing->reuse_capacity, importing->reuse_count,
		sizeof *importing->reuse, err);
	if (code < 0)
		return code;
	importing->reuse[importing->reuse_count++] = (struct pending_reuse){
		.stretch = raw.stretch,
		.reuse = { raw.thread, raw.code, raw.scope, raw.bin, raw.samples, raw.count },
	};
	return 0;
}

static int take_micro(
	struct importing *importing, const unsigned char *payload, size_t bytes, struct err *err)
{
	struct profile *profile = importing->profile;
	struct raw_micro raw;
	memcpy(&raw, payload, sizeof raw);
	if (raw.count != (bytes - sizeof raw) / sizeof(struct raw_op) || raw.count == 0 ||
		raw.count > PROFILE_TRACE_OPS_MAX)
		return err_set(err, -EINVAL, "a micro-trace of %u instructions in %zu bytes",
			raw.count, bytes);
	if (profile->micro_op_count + raw.count > PROFILE_OPS_MAX) {
		importing->micro_lost++;
		return 0;
	}
	int code = grow_one(&importing->micro, &importing->micro_capacity, importing->micro_count,
		sizeof *importing->micro, err);
	if (code == 0 &&
		mem_grow(&profile->micro_ops, &importing->op_capacity,
			profile->micro_op_count + raw.count, sizeof *profile->micro_ops) < 0)
		code = out_of_memory(err);
	if (code < 0)
		return code;
	importing->micro[importing->micro_count++] = (struct pending_micro){
		.stretch = raw.stretch,
		.class_at = raw.class_at,
		.thread = raw.thread,
		.count = raw.count,
		.first = profile->micro_op_count,
	};
	for (uint32_t i = 0; i < raw.count; i++) {
		struct raw_op op;
		memcpy(&op, payload + sizeof raw + i * sizeof op, sizeof op);
		profile->micro_ops[profile->micro_op_count++] =
			(struct micro_op){ op.address, op.code, op.taken };
	}
	return 0;
}

static int take_branches(struct importing *importing, const unsigned char *payload, struct err *err)
{
	struct raw_branches raw;
	memcpy(&raw, payload, sizeof raw);
	if (raw.history >= PROFILE_HISTORIES || !is_count(raw.executions) ||
		!is_count(raw.entropy) || !is_count(raw.floor_entropy) || !is_count(raw.missed))
		return err_set(err, -EINVAL, "branches with history %u, %g executions", raw.history,
			raw.executions);
	int code = grow_one(&importing->branches, &importing->branches_capacity,
		importing->branches_count, sizeof *importing->branches, err);
	if (code == 0)
		importing->branches[importing->branches_count++] = raw;
	return code;
}

static int take_asks(struct importing *importing, const unsigned char *payload, struct err *err)
{
	struct profile *profile = importing->profile;
	struct raw_asks raw;
	memcpy(&raw, payload, sizeof raw);
	int code = grow_one(&profile->asks, &importing->ask_capacity, profile->ask_count,
		sizeof *profile->asks, err);
	if (code == 0)
		profile->asks[profile->ask_count++] = raw.address;
	return code;
}

static int take_quality(struct importing *importing, const unsigned char *payload, struct err *err)
{
	struct profile_quality *quality = &importing->profile->quality;
	struct raw_quality raw;
	memcpy(&raw, payload, sizeof raw);
	if (!is_count(raw.reuse_rate) || !is_count(raw.micro_period) || !is_count(raw.writers))
		return err_set(err, -EINVAL, "sampling rates of %g and %g", raw.reuse_rate,
			raw.micro_period);
	quality->reuse_rate = raw.reuse_rate;
	quality->micro_period = raw.micro_period;
	quality->writers = raw.writers;
	quality->reuse_samples = raw.reuse_samples;
	quality->micro_traces = raw.micro_traces;
	quality->lost = raw.lost;
	quality->undecoded = raw.undecoded;
	quality->unpaced = raw.unpaced;
	return 0;
}

/* Those of kinds that are not known are left out: a newer backend's. */
static int take_record(struct importing *importing, const struct raw_record *record,
	const unsigned char *payload, struct err *err)
{
	static const size_t least[] = {
		[RAW_CODE] = sizeof(struct raw_code),
		[RAW_THREAD] = sizeof(struct raw_thread),
		[RAW_COUNTS] = sizeof(struct raw_counts),
		[RAW_REUSE] = sizeof(struct raw_reuse),
		[RAW_MICRO] = sizeof(struct raw_micro),
		[RAW_BRANCHES] = sizeof(struct raw_branches),
		[RAW_QUALITY] = sizeof(struct raw_quality),
		[RAW_END] = 0,
		[RAW_ASKS] = sizeof(struct raw_asks),
	};
	if (record->kind == 0 || record->kind >= ARRAY_SIZE(least))
		return 0;
	size_t size = least[record->kind];
	bool is_array = record->kind == RAW_REUSE;
	if (record->bytes < size || (is_array && record->bytes % size != 0))
		return err_set(err, -EINVAL, "%u bytes of kind %u", record->bytes, record->kind);
	int code = 0;
	switch (record->kind) {
	case RAW_CODE:
		return take_code(importing, payload, err);
	case RAW_THREAD:
		return take_thread(importing, payload, err);
	case RAW_COUNTS:
		return take_counts(importing, payload, err);
	case RAW_REUSE:
		for (size_t at = 0; code == 0 && at < record->bytes; at += size)
			code = take_reuse(importing, payload + at, err);
		return code;
	case RAW_MICRO:
		return take_micro(importing, payload, record->bytes, err);
	case RAW_BRANCHES:
		return take_branches(importing, payload, err);
	case RAW_QUALITY:
		return take_quality(importing, payload, err);
	case RAW_ASKS:
		return take_asks(importing, payload, err);
	case RAW_END:
		importing->is_ended = true;
		return 0;
	}
	return 0;
}

static int take_header(struct importing *importing, struct err *err)
{
	struct raw_header header;
	if (importing->count < sizeof header)
		return err_set(err, -EINVAL, "the profiler wrote no more than %zu bytes",
			importing->count);
	memcpy(&header, importing->bytes, sizeof header);
	if (header.magic != RAW_MAGIC)
		return err_set(err, -EINVAL, "not what a profiler's backend writes");
	if (header.version != RAW_VERSION)
		return err_set(err, -EINVAL,
			"the profiler's backend is of another version (%u, not %u): reinstall "
			"corecast",
			header.version, RAW_VERSION);
	char *name = importing->profile->quality.backend;
	memcpy(name, header.backend, sizeof header.backend);
	name[sizeof importing->profile->quality.backend - 1] = '\0';
	return 0;
}

static int take_records(struct importing *importing, struct err *err)
{
	size_t at = sizeof(struct raw_header);
	struct raw_record record;
	while (importing->count - at >= sizeof record) {
		memcpy(&record, importing->bytes + at, sizeof record);
		size_t left = importing->count - at - sizeof record;
		if (record.kind == 0 || record.bytes > left)
			break; /* cut, or never written */
		int code =
			take_record(importing, &record, importing->bytes + at + sizeof record, err);
		if (code < 0)
			return err_prefix(err, code, "what the profiler wrote, at byte %zu", at);
		size_t padded = ((size_t)record.bytes + 7) / 8 * 8;
		at += sizeof record + (padded < left ? padded : left);
	}
	importing->profile->quality.is_partial = !importing->is_ended;
	return 0;
}

int profile_import(const struct profile_bytes *raw, const struct profile_bytes *timeline,
	struct profile *ret, struct err *err)
{
	*ret = (struct profile){ 0 };
	AUTO_RELEASE(importing)
	struct importing importing = { .bytes = raw->bytes, .count = raw->count, .profile = ret };
	int code = take_header(&importing, err);
	if (code == 0)
		code = take_records(&importing, err);
	if (code == 0)
		code = profile_settle(&importing, err);
	if (code == 0 && timeline->bytes)
		code = profile_timeline_join(ret, timeline->bytes, timeline->count, err);
	return code;
}
