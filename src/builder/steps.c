/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/steps.h"

#include "base/mem.h"
#include "builder/made_barriers.h"
#include "builder/told.h"

#include <errno.h>
#include <stdlib.h>

enum { AFTER_MAX = 8 };

/* One thread on its way from old steps to new ones. */
struct rewrite {
	struct build_trace *trace;
	const struct meaning *meaning;
	struct build_channels *channels;
	struct build_thread *thread;
	struct build_step *steps;
	size_t count, capacity;
	size_t at; /* the old step */
	bool has_got; /* an item whose request the thread has not ended yet */
	uint64_t cpu_ns; /* of steps that were left out, for the next one */
	struct after { /* what a section does when it ends */
		uint32_t mutex;
		struct build_step step;
	} after[AFTER_MAX];
	size_t after_count;
	const bool *are_known; /* whether each condition has a meaning */
	const bool *are_signalled; /* by anybody, ever */
	uint32_t refused_mutex; /* of the section in which a get was refused, BUILD_NONE */
};

void build_channels_release(struct build_channels *channels)
{
	free(channels->items);
	free(channels->ears);
	map_release(&channels->ear_index);
	map_release(&channels->heard);
	*channels = (struct build_channels){ 0 };
}

int build_channel_add_object(
	struct build_trace *trace, const struct meaning_cond *cond, uint8_t what, uint32_t *ret)
{
	return build_add_object(trace,
		(struct build_object){ .pid = cond->pid, .what = what, .address = cond->object },
		ret);
}

/* Whether sections put (get) at one condition just where they get (put) at the other. */
static bool is_reverse(const struct meaning *meaning, size_t a, size_t b)
{
	size_t count;
	const struct meaning_section *sections = meaning_sections(meaning, &count);
	bool has_any = false;
	for (size_t i = 0; i < count; i++) {
		int of_a = -1, of_b = -1;
		for (size_t j = 0; j < sections[i].part_count; j++) {
			const struct meaning_part *part = &sections[i].parts[j];
			of_a = part->cond == a ? (int)part->role : of_a;
			of_b = part->cond == b ? (int)part->role : of_b;
		}
		if (of_b >= 0 && of_b != MEANING_CLOSES &&
			of_a != (of_b == MEANING_PUTS ? MEANING_GETS : MEANING_PUTS))
			return false;
		has_any |= of_b >= 0;
	}
	return has_any;
}

/* The room of a queue, as a condition of its own: BUILD_NONE if there is none. */
static uint32_t find_room(const struct meaning *meaning, size_t items)
{
	size_t count;
	const struct meaning_cond *conds = meaning_conds(meaning, &count);
	for (size_t i = 0; i < count; i++)
		if (i != items && conds[i].kind == MEANING_QUEUE &&
			conds[i].pid == conds[items].pid && conds[i].mutex == conds[items].mutex &&
			conds[i].initial > conds[items].initial && is_reverse(meaning, items, i))
			return (uint32_t)i;
	return BUILD_NONE;
}

/* Nobody who came found anything. */
static bool is_slow_path(const struct meaning *meaning, size_t cond)
{
	size_t count, conds;
	const struct meaning_section *sections = meaning_sections(meaning, &count);
	uint64_t gets = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < sections[i].part_count; j++)
			if (sections[i].parts[j].cond == cond &&
				sections[i].parts[j].role == MEANING_GETS)
				gets += sections[i].executions;
	const struct meaning_cond *of = &meaning_conds(meaning, &conds)[cond];
	return of->kind == MEANING_QUEUE && gets > 0 &&
	       (double)of->waits >= MEANING_EXPLAINED * (double)gets;
}

