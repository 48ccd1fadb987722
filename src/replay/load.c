/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From events to each thread's operations, with the work before each. */
#include "replay/parts.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

struct step *load_push(struct load_thread *thread, enum step_kind kind)
{
	if (mem_grow(&thread->steps, &thread->capacity, thread->count + 1, sizeof *thread->steps) <
		0)
		return NULL;
	struct step *step = &thread->steps[thread->count++];
	*step = (struct step){
		.work_ns = thread->work_ns,
		.object = REPLAY_NONE,
		.other = REPLAY_NONE,
		.stretch = thread->stretch,
		.kind = (uint8_t)kind,
	};
	step->wakes = (uint8_t)(thread->wakes < UINT8_MAX ? thread->wakes : UINT8_MAX);
	thread->work_ns = 0;
	thread->wakes = 0;
	return step;
}

static uint64_t key_of(uint32_t pid, unsigned what)
{
	return (uint64_t)pid << 32 | what;
}

/* What a condition is for, if that was found. */
static uint32_t known_meaning(
	const struct replay *replay, uint32_t pid, uint8_t what, uint64_t address)
{
	size_t count;
	if (what != WHAT_COND || !replay->opts.meaning)
		return UINT32_MAX;
	uint32_t index = meaning_find_cond(replay->opts.meaning, pid, address);
	const struct meaning_cond *conds = meaning_conds(replay->opts.meaning, &count);
	return index < count && conds[index].kind != MEANING_UNKNOWN &&
			       conds[index].kind != MEANING_UNUSED
		       ? index
		       : UINT32_MAX;
}

uint32_t load_object(struct replay *replay, uint32_t pid, uint8_t what, uint64_t address)
{
	uint64_t *place;
	if (mem_grow(&replay->objects, &replay->object_capacity, replay->object_count + 1,
		    sizeof *replay->objects) < 0)
		return REPLAY_NONE;
	int code = map_add(
		&replay->object_index, key_of(pid, what), address, replay->object_count, &place);
	if (code < 0)
		return REPLAY_NONE;
	if (code == 0)
		return (uint32_t)*place;
	replay->objects[replay->object_count++] = (struct load_object){ .pid = pid,
		.what = what,
		.address = address,
		.holder = REPLAY_NONE,
		.meaning = known_meaning(replay, pid, what, address) };
	return (uint32_t)*place;
}

uint32_t load_find_thread(const struct replay *replay, uint32_t pid, uint32_t tid)
{
	const uint64_t *place = map_find(&replay->live, pid, tid);
	return place ? (uint32_t)*place : REPLAY_NONE;
}

/* Time passes; so many threads are active meanwhile. */
static void advance_clock(struct replay *replay, uint64_t time_ns)
{
	if (time_ns <= replay->now_ns)
		return;
	uint32_t active = replay->active < LOAD_ACTIVE_MAX ? replay->active : LOAD_ACTIVE_MAX;
	replay->active_ns[active] += time_ns - replay->now_ns;
	double since_ns = (double)(time_ns - replay->now_ns);
	if (replay->active < replay->opts.cores)
		replay->spare_ns += since_ns;
	else if (replay->active > 0)
		replay->full_ns += since_ns * replay->opts.cores / replay->active;
	replay->now_ns = time_ns;
}

static void set_active(struct replay *replay, struct load_thread *thread, bool is_active)
{
	if (thread->is_active == is_active)
		return;
	thread->is_active = is_active;
	if (is_active)
		replay->active++;
	else
		replay->active--;
	if (replay->active > replay->active_max)
		replay->active_max = replay->active;
}

