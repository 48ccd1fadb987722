/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "criticality/analysis.h"

#include "base/mem.h"
#include "base/runtimes.h"
#include "criticality/collect_results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SPIN_GAP_NS = 10000 };

int analysis_new(const struct analysis_opts *opts, struct analysis **ret, struct err *err)
{
	AUTO(analysis) struct analysis *analysis = calloc(1, sizeof *analysis);
	if (!analysis)
		return err_set(err, -ENOMEM, "out of memory");
	account_init(&analysis->account);
	analysis->account.window_from_ns = opts->window_from_ns;
	analysis->account.window_to_ns = opts->window_to_ns;
	analysis->account.needs_core = opts->needs_core;
	analysis->account.cores = opts->served_cores;
	analysis->account.run_cores = opts->cores;
	analysis->others_ns = opts->others_ns;
	analysis->others_wall_ns = opts->others_wall_ns;
	*ret = TAKE(analysis);
	return 0;
}

void analysis_free(struct analysis *analysis)
{
	if (!analysis)
		return;
	account_release(&analysis->account);
	blame_release(&analysis->blame);
	for (size_t i = 0; i < analysis->module_count; i++)
		free(analysis->modules[i].path);
	for (size_t i = 0; i < analysis->name_count; i++)
		free(analysis->names[i]);
	for (size_t i = 0; i < analysis->stack_count; i++)
		free(analysis->stacks[i].frames);
	free(analysis->stacks);
	index_release(&analysis->stack_index);
	free(analysis->modules);
	free(analysis->runtimes);
	free(analysis->names);
	index_release(&analysis->name_index);
	free(analysis->spins);
	free(analysis->frames);
	index_release(&analysis->frame_index);
	free(analysis->program);
	free(analysis);
}

/* A thread's name, which may come before its start; the newest one holds. */
static int name_thread(struct analysis *analysis, const struct event *event)
{
	uint32_t tid = (uint32_t)event->object;
	uint32_t found = index_find(&analysis->account.index, event->pid, tid);
	char *name = strdup(event->text);
	if (!name)
		return -ENOMEM;
	if (found != INDEX_NONE) {
		free(analysis->account.threads[found].name);
		analysis->account.threads[found].name = name;
		return 0;
	}
	if (mem_grow(&analysis->names, &analysis->name_capacity, analysis->name_count + 1,
		    sizeof *analysis->names) < 0) {
		free(name);
		return -ENOMEM;
	}
	analysis->names[analysis->name_count] = name;
	index_remove(&analysis->name_index, event->pid, tid);
	return index_add(&analysis->name_index, event->pid, tid, analysis->name_count++);
}

static int add_runtime(struct analysis *analysis, const struct event *module)
{
	if (!runtime_spins(module->text))
		return 0;
	if (mem_grow(&analysis->runtimes, &analysis->runtime_capacity, analysis->runtime_count + 1,
		    sizeof *analysis->runtimes) < 0)
		return -ENOMEM;
	analysis->runtimes[analysis->runtime_count++] = (struct code_range){
		.pid = module->pid, .begin = module->object, .end = module->value
	};
	return 0;
}

static int name_module(struct analysis *analysis, const struct event *event)
{
	if (mem_grow(&analysis->modules, &analysis->module_capacity, analysis->module_count + 1,
		    sizeof *analysis->modules) < 0)
		return -ENOMEM;
	char *path = strdup(event->text);
	if (!path)
		return -ENOMEM;
	analysis->modules[analysis->module_count++] = (struct result_module){
		.pid = event->pid, .bias = event->object, .end = event->value, .path = path
	};
	return add_runtime(analysis, event);
}

