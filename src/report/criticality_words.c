/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings and data quality in words. */
#include "report/criticality_view.h"

#include "base/cleanup.h"
#include "report/quantity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shares of cores that others had: worth a note; an explanation of why nothing stands out. */
#define FEW_DENIED 0.1
#define MANY_DENIED 0.25
/* What is less of the time says little. */
#define NOTABLE 0.1
/* Of the time that counts as work: sleeping that was not recorded. */
#define MUCH_UNSEEN 0.1

static struct quantity_text seconds(uint64_t ns)
{
	return quantity_format(QUANTITY_TIME, (double)ns / 1e9);
}

static double percent(const struct criticality_view *view, uint64_t ns)
{
	return view->results->elapsed_ns ? 100.0 * (double)ns / (double)view->results->elapsed_ns
					 : 0;
}

static const char *thread_of(const struct criticality_view *view, const struct finding *finding)
{
	return finding->thread == INDEX_NONE ? "one thread" : view->threads[finding->thread];
}

static double mean_parallelism(const struct results *results)
{
	double sum = 0;
	for (size_t i = 0; i < results->thread_count; i++)
		sum += (double)results->threads[i].running_ns;
	return results->elapsed_ns ? sum / (double)results->elapsed_ns : 0;
}

/* "mutex NAME"; an object without a name already says in its label what it is. */
static void add_lock(struct strbuf *out, const struct criticality_view *view, uint32_t lock)
{
	const char *what = what_name(view->results->locks[lock].what), *label = view->locks[lock];
	if (strncmp(label, what, strlen(what)) != 0)
		strbuf_addf(out, "%s ", what);
	strbuf_add(out, label);
}

/* "main > run > mix (a.c:4)", and its share of the time in which only one thread was active. */
static void add_code_alone(struct strbuf *out, const struct criticality_view *view)
{
	const struct code_label *code = view->most_alone;
	if (code->callers)
		strbuf_add(out, code->callers);
	strbuf_add(out, code->alone_text ? code->alone_text : code->text);
}

static double share_alone(const struct criticality_view *view)
{
	uint64_t all_ns = 0;
	for (size_t i = 0; i < view->site_count; i++)
		all_ns += view->sites[i].alone_ns;
	return (double)view->most_alone->alone_ns / (double)all_ns;
}

static bool has_serial_code(const struct criticality_view *view)
{
	return view->most_alone && share_alone(view) >= NOTABLE;
}

/* Not a runtime's, as what wakes the next thread: it is no more the cause than the word at which that one slept. */
static bool has_own_serial_code(const struct criticality_view *view)
{
	return has_serial_code(view) && !view->most_alone->is_system;
}

static void add_serial_code(struct strbuf *out, const struct criticality_view *view)
{
	if (!has_serial_code(view))
		return;
	strbuf_addf(out, "%sWhile only one thread was active, %.0f%% of the time went to ",
		out->length > 0 ? " " : "", 100 * share_alone(view));
	add_code_alone(out, view);
	strbuf_add(out, ".");
}

/* Threads that a runtime parks take turns, for nobody knows what. */
static bool is_parked(const struct criticality_view *view, const struct finding *finding)
{
	const struct results *r = view->results;
	return finding->kind == FINDING_LOCK &&
	       result_lock_is_signalled(&r->locks[finding->lock]) &&
	       view->uses[finding - r->findings].is_parking;
}

/* The start routine of those who were alone for more than half of the time in which anybody was; NULL. */
static const char *serial_routine(const struct criticality_view *view)
{
	uint64_t ahead_ns = 0, its_ns = 0, all_ns = 0;
	size_t candidate = 0; /* by majority vote: whoever has more than half is left */
	for (size_t i = 0; i < view->row_count; i++) {
		const struct result_thread *row = &view->rows[i];
		if (row->routine == view->rows[candidate].routine)
			ahead_ns += row->alone_ns;
		else if (ahead_ns >= row->alone_ns)
			ahead_ns -= row->alone_ns;
		else {
			ahead_ns = row->alone_ns - ahead_ns;
			candidate = i;
		}
	}
	for (size_t i = 0; i < view->row_count; i++) {
		all_ns += view->rows[i].alone_ns;
		if (view->rows[i].routine == view->rows[candidate].routine)
			its_ns += view->rows[i].alone_ns;
	}
	bool is_known = view->row_count > 0 && view->is_own_routine[candidate];
	return is_known && 2 * its_ns > all_ns ? view->routines[candidate] : NULL;
}

