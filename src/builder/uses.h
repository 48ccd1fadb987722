/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads gave to and took from objects, by object and in the order of time. */
#ifndef BUILDER_USES_H
#define BUILDER_USES_H

#include "builder/trace.h"

struct build_use {
	struct build_step *step; /* of an object */
	uint64_t time_ns; /* when it was taken or given */
	uint32_t thread;
};

struct build_uses {
	struct build_use *items;
	size_t count, capacity;
};

/* A step that gives: PUT, POST, CLOSE. */
static inline bool build_gives(const struct build_step *step)
{
	return (step->op == STEP_PUT || step->op == STEP_POST || step->op == STEP_CLOSE) &&
	       step->object != BUILD_NONE;
}

/* 0 or -ENOMEM. The caller frees uses->items. */
int build_uses_add(struct build_uses *uses, struct build_use use);

/* By object, in the order of time, and what is given before it is taken: it may be told at the same moment. */
void build_uses_sort(struct build_uses *uses);

/* The end of those of one object. */
size_t build_uses_end(const struct build_uses *uses, size_t from);

#endif
