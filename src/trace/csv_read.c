/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/csv_read.h"

#include "base/cleanup.h"
#include "base/csv.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/number.h"
#include "preload/trace_record.h"
#include "trace/csv_names.h"
#include "trace/vocabulary.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum column {
	COLUMN_TIME,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_EVENT,
	COLUMN_WHAT,
	COLUMN_OBJECT,
	COLUMN_SITE,
	COLUMN_VALUE,
	COLUMN_WOKEN,
	COLUMN_CPU,
	COLUMN_FLAGS,
	COLUMN_TEXT,
	COLUMN_COUNT,
};

static const char *const column_names[COLUMN_COUNT] = { "time_ns", "pid", "tid", "event", "what",
	"object", "site", "value", "woken_ns", "cpu_ns", "flags", "text" };

struct reading {
	struct lines lines;
	struct csv_fields fields;
	size_t at[COLUMN_COUNT]; /* field of each column; SIZE_MAX: not in the file */
	struct csv_names names;
	struct map waiting; /* (process, thread): its last event of a wait was WAIT */
	const struct event_sink *sink;
	uint64_t last_ns;
	struct timeline_csv_notes notes;
	unsigned last_line;
};

static void reading_release(struct reading *reading)
{
	lines_release(&reading->lines);
	csv_fields_release(&reading->fields);
	csv_names_release(&reading->names);
	map_release(&reading->waiting);
}

/* "# NAME: NUMBER" with a name that is ours; other comments are comments. */
static int read_note(struct reading *reading, const char *text, struct err *err)
{
	uint64_t cores = reading->notes.cores, online = reading->notes.cores_online;
	struct trace_wakes *wakes = &reading->notes.wakes;
	uint64_t cost = wakes->cost_ns, latency = wakes->latency_ns, doze = wakes->doze_ns;
	const struct {
		const char *mark;
		uint64_t max, *number;
	} notes[] = { { "# end_ns:", UINT64_MAX, &reading->notes.end_ns },
		{ "# cores:", TRACE_CORES_MAX, &cores },
		{ "# cores_online:", TRACE_CORES_MAX, &online },
		{ "# wake_cost_ns:", TRACE_WAKE_MAX_NS, &cost },
		{ "# wake_latency_ns:", TRACE_WAKE_MAX_NS, &latency },
		{ "# doze_ns:", TRACE_WAKE_MAX_NS, &doze },
		{ "# others_ns:", UINT64_MAX, &reading->notes.others.cpu_ns },
		{ "# others_wall_ns:", UINT64_MAX, &reading->notes.others.wall_ns },
		{ "# own_locks_ns:", UINT64_MAX, &reading->notes.own.locks_ns },
		{ "# own_rest_ns:", UINT64_MAX, &reading->notes.own.rest_ns } };
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		size_t length = strlen(notes[i].mark);
		if (strncmp(text, notes[i].mark, length) != 0)
			continue;
		if (number_parse_u64(text + length, notes[i].number) < 0 ||
			*notes[i].number > notes[i].max)
			return lines_fail(&reading->lines, err, "%.*s is not a number%s",
				(int)length - 3, notes[i].mark + 2,
				notes[i].max == TRACE_CORES_MAX     ? " of cores"
				: notes[i].max == TRACE_WAKE_MAX_NS ? " of ns up to 0.1 s"
								    : "");
	}
	reading->notes.cores = (uint32_t)cores;
	reading->notes.cores_online = (uint32_t)online;
	*wakes = (struct trace_wakes){ (uint32_t)cost, (uint32_t)latency, (uint32_t)doze };
	return 0;
}

/* The next line with fields: 1, 0 at the end. Comments may tell something of the recording. */
static int next_row(struct reading *reading, struct err *err)
{
	struct lines *lines = &reading->lines;
	int code;
	while ((code = lines_next(lines, err)) > 0) {
		const char *text = lines->text + strspn(lines->text, " \t");
		if (*text == '\0')
			continue;
		code = *text == '#' ? read_note(reading, text, err)
				    : csv_split(&reading->fields, lines, err);
		if (code < 0 || *text != '#')
			return code < 0 ? code : 1;
	}
	return code;
}

