/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long woken threads take to run, where some came in vain. Of wake-ups for a lock only those are seen to end that came when it
 * was free. How long the others took is known to lie in a window: the distribution is the most likely one (B. Turnbull, "The
 * empirical distribution function with arbitrarily grouped, censored and truncated data", J. R. Stat. Soc. B 38, 1976).
 */
#ifndef TRACE_WAKES_LATENCY_H
#define TRACE_WAKES_LATENCY_H

#include "trace/wakes.h"

#include <stddef.h>

/* After a wake-up, when another thread had the lock: who had been woken ran within it, and slept again. */
struct wakes_window {
	uint32_t from_ns, to_ns;
};

struct wakes_seen {
	uint32_t *samples_ns; /* borrowed, as all of this; comes back in order */
	size_t sample_count;
	const struct wakes_window *windows;
	size_t window_count;
	uint32_t machine_ns; /* what the machine took by itself; 0: unknown */
	double disturbed; /* share of wake-ups that others may have disturbed; 1: nobody knows */
};

/*
 * Sets latency_ns and parts_ns, if there are enough samples. The longest are left out, as many as others may have disturbed, but none
 * of up to twice the median: in a virtual machine a core that the hypervisor put to sleep takes long to wake up, and is not disturbed.
 */
void wakes_latency(const struct wakes_seen *seen, struct wakes_found *found);

#endif
