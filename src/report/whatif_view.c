/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions in words, rows and figures. */
#include "report/whatif_view.h"

#include "base/cleanup.h"
#include "base/plural.h"
#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static struct quantity_text seconds(uint64_t ns)
{
	return quantity_format(QUANTITY_TIME, (double)ns / 1e9);
}

double whatif_speedup(const struct whatif_answer *answer, const struct whatif_point *point)
{
	return point->predicted_ns ? (double)answer->replayed_ns / (double)point->predicted_ns
				   : NAN;
}

struct whatif_row whatif_row(const struct whatif_answer *answer, const struct whatif_point *point)
{
	struct whatif_row row = { .time = seconds(point->predicted_ns) };
	snprintf(row.cores, sizeof row.cores, "%" PRIu32, point->cores);
	snprintf(row.span, sizeof row.span, "%s to %s", seconds(point->low_ns).text,
		seconds(point->high_ns).text);
	snprintf(row.speedup, sizeof row.speedup, "%.2f", whatif_speedup(answer, point));
	return row;
}

static void add_changes(struct strbuf *out, const struct whatif_answer *answer)
{
	for (size_t i = 0; i < answer->change_count; i++) {
		bool is_left_out = strncmp(answer->changes[i], "without ", strlen("without ")) == 0;
		strbuf_add(out, i ? ", " : is_left_out ? " " : " with ");
		text_add_clean(out, answer->changes[i]);
	}
}

/* The fewest other cores on which it may be as fast as on the best: a difference that the interval does not show is none. */
static const struct whatif_point *find_rival(
	const struct whatif_answer *answer, const struct whatif_point *best)
{
	const struct whatif_point *rival = NULL;
	for (size_t i = 0; i < answer->point_count; i++) {
		const struct whatif_point *point = &answer->points[i];
		if (point != best && point->low_ns <= best->predicted_ns &&
			(!rival || point->cores < rival->cores))
			rival = point;
	}
	return rival;
}

static void add_answer(struct strbuf *out, const struct whatif_answer *answer)
{
	const struct whatif_point *best = &answer->points[0];
	for (size_t i = 1; i < answer->point_count; i++)
		if (answer->points[i].predicted_ns < best->predicted_ns)
			best = &answer->points[i];
	strbuf_addf(out, "%s %" PRIu32 " core%s", answer->point_count > 1 ? "Fastest on" : "On",
		best->cores, plural(best->cores));
	add_changes(out, answer);
	strbuf_addf(out, ": %s (%s to %s), %.2f times as fast as on the %" PRIu32 " recorded.\n",
		seconds(best->predicted_ns).text, seconds(best->low_ns).text,
		seconds(best->high_ns).text, whatif_speedup(answer, best), answer->facts->cores);
	const struct whatif_point *rival = find_rival(answer, best);
	if (rival)
		strbuf_addf(out, "On %" PRIu32 " core%s it may be as fast: %s to %s.\n",
			rival->cores, plural(rival->cores), seconds(rival->low_ns).text,
			seconds(rival->high_ns).text);
}

/* What threads waited for is not in the recording: what was made of it. */
static void add_inferred(struct strbuf *out, const struct whatif_answer *answer)
{
	const struct replay_facts *f = answer->facts;
	if (answer->forgotten > 0)
		strbuf_addf(out,
			"With what was inferred of %zu condition%s the replay came to a deadlock: "
			"replayed without it.\n",
			answer->forgotten, plural(answer->forgotten));
	if (f->in_turns > 0)
		strbuf_addf(out,
			"With what was inferred of %" PRIu64
			" lock%s or barrier%s the replay came to a deadlock: such locks keep the "
			"recorded order, such barriers let all pass.\n",
			f->in_turns, plural(f->in_turns), plural(f->in_turns));
	if (f->by_order > 0)
		strbuf_addf(out,
			"What %" PRIu64 " of %" PRIu64
			" waits for conditions were for was not found: they are replayed in the "
			"recorded order, on more cores without one.\n",
			f->by_order, f->conditions);
	if (f->dealt > 0)
		strbuf_addf(out,
			"%" PRIu64
			" pieces of work that threads took from %zu common suppl%s go to whoever "
			"asks first, not to who had them in the recording.\n",
			f->dealt, f->supplies, f->supplies == 1 ? "y" : "ies");
	if (f->tickers > 0)
		strbuf_addf(out,
			"%" PRIu64
			" thread%s did something from time to time until joined: %s so as often as "
			"there is time for here.\n",
			f->tickers, plural(f->tickers), f->tickers == 1 ? "it does" : "they do");
	if (f->polls > 0)
		strbuf_addf(out,
			"%" PRIu64
			" loop%s of sleeping ended when others were done: %s end%s when they are "
			"done here.\n",
			f->polls, plural(f->polls), f->polls == 1 ? "it" : "they",
			f->polls == 1 ? "s" : "");
	if (f->shared_rounds > 0)
		strbuf_addf(out,
			"In %" PRIu64
			" round%s threads did different amounts of work and were done together: "
			"taken as work that they shared out while they did it. If it was divided "
			"beforehand, other cores give other times.\n",
			f->shared_rounds, plural(f->shared_rounds));
}

