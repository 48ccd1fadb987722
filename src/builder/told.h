/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits at conditions that no meaning explains. What is known of them is who ended each: the signal at whose time the waiting
 * thread could go on. In the model it is an item, which the thread that signalled puts and the one that waited gets, so that they stay in step;
 * how often they have to is drawn as recorded. Threads with different start routines have a queue each (ears): who starts others, and waits until they say that they are
 * ready, does not take what tells these to go on. With `by_calls`, where there are five signals or more for each that ended a wait, all are calls: who waits at that moment hears
 * them. That is a guess: a signal that comes once, and before somebody waits for it, would be lost. A condition of which less than MEANING_EXPLAINED of the waits
 * are ended by a signal that was seen is left alone.
 */
#ifndef BUILDER_TOLD_H
#define BUILDER_TOLD_H

#include "builder/steps.h"

/*
 * Gives the channels of such conditions objects, and marks their waits and signals STEP_TOLD. `are_known` says of each condition
 * whether it has a meaning. 0 or -ENOMEM.
 */
int build_told_find(struct build_trace *trace, const struct meaning *meaning, const bool *are_known,
	bool by_calls, struct build_channels *channels);

#endif
