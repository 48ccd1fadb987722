/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Regions that the threads of a team come to one after the other, and never again: those of a program that calls some parallel
 * functions in turn (filters of an image, one of them twice). The same function is a region of its own each time.
 *
 *	blur   blur   resize   sharpen		regions
 *	solve  swap   solve    swap  ...	a loop
 */
#ifndef BUILDER_REGIONS_H
#define BUILDER_REGIONS_H

#include "builder/graph.h"

#include <stdbool.h>

/*
 * Whether arrivals at barriers end such regions: few, the same of all threads of the group, and in an order that repeats nothing
 * from its first on.
 */
bool build_has_regions(const struct build_graph *graph);

#endif
