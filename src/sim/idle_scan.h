/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a thread that is woken looks for an idle core. Linux (SIS_UTIL in kernel/sched/fair.c, since 5.19) looks at n (1 - (1.17 u)^2) of the n cores that
 * share a cache, whole ones, u being how busy they were of late: at none above u = 0.60 for two cores, 0.74 for four, 0.85 for
 * many. That number is worked out when cores are balanced, and stands until then.
 */
#ifndef SIM_IDLE_SCAN_H
#define SIM_IDLE_SCAN_H

#include "sim/engine.h"

/* At a tick at which cores are balanced. All count as those of one cache. */
void idle_scan_update(struct sim *sim);

/* A new thread is expected to want half of what is left of its core. */
void idle_scan_add_thread(struct sim *sim);

#endif
