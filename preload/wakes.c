/* SPDX-License-Identifier: MIT */
#include "wakes.h"

#include "clock.h"

#include <stddef.h>

enum {
	SETS = 512,
	WAYS = 4,
	SIGNALS = 8,
};

struct signal {
	uint64_t time_ns;
	uint32_t tid;
	int count; /* whom it let go that have not asked yet */
};

/* A cache line each: threads that use different objects do not meet. */
struct slot {
	const void *object;
	uint64_t time_ns; /* of the last release or arrival */
	uint64_t arrivals;
	uint64_t end_place; /* the last arrival of the last round that is complete */
	uint64_t end_ns;
	uint32_t tid, end_tid;
	uint32_t parties; /* threads that meet at the barrier; 0: unknown */
	uint64_t wait_ns; /* when the first of those who wait for the lock came; 0: unknown */
	/* Only of what is signalled: in other lines. */
	struct signal signals[SIGNALS] __attribute__((aligned(64)));
	uint32_t signal_count; /* ever */
	bool lets_all_go;
} __attribute__((aligned(64)));

static struct slot table[SETS][WAYS];

static struct slot *set_of(const void *object)
{
	uint64_t hash = (uintptr_t)object * 0x9e3779b97f4a7c15ull;
	return table[hash >> 32 & (SETS - 1)];
}

static struct slot *find(const void *object)
{
	struct slot *set = set_of(object);
	for (int i = 0; i < WAYS; i++)
		if (__atomic_load_n(&set[i].object, __ATOMIC_RELAXED) == object)
			return &set[i];
	return NULL;
}

static struct slot *claim(const void *object)
{
	struct slot *found = find(object);
	if (__builtin_expect(found != NULL, 1))
		return found;
	struct slot *set = set_of(object);
	struct slot *oldest = &set[0];
	for (int i = 1; i < WAYS; i++)
		if (set[i].time_ns < oldest->time_ns)
			oldest = &set[i];
	oldest->time_ns = 0;
	oldest->arrivals = 0;
	oldest->end_place = 0;
	oldest->end_ns = 0;
	oldest->parties = 0;
	oldest->wait_ns = 0;
	if (oldest->signal_count > 0) {
		oldest->signal_count = 0;
		oldest->lets_all_go = false;
		for (int i = 0; i < SIGNALS; i++)
			oldest->signals[i].count = 0;
	}
	__atomic_store_n(&oldest->object, object, __ATOMIC_RELEASE);
	return oldest;
}

void wake_note(const void *object, uint64_t time_ns, uint32_t tid)
{
	struct slot *slot = claim(object);
	slot->tid = tid;
	__atomic_store_n(&slot->time_ns, time_ns, __ATOMIC_RELEASE);
}

struct wake wake_find(const void *object)
{
	const struct slot *slot = find(object);
	if (!slot)
		return (struct wake){ 0 };
	uint64_t time_ns = __atomic_load_n(&slot->time_ns, __ATOMIC_ACQUIRE);
	return (struct wake){ time_ns, slot->tid };
}

void wake_signal(const void *object, uint64_t time_ns, uint32_t tid, int count)
{
	struct slot *slot = claim(object);
	slot->tid = tid;
	__atomic_store_n(&slot->time_ns, time_ns, __ATOMIC_RELEASE);
	if (count == WAKE_ALL)
		slot->lets_all_go = true;
	uint32_t number = __atomic_fetch_add(&slot->signal_count, 1, __ATOMIC_RELAXED);
	struct signal *signal = &slot->signals[number % SIGNALS];
	__atomic_store_n(&signal->count, 0, __ATOMIC_RELAXED);
	signal->tid = tid;
	__atomic_store_n(&signal->time_ns, time_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&signal->count, count, __ATOMIC_RELEASE);
}

bool wake_lets_all_go(const void *object)
{
	const struct slot *slot = find(object);
	return slot && slot->lets_all_go;
}

/* The first since then that has let go more than have asked; NULL: none. */
static struct signal *first_signal(struct slot *slot, uint64_t since_ns)
{
	struct signal *first = NULL;
	for (int i = 0; i < SIGNALS; i++) {
		struct signal *signal = &slot->signals[i];
		if (__atomic_load_n(&signal->count, __ATOMIC_ACQUIRE) > 0 &&
			signal->time_ns >= since_ns && (!first || signal->time_ns < first->time_ns))
			first = signal;
	}
	return first;
}

struct wake wake_take(const void *object, uint64_t wait_start_ns)
{
	struct slot *slot = find(object);
	struct signal *signal;
	while (slot && (signal = first_signal(slot, wait_start_ns))) {
		struct wake wake = { signal->time_ns, signal->tid };
		int count = __atomic_load_n(&signal->count, __ATOMIC_RELAXED);
		if (count > 0 && __atomic_compare_exchange_n(&signal->count, &count, count - 1,
					 false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return wake;
	}
	return wake_find(object);
}

void wake_wait(const void *lock, uint64_t time_ns)
{
	struct slot *slot = claim(lock);
	if (slot->wait_ns <= slot->time_ns)
		slot->wait_ns = time_ns;
}

void wake_got(const void *lock)
{
	struct slot *slot = find(lock);
	if (slot)
		slot->wait_ns = 0;
}

uint64_t wake_held_since(const void *lock)
{
	const struct slot *slot = find(lock);
	if (!slot)
		return 0;
	return slot->wait_ns > slot->time_ns ? slot->wait_ns : slot->time_ns;
}

void wake_parties(const void *barrier, uint32_t parties)
{
	struct slot *slot = claim(barrier);
	slot->time_ns = clock_ns(); /* what nobody has used for longer gives way first */
	slot->arrivals = 0;
	slot->end_place = 0;
	slot->parties = parties;
}

static void complete(struct slot *slot, uint64_t place, uint64_t time_ns, uint32_t tid)
{
	slot->end_ns = time_ns;
	slot->end_tid = tid;
	__atomic_store_n(&slot->end_place, place, __ATOMIC_RELEASE);
}

/* Who is counted last may have looked at the clock before others, so it does again. */
uint64_t wake_arrive(const void *barrier, uint64_t *time_ns, uint32_t tid)
{
	struct slot *slot = claim(barrier);
	slot->tid = tid;
	__atomic_store_n(&slot->time_ns, *time_ns, __ATOMIC_RELEASE);
	uint64_t place = __atomic_add_fetch(&slot->arrivals, 1, __ATOMIC_ACQ_REL);
	if (slot->parties == 0 || place % slot->parties != 0)
		return place;
	clock_order();
	uint64_t end_ns = clock_ns();
	*time_ns = end_ns > *time_ns ? end_ns : *time_ns;
	complete(slot, place, *time_ns, tid);
	return place;
}

void wake_complete(const void *barrier, uint64_t place, uint64_t time_ns, uint32_t tid)
{
	struct slot *slot = find(barrier);
	if (slot && slot->parties == 0)
		complete(slot, place, time_ns, tid);
}

/* A round cannot end before all of the round before have left: its end is not overwritten. */
struct wake wake_round(const void *barrier, uint64_t place)
{
	const struct slot *slot = find(barrier);
	if (!slot)
		return (struct wake){ 0 };
	if (__atomic_load_n(&slot->end_place, __ATOMIC_ACQUIRE) >= place)
		return (struct wake){ slot->end_ns, slot->end_tid };
	return wake_find(barrier); /* who ended the round has not said so yet */
}
