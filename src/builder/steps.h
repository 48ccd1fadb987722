/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps by meaning: what sections do to conditions becomes operations on queues and barriers, and
 * signals and waits disappear.
 *
 *	lock, wait(has item)..., unlock		get, lock, unlock
 *	lock, wait(has room)..., signal, unlock	put, lock, unlock
 *	lock, broadcast or wait, unlock		lock, unlock, arrive
 *	lock, wait(?), unlock			lock, unlock, get, lock, unlock, if a signal ended it (told.h)
 *						lock, unlock, sleep, lock, unlock, if not
 *
 * A get stands before the lock, because a thread that waits for an item does not hold it.
 */
#ifndef BUILDER_STEPS_H
#define BUILDER_STEPS_H

#include "base/map.h"
#include "builder/build.h"
#include "builder/trace.h"
#include "meaning/meaning.h"

/* What a condition became: an object of the trace that the recording itself does not have. */
struct build_channel {
	uint32_t object; /* BUILD_NONE: nothing; the room of a queue is in its items' channel */
	bool is_barrier;
	bool is_told; /* queue of signals, see told.h */
	bool is_room_known;
	uint64_t capacity; /* 0: unbounded, or not known */
	uint64_t initial;
	uint32_t participants;
	size_t ears; /* the first of those who listen to its signals, plus one; 0: nobody */
};

/* Threads of one start routine that wait for the signals of a condition. */
struct build_ear {
	uint32_t object; /* the queue from which they get them */
	size_t next; /* of the same condition, plus one; 0: none */
};

struct build_channels {
	struct build_channel *items; /* one for each condition of the meaning */
	size_t count;
	uint64_t
		unknown_waits; /* at conditions that nothing explains: they sleep as long as recorded */
	uint64_t told_waits; /* of those that a signal ended: they wait for one */
	uint64_t
		guessed_capacities; /* nobody waited for room: another queue's, used from the same code */
	uint64_t failed_tries;
	uint32_t slow_paths; /* conditions at which all who came waited */
	struct build_ear *ears; /* see told.h */
	size_t ear_count, ear_capacity;
	struct map ear_index; /* condition, start routine -> ear */
	struct map heard; /* ear, time of a signal -> waits that it ended */
};

void build_channels_release(struct build_channels *channels);

/* An object that stands for a condition. 0 or -ENOMEM. */
int build_channel_add_object(
	struct build_trace *trace, const struct meaning_cond *cond, uint8_t what, uint32_t *ret);

/* Changes the steps of all threads. 0 or -ENOMEM. */
int build_steps_by_meaning(struct build_trace *trace, const struct meaning *meaning,
	const struct build_opts *opts, struct build_channels *ret);

#endif
