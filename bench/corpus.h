/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A folder of measured curves: INDEX.tsv (columns id, file, metric, hardware_threads, found by
 * name) and one CSV a curve. Points above hardware_threads are dropped where it is known. The
 * source of a curve is its id before the first underscore.
 */
#ifndef BENCH_CORPUS_H
#define BENCH_CORPUS_H

#include "base/cleanup.h"
#include "base/err.h"
#include "scaling/curve.h"

#include <stdbool.h>

enum { CORPUS_ID_BYTES = 128 };

struct corpus_curve {
	char id[CORPUS_ID_BYTES];
	char source[CORPUS_ID_BYTES];
	struct curve *curve;
};

struct corpus {
	struct corpus_curve *curves;
	size_t count;
};

/* with_counters: hardware events beside the time become stall categories (counters.h). */
int corpus_read(const char *folder, bool with_counters, struct corpus **ret, struct err *err);
void corpus_free(struct corpus *corpus);

CLEANUP_DEFINE(corpus, corpus_free)

#endif
