/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tagged geometric history lengths: Seznec and Michaud, "A case for (partially) tagged geometric history length branch
 * prediction", JILP 2006. The longest history whose tagged entry matches predicts; a misprediction allocates in a table of
 * longer history. Part of predictors.h.
 */
#ifndef BENCH_REFSIM_TAGE_H
#define BENCH_REFSIM_TAGE_H

#include <stdbool.h>
#include <stdint.h>

struct tage;

/* bytes: a power of 2, 1024 at least. 0 or -ENOMEM. */
int tage_new(uint32_t bytes, struct tage **ret);
void tage_free(struct tage *tage);

/* What it predicts; then learns the outcome. */
bool tage_predict(struct tage *tage, uint64_t address, bool is_taken);

#endif
