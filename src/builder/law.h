/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The laws of branches that are no draws (graph.h says which). */
#ifndef BUILDER_LAW_H
#define BUILDER_LAW_H

#include "builder/graph.h"

/* 0 or -ENOMEM. */
int build_laws_find(struct build_graph *graph);

/* Whether the state, or what always follows it, is an arrival at a barrier. */
bool build_leads_to_barrier(const struct build_graph *graph, uint32_t state);

/* Whether each of so many threads came there as often, and each time one of them, whichever, went on to `to`. */
bool build_takes_one_of_all(const struct build_graph *graph, const struct build_state *state,
	uint32_t to, size_t threads);

/* The barrier at which it is; BUILD_NONE: none. */
uint32_t build_next_barrier(const struct build_graph *graph, uint32_t state);

#endif
