/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups whose number of threads is a setting. One thread starts them, all at once, or as many again each
 * time that it needs them (waves, of which each does the same work). Threads that an OpenMP runtime started, or one
 * that then does the same as they, are a team with who started them: the setting counts that thread, too.
 */
#ifndef BUILDER_POOL_H
#define BUILDER_POOL_H

#include "builder/group.h"
#include "model/model.h"

struct build_pool {
	uint32_t parameter; /* with its size; BUILD_NONE: the group's size is fixed */
	uint32_t size; /* as recorded */
	uint32_t waves; /* how often they were started */
	uint32_t starter; /* of a team: the group of the thread that starts it; BUILD_NONE */
	bool is_alike; /* that thread does the same as they */
};

/* One for each group, of which the caller frees the array; adds their parameters to the model. 0 or -ENOMEM. */
int build_pools_find(const struct build_trace *trace, const struct build_groups *groups,
	struct model *model, struct build_pool **ret);

/* Whether code belongs to the OpenMP runtime of GCC, LLVM or Intel. */
bool build_is_openmp(const struct build_trace *trace, uint32_t pid, uint64_t site);

/* The pool in which a group works: its own, or the team that its thread starts; NULL: none. */
const struct build_pool *build_pool_of(
	const struct build_pool *pools, const struct build_groups *groups, uint32_t group);

/* How many threads are started: a formula. 0 or -ENOMEM. */
int build_pool_started(struct model *model, const struct build_pool *pool, struct model_value *ret);

#endif
