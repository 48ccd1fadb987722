/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP's regions of one thread, as within another region or where there is little to do: who comes to their end meets nobody,
 * though other threads come to such an end at the same place, or a team does at other times.
 */
#ifndef BUILDER_TEAMS_H
#define BUILDER_TEAMS_H

#include "builder/trace.h"

/* Leaves these arrivals out where several threads arrive. 0 or -ENOMEM. */
int build_leave_out_teams_of_one(struct build_trace *trace);

#endif
