/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps the events that a sink under test passes on. */
#ifndef TESTS_PASSED_ON_H
#define TESTS_PASSED_ON_H

#include "cmocka_all.h"

#include "base/mem.h"
#include "trace/sink.h"

struct passed_on {
	struct event events[64];
	size_t count;
};

static inline int passed_on_keep(void *context, const struct event *event, struct err *err)
{
	struct passed_on *passed = context;
	(void)err;
	assert_in_range(passed->count, 0, ARRAY_SIZE(passed->events) - 1);
	passed->events[passed->count++] = *event;
	return 0;
}

static inline struct event_sink passed_on_sink(struct passed_on *passed)
{
	return (struct event_sink){ .context = passed, .event = passed_on_keep };
}

#endif
