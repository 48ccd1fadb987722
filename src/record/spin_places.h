/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of the instructions that samples show wait by spinning (code/spin_loop.h), each looked at once in the program's memory. */
#ifndef RECORD_SPIN_PLACES_H
#define RECORD_SPIN_PLACES_H

#include "base/map.h"
#include "code/address_space.h"

/* { 0 } knows none. */
struct spin_places {
	struct map known; /* (instruction, process) to what spin_loop_find() said */
};

void spin_places_release(struct spin_places *places);

/*
 * Where the program spins that is about to execute the instruction `at`: in a library that all programs have, the innermost
 * of the callers outside such libraries, else of those in one whose threads spin. As of a call: an address behind it. 0: it
 * does not, or nothing is known.
 */
uint64_t spin_places_find(struct spin_places *places, const struct address_spaces *spaces,
	uint32_t pid, uint64_t at, const uint64_t *callers, size_t count);

#endif
