/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of different names that a file mentions. */
#include "scaling/runs_formats.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int names_add(struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i], name) == 0)
			return (int)i;
	if (names->count == NAMES_MAX)
		return -E2BIG;
	if (mem_grow(&names->items, &names->capacity, names->count + 1, sizeof *names->items) < 0)
		return -ENOMEM;
	char *copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	names->items[names->count] = copy;
	return (int)names->count++;
}

void names_release(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct names){ 0 };
}

struct names_shown names_show(const struct names *names)
{
	enum { SHOWN_MAX = 6 }; /* six of TEXT_SHOWN_BYTES fit */
	struct names_shown shown = { "" };
	size_t length = 0;
	for (size_t i = 0; i < names->count && i < SHOWN_MAX; i++)
		length += (size_t)snprintf(shown.text + length, sizeof shown.text - length,
			"%s'%s'", i ? ", " : "", text_show(names->items[i]).text);
	if (names->count > SHOWN_MAX)
		(void)snprintf(shown.text + length, sizeof shown.text - length,
			", ... (%zu in all)", names->count); /* fits, by SHOWN_MAX */
	return shown;
}
