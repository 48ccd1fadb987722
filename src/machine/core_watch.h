/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often cores are somebody else's, too, while something is measured on them: a thread on each looks at its width
 * (core_width.h) a hundred times a second, which takes a thousandth of the core.
 */
#ifndef MACHINE_CORE_WATCH_H
#define MACHINE_CORE_WATCH_H

#include "base/cleanup.h"

#include <stdint.h>

struct core_watch;

struct core_sharing {
	uint64_t looks; /* 0: nothing can be said, and the rest is 0 */
	double width, hz; /* means over all looks; width in additions a cycle */
	double most_width,
		most_hz; /* of each core, what all but a fiftieth of its looks were below; their mean */
	/* Of each core's own most, so that both are too low if it was never alone: 0 .. 1. */
	double shared; /* looks that saw less than CORE_WIDTH_SHARED of it */
	double taken; /* additions a second that were not had, of the half that a hardware thread gives up to one that wants as much */
	double spell_ns; /* how long others are there each time, in the mean (succession.h); 0: not to be told */
};

/* Of `shared`: below it others take no more than the kernel's own work does. */
#define CORE_SHARING_NOTABLE 0.05

/* Watches the processors that this process may use. NULL where no thread can be had: a watch that sees nothing. */
struct core_watch *core_watch_new(void);
void core_watch_free(struct core_watch *watch);

/* Since the start. */
struct core_sharing core_watch_seen(const struct core_watch *watch);

CLEANUP_DEFINE(core_watch, core_watch_free)

#endif
