/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An analysis as JSON: docs/formats/criticality.json.md. Keys keep the order in which they are set. */
#include "report/criticality_view.h"

#include "report/json.h"

#include <math.h>
#include <stdlib.h>

enum { FORMAT_VERSION = 1 };

static json_t *seconds_json(uint64_t ns)
{
	return json_number((double)ns / 1e9);
}

static json_t *share_json(const struct results *results, uint64_t ns)
{
	return json_number(results->active_ns ? (double)ns / (double)results->active_ns : 0);
}

static json_t *text_or_null(const char *text)
{
	return text ? json_text(text) : json_null();
}

static json_t *waiting_json(const struct result_thread *thread)
{
	json_t *waiting = json_object();
	for (unsigned what = WHAT_MUTEX; what <= WHAT_OTHER; what++)
		if (thread->waited_ns[what] > 0)
			waiting = json_with(waiting, what == WHAT_OTHER ? "other" : what_name(what),
				seconds_json(thread->waited_ns[what]));
	return waiting;
}

static json_t *thread_json(const struct criticality_view *view, size_t index)
{
	const struct result_thread *t = &view->rows[index];
	json_t *thread = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "tid", (json_int_t)t->tid,
		"name", json_text(t->name ? t->name : view->labels[index]), "criticality_s",
		seconds_json(t->criticality_ns), "share",
		share_json(view->results, t->criticality_ns), "running_s",
		seconds_json(t->running_ns), "parallelism", json_number(thread_parallelism(t)));
	thread = json_with(thread, "pid", json_integer(t->pid));
	thread = json_with(thread, "count", json_integer(t->count));
	thread = json_with(thread, "routine", text_or_null(view->routines[index]));
	thread = json_with(thread, "alone_s", seconds_json(t->alone_ns));
	return json_with(thread, "waiting_s", waiting_json(t));
}

static json_t *lock_json(const struct criticality_view *view, size_t index)
{
	const struct result_lock *l = &view->results->locks[index];
	const char *worst = l->worst_thread == INDEX_NONE ? NULL : view->threads[l->worst_thread];
	json_t *lock = json_pack("{s:o, s:I, s:o, s:o, s:o}", "name", json_text(view->locks[index]),
		"acquisitions", (json_int_t)l->acquisitions, "held_s", seconds_json(l->held_ns),
		"waited_s", seconds_json(l->waited_ns), "blame_s", seconds_json(l->blame_ns));
	lock = json_with(lock, "recorded_acquisitions", json_integer((json_int_t)l->recorded));
	lock = json_with(lock, "kind", json_string(what_name(l->what)));
	lock = json_with(lock, "waits", json_integer((json_int_t)l->waits));
	lock = json_with(lock, "contended_s", seconds_json(l->contended_ns));
	return json_with(lock, "most_by", text_or_null(worst));
}

static json_t *site_json(const struct code_label *site, bool has_samples)
{
	json_t *ret = json_pack("{s:o, s:o, s:o, s:o}", "function",
		json_text(site->function ? site->function : site->text), "file",
		text_or_null(site->file), "line",
		site->line ? json_integer(site->line) : json_null(), "blame_s",
		seconds_json(site->blame_ns));
	return has_samples ? json_with(ret, "alone_s", seconds_json(site->alone_ns)) : ret;
}

static json_t *idle_json(const struct criticality_view *view)
{
	json_t *idle = json_array();
	for (size_t i = 0; i < view->idle_count; i++) {
		const struct code_label *label = &view->idles[i];
		idle = json_push(idle,
			json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", label->kind, "function",
				text_or_null(label->function), "file", text_or_null(label->file),
				"line", label->line ? json_integer(label->line) : json_null(),
				"idle_s", seconds_json(label->blame_ns)));
	}
	return idle;
}

