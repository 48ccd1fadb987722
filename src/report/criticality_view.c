/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names. */
#include "report/criticality_view.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "report/criticality_code.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_SITES = 10 }; /* as many as the tables show */

const char *what_name(uint8_t what)
{
	static const char *const names[] = { "wait", "mutex", "read-write lock", "spin lock",
		"condition", "barrier", "semaphore", "join", "sleep", "I/O", "queue", "disk",
		"futex", "wait" };
	return what < sizeof names / sizeof *names ? names[what] : "wait";
}

const char *finding_name(enum finding_kind kind)
{
	static const char *const names[] = { [FINDING_NONE] = "none",
		[FINDING_THREAD] = "thread",
		[FINDING_LOCK] = "lock",
		[FINDING_BARRIER] = "barrier",
		[FINDING_SERIAL] = "serial",
		[FINDING_PIPELINE] = "pipeline",
		[FINDING_SPIN] = "spin" };
	return names[kind];
}

void criticality_add_shares(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, size_t count)
{
	struct criticality_view view;
	double whole_ns = (double)results->elapsed_ns;
	criticality_view_init(&view, results, "", finder);
	out->failed |= view.failed;
	for (size_t i = 0; i < view.row_count && i < count && !view.failed; i++) {
		double ns = (double)view.rows[i].criticality_ns;
		strbuf_addf(out, "%s%s %.0f%%", i ? ", " : "", view.labels[i],
			whole_ns > 0 ? 100.0 * ns / whole_ns : 0);
	}
	criticality_view_release(&view);
}

double thread_parallelism(const struct result_thread *thread)
{
	return thread->criticality_ns ? (double)thread->running_ns / (double)thread->criticality_ns
				      : NAN;
}

/* Hands a string over; remembers a failure. */
static char *take(struct criticality_view *view, struct strbuf *text)
{
	strbuf_add(text, "");
	if (strbuf_failed(text) < 0)
		view->failed = true;
	return TAKE(text->text);
}

static char *label_of_lock(struct criticality_view *view, const struct code_finder *finder,
	const struct result_lock *lock)
{
	struct strbuf text = { 0 };
	criticality_add_lock(&text, view->results, finder, lock);
	return take(view, &text);
}

static bool is_name_shared(const struct results *results, size_t index)
{
	enum { LOOKED_AT = 256 }; /* beyond these nobody reads names */
	const char *name = results->threads[index].name;
	if (index >= LOOKED_AT)
		return true;
	for (size_t i = 0; i < results->thread_count && i < LOOKED_AT; i++)
		if (i != index && results->threads[i].name &&
			strcmp(results->threads[i].name, name) == 0)
			return true;
	return false;
}

/* The main thread is called as the program is: the first word of its command line, without folders. */
static void add_program(struct strbuf *out, const char *command)
{
	size_t length = strcspn(command, " ");
	size_t begin = length;
	while (begin > 0 && command[begin - 1] != '/')
		begin--;
	strbuf_add_bytes(out, command + begin, length - begin);
}

/* Not a library's start of all threads. */
static bool is_own_routine(const struct code_place *place)
{
	return !place->is_system || place->is_given;
}

/* A thread without a name of its own is called by what it runs; where that is a library's start of all threads, by its number. */
static char *label_thread(
	struct criticality_view *view, const struct code_finder *finder, size_t index)
{
	const struct result_thread *thread = &view->results->threads[index];
	struct code_place place =
		criticality_find_code(view->results, finder, thread->pid, thread->routine);
	const char *name = place.symbol && is_own_routine(&place) ? place.symbol : thread->name;
	struct strbuf text = { 0 };
	if (thread->name && !is_name_shared(view->results, index))
		strbuf_add(&text, thread->name);
	else if (thread->tid == thread->pid && !thread->name && view->results->program)
		add_program(&text, view->results->program);
	else if (name)
		strbuf_addf(&text, "%s (%" PRIu32 ")", name, thread->tid);
	else
		strbuf_addf(&text, "thread %" PRIu32, thread->tid);
	return take(view, &text);
}

