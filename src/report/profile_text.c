/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A profile in a terminal. */
#include "base/plural.h"
#include "report/profile_view.h"

#include "base/cleanup.h"
#include "report/quantity.h"
#include "trace/vocabulary.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
	NAME = 18,
	NUMBER = 9,
	SHARE = 7,
	CLASSES_SHOWN = 8,
	THREADS_SHOWN = 16,
	MIX_SHOWN = 4,
};

static struct quantity_text count_text(uint64_t count)
{
	return quantity_format(QUANTITY_COUNT, (double)count);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* "alu 34%, move 28%, ..." */
static void add_mix(struct strbuf *out, const struct profile_totals *totals)
{
	unsigned order[CODE_CLASSES];
	size_t count = profile_mix_order(totals, order);
	for (size_t i = 0; i < count && i < MIX_SHOWN; i++)
		strbuf_addf(out, "%s%s %.0f%%", i ? ", " : "",
			code_class_name((enum code_class)order[i]),
			share(totals->mix[order[i]], totals->instructions));
}

static void add_line(struct strbuf *out, const struct text_style *style, const char *line)
{
	text_add_wrapped(out, line, text_width(style), "", "  ");
}

static void add_summary(struct strbuf *out, const struct profile *profile, const char *subject,
	const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf line = { 0 };
	struct profile_totals totals = profile_totals_of(profile, -1);
	strbuf_addf(&line, "%s: %s instructions of %zu thread%s, in %s stretches of %zu class%s",
		subject, count_text(totals.instructions).text, profile->thread_count,
		plural(profile->thread_count), count_text(totals.stretches).text,
		profile->class_count, profile->class_count == 1 ? "" : "es");
	if (line.text)
		add_line(out, style, line.text);
	out->failed |= line.failed;
}

static void add_row(struct strbuf *out, const struct text_style *style, const char *name,
	const struct profile_totals *totals, uint64_t whole)
{
	AUTO_RELEASE(strbuf) struct strbuf mix = { 0 };
	char percent[16];
	snprintf(percent, sizeof percent, "%.1f%%", share(totals->instructions, whole));
	add_mix(&mix, totals);
	text_add_left(out, name, NAME);
	text_add_right(out, count_text(totals->instructions).text, NUMBER);
	text_add_right(out, percent, SHARE);
	text_add_right(out, count_text(totals->stretches).text, NUMBER);
	strbuf_add(out, "  ");
	text_add_cut(
		out, mix.text ? mix.text : "", text_width(style) - (NAME + 2 * NUMBER + SHARE + 2));
	text_trim(out);
	strbuf_add(out, "\n");
	out->failed |= mix.failed;
}

static void add_head(struct strbuf *out, const char *what)
{
	strbuf_add(out, "\n");
	text_add_left(out, what, NAME);
	text_add_right(out, "instr.", NUMBER);
	text_add_right(out, "share", SHARE);
	text_add_right(out, "times", NUMBER);
	strbuf_add(out, "  executes\n");
}

static void add_threads(
	struct strbuf *out, const struct profile *profile, const struct text_style *style)
{
	uint64_t whole = profile_totals_of(profile, -1).instructions;
	size_t shown = 0;
	add_head(out, "thread");
	for (size_t i = 0; i < profile->thread_count && shown < THREADS_SHOWN; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		if (thread->counted_with > 0)
			continue;
		shown++;
		struct profile_totals totals = profile_totals_of(profile, (ptrdiff_t)i);
		char name[sizeof thread->name + 24];
		snprintf(name, sizeof name, "%s%s%" PRIu32, thread->name, *thread->name ? " " : "",
			thread->tid);
		add_row(out, style, name, &totals, whole);
	}
	if (profile->thread_count > shown)
		strbuf_addf(out,
			"and %zu more, those that did the same counted with the first of them\n",
			profile->thread_count - shown);
}

/* By what begins them, whatever thread and call it is. */
static void add_kinds(
	struct strbuf *out, const struct profile *profile, const struct text_style *style)
{
	enum { KINDS = 256 };
	struct kind {
		struct profile_totals totals;
		uint8_t kind, what;
	};
	AUTO_FREE struct kind *kinds = calloc(KINDS, sizeof *kinds);
	size_t count = 0;
	uint64_t whole = profile_totals_of(profile, -1).instructions;
	if (!kinds) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		size_t at = 0;
		while (at < count &&
			(kinds[at].kind != class->kind || kinds[at].what != class->what))
			at++;
		if (at == KINDS)
			continue; /* there are not so many */
		if (at == count)
			kinds[count++] = (struct kind){ .kind = class->kind, .what = class->what };
		kinds[at].totals.stretches += class->stretches;
		kinds[at].totals.instructions += class->instructions;
		for (int j = 0; j < CODE_CLASSES; j++)
			kinds[at].totals.mix[j] += class->mix[j];
	}
	add_head(out, "after");
	for (size_t shown = 0; shown < CLASSES_SHOWN && shown < count; shown++) {
		size_t most = shown;
		for (size_t i = shown; i < count; i++)
			if (kinds[i].totals.instructions > kinds[most].totals.instructions)
				most = i;
		struct kind next = kinds[most];
		kinds[most] = kinds[shown];
		char name[64];
		snprintf(name, sizeof name, "%s %s",
			next.kind ? event_kind_word(next.kind) : "not in timeline",
			event_what_word(next.what));
		add_row(out, style, name, &next.totals, whole);
	}
}

static void add_quality(
	struct strbuf *out, const struct profile *profile, const struct text_style *style)
{
	const struct profile_quality *q = &profile->quality;
	AUTO_RELEASE(strbuf) struct strbuf line = { 0 };
	strbuf_addf(&line, "By %s in %s", q->backend,
		quantity_format(QUANTITY_TIME, q->profiled_s).text);
	if (q->native_s > 0)
		strbuf_addf(&line, ", %.1f times as long as without", q->profiled_s / q->native_s);
	strbuf_addf(&line,
		"; %" PRIu64 " reuse distances and %" PRIu64 " micro-traces sampled; %" PRIu64
		" lost, %" PRIu64 " stretches without a class, %" PRIu64
		" instructions not understood.",
		q->reuse_samples, q->micro_traces, q->lost, q->unmatched, q->undecoded);
	strbuf_add(out, "\n");
	if (line.text)
		add_line(out, style, line.text);
	out->failed |= line.failed;
	AUTO_RELEASE(strbuf) struct strbuf asking = { 0 };
	profile_add_asking(&asking, profile);
	if (asking.text)
		add_line(out, style, asking.text);
	out->failed |= asking.failed;
	AUTO_RELEASE(strbuf) struct strbuf unpaced = { 0 };
	profile_add_unpaced(&unpaced, profile);
	if (unpaced.text)
		add_line(out, style, unpaced.text);
	out->failed |= unpaced.failed;
	if (!q->has_timeline)
		add_line(out, style,
			"It has no timeline: the program never loaded corecast's library, so what "
			"its "
			"threads wait for is not known.");
	if (q->is_partial)
		add_line(out, style,
			"It is partial: the program, or its profiler, was ended before its time.");
}

void report_profile_text(struct strbuf *out, const struct profile *profile, const char *subject,
	const struct text_style *style)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	add_summary(&text, profile, subject, style);
	add_threads(&text, profile, style);
	add_kinds(&text, profile, style);
	add_quality(&text, profile, style);
	text_add_in_charset(out, &text, style);
}
