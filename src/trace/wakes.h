/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What waking a sleeping thread on an idle core takes, as a recording shows: time until that thread runs, and CPU time of the one
 * who wakes it (a system call, and the interrupt that the core gets, which in a virtual machine is an exit to the
 * hypervisor). The recording has the latter in the work after the wake-up. As in a replay or a model somebody else may
 * wake somebody, or nobody, who makes one takes it out of the work, and plays it where a thread is woken.
 *
 *	wakes_add(wakes, event, &woken);	for each event, in order; woken: for the next operation that is made of events
 *	...
 *	struct wakes_found found = wakes_find(wakes);
 *	work_ns = wakes_left(work_ns, woken, found.cost_ns);
 */
#ifndef TRACE_WAKES_H
#define TRACE_WAKES_H

#include "base/cleanup.h"
#include "trace/event.h"
#include "trace/reader.h"

enum { WAKES_PARTS = 19 };

/*
 * Who waits in a runtime that spins (EVENT_SPINS) sleeps so much later: GCC's takes its default of 300,000 rounds (GOMP_SPINCOUNT in
 * libgomp's manual) for about 3 ms, LLVM's and Intel's spin for longer. Not with more threads than cores: libgomp then goes round 100 times.
 */
enum { WAKES_SPIN_NS = 3000000 };

struct wakes;

/*
 * `cores`: that the run could use; 0: not known, then nothing is found. `machine`: what it measured of itself; `others`: what others
 * had of the cores meanwhile. 0 or -ENOMEM.
 */
int wakes_new(uint32_t cores, const struct trace_wakes *machine, const struct trace_others *others,
	struct wakes **ret);
void wakes_free(struct wakes *wakes);
CLEANUP_DEFINE(wakes, wakes_free)

/*
 * *ret_woken: how many threads that had to wake up a core its thread woke when the work began that ends with this event; 0
 * also of events that end none. 0 or -ENOMEM.
 */
int wakes_add(struct wakes *wakes, const struct event *event, uint32_t *ret_woken);

struct wakes_found {
	uint64_t
		cost_ns; /* CPU time of who wakes; as the machine says where the events do not tell; 0: unknown */
	/* From a wake-up by a thread to running, on a core that was free all the time: median; 0: too few were seen. */
	uint64_t latency_ns;
	double parts_ns
		[WAKES_PARTS]; /* its quantiles without those that others disturbed, ascending */
	uint64_t count[2], sum_ns[2]; /* of all of these; [1]: of the last free core */
	double others_of_free; /* part of the time for which the run left cores free that others had them; 0: none, or unknown */
};

/* After all events. */
struct wakes_found wakes_find(struct wakes *wakes);

/* Work without the part of waking so many. */
static inline uint64_t wakes_left(uint64_t work_ns, uint32_t woken, uint64_t cost_ns)
{
	uint64_t ns = woken * cost_ns;
	return work_ns - (ns < work_ns ? ns : work_ns);
}

#endif
