/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that do the same as others of their group, and take much longer for it, or start all of these first. */
#ifndef BUILDER_OUTLIER_H
#define BUILDER_OUTLIER_H

#include "builder/group.h"

/* Gives them groups of their own, behind the others. 0 or -ENOMEM. */
int build_groups_part(const struct build_trace *trace, struct build_groups *groups);

/* Adds a thread to the group `index`, which may be the next one. 0 or -ENOMEM. */
int build_groups_add(struct build_groups *groups, size_t index, uint32_t thread);

#endif
