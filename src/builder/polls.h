/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that look again and again, and sleep between: how often they look says how long it took, not what they do.
 *
 *	sleep sleep ... sleep			join, sleep: until threads that it started have ended
 *	lock unlock sleep lock unlock ...	lock try_get unlock (sleep | ...): until there is something
 *
 * The first is believed of POLLS_LEAST pauses at one place, with nothing but looks under locks between, if threads that this one
 * started ended meanwhile, the last of them in the last pause (or the last tenth of them): a chance of one in POLLS_LEAST for a fixed number.
 *
 * The second, of a mutex at one of whose call sites some sections are followed by a sleep and the next one of
 * the same kind, and others by something else: these took one of what the sections at other sites put, those found none. Of all choices
 * of sites that put, and of none or as many items at first as make most looks in vain those at an empty queue, the one that explains
 * most decisions counts, if it explains MEANING_EXPLAINED of both. A thread's last
 * section that found none and led elsewhere came after the end, which a section at some site told once, after all was put.
 */
#ifndef BUILDER_POLLS_H
#define BUILDER_POLLS_H

#include "builder/trace.h"
#include "meaning/meaning.h"

enum { POLLS_LEAST = 5 };

/* Changes steps. 0 or -ENOMEM. */
int build_polls_find(struct build_trace *trace, const struct meaning *meaning);

#endif
