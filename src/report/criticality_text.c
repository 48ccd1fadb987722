/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An analysis in a terminal: findings, stack, bottle graph, strip over time, locks, code, quality. */
#include "report/criticality_view.h"

#include "base/cleanup.h"
#include "report/palette.h"
#include "report/quantity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 22, TABLE_ROWS = 10, BOTTLE_ROWS = 16 };

static double share_of(const struct criticality_view *view, uint64_t ns)
{
	return view->results->elapsed_ns ? (double)ns / (double)view->results->elapsed_ns : 0;
}

static size_t shown_threads(const struct criticality_view *view)
{
	size_t count = view->row_count;
	return count < SHOWN_THREADS ? count : SHOWN_THREADS;
}

static void add_fill(
	struct strbuf *out, const struct text_style *style, unsigned slot, size_t columns)
{
	const struct palette_slot *look = palette_slot(slot);
	if (style->has_colour && columns > 0)
		strbuf_addf(out, "\033[%sm", look->sgr);
	for (size_t i = 0; i < columns; i++)
		text_add_code_point(out, style->is_utf8 ? look->fill : look->fill_ascii);
	if (style->has_colour && columns > 0)
		strbuf_add(out, "\033[0m");
}

static void add_seconds(struct strbuf *out, uint64_t ns, size_t columns)
{
	text_add_right(out, quantity_format(QUANTITY_TIME, (double)ns / 1e9).text, columns);
}

static void add_heading(
	struct strbuf *out, const struct text_style *style, const char *text, const char *rest)
{
	AUTO_RELEASE(strbuf) struct strbuf line = { 0 };
	strbuf_addf(&line, "%s%s", text, rest);
	strbuf_add(out, "\n");
	text_add_wrapped(out, line.text ? line.text : "", text_width(style), "", "");
}

static void add_findings(
	struct strbuf *out, const struct criticality_view *view, const struct text_style *style)
{
	for (size_t i = 0; i < view->results->finding_count; i++) {
		if (i == 0 && style->has_colour)
			strbuf_add(out, "\033[1m");
		text_add_wrapped(
			out, view->findings[i], text_width(style), i ? "- " : "", i ? "  " : "");
		if (i == 0 && style->has_colour)
			strbuf_add(out, "\033[0m");
	}
}

/* One bar for the whole run, cut into the threads' shares; what is left is idle. */
static void add_bar(
	struct strbuf *out, const struct criticality_view *view, const struct text_style *style)
{
	size_t width = text_width(style) - 2, end = 0;
	double sum = 0;
	strbuf_add(out, "[");
	for (size_t i = 0; i <= shown_threads(view); i++) {
		bool is_rest = i == shown_threads(view);
		sum = is_rest ? share_of(view, view->results->active_ns)
			      : sum + share_of(view, view->rows[i].criticality_ns);
		size_t until = (size_t)lround(fmin(sum, 1) * (double)width);
		if (until > end)
			add_fill(out, style, (unsigned)i, until - end);
		end = until > end ? until : end;
	}
	text_add_repeated(out, " ", width - end);
	strbuf_add(out, "]\n");
}

static void add_stack(
	struct strbuf *out, const struct criticality_view *view, const struct text_style *style)
{
	const struct results *r = view->results;
	AUTO_RELEASE(strbuf) struct strbuf total = { 0 };
	strbuf_addf(&total, ": how the %s of the run divide among those who ran",
		quantity_format(QUANTITY_TIME, (double)r->elapsed_ns / 1e9).text);
	add_heading(out, style, "Criticality stack", total.text ? total.text : "");
	add_bar(out, view, style);
	text_add_left(out, "  thread", LABEL);
	strbuf_add(out, "  share  criticality    running  parallelism  waits for\n");
	uint64_t shown_ns = 0;
	for (size_t i = 0; i < view->row_count && i < TABLE_ROWS; i++) {
		const struct result_thread *t = &view->rows[i];
		add_fill(out, style, i < SHOWN_THREADS ? (unsigned)i : SHOWN_THREADS, 1);
		strbuf_add(out, " ");
		text_add_left(out, view->labels[i], LABEL - 2);
		strbuf_addf(out, "%6.1f%%", 100 * share_of(view, t->criticality_ns));
		add_seconds(out, t->criticality_ns, 13);
		add_seconds(out, t->running_ns, 11);
		strbuf_addf(out, "%13.2f  %s\n", t->criticality_ns ? thread_parallelism(t) : 0,
			criticality_main_wait(t));
		shown_ns += t->criticality_ns;
	}
	if (view->row_count > TABLE_ROWS) {
		AUTO_RELEASE(strbuf) struct strbuf rest = { 0 };
		strbuf_addf(&rest, "  %zu more threads", view->row_count - TABLE_ROWS);
		text_add_left(out, rest.text ? rest.text : "", LABEL);
		strbuf_addf(out, "%6.1f%%\n", 100 * share_of(view, r->active_ns - shown_ns));
	}
	if (r->idle_ns > 0) {
		text_add_left(out, "  nobody (idle)", LABEL);
		strbuf_addf(out, "%6.1f%%\n", 100 * share_of(view, r->idle_ns));
	}
}

