/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a core is ours alone. On a virtual machine the other hardware thread of its core may be somebody else's: then
 * programs take up to twice their time, and no figure of the system (steal, load) says so. What shows it: work that
 * waits for its own results goes on as fast as ever, while independent work has half of the core's width.
 */
#ifndef MACHINE_CORE_WIDTH_H
#define MACHINE_CORE_WIDTH_H

struct core_look {
	double width; /* independent additions a cycle */
	double hz;
};

/*
 * The core that runs the calling thread, in the next 10 us. Cycles are told by a chain of instructions whose latency is
 * known (machine/chain.h): zeros where it is not. Compare the width with the most that the same machine has shown: below
 * CORE_WIDTH_SHARED of that the core is shared.
 */
struct core_look core_look(void);

/* A lone thread is above this share of the most, two hardware threads at work are below. */
#define CORE_WIDTH_SHARED 0.8

#endif
