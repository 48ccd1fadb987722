/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/tage.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TABLES = 6,
	TAG_BITS = 10,
	HISTORY_MAX = 130,
	COUNTER_TAKEN = 4, /* of 0 to 7 */
	USEFUL_MAX = 3,
	AGE_EVERY = 1 << 18, /* branches between two halvings of all usefulness */
	NONE = -1,
};

/* Outcomes that each table looks back: a geometric row. */
static const uint8_t lengths[TABLES] = { 5, 9, 18, 34, 66, 130 };

/* The last `length` outcomes, folded into `bits` by exclusive or. */
struct fold {
	uint32_t value, bits, length;
};

struct entry {
	uint16_t tag;
	uint8_t counter, useful;
};

struct table {
	struct entry *entries;
	struct fold index, tag, tag_again;
};

struct tage {
	uint8_t *base; /* 2-bit counters */
	uint32_t base_mask;
	uint32_t table_bits;
	struct table tables[TABLES];
	uint8_t history[HISTORY_MAX + 1]; /* a ring */
	uint32_t at;
	uint32_t prefer_base; /* 0 to 15: 8 and up, entries that are new are not believed */
	uint32_t tick, draw;
};

int tage_new(uint32_t bytes, struct tage **ret)
{
	struct tage *tage = calloc(1, sizeof(*tage));
	if (!tage)
		return -ENOMEM;
	/* An eighth for the base, the rest for entries of 15 bits: 4 KiB give 4096 and 6 times 256. */
	tage->base_mask = bytes - 1;
	tage->table_bits = 31 - (uint32_t)__builtin_clz(bytes / 16);
	tage->base = calloc(bytes, 1);
	bool is_whole = tage->base;
	for (unsigned i = 0; i < TABLES; i++) {
		struct table *table = &tage->tables[i];
		table->entries = calloc(UINT32_C(1) << tage->table_bits, sizeof(*table->entries));
		table->index = (struct fold){ .bits = tage->table_bits, .length = lengths[i] };
		table->tag = (struct fold){ .bits = TAG_BITS, .length = lengths[i] };
		table->tag_again = (struct fold){ .bits = TAG_BITS - 1, .length = lengths[i] };
		is_whole = is_whole && table->entries;
	}
	if (!is_whole) {
		tage_free(tage);
		return -ENOMEM;
	}
	*ret = tage;
	return 0;
}

void tage_free(struct tage *tage)
{
	if (!tage)
		return;
	for (unsigned i = 0; i < TABLES; i++)
		free(tage->tables[i].entries);
	free(tage->base);
	free(tage);
}

static void fold_add(struct fold *fold, unsigned newest, unsigned oldest)
{
	fold->value = fold->value << 1 | newest;
	fold->value ^= oldest << fold->length % fold->bits;
	fold->value ^= fold->value >> fold->bits;
	fold->value &= (1u << fold->bits) - 1;
}

static void history_add(struct tage *tage, bool is_taken)
{
	for (unsigned i = 0; i < TABLES; i++) {
		struct table *table = &tage->tables[i];
		uint32_t from = tage->at + HISTORY_MAX + 1 - lengths[i];
		unsigned oldest = tage->history[from % (HISTORY_MAX + 1)];
		fold_add(&table->index, is_taken, oldest);
		fold_add(&table->tag, is_taken, oldest);
		fold_add(&table->tag_again, is_taken, oldest);
	}
	tage->history[tage->at] = is_taken;
	tage->at = (tage->at + 1) % (HISTORY_MAX + 1);
}

static struct entry *entry_at(const struct tage *tage, unsigned number, uint64_t address)
{
	const struct table *table = &tage->tables[number];
	uint64_t at = address ^ address >> (tage->table_bits - number) ^ table->index.value;
	return &table->entries[at & ((UINT32_C(1) << tage->table_bits) - 1)];
}

static uint16_t tag_at(const struct tage *tage, unsigned number, uint64_t address)
{
	const struct table *table = &tage->tables[number];
	uint64_t tag = address ^ address >> TAG_BITS ^ table->tag.value ^
		       (uint64_t)table->tag_again.value << 1;
	/* 0 is an empty entry. */
	return (uint16_t)(tag % ((1 << TAG_BITS) - 1) + 1);
}

/* The longest table below `below` with an entry for this branch and history, or NONE. */
static int find_match(const struct tage *tage, uint64_t address, int below)
{
	for (int i = below - 1; i >= 0; i--)
		if (entry_at(tage, (unsigned)i, address)->tag == tag_at(tage, (unsigned)i, address))
			return i;
	return NONE;
}

static void learn(uint8_t *counter, bool up, uint8_t most)
{
	if (up && *counter < most)
		++*counter;
	else if (!up && *counter > 0)
		--*counter;
}

static bool says(const struct tage *tage, int table, uint64_t address)
{
	if (table == NONE)
		return tage->base[address & tage->base_mask] >= 2;
	return entry_at(tage, (unsigned)table, address)->counter >= COUNTER_TAKEN;
}

/* After a misprediction: an entry in a longer table, if one there has not been useful lately. */
static void allocate(struct tage *tage, int after, uint64_t address, bool is_taken)
{
	unsigned first = (unsigned)(after + 1);
	/* At times one further on, so that not all of them crowd the first. */
	tage->draw = tage->draw * 1103515245 + 12345;
	if (first + 1 < TABLES && (tage->draw >> 16 & 3) == 0)
		first++;
	for (unsigned i = first; i < TABLES; i++) {
		struct entry *entry = entry_at(tage, i, address);
		if (entry->useful > 0)
			continue;
		*entry = (struct entry){ .tag = tag_at(tage, i, address),
			.counter = is_taken ? COUNTER_TAKEN : COUNTER_TAKEN - 1 };
		return;
	}
	for (unsigned i = first; i < TABLES; i++)
		entry_at(tage, i, address)->useful--;
}

static void age(struct tage *tage)
{
	if (++tage->tick % AGE_EVERY != 0)
		return;
	for (unsigned i = 0; i < TABLES; i++)
		for (uint32_t k = 0; k < UINT32_C(1) << tage->table_bits; k++)
			tage->tables[i].entries[k].useful /= 2;
}

bool tage_predict(struct tage *tage, uint64_t address, bool is_taken)
{
	int longest = find_match(tage, address, TABLES);
	int next = longest == NONE ? NONE : find_match(tage, address, longest);
	bool long_says = says(tage, longest, address), next_says = says(tage, next, address);
	bool predicted = long_says;
	if (longest != NONE) {
		struct entry *entry = entry_at(tage, (unsigned)longest, address);
		bool is_weak =
			entry->counter == COUNTER_TAKEN || entry->counter == COUNTER_TAKEN - 1;
		bool is_new = is_weak && entry->useful == 0;
		if (is_new && tage->prefer_base >= 8)
			predicted = next_says;
		if (long_says != next_says) {
			uint8_t prefer = (uint8_t)tage->prefer_base;
			if (is_new)
				learn(&prefer, next_says == is_taken, 15);
			tage->prefer_base = prefer;
			learn(&entry->useful, long_says == is_taken, USEFUL_MAX);
		}
	}
	bool is_last = longest == TABLES - 1;
	if (predicted != is_taken && !is_last)
		allocate(tage, longest, address, is_taken);
	if (longest == NONE)
		learn(&tage->base[address & tage->base_mask], is_taken, 3);
	else
		learn(&entry_at(tage, (unsigned)longest, address)->counter, is_taken, 7);
	age(tage);
	history_add(tage, is_taken);
	return predicted;
}
