/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/requests.h"

#include <errno.h>
#include <stdlib.h>

static void put(struct request *table, size_t capacity, const struct request *request)
{
	size_t at = request->number & (capacity - 1);
	while (table[at].number)
		at = (at + 1) & (capacity - 1);
	table[at] = *request;
}

int requests_add(struct sim *sim, const struct request *request)
{
	if (2 * sim->request_count >= sim->request_capacity) {
		size_t capacity = sim->request_capacity ? 2 * sim->request_capacity : 64;
		struct request *table = calloc(capacity, sizeof *table);
		if (!table)
			return -ENOMEM;
		for (size_t i = 0; i < sim->request_capacity; i++)
			if (sim->requests[i].number)
				put(table, capacity, &sim->requests[i]);
		free(sim->requests);
		sim->requests = table;
		sim->request_capacity = capacity;
	}
	put(sim->requests, sim->request_capacity, request);
	sim->request_count++;
	return 0;
}

/* Closes the gap at `at`: what was pushed past it by probing moves back. */
static void close_gap(struct sim *sim, size_t at)
{
	size_t mask = sim->request_capacity - 1;
	for (size_t next = (at + 1) & mask; sim->requests[next].number; next = (next + 1) & mask) {
		size_t home = sim->requests[next].number & mask;
		if (((next - home) & mask) < ((next - at) & mask))
			continue;
		sim->requests[at] = sim->requests[next];
		at = next;
	}
	sim->requests[at].number = 0;
}

bool requests_take(struct sim *sim, uint64_t number, struct request *ret)
{
	if (number == 0 || sim->request_count == 0)
		return false;
	size_t mask = sim->request_capacity - 1;
	size_t at = number & mask;
	while (sim->requests[at].number != number) {
		if (sim->requests[at].number == 0)
			return false;
		at = (at + 1) & mask;
	}
	*ret = sim->requests[at];
	sim->request_count--;
	close_gap(sim, at);
	return true;
}
