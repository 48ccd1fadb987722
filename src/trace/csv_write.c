/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/csv_write.h"

#include "trace/vocabulary.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Quoted; what cannot stand on a line of text as \n, \r, \xHH, so that it comes back exactly. */
static void put_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (c == '"')
			fputs("\"\"", out);
		else if (c == '\\')
			fputs("\\\\", out);
		else if (c == '\n')
			fputs("\\n", out);
		else if (c < ' ' || c == 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

/* Zero is left out: most columns of most rows are. */
static void put_number(FILE *out, uint64_t number)
{
	if (number)
		fprintf(out, "%" PRIu64, number);
	fputc(',', out);
}

static void put_address(FILE *out, uint64_t address)
{
	if (address)
		fprintf(out, "0x%" PRIx64, address);
	fputc(',', out);
}

static void put_note(FILE *out, const char *name, uint64_t number)
{
	if (number)
		fprintf(out, "# %s: %" PRIu64 "\n", name, number);
}

static void begin(struct timeline_csv *csv)
{
	if (csv->has_begun)
		return;
	put_note(csv->out, "cores", csv->cores);
	put_note(csv->out, "cores_online", csv->cores_online);
	put_note(csv->out, "wake_cost_ns", csv->wakes.cost_ns);
	put_note(csv->out, "wake_latency_ns", csv->wakes.latency_ns);
	put_note(csv->out, "doze_ns", csv->wakes.doze_ns);
	put_note(csv->out, "others_ns", csv->others.cpu_ns);
	put_note(csv->out, "others_wall_ns", csv->others.wall_ns);
	put_note(csv->out, "own_locks_ns", csv->own.locks_ns);
	put_note(csv->out, "own_rest_ns", csv->own.rest_ns);
	fputs("time_ns,pid,tid,event,what,object,site,value,woken_ns,cpu_ns,flags,text\n",
		csv->out);
	csv->has_begun = true;
}

static int check(const struct timeline_csv *csv, struct err *err)
{
	return ferror(csv->out) ? err_set(err, -EIO, "cannot write: %s", strerror(errno)) : 0;
}

static int write_row(void *context, const struct event *event, struct err *err)
{
	struct timeline_csv *csv = context;
	char flags[EVENT_FLAGS_BYTES];
	begin(csv);
	fprintf(csv->out, "%" PRIu64 ",%u,%u,%s,%s,", event->time_ns, event->pid, event->tid,
		event_kind_word(event->kind), event_what_word(event->what));
	put_address(csv->out, event->object);
	put_address(csv->out, event->site);
	put_number(csv->out, event->value);
	put_number(csv->out, event->woken_ns);
	put_number(csv->out, event->cpu_ns);
	event_flags_words(event->flags, flags);
	fprintf(csv->out, "%s,", flags);
	if (event->kind == EVENT_NAME && event->text)
		put_text(csv->out, event->text);
	fputc('\n', csv->out);
	return check(csv, err);
}

static int finish(void *context, uint64_t end_ns, struct err *err)
{
	struct timeline_csv *csv = context;
	begin(csv);
	fprintf(csv->out, "# end_ns: %" PRIu64 "\n", end_ns);
	return check(csv, err);
}

struct event_sink timeline_csv_sink(struct timeline_csv *csv)
{
	return (struct event_sink){ .context = csv, .event = write_row, .finish = finish };
}
