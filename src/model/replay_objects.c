/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What only all events together say: who meets at a barrier, what a semaphore holds at first, which
 * locks are handed over, what a wait costs, how much of the cores the run got.
 */
#include "model/replay_parts.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Objects of the replay's own: a barrier of GCC's OpenMP at which threads wait for their next region. */
enum { WHAT_JOINED = WHAT_BARRIER | 0x40, WHAT_FORKED = WHAT_BARRIER | 0x80 };

enum { SAMPLES_MAX = 65536, SAMPLES_MIN = 8 };

/* As much as the account of criticality holds. */
#define END_MAX_NS (UINT64_C(1) << 47)

/* Of what the cores could have given, at least so much in either state, to tell the two apart. */
#define APART_LEAST 0.05

int samples_add(struct samples *samples, uint64_t ns)
{
	if (samples->count == SAMPLES_MAX)
		return 0;
	if (mem_grow(&samples->values, &samples->capacity, samples->count + 1,
		    sizeof *samples->values) < 0)
		return -ENOMEM;
	samples->values[samples->count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* What one of so many is below. Few samples say nothing. */
static uint64_t samples_part(struct samples *samples, size_t part)
{
	if (samples->count < SAMPLES_MIN)
		return 0;
	qsort(samples->values, samples->count, sizeof *samples->values, by_value);
	return samples->values[samples->count / part];
}

/* A thread that was woken cannot use a core before it is awake; what is longer is the machine's. */
static double waking_up(const struct replay *replay, bool is_last_core)
{
	double most = (double)replay->facts.wake_ns * (double)replay->wake_count[is_last_core];
	double all = (double)replay->wake_sum_ns[is_last_core];
	return most < all ? most : all;
}

int objects_arrive(
	struct replay *replay, uint32_t thread, uint32_t object, size_t step, uint64_t time_ns)
{
	struct load_object *barrier = &replay->objects[object];
	if (mem_grow(&barrier->arrivals, &barrier->arrival_capacity, barrier->arrival_count + 1,
		    sizeof *barrier->arrivals) < 0)
		return -ENOMEM;
	replay->threads[thread].wait_arrival = barrier->arrival_count;
	barrier->arrivals[barrier->arrival_count++] = (struct arrival){
		.thread = thread, .waker = REPLAY_NONE, .step = step, .time_ns = time_ns
	};
	return 0;
}

/* Whether a thread came to a barrier at this instant: who comes last lets the others go. */
static bool has_come_at(const struct load_object *barrier, uint32_t thread, uint64_t time_ns)
{
	for (size_t i = barrier->arrival_count; i > 0; i--) {
		const struct arrival *arrival = &barrier->arrivals[i - 1];
		if (arrival->time_ns < time_ns)
			return false;
		if (arrival->thread == thread && arrival->time_ns == time_ns)
			return true;
	}
	return false;
}

static int add_fork(struct replay *replay, const struct fork *fork)
{
	const struct load_object *barrier = &replay->objects[fork->object];
	/* Who goes on in the very instant in which it was let go saw a later coming, cut to its own time. */
	bool is_cut = barrier->arrivals[fork->arrival].is_over;
	if (fork->maker == REPLAY_NONE || is_cut ||
		has_come_at(barrier, fork->maker, fork->time_ns) ||
		replay->threads[fork->maker].wait_what != WHAT_NONE)
		return 0;
	uint32_t object = load_object(replay, barrier->pid, WHAT_FORKED, barrier->address);
	if (object == REPLAY_NONE)
		return -ENOMEM;
	replay->objects[fork->object].arrivals[fork->arrival].is_forked = true;
	struct load_thread *maker = &replay->threads[fork->maker];
	const struct load_split *split =
		maker->split_count > 0 ? &maker->splits[maker->split_count - 1] : NULL;
	bool is_later = (maker->counts_work || maker->has_cpu) &&
			(!split || split->time_ns != fork->time_ns);
	if (load_advance(maker, fork->time_ns) < 0)
		return -ENOMEM;
	struct step *last = maker->count > 0 ? &maker->steps[maker->count - 1] : NULL;
	if (last && last->kind == STEP_SEM_POST && last->object == object && maker->work_ns == 0 &&
		!is_later) {
		last->amount++;
		return 0;
	}
	struct step *step = load_push(maker, STEP_SEM_POST);
	if (!step)
		return -ENOMEM;
	step->object = object;
	step->amount = 1;
	return 0;
}

int objects_forks(struct replay *replay, uint64_t time_ns)
{
	if (replay->fork_count == 0 || replay->forks[0].time_ns >= time_ns)
		return 0;
	for (size_t i = 0; i < replay->fork_count; i++)
		if (add_fork(replay, &replay->forks[i]) < 0)
			return -ENOMEM;
	replay->fork_count = 0;
	return 0;
}

static int by_woken(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;
	if (x->woken_ns != y->woken_ns)
		return x->woken_ns < y->woken_ns ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static struct step *step_of(struct replay *replay, const struct arrival *arrival)
{
	return &replay->threads[arrival->thread].steps[arrival->step];
}

/* Those who left at the same time met, at a barrier of so many. */
static int add_meeting(
	struct replay *replay, uint32_t object, const struct arrival *arrivals, size_t count)
{
	uint64_t *place;
	if (mem_grow(&replay->episodes, &replay->episode_capacity, replay->episode_count + 1,
		    sizeof *replay->episodes) < 0 ||
		map_add(&replay->episode_index, object, count, replay->episode_count, &place) < 0)
		return -ENOMEM;
	if (*place == replay->episode_count)
		replay->episodes[replay->episode_count++] =
			(struct episode){ object, (uint32_t)count };
	for (size_t i = 0; i < count; i++)
		step_of(replay, &arrivals[i])->amount = *place;
	return 0;
}

/* Who did not note when it could go on: when the last one came, who did not wait. In order of time. */
static void set_inexact(struct arrival *arrivals, size_t count)
{
	uint64_t last_ns = 0;
	for (size_t i = count; i-- > 0;) {
		struct arrival *arrival = &arrivals[i];
		if (arrival->is_last)
			last_ns = arrival->time_ns;
		else if (!arrival->is_exact && last_ns > 0 && last_ns <= arrival->woken_ns)
			arrival->woken_ns = last_ns;
	}
}

/* The most that left at the same instant. Arrivals are in order of that. */
static size_t largest_meeting(const struct arrival *arrivals, size_t count)
{
	size_t most = 0, end;
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && arrivals[end].woken_ns == arrivals[i].woken_ns;)
			end++;
		most = end - i > most ? end - i : most;
	}
	return most;
}

static int by_time(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* Whether arrivals, in order of time, can be rounds of so many: nobody comes twice to one. */
static bool are_rounds_of(const struct arrival *arrivals, size_t count, size_t size)
{
	if (size < 2 || count % size != 0)
		return false;
	for (size_t i = 0; i < count; i++)
		for (size_t k = i - i % size; k < i; k++)
			if (arrivals[k].thread == arrivals[i].thread)
				return false;
	return true;
}

/*
 * A thread that gets its core back late may see who came to the next round as who let it go. But all come to a
 * round before any comes to the next: if every round can have been of as many as the largest, each was. Sets
 * *ret_done. The arrivals are in order of leaving, before and, if it is not done, after.
 */
static int meet_in_rounds(struct replay *replay, uint32_t object, const struct arrival *arrivals,
	size_t count, bool *ret_done)
{
	size_t size = largest_meeting(arrivals, count);
	AUTO_FREE struct arrival *ordered = calloc(count + 1, sizeof *ordered);
	if (!ordered)
		return -ENOMEM;
	if (count > 0)
		memcpy(ordered, arrivals, count * sizeof *ordered);
	qsort(ordered, count, sizeof *ordered, by_time);
	*ret_done = are_rounds_of(ordered, count, size);
	for (size_t i = 0; *ret_done && i < count; i += size)
		if (add_meeting(replay, object, &ordered[i], size) < 0)
			return -ENOMEM;
	return 0;
}

/*
 * The arrivals at one barrier. Who left at the same instant met. Where some were let go later, by a
 * thread that was not at the barrier, it is the end of an OpenMP region: those wait there for the next
 * one (forked), and the others leave when all of them have come (joined).
 */
static int meet(struct replay *replay, uint32_t object)
{
	struct load_object barrier = replay->objects[object];
	struct arrival *a = barrier.arrivals;
	size_t kept = 0, docked = 0, from = 0;
	uint32_t joined = REPLAY_NONE, forked = REPLAY_NONE;
	AUTO_FREE uint64_t *dock_ns = calloc(barrier.arrival_count, sizeof *dock_ns);
	if (!dock_ns)
		return -ENOMEM;
	for (size_t i = 0; i < barrier.arrival_count; i++) {
		if (!a[i].is_forked && a[i].is_over) {
			a[kept++] = a[i];
			continue;
		}
		joined = load_object(replay, barrier.pid, WHAT_JOINED, barrier.address);
		forked = load_object(replay, barrier.pid, WHAT_FORKED, barrier.address);
		if (joined == REPLAY_NONE || forked == REPLAY_NONE)
			return -ENOMEM;
		struct step *step = step_of(replay, &a[i]);
		step->kind = STEP_DOCK;
		step->object = joined;
		step->other = a[i].is_over ? forked : REPLAY_NONE;
		dock_ns[docked++] = a[i].time_ns;
	}
	set_inexact(a, kept);
	qsort(a, kept, sizeof *a, by_woken);
	bool is_done = false;
	if (docked == 0 && meet_in_rounds(replay, object, a, kept, &is_done) < 0)
		return -ENOMEM;
	if (is_done)
		return 0;
	size_t end;
	for (size_t i = 0; i < kept; i = end) {
		size_t to = from;
		for (end = i + 1; end < kept && a[end].woken_ns == a[i].woken_ns;)
			end++;
		while (to < docked && dock_ns[to] <= a[i].woken_ns)
			to++;
		if (to == from) {
			if (add_meeting(replay, object, &a[i], end - i) < 0)
				return -ENOMEM;
			continue;
		}
		for (size_t k = i; k < end; k++) {
			struct step *step = step_of(replay, &a[k]);
			step->kind = STEP_SEM_WAIT;
			step->object = joined;
			/* One of them takes all, the others pass: in practice there is one. */
			step->other = k == i ? (uint32_t)(to - from) : 0;
			if (step->other == 0)
				step->kind = STEP_NOTHING;
		}
		from = to;
	}
	return 0;
}

/* Never less than 0, as far as was seen; nobody knows how much more where nobody waited. */
static void set_semaphore(struct load_object *sem)
{
	sem->value = sem->least_balance < 0 ? (uint64_t)-sem->least_balance : 0;
}

static void set_play(struct load_object *object)
{
	static const uint8_t plays[WHAT_COUNT] = { [WHAT_MUTEX] = PLAY_MUTEX,
		[WHAT_SPIN] = PLAY_SPIN,
		[WHAT_RWLOCK] = PLAY_RWLOCK,
		[WHAT_COND] = PLAY_COND,
		[WHAT_BARRIER] = PLAY_BARRIER,
		[WHAT_SEM] = PLAY_SEM };
	if (object->play == PLAY_NONE && object->what < WHAT_COUNT)
		object->play = plays[object->what];
	if (object->what == WHAT_JOINED || object->what == WHAT_FORKED)
		object->play = PLAY_SEM;
	else if (object->what == WHAT_SEM)
		set_semaphore(object);
	object->is_handed_over = object->handed_over > object->barged;
	object->writers_first = object->reader_yields > object->reader_passes;
}

static double share(double part, double whole)
{
	return part > 0 && part < whole ? part / whole : 1;
}

/*
 * What the run got of the cores while it wanted fewer than there are, by regression over stretches of
 * its threads, and, from what is left, while it wanted all.
 */
static void set_available(struct replay *replay, double used_ns)
{
	struct replay_facts *f = &replay->facts;
	double spare_ns = 0, full_ns = 0, crowded_ns = 0;
	for (uint32_t i = 1; i <= LOAD_ACTIVE_MAX; i++) {
		double could_ns = (double)replay->active_ns[i] * (i < f->cores ? i : f->cores);
		spare_ns += i < f->cores ? could_ns : 0;
		full_ns += i < f->cores ? 0 : could_ns;
		crowded_ns += i < 2 * f->cores ? 0 : could_ns;
	}
	spare_ns -= waking_up(replay, 0);
	full_ns -= waking_up(replay, 1);
	f->available = share(used_ns, spare_ns + full_ns);
	f->available_spare = f->available_full = f->available_crowded = f->available;
	replay->could_full_ns = spare_ns + full_ns;
	replay->lost_full_ns = (1 - f->available) * replay->could_full_ns;
	double determinant = replay->sums.ss * replay->sums.ff - replay->sums.sf * replay->sums.sf;
	double least_ns = APART_LEAST * (spare_ns + full_ns);
	if (!(determinant > 0) || spare_ns < least_ns || full_ns < least_ns)
		return;
	double spare = (replay->sums.sc * replay->sums.ff - replay->sums.fc * replay->sums.sf) /
		       determinant;
	/* Both between 0 and 1, and together what was used. */
	double most = share(used_ns, spare_ns), least = (used_ns - full_ns) / spare_ns;
	spare = spare < least ? least : spare > most ? most : spare;
	spare = spare < 1 ? spare : 1; /* `least` is above where more was used than there was */
	double full = (used_ns - spare * spare_ns) / full_ns;
	/* Who wants less gets no smaller part of it, and who wants all gets some. */
	if (!(full >= APART_LEAST && spare >= full))
		return;
	f->available_spare = spare;
	f->available_full = full < 1 ? full : 1;
	replay->could_full_ns = full_ns;
	replay->lost_full_ns = (1 - f->available_full) * full_ns;
	/* Two threads that share a core beside an idle one do so when there are few: not if never seen. */
	f->available_crowded = crowded_ns < least_ns ? f->available_spare : f->available_full;
}

static void set_costs(struct replay *replay)
{
	struct replay_facts *f = &replay->facts;
	double used_ns = 0;
	f->cores = replay->opts.cores                      ? replay->opts.cores
		   : replay->has_cores_seen                ? replay->on_core_max
		   : replay->active_max > REPLAY_CORES_MAX ? REPLAY_CORES_MAX
							   : replay->active_max;
	if (f->cores == 0)
		f->cores = 1;
	f->has_cores = replay->opts.cores > 0 || replay->has_cores_seen;
	f->has_cpu_times = true;
	for (size_t i = 0; i < replay->thread_count; i++) {
		const struct load_thread *thread = &replay->threads[i];
		f->has_cpu_times &= thread->has_cpu || thread->count <= 1;
		used_ns += (double)thread->total_cpu_ns;
		f->operations += thread->count;
	}
	if (!f->has_cpu_times || replay->opts.stretch) {
		f->available = f->available_spare = 1;
		f->available_full = f->available_crowded = 1;
		return;
	}
	f->wake_ns = samples_part(&replay->wake, 2);
	f->block_ns = samples_part(&replay->block, 4);
	set_available(replay, used_ns);
}

/* Waits whose signal was never seen: pauses, as long as they were. */
static void settle_unresolved(struct replay *replay)
{
	for (size_t i = 0; i < replay->unresolved_count; i++) {
		struct unresolved *wait = &replay->unresolved[i];
		struct step *step = &replay->threads[wait->thread].steps[wait->step];
		if (step->kind == STEP_SLEEP && step->other != REPLAY_NONE)
			step->kind = STEP_TIMED_WAIT;
	}
}

static int collect_sites(struct replay *replay)
{
	AUTO_RELEASE(map) struct map seen = { 0 };
	for (size_t i = 0; i < replay->thread_count; i++) {
		const struct load_thread *thread = &replay->threads[i];
		for (size_t k = 0; k < thread->count; k++) {
			uint64_t *place, site = thread->steps[k].site;
			int code = site ? map_add(&seen, thread->pid, site, 0, &place) : 0;
			if (code > 0 && mem_grow(&replay->sites, &replay->site_capacity,
						replay->site_count + 1, sizeof *replay->sites) < 0)
				code = -ENOMEM;
			if (code < 0)
				return code;
			if (code > 0)
				replay->sites[replay->site_count++] = (struct replay_target){
					.kind = REPLAY_SITE, .pid = thread->pid, .number = site
				};
		}
	}
	return 0;
}

int objects_finish(struct replay *replay, struct err *err)
{
	settle_unresolved(replay);
	size_t count = replay->object_count;
	for (uint32_t i = 0; i < count; i++)
		if (replay->objects[i].what == WHAT_BARRIER &&
			replay->objects[i].arrival_count > 0 && meet(replay, i) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < replay->object_count; i++)
		set_play(&replay->objects[i]);
	set_costs(replay);
	if (collect_sites(replay) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	replay->facts.threads = replay->thread_count;
	replay->facts.measured_ns = replay->end_ns;
	if (replay->thread_count == 0 || replay->end_ns == 0)
		return err_set(err, -EINVAL, "there is nothing to replay: no thread ran");
	if (replay->end_ns > END_MAX_NS)
		return err_set(err, -ERANGE, "a recording of more than 39 hours is not replayed");
	return 0;
}

void replay_facts(const struct replay *replay, struct replay_facts *ret)
{
	*ret = replay->facts;
}

bool replay_region(
	const struct replay *replay, size_t n, struct replay_target *ret, const char **ret_name)
{
	if (n >= replay->region_count)
		return false;
	*ret = replay->regions[n];
	*ret_name = event_names_find(&replay->names, ret->pid, WHAT_REGION, ret->number);
	return true;
}

bool replay_site(const struct replay *replay, size_t n, struct replay_target *ret)
{
	if (n >= replay->site_count)
		return false;
	*ret = replay->sites[n];
	return true;
}

bool replay_can_leave_out(const struct replay *replay, const struct replay_target *target)
{
	const uint64_t *place = map_find(
		&replay->object_index, (uint64_t)target->pid << 32 | target->what, target->number);
	return place && !replay->objects[*place].guards_condition;
}
