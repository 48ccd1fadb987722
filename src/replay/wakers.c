/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What it costs a thread to wake another that has to wake up a core: a system call, and the interrupt that the core
 * gets, which in a virtual machine is an exit to the hypervisor. The recording has that in the work after the wake-up.
 * As a thread of the replay may wake somebody where it did not, and the other way round, it is told apart: what follows on a
 * release at one place of the program, where it woke somebody, and where it did not.
 */
#include "replay/parts.h"

#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { KEPT = 64, KEPT_LEAST = 16, PLACES_MAX = 1024 };

/* Not told apart from what else makes a stretch longer. */
static const double LEAST_ERROR_NS = 50, MOST_ERROR_NS = 1000;

/* Stretches of work between the same operations at the same places. */
struct place {
	uint32_t counts[2]; /* [1]: that began with waking a thread */
	uint32_t values[2][KEPT]; /* ns; some of them */
};

struct places {
	struct map index;
	struct place *all;
	size_t count, capacity;
};

static void note(struct load_thread *waker, uint64_t time_ns)
{
	if (waker->wakes_ns != time_ns)
		waker->wakes = 0;
	waker->wakes_ns = time_ns;
	waker->wakes += waker->wakes < UINT8_MAX;
}

void wakers_note(struct replay *replay, const struct load_thread *woken)
{
	if (!woken->had_core || woken->waker == REPLAY_NONE || woken->wait_what == WHAT_SPIN)
		return; /* who spins does not sleep */
	struct load_thread *waker = &replay->threads[woken->waker];
	bool is_lock = load_is_lock(woken->wait_what);
	bool is_noted = is_lock && waker->wakes > 0 && waker->wakes_ns == woken->woken_ns;
	if (waker == woken || is_noted)
		return;
	note(waker, woken->woken_ns);
	if (is_lock)
		replay->objects[woken->wait_object].woke_ns = woken->woken_ns;
}

/*
 * Who is woken and finds the lock taken again is woken once more, of which the recording says nothing. It is asleep again when
 * it would have run since.
 */
void wakers_release(struct replay *replay, struct load_thread *thread, struct load_object *lock)
{
	bool is_noted = thread->wakes > 0 && thread->wakes_ns == replay->now_ns;
	bool is_asleep =
		lock->waiting > 1 || replay->now_ns >= lock->asked_ns + replay->opts.wakes.doze_ns;
	if (lock->waiting == 0 || lock->what == WHAT_SPIN || !is_asleep || is_noted ||
		replay->active >= replay->opts.cores ||
		replay->now_ns < lock->woke_ns + replay->usual_wake_ns)
		return;
	note(thread, replay->now_ns);
	lock->woke_ns = replay->now_ns;
}

/* A running estimate of the median. */
void wakers_observe(struct replay *replay, uint64_t wake_ns)
{
	uint64_t usual = replay->usual_wake_ns, step = usual / 16 + 1;
	replay->usual_wake_ns = usual == 0        ? wake_ns
				: wake_ns > usual ? usual + step
						  : usual - (step < usual ? step : 0);
}

void wakers_take(struct load_thread *thread, struct step *step)
{
	if (thread->wakes == 0 || thread->time_ns <= thread->wakes_ns)
		return;
	step->wakes = thread->wakes;
	thread->wakes = 0;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* Where a lock is given back is recorded only when somebody waits for it. */
static uint64_t place_of(const struct step *steps, size_t i)
{
	uint64_t hash = 0;
	for (size_t j = i > 2 ? i - 2 : 0; j <= i; j++) {
		hash = mix(hash, steps[j].kind);
		hash = mix(hash, steps[j].kind == STEP_UNLOCK ? 0 : steps[j].site);
	}
	return hash;
}

static int add(struct places *places, uint64_t key, const struct step *step)
{
	uint64_t *index;
	if (places->count == PLACES_MAX && !map_find(&places->index, key, 0))
		return 0;
	if (mem_grow(&places->all, &places->capacity, places->count + 1, sizeof *places->all) < 0)
		return -ENOMEM;
	int code = map_add(&places->index, key, 0, places->count, &index);
	if (code < 0)
		return code;
	if (code > 0)
		places->all[places->count++] = (struct place){ 0 };
	struct place *place = &places->all[*index];
	unsigned which = step->wakes > 0;
	uint32_t n = place->counts[which]++;
	uint32_t at = n < KEPT ? n : (uint32_t)(mix(key, n) % (n + UINT64_C(1)));
	if (at < KEPT)
		place->values[which][at] =
			step->work_ns < UINT32_MAX ? (uint32_t)step->work_ns : UINT32_MAX;
	return 0;
}

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
static double cost_of(struct places *places)
{
	double sum = 0, weights = 0;
	for (size_t i = 0; i < places->count; i++) {
		double median[2], error[2];
		if (!sum_up(&places->all[i], 0, &median[0], &error[0]) ||
			!sum_up(&places->all[i], 1, &median[1], &error[1]))
			continue;
		double off = hypot(hypot(error[0], error[1]), LEAST_ERROR_NS);
		if (off > MOST_ERROR_NS)
			continue;
		sum += (median[1] - median[0]) / (off * off);
		weights += 1 / (off * off);
	}
	return weights > 0 ? fmax(sum / weights, 0) : -1;
}

static void places_release(struct places *places)
{
	map_release(&places->index);
	free(places->all);
}

static void leave_out(struct load_thread *thread, uint64_t cost_ns)
{
	for (size_t i = 0; i < thread->count; i++) {
		struct step *step = &thread->steps[i];
		uint64_t ns = step->wakes * cost_ns;
		step->work_ns -= ns < step->work_ns ? ns : step->work_ns;
	}
}

int wakers_settle(struct replay *replay)
{
	struct places places = { 0 };
	int code = 0;
	for (size_t t = 0; t < replay->thread_count && !replay->opts.stretch; t++) {
		const struct load_thread *thread = &replay->threads[t];
		for (size_t i = 1; i < thread->count && code == 0; i++)
			if (thread->steps[i].wakes <= 1)
				code = add(&places, place_of(thread->steps, i), &thread->steps[i]);
	}
	double cost_ns = code == 0 ? cost_of(&places) : -1;
	replay->facts.wake_cost_ns =
		cost_ns < 0 ? replay->opts.wakes.cost_ns : (uint64_t)(cost_ns + 0.5);
	for (size_t t = 0; t < replay->thread_count; t++)
		leave_out(&replay->threads[t], replay->facts.wake_cost_ns);
	places_release(&places);
	return code;
}