static void describe_alone(struct strbuf *out, const struct criticality_view *view)
{
	const struct results *r = view->results;
	const char *routine = serial_routine(view);
	strbuf_addf(out, "For %.0f%% of the time only one thread is active, each time another one",
		percent(view, r->parallelism_ns[1]));
	if (routine)
		strbuf_addf(out, ", most often one that runs %s", routine);
	strbuf_add(out, ".");
}

char *finding_subject(const struct criticality_view *view, const struct finding *finding)
{
	struct strbuf text = { 0 };
	bool has_thread = finding->thread != INDEX_NONE, has_lock = finding->lock != INDEX_NONE;
	bool is_code = is_parked(view, finding) && has_own_serial_code(view);
	const char *name = NULL;
	strbuf_add(&text, "");
	if (finding->kind == FINDING_LOCK || finding->kind == FINDING_SPIN)
		name = view->locks[finding->lock];
	else if (has_thread)
		name = view->threads[finding->thread];
	else if (finding->kind == FINDING_SERIAL)
		name = serial_routine(view);
	if (!name && finding->kind == FINDING_SERIAL)
		is_code |= has_serial_code(view);
	if (is_code)
		add_code_alone(&text, view);
	else if (name)
		strbuf_add(&text, name);
	if (finding->kind == FINDING_BARRIER)
		strbuf_addf(&text, "%s%s", has_thread ? " at " : "",
			has_lock ? view->locks[finding->lock] : "a barrier");
	return text.text;
}

/* The most that removing the cause could give. */
static void add_bound(
	struct strbuf *out, const struct results *results, const struct finding *finding)
{
	if (!isfinite(finding->bound)) {
		strbuf_add(out, " All that it did depends on that.");
		return;
	}
	strbuf_addf(out, " Without that, the program could be at most %s times as fast",
		number_format(finding->bound).text);
	if (finding->spread < finding->bound) {
		strbuf_add(out, "; with the same work spread evenly");
		if (results->cores > 0)
			strbuf_addf(out, " on %" PRIu32 " core%s", results->cores,
				results->cores > 1 ? "s" : "");
		strbuf_addf(out, ", about %s times", number_format(finding->spread).text);
	}
	strbuf_add(out, ".");
}

static void add_unseen(struct strbuf *out, const struct results *results)
{
	strbuf_addf(out,
		"for %.0f%% of the time that counts as the threads' work they slept, and the "
		"library does not see why (locks of the program's own, as Go has them, or "
		"reads within the C library): corecast record --via bpf does.",
		100 * results_unseen_share(results));
}

/* How sure it is: what was lost, and else the waits that the finding rests on. */
static void add_certainty(
	struct strbuf *out, const struct criticality_view *view, const struct finding *finding)
{
	if (finding != view->results->findings)
		return;
	if (view->results->elapsed_ns == 0)
		return;
	if (view->results->lost > 0)
		strbuf_add(out,
			" (Likely: events were lost, so this is of what is left, and times are not "
			"exact.)");
	else if (finding->kind != FINDING_NONE &&
		 results_unseen_share(view->results) >= MUCH_UNSEEN) {
		strbuf_add(out, " (Not sure: ");
		add_unseen(out, view->results);
		strbuf_add(out, ")");
	} else if (finding->kind == FINDING_NONE)
		return;
	else if (denied_core_share(view->results) >= MANY_DENIED)
		strbuf_addf(out,
			" (Less sure: other work had the cores for %.0f%% of the time in which "
			"these threads could have used them, and who waits for a core counts as "
			"active.)",
			100 * denied_core_share(view->results));
	else if (finding->is_clear)
		strbuf_add(out, " (Clear: nothing else costs half as much.)");
	else
		strbuf_add(out, " (One of several: see what follows.)");
}