static int by_blame(const void *a, const void *b)
{
	const struct code_label *x = a, *y = b;
	if (x->blame_ns != y->blame_ns)
		return x->blame_ns > y->blame_ns ? -1 : 1;
	return strcmp(x->text, y->text);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct code_label *)a)->text, ((const struct code_label *)b)->text);
}

void code_label_release(struct code_label *label)
{
	free(label->text);
	free(label->function);
	free(label->file);
	free(label->alone_text);
	free(label->callers);
}

/* Into the first of the same text. Of several lines the hottest one is named. */
static void merge_label(struct code_label *into, struct code_label *from)
{
	into->blame_ns += from->blame_ns;
	into->alone_ns += from->alone_ns;
	if (from->line_ns > into->line_ns) {
		into->line = from->line;
		into->line_ns = from->line_ns;
		into->address = from->address;
		into->pid = from->pid;
	}
	if (from->alone_here_ns > into->alone_here_ns && from->pid == into->pid) {
		into->alone_address = from->alone_address;
		into->alone_here_ns = from->alone_here_ns;
	}
	code_label_release(from);
}

size_t code_labels_merge(struct code_label *labels, size_t count)
{
	size_t kept = 0;
	qsort(labels, count, sizeof *labels, by_text);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && strcmp(labels[kept - 1].text, labels[i].text) == 0)
			merge_label(&labels[kept - 1], &labels[i]);
		else
			labels[kept++] = labels[i];
	}
	qsort(labels, kept, sizeof *labels, by_blame);
	return kept;
}

/* By samples: lines first, then the functions that they are in. */
static size_t merge_sites(struct criticality_view *view)
{
	size_t count = code_labels_merge(view->sites, view->site_count);
	if (!view->results->has_samples)
		return count;
	for (size_t i = 0; i < count; i++) {
		struct code_label *label = &view->sites[i];
		struct strbuf text = { 0 };
		label->line_ns = label->blame_ns;
		if (!label->function || !label->file)
			continue;
		strbuf_addf(&text, "%s (%s)", label->function, path_file_name(label->file));
		free(label->text);
		label->text = take(view, &text);
		if (view->failed)
			return count;
	}
	count = code_labels_merge(view->sites, count);
	for (size_t i = 0; i < count && !view->failed; i++) {
		struct code_label *label = &view->sites[i];
		struct strbuf text = { 0 };
		if (!label->function || !label->file)
			continue;
		strbuf_addf(&text, "%s (%s:%" PRIu32 ")", label->function,
			path_file_name(label->file), label->line);
		free(label->text);
		label->text = take(view, &text);
	}
	return count;
}

static struct code_label *most_alone(const struct criticality_view *view)
{
	struct code_label *most = NULL;
	for (size_t i = 0; i < view->site_count; i++)
		if (view->sites[i].is_code && (!most || view->sites[i].alone_ns > most->alone_ns))
			most = &view->sites[i];
	return view->results->has_samples && most && most->alone_ns > 0 ? most : NULL;
}

/* Without samples it is where a call returns to: the call lies before it. */
static uint64_t address_of_site(const struct results *results, const struct code_finder *finder,
	const struct result_site *site)
{
	size_t above = 0;
	if (!site->address)
		return 0;
	return results->has_samples ? criticality_program_code(results, finder, site, &above)
				    : site->address - 1;
}

/* Of a function with others in it, say in which of them the line is. */
static void name_inlined(struct criticality_view *view, const struct code_finder *finder,
	const struct code_label *label, uint64_t address, char **ret)
{
	struct strbuf text = { 0 };
	if (!label->function || !label->file)
		return;
	criticality_add_inlined_code(&text, view->results, finder, label->pid, address);
	free(*ret);
	*ret = take(view, &text);
}

/* What ran alone most may be another copy of the same line than what ran most. */
static void name_most_alone(struct criticality_view *view, const struct code_finder *finder)
{
	struct code_label *label = view->failed ? NULL : most_alone(view);
	view->most_alone = label;
	if (!label)
		return;
	name_inlined(view, finder, label, label->alone_address, &label->alone_text);
	label->callers = criticality_callers(view, finder, label);
}

