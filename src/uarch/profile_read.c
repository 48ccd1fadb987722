/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile file may come from anywhere: what it says is checked here, row by row, so that who uses the
 * profile need not. It holds tables, and nothing that SQLite would have to run.
 */
#include "uarch/profile_store.h"

#include "base/mem.h"
#include "plugin/profile_raw.h"
#include "trace/vocabulary.h"
#include "uarch/profile_schema.h"
#include "uarch/sqlite.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <zstd.h>

enum { WITH_MIDDLE_HISTORY = 4 }; /* the first version */

struct reading {
	sqlite3 *db;
	const char *name;
	struct profile profile;
	size_t capacity; /* of the table that is read */
	uint64_t version; /* 0: not known yet */
	uint64_t
		steps_left; /* in thousands: a damaged file must not keep its reader busy for ever */
};

static void reading_release(struct reading *reading)
{
	profile_release(&reading->profile);
	(void)sqlite3_close(reading->db); /* read only */
}

static int bad(const struct reading *reading, struct err *err, const char *what)
{
	return err_set(err, -EINVAL, "'%s' is damaged: %s", reading->name, what);
}

static int fail(const struct reading *reading, struct err *err)
{
	int code = sqlite3_errcode(reading->db);
	return err_set(err, code == SQLITE_NOMEM ? -ENOMEM : -EINVAL,
		"'%s' is not a profile, or damaged: %s", reading->name,
		sqlite3_errmsg(reading->db));
}

static int out_of_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static int spend(void *context)
{
	struct reading *reading = context;
	return reading->steps_left == 0 || --reading->steps_left == 0;
}

/* Columns. */

static uint64_t number(sqlite3_stmt *row, int column)
{
	return (uint64_t)sqlite3_column_int64(row, column);
}

static const char *text(sqlite3_stmt *row, int column)
{
	const char *value = (const char *)sqlite3_column_text(row, column);
	return value ? value : "";
}

static bool is_count(double count)
{
	return count >= 0 && isfinite(count);
}

/* The place of a word in a list, or its length. */
static unsigned word_index(const char *word, const char *const *words, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return count;
}

static unsigned code_class_of(const char *word)
{
	unsigned class = 0;
	while (class < CODE_CLASSES && strcmp(word, code_class_name((enum code_class) class)) != 0)
		class ++;
	return class;
}

/* Calls for each row of a query. */
static int each_row(struct reading *reading, const char *sql,
	int (*take)(struct reading *, sqlite3_stmt *, struct err *), struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(reading->db, sql, -1, &statement, NULL) != SQLITE_OK)
		return fail(reading, err);
	reading->capacity = 0;
	int step;
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		int code = take(reading, statement, err);
		if (code < 0)
			return code;
	}
	return step == SQLITE_DONE ? 0 : fail(reading, err);
}

/* What is not a plain table could make SQLite run what the file says. */
static int take_schema(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	static const char virtual_table[] = "CREATE VIRTUAL";
	bool is_plain = strcmp(text(row, 0), "table") == 0 || strcmp(text(row, 0), "index") == 0;
	if (!is_plain ||
		sqlite3_strnicmp(text(row, 1), virtual_table, sizeof virtual_table - 1) == 0)
		return bad(reading, err, "it holds more than tables");
	return 0;
}

