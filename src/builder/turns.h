/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Turns: what the threads of a group do over and over, from one get, put, arrival, or begin of a request to the next one of its
 * kind. What they do exactly once in (almost) each turn are its milestones. A graph whose states know the last milestone does these
 * once in each turn, too, whatever loops lie between them: an item that is put for each one got is neither
 * lost nor doubled by a draw.
 */
#ifndef BUILDER_TURNS_H
#define BUILDER_TURNS_H

#include "base/cleanup.h"
#include "builder/graph.h"

struct build_turns {
	bool *milestones; /* by symbol */
	bool *are_inside; /* by symbol: some turn has it */
	size_t count; /* of milestones; 0: no turns */
	uint32_t last; /* the milestone with which turns end: so the first one begins, too */
};

void build_turns_release(struct build_turns *turns);

/* The kind of turns that has the most milestones. 0 or -ENOMEM. */
int build_turns_find(const struct build_graph *graph, struct build_turns *ret);

#endif
