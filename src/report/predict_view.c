/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions in words and figures. */
#include "report/predict_view.h"

#include "base/cleanup.h"
#include "base/plural.h"
#include "report/page.h"
#include "report/palette.h"
#include "report/profile_view.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static_assert((int)PREDICT_PARTS <= (int)PALETTE_SLOTS, "each part looks different");

/* Below these shares nobody would notice. */
static const double UNMATCHED_NOTICEABLE = 0.01, OWN_ENOUGH = 0.9, UNDECODED_NOTICEABLE = 0.01,
		    READY_NOTICEABLE = 0.05, KERNEL_NOTICEABLE = 0.01;

static struct quantity_text seconds(uint64_t ns)
{
	return quantity_format(QUANTITY_TIME, (double)ns / 1e9);
}

void predict_add_span(struct strbuf *out, const struct predict_point *point)
{
	strbuf_addf(out, "%s to %s", seconds(point->low_ns).text, seconds(point->high_ns).text);
}

double predict_most_cpi(const struct predict_answer *answer)
{
	double most = 0;
	for (size_t i = 0; i < answer->point_count; i++) {
		double cpi = 0;
		for (unsigned k = 0; k < PREDICT_PARTS; k++)
			cpi += answer->points[i].prediction.stack[k];
		most = fmax(most, cpi);
	}
	return most;
}

char *predict_thread_name(
	const struct predict_answer *answer, const struct predicted_thread *thread)
{
	const char *name = "";
	char *text = NULL;
	for (size_t i = 0; i < answer->profile->thread_count; i++)
		if (answer->profile->threads[i].pid == thread->pid &&
			answer->profile->threads[i].tid == thread->tid)
			name = answer->profile->threads[i].name;
	int n = asprintf(&text, "%s%s%" PRIu32, *name ? name : "thread", " ", thread->tid);
	return n < 0 ? NULL : text;
}

void predict_add_critical(struct strbuf *out, const struct predict_answer *answer,
	const struct predict_point *point, size_t count)
{
	criticality_add_shares(out, point->results, answer->finder, count);
}

static void add_answer(struct strbuf *out, const struct predict_answer *answer)
{
	const struct predict_point *best = &answer->points[0], *worst = best;
	for (size_t i = 1; i < answer->point_count; i++) {
		const struct predict_point *point = &answer->points[i];
		if (point->prediction.ns < best->prediction.ns)
			best = point;
		if (point->prediction.ns > worst->prediction.ns)
			worst = point;
	}
	strbuf_addf(out, "%s takes %s (", answer->subject, seconds(best->prediction.ns).text);
	predict_add_span(out, best);
	strbuf_addf(out, ") on %s, %" PRIu32 " core%s", best->processor.name,
		best->prediction.cores, plural(best->prediction.cores));
	if (answer->point_count > 1)
		strbuf_addf(out, ": the fastest of %zu, %.2f times as fast as %s",
			answer->point_count,
			best->prediction.ns
				? (double)worst->prediction.ns / (double)best->prediction.ns
				: 1,
			worst->processor.name);
	/* docs/models/rppm.md: bench/rppm, bench/predict_time. */
	strbuf_addf(out, ". The range is what the profile leaves open%s. ",
		best->processor.sibling_busy > 0 && best->processor.sibling_spell_ns > 0
			? ", and when neighbours have the other half of each core"
			: "");
	strbuf_add(out, "Beyond it the model was off by 5% in the mean ");
	strbuf_add(out, "where a simulator of the processor checked it, ");
	strbuf_add(out, "by 11 to 30% where a real one did.\n");
}

/* What the profile lacks. */
static void add_quality(struct strbuf *out, const struct predict_answer *answer)
{
	const struct profile_quality *q = &answer->profile->quality;
	uint64_t instructions = 0;
	for (size_t i = 0; i < answer->profile->class_count; i++)
		instructions += answer->profile->classes[i].instructions;
	if (q->is_partial)
		strbuf_add(out, "The profile is of a part of the run only.\n");
	if (q->lost > 0)
		strbuf_addf(
			out, "%" PRIu64 " samples and events of the profile were lost.\n", q->lost);
	if ((double)q->undecoded > UNDECODED_NOTICEABLE * (double)instructions)
		strbuf_addf(out, "%" PRIu64 " of %" PRIu64 " instructions were not understood.\n",
			q->undecoded, instructions);
	profile_add_asking(out, answer->profile);
	profile_add_unpaced(out, answer->profile);
	if (answer->facts->by_order > 0)
		strbuf_addf(out,
			"What %" PRIu64 " of %" PRIu64
			" waits for conditions were for was not found: they are replayed in the "
			"recorded order.\n",
			answer->facts->by_order, answer->facts->conditions);
}

