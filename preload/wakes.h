/* SPDX-License-Identifier: MIT */
/*
 * Who let whom go, and when. Whoever releases an object notes the instant; who waited for it reads
 * it once it runs again: the time between is waiting for a core, not for the object.
 *
 * A table in the process's memory, by address. Objects that find no room push out the one noted
 * longest ago. Readings may be torn or of another object's past: they are hints, and the reader of
 * one bounds it by the wait. Objects shared between processes are noted in each of them alone.
 */
#ifndef PRELOAD_WAKES_H
#define PRELOAD_WAKES_H

#include <stdbool.h>
#include <stdint.h>

struct wake {
	uint64_t time_ns; /* 0: unknown */
	uint32_t tid; /* who did it; 0: unknown */
};

void wake_note(const void *object, uint64_t time_ns, uint32_t tid);
struct wake wake_find(const void *object);

/*
 * Several signals may have come before who was let go by the first gets a core, so each of the last few is told to as many of
 * those that waited then as it let go: how many could run is right, who of them is by the order in which they ran.
 */
enum { WAKE_ALL = 0x7fffffff };
void wake_signal(const void *object, uint64_t time_ns, uint32_t tid, int count);
struct wake wake_take(const void *object, uint64_t wait_start_ns);
bool wake_lets_all_go(const void *object); /* some signal did */

/*
 * A thread begins to wait for a lock, and has it. wake_held_since() is for who holds the lock and did not note
 * when it took it: not later than the first of those who wait came, not earlier than the last
 * release; 0 if neither is known.
 */
void wake_wait(const void *lock, uint64_t time_ns);
void wake_got(const void *lock);
uint64_t wake_held_since(const void *lock);

/*
 * Barriers. The last arrival lets all others go, and is told from those of the next round by a
 * count: wake_arrive() gives the caller's place in it, wake_complete() says that this place was the
 * last of a round, wake_round() finds the last arrival of the round of a place. Where it is known how many meet,
 * by wake_parties() before they do, wake_arrive() knows the last of a round by itself, before anyone
 * leaves, and moves its time behind those of the others.
 */
void wake_parties(const void *barrier, uint32_t parties);
uint64_t wake_arrive(const void *barrier, uint64_t *time_ns, uint32_t tid);
void wake_complete(const void *barrier, uint64_t place, uint64_t time_ns, uint32_t tid);
struct wake wake_round(const void *barrier, uint64_t place);

#endif
