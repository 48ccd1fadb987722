/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What blame knows: objects, call sites, and what these and threads have to do with objects. */
#include "criticality/blame_parts.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

static void free_object(struct object *object)
{
	free(object->name);
	free(object->callers);
}

void blame_release(struct blame *blame)
{
	for (size_t i = 0; i < blame->object_count; i++)
		free_object(&blame->objects[i]);
	for (size_t i = 0; i < blame->thread_count; i++)
		free(blame->threads[i].holds);
	free(blame->objects);
	free(blame->threads);
	free(blame->by_thread.items);
	free(blame->by_site.items);
	free(blame->segments.items);
	free(blame->samples.items);
	free(blame->idles.items);
	index_release(&blame->index);
	index_release(&blame->by_thread.index);
	index_release(&blame->by_site.index);
	index_release(&blame->segments.index);
	index_release(&blame->samples.index);
	index_release(&blame->idles.index);
	index_release(&blame->stacks);
	*blame = (struct blame){ 0 };
}

struct object *blame_object(struct blame *blame, uint32_t pid, uint8_t what, uint64_t address)
{
	uint64_t kind = (uint64_t)what << 32 | pid;
	uint32_t found = index_find(&blame->index, address, kind);
	if (found != INDEX_NONE)
		return &blame->objects[found];
	if (mem_grow(&blame->objects, &blame->object_capacity, blame->object_count + 1,
		    sizeof *blame->objects) < 0 ||
		index_add(&blame->index, address, kind, blame->object_count) < 0)
		return NULL;
	struct object *object = &blame->objects[blame->object_count++];
	*object = (struct object){ .pid = pid, .what = what, .address = address };
	return object;
}

/* NULL without memory. */
struct pairing *blame_pairing(struct pairing_table *table, uint32_t object, uint64_t other)
{
	uint32_t found = index_find(&table->index, other, object);
	if (found != INDEX_NONE)
		return &table->items[found];
	if (mem_grow(&table->items, &table->capacity, table->count + 1, sizeof *table->items) < 0 ||
		index_add(&table->index, other, object, table->count) < 0)
		return NULL;
	table->items[table->count] = (struct pairing){ .object = object, .other = other };
	return &table->items[table->count++];
}

/* A small number for a stack; 0 also without memory: then its callers are unknown. */
static uint32_t stack_number(struct blame *blame, uint32_t pid, uint64_t stack)
{
	if (stack == 0)
		return 0;
	uint32_t found = index_find(&blame->stacks, stack, pid);
	if (found != INDEX_NONE)
		return found;
	if (index_add(&blame->stacks, stack, pid, blame->stack_count + 1) < 0)
		return 0;
	return ++blame->stack_count;
}

struct site *blame_site(struct blame *blame, struct site_table *table, const struct site *identity)
{
	uint32_t kind = identity->what; /* what has one has no stack */
	if (kind == WHAT_NONE)
		kind = stack_number(blame, identity->pid, identity->stack);
	uint64_t where = (uint64_t)kind << 32 | identity->pid;
	uint32_t found = index_find(&table->index, identity->address, where);
	if (found != INDEX_NONE)
		return &table->items[found];
	if (mem_grow(&table->items, &table->capacity, table->count + 1, sizeof *table->items) < 0 ||
		index_add(&table->index, identity->address, where, table->count) < 0)
		return NULL;
	table->items[table->count] = *identity;
	return &table->items[table->count++];
}

int blame_pair(struct pairing_table *table, uint32_t object, uint64_t other, uint64_t units)
{
	struct pairing *pairing = blame_pairing(table, object, other);
	if (!pairing)
		return -ENOMEM;
	pairing->blame += units;
	return 0;
}

int blame_pair_held(struct pairing_table *table, uint32_t object, uint64_t other, uint64_t units)
{
	struct pairing *pairing = blame_pairing(table, object, other);
	if (!pairing)
		return -ENOMEM;
	pairing->held_blame += units;
	return 0;
}
