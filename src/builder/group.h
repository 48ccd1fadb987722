/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads of one kind: the same start routine, the same name but for its number, and the same
 * operations on the same objects. Two threads that always use different objects at one call site
 * (stages of a pipeline with a queue between each two) are of different kinds; one that uses several
 * at a site (a lock for each bucket) is not, nor is one that takes the other's, too, at another site (a queue of its own, from which others steal), nor is one whose lock only threads of other kinds take, too. A lock that one thread alone takes is like another thread's own;
 * nobody can wait for it, so in a group of several it is left out.
 */
#ifndef BUILDER_GROUP_H
#define BUILDER_GROUP_H

#include "builder/trace.h"

struct build_group {
	char *name;
	uint32_t *threads; /* indices into the trace */
	size_t count, capacity;
	uint32_t first_count; /* threads that nobody of the recording started */
	bool has_starter; /* who started them does the same after it */
};

struct build_groups {
	struct build_group *items;
	size_t count, capacity;
	uint32_t *of_thread;
};

void build_groups_release(struct build_groups *groups);

/*
 * Also makes what threads spawn and join groups: one step for threads that are started one after the
 * other, one for those that are waited for. 0 or -ENOMEM.
 */
int build_groups_find(struct build_trace *trace, struct build_groups *ret);

#endif
