/* SPDX-License-Identifier: MIT */
/* The side of tune_page.h that is in the program. Without a page all of it does nothing. */
#ifndef PRELOAD_TUNED_H
#define PRELOAD_TUNED_H

#include "sink.h"

/*
 * How many threads a parallel region of OpenMP should have. A region that names a number gets it: its program
 * may depend on that. 0, as in libgomp: the runtime's default.
 */
HIDDEN unsigned tuned_threads(unsigned asked);
HIDDEN bool tuned_is_on(void);
HIDDEN void tuned_region_ended(void);
HIDDEN void tuned_tick(uint64_t units);

#endif
