/* SPDX-License-Identifier: MIT */
/* The side of tune_page.h that is in the program. Without a page all of it does nothing. */
#ifndef PRELOAD_TUNED_H
#define PRELOAD_TUNED_H

#include "sink.h"

/*
 * A parallel region of OpenMP may have fewer threads than it would have had, as with OMP_DYNAMIC, if those who are there do all
 * of its work. What its body asks in its first run tells: iterations and sections that the runtime hands out, or a thread's
 * number and how many there are, say so; so does asking nothing. Its number alone is for work that was divided before (or for
 * arrays of the thread's own), and how many there are alone may be for later ones: both get what they would have had. So does a
 * region right before which the program has asked twice how many there would be and whose iterations are not handed out one by
 * one: OpenBLAS has one for each thread, which wait for one another (asked once, it keeps its threads that time). The program is
 * always told the truth: so no region has more threads than arrays that it keeps.
 */
enum tuned_seen {
	TUNED_RAN = 1,
	TUNED_NUMBERS = 2, /* asks for its thread's number */
	TUNED_COUNTS = 4, /* and how many threads there are */
	TUNED_DIVIDES = 8, /* the runtime hands its work out */
	TUNED_SHARES = 16, /* the runtime divides it in the beginning (GCC's: both of the above) */
	TUNED_NAMES = 32, /* it had another count than it was given */
	TUNED_ASKED = 64, /* right before it the program asked how many it would have */
	TUNED_ASKED_AGAIN = 128,
};

struct tuned_body; /* a region's code; opaque */

/* NULL: nobody tunes, or there are too many. */
HIDDEN struct tuned_body *tuned_find(const void *code);

/*
 * How many threads the region should have that this thread opens. `known`: of enum tuned_seen, beside what its runs have shown; `asked`: by
 * the program for this region; `own`: what the runtime would give it else. `asked` where that is to be kept; 0: the runtime's default.
 */
HIDDEN unsigned tuned_threads(
	struct tuned_body *body, unsigned known, unsigned asked, unsigned own);

/* Each thread of a region, around its body; `outer`: what the first one returned. */
HIDDEN unsigned tuned_enter(void);
HIDDEN void tuned_leave(struct tuned_body *body, unsigned outer);
HIDDEN void tuned_saw(unsigned what);

/* The program has asked how many threads a region would have. */
HIDDEN void tuned_was_asked(void);
HIDDEN bool tuned_is_on(void);
HIDDEN void tuned_region_ended(void);
HIDDEN bool tuned_wants_iterations(void);
HIDDEN void tuned_iterations(uint64_t count);
HIDDEN void tuned_tick(uint64_t units);

#endif
