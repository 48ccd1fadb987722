/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code behind a stall category: so that a predicted bottleneck leads to a function (ESTIMA,
 * section 5.5). For software stalls, the call sites of the waits; for events and processor time,
 * the functions in which samples fell.
 */
#ifndef COLLECT_WHERE_H
#define COLLECT_WHERE_H

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/sampler.h"
#include "collect/sync_stalls.h"

#include <stddef.h>
#include <stdint.h>

/* Texts are borrowed from the struct where. */
struct where_place {
	const char *function; /* NULL: not known, see module and address */
	const char *file; /* source; NULL: not known */
	uint32_t line; /* 0: not known */
	const char *caller; /* the function that called it; NULL: not known */
	const char *module; /* path of the ELF file; NULL: code of no file */
	uint64_t address; /* in that file: of a wait's call, or the start of the function with the
			     samples where that is known */
	uint64_t count; /* waits or samples */
	double share; /* of the category's total, 0 to 1 */
	double seconds; /* summed over threads; NAN: the event is not time */
};

struct where {
	char *category;
	const char *unit; /* what is counted: "waits" or "samples" */
	uint64_t count; /* of all, also those not in places */
	double seconds; /* as above */
	struct where_place *places; /* largest share first */
	size_t place_count;
	uint64_t lost; /* waits or samples of which no place is known */
	struct symbols *symbols; /* behind the texts */
};

/*
 * Waits: places are lines of the program's own code, that is the innermost caller that is not in a
 * runtime library. `category` as in sync_stalls.h; "sync" stands for all of them.
 * 0; -EINVAL (no such category; err lists them), -ENOMEM. The caller frees *ret. No waits: no places.
 */
int where_from_waits(const struct sync_stalls *stalls, const char *category, struct where **ret,
	struct err *err);

/* Samples: places are functions. 0 or -ENOMEM. The caller frees *ret. */
int where_from_samples(
	const struct samples *samples, const char *category, struct where **ret, struct err *err);

void where_free(struct where *where);
CLEANUP_DEFINE(where, where_free)

#endif