static int take_meta(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	struct profile_quality *quality = &reading->profile.quality;
	const char *key = text(row, 0);
	const struct {
		const char *key;
		uint64_t *value;
	} integers[] = {
		{ "reuse_samples", &quality->reuse_samples },
		{ "micro_traces", &quality->micro_traces },
		{ "lost", &quality->lost },
		{ "unmatched", &quality->unmatched },
		{ "undecoded", &quality->undecoded },
		{ "unpaced", &quality->unpaced },
	};
	const struct {
		const char *key;
		double *value;
	} reals[] = {
		{ "reuse_rate", &quality->reuse_rate },
		{ "micro_period", &quality->micro_period },
		{ "writers", &quality->writers },
		{ "native_s", &quality->native_s },
		{ "profiled_s", &quality->profiled_s },
		{ "asking_share", &quality->asking_share },
	};
	for (size_t i = 0; i < ARRAY_SIZE(integers); i++)
		if (strcmp(key, integers[i].key) == 0)
			*integers[i].value = number(row, 1);
	for (size_t i = 0; i < ARRAY_SIZE(reals); i++)
		if (strcmp(key, reals[i].key) == 0) {
			*reals[i].value = sqlite3_column_double(row, 1);
			if (!is_count(*reals[i].value))
				return bad(reading, err, reals[i].key);
		}
	if (strcmp(key, "line_bytes") == 0 && number(row, 1) != PROFILE_LINE_BYTES)
		return bad(reading, err, "its cache lines are of another size");
	if (strcmp(key, "is_partial") == 0)
		quality->is_partial = number(row, 1) != 0;
	if (strcmp(key, "backend") == 0)
		snprintf(quality->backend, sizeof quality->backend, "%s", text(row, 1));
	if (strcmp(key, "asking") == 0)
		snprintf(quality->asking, sizeof quality->asking, "%s", text(row, 1));
	if (strcmp(key, "command") == 0 && !reading->profile.command) {
		reading->profile.command = strdup(text(row, 1));
		if (!reading->profile.command)
			return out_of_memory(err);
	}
	return 0;
}

static int take_version(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	uint64_t version = number(row, 0);
	reading->version = version;
	if (version >= PROFILE_VERSION_OLDEST && version <= PROFILE_VERSION)
		return 0;
	return err_set(err, -EINVAL,
		"'%s' is a profile of version %llu, and this corecast reads %d to %d",
		reading->name, (unsigned long long)version, PROFILE_VERSION_OLDEST,
		PROFILE_VERSION);
}

static int take_thread(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	struct profile *profile = &reading->profile;
	if (number(row, 0) != profile->thread_count)
		return bad(reading, err, "threads are not numbered from 0");
	if (mem_grow(&profile->threads, &reading->capacity, profile->thread_count + 1,
		    sizeof *profile->threads) < 0)
		return out_of_memory(err);
	struct profile_thread *thread = &profile->threads[profile->thread_count++];
	thread->pid = (uint32_t)number(row, 1);
	thread->tid = (uint32_t)number(row, 2);
	snprintf(thread->name, sizeof thread->name, "%s", text(row, 3));
	thread->instructions = number(row, 4);
	thread->accesses = number(row, 5);
	if (sqlite3_column_type(row, 6) == SQLITE_NULL)
		return 0;
	/* The first of those that are alike stands for all. */
	if (number(row, 6) >= number(row, 0) || profile->threads[number(row, 6)].counted_with > 0)
		return bad(reading, err, "a thread that is counted with none");
	thread->counted_with = (uint32_t)number(row, 6) + 1;
	return 0;
}

static bool is_after(const struct profile_class *class, const struct profile_class *before)
{
	return before->thread < class->thread ||
	       (before->thread == class->thread && before->stretch < class->stretch);
}

static int take_class(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	struct profile *profile = &reading->profile;
	size_t index = profile->class_count;
	int kind = event_kind_parse(text(row, 3)), what = event_what_parse(text(row, 4));
	if (number(row, 0) != index || number(row, 1) >= profile->thread_count || kind < 0 ||
		what < 0)
		return bad(reading, err, "a class of no thread or kind");
	if (mem_grow(&profile->classes, &reading->capacity, index + 1, sizeof *profile->classes) <
		0)
		return out_of_memory(err);
	struct profile_class *class = &profile->classes[index];
	*class = (struct profile_class){
		.thread = (uint32_t)number(row, 1),
		.stretch = number(row, 2),
		.kind = (uint8_t)kind,
		.what = (uint8_t)what,
		.site = number(row, 5),
		.stretches = number(row, 6),
		.instructions = number(row, 7),
		.loads = number(row, 8),
		.stores = number(row, 9),
		.fetches = number(row, 10),
		.first_touches = number(row, 11),
		.first_touches_global = number(row, 12),
	};
	profile->class_count++;
	if (index > 0 && !is_after(class, class - 1))
		return bad(reading, err, "classes out of order");
	return 0;
}

