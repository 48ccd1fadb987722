/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Written event by event, one on a line: a timeline has millions, which need not be in memory at
 * once. Only texts go through the JSON library.
 */
#include "report/timeline_json.h"

#include "base/cleanup.h"
#include "report/json.h"
#include "trace/vocabulary.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int timeline_json_text(FILE *out, const char *text, struct err *err)
{
	json_t *value = json_text(text);
	AUTO_FREE char *dump = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
	json_decref(value);
	if (!dump)
		return err_set(err, -ENOMEM, "out of memory");
	fputs(dump, out);
	return 0;
}

/* What is 0 is left out. Addresses are text: JSON's numbers are exact up to 2^53 only. */
static void put_number(FILE *out, const char *key, uint64_t number)
{
	if (number)
		fprintf(out, ", \"%s\": %" PRIu64, key, number);
}

static void put_address(FILE *out, const char *key, uint64_t address)
{
	if (address)
		fprintf(out, ", \"%s\": \"0x%" PRIx64 "\"", key, address);
}

static void put_flags(FILE *out, unsigned flags)
{
	if (!flags)
		return;
	const char *separator = ", \"flags\": [";
	for (unsigned bit = 0; bit < EVENT_FLAG_BITS; bit++) {
		if (!(flags >> bit & 1))
			continue;
		fprintf(out, "%s\"%s\"", separator, event_flag_word(bit));
		separator = ", ";
	}
	fputs("]", out);
}

static int put_event(FILE *out, const struct event *event, struct err *err)
{
	fprintf(out, "{\"time_ns\": %" PRIu64 ", \"pid\": %u, \"tid\": %u, \"event\": \"%s\"",
		event->time_ns, event->pid, event->tid, event_kind_word(event->kind));
	if (event->what)
		fprintf(out, ", \"what\": \"%s\"", event_what_word(event->what));
	put_address(out, "object", event->object);
	put_address(out, "site", event->site);
	put_number(out, "value", event->value);
	put_number(out, "woken_ns", event->woken_ns);
	put_number(out, "cpu_ns", event->cpu_ns);
	put_flags(out, event->flags);
	if (event->kind == EVENT_NAME && event->text) {
		fputs(", \"text\": ", out);
		int code = timeline_json_text(out, event->text, err);
		if (code < 0)
			return code;
	}
	fputc('}', out);
	return 0;
}

int timeline_json_write(FILE *out, struct trace_reader *reader, struct err *err)
{
	struct event event;
	const char *separator = "\n  ";
	int code;
	fputs("{\n \"version\": 1,\n \"events\": [", out);
	while ((code = trace_reader_next(reader, &event, err)) > 0) {
		fputs(separator, out);
		separator = ",\n  ";
		code = put_event(out, &event, err);
		if (code < 0)
			return code;
		if (ferror(out))
			return err_set(err, -EIO, "cannot write: %s", strerror(errno));
	}
	if (code < 0)
		return code;
	const struct trace_quality *quality = trace_reader_quality(reader);
	fprintf(out,
		"\n ],\n \"start_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64
		", \"start_unix_ns\": \"%" PRIu64 "\",\n"
		" \"cores\": %u, \"cores_online\": %u,\n"
		" \"wake_cost_ns\": %u, \"wake_latency_ns\": %u, \"doze_ns\": %u,\n"
		" \"others_ns\": %" PRIu64 ", \"others_wall_ns\": %" PRIu64 ",\n"
		" \"own_locks_ns\": %" PRIu64 ", \"own_rest_ns\": %" PRIu64 ",\n"
		" \"threads\": %" PRIu64 ", \"processes\": %" PRIu64 ", \"lost_events\": %" PRIu64
		", \"torn_chunks\": %" PRIu64 ",\n"
		" \"free_locks\": %" PRIu64 ", \"left_out\": %" PRIu64 ",\n"
		" \"was_ended\": %s, \"was_full\": %s\n}\n",
		quality->start_ns, quality->end_ns, quality->start_unix_ns, quality->cores,
		quality->cores_online, quality->wakes.cost_ns, quality->wakes.latency_ns,
		quality->wakes.doze_ns, quality->others.cpu_ns, quality->others.wall_ns,
		quality->own.locks_ns, quality->own.rest_ns, quality->threads, quality->processes,
		quality->lost, quality->torn_chunks, quality->free_locks, quality->left_out,
		quality->is_ended ? "true" : "false", quality->is_full ? "true" : "false");
	return 0;
}
