/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The waker's part is told apart by what follows on a release by one thread at one place of the program, where it woke somebody,
 * and where it did not: another thread's work there may be more, and it the one that has somebody to wake.
 */
#include "trace/wakes.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/order.h"
#include "trace/wakes_latency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { KEPT = 64, KEPT_LEAST = 16, PLACES_MAX = 4096, SAMPLES_MAX = 65536 };
enum { NOBODY = UINT32_MAX };

/* Not told apart from what else makes a stretch longer. */
static const double LEAST_ERROR_NS = 50, MOST_ERROR_NS = 1000;

/* Stretches of work between the same operations at the same places. */
struct place {
	uint32_t counts[2]; /* [1]: that began with waking a thread */
	uint32_t values[2][KEPT]; /* ns; some of them */
};

struct thread {
	uint64_t cpu_ns, began_cpu_ns; /* began: its work */
	uint64_t past[2]; /* its operations before that, the last one first */
	uint64_t wait_ns, wait_cpu_ns, woken_ns;
	uint64_t
		signalled_ns; /* when it was woken at a condition whose mutex it waits for now; 0 */
	uint64_t woke_ns; /* when it woke `woke` threads that had to wake up a core */
	uint32_t woke;
	uint32_t lock; /* that it waits for; NOBODY: none */
	uint8_t wait_what; /* WHAT_NONE: it does not wait */
	uint64_t spun_ns; /* until when it spins, if it waits so long */
	bool has_cpu, is_active, was_woken;
	bool spins; /* in waits of its */
	bool had_core, was_last_core; /* one was free when it was woken, and no other one */
};

struct lock {
	uint64_t holder; /* of a mutex: pid and tid, if it is held; 0 */
	uint32_t depth, waiting;
	uint64_t sleeps_ns; /* from when on the last of them is asleep */
	uint64_t woke_ns; /* when one of them was woken last */
	bool is_waking; /* that one has not got it since */
	uint64_t retaken_ns; /* when another one did first; 0: nobody */
};

struct wakes {
	uint32_t cores;
	struct trace_wakes machine;
	struct trace_others others;
	struct map thread_index, lock_index, place_index;
	struct thread *threads;
	size_t thread_count, thread_capacity;
	struct lock *locks;
	size_t lock_count, lock_capacity;
	struct place *places;
	size_t place_count, place_capacity;
	uint32_t *samples; /* ns from a wake-up to running */
	size_t sample_count, sample_capacity;
	struct wakes_window *windows; /* in vain */
	size_t window_count, window_capacity;
	uint64_t begin_ns; /* UINT64_MAX: not yet */
	uint64_t cpu_ns; /* of all threads since then */
	uint64_t now_ns,
		crowded_ns; /* crowded: when more were woken at once than cores were free */
	uint64_t full_ns; /* when more threads had something to do than there are cores, last */
	uint64_t usual_ns; /* of the samples, so far */
	uint32_t active, spinners;
	struct wakes_found found;
};

int wakes_new(uint32_t cores, const struct trace_wakes *machine, const struct trace_others *others,
	struct wakes **ret)
{
	struct wakes *wakes = calloc(1, sizeof *wakes);
	if (!wakes)
		return -ENOMEM;
	wakes->cores = cores;
	wakes->machine = *machine;
	wakes->others = *others;
	wakes->begin_ns = UINT64_MAX;
	*ret = wakes;
	return 0;
}

void wakes_free(struct wakes *wakes)
{
	if (!wakes)
		return;
	map_release(&wakes->thread_index);
	map_release(&wakes->lock_index);
	map_release(&wakes->place_index);
	free(wakes->threads);
	free(wakes->locks);
	free(wakes->places);
	free(wakes->samples);
	free(wakes->windows);
	free(wakes);
}

