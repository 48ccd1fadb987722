/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hardware stall events as a part of a measurement: this processor's set, counted run by run. */
#ifndef COLLECT_COUNTER_WATCH_H
#define COLLECT_COUNTER_WATCH_H

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/counters.h"
#include "collect/event_set.h"
#include "collect/launch.h"

struct counter_watch {
	struct event_set *set;
	struct counters *counters;
	double *values; /* of the last run, one for each event of the set */
	double lowest_share; /* of the time with a counter, over all events and runs so far */
	struct err failure; /* of the last run's reading; "" if there was none */
};

/*
 * Finds the set of this processor and asks whether it can be counted. 0; -ENODEV and others as
 * event_set_for_cpu() and counters_new(), with the reason. Free *ret with counter_watch_free().
 */
int counter_watch_new(const struct machine_cpu *cpu, struct counter_watch **ret, struct err *err);
void counter_watch_free(struct counter_watch *watch);

/* For the launch; fills `values` when the program ends. */
struct launch_hooks counter_watch_hooks(struct counter_watch *watch);

CLEANUP_DEFINE(counter_watch, counter_watch_free)

#endif