static void add_doubts(struct strbuf *out, const struct whatif_answer *answer)
{
	const struct replay_facts *f = answer->facts;
	if (!answer->is_within_limit)
		strbuf_add(
			out, "The replay does not reproduce the recording: do not trust this.\n");
	if (!f->has_cores)
		strbuf_addf(out,
			"How many cores the run had was not recorded: taken as %" PRIu32
			", as it used at the same time (--recorded-cores).\n",
			f->cores);
	if (!f->has_cpu_times)
		strbuf_add(out,
			"There are no CPU times in it: the time between two events stands for "
			"them.\n");
	if (f->available < 0.9)
		strbuf_addf(out,
			"The run got %.0f%% of the cores' time that it could have used: the rest "
			"went to other programs, or its threads waited for what is not recorded "
			"(in the C library, in loops of its own). Others are taken to want as much "
			"of other cores.\n",
			100 * f->available);
	add_inferred(out, answer);
	if (f->lost > 0)
		strbuf_addf(out, "%" PRIu64 " events were not recorded.\n", f->lost);
	if (f->left_out > 0)
		strbuf_addf(out,
			"%" PRIu64
			" free locks were left out by the recorder's budget: they are computing "
			"here, and can neither be waited for nor sped up. 'record --budget none' "
			"records all.\n",
			f->left_out);
}

void whatif_add_findings(struct strbuf *out, const struct whatif_answer *answer)
{
	const struct replay_facts *f = answer->facts;
	add_answer(out, answer);
	strbuf_addf(out, "Replayed on %" PRIu32 " core%s: %s, measured %s, error %+.1f%%.\n",
		f->cores, plural(f->cores), seconds(answer->replayed_ns).text,
		seconds(f->measured_ns).text, 100 * answer->error);
	add_doubts(out, answer);
}

void whatif_add_stack(struct strbuf *out, const struct whatif_answer *answer,
	const struct whatif_point *point, size_t count)
{
	criticality_add_shares(out, point->results, answer->before.finder, count);
}

static void add_series(struct figure *figure, const struct whatif_answer *answer,
	enum series_kind kind, const char *name)
{
	struct series *series = figure_add(figure, kind, 0, name, answer->point_count);
	for (size_t i = 0; i < answer->point_count; i++) {
		const struct whatif_point *p = &answer->points[i];
		uint64_t y_ns = kind == SERIES_BAND ? p->low_ns : p->predicted_ns;
		series_add(series, p->cores, (double)y_ns / 1e9, (double)p->high_ns / 1e9);
	}
}

void figure_of_whatif(struct figure *figure, const struct whatif_answer *answer)
{
	const struct whatif_point *first = &answer->points[0];
	const struct whatif_point *last = &answer->points[answer->point_count - 1];
	bool is_steep = first->predicted_ns / 5 > last->predicted_ns;
	AUTO_RELEASE(strbuf) struct strbuf title = { 0 }, summary = { 0 };
	strbuf_addf(&title, "%s: time on other numbers of cores", answer->before.subject);
	whatif_add_findings(&summary, answer);
	figure_set(figure, &figure->title, title.text ? title.text : "");
	figure_set(figure, &figure->summary, summary.text ? summary.text : "");
	figure->x = (struct axis){ .title = "cores", .is_threads = true };
	figure->x.is_log = is_steep && last->cores > first->cores;
	axis_fit(&figure->x, first->cores,
		last->cores > first->cores ? last->cores : first->cores + 1);
	figure->y = (struct axis){ .title = "time", .quantity = QUANTITY_TIME, .is_log = is_steep };
	add_series(figure, answer, SERIES_BAND, "uncertain");
	add_series(figure, answer, SERIES_LINE, "predicted");
	struct series *marks = figure_add(figure, SERIES_MARKS, 0, "measured", 1);
	if (answer->facts->cores >= first->cores && answer->facts->cores <= last->cores)
		series_add(
			marks, answer->facts->cores, (double)answer->facts->measured_ns / 1e9, 0);
	figure_fit(figure);
}

void report_whatif_svg(struct strbuf *out, const struct whatif_answer *answer)
{
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	if (answer->point_count == 1) {
		struct criticality_input after = answer->before;
		after.results = answer->points[0].results;
		report_criticality_svg(out, &after);
		return;
	}
	figure_of_whatif(&figure, answer);
	if (figure_failed(&figure) < 0)
		out->failed = true;
	else
		figure_svg(out, &figure, 1, false);
}

static void add_page_table(struct strbuf *out, const struct whatif_answer *answer)
{
	static const char *const heads[] = { "cores", "time", "between", "speedup",
		"most critical" };
	page_words_table_begin(out, heads, 5);
	for (size_t i = 0; i < answer->point_count; i++) {
		struct whatif_row row = whatif_row(answer, &answer->points[i]);
		AUTO_RELEASE(strbuf) struct strbuf stack = { 0 };
		whatif_add_stack(&stack, answer, &answer->points[i], 3);
		const char *const cells[] = { row.cores, row.time.text, row.span, row.speedup,
			stack.text ? stack.text : "" };
		page_table_row(out, cells, 5);
	}
	page_table_end(out);
}

void report_whatif_html(struct strbuf *out, const struct whatif_answer *answer)
{
	AUTO_RELEASE(figure) struct figure figure = { 0 };
	AUTO_RELEASE(strbuf) struct strbuf title = { 0 }, findings = { 0 };
	strbuf_addf(&title, "%s on other cores", answer->before.subject);
	page_begin(out, title.text ? title.text : "");
	whatif_add_findings(&findings, answer);
	page_findings(out, findings.text ? findings.text : "");
	page_section(out, "Predictions");
	if (answer->point_count > 1) {
		figure_of_whatif(&figure, answer);
		page_figure(out, &figure);
	}
	add_page_table(out, answer);
	struct criticality_input after = answer->before;
	after.results = answer->points[answer->point_count - 1].results;
	criticality_add_sections(out, &after);
	page_end(out, "corecast " CORECAST_VERSION ".");
	out->failed |= figure_failed(&figure) < 0;
}
