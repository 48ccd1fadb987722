/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions in a terminal. */
#include "report/predict_view.h"

#include "base/cleanup.h"
#include "report/palette.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NAME = 18, CORES = 6, TIME = 10, SPAN = 22, CPI = 7, THREADS_SHOWN = 16 };

/* Of all threads' cycles: who has less does not set the scale. */
static const double LITTLE = 0.01;

/* Letters tell the parts apart without colour. */
static const char letters[PREDICT_PARTS] = "#bi23mctxo.";

static void add_sentences(
	struct strbuf *out, const struct predict_answer *answer, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf lines = { 0 };
	predict_add_findings(&lines, answer);
	text_add_lines(out, &lines, text_width(style), "", "  ");
}

static void add_table(
	struct strbuf *out, const struct predict_answer *answer, const struct text_style *style)
{
	size_t used = NAME + CORES + TIME + SPAN + 2;
	strbuf_add(out, "\n");
	text_add_left(out, "machine", NAME);
	text_add_right(out, "cores", CORES);
	text_add_right(out, "time", TIME);
	text_add_right(out, "between", SPAN);
	strbuf_add(out, "  most critical\n");
	for (size_t i = 0; i < answer->point_count; i++) {
		const struct predict_point *point = &answer->points[i];
		AUTO_RELEASE(strbuf) struct strbuf span = { 0 }, stack = { 0 };
		char cores[16];
		snprintf(cores, sizeof cores, "%" PRIu32, point->prediction.cores);
		predict_add_span(&span, point);
		predict_add_critical(&stack, answer, point, 2);
		text_add_left(out, point->processor.name, NAME);
		text_add_right(out, cores, CORES);
		text_add_right(out,
			quantity_format(QUANTITY_TIME, (double)point->prediction.ns / 1e9).text,
			TIME);
		text_add_right(out, span.text ? span.text : "", SPAN);
		strbuf_add(out, "  ");
		text_add_cut(out, stack.text ? stack.text : "",
			text_width(style) > used ? text_width(style) - used : 1);
		text_trim(out);
		strbuf_add(out, "\n");
		out->failed |= span.failed || stack.failed;
	}
}

static void add_part(
	struct strbuf *out, const struct text_style *style, unsigned part, size_t columns)
{
	const char text[] = { letters[part], '\0' };
	bool has_colour = style->has_colour && columns > 0;
	if (has_colour)
		strbuf_addf(out, "\033[%sm", palette_slot(part)->sgr);
	text_add_repeated(out, text, columns);
	if (has_colour)
		strbuf_add(out, "\033[0m");
}

/* A name, its cycles per instruction, and a bar of what they go to; `most` fills the line, and what is more is cut off. */
static void add_bar(struct strbuf *out, const struct text_style *style, const char *name,
	const double stack[PREDICT_PARTS], double most)
{
	size_t room = text_width(style) - NAME - CPI - 1, end = 0;
	double sum = 0, cpi = 0;
	for (unsigned k = 0; k < PREDICT_PARTS; k++)
		cpi += stack[k];
	bool is_cut = most > 0 && cpi > most;
	room -= is_cut;
	text_add_left(out, name, NAME);
	text_add_right(out, number_format(cpi).text, CPI);
	strbuf_add(out, " ");
	for (unsigned k = 0; k < PREDICT_PARTS; k++) {
		sum += stack[k];
		size_t until = (size_t)lround(fmin(most > 0 ? sum / most : 0, 1) * (double)room);
		add_part(out, style, k, until > end ? until - end : 0);
		end = until > end ? until : end;
	}
	strbuf_add(out, is_cut ? ">" : "");
	text_trim(out);
	strbuf_add(out, "\n");
}

static void add_bars_head(struct strbuf *out, const struct text_style *style, const char *what)
{
	AUTO_RELEASE(strbuf) struct strbuf legend = { 0 };
	strbuf_add(&legend, "Cycles per instruction:");
	for (unsigned k = 0; k < PREDICT_PARTS; k++)
		strbuf_addf(&legend, " %c %s%s", letters[k], predict_part_name(k),
			k + 1 < PREDICT_PARTS ? "," : "");
	strbuf_add(out, "\n");
	if (legend.text)
		text_add_wrapped(out, legend.text, text_width(style), "", "  ");
	out->failed |= legend.failed;
	text_add_left(out, what, NAME);
	text_add_right(out, "all", CPI);
	strbuf_add(out, "\n");
}

static void add_machines(
	struct strbuf *out, const struct predict_answer *answer, const struct text_style *style)
{
	double most = predict_most_cpi(answer);
	add_bars_head(out, style, "machine");
	for (size_t i = 0; i < answer->point_count; i++)
		add_bar(out, style, answer->points[i].processor.name,
			answer->points[i].prediction.stack, most);
}

/* Cycles of a thread's instructions, without its waiting. */
static double busy_cycles(const struct predicted_thread *thread)
{
	return (thread->cpi - thread->stack[PREDICT_SYNC]) * (double)thread->instructions;
}

/*
 * Threads that mostly wait have a high CPI: bars are of what they would be without. So have those of a few system calls
 * and hardly any instruction beside: theirs are cut off.
 */
static void add_threads(
	struct strbuf *out, const struct predict_answer *answer, const struct text_style *style)
{
	const struct prediction *p = &answer->points[0].prediction;
	double most = 0, busy = 0;
	for (size_t i = 0; i < p->thread_count; i++)
		busy += busy_cycles(&p->threads[i]);
	for (size_t i = 0; i < p->thread_count; i++)
		if (busy_cycles(&p->threads[i]) >= LITTLE * busy)
			most = fmax(most, p->threads[i].cpi - p->threads[i].stack[PREDICT_SYNC]);
	most = fmax(2 * most, predict_most_cpi(answer));
	add_bars_head(out, style, "thread");
	for (size_t i = 0; i < p->thread_count && i < THREADS_SHOWN; i++) {
		AUTO_FREE char *name = predict_thread_name(answer, &p->threads[i]);
		add_bar(out, style, name ? name : "", p->threads[i].stack, most);
	}
	if (p->thread_count > THREADS_SHOWN)
		strbuf_addf(out, "and %zu more\n", p->thread_count - THREADS_SHOWN);
}

void report_predict_text(
	struct strbuf *out, const struct predict_answer *answer, const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	add_sentences(&text, answer, style);
	if (answer->point_count > 1) {
		add_table(&text, answer, style);
		add_machines(&text, answer, style);
	} else {
		add_threads(&text, answer, style);
	}
	text_add_in_charset(out, &text, style);
	if (answer->point_count > 1)
		return;
	const struct criticality_input input = { .results = answer->points[0].results,
		.subject = answer->points[0].processor.name,
		.finder = answer->finder };
	strbuf_add(out, "\n");
	report_criticality_text(out, &input, style);
}
