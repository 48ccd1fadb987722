/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that do something from time to time until they are told to stop, by a flag that nobody saw or by a signal.
 *
 *	first thread	works, joins others, ...              [ joins ] ends
 *	ticker		pause x pause x pause x ... pause x [ told x ] end
 *
 * How often such a one does it says how long the others took, not what it has to do. A pause is a sleep, or a wait for
 * a condition that timed out; the only such wait that did not is where it was told. It is believed of a thread that never waits but
 * in TICKS_LEAST pauses or more at one place, and that ends within one round of being joined by the first thread, which
 * then ends, too: a chance of one in TICKS_LEAST for a fixed number. It becomes one that the end of the process cuts off.
 */
#ifndef BUILDER_TICKERS_H
#define BUILDER_TICKERS_H

#include "builder/trace.h"

enum { TICKS_LEAST = 20 };

/* Changes steps. */
void build_tickers_find(struct build_trace *trace);

#endif