static int read_header(struct reading *reading, struct err *err)
{
	struct lines *lines = &reading->lines;
	int code = next_row(reading, err);
	if (code == 0)
		return err_set(err, -EINVAL,
			"%s: empty: a timeline begins with a line that names "
			"the columns",
			lines->name);
	if (code < 0)
		return code;
	for (size_t column = 0; column < COLUMN_COUNT; column++)
		reading->at[column] = SIZE_MAX;
	for (size_t i = 0; i < reading->fields.count; i++) {
		size_t column = 0;
		while (column < COLUMN_COUNT &&
			strcmp(column_names[column], reading->fields.items[i]) != 0)
			column++;
		if (column == COLUMN_COUNT)
			return lines_fail(lines, err, "a timeline has no column '%s'%s",
				text_show(reading->fields.items[i]).text,
				strcmp(reading->fields.items[i], "threads") == 0
					? ": measurements are for 'corecast forecast'"
					: "");
		if (reading->at[column] != SIZE_MAX)
			return lines_fail(lines, err, "column '%s' twice", column_names[column]);
		reading->at[column] = i;
	}
	static const enum column needed[] = { COLUMN_TIME, COLUMN_TID, COLUMN_EVENT };
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (reading->at[needed[i]] == SIZE_MAX)
			return lines_fail(lines, err, "no column '%s'", column_names[needed[i]]);
	return 0;
}

/* "" if the column is not in the file or the row is shorter. */
static const char *field(const struct reading *reading, enum column column)
{
	size_t at = reading->at[column];
	return at < reading->fields.count ? reading->fields.items[at] : "";
}

/* A number of at most `max`; `otherwise` if the field is empty. */
static int read_number(const struct reading *reading, enum column column, uint64_t max,
	uint64_t otherwise, uint64_t *ret, struct err *err)
{
	const char *text = field(reading, column);
	uint64_t number = otherwise;
	if (*text && number_parse_u64(text, &number) < 0)
		return lines_fail(&reading->lines, err, "%s: '%s' is not a number",
			column_names[column], text_show(text).text);
	if (number > max)
		return lines_fail(&reading->lines, err, "%s: %s is too large", column_names[column],
			text_show(text).text);
	*ret = number;
	return 0;
}

static int read_words(const struct reading *reading, struct event *event, struct err *err)
{
	int kind = event_kind_parse(field(reading, COLUMN_EVENT));
	int what = event_what_parse(field(reading, COLUMN_WHAT));
	int flags = event_flags_parse(field(reading, COLUMN_FLAGS));
	if (kind <= 0)
		return lines_fail(&reading->lines, err, "there is no event '%s'",
			text_show(field(reading, COLUMN_EVENT)).text);
	if (what < 0)
		return lines_fail(&reading->lines, err, "what: there is no '%s'",
			text_show(field(reading, COLUMN_WHAT)).text);
	if (flags < 0)
		return lines_fail(&reading->lines, err, "flags: '%s' is none",
			text_show(field(reading, COLUMN_FLAGS)).text);
	event->kind = (uint8_t)kind;
	event->what = (uint8_t)what;
	event->flags = (uint16_t)flags;
	return 0;
}

/* The name of the object is told to the sink before it is used first. */
static int tell_name(struct reading *reading, const struct event *event, unsigned what,
	uint64_t object, const char *text, struct err *err)
{
	int code = csv_names_is_new(&reading->names, event->pid, what, object);
	if (code <= 0)
		return code < 0 ? err_set(err, code, "out of memory") : 0;
	struct event name = { .time_ns = event->time_ns,
		.pid = event->pid,
		.tid = event->tid,
		.kind = EVENT_NAME,
		.what = (uint8_t)what,
		.object = object,
		.text = text };
	return sink_event(reading->sink, &name, err);
}