/* The thread's index; a new one where it is not known. REPLAY_NONE without memory. */
static uint32_t add_thread(struct replay *replay, const struct event *event, uint32_t parent)
{
	uint64_t *place;
	if (mem_grow(&replay->threads, &replay->thread_capacity, replay->thread_count + 1,
		    sizeof *replay->threads) < 0 ||
		map_add(&replay->live, event->pid, event->tid, 0, &place) < 0 ||
		children_add(&replay->children, (uint32_t)replay->thread_count, event->pid,
			event->tid) < 0)
		return REPLAY_NONE;
	*place = replay->thread_count;
	if (map_add(&replay->known, event->pid, event->tid, 0, &place) < 0)
		return REPLAY_NONE;
	*place = replay->thread_count;
	replay->threads[replay->thread_count] = (struct load_thread){
		.pid = event->pid,
		.tid = event->tid,
		.parent = parent,
		/* The emulator's time says nothing of when it starts elsewhere. */
		.start_ns = replay->opts.stretch ? 0 : event->time_ns,
		.began_ns = event->time_ns,
		.time_ns = event->time_ns,
		/* Recorders of cores tell when it first has one. */
		.is_running = event->kind != EVENT_THREAD_START || !replay->has_cores_seen,
		.counts_work = replay->opts.stretch != NULL,
	};
	set_active(replay, &replay->threads[replay->thread_count], true);
	return (uint32_t)replay->thread_count++;
}

static int leave(struct replay *replay, uint32_t index)
{
	struct load_thread *thread = &replay->threads[index];
	thread->ended_in_wait = thread->wait_what != WHAT_NONE;
	int code = waits_exit(replay, index);
	if (code == 0)
		code = polls_end(replay, index);
	set_active(replay, thread, false);
	thread->is_over = true;
	thread->is_running = false;
	thread->ended_ns = replay->now_ns;
	return code == 0 && !load_push(thread, STEP_EXIT) ? -ENOMEM : code;
}

/* Events of one instant come by thread number: who waits for a thread has started it before. */
static void start_before_wait(struct replay *replay, struct load_thread *maker)
{
	struct step *wait = &maker->steps[maker->count - 2], *spawn = wait + 1;
	struct step waits = *wait;
	*wait = *spawn;
	wait->work_ns = waits.work_ns;
	waits.work_ns = 0;
	*spawn = waits;
	maker->wait_step++;
	if (maker->wait_what == WHAT_BARRIER)
		replay->objects[maker->wait_object].arrivals[maker->wait_arrival].step++;
}

/* The work that no operation came after yet is of the stretch before. */
static int begin_stretch(
	struct replay *replay, struct load_thread *thread, const struct event *event)
{
	if (!replay->opts.stretch || event->kind == EVENT_WAIT || event->kind == EVENT_THREAD_EXIT)
		return 0;
	uint16_t stretch = replay->opts.stretch(replay->opts.stretch_context, event);
	if (stretch != thread->stretch && thread->work_ns > 0 && !load_push(thread, STEP_NOTHING))
		return -ENOMEM;
	thread->stretch = stretch;
	return 0;
}

static uint32_t find_parent(struct replay *replay, const struct event *event)
{
	if (event->flags & EVENT_BEFORE || event->value == event->tid || event->value > UINT32_MAX)
		return REPLAY_NONE;
	return load_find_thread(replay, event->pid, (uint32_t)event->value);
}

/* The thread's program became another one: what it held is gone. */
static int exec(struct replay *replay, uint32_t index, const struct event *event)
{
	cpu_account(replay, &replay->threads[index], event);
	return waits_exit(replay, index);
}

static int start(struct replay *replay, const struct event *event)
{
	uint32_t old = load_find_thread(replay, event->pid, event->tid);
	if (old != REPLAY_NONE && event->tid == event->pid)
		return exec(replay, old, event);
	/* Its number is used again: how it ended was not seen. */
	if (old != REPLAY_NONE && leave(replay, old) < 0)
		return -ENOMEM;
	uint32_t parent = find_parent(replay, event);
	uint32_t index = add_thread(replay, event, parent);
	if (index == REPLAY_NONE)
		return -ENOMEM;
	struct load_thread *thread = &replay->threads[index];
	if (parent == REPLAY_NONE)
		parent = thread->parent = children_starter(&replay->children, event);
	thread->routine = event->object;
	thread->start_site = event->site;
	cpu_account(replay, thread, event);
	if (begin_stretch(replay, thread, event) < 0)
		return -ENOMEM;
	if (parent == REPLAY_NONE)
		return 0;
	struct load_thread *maker = &replay->threads[parent];
	int code = cpu_advance(maker, event->time_ns);
	struct step *step = code == 0 ? load_push(maker, STEP_SPAWN) : NULL;
	if (!step)
		return -ENOMEM;
	step->other = index;
	step->site = event->site;
	if (maker->wait_what != WHAT_NONE && maker->wait_step + 1 == maker->count)
		start_before_wait(replay, maker);
	return 0;
}

