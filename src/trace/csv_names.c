/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/csv_names.h"

#include "base/mem.h"
#include "base/sorted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_before(const void *name, const void *text)
{
	return strcmp(((const struct csv_name *)name)->text, text) < 0;
}

/* Where the name is, or would be. */
static size_t place_of(const struct csv_name_list *list, const char *text)
{
	return sorted_before(list->items, list->count, sizeof *list->items, is_before, text);
}

static int number_of(struct csv_name_list *list, const char *text, uint64_t base, uint64_t *ret)
{
	size_t at = place_of(list, text);
	if (at < list->count && strcmp(list->items[at].text, text) == 0) {
		*ret = list->items[at].number;
		return 0;
	}
	char *copy = strdup(text);
	if (!copy ||
		mem_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items) < 0) {
		free(copy);
		return -ENOMEM;
	}
	memmove(&list->items[at + 1], &list->items[at], (list->count - at) * sizeof *list->items);
	*ret = base + list->count++;
	list->items[at] = (struct csv_name){ .text = copy, .number = *ret };
	return 0;
}

int csv_names_thread(struct csv_names *names, const char *text, uint64_t *ret)
{
	return number_of(&names->threads, text, CSV_NAMES_THREADS, ret);
}

int csv_names_object(struct csv_names *names, const char *text, uint64_t *ret)
{
	return number_of(&names->objects, text, CSV_NAMES_OBJECTS, ret);
}

int csv_names_is_new(struct csv_names *names, uint32_t pid, unsigned what, uint64_t object)
{
	uint64_t *value;
	return map_add(&names->told, (uint64_t)pid << 32 | what, object, 0, &value);
}

static void list_release(struct csv_name_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].text);
	free(list->items);
}

void csv_names_release(struct csv_names *names)
{
	list_release(&names->threads);
	list_release(&names->objects);
	map_release(&names->told);
	*names = (struct csv_names){ 0 };
}
