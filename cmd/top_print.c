/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "top_print.h"

#include "report/json.h"

#include <stdio.h>
#include <string.h>

/* Of the busy time; below that the others matter about as much. */
static const double STANDS_OUT = 0.5;

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static double busy_s(const struct live *live)
{
	return live->elapsed_s - live->idle_s;
}

/* As what a thread is spoken of: with its id where others are called alike. */
static void add_who(struct strbuf *out, const struct live_rows *rows, const struct live_row *row)
{
	bool is_shared = false;
	for (size_t i = 0; i < rows->count; i++)
		is_shared |= &rows->items[i] != row && strcmp(rows->items[i].name, row->name) == 0;
	strbuf_addf(out, "'%s'", row->name);
	if (is_shared && row->tid != 0)
		strbuf_addf(out, " (%u)", row->tid);
}

/* What one would say who looked at the table: who was critical, or that nobody was. */
static void add_finding(struct strbuf *out, const struct top_view *view)
{
	const struct live *live = view->live;
	double busy = busy_s(live);
	const struct live_row *first = view->rows->count > 0 ? view->rows->items : NULL;
	if (!first || busy < 0.01 * live->elapsed_s) {
		strbuf_addf(out, "Nothing runs: all threads wait (for input, a timer, a device).");
		return;
	}
	if (first->count > 1)
		strbuf_addf(out,
			"No thread stands out: %u called '%s' have %.0f%% of the criticality "
			"together.",
			first->count, first->name, percent(first->criticality_s, live->elapsed_s));
	else if (live->parallelism < 1.05 && first->criticality_s > 0.95 * busy)
		strbuf_addf(
			out, "'%s' runs alone: nothing else would make it faster.", first->name);
	else if (first->criticality_s > STANDS_OUT * busy) {
		add_who(out, view->rows, first);
		strbuf_addf(out, " holds the others up: %.0f%% of the time is its criticality.",
			percent(first->criticality_s, live->elapsed_s));
	} else {
		strbuf_add(out, "No thread stands out; the most critical, ");
		add_who(out, view->rows, first);
		strbuf_addf(out, ", has %.0f%%.", percent(first->criticality_s, live->elapsed_s));
	}
}

static void add_row(struct strbuf *out, const struct live *live, const struct live_row *row)
{
	char tid[16] = "ended";
	if (row->tid != 0)
		(void)snprintf(tid, sizeof tid, "%u", row->tid); /* fits */
	strbuf_addf(out, "%6.1f%% %6.1f%% %6.1f%% %9.0f  %7s  ",
		percent(row->criticality_s, live->elapsed_s),
		percent(row->total_s, live->watched_s), percent(row->active_s, live->elapsed_s),
		live->elapsed_s > 0 ? (double)row->waits / live->elapsed_s : 0, tid);
	text_add_clean(out, row->name);
	if (row->count > 1)
		strbuf_addf(out, " (%u threads)", row->count);
	strbuf_add(out, "\n");
}

/* Those that have no row of their own. */
static void add_rest(struct strbuf *out, const struct top_view *view)
{
	struct live_row rest = { 0 };
	for (size_t i = view->row_max; i < view->rows->count; i++) {
		const struct live_row *row = &view->rows->items[i];
		rest.count += row->count;
		rest.criticality_s += row->criticality_s;
		rest.active_s += row->active_s;
		rest.total_s += row->total_s;
	}
	if (rest.count > 0)
		strbuf_addf(out, "%6.1f%% %6.1f%% %6.1f%%  and %u threads more\n",
			percent(rest.criticality_s, view->live->elapsed_s),
			percent(rest.total_s, view->live->watched_s),
			percent(rest.active_s, view->live->elapsed_s), rest.count);
}

void top_add_text(struct strbuf *out, const struct top_view *view, const struct text_style *style)
{
	const struct live *live = view->live;
	strbuf_addf(out, "%s: last %.1f s of %.1f s watched; %.2f threads active, idle %.0f%%\n",
		view->program, live->elapsed_s, live->watched_s, live->parallelism,
		percent(live->idle_s, live->elapsed_s));
	AUTO_RELEASE(strbuf) struct strbuf finding = { 0 };
	add_finding(&finding, view);
	if (strbuf_failed(&finding) == 0)
		text_add_wrapped(out, finding.text, text_width(style), "", "");
	if (live->lost_threads > 0)
		strbuf_addf(out, "%ju threads are missing here: too many at a time.\n",
			(uintmax_t)live->lost_threads);
	strbuf_add(out, "\n  criticality    active   waits/s      tid  thread\n   last    all\n");
	for (size_t i = 0; i < view->rows->count && i < view->row_max; i++)
		add_row(out, live, &view->rows->items[i]);
	add_rest(out, view);
}

static json_t *row_json(const struct live_row *row)
{
	return json_pack("{s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:I}", "tid",
		row->tid ? json_integer(row->tid) : json_null(), "pid",
		row->tid ? json_integer(row->pid) : json_null(), "name", json_text(row->name),
		"threads", (int)row->count, "criticality_s", json_number(row->criticality_s),
		"total_s", json_number(row->total_s), "active_s", json_number(row->active_s),
		"waits", (json_int_t)row->waits);
}

void top_add_json(struct strbuf *out, const struct top_view *view)
{
	const struct live *live = view->live;
	json_t *threads = json_array();
	for (size_t i = 0; i < view->rows->count; i++)
		threads = json_push(threads, row_json(&view->rows->items[i]));
	AUTO_RELEASE(strbuf) struct strbuf finding = { 0 };
	add_finding(&finding, view);
	json_t *object = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "version", 1,
		"elapsed_s", json_number(live->elapsed_s), "watched_s",
		json_number(live->watched_s), "idle_s", json_number(live->idle_s), "parallelism",
		json_number(live->parallelism), "finding",
		json_text(finding.text ? finding.text : ""), "lost_threads",
		(json_int_t)live->lost_threads, "threads", threads);
	char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	json_decref(object);
	strbuf_add(out, text ? text : "null");
	strbuf_add(out, "\n");
	free(text);
}
