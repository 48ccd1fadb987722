/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/profile_store.h"

#include "base/map.h"
#include "base/mem.h"
#include "trace/reader.h"
#include "trace/vocabulary.h"
#include "uarch/profile_schema.h"
#include "uarch/sqlite.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>

/* Repeated for each of a thousand traces: fast matters more than small. */
enum { ZSTD_LEVEL = 1 };

static int fail(sqlite3 *db, struct err *err)
{
	int code = sqlite3_errcode(db);
	return err_set(err,
		code == SQLITE_NOMEM    ? -ENOMEM
		: code == SQLITE_TOOBIG ? -EFBIG
					: -EIO,
		"cannot make the profile: %s", sqlite3_errmsg(db));
}

/* One row: formats as 'i' (int64_t), 'd' (double), 't' (const char *), 'b' (const void *, size_t), '-' (NULL). */
static int put_row(sqlite3 *db, sqlite3_stmt *statement, struct err *err, const char *types, ...)
{
	int code = SQLITE_OK;
	va_list list;
	va_start(list, types);
	for (int i = 1; *types && code == SQLITE_OK; types++, i++) {
		if (*types == 'i') {
			code = sqlite3_bind_int64(statement, i, va_arg(list, int64_t));
		} else if (*types == 'd') {
			code = sqlite3_bind_double(statement, i, va_arg(list, double));
		} else if (*types == 't') {
			code = sqlite3_bind_text(
				statement, i, va_arg(list, const char *), -1, SQLITE_TRANSIENT);
		} else if (*types == 'b') {
			const void *bytes = va_arg(list, const void *);
			code = sqlite3_bind_blob64(
				statement, i, bytes, va_arg(list, size_t), SQLITE_STATIC);
		} else {
			code = sqlite3_bind_null(statement, i);
		}
	}
	va_end(list);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code != SQLITE_DONE)
		return fail(db, err);
	(void)sqlite3_reset(statement); /* tells the failure of the step once more */
	return 0;
}

static int prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	return sqlite3_prepare_v2(db, sql, -1, ret, NULL) == SQLITE_OK ? 0 : fail(db, err);
}

static int put_text(sqlite3 *db, const char *key, const char *value, struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *insert = NULL;
	int code = prepare(db, "INSERT INTO meta VALUES (?, ?)", &insert, err);
	return code < 0 ? code : put_row(db, insert, err, "tt", key, value);
}

static int put_meta(sqlite3 *db, const struct profile *profile, struct err *err)
{
	const struct profile_quality *quality = &profile->quality;
	const struct {
		const char *key;
		int64_t value;
	} integers[] = {
		{ "version", PROFILE_VERSION },
		{ "line_bytes", PROFILE_LINE_BYTES },
		{ "is_partial", quality->is_partial },
		{ "reuse_samples", (int64_t)quality->reuse_samples },
		{ "micro_traces", (int64_t)quality->micro_traces },
		{ "lost", (int64_t)quality->lost },
		{ "unmatched", (int64_t)quality->unmatched },
		{ "undecoded", (int64_t)quality->undecoded },
		{ "unpaced", (int64_t)quality->unpaced },
	};
	const struct {
		const char *key;
		double value;
	} reals[] = {
		{ "reuse_rate", quality->reuse_rate },
		{ "micro_period", quality->micro_period },
		{ "writers", quality->writers },
		{ "native_s", quality->native_s },
		{ "profiled_s", quality->profiled_s },
		{ "asking_share", quality->asking_share },
	};
	AUTO(sqlite3_stmt) sqlite3_stmt *insert = NULL;
	int code = prepare(db, "INSERT INTO meta VALUES (?, ?)", &insert, err);
	for (size_t i = 0; code == 0 && i < ARRAY_SIZE(integers); i++)
		code = put_row(db, insert, err, "ti", integers[i].key, integers[i].value);
	for (size_t i = 0; code == 0 && i < ARRAY_SIZE(reals); i++)
		code = put_row(db, insert, err, "td", reals[i].key, reals[i].value);
	if (code == 0)
		code = put_text(db, "backend", quality->backend, err);
	if (code == 0 && *quality->asking)
		code = put_text(db, "asking", quality->asking, err);
	if (code == 0 && profile->command)
		code = put_text(db, "command", profile->command, err);
	return code;
}

