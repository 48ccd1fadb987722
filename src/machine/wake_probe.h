/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What it takes to wake a thread that sleeps, on another processor that is idle meanwhile: in a virtual machine that is an
 * interrupt by way of the hypervisor, many times what it is on a bare one. Takes some 6 ms.
 */
#ifndef MACHINE_WAKE_PROBE_H
#define MACHINE_WAKE_PROBE_H

#include <stdint.h>

/* The standard deviation as a share of the middle, of numbers whose first and last deciles are those of a normal distribution. */
static inline double wake_probe_spread(double first_decile, double middle, double last_decile)
{
	const double apart = 2.563; /* standard deviations */
	return middle > 0 ? (last_decile - first_decile) / apart / middle : 0;
}

/* Medians, ns. 0: not known, as where there is one processor, or others kept them busy. */
struct wake_probe {
	uint32_t cost_ns; /* that the waker is in the call */
	uint32_t latency_ns; /* from the call's begin until the other thread runs */
	double latency_spread; /* of single times, as a share of that: their standard deviation, by the deciles of a normal distribution */
	uint32_t
		doze_ns; /* until a thread that waits sleeps, at least: who is woken before has not slept */
};

/* On the first processors that this process may use, or, where that is one only, on another that is online. */
struct wake_probe wake_probe_measure(
	uint64_t warm_ns); /* of wake-ups before those that count; 0: what the first ones take */

/* Behind some 50 ms of short sleeps a core takes a third longer to wake up on Linux 6.18. */
enum { WAKE_PROBE_WARM_NS = 100000000 };

/* The same where the other processor has idled for long. 0: it does not halt, or nothing is known. Takes 0.2 s, if it halts 0.4 s. */
struct halt_probe {
	double after_ns; /* that it has idled, each time: within a twentieth */
	double start_ns; /* the same where it idled for longer before, and each shorter time doubles it; 0: the other times do not count */
	double cost_ns, latency_ns; /* as of wake_probe */
};
struct halt_probe halt_probe_measure(void);

/* Where another thread is at work there. Medians, ns; 0: nothing is known. Takes 40 ms. */
struct interrupt_probe {
	double cost_ns; /* that the waker is in the call where that thread makes room for the woken one, */
	double queued_cost_ns; /* and where it does not */
	double lost_ns; /* that the other thread loses, two switches included, by making room */
};
struct interrupt_probe interrupt_probe_measure(void);

/*
 * From one thread's letting another one go, and waiting, until that one runs on the same processor, ns, calls included: a
 * median. Takes some 3 ms. 0: not known.
 */
double switch_probe_measure(void);

#endif
