/* SPDX-License-Identifier: MIT */
/*
 * What a profiled program and the emulator that runs it share: a file, named by CORECAST_PROFILE, that
 * both map. The preload library, inside the guest, tells which stretch of the program each thread is in; the
 * emulator's plugin counts what the thread executes, which is the guest's clock of CPU time.
 *
 *	guest: preload library                            emulator: plugin
 *	claims a slot, makes the system call      --->    remembers the slot of the virtual cpu
 *	prctl(PROFILE_PRCTL, slot, address)
 *	slot.stretch = PROFILE_NOT_COUNTED,       --->    counts nothing (the recorder itself)
 *	slot.look_at = 0
 *	  records the event, CPU time =           <---    slot.instructions
 *	  slot.instructions as ns
 *	slot.stretch = profile_stretch(event),    --->    counts into that stretch
 *	slot.look_at = 0
 *
 * A stretch is what a thread executes from one event to its next; stretches that begin with the same kind
 * of event at the same call site are one class, of which the statistics are kept. While a thread waits it is in
 * none. Before its slot may become another thread's, a thread makes prctl(PROFILE_PRCTL, PROFILE_SLOTS): it has none
 * from then on, and is not counted.
 */
#ifndef PRELOAD_PROFILE_PAGE_H
#define PRELOAD_PROFILE_PAGE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define PROFILE_PAGE_ENVIRONMENT "CORECAST_PROFILE"

enum {
	PROFILE_PAGE_VERSION = 2,
	PROFILE_SLOTS =
		4096, /* threads at one time and one more, which those who found none share; they are not counted */
	/* An operation that the kernel answers with EINVAL. Arguments: the slot and its address; PROFILE_SLOTS: none any more; or: */
	PROFILE_PRCTL = 0xc0ca,
	PROFILE_TRIALS_BEGIN, /* system calls from here on are trials (call_trials.h) of the only thread that there is */
	PROFILE_TRIALS_END,
};

#define PROFILE_NOT_COUNTED UINT64_MAX
#define PROFILE_START UINT64_C(0) /* from a thread's start to its first event */

/* One cache line: each is written by its own thread and virtual cpu only. */
struct profile_slot {
	uint64_t instructions; /* plugin: executed by the thread and counted, so far */
	uint64_t stretch; /* preload */
	uint64_t accesses; /* plugin: to data memory, counted, so far */
	uint32_t pid, tid; /* preload: who has the slot; 0: nobody */
	uint64_t own_calls; /* preload: 1: system calls are the recorder's own */
	uint64_t barriers; /* preload: that the thread has passed */
	uint64_t
		look_at; /* plugin: instructions at which it looks at the thread; preload: 0, now */
	uint64_t reserved;
};

static inline void profile_set_stretch(struct profile_slot *slot, uint64_t stretch)
{
	slot->stretch = stretch;
	slot->look_at = 0;
}

struct profile_page {
	uint32_t version; /* set by corecast before the program starts */
	uint32_t overflow; /* preload: threads that found no slot of their own */
	/* preload: its own code, in which nothing is counted; 0 until it is there. */
	uint64_t recorder_begin, recorder_end;
	uint64_t reserved[5];
	struct profile_slot slots[PROFILE_SLOTS];
};

static_assert(sizeof(struct profile_slot) == 64, "a cache line");
static_assert(sizeof(struct profile_page) == 64 + 64 * PROFILE_SLOTS, "shared between processes");

/*
 * Whether an event ends one stretch and begins another: what happens to a thread does, what is only told
 * (names, frames, objects that are initialised) does not. `kind` as in the trace (enum event_kind).
 */
static inline bool profile_is_border(uint8_t kind)
{
	enum { THREAD_START = 1, WOKEN = 4, TICK = 12 };
	return kind >= THREAD_START && kind <= TICK &&
	       kind != WOKEN; /* others woke it, it did nothing */
}

/* Behind such an event the thread waits, and nothing is counted until the next. */
static inline bool profile_is_wait(uint8_t kind)
{
	enum { THREAD_EXIT = 2, WAIT = 3 };
	return kind == THREAD_EXIT || kind == WAIT;
}

/* The thread goes on when others have come there, too. */
static inline bool profile_is_barrier(uint8_t kind, uint8_t what)
{
	enum { PASS = 5, BARRIER = 5 };
	return kind == PASS && what == BARRIER;
}

/*
 * Which class of stretches an event begins. `kind` and `what` as in the trace (enum event_kind, enum
 * event_what), `site`: address of the call, as in the trace. The same in the guest and in who reads the trace.
 */
static inline uint64_t profile_stretch(uint8_t kind, uint8_t what, uint64_t site)
{
	enum { THREAD_START = 1 };
	if (kind == THREAD_START)
		return PROFILE_START;
	uint64_t key = site * 64 + (uint64_t)kind * 2048 * 2048 * 1024 + what;
	key ^= key >> 31;
	key *= UINT64_C(0x9e3779b97f4a7c15);
	key ^= key >> 29;
	return key == PROFILE_NOT_COUNTED || key == PROFILE_START ? 1 : key;
}

#endif