static int put_threads(sqlite3 *db, const struct profile *profile, struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *insert = NULL;
	int code = prepare(db, "INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?)", &insert, err);
	for (size_t i = 0; code == 0 && i < profile->thread_count; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		bool is_own = thread->counted_with == 0;
		code = put_row(db, insert, err, is_own ? "iiitii-" : "iiitiii", (int64_t)i,
			(int64_t)thread->pid, (int64_t)thread->tid, thread->name,
			(int64_t)thread->instructions, (int64_t)thread->accesses,
			(int64_t)thread->counted_with - 1);
	}
	return code;
}

static int put_mix(sqlite3 *db, sqlite3_stmt *insert, int64_t index,
	const struct profile_class *class, struct err *err)
{
	int code = 0;
	for (int i = 0; code == 0 && i < CODE_CLASSES; i++)
		if (class->mix[i] > 0)
			code = put_row(db, insert, err, "iti", index,
				code_class_name((enum code_class)i), (int64_t) class->mix[i]);
	return code;
}

static int put_system_calls(sqlite3 *db, const struct profile *profile, struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *insert = NULL;
	int code = prepare(db, "INSERT INTO system_calls VALUES (?, ?, ?)", &insert, err);
	for (size_t i = 0; code == 0 && i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		if (class->system_calls > 0)
			code = put_row(db, insert, err, "iii", (int64_t)i,
				(int64_t) class->system_calls, (int64_t) class->system_ns);
	}
	return code;
}

static int put_branches(sqlite3 *db, sqlite3_stmt *insert, int64_t index,
	const struct profile_class *class, struct err *err)
{
	int code = 0;
	for (int i = 0; code == 0 && i < PROFILE_HISTORIES; i++) {
		const struct profile_branches *branches = &class->branches[i];
		if (branches->executions > 0)
			code = put_row(db, insert, err, "iidddd", index, (int64_t)i,
				branches->executions, branches->entropy, branches->floor_entropy,
				branches->missed);
	}
	return code;
}

