/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An analysis as a page and as an SVG document. */
#include "report/criticality_view.h"

#include "base/cleanup.h"
#include "report/page.h"
#include "report/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 40, COLUMNS = 7 };

static const char *seconds(struct quantity_text *cell, uint64_t ns)
{
	*cell = quantity_format(QUANTITY_TIME, (double)ns / 1e9);
	return cell->text;
}

static const char *share(struct quantity_text *cell, const struct results *results, uint64_t ns)
{
	snprintf(cell->text, sizeof cell->text, "%.1f%%",
		results->elapsed_ns ? 100.0 * (double)ns / (double)results->elapsed_ns : 0);
	return cell->text;
}

static const char *count(struct quantity_text *cell, uint64_t value)
{
	*cell = quantity_format(QUANTITY_COUNT, (double)value);
	return cell->text;
}

static void add_threads(struct strbuf *out, const struct criticality_view *view)
{
	static const char *const heads[] = { "thread", "share", "criticality", "running",
		"parallelism", "alone" };
	const struct results *r = view->results;
	page_table_begin(out, heads, 6);
	for (size_t i = 0; i < view->row_count && i < ROWS; i++) {
		const struct result_thread *t = &view->rows[i];
		struct quantity_text cells[5];
		cells[3] = number_format(thread_parallelism(t));
		page_table_row(out,
			(const char *const[]){ view->labels[i],
				share(&cells[0], r, t->criticality_ns),
				seconds(&cells[1], t->criticality_ns),
				seconds(&cells[2], t->running_ns), cells[3].text,
				seconds(&cells[4], t->alone_ns) },
			6);
	}
	page_table_end(out);
}

static void add_locks(struct strbuf *out, const struct criticality_view *view)
{
	static const char *const heads[COLUMNS] = { "name", "kind", "blame", "waited", "held",
		"taken", "most by" };
	const struct results *r = view->results;
	page_words_table_begin(out, heads, COLUMNS);
	for (size_t i = 0; i < view->lock_rows && i < ROWS; i++) {
		const struct result_lock *l = &r->locks[i];
		struct quantity_text cells[4];
		page_table_row(out,
			(const char *const[]){ view->locks[i], what_name(l->what),
				seconds(&cells[0], l->blame_ns), seconds(&cells[1], l->waited_ns),
				l->is_futex ? "-" : seconds(&cells[2], l->held_ns),
				count(&cells[3], l->acquisitions ? l->acquisitions : l->waits),
				l->worst_thread == INDEX_NONE ? "-"
							      : view->threads[l->worst_thread] },
			COLUMNS);
	}
	page_table_end(out);
}

static void add_code(struct strbuf *out, const struct criticality_view *view)
{
	page_table_begin(out, (const char *const[]){ "code", "share", "criticality" }, 3);
	for (size_t i = 0; i < view->site_count && i < ROWS; i++) {
		struct quantity_text cells[2];
		page_table_row(out,
			(const char *const[]){ view->sites[i].text,
				share(&cells[0], view->results, view->sites[i].blame_ns),
				seconds(&cells[1], view->sites[i].blame_ns) },
			3);
	}
	page_table_end(out);
}

static void add_quality(struct strbuf *out, const struct criticality_view *view)
{
	enum { LINES_MAX = 8 };
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	char *lines[LINES_MAX], *rest = NULL;
	size_t lines_count = 0;
	criticality_quality(&text, view);
	for (char *line = text.text ? strtok_r(text.text, "\n", &rest) : NULL;
		line && lines_count < LINES_MAX; line = strtok_r(NULL, "\n", &rest))
		lines[lines_count++] = line;
	page_list(out, (const char *const *)lines, lines_count);
}

static void add_figure(struct strbuf *out, const struct criticality_view *view,
	void (*fill)(struct figure *, const struct criticality_view *))
{
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	fill(&figure, view);
	page_figure(out, &figure);
}

static void add_findings(struct strbuf *out, const struct criticality_view *view)
{
	for (size_t i = 0; i < view->results->finding_count; i++) {
		strbuf_add(out, view->findings[i]);
		strbuf_add(out, "\n");
	}
}

static void add_sections(struct strbuf *out, const struct criticality_view *view)
{
	page_section(out, "Who is critical");
	add_figure(out, view, figure_of_stack);
	add_figure(out, view, figure_of_bottle);
	add_figure(out, view, figure_of_strip);
	add_threads(out, view);
	if (view->results->lock_count > 0) {
		page_section(out, "Locks and other things waited for");
		add_locks(out, view);
	}
	if (view->site_count > 0) {
		page_section(out, "Code");
		add_code(out, view);
	}
	page_section(out, "Data quality");
	add_quality(out, view);
}

void criticality_add_sections(struct strbuf *out, const struct criticality_input *input)
{
	struct criticality_view view;
	criticality_view_init(&view, input->results, input->subject, input->finder);
	out->failed |= view.failed;
	if (!view.failed)
		add_sections(out, &view);
	criticality_view_release(&view);
}

void criticality_add_findings(struct strbuf *out, const struct criticality_input *input)
{
	struct criticality_view view;
	criticality_view_init(&view, input->results, input->subject, input->finder);
	out->failed |= view.failed;
	if (!view.failed)
		add_findings(out, &view);
	criticality_view_release(&view);
}

void report_criticality_html(struct strbuf *out, const struct criticality_input *input)
{
	AUTO_RELEASE(strbuf) struct strbuf title = { 0 }, findings = { 0 };
	struct criticality_view view;
	criticality_view_init(&view, input->results, input->subject, input->finder);
	out->failed |= view.failed;
	if (!view.failed) {
		strbuf_addf(&title, "%s: who is critical", input->subject);
		add_findings(&findings, &view);
		page_begin(out, title.text ? title.text : "");
		page_findings(out, findings.text ? findings.text : "");
		add_sections(out, &view);
		page_end(out, "corecast " CORECAST_VERSION ".");
	}
	criticality_view_release(&view);
}

void report_criticality_svg(struct strbuf *out, const struct criticality_input *input)
{
	struct figure figures[3] = { 0 };
	struct criticality_view view;
	criticality_view_init(&view, input->results, input->subject, input->finder);
	out->failed |= view.failed;
	if (!view.failed) {
		figure_of_stack(&figures[0], &view);
		figure_of_bottle(&figures[1], &view);
		figure_of_strip(&figures[2], &view);
		figure_svg(out, figures, 3, false);
	}
	for (size_t i = 0; i < 3; i++)
		figure_release(&figures[i]);
	criticality_view_release(&view);
}