/* Addresses in hexadecimal, up to what is none. 0 or -ENOMEM. */
static int parse_frames(const char *text, struct result_stack *ret)
{
	size_t capacity = 0;
	for (char *end;; text = end) {
		uint64_t frame = strtoull(text, &end, 16);
		if (end == text)
			return 0;
		if (mem_grow(&ret->frames, &capacity, ret->frame_count + 1, sizeof *ret->frames) <
			0)
			return -ENOMEM;
		ret->frames[ret->frame_count++] = frame;
	}
}

/* A stack is named once: an id that comes again is the same. */
static int name_stack(struct analysis *analysis, const struct event *event)
{
	struct result_stack stack = { 0 };
	if (index_find(&analysis->stack_index, event->object, event->pid) != INDEX_NONE)
		return 0;
	if (mem_grow(&analysis->stacks, &analysis->stack_capacity, analysis->stack_count + 1,
		    sizeof *analysis->stacks) < 0 ||
		parse_frames(event->text, &stack) < 0 ||
		index_add(&analysis->stack_index, event->object, event->pid,
			analysis->stack_count) < 0) {
		free(stack.frames);
		return -ENOMEM;
	}
	analysis->stacks[analysis->stack_count++] = stack;
	return 0;
}

static int name_object(struct analysis *analysis, const struct event *event)
{
	struct object *object =
		blame_object(&analysis->blame, event->pid, event->what, event->object);
	char *name = strdup(event->text);
	if (!object || !name) {
		free(name);
		return -ENOMEM;
	}
	free(object->name);
	object->name = name;
	return 0;
}

static int take_name(struct analysis *analysis, const struct event *event)
{
	if (!event->text)
		return 0;
	if (event->what == WHAT_THREAD)
		return name_thread(analysis, event);
	if (event->what == WHAT_MODULE)
		return name_module(analysis, event);
	if (event->what == WHAT_STACK)
		return name_stack(analysis, event);
	if (event->what == WHAT_PROGRAM && !analysis->program) {
		analysis->program = strdup(event->text);
		return analysis->program ? 0 : -ENOMEM;
	}
	return what_is_object(event->what) ? name_object(analysis, event) : 0;
}

/* One event at the clock's time. */
static int play(struct analysis *analysis, const struct event *event)
{
	struct account *account = &analysis->account;
	size_t before = account->thread_count;
	uint32_t index = account_thread(account, event->pid, event->tid);
	if (index == INDEX_NONE)
		return -ENOMEM;
	if (account->thread_count > before) {
		uint32_t name = index_find(&analysis->name_index, event->pid, event->tid);
		if (name != INDEX_NONE) {
			account->threads[index].name = TAKE(analysis->names[name]);
			index_remove(&analysis->name_index, event->pid, event->tid);
		}
	}
	int code = blame_before(&analysis->blame, account, index, event);
	if (code < 0)
		return code;
	account_apply(account, index, event);
	return blame_after(&analysis->blame, account, index, event);
}

/* NULL if it does not spin. Few threads do at a time. */
static struct spin *find_spin(struct analysis *analysis, uint32_t pid, uint32_t tid)
{
	for (size_t i = 0; i < analysis->spin_count; i++)
		if (analysis->spins[i].last.pid == pid && analysis->spins[i].last.tid == tid)
			return &analysis->spins[i];
	return NULL;
}

/* It works again: as an event of its own, so that account and blame see one kind of waiting. */
static int end_spin(struct analysis *analysis, struct spin *spin)
{
	struct event woken = spin->last;
	bool is_waiting = spin->is_waiting;
	*spin = analysis->spins[--analysis->spin_count];
	woken.kind = EVENT_WOKEN;
	woken.value = 0;
	return is_waiting ? play(analysis, &woken) : 0;
}