static int by_width(const void *a, const void *b)
{
	const struct result_thread *x = *(const struct result_thread *const *)a;
	const struct result_thread *y = *(const struct result_thread *const *)b;
	double p = thread_parallelism(x), q = thread_parallelism(y);
	if (p != q)
		return p < q ? -1 : 1;
	return (x < y) - (x > y); /* of equals the more critical one is nearer to the top */
}

/* One row of a bottle: a bar in the middle as wide as the thread's parallelism, and its name. */
static void add_bottle_row(struct strbuf *out, const struct criticality_view *view,
	const struct text_style *style, const struct result_thread *thread, bool has_name,
	double column)
{
	size_t area = text_width(style) - LABEL - 8, index = (size_t)(thread - view->rows);
	size_t width = (size_t)lround(fmax(thread_parallelism(thread) * column, 1));
	width = width < area ? width : area;
	strbuf_add(out, "  ");
	text_add_repeated(out, " ", (area - width) / 2);
	add_fill(out, style, index < SHOWN_THREADS ? (unsigned)index : SHOWN_THREADS, width);
	if (has_name) {
		text_add_repeated(out, " ", area - width - (area - width) / 2 + 1);
		text_add_name(out, view->labels[index], LABEL - 2);
		strbuf_addf(out, " %.2f", thread_parallelism(thread));
	}
	strbuf_add(out, "\n");
}

static void add_bottle(
	struct strbuf *out, const struct criticality_view *view, const struct text_style *style)
{
	AUTO_FREE const struct result_thread **order = calloc(view->row_count + 1, sizeof *order);
	size_t count = 0;
	double widest = 1, rows = 0;
	size_t drawn = 0;
	if (!order) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < view->row_count; i++)
		if (view->rows[i].criticality_ns > 0) {
			order[count++] = &view->rows[i];
			widest = fmax(widest, thread_parallelism(&view->rows[i]));
		}
	qsort(order, count, sizeof *order, by_width);
	add_heading(out, style, "Bottle graph",
		": height is criticality, width is how many threads ran meanwhile");
	for (size_t i = 0; i < count; i++) {
		rows += share_of(view, order[i]->criticality_ns) * BOTTLE_ROWS;
		for (bool is_first = true; drawn < (size_t)lround(rows); drawn++, is_first = false)
			add_bottle_row(out, view, style, order[i], is_first,
				(text_width(style) - LABEL - 8) / widest);
	}
}

