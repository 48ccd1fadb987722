/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Draws of which it is known how often each outcome comes: all of them lie in a deck, and each draw takes one out. The totals of
 * a plan that is drawn so are those of the plan, in whatever order it goes.
 *
 * A walk through a graph in which each state has a deck of the ways that a recorded walk took from there, with the way that it
 * took last at the bottom, takes all of them: it ends where that one did, and not before (T. van Aardenne-Ehrenfest,
 * N. de Bruijn, "Circuits and trees in oriented linear graphs", 1951: each Eulerian trail is one such
 * choice of last ways and orders of the others).
 */
#ifndef MODEL_DECK_H
#define MODEL_DECK_H

#include "base/rng.h"
#include "model/model.h"

struct deck;

/*
 * `draws` of `count` outcomes by their shares (sum 1), rounded to whole cards. `last`: index of the outcome that comes after all others,
 * and then always; MODEL_NONE: an empty deck is full again. Lives as long as `memory`; *ret is NULL if no card is left by
 * rounding. 0 or -ENOMEM.
 */
int deck_new(struct model *memory, const double *shares, uint32_t count, uint64_t draws,
	uint32_t last, struct deck **ret);

/* Index of an outcome. */
uint32_t deck_draw(struct deck *deck, struct rng *rng);

#endif