/* What ran says more than the words at which a runtime parks its threads, each at its own. */
static void describe_parked(
	struct strbuf *out, const struct criticality_view *view, const struct finding *finding)
{
	if (has_own_serial_code(view)) {
		add_serial_code(out, view);
		strbuf_add(out, " Meanwhile threads were parked by the program's runtime until "
				"another one let them go on");
	} else {
		strbuf_add(out, "Threads take turns: the program's runtime parks each until "
				"another one lets it go on");
	}
	strbuf_add(out, ", most at ");
	add_lock(out, view, finding->lock);
	strbuf_addf(out, ", which does not tell what for. On average %.2f threads were active.",
		mean_parallelism(view->results));
}

static void describe_turns(
	struct strbuf *out, const struct criticality_view *view, const struct finding *finding)
{
	const struct result_lock *lock = &view->results->locks[finding->lock];
	if (is_parked(view, finding)) {
		describe_parked(out, view, finding);
		return;
	}
	strbuf_add(out, "Threads take turns: each waits until another one lets it go on, most at ");
	add_lock(out, view, finding->lock);
	strbuf_addf(out, " (%s in all; for %.0f%% of the time at least one did).",
		seconds(lock->waited_ns).text, percent(view, lock->contended_ns));
	strbuf_addf(out, " On average %.2f threads were active.", mean_parallelism(view->results));
}

/* Who held it meanwhile, and where the program takes it; a lock that is called after that place already says so. */
static void add_holder(
	struct strbuf *out, const struct criticality_view *view, const struct finding *finding)
{
	const struct finding_use *use = &view->uses[finding - view->results->findings];
	bool is_news = use->text[0] && !strstr(view->locks[finding->lock], use->text);
	if (finding->thread != INDEX_NONE)
		strbuf_addf(out, " Mostly %s held it meanwhile", thread_of(view, finding));
	if (finding->thread != INDEX_NONE && is_news && use->is_holder)
		strbuf_addf(out, ", which took it in %s", use->text);
	else if (is_news && use->is_holder)
		strbuf_addf(out, " Who held it meanwhile mostly took it in %s", use->text);
	if (finding->thread != INDEX_NONE || (is_news && use->is_holder))
		strbuf_add(out, ".");
	if (is_news && !use->is_holder)
		strbuf_addf(out, " The first that waited for it did so in %s.", use->text);
}

static void describe_lock(
	struct strbuf *out, const struct criticality_view *view, const struct finding *finding)
{
	const struct result_lock *lock = &view->results->locks[finding->lock];
	if (result_lock_is_signalled(lock)) {
		describe_turns(out, view, finding);
		return;
	}
	add_lock(out, view, finding->lock);
	strbuf_addf(out,
		" limits the program: threads %s for it %s in all, and for %.0f%% of the time at "
		"least one did.",
		finding->kind == FINDING_SPIN ? "spun" : "waited", seconds(lock->waited_ns).text,
		percent(view, lock->contended_ns));
	add_holder(out, view, finding);
	if (2 * lock->taken_over_ns >= result_lock_loss_ns(lock) && lock->taken_over_ns > 0)
		strbuf_add(
			out, " Who waited for it held other locks, for which more threads waited.");
}

static void describe_barrier(
	struct strbuf *out, const struct criticality_view *view, const struct finding *finding)
{
	const struct result_lock *lock = &view->results->locks[finding->lock];
	if (finding->thread != INDEX_NONE)
		strbuf_addf(out, "%s arrives last at ", thread_of(view, finding));
	else
		strbuf_add(out, "Work between arrivals at ");
	add_lock(out, view, finding->lock);
	strbuf_add(out, finding->thread != INDEX_NONE
				? " and the others wait for it: "
				: " is uneven, each time for another thread: ");
	strbuf_addf(
		out, "%.0f%% of the time somebody waits there.", percent(view, lock->contended_ns));
}

