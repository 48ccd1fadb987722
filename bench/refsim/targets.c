/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/targets.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TABLES = 3,
	PATH_MOST = 16,
	LEAST_BYTES = 512,
	ENTRY_BYTES = 8, /* as built: part of a target, a tag, a counter */
	SURE_MOST = 3,
};

static const uint32_t lengths[TABLES] = { 0, 4, PATH_MOST };

struct entry {
	uint64_t target;
	uint32_t tag;
	uint8_t sure; /* how often it was right of late: 0 is replaced */
};

struct target_predictor {
	struct entry *tables[TABLES];
	bool has_paths; /* else the first table is used alone */
	uint32_t mask;
	uint64_t path[PATH_MOST]; /* the last targets, in a ring */
	uint32_t taken;
};

int target_predictor_new(uint32_t bytes, bool has_paths, struct target_predictor **ret)
{
	AUTO(target_predictor) struct target_predictor *predictor = calloc(1, sizeof(*predictor));
	if (!predictor)
		return -ENOMEM;
	predictor->has_paths = has_paths;
	uint32_t entries = (bytes > LEAST_BYTES ? bytes : LEAST_BYTES) / ENTRY_BYTES /
			   (has_paths ? TABLES : 1);
	predictor->mask = (UINT32_C(1) << (31 - __builtin_clz(entries))) - 1;
	for (uint32_t i = 0; i < TABLES; i++) {
		predictor->tables[i] = calloc(predictor->mask + 1, sizeof(struct entry));
		if (!predictor->tables[i])
			return -ENOMEM;
	}
	*ret = TAKE(predictor);
	return 0;
}

void target_predictor_free(struct target_predictor *predictor)
{
	if (!predictor)
		return;
	for (uint32_t i = 0; i < TABLES; i++)
		free(predictor->tables[i]);
	free(predictor);
}

static uint64_t path_hash(
	const struct target_predictor *predictor, uint64_t address, uint32_t length)
{
	uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15);
	for (uint32_t i = 1; i <= length && i <= predictor->taken; i++) {
		hash ^= predictor->path[(predictor->taken - i) % PATH_MOST];
		hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	}
	return hash ^ hash >> 32;
}

/* As in the profiler's plugin, and written again on purpose: what is compared with a reference must not share its code. */
static void learn(struct entry *entry, uint64_t target)
{
	if (entry->target == target)
		entry->sure += entry->sure < SURE_MOST;
	else if (entry->sure > 0)
		entry->sure--;
	else
		entry->target = target;
}

static struct entry *place_of(const struct target_predictor *predictor, uint64_t address,
	uint32_t table, uint32_t *ret_tag)
{
	uint64_t hash = path_hash(predictor, address, lengths[table]);
	*ret_tag = (uint32_t)(hash >> 40) & 0xfff;
	return &predictor->tables[table][hash & predictor->mask];
}

/* The longest path that knows the jump; 0: none does. */
static uint32_t find_table(const struct target_predictor *predictor, uint64_t address)
{
	for (uint32_t i = predictor->has_paths ? TABLES - 1 : 0; i > 0; i--) {
		uint32_t tag;
		const struct entry *entry = place_of(predictor, address, i, &tag);
		if (entry->target != 0 && entry->tag == tag)
			return i;
	}
	return 0;
}

bool target_predictor_predict(void *context, uint64_t address, uint64_t target)
{
	struct target_predictor *predictor = context;
	uint32_t tag, by = find_table(predictor, address);
	struct entry *entry = place_of(predictor, address, by, &tag);
	bool is_right = entry->target == target;
	learn(entry, target);
	/* What a longer path might tell: in the place of an entry that was of no use. */
	for (uint32_t i = by + 1; predictor->has_paths && !is_right && i < TABLES; i++) {
		entry = place_of(predictor, address, i, &tag);
		if (entry->sure == 0) {
			*entry = (struct entry){ .target = target, .tag = tag, .sure = 1 };
			break;
		}
		entry->sure--;
	}
	return is_right;
}

void target_predictor_take(void *context, uint64_t target)
{
	struct target_predictor *predictor = context;
	predictor->path[predictor->taken++ % PATH_MOST] = target;
}