/* Threads that have not tried again work since SPIN_GAP_NS after their last try, or since they got a core after it. */
static int end_late_spins(struct analysis *analysis, uint64_t time_ns)
{
	for (;;) {
		struct spin *first = NULL;
		for (size_t i = 0; i < analysis->spin_count; i++) {
			struct spin *spin = &analysis->spins[i];
			bool is_earlier = !first || spin->last.time_ns < first->last.time_ns;
			if (is_earlier && !spin->is_off_core)
				first = spin;
		}
		if (!first || first->last.time_ns + SPIN_GAP_NS >= time_ns)
			return 0;
		int code = account_advance(&analysis->account, first->last.time_ns + SPIN_GAP_NS);
		if (code == 0)
			code = end_spin(analysis, first);
		if (code < 0)
			return code;
	}
}

/* Of a sched_yield(): a try at a place in the code. */
static bool is_yield(const struct event *event)
{
	return event->kind == EVENT_TRY_FAILED && event_is_at_place(event);
}

/* Where others, or it, called that in loops before, the first one is known to be for nothing else. */
static bool is_known_to_wait(struct analysis *analysis, const struct event *event)
{
	struct object *object = is_yield(event) ? blame_object(&analysis->blame, event->pid,
							  event->what, event->object)
						: NULL;
	return event->what == WHAT_NONE || (object && object->waits > 0);
}

static int wait_by_tries(struct analysis *analysis, struct spin *spin)
{
	spin->is_waiting = true;
	struct event wait = spin->last;
	wait.kind = EVENT_WAIT;
	wait.value = 0;
	int code = play(analysis, &wait);
	struct object *object =
		code == 0 && wait.what != WHAT_NONE
			? blame_object(&analysis->blame, wait.pid, wait.what, wait.object)
			: NULL;
	if (object)
		object->spins += analysis->account.is_inside;
	return code;
}

/* A failed trylock; the second one in a row on the same object begins a wait for it. */
static int take_try(struct analysis *analysis, const struct event *event)
{
	struct spin *spin = find_spin(analysis, event->pid, event->tid);
	int code = event->what == WHAT_NONE || is_yield(event) ? 0 : play(analysis, event);
	if (code < 0)
		return code;
	if (spin && (spin->last.object != event->object || spin->last.what != event->what)) {
		code = end_spin(analysis, spin);
		spin = NULL;
	}
	bool is_again = spin != NULL;
	if (!spin) {
		if (code < 0 || mem_grow(&analysis->spins, &analysis->spin_capacity,
					analysis->spin_count + 1, sizeof *analysis->spins) < 0)
			return code < 0 ? code : -ENOMEM;
		spin = &analysis->spins[analysis->spin_count++];
		*spin = (struct spin){ 0 };
	}
	spin->last = *event;
	bool begins = !spin->is_waiting && (is_again || is_known_to_wait(analysis, event));
	return begins ? wait_by_tries(analysis, spin) : 0;
}

/* One event of its wait that a thread's samples tell of, at the clock's time. */
static int play_as(struct analysis *analysis, const struct thread *thread,
	const struct event *event, enum event_kind kind, uint16_t flags)
{
	const struct event own = { .time_ns = event->time_ns,
		.pid = event->pid,
		.tid = event->tid,
		.kind = (uint8_t)kind,
		.what = thread->spins_at ? WHAT_SPIN : WHAT_NONE,
		.object = thread->spins_at,
		.site = kind == EVENT_WAIT ? thread->spins_at : 0,
		.flags = flags };
	return play(analysis, &own);
}

/* It waits at a place in the code, or for nobody knows what, and keeps its core. */
static int begin_spinning(
	struct analysis *analysis, struct thread *thread, const struct event *event, uint64_t place)
{
	bool had_core = thread->is_on_core;
	thread->is_spinning = true;
	thread->spins_at = place;
	analysis->spinning++;
	int code = play_as(analysis, thread, event, EVENT_WAIT, 0);
	return code == 0 && had_core ? play_as(analysis, thread, event, EVENT_RUN, 0) : code;
}

