/* SPDX-License-Identifier: MIT */
#include "callers.h"

#include "stack.h"

#include <stddef.h>

enum {
	SITES = 1 << INNER_BITS,
	PROBES = 16,
	LOOKS_MAX = 8, /* at a lock that others give back, or that is kept */
	NESTED_MAX = LOOK_FRAMES,
};

/*
 *	free --- site is stored ---> looked up, up to LOOKS_MAX times ---> settled: bytes
 */
struct known_site {
	const void *site; /* NULL: free */
	uint32_t looks; /* LOOKS_MAX: settled */
	uint32_t
		bytes; /* from the frame of the function called there to the end of its own; 0: no inner site */
};

static struct known_site known_sites[SITES];
uint64_t callers_inner[SITES / 64];

/* NULL: unknown, and no room if `adds`. */
static struct known_site *find_site(const void *site, bool adds)
{
	uint64_t hash = callers_hash(site);
	for (uint32_t i = 0; i < PROBES; i++) {
		struct known_site *known = &known_sites[hash + i < SITES ? hash + i : i];
		const void *there = __atomic_load_n(&known->site, __ATOMIC_ACQUIRE);
		if (!there && adds &&
			__atomic_compare_exchange_n(&known->site, &there, site, false,
				__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return known;
		if (there == site)
			return known;
		if (!there)
			return NULL;
	}
	return NULL;
}

const void *callers_find(const void *site, const char *frame)
{
	for (uint32_t i = 0; i < NESTED_MAX && callers_may_be_inner(site); i++) {
		const struct known_site *known = find_site(site, false);
		uint32_t bytes = known ? __atomic_load_n(&known->bytes, __ATOMIC_RELAXED) : 0;
		if (bytes == 0)
			break;
		frame += bytes;
		site = *(const void *const *)(frame - sizeof(site));
	}
	return site;
}

bool callers_is_known(const void *site)
{
	const struct known_site *known = find_site(site, false);
	return known && __atomic_load_n(&known->looks, __ATOMIC_RELAXED) >= LOOKS_MAX;
}

/* Where return addresses are kept in another way callers cannot be found. */
static bool is_returned_to(const struct stack_frame *frame, const void *site)
{
	return *(const void *const *)(frame->end - sizeof(site)) == site;
}

static uint32_t find_frames(const void *site, struct look_frame ret[LOOK_FRAMES])
{
	struct stack_frame frames[LOOK_FRAMES];
	uint32_t count = (uint32_t)stack_frames(site, frames, LOOK_FRAMES);
	for (uint32_t i = 0; i < count; i++) {
		ret[i] = (struct look_frame){ .site = frames[i].site, .end = frames[i].end };
		if (i + 1 < count && is_returned_to(&frames[i], frames[i + 1].site))
			ret[i].bytes = (uint32_t)(frames[i].end - frames[i].begin);
	}
	return count;
}

void callers_took(struct look *look, const void *object, const void *site)
{
	struct known_site *known = find_site(site, true);
	if (!known || __atomic_add_fetch(&known->looks, 1, __ATOMIC_RELAXED) > LOOKS_MAX)
		return;
	look->count = find_frames(site, look->frames);
	look->object = look->count > 1 ? object : NULL;
}

static void mark_inner(const void *site)
{
	uint64_t hash = callers_hash(site);
	__atomic_fetch_or(&callers_inner[hash / 64], 1ull << hash % 64, __ATOMIC_RELEASE);
}

/* The first `inner` frames are of functions that take or give back locks for their callers. */
static void settle(const struct look_frame *frames, uint32_t inner)
{
	for (uint32_t i = 0; i <= inner; i++) {
		struct known_site *known = find_site(frames[i].site, true);
		if (!known)
			return;
		uint32_t bytes = i < inner ? frames[i].bytes : 0;
		__atomic_store_n(&known->bytes, bytes, __ATOMIC_RELAXED);
		if (bytes > 0)
			mark_inner(frames[i].site);
		__atomic_store_n(&known->looks, LOOKS_MAX, __ATOMIC_RELAXED);
	}
}

/* Which call that was active then still is: its position now; UINT32_MAX: none. */
static uint32_t find_active(
	const struct look *look, uint32_t taken, const struct look_frame *now, uint32_t count)
{
	for (uint32_t i = 0; i + 1 < count; i++)
		if (now[i].end == look->frames[taken].end &&
			now[i + 1].site == look->frames[taken + 1].site)
			return i;
	return UINT32_MAX;
}

/*
 * Who gives it back as the last thing that it does may jump there: its frame is gone, and the release returns to where it
 * would have returned itself. Which call that was: its position then; UINT32_MAX: none.
 */
static uint32_t find_jump(const struct look *look, const struct look_frame *now, uint32_t count)
{
	for (uint32_t i = 0; count > 0 && i + 1 < look->count; i++)
		if (now[0].end == look->frames[i + 1].end &&
			now[0].site == look->frames[i + 1].site)
			return i;
	return UINT32_MAX;
}

void callers_gave(struct look *look, const void *site)
{
	struct look_frame now[LOOK_FRAMES];
	uint32_t count = find_frames(site, now);
	uint32_t jumped = find_jump(look, now, count);
	look->object = NULL;
	if (jumped != UINT32_MAX) {
		settle(look->frames, jumped);
		settle(now, 0);
		return;
	}
	for (uint32_t i = 0; i + 1 < look->count; i++) {
		uint32_t active = find_active(look, i, now, count);
		if (active == UINT32_MAX)
			continue;
		settle(look->frames, i);
		settle(now, active);
		return;
	}
}
