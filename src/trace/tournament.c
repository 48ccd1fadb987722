/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/tournament.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MIN = 4 };

/* Twice the places; those that are taken keep their numbers. */
static int grow(struct tournament *tournament)
{
	uint32_t old = tournament->place_count, count = old ? 2 * old : PLACES_MIN;
	tournament_key *nodes = malloc(2 * (size_t)count * sizeof *nodes);
	uint32_t *free_places = malloc(count * sizeof *free_places);
	if (!nodes || !free_places) {
		free(nodes);
		free(free_places);
		return -ENOMEM;
	}
	if (old)
		memcpy(&nodes[count], &tournament->nodes[old], old * sizeof *nodes);
	for (uint32_t i = old; i < count; i++) {
		nodes[count + i] = TOURNAMENT_NONE;
		free_places[i - old] = count - 1 - (i - old); /* the lowest is taken first */
	}
	for (size_t at = count; --at > 0;)
		nodes[at] = nodes[2 * at] < nodes[2 * at + 1] ? nodes[2 * at] : nodes[2 * at + 1];
	tournament_release(tournament);
	*tournament = (struct tournament){ nodes, free_places, count, count - old };
	return 0;
}

int tournament_add(struct tournament *tournament, tournament_key key, uint32_t *ret_place)
{
	if (tournament->free_count == 0 && grow(tournament) < 0)
		return -ENOMEM;
	*ret_place = tournament->free_places[--tournament->free_count];
	tournament_set(tournament, *ret_place, key);
	return 0;
}

void tournament_remove(struct tournament *tournament, uint32_t place)
{
	tournament_set(tournament, place, TOURNAMENT_NONE);
	tournament->free_places[tournament->free_count++] = place;
}

void tournament_release(struct tournament *tournament)
{
	free(tournament->nodes);
	free(tournament->free_places);
	*tournament = (struct tournament){ 0 };
}