static int make_channels(struct build_trace *trace, const struct meaning *meaning,
	const struct build_opts *opts, struct build_channels *ret)
{
	const struct meaning_cond *conds = meaning_conds(meaning, &ret->count);
	ret->items = calloc(ret->count + 1, sizeof *ret->items);
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < ret->count; i++)
		ret->items[i].object = BUILD_NONE;
	AUTO_FREE bool *is_room = calloc(ret->count + 1, sizeof *is_room);
	if (!is_room)
		return -ENOMEM;
	for (size_t i = 0; i < ret->count; i++) {
		bool has_items = conds[i].kind == MEANING_QUEUE || conds[i].kind == MEANING_DRAIN;
		uint32_t room = has_items ? find_room(meaning, i) : (uint32_t)BUILD_NONE;
		if (room == BUILD_NONE)
			continue;
		is_room[room] = true;
		ret->items[i].capacity = conds[i].initial + conds[room].initial;
		ret->items[i].is_room_known = true;
		ret->guessed_capacities += conds[room].waits == 0;
	}
	for (size_t i = 0; i < ret->count; i++)
		if (conds[i].capacity > 0) {
			ret->items[i].capacity = conds[i].capacity;
			ret->items[i].is_room_known = true;
		}
	for (size_t i = 0; i < ret->count; i++) {
		struct build_channel *channel = &ret->items[i];
		bool is_queue = conds[i].kind == MEANING_QUEUE || conds[i].kind == MEANING_DRAIN ||
				conds[i].kind == MEANING_GATE ||
				conds[i].kind == MEANING_GENERATIONS;
		channel->is_barrier = conds[i].kind == MEANING_BARRIER;
		if (is_room[i] || (!is_queue && !channel->is_barrier))
			continue;
		if (is_slow_path(meaning, i) && ret->slow_paths++ == opts->slow_path &&
			opts->conds == BUILD_WITHOUT_SLOW_PATH)
			continue;
		channel->initial = conds[i].initial;
		channel->participants = conds[i].participants;
		if (build_channel_add_object(trace, &conds[i],
			    channel->is_barrier ? WHAT_BARRIER : WHAT_QUEUE, &channel->object) < 0)
			return -ENOMEM;
		trace->objects[channel->object].is_drain = conds[i].kind == MEANING_DRAIN;
		trace->objects[channel->object].most = conds[i].most;
		trace->objects[channel->object].has_tasks = conds[i].ends_itself;
		trace->objects[channel->object].is_gate = conds[i].kind == MEANING_GENERATIONS;
	}
	return 0;
}

static int emit(struct rewrite *r, struct build_step step)
{
	step.cpu_ns += r->cpu_ns;
	r->cpu_ns = 0;
	if (r->refused_mutex != BUILD_NONE)
		step.flags |= STEP_IN_REFUSED;
	if (mem_grow(&r->steps, &r->capacity, r->count + 1, sizeof *r->steps) < 0)
		return -ENOMEM;
	r->steps[r->count++] = step;
	return 0;
}

static void emit_after(struct rewrite *r, uint32_t mutex, struct build_step step)
{
	if (r->after_count < AFTER_MAX)
		r->after[r->after_count++] = (struct after){ mutex, step };
}

/* To whom it only says that it shall stop it gives nothing. */
static bool only_stops(const struct rewrite *r, const struct meaning_cond *cond)
{
	const struct build_thread *thread = r->thread;
	if (!thread->goes_on || thread->stopped_by == BUILD_NONE)
		return false;
	const struct build_object *object = &r->trace->objects[thread->stopped_by];
	return object->pid == cond->pid && object->address == cond->object;
}

/* It found no room. */
static bool is_refused_put(
	const struct rewrite *r, const struct build_step *lock, const struct meaning_cond *cond)
{
	return cond->capacity > 0 && meaning_is_refused(r->meaning, lock->section);
}

static uint32_t items_of(const struct rewrite *r, const struct build_step *lock, uint32_t cond)
{
	uint64_t taken = meaning_taken(r->meaning, cond, lock->section);
	return taken < 1 ? 1 : taken > UINT32_MAX ? UINT32_MAX : (uint32_t)taken;
}

