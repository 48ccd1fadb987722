/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trace Event Format: times are microseconds, with three decimals here, from the first event on, so
 * that a double holds them. "X" is a slice with a duration, written when it ends; "B" and "E" a
 * region; "b" and "e" a request, which may overlap others; "C" a counter; "i" an instant; "M" a
 * name.
 *
 *	           WAIT                WOKEN                 PASS
 *	active ---------> slice "mutex x" ---> slice "no core" ---> active
 *	   |  PREEMPT                                RUN
 *	   +------------> slice "preempted" ---------------> active
 */
#include "report/perfetto.h"

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "report/timeline_json.h"
#include "trace/vocabulary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum row_state { ROW_ACTIVE, ROW_WAITING, ROW_NO_CORE, ROW_PREEMPTED };

/* A thread that lives. */
struct row {
	uint64_t since_ns; /* of the state */
	uint64_t object, site;
	uint32_t pid, tid;
	uint8_t state; /* enum row_state */
	uint8_t what;
};

struct perfetto {
	FILE *out;
	const struct event_names *names;
	struct row *rows;
	size_t row_count, row_capacity;
	struct map index; /* (process, thread) -> row */
	struct map active; /* (process, 0) -> active threads */
	uint64_t first_ns;
	bool has_begun; /* an event was written */
};

static void perfetto_release(struct perfetto *perfetto)
{
	free(perfetto->rows);
	map_release(&perfetto->index);
	map_release(&perfetto->active);
}

