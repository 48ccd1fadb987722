/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Locks of one class: more than CLASS_LEAST different ones, or fewer of which each is taken whatever the thread took there before, that threads of a group take at one call site
 * (a lock for each bucket of a table), or there each thread its own (that of a queue which others fill). In the model they are one lock of several instances, of which each
 * locking draws one. Those that are taken more often than chance explains have shares of their own; the others, that are
 * taken about equally often, collide as often as
 *
 *	1 / sum of p(i)^2	(of n takings, u(i) of each: n (n - 1) / sum of u(i) (u(i) - 1), without bias)
 *
 * of them would that are taken equally often; so many there are of these.
 *
 * Queues of one class: more than CLASS_LEAST different ones from which one thread gets at one call site (one in each of its jobs,
 * say, which is made and thrown away with it). In the model they are one queue.
 */
#ifndef BUILDER_CLASS_H
#define BUILDER_CLASS_H

#include "builder/group.h"

enum { CLASS_LEAST = 4 };

/* Sets the classes of objects. 0 or -ENOMEM. */
int build_classes_find(struct build_trace *trace, const struct build_groups *groups);

enum { CLASS_SHARES = 16 };

struct build_instances {
	uint32_t count; /* at least 1 */
	uint32_t share_count; /* of those that are used more than others; at most `count` */
	double shares[CLASS_SHARES]; /* of all uses, the greatest first */
};

/* The instances that a class of locks counts as. 0 or -ENOMEM. */
int build_class_instances(
	const struct build_trace *trace, uint32_t object, struct build_instances *ret);

#endif