static int take_system_calls(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	if (number(row, 0) >= reading->profile.class_count)
		return bad(reading, err, "system calls of no class");
	struct profile_class *class = &reading->profile.classes[number(row, 0)];
	class->system_calls = number(row, 1);
	class->system_ns = number(row, 2);
	return 0;
}

/* Files of before have no such table. */
static int take_presence(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	(void)row;
	return each_row(
		reading, "SELECT class, count, ns FROM system_calls", take_system_calls, err);
}

static int take_mix(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	unsigned class = code_class_of(text(row, 1));
	if (number(row, 0) >= reading->profile.class_count || class >= CODE_CLASSES)
		return bad(reading, err, "a mix of no class");
	reading->profile.classes[number(row, 0)].mix[class] = number(row, 2);
	return 0;
}

/* Profiles before version 4 have neither the history of 12 outcomes nor the choice up to it. */
static uint64_t history_of(const struct reading *reading, uint64_t stored)
{
	if (reading->version >= WITH_MIDDLE_HISTORY || stored < RAW_MIDDLE)
		return stored;
	return stored + 1 < RAW_NEAR_CHOICE ? stored + 1 : stored + 2;
}

/* They lie between their neighbours. */
static void fill_middle_history(struct profile *profile)
{
	for (size_t i = 0; i < profile->class_count; i++) {
		struct profile_branches *branches = profile->classes[i].branches;
		const struct profile_branches *low = &branches[RAW_NEAR],
					      *high = &branches[RAW_FAR];
		branches[RAW_MIDDLE] = (struct profile_branches){ .executions = low->executions,
			.entropy = (low->entropy + high->entropy) / 2,
			.floor_entropy = (low->floor_entropy + high->floor_entropy) / 2,
			.missed = (low->missed + high->missed) / 2 };
		branches[RAW_NEAR_CHOICE] = branches[RAW_CHOICE];
	}
}

static int take_branches(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	uint64_t history = history_of(reading, number(row, 1));
	if (number(row, 0) >= reading->profile.class_count || history >= PROFILE_HISTORIES)
		return bad(reading, err, "branches of no class");
	struct profile_branches *branches =
		&reading->profile.classes[number(row, 0)].branches[history];
	branches->executions = sqlite3_column_double(row, 2);
	branches->entropy = sqlite3_column_double(row, 3);
	branches->floor_entropy = sqlite3_column_double(row, 4);
	branches->missed = sqlite3_column_double(row, 5);
	if (!is_count(branches->executions) || !(branches->entropy >= 0) ||
		!(branches->entropy <= 1) || !(branches->floor_entropy >= 0) ||
		!(branches->floor_entropy <= 1) || !(branches->missed >= 0) ||
		!(branches->missed <= 1))
		return bad(reading, err, "an entropy or misses that are not between 0 and 1");
	return 0;
}

static int take_code(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	struct profile *profile = &reading->profile;
	unsigned class = code_class_of(text(row, 2));
	if (number(row, 0) != profile->code_count || class >= CODE_CLASSES ||
		profile->code_count >= PROFILE_NO_CODE)
		return bad(reading, err, "an instruction of no class");
	if (mem_grow(&profile->codes, &reading->capacity, profile->code_count + 1,
		    sizeof *profile->codes) < 0)
		return out_of_memory(err);
	profile->codes[profile->code_count++] = (struct code){
		.address = number(row, 1),
		.class = (uint8_t) class,
		.flags = (uint16_t)number(row, 3),
		.bytes = (uint8_t)number(row, 4),
		.data_bytes = (uint8_t)number(row, 5),
		.reads = number(row, 6),
		.address_reads = number(row, 7),
		.writes = number(row, 8),
	};
	return 0;
}

static bool reuse_is_after(const struct profile_reuse *reuse, const struct profile_reuse *before)
{
	if (reuse->class != before->class)
		return reuse->class > before->class;
	if (reuse->code != before->code)
		return reuse->code > before->code;
	if (reuse->scope != before->scope)
		return reuse->scope > before->scope;
	return reuse->bin > before->bin;
}

