/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A predictor of the targets of indirect jumps, as it is built: a table of last targets by address, and two tagged ones by the path
 * of the last 4 and 16 taken branches, of which the longest that knows the jump decides (ITTAGE: Seznec and Michaud, "A
 * case for (partially) tagged geometric history length branch prediction", JILP 2006). Tables are finite.
 */
#ifndef BENCH_REFSIM_TARGETS_H
#define BENCH_REFSIM_TARGETS_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct target_predictor;

/* Of about `bytes` (512 at least), in powers of 2. has_paths: false: only last targets. 0 or -ENOMEM. */
int target_predictor_new(uint32_t bytes, bool has_paths, struct target_predictor **ret);
void target_predictor_free(struct target_predictor *predictor);
CLEANUP_DEFINE(target_predictor, target_predictor_free)

/* Whether it predicted where the jump at `address` goes; learns it. `context` is a struct target_predictor, also below. */
bool target_predictor_predict(void *context, uint64_t address, uint64_t target);

/* Any taken branch or jump, this one included, after target_predictor_predict(). */
void target_predictor_take(void *context, uint64_t target);

#endif