/* A bin in eight steps of its share of the bin's time. */
static void add_level(struct strbuf *out, const struct text_style *style, double share)
{
	static const char *const levels[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char ascii[] = " .:-=+*#@";
	size_t level = (size_t)lround(fmin(fmax(share, 0), 1) * 8);
	if (level == 0 && share > 0.005)
		level = 1;
	if (style->is_utf8)
		strbuf_add(out, levels[level]);
	else
		strbuf_add_bytes(out, &ascii[level], 1);
}

static void add_strip(
	struct strbuf *out, const struct criticality_view *view, const struct text_style *style)
{
	const struct results *r = view->results;
	size_t area = text_width(style) - LABEL;
	size_t join = (r->bin_count + area - 1) / area;
	AUTO_RELEASE(strbuf) struct strbuf rest = { 0 };
	if (join == 0)
		return;
	strbuf_addf(&rest, ": criticality in each %s",
		quantity_format(QUANTITY_TIME, (double)(join * r->bin_ns) / 1e9).text);
	add_heading(out, style, "Over time", rest.text ? rest.text : "");
	for (size_t i = 0; i < shown_threads(view); i++) {
		strbuf_add(out, "  ");
		text_add_left(out, view->labels[i], LABEL - 3);
		strbuf_add(out, " ");
		for (uint32_t b = 0; b < r->bin_count; b += (uint32_t)join) {
			uint64_t units = 0, width = 0;
			for (uint32_t k = b; k < b + join && k < r->bin_count; k++) {
				uint64_t begin = k * r->bin_ns, left = r->elapsed_ns - begin;
				units += thread_bin_ns(&view->rows[i], k);
				width += left < r->bin_ns ? left : r->bin_ns;
			}
			add_level(out, style, width ? (double)units / (double)width : 0);
		}
		text_trim(out);
		strbuf_add(out, "\n");
	}
}

/* "mutex made in queue_new (queue.c:41)": the next column says that it is a mutex. */
static const char *place_of_lock(const char *label, uint8_t what)
{
	static const char *const origins[] = { " made in ", " used in " };
	size_t length = strlen(what_name(what));
	for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
		if (strncmp(label, what_name(what), length) == 0 &&
			strncmp(label + length, origins[i], strlen(origins[i])) == 0)
			return label + length + strlen(origins[i]);
	return label;
}

static void add_locks(
	struct strbuf *out, const struct criticality_view *view, const struct text_style *style)
{
	const struct results *r = view->results;
	if (r->lock_count == 0)
		return;
	add_heading(out, style, "Locks and other things waited for",
		": blame is what those who held or signalled them held the others up");
	text_add_left(out, "  name", LABEL);
	strbuf_add(out, " kind         blame   waited     held taken  most by\n");
	for (size_t i = 0; i < view->lock_rows && i < TABLE_ROWS; i++) {
		const struct result_lock *l = &r->locks[i];
		strbuf_add(out, "  ");
		text_add_left(out, place_of_lock(view->locks[i], l->what), LABEL - 2);
		strbuf_add(out, " ");
		text_add_left(out, what_name(l->what), 9);
		add_seconds(out, l->blame_ns, 9);
		add_seconds(out, l->waited_ns, 9);
		if (l->is_futex) /* who has it is not known to the kernel */
			text_add_right(out, "-", 9);
		else
			add_seconds(out, l->held_ns, 9);
		text_add_right(out,
			quantity_format(QUANTITY_COUNT,
				(double)(l->acquisitions ? l->acquisitions : l->waits))
				.text,
			7);
		if (l->worst_thread != INDEX_NONE) {
			strbuf_add(out, "  ");
			text_add_name(out, view->threads[l->worst_thread],
				text_width(style) > LABEL + 46 ? text_width(style) - LABEL - 46
							       : 1);
		}
		text_trim(out);
		strbuf_add(out, "\n");
	}
	if (view->lock_rows > TABLE_ROWS)
		strbuf_addf(out, "  and %zu more\n", view->lock_rows - TABLE_ROWS);
	if (r->lock_count > view->lock_rows)
		strbuf_addf(
			out, "  and %zu that nobody waited for\n", r->lock_count - view->lock_rows);
}

static void add_sites(
	struct strbuf *out, const struct criticality_view *view, const struct text_style *style)
{
	if (view->site_count == 0)
		return;
	add_heading(out, style, "Code",
		view->results->has_samples
			? ": criticality of what ran, by samples of the running threads"
			: ": criticality of what ran up to each call that was recorded");
	for (size_t i = 0; i < view->site_count && i < TABLE_ROWS; i++) {
		strbuf_addf(out, "%6.1f%%", 100 * share_of(view, view->sites[i].blame_ns));
		add_seconds(out, view->sites[i].blame_ns, 11);
		strbuf_add(out, "  ");
		text_add_name(out, view->sites[i].text, text_width(style) - 20);
		strbuf_add(out, "\n");
	}
}

static void add_quality(
	struct strbuf *out, const struct criticality_view *view, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf lines = { 0 };
	criticality_quality(&lines, view);
	add_heading(out, style, "Data quality", "");
	text_add_lines(out, &lines, text_width(style), "  - ", "    ");
}

void report_criticality_text(
	struct strbuf *out, const struct criticality_input *input, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	struct criticality_view view;
	criticality_view_init(&view, input->results, input->subject, input->finder);
	if (view.failed) {
		out->failed = true;
	} else {
		add_findings(&text, &view, style);
		add_stack(&text, &view, style);
		add_bottle(&text, &view, style);
		add_strip(&text, &view, style);
		add_locks(&text, &view, style);
		add_sites(&text, &view, style);
		add_quality(&text, &view, style);
		text_add_in_charset(out, &text, style);
	}
	criticality_view_release(&view);
}