static int take_reuse(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	struct profile *profile = &reading->profile;
	bool has_code = sqlite3_column_type(row, 1) != SQLITE_NULL;
	unsigned scope = word_index(text(row, 2), profile_scope_names, PROFILE_SCOPES);
	double count = sqlite3_column_double(row, 5);
	if (number(row, 0) >= profile->class_count ||
		(has_code && number(row, 1) >= profile->code_count) || scope >= PROFILE_SCOPES ||
		number(row, 3) >= REUSE_BINS || !is_count(count))
		return bad(reading, err, "a reuse distance of no class");
	if (mem_grow(&profile->reuse, &reading->capacity, profile->reuse_count + 1,
		    sizeof *profile->reuse) < 0)
		return out_of_memory(err);
	struct profile_reuse *reuse = &profile->reuse[profile->reuse_count++];
	*reuse = (struct profile_reuse){
		.class = (uint32_t)number(row, 0),
		.code = has_code ? (uint32_t)number(row, 1) : PROFILE_NO_CODE,
		.scope = (uint16_t)scope,
		.bin = (uint16_t)number(row, 3),
		.samples = (uint32_t)number(row, 4),
		.count = count,
	};
	if (profile->reuse_count > 1 && !reuse_is_after(reuse, reuse - 1))
		return bad(reading, err, "reuse distances out of order");
	return 0;
}

/* The sizes first: the micro-traces point into one array. */
static int take_micro_size(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	struct profile *profile = &reading->profile;
	uint64_t count = number(row, 1);
	double weight = sqlite3_column_double(row, 2);
	bool is_after = profile->micro_count == 0 ||
			profile->micro[profile->micro_count - 1].class <= number(row, 0);
	if (number(row, 0) >= profile->class_count || count == 0 || count > PROFILE_TRACE_OPS_MAX ||
		!is_count(weight) || profile->micro_op_count + count > PROFILE_OPS_MAX || !is_after)
		return bad(reading, err, "a micro-trace of no class, or too long");
	if (mem_grow(&profile->micro, &reading->capacity, profile->micro_count + 1,
		    sizeof *profile->micro) < 0)
		return out_of_memory(err);
	profile->micro[profile->micro_count++] = (struct micro_trace){
		.class = (uint32_t)number(row, 0), .count = (uint32_t)count, .weight = weight
	};
	profile->micro_op_count += count;
	return 0;
}

static int take_micro_ops(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	struct profile *profile = &reading->profile;
	struct micro_trace *micro = &profile->micro[reading->capacity++];
	const void *packed = sqlite3_column_blob(row, 0);
	struct micro_op *ops = profile->micro_ops;
	size_t bytes = micro->count * sizeof *ops;
	ops += profile->micro_op_count;
	profile->micro_op_count += micro->count;
	size_t got =
		packed ? ZSTD_decompress(ops, bytes, packed, (size_t)sqlite3_column_bytes(row, 0))
		       : 0;
	if (got != bytes)
		return bad(reading, err, "a micro-trace cannot be unpacked");
	for (uint32_t i = 0; i < micro->count; i++)
		if (ops[i].code >= profile->code_count)
			return bad(reading, err, "a micro-trace of no instructions");
	micro->ops = ops;
	return 0;
}

static int read_micro(struct reading *reading, struct err *err)
{
	struct profile *profile = &reading->profile;
	int code = each_row(reading, "SELECT class, count, weight FROM micro_traces ORDER BY id",
		take_micro_size, err);
	if (code < 0)
		return code;
	profile->micro_ops = calloc(profile->micro_op_count + 1, sizeof *profile->micro_ops);
	if (!profile->micro_ops)
		return out_of_memory(err);
	profile->micro_op_count = 0;
	code = each_row(reading, "SELECT ops FROM micro_traces ORDER BY id", take_micro_ops, err);
	return code;
}

static int take_timeline(struct reading *reading, sqlite3_stmt *row, struct err *err)
{
	struct profile *profile = &reading->profile;
	size_t bytes = (size_t)sqlite3_column_bytes(row, 0);
	const void *blob = sqlite3_column_blob(row, 0);
	if (profile->timeline || !blob)
		return bad(reading, err, "it has not one timeline");
	profile->timeline = malloc(bytes ? bytes : 1);
	if (!profile->timeline)
		return out_of_memory(err);
	memcpy(profile->timeline, blob, bytes);
	profile->timeline_bytes = bytes;
	profile->quality.has_timeline = true;
	return 0;
}

