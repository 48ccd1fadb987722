/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Critical sections that a recorder left out, as the lock was free and its budget spent, but for the signal in them. Who counts what
 * threads put and get needs all. A signal at a call site that was seen within a section, of a thread that does not hold that
 * condition's mutex, tells of one: its pass and release are passed on beside it, at the same instant. A section that somebody came to
 * wait for is told of after its signal, by a pass and a release between which the thread signals nothing: that pass is put before it.
 * Not so where signals of that call site were never seen within a section (given after the lock was given back, they tell of none), nor
 * where the thread waited in between: what it holds is told of before it does.
 *
 *	AUTO_RELEASE(left_out) struct left_out left_out = { 0 };
 *	struct event_sink first = left_out_sink(&left_out, NULL);
 *	... all events, to know the call sites and mutexes; then
 *	first = left_out_sink(&left_out, &sink);
 *	... once more; any number of times, always with the same outcome
 */
#ifndef TRACE_LEFT_OUT_H
#define TRACE_LEFT_OUT_H

#include "base/cleanup.h"
#include "base/map.h"
#include "trace/sink.h"

#include <stdbool.h>
#include <stddef.h>

struct left_out_thread;

struct left_out {
	const struct event_sink *next; /* borrowed; NULL: none */
	struct map mutexes; /* process, condition -> address of its mutex */
	struct map
		sites; /* process, call site of a signal within a section -> where that section took its mutex */
	struct map index; /* process, thread -> index */
	struct left_out_thread *threads;
	size_t count, capacity;
	uint64_t signals; /* so far in this stream */
	struct map
		behind; /* n-th of these, mutex of the section that its thread told of behind it -> where it took that */
	bool has_left_out; /* the recorder says that it left out some */
};

void left_out_release(struct left_out *left_out);

/* From the first event on; borrows both. event(): -ENOMEM, or what the next one returns. */
struct event_sink left_out_sink(struct left_out *left_out, const struct event_sink *next);

#endif
