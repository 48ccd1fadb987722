/* SPDX-License-Identifier: MIT */
/* The side of tune_page.h that is in the program. Without a page all of it does nothing. */
#ifndef PRELOAD_TUNED_H
#define PRELOAD_TUNED_H

#include "sink.h"

/*
 * How many threads a parallel region of OpenMP should have. A region that names a number gets it: its program
 * may depend on that. 0, as in libgomp: the runtime's default. What the thread was told by tuned_told() since its last
 * region it gets, else no more than that.
 */
HIDDEN unsigned tuned_threads(unsigned asked);

/*
 * What a program is told that asks how many threads a region would have; `most`: by the runtime. Some have arrays for so many, for
 * good: who asks for the first times is told all. Others lay the work of the next region out for so many (OpenBLAS, which
 * waits for ever in a region with fewer, and opens none for one thread): who asks again and again is told what is wanted.
 */
HIDDEN unsigned tuned_told(unsigned most, const void *caller);
HIDDEN bool tuned_is_on(void);
HIDDEN void tuned_region_ended(void);
HIDDEN bool tuned_wants_iterations(void);
HIDDEN void tuned_iterations(uint64_t count);
HIDDEN void tuned_tick(uint64_t units);

#endif