static void describe_thread(
	struct strbuf *out, const struct criticality_view *view, const struct finding *finding)
{
	if (finding->thread == INDEX_NONE) {
		describe_alone(out, view);
		return;
	}
	const struct result_thread *thread = &view->results->threads[finding->thread];
	strbuf_addf(out, "%s %s: ", thread_of(view, finding),
		finding->kind == FINDING_SERIAL ? "works alone"
		: finding->kind == FINDING_PIPELINE
			? "is the slowest stage, which the others wait for"
			: "is the most critical thread");
	strbuf_addf(out,
		"it is %.0f%% of the criticality stack, and for %.0f%% of the time nobody else was "
		"active.",
		percent(view, thread->criticality_ns), percent(view, thread->alone_ns));
	if (finding->kind == FINDING_PIPELINE && finding->lock != INDEX_NONE &&
		!view->uses[finding - view->results->findings].is_parking) {
		strbuf_add(out, " Most of the others' waiting is for ");
		add_lock(out, view, finding->lock);
		strbuf_add(out, ".");
	}
}

/* The time in which all wait, and whose wait for what ended most of it: the others waited for that, too. */
static void add_outside(struct strbuf *out, const struct criticality_view *view)
{
	const struct results *r = view->results;
	size_t most = 0;
	for (size_t i = 1; i < r->thread_count; i++)
		if (r->threads[i].ended_idle_ns > r->threads[most].ended_idle_ns)
			most = i;
	strbuf_addf(out,
		" For %.0f%% of the time no thread was active: the program waited for something "
		"outside (devices, timers, other programs).",
		percent(view, r->idle_ns));
	const struct result_thread *thread = &r->threads[most];
	bool has_thread = r->live_max > 1 && 2 * thread->ended_idle_ns > r->idle_ns;
	const struct code_label *idle = view->idle_count > 0 ? view->idles : NULL;
	if (idle && 2 * idle->blame_ns > r->idle_ns)
		strbuf_addf(out, " %.0f%% of that was over when %s had waited: %s.",
			100 * (double)idle->blame_ns / (double)r->idle_ns,
			has_thread ? view->threads[most] : "a thread", idle->text);
	else if (has_thread)
		strbuf_addf(out, " Mostly %s was the first to go on (waits for: %s).",
			view->threads[most], criticality_main_wait(thread));
}

/* What makes it balanced, or what it waits for from outside. */
static void describe_nothing(struct strbuf *out, const struct criticality_view *view)
{
	const struct results *r = view->results;
	if (r->elapsed_ns == 0 && r->lost > 0) {
		strbuf_addf(out,
			"Nothing is left of this recording: all %" PRIu64
			" events were lost. It says "
			"nothing about the program.",
			r->lost);
		return;
	}
	if (r->elapsed_ns == 0 || r->thread_count == 0) {
		strbuf_add(out, "Nothing happened in this timeline: nothing is critical.");
		return;
	}
	if (results_unseen_share(r) >= MUCH_UNSEEN) {
		strbuf_add(out, "What these threads wait for was not recorded: ");
		add_unseen(out, r);
		return;
	}
	strbuf_add(out, "No thread and no lock is critical: none that could be removed costs a "
			"tenth of the run.");
	if (2 * r->idle_ns <= r->elapsed_ns)
		strbuf_addf(out, " The most critical thread, %s, is %.0f%% of the stack.",
			view->threads[0], percent(view, r->threads[0].criticality_ns));
	if (10 * r->idle_ns >= r->elapsed_ns)
		add_outside(out, view);
}

/* Who is kept from the cores by others counts as active: then no thread of the program stands out. */
static void add_denied(struct strbuf *out, const struct results *results)
{
	if (denied_core_share(results) >= MANY_DENIED)
		strbuf_addf(out,
			" Other work had the cores for %.0f%% of the time in which these threads "
			"could have used them: record it where they are free%s.",
			100 * denied_core_share(results),
			results->has_cores ? ", or see --active on-cpu" : "");
	if (spared_core_share(results) >= MANY_DENIED)
		strbuf_addf(out,
			" For %.0f%% of the time in which these threads could have used the cores "
			"nobody "
			"had them: the scheduler let threads wait beside an idle core, and who "
			"waits for a "
			"core counts as active%s.",
			100 * spared_core_share(results),
			results->has_cores ? " (--active on-cpu: as waiting)" : "");
}

