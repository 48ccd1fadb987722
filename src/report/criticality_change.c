/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two analyses side by side, in a terminal: what changed from the first to the second. */
#include "report/criticality_view.h"

#include "base/cleanup.h"
#include "report/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 32, ROWS = 12 };
enum { LOOKED_AT = 1000 }; /* threads; beyond these nobody reads on */

/* Something with a name and a number before and after; NAN: not there. */
struct change {
	const char *name;
	double before, after; /* seconds */
};

static int by_size(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	double p = fabs((isnan(x->after) ? 0 : x->after) - (isnan(x->before) ? 0 : x->before));
	double q = fabs((isnan(y->after) ? 0 : y->after) - (isnan(y->before) ? 0 : y->before));
	if (p != q)
		return p > q ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void add_rows(struct strbuf *out, struct change *changes, size_t count, const char *heading)
{
	qsort(changes, count, sizeof *changes, by_size);
	strbuf_add(out, "\n");
	text_add_left(out, heading, LABEL);
	strbuf_add(out, "      before       after      change\n");
	for (size_t i = 0; i < count && i < ROWS; i++) {
		double before = changes[i].before, after = changes[i].after;
		strbuf_add(out, "  ");
		text_add_left(out, changes[i].name, LABEL - 2);
		text_add_right(out, quantity_format(QUANTITY_TIME, before).text, 12);
		text_add_right(out, quantity_format(QUANTITY_TIME, after).text, 12);
		double change = (isnan(after) ? 0 : after) - (isnan(before) ? 0 : before);
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		strbuf_addf(&text, "%s%s", change > 0 ? "+" : "",
			quantity_format(QUANTITY_TIME, change).text);
		text_add_right(out, text.text ? text.text : "", 12);
		strbuf_add(out, "\n");
	}
	if (count > ROWS)
		strbuf_addf(out, "  and %zu more\n", count - ROWS);
}

/* The change of that name, or a new one. Names pair what the two runs share. */
static struct change *change_of(
	struct change *changes, size_t *count, const char *name, bool may_pair)
{
	for (size_t i = 0; may_pair && i < *count; i++)
		if (isnan(changes[i].after) && strcmp(changes[i].name, name) == 0)
			return &changes[i];
	changes[*count] = (struct change){ name, NAN, NAN };
	return &changes[(*count)++];
}

/* What the same thread of another run is called, too, when it has no name of its own. */
static const char *role_of(const struct criticality_view *view, size_t index)
{
	const struct result_thread *row = &view->rows[index];
	if (row->name)
		return row->name;
	if (row->tid == row->pid)
		return "main thread";
	return view->routines[index] ? view->routines[index] : "thread";
}

/* Threads of one role are numbered in the order of their creation. */
char *criticality_role(const struct criticality_view *view, size_t index)
{
	struct strbuf text = { 0 };
	size_t count = view->row_count < LOOKED_AT ? view->row_count : LOOKED_AT;
	if (index >= count)
		return NULL;
	const char *role = role_of(view, index);
	size_t alike = 0, before = 0;
	if (view->rows != view->results->threads)
		return strdup(view->labels[index]);
	for (size_t i = 0; i < count; i++) {
		bool is_alike = strcmp(role_of(view, i), role) == 0;
		alike += is_alike;
		before += is_alike && view->rows[i].tid < view->rows[index].tid;
	}
	strbuf_add(&text, role);
	if (alike > 1)
		strbuf_addf(&text, " #%zu", before + 1);
	return TAKE(text.text);
}

static void add_threads(
	struct strbuf *out, const struct criticality_view *a, const struct criticality_view *b)
{
	const struct criticality_view *const sides[] = { a, b };
	size_t count = 0, label_count = 0;
	AUTO_FREE struct change *changes = calloc(2 * LOOKED_AT, sizeof *changes);
	AUTO_FREE char **labels = calloc(2 * LOOKED_AT, sizeof *labels);
	out->failed |= !changes || !labels;
	for (size_t side = 0; side < 2 && !out->failed; side++) {
		const struct criticality_view *view = sides[side];
		size_t rows = view->row_count < LOOKED_AT ? view->row_count : LOOKED_AT;
		for (size_t i = 0; i < rows && !out->failed; i++) {
			char *label = criticality_role(view, i);
			double seconds = (double)view->rows[i].criticality_ns / 1e9;
			out->failed |= !label;
			if (!label)
				break;
			labels[label_count++] = label;
			struct change *change = change_of(changes, &count, label, side > 0);
			*(side > 0 ? &change->after : &change->before) = seconds;
		}
	}
	if (!out->failed)
		add_rows(out, changes, count, "Criticality of threads");
	for (size_t i = 0; i < label_count; i++)
		free(labels[i]);
}

static void add_locks(
	struct strbuf *out, const struct criticality_view *a, const struct criticality_view *b)
{
	size_t count = 0;
	AUTO_FREE struct change *changes = calloc(2 * LOOKED_AT, sizeof *changes);
	if (!changes) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < a->results->lock_count && i < LOOKED_AT; i++)
		change_of(changes, &count, a->locks[i], false)->before =
			(double)a->results->locks[i].blame_ns / 1e9;
	for (size_t i = 0; i < b->results->lock_count && i < LOOKED_AT; i++)
		change_of(changes, &count, b->locks[i], true)->after =
			(double)b->results->locks[i].blame_ns / 1e9;
	if (count > 0)
		add_rows(out, changes, count, "Blame of locks");
}

static void add_change(struct strbuf *out, const struct criticality_view *a,
	const struct criticality_view *b, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf line = { 0 };
	double before = (double)a->results->elapsed_ns / 1e9;
	double after = (double)b->results->elapsed_ns / 1e9;
	strbuf_addf(&line, "From %s to %s: ", quantity_format(QUANTITY_TIME, before).text,
		quantity_format(QUANTITY_TIME, after).text);
	if (before > 0 && after > 0)
		strbuf_addf(&line, "%s is %s times as fast as %s.", b->subject,
			number_format(before / after).text, a->subject);
	text_add_wrapped(out, line.text ? line.text : "", text_width(style), "", "");
	text_add_wrapped(out, a->findings[0], text_width(style), "  before: ", "    ");
	text_add_wrapped(out, b->findings[0], text_width(style), "  after:  ", "    ");
	add_threads(out, a, b);
	add_locks(out, a, b);
}

void report_criticality_change_text(struct strbuf *out, const struct criticality_input *a,
	const struct criticality_input *b, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	struct criticality_view before, after;
	criticality_view_init(&before, a->results, a->subject, a->finder);
	criticality_view_init(&after, b->results, b->subject, b->finder);
	if (before.failed || after.failed)
		out->failed = true;
	else
		add_change(&text, &before, &after, style);
	text_add_in_charset(out, &text, style);
	criticality_view_release(&before);
	criticality_view_release(&after);
}