static int exited(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	bool is_told_by_another = thread->has_cpu && event->cpu_ns == 0;
	thread->has_exited = true;
	children_end(&replay->children, index, event,
		thread->wait_what == WHAT_NONE && !is_told_by_another);
	int code = leave(replay, index);
	(void)map_remove(&replay->live, event->pid, event->tid);
	replay->end_ns = event->time_ns;
	replay->has_exited = true;
	return code;
}

static int mark(struct replay *replay, struct load_thread *thread, const struct event *event)
{
	struct step *step = load_push(thread, STEP_MARK);
	uint64_t *place;
	if (!step)
		return -ENOMEM;
	step->class = event->kind;
	step->amount = event->kind == EVENT_REGION_BEGIN || event->kind == EVENT_REGION_END
			       ? event->object
			       : event->value;
	step->site = event->site;
	if (event->kind != EVENT_REGION_BEGIN)
		return 0;
	int code = map_add(&replay->region_index, event->pid, event->object, 0, &place);
	if (code <= 0)
		return code;
	if (mem_grow(&replay->regions, &replay->region_capacity, replay->region_count + 1,
		    sizeof *replay->regions) < 0)
		return -ENOMEM;
	replay->regions[replay->region_count++] = (struct replay_target){
		.kind = REPLAY_REGION, .pid = event->pid, .number = event->object
	};
	return 0;
}

/* Events that say who has a core. */
static void take_core(struct replay *replay, struct load_thread *thread, bool has_core)
{
	replay->has_cores_seen = true;
	if (thread->is_on_core == has_core)
		return;
	thread->is_on_core = has_core;
	if (has_core)
		replay->on_core++;
	else
		replay->on_core--;
	if (replay->on_core > replay->on_core_max)
		replay->on_core_max = replay->on_core;
	thread->is_running = has_core && thread->wait_what == WHAT_NONE;
}

static int wait_begins(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	set_active(replay, thread, event->what == WHAT_SPIN); /* who spins keeps its core */
	int code = waits_begin(replay, index, event);
	thread = &replay->threads[index];
	thread->wait_ns = event->time_ns;
	thread->woken_ns = 0;
	thread->was_woken = false;
	thread->waker = REPLAY_NONE;
	thread->is_running = false;
	if (thread->is_on_core && replay->has_cores_seen)
		take_core(replay, thread, false);
	return code;
}

/* A thread that is joined ends at the instant of this event, which may come after its end. */
static uint32_t find_waker(const struct replay *replay, const struct event *event)
{
	if (event->value > UINT32_MAX)
		return REPLAY_NONE;
	const uint64_t *place = map_find(event->what == WHAT_JOIN ? &replay->known : &replay->live,
		event->pid, event->value);
	return place ? (uint32_t)*place : children_thread(&replay->children, event->value);
}

static int woken(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	if (thread->wait_what == WHAT_NONE || thread->was_woken)
		return 0;
	thread->was_woken = true;
	thread->woken_ns = event->time_ns;
	thread->waker = find_waker(replay, event);
	set_active(replay, thread, true);
	return waits_woken(replay, index, event);
}

static int passed(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	set_active(replay, thread, true);
	int code = waits_pass(replay, index, event);
	thread = &replay->threads[index];
	thread->wait_what = WHAT_NONE;
	/* Recorders of cores tell in another event when it has one. */
	thread->is_running = !replay->has_cores_seen || thread->is_on_core || thread->has_cpu;
	return code;
}

