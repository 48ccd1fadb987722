/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions of the replay in a terminal. */
#include "report/whatif_view.h"

#include "base/cleanup.h"
#include "report/quantity.h"

#include <inttypes.h>

enum { CORES = 7, TIME = 11, SPAN = 24, SPEEDUP = 10, CURVE_ROWS = 12 };

static void add_sentences(
	struct strbuf *out, const struct whatif_answer *answer, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf lines = { 0 };
	whatif_add_findings(&lines, answer);
	text_add_lines(out, &lines, text_width(style), "", "  ");
}

/* The cores' times, and who is most critical there. */
static void add_table(
	struct strbuf *out, const struct whatif_answer *answer, const struct text_style *style)
{
	size_t width = text_width(style), used = CORES + TIME + SPAN + SPEEDUP + 2;
	strbuf_add(out, "\n");
	text_add_right(out, "cores", CORES);
	text_add_right(out, "time", TIME);
	text_add_right(out, "between", SPAN);
	text_add_right(out, "speedup", SPEEDUP);
	strbuf_add(out, "  most critical\n");
	for (size_t i = 0; i < answer->point_count; i++) {
		struct whatif_row row = whatif_row(answer, &answer->points[i]);
		AUTO_RELEASE(strbuf) struct strbuf stack = { 0 };
		whatif_add_stack(&stack, answer, &answer->points[i], 3);
		text_add_right(out, row.cores, CORES);
		text_add_right(out, row.time.text, TIME);
		text_add_right(out, row.span, SPAN);
		text_add_right(out, row.speedup, SPEEDUP);
		strbuf_add(out, "  ");
		text_add_cut(out, stack.text ? stack.text : "", width > used ? width - used : 1);
		text_trim(out);
		strbuf_add(out, "\n");
	}
}

static void add_curve(
	struct strbuf *out, const struct whatif_answer *answer, const struct text_style *style)
{
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	figure_of_whatif(&figure, answer);
	if (figure_failed(&figure) < 0) {
		out->failed = true;
		return;
	}
	strbuf_add(out, "\n");
	figure_text(out, &figure, style, CURVE_ROWS);
}

void report_whatif_text(
	struct strbuf *out, const struct whatif_answer *answer, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	add_sentences(&text, answer, style);
	if (answer->point_count > 1) {
		add_curve(&text, answer, style);
		add_table(&text, answer, style);
	}
	text_add_in_charset(out, &text, style);
	if (answer->point_count > 1)
		return;
	struct criticality_input after = answer->before;
	after.results = answer->points[0].results;
	after.subject = "the prediction";
	strbuf_add(out, "\n");
	report_criticality_change_text(out, &answer->before, &after, style);
}
