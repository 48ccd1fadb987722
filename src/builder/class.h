/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Locks of one class: more than CLASS_LEAST different ones that threads of a group take at one call site
 * (a lock for each bucket of a table), or there each thread its own (that of a queue which others fill). In the model they are one lock of several instances, of which each
 * locking draws one. Instances that are taken unequally often collide as often as
 *
 *	1 / sum of p(i)^2
 *
 * of them would that are taken equally often; so many there are.
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

/* How many equally used instances a class counts as; at least 1. */
uint32_t build_class_instances(const struct build_trace *trace, uint32_t object);

#endif