/* Puts before it locks what the section gets and puts, and keeps for its end the rest. */
static int rewrite_part(struct rewrite *r, struct build_step *lock, const struct meaning_part *part)
{
	size_t count;
	const struct meaning_cond *cond = &meaning_conds(r->meaning, &count)[part->cond];
	const struct build_channel *channel = &r->channels->items[part->cond];
	struct build_step step = *lock;
	if (channel->object == BUILD_NONE || only_stops(r, cond))
		return 0;
	if (part->role == MEANING_PUTS && is_refused_put(r, lock, cond))
		return 0;
	if (part->role == MEANING_GETS && meaning_is_vain(r->meaning, lock->section))
		return 0;
	if (cond->ends_itself && meaning_is_refused(r->meaning, lock->section))
		return 0; /* how many there are in all ends the loop */
	step.object = channel->object;
	step.count = 1;
	step.flags = 0;
	step.waited_ns = 0;
	switch (part->role) {
	case MEANING_GETS:
	case MEANING_ENTERS:
		step.op = STEP_GET;
		step.count = cond->kind == MEANING_QUEUE   ? cond->get_items
			     : cond->kind == MEANING_DRAIN ? items_of(r, lock, part->cond)
							   : 1;
		if (meaning_is_refused(r->meaning, lock->section) || cond->kind == MEANING_GATE)
			step.flags |= STEP_REFUSED;
		break;
	case MEANING_TRIES:
		step.op = STEP_TRY_GET;
		if (meaning_is_refused(r->meaning, lock->section))
			step.flags |= STEP_REFUSED;
		break;
	case MEANING_PUTS:
		step.op = STEP_PUT;
		step.count = cond->put_items;
		if (!cond->puts_taken)
			break;
		if (meaning_taken(r->meaning, part->cond, lock->section) == 0)
			return 0;
		step.count = items_of(r, lock, part->cond);
		break;
	case MEANING_CLOSES:
	case MEANING_OPENS:
		step.op = cond->kind == MEANING_GENERATIONS ? STEP_PUT : STEP_CLOSE;
		if (part->is_first)
			break; /* and then waits for what it lets others do */
		step.cpu_ns = 0;
		emit_after(r, lock->object, step);
		return 0;
	case MEANING_ARRIVES:
		step.op = STEP_ARRIVE;
		step.cpu_ns = 0;
		step.section = 0;
		emit_after(r, lock->object, step);
		return 0;
	case MEANING_AWAITS:
	case MEANING_COUNTS:
	case MEANING_ENDS:
	case MEANING_BEGINS:
		return 0;
	}
	lock->cpu_ns = 0;
	int code = emit(r, step);
	if (step.flags & STEP_REFUSED &&
		(cond->kind == MEANING_QUEUE || cond->kind == MEANING_DRAIN))
		r->refused_mutex = lock->object;
	r->has_got |= step.op == STEP_GET || step.op == STEP_TRY_GET;
	return code;
}

static bool has_role(const struct meaning_section *section, enum meaning_role role)
{
	for (size_t i = 0; i < section->part_count; i++)
		if (section->parts[i].role == role)
			return true;
	return false;
}

/*
 * Requests that begin or end in a section that puts do so before that, which stands before the lock: the item has the
 * request. So does, where the thread gets, the end of the request that it got before.
 */
