/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the EVENT_NAMEs of a timeline say, for readers that show names: they may come behind the
 * events that they name, so a timeline is read once for its names and once more for the rest.
 */
#ifndef TRACE_EVENT_NAMES_H
#define TRACE_EVENT_NAMES_H

#include "base/map.h"
#include "trace/event.h"

#include <stddef.h>

struct event_names {
	struct map index; /* (process and what, object) -> place among texts */
	char **texts;
	size_t count, capacity;
};

/* Keeps a name; other events are ignored; a later name of the same object wins. 0, -ENOMEM. */
int event_names_add(struct event_names *names, const struct event *event);

/* NULL: it has no name. */
const char *event_names_find(
	const struct event_names *names, uint32_t pid, unsigned what, uint64_t object);

void event_names_release(struct event_names *names);

#endif
