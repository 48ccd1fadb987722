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

#include "trace/sink.h"
#include "uarch/profile.h"

/* Copies the timeline into the profile, and into its classes what begins them. -EINVAL, -ENOMEM. */
int profile_timeline_join(
	struct profile *profile, const void *bytes, size_t count, struct err *err);

/* Gives all its events to `sink`. `name`: of the file, in errors. 0 or -errno. */
int profile_timeline_replay(const struct profile *profile, const char *name,
	const struct event_sink *sink, struct err *err);

#endif