static int rewrite_marks(
	struct rewrite *r, struct build_step *lock, const struct meaning_section *section)
{
	bool puts = has_role(section, MEANING_PUTS);
	bool gets = has_role(section, MEANING_GETS) || has_role(section, MEANING_TRIES);
	for (size_t i = r->at + 1; (puts || gets) && i < r->thread->step_count; i++) {
		struct build_step *step = &r->thread->steps[i];
		if (step->op == STEP_UNLOCK && step->object == lock->object)
			return 0;
		bool ends = step->op == STEP_END && (puts || r->has_got);
		if (!ends && !(step->op == STEP_BEGIN && puts))
			continue;
		struct build_step mark = *step;
		mark.cpu_ns = lock->cpu_ns;
		lock->cpu_ns = 0;
		step->op = STEP_NOTHING;
		r->has_got &= !ends;
		if (emit(r, mark) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int turn_of(const struct meaning_part *part)
{
	bool gives = part->role == MEANING_PUTS || part->role == MEANING_OPENS;
	if (!gives)
		return 1;
	return part->is_first ? 0 : 2;
}

/* Goes on behind the old step `last`: only the CPU time remains of what is before. */
static void leave_out_to(struct rewrite *r, size_t last)
{
	for (; r->at < last; r->at++)
		r->cpu_ns += r->thread->steps[r->at].cpu_ns;
	r->cpu_ns += r->thread->steps[last].cpu_ns;
}

/*
 * Whether the thread finds no room, sleeps and tries again: that it waits for room, of which it hears a part of a pause late. The
 * section and the sleep are left out.
 */
static bool skips_try(struct rewrite *r, const struct meaning_section *section)
{
	const struct build_step *steps = &r->thread->steps[r->at];
	size_t count;
	const struct meaning_cond *conds = meaning_conds(r->meaning, &count);
	bool is_refused = false;
	if (r->at + 3 >= r->thread->step_count || steps[1].op != STEP_UNLOCK ||
		steps[2].op != STEP_SLEEP || steps[3].op != STEP_LOCK ||
		steps[1].object != steps[0].object || steps[3].object != steps[0].object ||
		steps[3].site != steps[0].site)
		return false;
	for (size_t i = 0; i < section->part_count; i++)
		is_refused |= section->parts[i].role == MEANING_PUTS &&
			      is_refused_put(r, &steps[0], &conds[section->parts[i].cond]);
	if (is_refused)
		leave_out_to(r, r->at + 2);
	return is_refused;
}

/* Whether all that the thread does in the section is to wait in vain: it is left out. */
static bool skips_vain(struct rewrite *r, const struct meaning_section *section)
{
	const struct build_step *steps = r->thread->steps;
	size_t end = r->at + 1;
	if (!has_role(section, MEANING_GETS) || !meaning_is_vain(r->meaning, steps[r->at].section))
		return false;
	while (end < r->thread->step_count && steps[end].op == STEP_COND_WAIT)
		end++;
	if (end == r->thread->step_count || steps[end].op != STEP_UNLOCK ||
		steps[end].object != steps[r->at].object)
		return false;
	leave_out_to(r, end);
	return true;
}

/* Only what a signal that ended waits does is more than its CPU time. */
static int rewrite_signal(struct rewrite *r, const struct build_step *step)
{
	const struct build_object *object = &r->trace->objects[step->object];
	struct build_step put = *step;
	if (!(step->flags & STEP_TOLD)) {
		r->cpu_ns += step->cpu_ns;
		return 0;
	}
	uint32_t cond = meaning_find_cond(r->meaning, object->pid, object->address);
	put.op = STEP_PUT;
	put.flags = 0;
	put.object = r->channels->items[cond].object;
	if (r->trace->objects[put.object].are_calls)
		return emit(r, put);
	r->cpu_ns += put.cpu_ns;
	put.cpu_ns = 0;
	const struct build_ear *ear;
	for (size_t i = r->channels->items[cond].ears; i > 0; i = ear->next) {
		ear = &r->channels->ears[i - 1];
		const uint64_t *count = map_find(&r->channels->heard, i - 1, step->begin_ns);
		if (!count)
			continue;
		put.object = ear->object;
		put.count = (uint32_t)*count;
		if (emit(r, put) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* From where the thread gets the signals of a condition. */
static uint32_t heard_at(const struct rewrite *r, uint32_t cond)
{
	const uint64_t *ear = map_find(&r->channels->ear_index, cond, r->thread->routine);
	uint32_t object = r->channels->items[cond].object;
	return ear && !r->trace->objects[object].are_calls ? r->channels->ears[*ear].object
							   : object;
}

/* Signals that a section gives before it waits for what it gets. */
static int give_first(struct rewrite *r, struct build_step *lock)
{
	for (size_t i = r->at + 1; i < r->thread->step_count; i++) {
		struct build_step *step = &r->thread->steps[i];
		if (step->op == STEP_UNLOCK && step->object == lock->object)
			break;
		if (step->op != STEP_SIGNAL || !step->comes_first || !(step->flags & STEP_TOLD))
			continue;
		r->cpu_ns += lock->cpu_ns;
		lock->cpu_ns = 0;
		if (rewrite_signal(r, step) < 0)
			return -ENOMEM;
		step->cpu_ns = 0;
		step->flags &= (uint8_t)~STEP_TOLD; /* it has been given */
	}
	return 0;
}

static int rewrite_lock(struct rewrite *r, struct build_step step)
{
	const struct build_object *mutex = &r->trace->objects[step.object];
	const struct meaning_section *section =
		mutex->what == WHAT_MUTEX
			? meaning_find(r->meaning, mutex->pid, mutex->address, step.site)
			: NULL;
	if (section && (skips_try(r, section) || skips_vain(r, section)))
		return 0;
	if (section && rewrite_marks(r, &step, section) < 0)
		return -ENOMEM;
	if (section && has_role(section, MEANING_GETS) && give_first(r, &step) < 0)
		return -ENOMEM;
	/* What it gets comes before what it puts, unless it puts first and then waits. */
	for (int turn = 0; turn <= 2; turn++)
		for (size_t i = 0; section && i < section->part_count; i++)
			if (turn_of(&section->parts[i]) == turn &&
				rewrite_part(r, &step, &section->parts[i]) < 0)
				return -ENOMEM;
	return emit(r, step);
}

static int rewrite_unlock(struct rewrite *r, const struct build_step *step)
{
	size_t kept = 0;
	if (emit(r, *step) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->after_count; i++) {
		if (r->after[i].mutex == step->object) {
			r->after[i].step.begin_ns = step->begin_ns;
			if (emit(r, r->after[i].step) < 0)
				return -ENOMEM;
		} else {
			r->after[kept++] = r->after[i];
		}
	}
	r->after_count = kept;
	if (r->refused_mutex == step->object)
		r->refused_mutex = BUILD_NONE;
	return 0;
}

/* Whether waits for a condition are known to be gets, or arrivals. */
static bool has_meaning(
	const struct meaning *meaning, const struct build_channels *channels, uint32_t cond)
{
	size_t count;
	bool is_queue = meaning_conds(meaning, &count)[cond].kind == MEANING_QUEUE;
	return is_queue /* maybe room of another one */ ||
	       channels->items[cond].object != BUILD_NONE;
}

/* Where the section was begun that the thread is in. */
static uint64_t section_site(const struct rewrite *r, uint32_t mutex, uint64_t otherwise)
{
	for (size_t i = r->count; i-- > 0;)
		if (r->steps[i].op == STEP_LOCK && r->steps[i].object == mutex)
			return r->steps[i].site;
	return otherwise;
}

/* A wait that has a meaning is part of a get; another one is for a signal, or sleeps as long as recorded. */
static int rewrite_cond_wait(struct rewrite *r, const struct build_step *step)
{
	const struct build_object *object = &r->trace->objects[step->object];
	size_t count;
	const struct meaning_cond *conds = meaning_conds(r->meaning, &count);
	uint32_t cond = meaning_find_cond(r->meaning, object->pid, object->address);
	bool is_told = step->flags & STEP_TOLD;
	bool is_known = cond < count && !is_told && r->are_known[cond];
	const uint64_t *mutex = cond < count ? map_find(&r->trace->object_index, conds[cond].mutex,
						       (uint64_t)WHAT_MUTEX << 32 | object->pid)
					     : NULL;
	if (is_known && !(step->flags & STEP_REFUSED)) {
		r->cpu_ns += step->cpu_ns;
		return 0;
	}
	r->channels->unknown_waits +=
		!is_known && !is_told && (cond >= count || r->are_signalled[cond]);
	r->channels->told_waits += is_told;
	struct build_step sleep = *step, unlock = *step, lock = *step;
	sleep.op = is_told ? STEP_GET : STEP_SLEEP;
	if (is_told)
		sleep.object = heard_at(r, cond);
	if (!mutex || r->count == 0)
		return emit(r, sleep);
	unlock.op = STEP_UNLOCK;
	lock.op = STEP_LOCK;
	sleep.cpu_ns = lock.cpu_ns = 0;
	sleep.flags = unlock.flags = lock.flags = 0;
	unlock.object = lock.object = (uint32_t)*mutex;
	/* Who only lets time pass there sleeps, and comes back to the section (limiters.h). */
	if (cond < count && !r->are_signalled[cond])
		lock.site = section_site(r, lock.object, lock.site);
	if (emit(r, unlock) < 0 || emit(r, sleep) < 0)
		return -ENOMEM;
	return emit(r, lock);
}

static int rewrite_step(struct rewrite *r, const struct build_step *step)
{
	switch ((enum step_op)step->op) {
	case STEP_LOCK:
		return rewrite_lock(r, *step);
	case STEP_UNLOCK:
		return rewrite_unlock(r, step);
	case STEP_COND_WAIT:
		return rewrite_cond_wait(r, step);
	case STEP_TRY_FAILED:
		r->channels->failed_tries++;
		r->cpu_ns += step->cpu_ns;
		return 0;
	case STEP_NOTHING:
		r->cpu_ns += step->cpu_ns;
		return 0;
	case STEP_END:
		r->has_got = false;
		return emit(r, *step);
	case STEP_SIGNAL:
		return rewrite_signal(r, step);
	default:
		return emit(r, *step);
	}
}

static int rewrite_thread(struct rewrite *r)
{
	int code = 0;
	for (; r->at < r->thread->step_count && code == 0; r->at++)
		code = rewrite_step(r, &r->thread->steps[r->at]);
	if (code < 0) {
		free(r->steps);
		return code;
	}
	free(r->thread->steps);
	r->thread->steps = r->steps;
	r->thread->step_count = r->count;
	r->thread->step_capacity = r->capacity;
	return 0;
}

static void find_signalled(
	const struct build_trace *trace, const struct meaning *meaning, size_t count, bool *ret)
{
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (step->op != STEP_SIGNAL)
				continue;
			const struct build_object *object = &trace->objects[step->object];
			uint32_t cond = meaning_find_cond(meaning, object->pid, object->address);
			if (cond < count)
				ret[cond] = true;
		}
}

int build_steps_by_meaning(struct build_trace *trace, const struct meaning *meaning,
	const struct build_opts *opts, struct build_channels *ret)
{
	int code = make_channels(trace, meaning, opts, ret);
	AUTO_FREE bool *are_known = calloc(ret->count + 1, sizeof *are_known);
	AUTO_FREE bool *are_signalled = calloc(ret->count + 1, sizeof *are_signalled);
	if (!are_known || !are_signalled)
		return -ENOMEM;
	find_signalled(trace, meaning, ret->count, are_signalled);
	for (uint32_t i = 0; i < ret->count && code == 0; i++)
		are_known[i] = has_meaning(meaning, ret, i);
	if (code == 0)
		code = build_told_find(
			trace, meaning, are_known, opts->conds == BUILD_BY_CALLS, ret);
	if (code == 0)
		code = build_made_barriers_find(trace, meaning, ret);
	for (size_t i = 0; i < trace->thread_count && code == 0; i++) {
		struct rewrite r = { .trace = trace,
			.meaning = meaning,
			.channels = ret,
			.are_known = are_known,
			.are_signalled = are_signalled,
			.thread = &trace->threads[i],
			.refused_mutex = BUILD_NONE };
		code = rewrite_thread(&r);
	}
	return code;
}