static void label_sites(struct criticality_view *view, const struct code_finder *finder)
{
	const struct results *results = view->results;
	view->sites = calloc(results->site_count + 1, sizeof *view->sites);
	if (!view->sites) {
		view->failed = true;
		return;
	}
	for (size_t i = 0; i < results->site_count; i++) {
		const struct result_site *site = &results->sites[i];
		struct code_label *label = &view->sites[i];
		uint64_t address = address_of_site(results, finder, site);
		struct code_place place =
			criticality_find_code(results, finder, site->pid, address);
		/* Of a function without a name, as of one that has one, there is one line. */
		if (results->has_samples && !place.symbol)
			address -= place.offset;
		struct strbuf text = { 0 };
		if (address)
			criticality_add_code(&text, results, finder, site->pid, address);
		else if (site->address)
			strbuf_add(&text, "(the recorder)");
		else
			strbuf_add(&text, results->has_samples ? "(threads never sampled)"
							       : "(before the end of the run)");
		*label = (struct code_label){ .text = take(view, &text),
			.function = place.symbol ? strdup(place.symbol) : NULL,
			.file = place.file ? strdup(place.file) : NULL,
			.line = place.line,
			.address = address,
			.alone_address = address,
			.alone_here_ns = site->alone_ns,
			.pid = site->pid,
			.blame_ns = site->blame_ns,
			.alone_ns = site->alone_ns,
			.is_code = address != 0,
			.is_system = place.is_system };
		view->failed |= (place.symbol && !label->function) || (place.file && !label->file);
		view->site_count = i + 1;
	}
	if (!view->failed)
		view->site_count = merge_sites(view);
	for (size_t i = 0; i < view->site_count && i < NAMED_SITES && !view->failed; i++)
		name_inlined(view, finder, &view->sites[i], view->sites[i].address,
			&view->sites[i].text);
	name_most_alone(view, finder);
}

static void label_idle(struct criticality_view *view, const struct code_finder *finder,
	const struct result_idle *idle, struct code_label *ret)
{
	uint64_t address = idle->site > 0 ? idle->site - 1 : 0;
	struct code_place place = criticality_find_code(view->results, finder, idle->pid, address);
	struct strbuf code = { 0 }, text = { 0 };
	if (address)
		criticality_add_code(&code, view->results, finder, idle->pid, address);
	strbuf_add(&text, what_name(idle->what));
	if (code.text)
		strbuf_addf(&text, " %s %s", place.symbol ? "in" : "at", code.text);
	char *function = code.text ? take(view, &code) : NULL;
	if (place.symbol) {
		free(function);
		function = strdup(place.symbol);
	}
	*ret = (struct code_label){ .text = take(view, &text),
		.kind = what_name(idle->what),
		.function = function,
		.file = place.file ? strdup(place.file) : NULL,
		.line = place.line,
		.blame_ns = idle->idle_ns };
}

/* Rare ones say nothing. */
static void label_idles(struct criticality_view *view, const struct code_finder *finder)
{
	const struct results *results = view->results;
	size_t count = results->idle_count < NAMED_SITES ? results->idle_count : NAMED_SITES;
	view->idles = calloc(count + 1, sizeof *view->idles);
	view->failed |= !view->idles;
	for (; view->idle_count < count && !view->failed; view->idle_count++)
		label_idle(view, finder, &results->idles[view->idle_count],
			&view->idles[view->idle_count]);
	if (!view->failed)
		view->idle_count = code_labels_merge(view->idles, view->idle_count);
}

static void label_threads(struct criticality_view *view, const struct code_finder *finder)
{
	size_t count = view->results->thread_count;
	view->threads = calloc(count + 1, sizeof *view->threads);
	view->failed |= !view->threads;
	for (size_t i = 0; i < count && view->threads; i++)
		view->threads[i] = label_thread(view, finder, i);
}

/* A group of threads is called by what they run, and how many they are. */
static char *label_row(struct criticality_view *view, size_t index)
{
	const struct result_thread *row = &view->rows[index];
	const char *name = view->routines[index] ? view->routines[index] : row->name;
	struct strbuf text = { 0 };
	if (view->rows == view->results->threads)
		strbuf_add(&text, view->threads[index]);
	else if (!name && row->tid == row->pid && view->results->program)
		add_program(&text, view->results->program);
	else
		strbuf_add(&text, name ? name : "threads");
	if (row->count > 1)
		strbuf_addf(&text, " × %" PRIu32, row->count);
	return take(view, &text);
}

