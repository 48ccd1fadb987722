/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reuse_table.h"

#include "hash.h"

#include <stdlib.h>

enum { TABLE_FIRST_BITS = 8 };

static bool grow_table(struct reuse_table *table)
{
	if (table->entries && table->used * 2 < 1u << table->bits)
		return true;
	struct reuse_table larger = { .bits = table->entries ? table->bits + 1 : TABLE_FIRST_BITS,
		.used = table->used };
	larger.entries = calloc(1u << larger.bits, sizeof(*larger.entries));
	if (!larger.entries)
		return false;
	for (uint32_t i = 0; table->entries && i < 1u << table->bits; i++) {
		if (!table->entries[i].key)
			continue;
		uint32_t at = hash_bits(table->entries[i].key, larger.bits);
		while (larger.entries[at].key)
			at = (at + 1) & ((1u << larger.bits) - 1);
		larger.entries[at] = table->entries[i];
	}
	free(table->entries);
	*table = larger;
	return true;
}

/* Of a table's key, which is never 0: bins are 8 bits, scopes 2, codes 28, sums 26; plus 1. */
enum { CODE_MASK = 0xfffffff };

uint32_t reuse_table_code(uint64_t key)
{
	uint32_t code = (uint32_t)((key - 1) >> 10 & CODE_MASK);
	return code == CODE_MASK ? UINT32_MAX : code;
}

void reuse_table_add(struct reuse_table *table, struct sum *sum, uint32_t code,
	enum raw_scope scope, unsigned bin, double weight)
{
	uint64_t key = (uint64_t)sum->index << 38 | (uint64_t)(code & CODE_MASK) << 10 |
		       (uint64_t)scope << 8 | bin;
	key++;
	if (!grow_table(table))
		return;
	uint32_t at = hash_bits(key, table->bits);
	while (table->entries[at].key && table->entries[at].key != key)
		at = (at + 1) & ((1u << table->bits) - 1);
	struct reuse_entry *entry = &table->entries[at];
	if (!entry->key) {
		table->used++;
		entry->key = key;
		entry->sum = sum;
	}
	entry->count += weight;
	entry->samples++;
}
