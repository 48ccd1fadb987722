/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile's memory part, exactly: every access of a trace counts, none is sampled. What StatStack makes of it is
 * the model's own error; what it makes of a recorded profile has the error of sampling on top.
 */
#ifndef BENCH_REFSIM_EXACT_REUSE_H
#define BENCH_REFSIM_EXACT_REUSE_H

#include "base/cleanup.h"
#include "uarch/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct exact_reuse;

enum { EXACT_THREADS_MAX = 16 };

/* Threads, classes and codes are indices of the caller's, who fills the profile's other parts. -ENOMEM or 0. */
int exact_reuse_new(uint32_t threads, uint32_t classes, uint32_t codes, struct exact_reuse **ret);
void exact_reuse_free(struct exact_reuse *reuse);
CLEANUP_DEFINE(exact_reuse, exact_reuse_free)

/* A stretch of this class begins. Classes belong to one thread. */
void exact_reuse_enter(struct exact_reuse *reuse, uint32_t thread, uint32_t class);

/* One access of the thread, in the class that it is in. 0 or -ENOMEM. */
int exact_reuse_access(
	struct exact_reuse *reuse, uint32_t thread, uint32_t code, uint64_t address, bool is_write);

/* A fetch of an instruction: counts when it is of another line than the one before. 0 or -ENOMEM. */
int exact_reuse_fetch(struct exact_reuse *reuse, uint32_t thread, uint64_t address);

/* Fills threads, classes (their counts) and reuse; codes are loads that the caller may change. 0 or -ENOMEM. */
int exact_reuse_profile(const struct exact_reuse *reuse, struct profile *ret);

#endif