static int put_classes(sqlite3 *db, const struct profile *profile, struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *insert = NULL, *mix = NULL, *branches = NULL;
	int code = prepare(db, "INSERT INTO classes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		&insert, err);
	if (code == 0)
		code = prepare(db, "INSERT INTO mix VALUES (?, ?, ?)", &mix, err);
	if (code == 0)
		code = prepare(
			db, "INSERT INTO branches VALUES (?, ?, ?, ?, ?, ?)", &branches, err);
	for (size_t i = 0; code == 0 && i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		code = put_row(db, insert, err, "iiittiiiiiiii", (int64_t)i,
			(int64_t) class->thread, (int64_t) class->stretch,
			event_kind_word(class->kind), event_what_word(class->what),
			(int64_t) class->site, (int64_t) class->stretches,
			(int64_t) class->instructions, (int64_t) class->loads,
			(int64_t) class->stores, (int64_t) class->fetches,
			(int64_t) class->first_touches, (int64_t) class->first_touches_global);
		if (code == 0)
			code = put_mix(db, mix, (int64_t)i, class, err);
		if (code == 0)
			code = put_branches(db, branches, (int64_t)i, class, err);
	}
	return code;
}

static int put_codes(sqlite3 *db, const struct profile *profile, struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *insert = NULL;
	int code =
		prepare(db, "INSERT INTO codes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);
	for (size_t i = 0; code == 0 && i < profile->code_count; i++) {
		const struct code *row = &profile->codes[i];
		code = put_row(db, insert, err, "iitiiiiii", (int64_t)i, (int64_t)row->address,
			code_class_name((enum code_class)row->class), (int64_t)row->flags,
			(int64_t)row->bytes, (int64_t)row->data_bytes, (int64_t)row->reads,
			(int64_t)row->address_reads, (int64_t)row->writes);
	}
	return code;
}

/* What the numbers of bins and histories mean, for who asks by SQL. */
static int put_meanings(sqlite3 *db, struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *bin = NULL, *history = NULL;
	int code = prepare(db, "INSERT INTO bins VALUES (?, ?)", &bin, err);
	for (unsigned i = 0; code == 0 && i < REUSE_INFINITE; i++)
		if (reuse_bin_least(i) <= INT64_MAX)
			code = put_row(db, bin, err, "ii", (int64_t)i, (int64_t)reuse_bin_least(i));
	if (code == 0)
		code = prepare(
			db, "INSERT INTO histories VALUES (?, ?, ?, ?, ?, ?)", &history, err);
	for (int i = 0; code == 0 && i < PROFILE_HISTORIES; i++)
		code = put_row(db, history, err, "iiiiii", (int64_t)i,
			(int64_t)profile_histories[i].is_local, (int64_t)profile_histories[i].bits,
			(int64_t)profile_histories[i].is_choice,
			(int64_t)profile_histories[i].is_jump, (int64_t)profile_histories[i].kib);
	return code;
}

static int put_reuse(sqlite3 *db, const struct profile *profile, struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *insert = NULL;
	int code = prepare(db, "INSERT INTO reuse VALUES (?, ?, ?, ?, ?, ?)", &insert, err);
	for (size_t i = 0; code == 0 && i < profile->reuse_count; i++) {
		const struct profile_reuse *reuse = &profile->reuse[i];
		const char *scope = profile_scope_names[reuse->scope];
		if (reuse->code == PROFILE_NO_CODE)
			code = put_row(db, insert, err, "i-tiid", (int64_t)reuse->class, scope,
				(int64_t)reuse->bin, (int64_t)reuse->samples, reuse->count);
		else
			code = put_row(db, insert, err, "iitiid", (int64_t)reuse->class,
				(int64_t)reuse->code, scope, (int64_t)reuse->bin,
				(int64_t)reuse->samples, reuse->count);
	}
	return code;
}

static int put_micro(sqlite3 *db, const struct profile *profile, struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *insert = NULL;
	int code = prepare(db, "INSERT INTO micro_traces VALUES (?, ?, ?, ?, ?)", &insert, err);
	size_t room = ZSTD_compressBound(PROFILE_TRACE_OPS_MAX * sizeof(struct micro_op));
	AUTO_FREE void *packed = malloc(room);
	if (!packed)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; code == 0 && i < profile->micro_count; i++) {
		const struct micro_trace *micro = &profile->micro[i];
		if (micro->count > PROFILE_TRACE_OPS_MAX)
			return err_set(
				err, -EFBIG, "a micro-trace of %u instructions", micro->count);
		size_t bytes = ZSTD_compress(packed, room, micro->ops,
			micro->count * sizeof(struct micro_op), ZSTD_LEVEL);
		if (ZSTD_isError(bytes))
			return err_set(err, -EIO, "cannot pack a micro-trace: %s",
				ZSTD_getErrorName(bytes));
		code = put_row(db, insert, err, "iiidb", (int64_t)i, (int64_t)micro->class,
			(int64_t)micro->count, micro->weight, packed, bytes);
	}
	return code;
}

/* What threads did to one another, by object and place. */

struct tally {
	uint64_t object, site, count;
	uint32_t pid, tid;
	uint8_t kind, what;
};

struct tallies {
	struct map
		places; /* by a hash: index of a tally; others with the same hash follow by probing */
	struct tally *items;
	size_t count, capacity;
};

static void tallies_release(struct tallies *tallies)
{
	map_release(&tallies->places);
	free(tallies->items);
}

static int tally_event(struct tallies *tallies, const struct event *event)
{
	uint64_t who = (uint64_t)event->pid << 32 | event->tid;
	uint64_t where = event->object * UINT64_C(0x9e3779b97f4a7c15) ^ event->site << 16 ^
			 (uint64_t)event->kind << 8 ^ event->what;
	uint64_t *index = NULL;
	for (;; where++) {
		int added = map_add(&tallies->places, who, where, tallies->count, &index);
		if (added < 0)
			return added;
		if (added)
			break;
		struct tally *known = &tallies->items[*index];
		if (known->object == event->object && known->site == event->site &&
			known->kind == event->kind && known->what == event->what) {
			known->count++;
			return 0;
		}
	}
	if (mem_grow(&tallies->items, &tallies->capacity, tallies->count + 1,
		    sizeof *tallies->items) < 0)
		return -ENOMEM;
	tallies->items[tallies->count++] = (struct tally){ event->object, event->site, 1,
		event->pid, event->tid, event->kind, event->what };
	return 0;
}

static int tally_timeline(const struct profile *profile, struct tallies *tallies, struct err *err)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	struct event event;
	int code = trace_reader_open_bytes(
		profile->timeline, profile->timeline_bytes, "the timeline", &reader, err);
	while (code == 0 && (code = trace_reader_next(reader, &event, err)) > 0) {
		bool counts = event.kind == EVENT_WAIT || event.kind == EVENT_PASS ||
			      event.kind == EVENT_RELEASE || event.kind == EVENT_TRY_FAILED;
		code = counts ? tally_event(tallies, &event) : 0;
		if (code < 0)
			return err_set(err, code, "out of memory");
	}
	return code;
}