/* It is older than they are, and a processor has a TLB. */
static bool lacks_pages(const struct predict_answer *answer)
{
	for (size_t i = 0; i < answer->point_count; i++)
		if (answer->points[i].processor.tlb.entries > 0 &&
			!answer->points[i].prediction.has_pages)
			return true;
	return false;
}

/* Profiles are of what the program executes itself. */
static void add_kernel(struct strbuf *out, const struct predict_answer *answer)
{
	uint64_t calls = 0, ns = 0;
	for (size_t i = 0; i < answer->profile->class_count; i++) {
		calls += answer->profile->classes[i].system_calls;
		ns += answer->profile->classes[i].system_ns;
	}
	for (size_t i = 0; i < answer->point_count; i++) {
		const struct predict_point *point = &answer->points[i];
		bool has_kernel = point->processor.fault_ns > 0;
		double kernel_ns = (double)ns;
		if (has_kernel)
			kernel_ns += (double)calls * point->processor.call_ns;
		if (kernel_ns < KERNEL_NOTICEABLE * (double)point->prediction.ns)
			continue;
		strbuf_addf(out,
			"%s: the kernel's %s in %s system calls, as while it was profiled, %s.\n",
			point->processor.name, seconds((uint64_t)kernel_ns).text,
			number_format((double)calls).text,
			has_kernel ? "are 'system' here"
				   : "are not in the time: its file has no threads.fault");
	}
}

/* Whoever compares with a quiet minute should compare with this. */
static void add_alone(struct strbuf *out, const struct predict_answer *answer)
{
	for (size_t i = 0; i < answer->point_count; i++) {
		const struct predict_point *point = &answer->points[i];
		if (point->alone_ns > 0)
			strbuf_addf(out,
				"%s: others used %.0f%% of what they can of the cores' other "
				"hardware threads when it was measured (its file's sibling_busy), "
				"and are taken to do so again. Without them the program would take "
				"%s.\n",
				point->processor.name, 100 * point->processor.sibling_busy,
				seconds(point->alone_ns).text);
	}
}

static void add_doubts(struct strbuf *out, const struct predict_answer *answer)
{
	const struct prediction *p = &answer->points[0].prediction;
	add_quality(out, answer);
	if (answer->forgotten > 0)
		strbuf_addf(out,
			"%zu conditions keep the profiled order of wake-ups: what they seemed to "
			"be for came to a deadlock.\n",
			answer->forgotten);
	if (p->unmatched > UNMATCHED_NOTICEABLE * p->instructions)
		strbuf_addf(out,
			"%.0f%% of the instructions are of stretches that the profile has no "
			"figures of: they take as long as the others.\n",
			100 * p->unmatched / p->instructions);
	if (p->own_share < OWN_ENOUGH)
		strbuf_addf(out,
			"%.0f%% of the instructions have no micro-traces of their own: they take "
			"as long as those of other threads in the same place, or of all.\n",
			100 * (1 - p->own_share));
	if (lacks_pages(answer))
		strbuf_add(out, "The profile has no reuse of pages, so that TLBs cost nothing: "
				"profile again.\n");
	add_kernel(out, answer);
	for (size_t i = 0; i < answer->point_count; i++) {
		const struct predict_point *point = &answer->points[i];
		double ready_ns = 0, ran_ns = 0;
		for (size_t k = 0; k < point->prediction.thread_count; k++) {
			ready_ns += (double)point->prediction.threads[k].time.ready_ns;
			ran_ns += (double)point->prediction.threads[k].time.ran_ns;
		}
		if (ready_ns > READY_NOTICEABLE * ran_ns)
			strbuf_addf(out,
				"%s: threads wait for a core for %.0f%% of the time that they run; "
				"what they cost one another in the caches of a core they share is "
				"not predicted.\n",
				point->processor.name, 100 * ready_ns / ran_ns);
	}
}

void predict_add_findings(struct strbuf *out, const struct predict_answer *answer)
{
	add_answer(out, answer);
	add_alone(out, answer);
	add_doubts(out, answer);
}