static void put_us(const struct perfetto *perfetto, const char *key, uint64_t ns)
{
	fprintf(perfetto->out, ", \"%s\": %" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/* What every event begins with; name and what else follow. */
static void begin(struct perfetto *perfetto, char phase, uint32_t pid, uint32_t tid, uint64_t ns)
{
	fputs(perfetto->has_begun ? ",\n" : "\n", perfetto->out);
	perfetto->has_begun = true;
	fprintf(perfetto->out, "{\"ph\": \"%c\", \"pid\": %u, \"tid\": %u", phase, pid, tid);
	put_us(perfetto, "ts", ns - perfetto->first_ns);
}

/* "mutex NAME", "mutex 0x55…", "sleep". */
static int put_subject(struct perfetto *perfetto, const char *prefix, uint32_t pid, unsigned what,
	uint64_t object, struct err *err)
{
	AUTO_FREE char *text = NULL;
	const char *name = event_names_find(perfetto->names, pid, what, object);
	int length;
	if (name)
		length = asprintf(&text, "%s%s %s", prefix, event_what_word(what), name);
	else if (object)
		length = asprintf(&text, "%s%s 0x%" PRIx64, prefix, event_what_word(what), object);
	else
		length = asprintf(&text, "%s%s", prefix, event_what_word(what));
	if (length < 0) {
		text = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	fputs(", \"name\": ", perfetto->out);
	return timeline_json_text(perfetto->out, text, err);
}

/* The call that a wait began with. */
static int put_site(struct perfetto *perfetto, const struct row *row, struct err *err)
{
	const char *name = event_names_find(perfetto->names, row->pid, WHAT_NONE, row->site);
	if (name)
		return timeline_json_text(perfetto->out, name, err);
	fprintf(perfetto->out, "\"0x%" PRIx64 "\"", row->site);
	return 0;
}

/* Ends the slice of the row's state at ns. `waker`: 0 if unknown. */
static int put_slice(struct perfetto *perfetto, const struct row *row, uint64_t ns, uint64_t waker,
	struct err *err)
{
	int code = 0;
	if (row->state == ROW_ACTIVE)
		return 0;
	begin(perfetto, 'X', row->pid, row->tid, row->since_ns);
	put_us(perfetto, "dur", ns - row->since_ns);
	if (row->state != ROW_WAITING) {
		fprintf(perfetto->out, ", \"cat\": \"core\", \"name\": \"%s\"}",
			row->state == ROW_NO_CORE ? "no core" : "preempted");
		return 0;
	}
	fputs(", \"cat\": \"wait\"", perfetto->out);
	code = put_subject(perfetto, "", row->pid, row->what, row->object, err);
	fputs(", \"args\": {\"site\": ", perfetto->out);
	if (code == 0)
		code = put_site(perfetto, row, err);
	if (waker)
		fprintf(perfetto->out, ", \"woken_by\": %" PRIu64, waker);
	fputs("}}", perfetto->out);
	return code;
}

static int count_active(
	struct perfetto *perfetto, uint32_t pid, uint64_t ns, int change, struct err *err)
{
	uint64_t *active;
	if (map_add(&perfetto->active, pid, 0, 0, &active) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*active += (uint64_t)(int64_t)change;
	begin(perfetto, 'C', pid, pid, ns);
	fprintf(perfetto->out,
		", \"name\": \"active threads\", \"args\": {\"count\": %" PRIu64 "}}", *active);
	return 0;
}

static bool is_active(enum row_state state)
{
	return state != ROW_WAITING;
}

/* From one state into the next: a slice ends, and the count of active threads may change. */
static int change_state(struct perfetto *perfetto, struct row *row, enum row_state state,
	const struct event *event, struct err *err)
{
	enum row_state before = row->state;
	int code = put_slice(perfetto, row, event->time_ns,
		event->kind == EVENT_WOKEN || event->kind == EVENT_PASS ? event->value : 0, err);
	row->state = (uint8_t)state;
	row->since_ns = event->time_ns;
	row->what = event->what;
	row->object = event->object;
	row->site = event->site;
	if (code == 0 && is_active(before) != is_active(state))
		code = count_active(
			perfetto, row->pid, event->time_ns, is_active(state) ? 1 : -1, err);
	return code;
}

static int add_row(
	struct perfetto *perfetto, const struct event *event, uint64_t **ret, struct err *err)
{
	int code = map_add(&perfetto->index, event->pid, event->tid, perfetto->row_count, ret);
	if (code == 0)
		return 0;
	if (code < 0 || mem_grow(&perfetto->rows, &perfetto->row_capacity, perfetto->row_count + 1,
				sizeof *perfetto->rows) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	perfetto->rows[perfetto->row_count++] =
		(struct row){ .pid = event->pid, .tid = event->tid, .since_ns = event->time_ns };
	return count_active(perfetto, event->pid, event->time_ns, 1, err);
}

/* The last row takes the place of one that is over. */
static int remove_row(
	struct perfetto *perfetto, size_t at, const struct event *event, struct err *err)
{
	struct row *row = &perfetto->rows[at];
	int code = put_slice(perfetto, row, event->time_ns, 0, err);
	if (code == 0 && is_active(row->state))
		code = count_active(perfetto, row->pid, event->time_ns, -1, err);
	(void)map_remove(&perfetto->index, row->pid, row->tid);
	const struct row *last = &perfetto->rows[--perfetto->row_count];
	if (last != row) {
		*row = *last;
		*map_find(&perfetto->index, row->pid, row->tid) = at;
	}
	return code;
}

static int put_name(struct perfetto *perfetto, const struct event *event, struct err *err)
{
	bool is_thread = event->what == WHAT_THREAD;
	if (!is_thread && event->what != WHAT_PROGRAM)
		return 0;
	begin(perfetto, 'M', event->pid, is_thread ? (uint32_t)event->object : event->pid,
		perfetto->first_ns);
	fprintf(perfetto->out, ", \"name\": \"%s\", \"args\": {\"name\": ",
		is_thread ? "thread_name" : "process_name");
	int code = timeline_json_text(perfetto->out, event->text, err);
	fputs("}}", perfetto->out);
	return code;
}

static int put_instant(struct perfetto *perfetto, const struct event *event, struct err *err)
{
	int code = 0;
	begin(perfetto, 'i', event->pid, event->tid, event->time_ns);
	if (event->kind == EVENT_LOST)
		fprintf(perfetto->out,
			", \"s\": \"%c\", \"name\": \"lost events\", \"args\": {\"count\": %" PRIu64
			"}",
			event->tid ? 't' : 'g', event->value);
	else
		code = put_subject(
			perfetto, "failed try: ", event->pid, event->what, event->object, err);
	fputs(event->kind == EVENT_LOST ? "}" : ", \"s\": \"t\"}", perfetto->out);
	return code;
}

static int put_region(struct perfetto *perfetto, const struct event *event, struct err *err)
{
	begin(perfetto, event->kind == EVENT_REGION_BEGIN ? 'B' : 'E', event->pid, event->tid,
		event->time_ns);
	int code = put_subject(perfetto, "", event->pid, WHAT_REGION, event->object, err);
	fputs(", \"cat\": \"region\"}", perfetto->out);
	return code;
}

static void put_request(struct perfetto *perfetto, const struct event *event)
{
	begin(perfetto, event->kind == EVENT_REQUEST_BEGIN ? 'b' : 'e', event->pid, event->tid,
		event->time_ns);
	fprintf(perfetto->out,
		", \"cat\": \"request\", \"name\": \"request\", \"id\": \"0x%" PRIx64 "\"}",
		event->value);
}

/* What is seen of threads from outside: of requests to disks when the device had them. */
static void put_aside(struct perfetto *perfetto, const struct event *event)
{
	if (!event_kind_is_disk(event->kind))
		return;
	begin(perfetto,
		event->kind == EVENT_DISK_QUEUE   ? 'b'
		: event->kind == EVENT_DISK_START ? 'n'
						  : 'e',
		event->pid, event->tid, event->time_ns);
	fprintf(perfetto->out,
		", \"cat\": \"disk\", \"name\": \"%s\", \"id\": \"0x%" PRIx64
		"\", \"args\": {\"bytes\": %u}}",
		event->kind == EVENT_DISK_START ? "device"
		: event->flags & EVENT_FLUSH    ? "disk flush"
		: event->flags & EVENT_WRITE    ? "disk write"
						: "disk read",
		event->object, event_disk_bytes(event->value));
}

/* Events that change the state of their thread. */
static int put_change(
	struct perfetto *perfetto, size_t at, const struct event *event, struct err *err)
{
	struct row *row = &perfetto->rows[at];
	enum row_state state = row->state;
	switch (event->kind) {
	case EVENT_WAIT:
		return change_state(perfetto, row, ROW_WAITING, event, err);
	case EVENT_WOKEN:
		state = state == ROW_WAITING ? ROW_NO_CORE : state;
		break;
	case EVENT_PASS:
		state = ROW_ACTIVE;
		break;
	case EVENT_RUN:
		state = state == ROW_WAITING ? state : ROW_ACTIVE;
		break;
	case EVENT_PREEMPT:
		state = state == ROW_ACTIVE ? ROW_PREEMPTED : state;
		break;
	case EVENT_THREAD_EXIT:
		return remove_row(perfetto, at, event, err);
	default:
		break;
	}
	return state != row->state ? change_state(perfetto, row, state, event, err) : 0;
}

static int put_event(struct perfetto *perfetto, const struct event *event, struct err *err)
{
	uint64_t *at;
	if (event->kind == EVENT_NAME)
		return put_name(perfetto, event, err);
	if (event->kind == EVENT_LOST)
		return put_instant(perfetto, event, err);
	if (event_is_aside(event)) {
		put_aside(perfetto, event);
		return 0;
	}
	int code = add_row(perfetto, event, &at, err);
	if (code < 0)
		return code;
	switch (event->kind) {
	case EVENT_TRY_FAILED:
		return put_instant(perfetto, event, err);
	case EVENT_REGION_BEGIN:
	case EVENT_REGION_END:
		return put_region(perfetto, event, err);
	case EVENT_REQUEST_BEGIN:
	case EVENT_REQUEST_END:
		put_request(perfetto, event);
		return 0;
	default:
		return put_change(perfetto, (size_t)*at, event, err);
	}
}

/* Who still waits does so until the end. */
static int put_rest(struct perfetto *perfetto, uint64_t end_ns, struct err *err)
{
	int code = 0;
	for (size_t i = 0; i < perfetto->row_count && code == 0; i++)
		code = put_slice(perfetto, &perfetto->rows[i], end_ns, 0, err);
	return code;
}

int perfetto_write(
	FILE *out, struct trace_reader *reader, const struct event_names *names, struct err *err)
{
	AUTO_RELEASE(perfetto) struct perfetto perfetto = { .out = out, .names = names };
	struct event event;
	bool is_first = true;
	int code;
	fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", out);
	while ((code = trace_reader_next(reader, &event, err)) > 0) {
		if (is_first)
			perfetto.first_ns = event.time_ns;
		is_first = false;
		code = put_event(&perfetto, &event, err);
		if (code == 0 && ferror(out))
			code = err_set(err, -EIO, "cannot write: %s", strerror(errno));
		if (code < 0)
			return code;
	}
	if (code == 0)
		code = put_rest(&perfetto, trace_reader_quality(reader)->end_ns, err);
	fprintf(out, "\n], \"otherData\": {\"first_event_ns\": \"%" PRIu64 "\"}}\n",
		perfetto.first_ns);
	return code;
}