/* Where what ran says more than what was waited for: a thread that is alone, hand-overs, a lock whose holder is not known. */
static bool is_about_code(const struct criticality_view *view, const struct finding *finding)
{
	const struct results *r = view->results;
	if (finding->kind == FINDING_SERIAL || finding->kind == FINDING_THREAD)
		return true;
	if (is_parked(view, finding)) /* it begins with that */
		return false;
	bool is_handed_over = finding->kind == FINDING_PIPELINE ||
			      finding->kind == FINDING_BARRIER ||
			      (finding->kind == FINDING_LOCK &&
				      result_lock_is_signalled(&r->locks[finding->lock]));
	bool is_lock = finding->kind == FINDING_LOCK || finding->kind == FINDING_SPIN;
	bool has_holder = is_lock && view->uses[finding - r->findings].is_holder;
	return (is_handed_over || (is_lock && !has_holder)) &&
	       (double)r->parallelism_ns[1] >= NOTABLE * (double)r->elapsed_ns;
}

static char *describe(struct criticality_view *view, const struct finding *finding)
{
	struct strbuf text = { 0 };
	switch (finding->kind) {
	case FINDING_NONE:
		describe_nothing(&text, view);
		add_denied(&text, view->results);
		break;
	case FINDING_LOCK:
	case FINDING_SPIN:
		describe_lock(&text, view, finding);
		break;
	case FINDING_BARRIER:
		describe_barrier(&text, view, finding);
		break;
	case FINDING_THREAD:
	case FINDING_SERIAL:
	case FINDING_PIPELINE:
		describe_thread(&text, view, finding);
		break;
	}
	if (is_about_code(view, finding))
		add_serial_code(&text, view);
	if (finding->kind != FINDING_NONE) {
		add_bound(&text, view->results, finding);
		if (finding == view->results->findings &&
			2 * view->results->idle_ns > view->results->elapsed_ns)
			add_outside(&text, view);
	}
	add_certainty(&text, view, finding);
	if (text.length > 0 && text.text[0] >= 'a' && text.text[0] <= 'z' &&
		(finding->kind == FINDING_LOCK || finding->kind == FINDING_SPIN))
		text.text[0] = (char)(text.text[0] - 'a' + 'A');
	view->failed |= strbuf_failed(&text) < 0;
	return text.text;
}

void criticality_describe(struct criticality_view *view)
{
	size_t count = view->results->finding_count;
	view->findings = calloc(count + 1, sizeof *view->findings);
	if (!view->findings) {
		view->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		view->findings[i] = describe(view, &view->results->findings[i]);
}

void criticality_quality(struct strbuf *out, const struct criticality_view *view)
{
	const struct results *r = view->results;
	strbuf_addf(out, "%" PRIu64 " events in %s; %" PRIu64 " lost%s.\n", r->events,
		seconds(r->elapsed_ns).text, r->lost,
		r->lost ? ": times around the gaps are not exact" : "");
	if (r->left_out > 0)
		strbuf_addf(out,
			"%.1f%% of %" PRIu64 " free locks and unlocks are recorded, in bursts "
			"(--budget): times held and "
			"taken are estimated from them; criticality, waits and blame are not.\n",
			100 * results_free_share(r), r->free_locks + r->left_out);
	strbuf_addf(out, "On average %.2f threads were active; for %s none was.\n",
		mean_parallelism(r), r->idle_ns ? seconds(r->idle_ns).text : "no time");
	if (r->has_samples)
		strbuf_addf(out, "Code: %" PRIu64 " samples of the running threads.\n", r->samples);
	else
		strbuf_add(out, "Code: what ran up to each call that was recorded; there are no "
				"samples of the running threads.\n");
	if (denied_core_share(r) >= FEW_DENIED)
		strbuf_addf(out,
			"Other work had the cores for %.0f%% of the time in which threads could "
			"have used them; who waits for one counts as active.\n",
			100 * denied_core_share(r));
	if (spared_core_share(r) >= FEW_DENIED)
		strbuf_addf(out,
			"For %.0f%% of the time in which threads could have used the cores nobody "
			"had "
			"them: they waited beside an idle core.\n",
			100 * spared_core_share(r));
	if (!r->has_cores)
		strbuf_add(out, "Who had a core was not recorded: active means running or waiting "
				"for a core.\n");
	strbuf_add(out, r->has_samples ? "Loops of the program's own that only wait are seen by "
					 "samples; others count "
					 "as work.\n"
				       : "Waiting in loops of the program's own cannot be seen "
					 "without samples: it "
					 "counts as work.\n");
}
