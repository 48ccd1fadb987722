/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of several streams has the least key: a winner tree (Knuth, The Art of Computer Programming,
 * volume 3, section 5.4.1). Each inner node holds the lesser of its two children, so a stream that
 * moves on plays against one opponent a level, and no processor has to guess who wins.
 */
#ifndef TRACE_TOURNAMENT_H
#define TRACE_TOURNAMENT_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned __int128 tournament_key;

#define TOURNAMENT_NONE (~(tournament_key)0)

/* { 0 } has no places. Memory grows with the streams that take part at once. */
struct tournament {
	tournament_key *nodes; /* [1]: the least; the leaves behind [place_count - 1] */
	uint32_t *free_places;
	uint32_t place_count; /* 0 or a power of 2 */
	uint32_t free_count;
};

/* A new stream; *ret_place is its own until tournament_remove(). 0 or -ENOMEM. */
int tournament_add(struct tournament *tournament, tournament_key key, uint32_t *ret_place);

void tournament_remove(struct tournament *tournament, uint32_t place);

void tournament_release(struct tournament *tournament);

/* The least key, or TOURNAMENT_NONE. */
static inline tournament_key tournament_least(const struct tournament *tournament)
{
	return tournament->place_count ? tournament->nodes[1] : TOURNAMENT_NONE;
}

/* The stream has moved on to this key. */
static inline void tournament_set(struct tournament *tournament, uint32_t place, tournament_key key)
{
	size_t at = (size_t)tournament->place_count + place;
	tournament->nodes[at] = key;
	while (at > 1) {
		tournament_key other = tournament->nodes[at ^ 1];
		key = other < key ? other : key;
		at /= 2;
		tournament->nodes[at] = key;
	}
}

#endif