/* Events of a thread's own. */
static int own_event(struct replay *replay, uint32_t index, const struct event *event)
{
	struct load_thread *thread = &replay->threads[index];
	if (locks_note_try(replay, thread, event) < 0)
		return -ENOMEM;
	switch (event->kind) {
	case EVENT_THREAD_EXIT:
		return exited(replay, index, event);
	case EVENT_WAIT:
		return wait_begins(replay, index, event);
	case EVENT_PASS:
		return passed(replay, index, event);
	case EVENT_RELEASE:
		return waits_release(replay, index, event);
	case EVENT_REGION_BEGIN:
	case EVENT_REGION_END:
	case EVENT_REQUEST_BEGIN:
	case EVENT_REQUEST_END:
	case EVENT_TICK:
		return mark(replay, thread, event);
	case EVENT_TRY_FAILED:
		return event_is_at_place(event) && !load_push(thread, STEP_YIELD) ? -ENOMEM : 0;
	case EVENT_RUN:
		take_core(replay, thread, true);
		return 0;
	case EVENT_PREEMPT:
		take_core(replay, thread, false);
		return 0;
	default:
		return 0;
	}
}

static int keep_name(struct replay *replay, const struct event *event)
{
	if (mem_grow(&replay->name_events, &replay->name_capacity, replay->name_count + 1,
		    sizeof *replay->name_events) < 0)
		return -ENOMEM;
	replay->name_events[replay->name_count] = *event;
	replay->name_events[replay->name_count++].text = NULL;
	return event_names_add(&replay->names, event);
}

static int note_initial(struct replay *replay, const struct event *event)
{
	uint32_t object = load_object(replay, event->pid, event->what, event->object);
	if (object == REPLAY_NONE)
		return -ENOMEM;
	replay->objects[object].first = event->value;
	return 0;
}