/* Places. */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static int add_to_place(struct wakes *wakes, uint64_t key, bool has_woken, uint64_t work_ns)
{
	uint64_t *index;
	if (wakes->place_count == PLACES_MAX && !map_find(&wakes->place_index, key, 0))
		return 0;
	if (mem_grow(&wakes->places, &wakes->place_capacity, wakes->place_count + 1,
		    sizeof *wakes->places) < 0)
		return -ENOMEM;
	int code = map_add(&wakes->place_index, key, 0, wakes->place_count, &index);
	if (code < 0)
		return code;
	if (code > 0)
		wakes->places[wakes->place_count++] = (struct place){ 0 };
	struct place *place = &wakes->places[*index];
	uint32_t n = place->counts[has_woken]++;
	uint32_t at = n < KEPT ? n : (uint32_t)(mix(key, n) % (n + UINT64_C(1)));
	if (at < KEPT)
		place->values[has_woken][at] =
			work_ns < UINT32_MAX ? (uint32_t)work_ns : UINT32_MAX;
	return 0;
}

static bool is_lock(uint8_t what)
{
	return what == WHAT_MUTEX || what == WHAT_RWLOCK || what == WHAT_SPIN;
}

static void begin_work(struct thread *thread)
{
	thread->began_cpu_ns = thread->cpu_ns;
	thread->woke = 0;
}

/* The thread's work until an operation is over. */
static int end_work(
	struct wakes *wakes, struct thread *thread, const struct event *event, uint32_t *ret_woken)
{
	/* Where a lock is given back is recorded only when somebody waits for it. */
	bool is_release = event->kind == EVENT_RELEASE;
	uint64_t kind = event->kind == EVENT_PASS ? EVENT_WAIT : event->kind;
	uint64_t thread_id = (uint64_t)event->pid << 32 | event->tid;
	uint64_t operation = mix(mix(thread_id, kind << 8 | event->what),
		is_release && is_lock(event->what) ? 0 : event->site);
	uint64_t key = mix(mix(operation, thread->past[0]), thread->past[1]);
	uint64_t work_ns = thread->cpu_ns - thread->began_cpu_ns;
	*ret_woken = thread->woke_ns < wakes->now_ns ? thread->woke : 0;
	thread->past[1] = thread->past[0];
	thread->past[0] = operation;
	thread->began_cpu_ns = thread->cpu_ns;
	if (*ret_woken == thread->woke)
		thread->woke = 0;
	return thread->has_cpu && *ret_woken <= 1
		       ? add_to_place(wakes, key, *ret_woken > 0, work_ns)
		       : 0;
}

/* Threads. */

static void set_active(struct wakes *wakes, struct thread *thread, bool is_active)
{
	if (thread->is_active == is_active)
		return;
	thread->is_active = is_active;
	if (is_active)
		wakes->active++;
	if (wakes->active > wakes->cores)
		wakes->full_ns = wakes->now_ns;
	if (!is_active)
		wakes->active--;
}

static struct thread *find_thread(const struct wakes *wakes, uint32_t pid, uint64_t tid)
{
	const uint64_t *index = map_find(&wakes->thread_index, pid, tid);
	return index ? &wakes->threads[*index] : NULL;
}

/* NULL without memory. */
static struct thread *get_thread(struct wakes *wakes, const struct event *event)
{
	uint64_t *index;
	if (mem_grow(&wakes->threads, &wakes->thread_capacity, wakes->thread_count + 1,
		    sizeof *wakes->threads) < 0)
		return NULL;
	int code =
		map_add(&wakes->thread_index, event->pid, event->tid, wakes->thread_count, &index);
	if (code < 0)
		return NULL;
	struct thread *thread = &wakes->threads[*index];
	if (code == 0)
		return thread;
	wakes->thread_count++;
	*thread = (struct thread){ .cpu_ns = event->cpu_ns,
		.began_cpu_ns = event->cpu_ns,
		.has_cpu = event->cpu_ns > 0,
		.lock = NOBODY };
	set_active(wakes, thread, true);
	return thread;
}

