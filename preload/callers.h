/* SPDX-License-Identifier: MIT */
/*
 * Where a program takes a lock, when it does so by a function of its own that others call: the call site inside
 * that function is the same for all of its locks, and tells nothing.
 *
 *	compress()	lock_all(job)		the site that is recorded, of all that lock_all() does to locks
 *	lock_all()	pthread_mutex_lock()	the site that the C library sees: an inner one
 *
 * A function that returns while its lock is held is such a one (not by a jump to what gives the lock back), and so is one
 * that was called since and gives the lock back. That is looked up, by unwinding, the first times that a call site takes a
 * lock; then the site's distance to the return address of its function is known, and finding the caller costs reading it. What is no inner site costs a comparison.
 */
#ifndef PRELOAD_CALLERS_H
#define PRELOAD_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

enum { LOOK_FRAMES = 12 }; /* as deep as functions that lock for others are nested */

/* A lock that was taken at a site that is being looked up. */
struct look {
	const void *object; /* NULL: none */
	uint32_t count;
	struct look_frame {
		const void *site;
		uintptr_t end; /* of its function's frame: it tells one call from another */
		uint32_t
			bytes; /* from the called function's frame to there; 0: its caller cannot be found */
	} frames[LOOK_FRAMES];
};

enum { INNER_BITS = 12 };

/* By hash: whether an inner site is known there. */
extern __attribute__((visibility("hidden"))) uint64_t callers_inner[(1 << INNER_BITS) / 64];

static inline uint64_t callers_hash(const void *site)
{
	return (uintptr_t)site * 0x9e3779b97f4a7c15ull >> (64 - INNER_BITS);
}

/* The nearest site that is not an inner one. frame: where the frame of the function that returns to `site` ends. */
const void *callers_find(const void *site, const char *frame);

static inline bool callers_may_be_inner(const void *site)
{
	uint64_t hash = callers_hash(site);
	return callers_inner[hash / 64] >> hash % 64 & 1;
}

static inline const void *callers_of(const void *site, const void *frame)
{
	return __builtin_expect(callers_may_be_inner(site), 0) ? callers_find(site, frame) : site;
}

/* Whether enough is known of a site. */
bool callers_is_known(const void *site);

/* A lock was taken at the site, and is given back at another: the thread's frames are compared. */
void callers_took(struct look *look, const void *object, const void *site);
void callers_gave(struct look *look, const void *site);

#endif