static json_t *finding_json(const struct criticality_view *view, size_t index)
{
	const struct finding *f = &view->results->findings[index];
	char *subject = finding_subject(view, f);
	json_t *ret = json_pack("{s:s, s:o, s:o, s:o}", "kind", finding_name(f->kind), "subject",
		json_text(subject ? subject : ""), "speedup_bound", json_number(f->bound), "text",
		json_text(view->findings[index] ? view->findings[index] : ""));
	free(subject);
	return json_with(json_with(ret, "share", json_number(f->share)), "spread_speedup",
		json_number(f->spread));
}

static json_t *strip_json(const struct criticality_view *view)
{
	enum { THREADS_MAX = 64 };
	const struct results *r = view->results;
	json_t *threads = json_array();
	for (size_t i = 0; i < view->row_count && i < THREADS_MAX; i++) {
		json_t *bins = json_array();
		for (uint32_t b = 0; b < r->bin_count && b < STRIP_BINS; b++)
			bins = json_push(bins, seconds_json(thread_bin_ns(&view->rows[i], b)));
		threads = json_push(
			threads, json_pack("{s:I, s:o}", "tid", (json_int_t)view->rows[i].tid,
					 "criticality_s", bins));
	}
	return json_pack("{s:o, s:o}", "bin_s", seconds_json(r->bin_ns), "threads", threads);
}

static json_t *view_json(const struct criticality_view *view)
{
	const struct results *r = view->results;
	json_t *threads = json_array(), *locks = json_array(), *sites = json_array();
	json_t *findings = json_array();
	for (size_t i = 0; i < view->row_count; i++)
		threads = json_push(threads, thread_json(view, i));
	for (size_t i = 0; i < r->lock_count; i++)
		locks = json_push(locks, lock_json(view, i));
	for (size_t i = 0; i < view->site_count; i++)
		sites = json_push(sites, site_json(&view->sites[i], r->has_samples));
	for (size_t i = 0; i < r->finding_count; i++)
		findings = json_push(findings, finding_json(view, i));
	json_t *ret = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:I}", "version", FORMAT_VERSION,
		"total_s", seconds_json(r->active_ns), "threads", threads, "locks", locks, "sites",
		sites, "findings", findings, "lost_events", (json_int_t)r->lost);
	ret = json_with(ret, "elapsed_s", seconds_json(r->elapsed_ns));
	ret = json_with(ret, "idle_s", seconds_json(r->idle_ns));
	ret = json_with(ret, "idle", idle_json(view));
	if (r->cores > 0)
		ret = json_with(ret, "cores", json_integer(r->cores));
	if (r->wanted_core_ns > 0) {
		ret = json_with(ret, "denied_core_share", json_number(denied_core_share(r)));
		ret = json_with(ret, "spared_core_share", json_number(spared_core_share(r)));
	}
	ret = json_with(ret, "events", json_integer((json_int_t)r->events));
	ret = json_with(ret, "free_share", json_number(results_free_share(r)));
	ret = json_with(ret, "sites_from", json_string(r->has_samples ? "samples" : "calls"));
	if (r->has_samples)
		ret = json_with(ret, "samples", json_integer((json_int_t)r->samples));
	return json_with(ret, "strip", strip_json(view));
}

static json_t *input_json(const struct criticality_input *input)
{
	struct criticality_view view;
	criticality_view_init(&view, input->results, input->subject, input->finder);
	json_t *ret = view.failed ? NULL : view_json(&view);
	criticality_view_release(&view);
	return ret;
}

void report_criticality_json(struct strbuf *out, const struct criticality_input *input)
{
	json_add(out, input_json(input));
}

void report_criticality_change_json(
	struct strbuf *out, const struct criticality_input *a, const struct criticality_input *b)
{
	json_t *change = json_pack("{s:i, s:o, s:o}", "version", FORMAT_VERSION, "before",
		input_json(a), "after", input_json(b));
	double before = (double)a->results->elapsed_ns, after = (double)b->results->elapsed_ns;
	json_add(out, json_with(change, "speedup", json_number(before / after)));
}
