/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the text and the JSON of a profile have in common. */
#ifndef REPORT_PROFILE_VIEW_H
#define REPORT_PROFILE_VIEW_H

#include "report/profile.h"

struct profile_totals {
	uint64_t stretches, instructions, loads, stores, first_touches;
	uint64_t mix[CODE_CLASSES];
};

/* Of all classes, or of one thread's (an index); -1: all. */
struct profile_totals profile_totals_of(const struct profile *profile, ptrdiff_t thread);

/*
 * That much of the program is code that asks what the processor can do, in a sentence and a line break; nothing where it is
 * little.
 */
void profile_add_asking(struct strbuf *out, const struct profile *profile);

/* A sentence about threads that ran far apart, if much was executed so. */
void profile_add_unpaced(struct strbuf *out, const struct profile *profile);

/* Classes of instructions, most executed first; the number of those that were. */
size_t profile_mix_order(const struct profile_totals *totals, unsigned ret[CODE_CLASSES]);

#endif