/* NULL without memory. */
static struct lock *get_lock(struct wakes *wakes, const struct event *event)
{
	uint64_t *index;
	if (mem_grow(&wakes->locks, &wakes->lock_capacity, wakes->lock_count + 1,
		    sizeof *wakes->locks) < 0)
		return NULL;
	int code = map_add(&wakes->lock_index, (uint64_t)event->pid << 32 | event->what,
		event->object, wakes->lock_count, &index);
	if (code < 0)
		return NULL;
	if (code > 0)
		wakes->locks[wakes->lock_count++] = (struct lock){ 0 };
	return &wakes->locks[*index];
}

static uint64_t holder_of(const struct event *event)
{
	return (uint64_t)event->pid << 32 | event->tid;
}

/* Of a mutex: it may be taken again by who has it. */
static void take_lock(struct lock *lock, const struct event *event)
{
	bool is_again = event->what == WHAT_MUTEX && lock->holder == holder_of(event);
	lock->depth = is_again ? lock->depth + 1 : 1;
	lock->holder = holder_of(event);
}

static void stop_waiting(struct wakes *wakes, struct thread *thread)
{
	if (thread->lock != NOBODY && wakes->locks[thread->lock].waiting > 0)
		wakes->locks[thread->lock].waiting--;
	thread->lock = NOBODY;
	thread->wait_what = WHAT_NONE;
}

static void note_wake(struct wakes *wakes, struct thread *waker)
{
	if (waker->woke_ns != wakes->now_ns)
		waker->woke = 0;
	waker->woke_ns = wakes->now_ns;
	waker->woke += waker->woke < UINT8_MAX;
}

static void begin_waking(struct wakes *wakes, struct lock *lock)
{
	lock->woke_ns = wakes->now_ns;
	lock->is_waking = true;
	lock->retaken_ns = 0;
}