/* It is not known whether it has now what it spun for. */
static int end_spinning(struct analysis *analysis, struct thread *thread, const struct event *event)
{
	thread->is_spinning = false;
	analysis->spinning--;
	int code = play_as(analysis, thread, event, EVENT_WOKEN, 0);
	return code == 0 && thread->spins_at
		       ? play_as(analysis, thread, event, EVENT_PASS, EVENT_TIMED_OUT)
		       : code;
}

static bool is_in_runtime(const struct analysis *analysis, uint32_t pid, uint64_t address)
{
	for (size_t i = 0; i < analysis->runtime_count; i++) {
		const struct code_range *range = &analysis->runtimes[i];
		if (range->pid == pid && range->begin <= address && address < range->end)
			return true;
	}
	return false;
}

/* Where a library records what a runtime is called for, its waits are known: only who is seen by the scheduler spins there. */
static int take_sample(struct analysis *analysis, struct thread *thread, const struct event *event)
{
	bool is_called_inside = is_in_runtime(analysis, event->pid, event->value);
	bool is_inside = is_called_inside || is_in_runtime(analysis, event->pid, event->site);
	bool is_unknown = !is_inside || analysis->account.has_cores;
	uint64_t place = is_called_inside ? 0 : event->value;
	bool spins = is_unknown && (place || is_inside);
	int code = 0;
	if (thread->is_spinning && (!spins || place != thread->spins_at))
		code = end_spinning(analysis, thread, event);
	if (code == 0)
		code = play(analysis, event);
	if (code == 0 && spins && !thread->is_waiting)
		code = begin_spinning(analysis, thread, event, place);
	return code;
}

/*
 * What a recorder tells of a loop of sched_yield(). The threads of a runtime wait so for nobody knows what: false, where that is
 * recorded otherwise. How it ended is not known.
 */
static bool take_place(const struct analysis *analysis, struct event *event)
{
	event->flags &= (uint16_t)~EVENT_WAITED;
	if (!is_in_runtime(analysis, event->pid, event->site))
		return true;
	event->what = WHAT_NONE;
	event->object = event->site = 0;
	if (event->kind == EVENT_PASS)
		event->kind = EVENT_WOKEN;
	return analysis->account.has_cores;
}

/* Who tries has lost its core, or got one. */
static void keep_spin(struct spin *spin, const struct event *event)
{
	spin->is_off_core = event->kind == EVENT_PREEMPT;
	spin->last.time_ns = event->time_ns;
}

/* Getting a core and losing it are not what a thread does. */
static bool is_step(const struct event *event)
{
	return !event_is_aside(event) && event->kind != EVENT_RUN && event->kind != EVENT_PREEMPT;
}

/* Of a thread that is sampled, or may spin. NULL: nobody does, or the thread is not known. */
static struct thread *find_spinner(struct analysis *analysis, const struct event *event)
{
	if (event->kind != EVENT_SAMPLE && analysis->spinning == 0)
		return NULL;
	uint32_t index = index_find(&analysis->account.index, event->pid, event->tid);
	return index == INDEX_NONE ? NULL : &analysis->account.threads[index];
}

static int take_init(struct analysis *analysis, const struct event *event)
{
	struct object *object =
		what_is_object(event->what)
			? blame_object(&analysis->blame, event->pid, event->what, event->object)
			: NULL;
	if (object)
		object->init_site = event->site;
	return object || !what_is_object(event->what) ? 0 : -ENOMEM;
}

/* The first that are known of an object are enough. */
static int take_caller(struct analysis *analysis, const struct event *event)
{
	if (!what_is_object(event->what) || event->value >= LOCK_CALLERS_MAX)
		return 0;
	struct object *object =
		blame_object(&analysis->blame, event->pid, event->what, event->object);
	if (object && !object->callers)
		object->callers = calloc(LOCK_CALLERS_MAX, sizeof *object->callers);
	if (!object || !object->callers)
		return -ENOMEM;
	if (!object->callers[event->value])
		object->callers[event->value] = event->site;
	return 0;
}

