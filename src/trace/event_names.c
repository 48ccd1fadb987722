/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/event_names.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t group_of(uint32_t pid, unsigned what)
{
	return (uint64_t)pid << 32 | what;
}

int event_names_add(struct event_names *names, const struct event *event)
{
	uint64_t *place;
	if (event->kind != EVENT_NAME || !event->text)
		return 0;
	if (mem_grow(&names->texts, &names->capacity, names->count + 1, sizeof *names->texts) < 0)
		return -ENOMEM;
	char *copy = strdup(event->text);
	int code = copy ? map_add(&names->index, group_of(event->pid, event->what), event->object,
				  names->count, &place)
			: -ENOMEM;
	if (code < 0) {
		free(copy);
		return -ENOMEM;
	}
	if (code > 0)
		names->count++;
	else
		free(names->texts[*place]);
	names->texts[*place] = copy;
	return 0;
}

const char *event_names_find(
	const struct event_names *names, uint32_t pid, unsigned what, uint64_t object)
{
	const uint64_t *place = map_find(&names->index, group_of(pid, what), object);
	return place ? names->texts[*place] : NULL;
}

void event_names_release(struct event_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->texts[i]);
	free(names->texts);
	map_release(&names->index);
	*names = (struct event_names){ 0 };
}
