/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often accesses of a profiled program go beyond each level of caches that are not here, from the reuse
 * distances in its profile.
 *
 * Eklov and Hagersten, "StatStack", ISPASS 2010: of the accesses between two to the same line, each that is not
 * followed by one to its own line before the end adds a line, so the expected number of lines in between is
 * S(r) = sum over i < r of P(d > i). For threads after Ahlman (2016): private caches from distances in a thread's
 * own accesses, which another thread's write makes infinite; shared ones from distances in all accesses. Sets after
 * Hill and Smith (1989). docs/models/statstack.md has the assumptions and how well it does.
 *
 * Caches where others take lines away (`lifetime`) miss what is not touched again in time.
 *
 * Caches are LRU, inclusive, of lines of PROFILE_LINE_BYTES, and allocate on writes; there is no prefetching.
 */
#ifndef UARCH_STATSTACK_H
#define UARCH_STATSTACK_H

#include "base/cleanup.h"
#include "base/err.h"
#include "uarch/processor.h"
#include "uarch/profile.h"

#include <stdbool.h>

enum { STATSTACK_TLBS = 2, STATSTACK_TARGETS = 2 };

/* The probability that one access goes beyond each level: beyond[0] is the first level's miss ratio. */
struct statstack_odds {
	double beyond[PROCESSOR_LEVELS_MAX]; /* descending; 0 behind the processor's last level */
	/* That it goes beyond the private levels and finds its line, written, in another core's
	 * private cache. Not among those beyond the last level. */
	double transfer;
	/* That the page is not in the first level of the TLB, nor in any: 0 if there is none, or the profile knows no pages. */
	double untranslated[STATSTACK_TLBS];
};

struct statstack_class {
	struct statstack_odds access; /* of its loads and stores together */
	struct statstack_odds load; /* of its loads alone */
	/* Of one fetch of an instruction line: beyond[0] is the instruction cache's miss ratio. */
	double fetch_beyond[PROCESSOR_LEVELS_MAX];
	/* Of the same: that the branch there has its target in no such level; 0 if there is none. */
	double targets_beyond[STATSTACK_TARGETS];
};

/* What one processor's caches do. Arrays for all processors asked after; made by statstack_answer_init. */
struct statstack_answer {
	struct statstack_class *classes; /* by index of the profile's class */
	struct statstack_odds *codes; /* by statstack_find */
	/* By class: from one access of a thread to its next, for caches whose lines have a lifetime. Set by who asks;
	 * all 0 at first: not known, and lines stay. */
	double *access_ns;
	void *scratch;
};

struct statstack;

/*
 * Prepares a profile; borrows nothing of it. 0, -ENOMEM, or -EINVAL with a text: a row of reuse that names no class,
 * code or bin.
 */
int statstack_new(const struct profile *profile, struct statstack **ret, struct err *err);
void statstack_free(struct statstack *statstack);
CLEANUP_DEFINE(statstack, statstack_free)

/*
 * Index into `codes` of an instruction in a class, or -ENOENT: none of its accesses was sampled, take the class's.
 * One that loads and stores the same line makes one access.
 */
ptrdiff_t statstack_find(const struct statstack *statstack, uint32_t class, uint32_t code);

/* Accesses by an instruction that was found, in its class: an estimate from samples. */
double statstack_accesses(const struct statstack *statstack, ptrdiff_t found);

/* Whether the profile has reuse distances of pages: those made before there were any have none. */
bool statstack_has_pages(const struct statstack *statstack);

/* 0 or -ENOMEM. For AUTO_RELEASE(statstack_answer); { 0 } is empty. */
int statstack_answer_init(struct statstack_answer *answer, const struct statstack *statstack);
void statstack_answer_release(struct statstack_answer *answer);

/* Fills `answer`. Constant in the length of the run; one answer for each thread that asks. */
void statstack_ask(const struct statstack *statstack, const struct processor *processor,
	struct statstack_answer *answer);

#endif
