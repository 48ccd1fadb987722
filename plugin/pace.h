/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads go at one pace: none is far ahead of the slowest one that runs, in instructions. Profiled are threads that each
 * have a core (RPPM, section III), but here there may be fewer cores than threads, and others use them: then threads would
 * run one after another, lines would not go to and fro between them, and work that is taken as it comes (from a counter, a
 * queue, a dynamic loop) would be shared out by the scheduler.
 *
 * Who waits in a system call holds nobody up, and goes on at the pace of the slowest who runs: a thread's
 * progress is its instructions, as in fair queueing, plus what it was lifted by. Who runs and gets nowhere, because it has
 * no core, spins for others or waits within the emulator, is waited for a short time only.
 */
#ifndef PLUGIN_PACE_H
#define PLUGIN_PACE_H

#include "thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Instructions that one may be ahead. */
enum { PACE_TURN = 20000 };

/* Without this call, nothing is done. */
void pace_init(void);

/* A thread will run on this virtual cpu, which is new. */
void pace_begin(const struct vcpu *vcpu);

/* It makes a system call, of which it may wake others; it goes on, or executes what counts again. */
void pace_call(const struct vcpu *vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3);
void pace_resume(const struct vcpu *vcpu);

/* It was in the kernel for so long, and did not sleep: it counts as if it had executed instructions meanwhile. */
void pace_spend(const struct vcpu *vcpu, uint64_t ns);

/* The thread runs; waits for those who are behind. Instructions from now to the next look. */
uint64_t pace_look(const struct vcpu *vcpu);

/* Whether the thread of this virtual cpu runs, or would if it had a core: true where nothing is done. */
bool pace_runs(const struct vcpu *vcpu);

/* Instructions of all threads while another one that ran was far behind. */
uint64_t pace_unpaced(void);

/* In the child of a fork: nothing is done from now on. */
void pace_forked(void);

#endif