static int read_tables(struct reading *reading, struct err *err)
{
	static const struct {
		const char *sql;
		int (*take)(struct reading *, sqlite3_stmt *, struct err *);
	} tables[] = {
		{ "SELECT type, sql FROM sqlite_schema", take_schema },
		{ "SELECT value FROM meta WHERE key = 'version'", take_version },
		{ "SELECT key, value FROM meta", take_meta },
		{ "SELECT id, pid, tid, name, instructions, accesses, counted_with FROM threads "
		  "ORDER BY id",
			take_thread },
		{ "SELECT id, thread, stretch, kind, what, site, stretches, instructions, loads,"
		  " stores, fetches, first_touches, first_touches_global FROM classes ORDER BY id",
			take_class },
		{ "SELECT 1 FROM sqlite_schema WHERE name = 'system_calls'", take_presence },
		{ "SELECT class, code_class, instructions FROM mix", take_mix },
		{ "SELECT class, history, executions, entropy, floor_entropy, missed FROM branches",
			take_branches },
		{ "SELECT id, address, class, flags, bytes, data_bytes, reads, address_reads, "
		  "writes"
		  " FROM codes ORDER BY id",
			take_code },
		{ "SELECT class, code, scope, bin, samples, count FROM reuse ORDER BY rowid",
			take_reuse },
		{ "SELECT trace FROM timeline", take_timeline },
	};
	int code = 0;
	for (size_t i = 0; code == 0 && i < ARRAY_SIZE(tables); i++)
		code = each_row(reading, tables[i].sql, tables[i].take, err);
	if (code == 0 && reading->version == 0)
		code = bad(reading, err, "it has no version");
	if (code == 0 && reading->version < WITH_MIDDLE_HISTORY)
		fill_middle_history(&reading->profile);
	return code < 0 ? code : read_micro(reading, err);
}

bool profile_is_file(const void *bytes, size_t count)
{
	static const char magic[] = "SQLite format 3";
	return count >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* SQLite takes a file that ends early for one that always was so short. */
static bool is_whole(const unsigned char *header, size_t count)
{
	enum { PAGE_BYTES_AT = 16, PAGES_AT = 28, HEADER_BYTES = 100, LARGEST_PAGE = 65536 };
	if (count < HEADER_BYTES)
		return false;
	uint64_t page = (uint64_t)header[PAGE_BYTES_AT] << 8 | header[PAGE_BYTES_AT + 1];
	uint64_t pages = 0;
	for (int i = 0; i < 4; i++)
		pages = pages << 8 | header[PAGES_AT + i];
	return (page == 1 ? LARGEST_PAGE : page) * pages == count;
}

int profile_read(
	const void *bytes, size_t count, const char *name, struct profile *ret, struct err *err)
{
	AUTO_RELEASE(reading) struct reading reading = { .name = name };
	if (!profile_is_file(bytes, count))
		return err_set(
			err, -EINVAL, "'%s' is not a profile (corecast profile makes them)", name);
	if (!is_whole(bytes, count))
		return bad(&reading, err, "it is cut, or was never finished");
	if (sqlite3_open(":memory:", &reading.db) != SQLITE_OK)
		return out_of_memory(err);
	/* SQLite asks for a pointer to what it may change, and told so does not. */
	if (sqlite3_deserialize(reading.db, "main", (unsigned char *)(uintptr_t)bytes,
		    (sqlite3_int64)count, (sqlite3_int64)count,
		    SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		return fail(&reading, err);
	(void)sqlite3_exec(reading.db, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON",
		NULL, NULL, NULL); /* what they guard against is an error either way */
	/* A row takes some dozen steps, and some bytes. */
	reading.steps_left = 100 + count / 20;
	sqlite3_progress_handler(reading.db, 1000, spend, &reading);
	int code = read_tables(&reading, err);
	if (code < 0)
		return code;
	*ret = reading.profile;
	reading.profile = (struct profile){ 0 };
	return 0;
}