/* The stack of a point; release it afterwards. */
static void figure_of_prediction(struct figure *figure, const struct predict_answer *answer,
	const struct predict_point *point)
{
	AUTO_RELEASE(strbuf) struct strbuf title = { 0 };
	double cpi = 0, end = 0;
	for (unsigned k = 0; k < PREDICT_PARTS; k++)
		cpi += point->prediction.stack[k];
	strbuf_addf(&title, "%s on %s: %s, %s cycles per instruction", answer->subject,
		point->processor.name, seconds(point->prediction.ns).text, number_format(cpi).text);
	figure_set(figure, &figure->title, title.text ? title.text : "");
	figure_set(figure, &figure->summary, title.text ? title.text : "");
	figure->height = 48;
	figure->x = (struct axis){ .title = "cycles per instruction, all threads" };
	figure->y = (struct axis){ .title = "", .is_hidden = true, .high = 1 };
	axis_fit(&figure->x, 0, predict_most_cpi(answer));
	for (unsigned k = 0; k < PREDICT_PARTS; k++) {
		double begin = end;
		if (point->prediction.stack[k] == 0)
			continue;
		end += point->prediction.stack[k];
		series_add_box(figure_add(figure, SERIES_BOXES, k, predict_part_name(k), 1), begin,
			end, 0, 1);
	}
}

void report_predict_svg(struct strbuf *out, const struct predict_answer *answer)
{
	AUTO_FREE struct figure *figures = calloc(answer->point_count, sizeof *figures);
	bool has_failed = !figures;
	for (size_t i = 0; figures && i < answer->point_count; i++) {
		figure_of_prediction(&figures[i], answer, &answer->points[i]);
		has_failed |= figure_failed(&figures[i]) < 0;
	}
	if (has_failed)
		out->failed = true;
	else
		figure_svg(out, figures, answer->point_count, false);
	for (size_t i = 0; figures && i < answer->point_count; i++)
		figure_release(&figures[i]);
}

static void add_page_table(struct strbuf *out, const struct predict_answer *answer)
{
	static const char *const heads[] = { "machine", "cores", "time", "between",
		"instructions per cycle", "energy", "most critical" };
	page_words_table_begin(out, heads, 7);
	for (size_t i = 0; i < answer->point_count; i++) {
		const struct predict_point *point = &answer->points[i];
		AUTO_RELEASE(strbuf)
		struct strbuf span = { 0 }, stack = { 0 }, energy = { 0 };
		char cores[16];
		double cpi = 0, energy_j = point->prediction.energy.total_j;
		strbuf_addf(&energy, energy_j > 0 ? "%s J" : "-", number_format(energy_j).text);
		for (unsigned k = 0; k < PREDICT_SYNC; k++)
			cpi += point->prediction.stack[k];
		snprintf(cores, sizeof cores, "%" PRIu32, point->prediction.cores);
		predict_add_span(&span, point);
		predict_add_critical(&stack, answer, point, 3);
		struct quantity_text time = seconds(point->prediction.ns);
		struct quantity_text ipc = number_format(cpi > 0 ? 1 / cpi : 0);
		const char *const cells[] = { point->processor.name, cores, time.text,
			span.text ? span.text : "", ipc.text, energy.text ? energy.text : "",
			stack.text ? stack.text : "" };
		page_table_row(out, cells, 7);
	}
	page_table_end(out);
}

void predict_add_sections(struct strbuf *out, const struct predict_answer *answer)
{
	page_section(out, "Predictions");
	add_page_table(out, answer);
	page_section(out, "What cycles go to");
	for (size_t i = 0; i < answer->point_count; i++) {
		AUTO_RELEASE(figure) struct figure figure = { 0 };
		figure_of_prediction(&figure, answer, &answer->points[i]);
		out->failed |= figure_failed(&figure) < 0;
		page_figure(out, &figure);
	}
	const struct predict_point *last = &answer->points[answer->point_count - 1];
	const struct criticality_input input = {
		.results = last->results, .subject = last->processor.name, .finder = answer->finder
	};
	criticality_add_sections(out, &input);
}

void report_predict_html(struct strbuf *out, const struct predict_answer *answer)
{
	AUTO_RELEASE(strbuf) struct strbuf title = { 0 }, findings = { 0 };
	strbuf_addf(&title, "%s on other processors", answer->subject);
	page_begin(out, title.text ? title.text : "");
	predict_add_findings(&findings, answer);
	page_findings(out, findings.text ? findings.text : "");
	predict_add_sections(out, answer);
	page_end(out, "corecast " CORECAST_VERSION ".");
}
