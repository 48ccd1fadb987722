/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPU times that change in the course of the work: what is done later is larger or smaller than what is done first (the files of an archive, the
 * rows of a triangle). A state's visits, in the order of the run, or thread by thread where each has a piece of the work, are cut into
 * 2 to 64 equal parts, and each part gets a factor, its mean over that of all. How many parts, if any, the Bayesian information criterion says
 * (G. Schwarz, Ann. Stat. 6, 1978): n ln(squared errors / n) + parts ln n.
 */
#ifndef BUILDER_COURSE_H
#define BUILDER_COURSE_H

#include "builder/graph.h"
#include "builder/pool.h"

/*
 * Finds the courses of a group's states, and takes them off the CPU times of their steps, whose sums stay as they are. `pool`: that of which the
 * group alone is; NULL: none. `least_ns`: CPU time of a state that is worth it. *ret_apart: adds how many states threads go through
 * apart. 0 or -ENOMEM.
 */
int build_courses_find(struct build_trace *trace, const struct build_group *group,
	const struct build_pool *pool, double least_ns, struct build_graph *graph,
	uint64_t *ret_apart);

/* How far CPU times of a group are off their means in their courses, as a sum: ns. After build_courses_find(). */
double build_course_change(const struct build_graph *graph);

#endif