static void label_rows(struct criticality_view *view, const struct code_finder *finder)
{
	const struct results *results = view->results;
	view->rows = results->groups ? results->groups : results->threads;
	view->row_count = results->groups ? results->group_count : results->thread_count;
	view->labels = calloc(view->row_count + 1, sizeof *view->labels);
	view->routines = calloc(view->row_count + 1, sizeof *view->routines);
	view->is_own_routine = calloc(view->row_count + 1, sizeof *view->is_own_routine);
	view->failed |= !view->labels || !view->routines || !view->is_own_routine;
	for (size_t i = 0; i < view->row_count && !view->failed; i++) {
		struct code_place place = criticality_find_code(
			results, finder, view->rows[i].pid, view->rows[i].routine);
		view->routines[i] = place.symbol ? strdup(place.symbol) : NULL;
		view->is_own_routine[i] = is_own_routine(&place);
		view->labels[i] = label_row(view, i);
	}
}

static void find_uses(struct criticality_view *view, const struct code_finder *finder)
{
	const struct results *results = view->results;
	view->uses = calloc(results->finding_count + 1, sizeof *view->uses);
	view->failed |= !view->uses;
	for (size_t i = 0; i < results->finding_count && !view->failed; i++) {
		uint32_t lock = results->findings[i].lock;
		struct strbuf text = { 0 };
		if (lock != INDEX_NONE) {
			view->uses[i].is_holder =
				criticality_add_use(&text, results, finder, &results->locks[lock]);
			view->uses[i].is_parking =
				criticality_is_parking(results, finder, &results->locks[lock]);
		}
		view->uses[i].text = take(view, &text);
	}
}

/* Most blame is first, then the longest waits: the others are behind. */
static size_t count_waited(const struct results *results)
{
	size_t count = 0;
	while (count < results->lock_count &&
		(results->locks[count].blame_ns > 0 || results->locks[count].waited_ns > 0))
		count++;
	return count > 0 ? count : results->lock_count;
}

void criticality_view_init(struct criticality_view *view, const struct results *results,
	const char *subject, const struct code_finder *finder)
{
	*view = (struct criticality_view){ .results = results, .subject = subject };
	view->locks = calloc(results->lock_count + 1, sizeof *view->locks);
	if (!view->locks)
		view->failed = true;
	for (size_t i = 0; i < results->lock_count && view->locks; i++)
		view->locks[i] = label_of_lock(view, finder, &results->locks[i]);
	view->lock_rows = count_waited(results);
	label_threads(view, finder);
	if (!view->failed)
		label_rows(view, finder);
	label_sites(view, finder);
	label_idles(view, finder);
	find_uses(view, finder);
	if (!view->failed)
		criticality_describe(view);
}

static void free_all(char **items, size_t count)
{
	for (size_t i = 0; i < count && items; i++)
		free(items[i]);
	free(items);
}

void criticality_view_release(struct criticality_view *view)
{
	if (!view->results)
		return;
	free_all(view->threads, view->results->thread_count);
	free_all(view->labels, view->row_count);
	free_all(view->routines, view->row_count);
	free(view->is_own_routine);
	free_all(view->locks, view->results->lock_count);
	free_all(view->findings, view->results->finding_count);
	for (size_t i = 0; i < view->results->finding_count && view->uses; i++)
		free(view->uses[i].text);
	free(view->uses);
	for (size_t i = 0; i < view->site_count; i++)
		code_label_release(&view->sites[i]);
	free(view->sites);
	for (size_t i = 0; i < view->idle_count; i++)
		code_label_release(&view->idles[i]);
	free(view->idles);
	*view = (struct criticality_view){ 0 };
}

const char *criticality_main_wait(const struct result_thread *thread)
{
	unsigned most = WHAT_NONE;
	for (unsigned what = WHAT_MUTEX; what <= WHAT_OTHER; what++)
		if (thread->waited_ns[what] > thread->waited_ns[most])
			most = what;
	return most == WHAT_NONE ? "-" : what_name(most);
}
