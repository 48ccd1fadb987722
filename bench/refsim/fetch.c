/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/fetch.h"

#include <stdlib.h>

enum { LINE_BITS = 6, KNOWN = 4096, COMING = 256 };

/* Lines by hash. */
struct follower {
	uint64_t line, next;
};

struct coming {
	uint64_t line, ready;
};

struct reffetch {
	const struct processor *processor;
	struct refmemory *memory;
	uint32_t core;
	uint64_t line; /* the last */
	struct follower known[KNOWN];
	struct coming coming[COMING];
};

struct reffetch *reffetch_new(
	const struct processor *processor, struct refmemory *memory, uint32_t core)
{
	struct reffetch *fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return NULL;
	fetch->processor = processor;
	fetch->memory = memory;
	fetch->core = core;
	fetch->line = UINT64_MAX;
	return fetch;
}

void reffetch_free(struct reffetch *fetch)
{
	free(fetch);
}

static uint64_t hash(uint64_t line)
{
	return line * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* When a line is there that is asked for now, unless it is on its way. */
static uint64_t ask(struct reffetch *fetch, uint64_t line, uint64_t cycle)
{
	struct coming *coming = &fetch->coming[hash(line) % COMING];
	if (coming->line == line && coming->ready > cycle)
		return coming->ready;
	struct refmemory_answer answer = refmemory_access(fetch->memory, fetch->core,
		line << LINE_BITS, REFCACHE_FETCH, REFMEMORY_NONE, cycle);
	if (answer.level == 0)
		return cycle;
	*coming = (struct coming){ line, answer.ready };
	return answer.ready;
}

uint64_t reffetch_line(struct reffetch *fetch, uint64_t address, uint64_t cycle)
{
	uint64_t line = address >> LINE_BITS;
	if (line == fetch->line)
		return cycle;
	fetch->known[hash(fetch->line) % KNOWN] = (struct follower){ fetch->line, line };
	fetch->line = line;
	uint64_t ready = ask(fetch, line, cycle);
	for (uint32_t ahead = 0; ahead < fetch->processor->fetch_ahead; ahead++) {
		const struct follower *follower = &fetch->known[hash(line) % KNOWN];
		line = follower->line == line ? follower->next : line + 1;
		(void)ask(fetch, line, cycle);
	}
	return ready;
}