static uint32_t in_ns(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* It was given back, and who was woken for it last has not had it. */
static int wake_in_vain(struct wakes *wakes, struct lock *lock)
{
	if (!lock->is_waking || lock->retaken_ns == 0 || lock->waiting == 0)
		return 0;
	lock->is_waking = false;
	if (wakes->window_count == SAMPLES_MAX)
		return 0;
	if (mem_grow(&wakes->windows, &wakes->window_capacity, wakes->window_count + 1,
		    sizeof *wakes->windows) < 0)
		return -ENOMEM;
	wakes->windows[wakes->window_count++] =
		(struct wakes_window){ in_ns(lock->retaken_ns - lock->woke_ns),
			in_ns(wakes->now_ns - lock->woke_ns) };
	return 0;
}

/* How long it spins in the wait that begins: in a runtime, unless that has fewer cores than threads. */
static uint64_t spin_time(struct wakes *wakes, struct thread *thread, const struct event *event)
{
	if (!(event->flags & EVENT_SPINS))
		return 0;
	wakes->spinners += !thread->spins;
	thread->spins = true;
	return wakes->spinners <= wakes->cores ? WAKES_SPIN_NS : 0;
}

static int wait_begins(
	struct wakes *wakes, struct thread *thread, const struct event *event, uint32_t *ret_woken)
{
	bool is_implicit = event->flags & EVENT_IMPLICIT; /* a condition's wait goes on */
	int code = is_implicit ? 0 : end_work(wakes, thread, event, ret_woken);
	set_active(wakes, thread, event->what == WHAT_SPIN); /* who spins keeps its core */
	stop_waiting(wakes, thread);
	thread->wait_what = event->what == WHAT_NONE ? WHAT_OTHER : event->what;
	thread->wait_ns = wakes->now_ns;
	thread->spun_ns = wakes->now_ns + spin_time(wakes, thread, event);
	thread->was_woken = false;
	if (!is_implicit) {
		thread->wait_cpu_ns = thread->cpu_ns;
		thread->signalled_ns = 0;
	}
	if (code < 0 || !is_lock(event->what))
		return code;
	struct lock *lock = get_lock(wakes, event);
	if (!lock)
		return -ENOMEM;
	thread->lock = (uint32_t)(lock - wakes->locks);
	lock->waiting++;
	uint64_t dozed_ns = wakes->now_ns + wakes->machine.doze_ns;
	lock->sleeps_ns = thread->spun_ns > dozed_ns ? thread->spun_ns : dozed_ns;
	return 0;
}

/* Whether a core was free for it: of more threads that are woken together nobody knows which had one. */
static void note_core(struct wakes *wakes, struct thread *thread)
{
	thread->had_core = wakes->active < wakes->cores;
	thread->was_last_core = wakes->active + 1 == wakes->cores;
	if (thread->had_core || wakes->crowded_ns == wakes->now_ns)
		return;
	wakes->crowded_ns = wakes->now_ns;
	for (size_t i = 0; i < wakes->thread_count; i++)
		if (wakes->threads[i].woken_ns == wakes->now_ns)
			wakes->threads[i].had_core = false;
}

static void woken(struct wakes *wakes, struct thread *thread, const struct event *event)
{
	if (thread->wait_what == WHAT_NONE || thread->was_woken)
		return;
	thread->was_woken = true;
	thread->woken_ns = wakes->now_ns;
	note_core(wakes, thread);
	struct thread *waker = find_thread(wakes, event->pid, event->value);
	set_active(wakes, thread, true);
	/* Who spins does not sleep. */
	bool is_awake = thread->wait_what == WHAT_SPIN || wakes->now_ns < thread->spun_ns;
	if (!thread->had_core || !waker || waker == thread || is_awake)
		return;
	bool is_noted =
		thread->lock != NOBODY && waker->woke > 0 && waker->woke_ns == wakes->now_ns;
	if (is_noted)
		return;
	note_wake(wakes, waker);
	if (thread->lock != NOBODY)
		begin_waking(wakes, &wakes->locks[thread->lock]);
}

/* A running estimate of the median. */
static void observe_usual(struct wakes *wakes, uint64_t ns)
{
	uint64_t usual = wakes->usual_ns, step = usual / 16 + 1;
	wakes->usual_ns = usual == 0   ? ns
			  : ns > usual ? usual + step
				       : usual - (step < usual ? step : 0);
}

/*
 * A wait at a condition ends with the signal, and one for its mutex begins: the thread was woken by the signal, unless it then came
 * too early for the mutex, and slept again.
 */
static uint64_t sleep_ended(const struct wakes *wakes, const struct thread *thread)
{
	uint64_t since_ns = thread->signalled_ns;
	return since_ns > 0 && thread->woken_ns - since_ns <= wakes->machine.latency_ns
		       ? since_ns
		       : thread->woken_ns;
}

static int observe(struct wakes *wakes, struct thread *thread)
{
	/* It did not sleep: it asked again, or looked until it had what it waited for. */
	bool kept_core = thread->has_cpu &&
			 thread->cpu_ns - thread->wait_cpu_ns >= wakes->now_ns - thread->wait_ns;
	bool lost_core = wakes->active > wakes->cores || wakes->full_ns >= thread->woken_ns;
	bool is_timer = thread->wait_what == WHAT_SLEEP;
	if (kept_core || !thread->was_woken || !thread->had_core || lost_core || is_timer)
		return 0;
	if (thread->wait_what == WHAT_COND && thread->woken_ns == wakes->now_ns) {
		thread->signalled_ns = wakes->now_ns;
		return 0;
	}
	uint64_t ns = wakes->now_ns - sleep_ended(wakes, thread);
	wakes->found.count[thread->was_last_core]++;
	wakes->found.sum_ns[thread->was_last_core] += ns;
	observe_usual(wakes, ns);
	if (wakes->sample_count == SAMPLES_MAX)
		return 0;
	if (mem_grow(&wakes->samples, &wakes->sample_capacity, wakes->sample_count + 1,
		    sizeof *wakes->samples) < 0)
		return -ENOMEM;
	wakes->samples[wakes->sample_count++] = in_ns(ns);
	return 0;
}

static int passed(
	struct wakes *wakes, struct thread *thread, const struct event *event, uint32_t *ret_woken)
{
	bool has_waited = thread->wait_what != WHAT_NONE;
	bool is_implicit = event->flags & EVENT_IMPLICIT;
	int code = has_waited ? observe(wakes, thread) : 0;
	set_active(wakes, thread, true);
	stop_waiting(wakes, thread);
	if (has_waited)
		begin_work(thread);
	if (code < 0 || event->flags & (EVENT_TIMED_OUT | EVENT_BEFORE))
		return code;
	if (!has_waited && is_implicit)
		thread->began_cpu_ns = thread->cpu_ns;
	else if (!has_waited &&
		 (is_lock(event->what) || event->what == WHAT_BARRIER || event->what == WHAT_SEM))
		code = end_work(wakes, thread, event, ret_woken);
	struct lock *lock = is_lock(event->what) && code == 0 ? get_lock(wakes, event) : NULL;
	if (lock && event->what == WHAT_MUTEX && !has_waited && lock->retaken_ns == 0)
		lock->retaken_ns = wakes->now_ns;
	if (lock && has_waited)
		lock->is_waking = false;
	if (lock)
		take_lock(lock, event);
	return is_lock(event->what) && !lock ? -ENOMEM : code;
}

/*
 * Who is woken and finds the lock taken again is woken once more, of which the recording says nothing. It is asleep again when
 * it would have run since.
 */
static void note_release(struct wakes *wakes, struct thread *thread, struct lock *lock)
{
	bool is_noted = thread->woke > 0 && thread->woke_ns == wakes->now_ns;
	bool is_asleep = lock->waiting > 1 || wakes->now_ns >= lock->sleeps_ns;
	if (lock->waiting == 0 || !is_asleep || is_noted || wakes->active >= wakes->cores ||
		wakes->now_ns < lock->woke_ns + wakes->usual_ns)
		return;
	note_wake(wakes, thread);
	begin_waking(wakes, lock);
}

static int released(
	struct wakes *wakes, struct thread *thread, const struct event *event, uint32_t *ret_woken)
{
	if (event->flags & (EVENT_BEFORE | EVENT_IMPLICIT) || thread->wait_what != WHAT_NONE)
		return 0;
	if (!is_lock(event->what))
		return end_work(wakes, thread, event, ret_woken);
	struct lock *lock = get_lock(wakes, event);
	if (!lock)
		return -ENOMEM;
	if (lock->holder == holder_of(event) && lock->depth > 1) {
		lock->depth--;
		return 0;
	}
	lock->holder = 0;
	int code = end_work(wakes, thread, event, ret_woken);
	if (code == 0)
		code = wake_in_vain(wakes, lock);
	if (code == 0 && event->what != WHAT_SPIN)
		note_release(wakes, thread, lock);
	return code;
}

static int add_own(
	struct wakes *wakes, struct thread *thread, const struct event *event, uint32_t *ret_woken)
{
	if (event->cpu_ns > thread->cpu_ns) {
		wakes->cpu_ns += event->cpu_ns - thread->cpu_ns;
		thread->cpu_ns = event->cpu_ns;
	}
	switch (event->kind) {
	case EVENT_WAIT:
		return wait_begins(wakes, thread, event, ret_woken);
	case EVENT_PASS:
		return passed(wakes, thread, event, ret_woken);
	case EVENT_RELEASE:
		return released(wakes, thread, event, ret_woken);
	case EVENT_THREAD_EXIT:
		stop_waiting(wakes, thread);
		set_active(wakes, thread, false);
		(void)map_remove(&wakes->thread_index, event->pid, event->tid); /* it is there */
		return end_work(wakes, thread, event, ret_woken);
	case EVENT_REGION_BEGIN:
	case EVENT_REGION_END:
	case EVENT_REQUEST_BEGIN:
	case EVENT_REQUEST_END:
	case EVENT_TICK:
		return end_work(wakes, thread, event, ret_woken);
	default:
		return 0;
	}
}

int wakes_add(struct wakes *wakes, const struct event *event, uint32_t *ret_woken)
{
	*ret_woken = 0;
	if (event->kind == EVENT_LOST || event->tid == 0 || event_is_aside(event) ||
		(event->kind == EVENT_NAME && event->cpu_ns == 0))
		return 0;
	if (event->time_ns > wakes->now_ns)
		wakes->now_ns = event->time_ns;
	if (event->time_ns < wakes->begin_ns)
		wakes->begin_ns = event->time_ns;
	struct thread *known = find_thread(wakes, event->pid, event->tid);
	if (event->kind == EVENT_WOKEN) {
		if (known)
			woken(wakes, known, event);
		return 0;
	}
	if (event->kind == EVENT_THREAD_START && known) { /* its number is used again */
		stop_waiting(wakes, known);
		set_active(wakes, known, false);
		(void)map_remove(&wakes->thread_index, event->pid, event->tid); /* it is there */
		known = NULL;
	}
	struct thread *thread = known ? known : get_thread(wakes, event);
	return thread ? add_own(wakes, thread, event, ret_woken) : -ENOMEM;
}

/* What was found. */

/* The median, and its standard error for what quartiles tell of the spread. False: too few. */
static bool sum_up(struct place *place, unsigned which, double *ret_median, double *ret_error)
{
	size_t count = place->counts[which] < KEPT ? place->counts[which] : KEPT;
	uint32_t *values = place->values[which];
	if (count < KEPT_LEAST)
		return false;
	order_u32(values, count);
	size_t lower = count / 4, middle = count / 2, upper = 3 * count / 4;
	*ret_median = values[middle];
	*ret_error = 0.93 * (double)(values[upper] - values[lower]) / sqrt((double)count);
	return true;
}

/* All places, each by how well it is known. Negative: there is none that tells. */
static double cost_of(struct wakes *wakes)
{
	double sum = 0, weights = 0;
	for (size_t i = 0; i < wakes->place_count; i++) {
		double median[2], error[2];
		if (!sum_up(&wakes->places[i], 0, &median[0], &error[0]) ||
			!sum_up(&wakes->places[i], 1, &median[1], &error[1]))
			continue;
		double off = hypot(hypot(error[0], error[1]), LEAST_ERROR_NS);
		if (off > MOST_ERROR_NS)
			continue;
		sum += (median[1] - median[0]) / (off * off);
		weights += 1 / (off * off);
	}
	return weights > 0 ? fmax(sum / weights, 0) : -1;
}

static double others_of_free(const struct wakes *wakes)
{
	const struct trace_others *others = &wakes->others;
	double wall_ns = (double)(wakes->now_ns - wakes->begin_ns);
	if (others->wall_ns == 0 || !(wall_ns > 0))
		return 0;
	double free = wakes->cores - (double)wakes->cpu_ns / wall_ns;
	double taken = (double)others->cpu_ns / (double)others->wall_ns;
	return free > taken ? taken / free : 1;
}

struct wakes_found wakes_find(struct wakes *wakes)
{
	struct wakes_found found = wakes->found;
	double cost_ns = cost_of(wakes);
	found.cost_ns = cost_ns < 0 ? wakes->machine.cost_ns : (uint64_t)(cost_ns + 0.5);
	found.others_of_free = others_of_free(wakes);
	const struct wakes_seen seen = { .samples_ns = wakes->samples,
		.sample_count = wakes->sample_count,
		.windows = wakes->windows,
		.window_count = wakes->window_count,
		.machine_ns = wakes->machine.latency_ns,
		.disturbed = wakes->others.wall_ns > 0 ? found.others_of_free : 1 };
	wakes_latency(&seen, &found);
	return found;
}