static int put_timeline(sqlite3 *db, const struct profile *profile, struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *sync = NULL, *timeline = NULL;
	AUTO_RELEASE(tallies) struct tallies tallies = { 0 };
	if (!profile->timeline)
		return 0;
	int code = tally_timeline(profile, &tallies, err);
	if (code == 0)
		code = prepare(db, "INSERT INTO sync VALUES (?, ?, ?, ?, ?, ?, ?)", &sync, err);
	for (size_t i = 0; code == 0 && i < tallies.count; i++) {
		const struct tally *tally = &tallies.items[i];
		code = put_row(db, sync, err, "iittiii", (int64_t)tally->pid, (int64_t)tally->tid,
			event_kind_word(tally->kind), event_what_word(tally->what),
			(int64_t)tally->object, (int64_t)tally->site, (int64_t)tally->count);
	}
	if (code == 0)
		code = prepare(db, "INSERT INTO timeline VALUES (?)", &timeline, err);
	if (code == 0)
		code = put_row(db, timeline, err, "b", profile->timeline, profile->timeline_bytes);
	return code;
}

static int put_names(sqlite3 *db, const struct profile *profile, struct err *err)
{
	AUTO(sqlite3_stmt) sqlite3_stmt *insert = NULL;
	int code = prepare(db, "INSERT OR IGNORE INTO names VALUES (?, ?, ?, ?, ?)", &insert, err);
	for (size_t i = 0; code == 0 && i < profile->name_count; i++) {
		const struct profile_name *name = &profile->names[i];
		code = put_row(db, insert, err, name->file ? "iitti" : "iit--", (int64_t)name->pid,
			(int64_t)name->address, name->name, name->file, (int64_t)name->line);
	}
	return code;
}

static int run(sqlite3 *db, const char *sql, struct err *err)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(db, err);
}

int profile_write(
	const struct profile *profile, void **ret_bytes, size_t *ret_count, struct err *err)
{
	static int (*const parts[])(sqlite3 *, const struct profile *, struct err *) = { put_meta,
		put_threads, put_classes, put_system_calls, put_codes, put_reuse, put_micro,
		put_timeline, put_names };
	AUTO(sqlite3) sqlite3 *db = NULL;
	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		return err_set(err, -ENOMEM, "cannot make the profile: out of memory");
	int code = run(db, profile_schema, err);
	if (code == 0)
		code = run(db, "BEGIN", err);
	if (code == 0)
		code = put_meanings(db, err);
	for (size_t i = 0; code == 0 && i < ARRAY_SIZE(parts); i++)
		code = parts[i](db, profile, err);
	if (code == 0)
		code = run(db, "COMMIT", err);
	if (code < 0)
		return code;
	sqlite3_int64 count = 0;
	unsigned char *image = sqlite3_serialize(db, "main", &count, 0);
	if (!image)
		return err_set(err, -ENOMEM, "cannot make the profile: out of memory");
	void *bytes = malloc((size_t)count); /* free() is not SQLite's */
	if (bytes)
		memcpy(bytes, image, (size_t)count);
	sqlite3_free(image);
	if (!bytes)
		return err_set(err, -ENOMEM, "cannot make the profile: out of memory");
	*ret_bytes = bytes;
	*ret_count = (size_t)count;
	return 0;
}