/* Memory grows with the places where stacks have been, not with the calls. */
static int take_frame(struct analysis *analysis, const struct event *event)
{
	struct frame frame = { event->pid, event->object, event->value, event->site };
	uint32_t found = index_find(&analysis->frame_index, event->value, event->pid);
	if (found != INDEX_NONE) {
		analysis->frames[found] = frame;
		return 0;
	}
	if (mem_grow(&analysis->frames, &analysis->frame_capacity, analysis->frame_count + 1,
		    sizeof *analysis->frames) < 0)
		return -ENOMEM;
	analysis->frames[analysis->frame_count] = frame;
	return index_add(&analysis->frame_index, event->value, event->pid, analysis->frame_count++);
}

/* Events that are about names only. */
static int take_description(struct analysis *analysis, const struct event *event)
{
	switch (event->kind) {
	case EVENT_NAME:
		return take_name(analysis, event);
	case EVENT_INIT:
		return take_init(analysis, event);
	case EVENT_CALLER:
		return take_caller(analysis, event);
	default:
		return take_frame(analysis, event);
	}
}

static int take_event(struct analysis *analysis, const struct event *event)
{
	if (event->kind == EVENT_NAME || event->kind == EVENT_INIT || event->kind == EVENT_FRAME ||
		event->kind == EVENT_CALLER)
		return take_description(analysis, event);
	if (event->kind == EVENT_LOST) {
		analysis->lost += event->value;
		return 0;
	}
	if (event_is_aside(event) &&
		index_find(&analysis->account.index, event->pid, event->tid) == INDEX_NONE)
		return 0; /* of a thread that is not known, or no more: it makes none */
	analysis->events++;
	int code = analysis->spin_count > 0 ? end_late_spins(analysis, event->time_ns) : 0;
	if (code == 0)
		code = account_advance(&analysis->account, event->time_ns);
	if (code < 0)
		return code;
	struct thread *spinner = find_spinner(analysis, event);
	if (spinner && event->kind == EVENT_SAMPLE)
		return take_sample(analysis, spinner, event);
	struct event own = *event;
	if (event_is_at_place(event) && !take_place(analysis, &own))
		return 0;
	bool is_spinning = spinner && spinner->is_spinning && is_step(event);
	if (is_spinning && is_yield(event) && own.object == spinner->spins_at)
		return 0;
	if (is_spinning && (code = end_spinning(analysis, spinner, event)) < 0)
		return code;
	if (event->kind == EVENT_TRY_FAILED)
		return take_try(analysis, &own);
	struct spin *spin = analysis->spin_count > 0 && !event_is_aside(event)
				    ? find_spin(analysis, event->pid, event->tid)
				    : NULL;
	if (spin && is_step(event))
		code = end_spin(analysis, spin);
	else if (spin)
		keep_spin(spin, event);
	return code < 0 ? code : play(analysis, &own);
}

static int fail(int code, struct err *err)
{
	if (code == -ERANGE)
		return err_set(err, code,
			"the timeline is longer than 39 hours: analyse a part of it (--window)");
	return code < 0 ? err_set(err, code, "out of memory") : 0;
}

static int sink_take(void *context, const struct event *event, struct err *err)
{
	return fail(take_event(context, event), err);
}

static int sink_end(void *context, uint64_t end_ns, struct err *err)
{
	struct analysis *analysis = context;
	int code = end_late_spins(analysis, end_ns);
	return fail(code < 0 ? code : account_advance(&analysis->account, end_ns), err);
}

struct event_sink analysis_sink(struct analysis *analysis)
{
	return (struct event_sink){ .context = analysis, .event = sink_take, .finish = sink_end };
}

int analysis_results(struct analysis *analysis, struct results **ret, struct err *err)
{
	blame_settle(&analysis->blame, &analysis->account);
	account_settle(&analysis->account);
	AUTO(results) struct results *results = calloc(1, sizeof *results);
	if (!results || collect_results(analysis, results) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE(results);
	return 0;
}