/* A thread's number, or the number that its name has been given. */
static int read_thread(struct reading *reading, const char *text, struct event *event,
	uint64_t *ret, struct err *err)
{
	if (number_parse_u64(text, ret) == 0)
		return *ret <= TRACE_TID_MAX ? 0
					     : lines_fail(&reading->lines, err,
						       "thread numbers go up to %d", TRACE_TID_MAX);
	int code = csv_names_thread(&reading->names, text, ret);
	if (code < 0)
		return err_set(err, code, "out of memory");
	if (event->tid == 0)
		event->tid = (uint32_t)*ret;
	return tell_name(reading, event, WHAT_THREAD, *ret, text, err);
}

static int read_object(struct reading *reading, const char *text, const struct event *event,
	unsigned what, uint64_t *ret, struct err *err)
{
	if (number_parse_u64(text, ret) == 0)
		return 0;
	if (isdigit((unsigned char)*text))
		return lines_fail(&reading->lines, err, "'%s' is neither a number nor a name",
			text_show(text).text);
	if (what == WHAT_NONE)
		return lines_fail(&reading->lines, err,
			"'%s' is the name of what? The column 'what' tells", text_show(text).text);
	int code = csv_names_object(&reading->names, text, ret);
	if (code < 0)
		return err_set(err, code, "out of memory");
	return tell_name(reading, event, what, *ret, text, err);
}

static bool is_region(const struct event *event)
{
	return event->kind == EVENT_REGION_BEGIN || event->kind == EVENT_REGION_END;
}

/* What `value` may name: the mutex of a condition wait, or a thread (joined, parent, waker). */
static int read_value(struct reading *reading, struct event *event, struct err *err)
{
	const char *text = field(reading, COLUMN_VALUE);
	if (!*text || number_parse_u64(text, &event->value) == 0)
		return 0;
	if (event->kind == EVENT_WAIT && event->what == WHAT_COND)
		return read_object(reading, text, event, WHAT_MUTEX, &event->value, err);
	if (event->kind == EVENT_THREAD_START || event->kind == EVENT_WOKEN ||
		event->kind == EVENT_WAIT || event->kind == EVENT_PASS)
		return read_thread(reading, text, event, &event->value, err);
	return lines_fail(
		&reading->lines, err, "value: '%s' is not a number", text_show(text).text);
}

/* Undoes what csv_write.c does to texts, in place. */
static int unescape(const struct reading *reading, char *text, struct err *err)
{
	char *out = text;
	for (const char *p = text; *p; p++) {
		if (*p != '\\') {
			*out++ = *p;
		} else if (p[1] == 'x' && isxdigit((unsigned char)p[2]) &&
			   isxdigit((unsigned char)p[3])) {
			*out++ = (char)strtoul((char[]){ p[2], p[3], '\0' }, NULL, 16);
			p += 3;
		} else if (p[1] == 'n' || p[1] == '\\') {
			*out++ = p[1] == 'n' ? '\n' : '\\';
			p++;
		} else {
			return lines_fail(&reading->lines, err,
				"text: after a backslash comes another, n, or x and two digits");
		}
	}
	*out = '\0';
	return 0;
}

static int read_text(const struct reading *reading, struct event *event, struct err *err)
{
	size_t at = reading->at[COLUMN_TEXT];
	static char none[1];
	char *text = at < reading->fields.count ? reading->fields.items[at] : none;
	if (event->kind == EVENT_NAME)
		event->text = text;
	else if (*text)
		return lines_fail(&reading->lines, err, "only events 'name' have a text");
	return *text ? unescape(reading, text, err) : 0;
}

