/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a thread that executes an instruction (x86-64) waits by spinning there: a loop without calls from which only
 * another thread can let it go. Such a loop either says so, as processors ask of it (PAUSE), or does the same again and
 * again: it computes nothing, and what it reads lies where it was the time before.
 */
#ifndef CODE_SPIN_LOOP_H
#define CODE_SPIN_LOOP_H

#include <stddef.h>
#include <stdint.h>

enum {
	SPIN_LOOP_BYTES = 256
}; /* of the code before an instruction, and behind it, are looked at */

/*
 * `bytes` is the code from `address` on, `at` the instruction that comes next, as a sample has it. Returns an address that
 * is the same wherever in the loop that is: its PAUSE, else its lowest; 0: it does not spin there, or this is not known.
 * Who gives up its core for others (sched_yield) is taken for one that spins.
 */
uint64_t spin_loop_find(uint64_t address, const void *bytes, size_t size, uint64_t at);

#endif