static int load_event(void *context, const struct event *given, struct err *err)
{
	struct replay *replay = context;
	struct event event = *given;
	/* The recorder's samples begin while the program is still being loaded, which no thread tells of. */
	if (!replay->has_begun)
		replay->origin_ns = event.time_ns;
	replay->has_begun |=
		event.kind != EVENT_SAMPLE && (event.kind != EVENT_NAME || event.cpu_ns > 0);
	event.time_ns = event.time_ns > replay->origin_ns ? event.time_ns - replay->origin_ns : 0;
	if (event.time_ns < replay->now_ns)
		event.time_ns = replay->now_ns;
	int code = barriers_forks(replay, event.time_ns);
	advance_clock(replay, event.time_ns);
	if (code == 0 && event.kind == EVENT_NAME && event.what != WHAT_STACK)
		code = keep_name(replay, &event);
	if (code == 0 && event.kind == EVENT_INIT && event.what == WHAT_SEM)
		code = note_initial(replay, &event);
	if (event.kind == EVENT_SAMPLE)
		cpu_sample(replay, &event);
	if (event.kind == EVENT_LOST)
		replay->facts.lost += event.value;
	if (event.kind == EVENT_LEFT_OUT)
		replay->facts.left_out += event.value;
	uint32_t creator = event.kind == EVENT_FRAME && replay->opts.stretch
				   ? load_find_thread(replay, event.pid, event.tid)
				   : REPLAY_NONE;
	if (creator != REPLAY_NONE) /* how much work it had done when it created a thread */
		cpu_account(replay, &replay->threads[creator], &event);
	if (code < 0 || event.kind == EVENT_LOST || event.tid == 0 || event_is_aside(&event) ||
		(event.kind == EVENT_NAME && event.cpu_ns == 0))
		return code < 0 ? err_set(err, code, "out of memory") : 0;
	uint32_t woken_threads = 0;
	if (replay->wakes && wakes_add(replay->wakes, &event, &woken_threads) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (event.kind == EVENT_THREAD_START) {
		code = start(replay, &event);
		return code < 0 ? err_set(err, code, "out of memory") : 0;
	}
	uint32_t index = load_find_thread(replay, event.pid, event.tid);
	/* Of the emulator's own threads a profile knows the end only. */
	if (index == REPLAY_NONE && event.kind == EVENT_THREAD_EXIT && replay->opts.stretch)
		return 0;
	if (index == REPLAY_NONE && event.kind != EVENT_WOKEN)
		index = add_thread(replay, &event, REPLAY_NONE);
	else if (index == REPLAY_NONE)
		return 0;
	if (index == REPLAY_NONE)
		return err_set(err, -ENOMEM, "out of memory");
	if (event.kind == EVENT_WOKEN) {
		code = woken(replay, index, &event);
	} else {
		replay->threads[index].wakes += woken_threads;
		if (event.kind == EVENT_THREAD_EXIT && event.cpu_ns == 0)
			event.cpu_ns =
				cpu_by_samples(replay, &replay->threads[index], event.time_ns);
		cpu_account(replay, &replay->threads[index], &event);
		ends_note(&replay->threads[index], &event);
		code = own_event(replay, index, &event);
		if (code == 0)
			code = begin_stretch(replay, &replay->threads[index], &event);
	}
	return code < 0 ? err_set(err, code, "out of memory") : 0;
}

/* Threads that had not ended live until the recording did; what they waited for is not known. */
static int load_finish(void *context, uint64_t end_ns, struct err *err)
{
	struct replay *replay = context;
	uint64_t last_ns = end_ns > replay->origin_ns ? end_ns - replay->origin_ns : 0;
	bool is_cut = !replay->has_exited;
	int code = barriers_forks(replay, UINT64_MAX);
	for (uint32_t i = 0; code == 0 && i < replay->thread_count; i++)
		if (!replay->threads[i].is_over && replay->threads[i].wait_what == WHAT_NONE &&
			replay->threads[i].tid == replay->threads[i].pid)
			is_cut = true;
	if (is_cut && last_ns > replay->now_ns)
		advance_clock(replay, last_ns);
	if (is_cut)
		replay->end_ns = replay->now_ns;
	for (uint32_t i = 0; code == 0 && i < replay->thread_count; i++) {
		struct load_thread *thread = &replay->threads[i];
		if (thread->is_over)
			continue;
		if (is_cut)
			cpu_run_until(thread, replay->end_ns);
		code = leave(replay, i);
	}
	if (code == 0)
		code = ends_settle(replay);
	if (code < 0)
		return err_set(err, code, "out of memory");
	locks_settle_tries(replay);
	replay->is_finished = true;
	code = objects_finish(replay, err);
	return code < 0 ? code : replay_fit(replay, err);
}

int replay_new(const struct replay_opts *opts, struct replay **ret, struct err *err)
{
	struct replay *replay = calloc(1, sizeof *replay);
	if (!replay)
		return err_set(err, -ENOMEM, "out of memory");
	replay->opts = *opts;
	if (!opts->stretch &&
		wakes_new(opts->cores, &opts->wakes, &opts->others, &replay->wakes) < 0) {
		free(replay);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = replay;
	return 0;
}

struct event_sink replay_sink(struct replay *replay)
{
	return (struct event_sink){ replay, load_event, load_finish };
}

void replay_free(struct replay *replay)
{
	if (!replay)
		return;
	for (size_t i = 0; i < replay->thread_count; i++) {
		free(replay->threads[i].steps);
		free(replay->threads[i].holds);
		free(replay->threads[i].splits);
		free(replay->threads[i].bounds);
		free(replay->threads[i].poll.rests);
	}
	for (size_t i = 0; i < replay->object_count; i++) {
		free(replay->objects[i].arrivals);
		free(replay->objects[i].written);
	}
	for (size_t i = 0; i < replay->supply_count; i++) {
		free(replay->supplies[i].pieces);
		free(replay->supplies[i].epoch_ends);
	}
	for (size_t i = 0; i < replay->pool_count; i++)
		free(replay->pools[i].members);
	free(replay->pools);
	free(replay->polls);
	free(replay->awaited);
	map_release(&replay->rests);
	map_release(&replay->pooled);
	free(replay->supplies);
	free(replay->threads);
	free(replay->objects);
	free(replay->episodes);
	free(replay->unresolved);
	free(replay->forks);
	free(replay->regions);
	free(replay->sites);
	free(replay->name_events);
	wakes_free(replay->wakes);
	event_names_release(&replay->names);
	map_release(&replay->live);
	children_release(&replay->children);
	map_release(&replay->known);
	map_release(&replay->object_index);
	map_release(&replay->tokens);
	map_release(&replay->lock_sites);
	map_release(&replay->episode_index);
	map_release(&replay->region_index);
	free(replay);
}
