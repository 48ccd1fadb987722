/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile's timeline, event by event: which thread of the profile each event is of, and which class
 * what it executed before.
 *
 *	event      WAIT     PASS(lock, site 7)         RELEASE(lock, site 9)      THREAD_EXIT
 *	           |        |                          |                          |
 *	stretch    nothing   class of PASS, lock, 7     class of RELEASE, lock, 9
 *	is told by           ------------------------> the RELEASE                the THREAD_EXIT
 */
#ifndef UARCH_PROFILE_TIMELINE_H
#define UARCH_PROFILE_TIMELINE_H

#include "base/cleanup.h"
#include "trace/event.h"
#include "uarch/profile.h"

struct profile_walk;

/* The profile must outlive it. -ENOMEM. */
int profile_walk_new(const struct profile *profile, struct profile_walk **ret, struct err *err);
void profile_walk_free(struct profile_walk *walk);
CLEANUP_DEFINE(profile_walk, profile_walk_free)

/* What a thread has executed up to an event of its own. */
struct profile_step {
	ptrdiff_t thread; /* index; negative: nobody counted what it executes */
	ptrdiff_t class
		; /* index; negative: of no class; meaningless if there are no instructions */
	uint64_t instructions; /* since the event that began the class */
	/* The event that began it. */
	uint64_t site;
	uint8_t kind, what;
};

/*
 * Events in order of time. True if the event ends a stretch, which is in *ret then, however short it was.
 */
int profile_walk_event(struct profile_walk *walk, const struct event *event,
	struct profile_step *ret, struct err *err);

/* Copies the timeline into the profile, and into its classes what begins them. -EINVAL, -ENOMEM. */
int profile_timeline_join(
	struct profile *profile, const void *bytes, size_t count, struct err *err);

#endif
