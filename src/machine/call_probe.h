/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MACHINE_CALL_PROBE_H
#define MACHINE_CALL_PROBE_H

/* What the kernel takes for little; medians, ns. 0: not known. */
struct call_probe {
	double ns; /* a system call that does nothing */
	double yield_ns; /* sched_yield() where nobody waits for the processor */
	double yield_switch_ns; /* that it takes more where somebody does */
};

/* Takes some 10 ms. */
struct call_probe call_probe_measure(void);

#endif
