/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits with a time-out that are begun again at once until somebody ends them, as by a program that looks from time to time
 * whether it shall stop, or shows its progress:
 *
 *	wait (300 ms are over), lock, unlock, wait (300 ms are over), lock, unlock, wait (told)
 *
 * How often the time ran out says how long others took. It is one wait, until it is told.
 */
#ifndef BUILDER_PATIENCE_H
#define BUILDER_PATIENCE_H

#include "builder/trace.h"

/* Changes steps. */
void build_patience_find(struct build_trace *trace);

#endif
