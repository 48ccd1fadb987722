/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Branch predictors as they are built, simulated outcome by outcome: what the model's map from entropies is
 * calibrated on, and what the reference simulator predicts with.
 *
 *	bimodal		2-bit counters by address (Smith, 1981)
 *	gshare		2-bit counters by address exclusive-or history (McFarling, 1993)
 *	tournament	local histories and global history, with a chooser (Alpha 21264: Kessler, 1999); at 4 KiB its tables
 *			are the Alpha's: 1024 histories of 10 bits, 1024 counters of 3 bits, twice 4096 of 2 bits
 *	TAGE		a bimodal table and six tagged ones, for histories of 5 to 130 outcomes (Seznec and Michaud, 2006)
 */
#ifndef BENCH_REFSIM_PREDICTORS_H
#define BENCH_REFSIM_PREDICTORS_H

#include "base/cleanup.h"
#include "uarch/processor.h"

#include <stdbool.h>
#include <stdint.h>

struct branch_predictor;

/* Tables are as large a power of 2 as fits into `bytes` (1 KiB at least). 0 or -ENOMEM. */
int branch_predictor_new(enum predictor_kind kind, uint32_t bytes, struct branch_predictor **ret);
void branch_predictor_free(struct branch_predictor *predictor);
CLEANUP_DEFINE(branch_predictor, branch_predictor_free)

/* Whether it predicted the outcome; learns it. `context` is a struct branch_predictor: fits struct refcore_predictor. */
bool branch_predictor_predict(void *context, uint64_t address, bool is_taken);

#endif
