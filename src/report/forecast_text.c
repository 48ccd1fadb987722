/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A forecast, or two compared, in a terminal: the answer, a plot, a table, stalls, notes. */
#include "base/plural.h"
#include "report/forecast_view.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLOT_ROWS = 16 };

static void add_findings(
	struct strbuf *out, const struct strbuf *findings, const struct text_style *style)
{
	for (const char *line = findings->text; line && *line;) {
		const char *end = strchrnul(line, '\n');
		AUTO_FREE char *sentence = strndup(line, (size_t)(end - line));
		if (!sentence) {
			out->failed = true;
			return;
		}
		bool is_first = line == findings->text;
		if (is_first && style->has_colour)
			strbuf_add(out, "\033[1m");
		text_add_wrapped(out, sentence, text_width(style), "", "");
		if (is_first && style->has_colour)
			strbuf_add(out, "\033[0m");
		line = *end ? end + 1 : end;
	}
	if (strbuf_failed(findings) < 0)
		out->failed = true;
}

static void add_plot(struct strbuf *out, struct figure *figure, const struct text_style *style)
{
	strbuf_add(out, "\n");
	figure_text(out, figure, style, PLOT_ROWS);
	strbuf_add(out, "\n");
}

/* The last columns are left out where they do not fit. */
static const size_t widths[FORECAST_COLUMNS] = { 8, 12, 23, 12, 10, 12 };

static size_t columns_that_fit(const struct text_style *style)
{
	size_t used = 0, count = 0;
	while (count < FORECAST_COLUMNS && used + widths[count] <= text_width(style))
		used += widths[count++];
	return count;
}

static void add_table(struct strbuf *out, const struct forecast *f, const struct text_style *style)
{
	size_t count = columns_that_fit(style);
	for (size_t i = 0; i < count; i++)
		text_add_right(out, forecast_heads[i], widths[i]);
	strbuf_add(out, "\n");
	struct selection selection = selection_of(f);
	for (size_t i = 0; i < f->point_count; i++) {
		if (!selection_has(&selection, f->points[i].threads))
			continue;
		struct row row = forecast_row(f, &f->points[i]);
		for (size_t k = 0; k < count; k++)
			text_add_right(out, row.cells[k], widths[k]);
		text_trim(out);
		strbuf_add(out, "\n");
	}
}

static void add_bar(struct strbuf *out, const struct text_style *style, double share, size_t width)
{
	size_t filled = (size_t)lround(fmin(fmax(share, 0), 1) * (double)width);
	text_add_repeated(out, style->is_utf8 ? "█" : "#", filled);
	text_add_repeated(out, " ", width - filled);
}

static void add_stalls(struct strbuf *out, const struct forecast *f, const struct text_style *style)
{
	uint32_t target = (uint32_t)f->point_count;
	bool has_past = f->measured_max > 0 && f->measured_max < target;
	/* A third for the name, 22 columns for the spaces and the two shares, the rest for the bar. */
	size_t label = text_width(style) / 3, bar = text_width(style) - label - 22;
	AUTO_RELEASE(strbuf) struct strbuf head = { 0 };
	strbuf_addf(&head, "Share of all stalls at %" PRIu32 " thread%s", target, plural(target));
	if (has_past)
		strbuf_addf(&head, " (at %" PRIu32 ", the highest measured)", f->measured_max);
	strbuf_add(out, "\n");
	text_add_wrapped(out, head.text ? head.text : "", text_width(style), "", "");
	for (size_t i = 0; i < f->stall_count; i++) {
		const struct forecast_stall *stall = &f->stalls[i];
		if (!forecast_has_stall(f, stall))
			continue;
		strbuf_add(out, "  ");
		text_add_left(out, stall->name, label);
		strbuf_add(out, " ");
		add_bar(out, style, stall->share_at_target, bar);
		strbuf_addf(out, "%5.1f%%", 100 * stall->share_at_target);
		if (has_past)
			strbuf_addf(out, " (%.1f%%)",
				100 * forecast_stall_share(f, stall, f->measured_max));
		strbuf_add(out, "\n");
	}
}

static void add_notes(struct strbuf *out, const struct forecast *f, const struct text_style *style)
{
	if (f->note_count > 0)
		strbuf_add(out, "\nNotes\n");
	for (size_t i = 0; i < f->note_count; i++)
		text_add_wrapped(out, f->notes[i], text_width(style), "  - ", "    ");
}

void report_forecast_text(
	struct strbuf *out, const struct forecast *f, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	AUTO_RELEASE(strbuf) struct strbuf findings = { 0 };
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	findings_forecast(&findings, f);
	add_findings(&text, &findings, style);
	figure_of_forecast(&figure, f, "");
	add_plot(&text, &figure, style);
	add_table(&text, f, style);
	if (forecast_has_stalls(f))
		add_stalls(&text, f, style);
	add_notes(&text, f, style);
	strbuf_addf(&text, "\nMethod: %s\n", f->method);
	text_add_in_charset(out, &text, style);
}

static void add_comparison_table(struct strbuf *out, const struct comparison *c)
{
	static const size_t side_widths[FORECAST_COLUMNS] = { 7, 11, 21, 11, 21, 9 };
	enum { SIDE = 11 + 21 };
	text_add_right(out, "threads", side_widths[0]);
	strbuf_add(out, "  ");
	text_add_right(out, c->label_a, SIDE - 2);
	strbuf_add(out, "  ");
	text_add_right(out, c->label_b, SIDE - 2);
	text_add_right(out, "speedup", side_widths[5]);
	strbuf_add(out, "\n");
	struct selection a = selection_of(c->a), b = selection_of(c->b);
	for (uint32_t n = 1; n <= comparison_target(c); n++) {
		if (!selection_has(&a, n) && !selection_has(&b, n) && n != c->crossing)
			continue;
		struct row row = comparison_row(c, n);
		for (size_t i = 0; i < FORECAST_COLUMNS; i++)
			text_add_right(out, row.cells[i], side_widths[i]);
		strbuf_add(out, "\n");
	}
}

void report_comparison_text(
	struct strbuf *out, const struct comparison *c, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	AUTO_RELEASE(strbuf) struct strbuf findings = { 0 };
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	findings_comparison(&findings, c);
	add_findings(&text, &findings, style);
	figure_of_comparison(&figure, c);
	add_plot(&text, &figure, style);
	add_comparison_table(&text, c);
	add_notes(&text, c->a, style);
	add_notes(&text, c->b, style);
	text_add_in_charset(out, &text, style);
}