/* Without a column of flags, who waits before it passes has waited. */
static int derive_flags(struct reading *reading, struct event *event, struct err *err)
{
	uint64_t *is_waiting;
	if (reading->at[COLUMN_FLAGS] != SIZE_MAX ||
		(event->kind != EVENT_WAIT && event->kind != EVENT_PASS))
		return 0;
	if (map_add(&reading->waiting, event->pid, event->tid, false, &is_waiting) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (event->kind == EVENT_PASS && *is_waiting)
		event->flags = EVENT_WAITED;
	*is_waiting = event->kind == EVENT_WAIT;
	return 0;
}

static int check_time(struct reading *reading, const struct event *event, struct err *err)
{
	if (event->time_ns < reading->last_ns)
		return lines_fail(&reading->lines, err,
			"time %llu is before that of line %u: rows come in order of time",
			(unsigned long long)event->time_ns, reading->last_line);
	reading->last_ns = event->time_ns;
	reading->last_line = reading->lines.number;
	return 0;
}

/* The columns that hold numbers only. */
static int read_numbers(struct reading *reading, struct event *event, struct err *err)
{
	uint64_t pid = 0;
	int code = *field(reading, COLUMN_TIME)
			   ? read_number(reading, COLUMN_TIME, UINT64_MAX, 0, &event->time_ns, err)
			   : lines_fail(&reading->lines, err, "no time");
	if (code == 0)
		code = read_number(reading, COLUMN_PID, UINT32_MAX, 1, &pid, err);
	if (code == 0)
		code = read_number(reading, COLUMN_SITE, UINT64_MAX, 0, &event->site, err);
	if (code == 0)
		code = read_number(reading, COLUMN_WOKEN, UINT64_MAX, 0, &event->woken_ns, err);
	if (code == 0)
		code = read_number(reading, COLUMN_CPU, UINT64_MAX, 0, &event->cpu_ns, err);
	if (code == 0 && event->woken_ns > event->time_ns)
		return lines_fail(&reading->lines, err, "woken_ns is after time_ns");
	event->pid = (uint32_t)pid;
	return code;
}

static int read_row(struct reading *reading, struct event *event, struct err *err)
{
	uint64_t tid = 0;
	*event = (struct event){ 0 };
	if (reading->fields.count > 0 && !*field(reading, COLUMN_TID))
		return lines_fail(&reading->lines, err, "no thread (tid)");
	int code = read_words(reading, event, err);
	if (code == 0)
		code = read_numbers(reading, event, err);
	if (code == 0)
		code = check_time(reading, event, err);
	if (code == 0)
		code = read_thread(reading, field(reading, COLUMN_TID), event, &tid, err);
	event->tid = (uint32_t)tid;
	const char *object = field(reading, COLUMN_OBJECT);
	if (code == 0 && *object)
		code = read_object(reading, object, event,
			is_region(event) ? WHAT_REGION : event->what, &event->object, err);
	if (code == 0)
		code = read_value(reading, event, err);
	if (code == 0)
		code = read_text(reading, event, err);
	return code < 0 ? code : derive_flags(reading, event, err);
}

static int read_rows(struct reading *reading, struct timeline_csv_notes *ret_notes, struct err *err)
{
	struct event event;
	int code = read_header(reading, err);
	if (code < 0)
		return code;
	while ((code = next_row(reading, err)) > 0) {
		code = read_row(reading, &event, err);
		if (code < 0)
			return code;
		code = sink_event(reading->sink, &event, err);
		if (code < 0)
			return err_prefix(
				err, code, "%s:%u", reading->lines.name, reading->lines.number);
	}
	if (code < 0)
		return code;
	if (reading->notes.end_ns < reading->last_ns)
		reading->notes.end_ns = reading->last_ns;
	if (ret_notes)
		*ret_notes = reading->notes;
	return sink_finish(reading->sink, reading->notes.end_ns, err);
}

int timeline_csv_read(FILE *in, const char *name, const struct event_sink *sink,
	struct timeline_csv_notes *ret_notes, struct err *err)
{
	AUTO_RELEASE(reading)
	struct reading reading = { .lines = { .in = in, .name = name }, .sink = sink };
	return read_rows(&reading, ret_notes, err);
}
