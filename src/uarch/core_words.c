/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/core_words.h"

#include "base/mem.h"

#include <stdlib.h>

enum {
	FIRST_WORD = CORE_REGISTERS - CORE_WORDS, /* in done[] */
	WORD_BYTES = 8, /* in which stores are looked up by later loads */
};

void core_words_start_trace(struct core_words *words, bool is_other_class)
{
	map_release(&words->stores);
	map_release(&words->written);
	words->stores = words->written = (struct map){ 0 };
	words->order_count = 0;
	if (is_other_class)
		words->carried_count = 0;
}

void core_words_release(struct core_words *words)
{
	map_release(&words->stores);
	map_release(&words->written);
	free(words->order);
}

/* The words of an access, from the first on. */
static uint64_t word_count(uint64_t address, unsigned bytes)
{
	return (address % WORD_BYTES + (bytes ? bytes : 1) - 1) / WORD_BYTES + 1;
}

/* The bytes of its word i that an access is to: bit n for the word's byte n. */
static uint8_t word_mask(uint64_t i, uint64_t address, unsigned bytes)
{
	uint64_t from = i == 0 ? address % WORD_BYTES : 0;
	uint64_t to = address % WORD_BYTES + (bytes ? bytes : 1) - i * WORD_BYTES;
	return (uint8_t)((1u << (to < WORD_BYTES ? to : WORD_BYTES)) - (1u << from));
}

/* The last two stores to a word of which bytes are left; index 0: none. */
struct word_stores {
	uint16_t last, older; /* index into done[] */
	uint8_t last_mask, older_mask;
};

static struct word_stores word_unpack(uint64_t packed)
{
	return (struct word_stores){ (uint16_t)packed, (uint16_t)(packed >> 16),
		(uint8_t)(packed >> 32), (uint8_t)(packed >> 40) };
}

static uint64_t word_pack(struct word_stores stores)
{
	return stores.last | (uint64_t)stores.older << 16 | (uint64_t)stores.last_mask << 32 |
	       (uint64_t)stores.older_mask << 40;
}

int core_words_will_store(struct core_words *words, uint64_t address, unsigned bytes)
{
	uint64_t first = address / WORD_BYTES, count = word_count(address, bytes);
	uint64_t *added = NULL;
	for (uint64_t i = 0; i < count; i++) {
		int rc = map_add(&words->written, first + i, 0, 0, &added);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/*
 * Where the time of a word is that the trace stores to later: it is from the trace before. It may take the place of one that
 * this trace does not store to, so that a loop which walked through memory does not leave chains without places. 0: not
 * followed.
 */
static uint16_t find_carried(struct core_words *words, uint64_t word)
{
	uint32_t place = 0, count = words->carried_count;
	if (!map_find(&words->written, word, 0))
		return 0;
	while (place < count && words->carried[place] != word)
		place++;
	if (place == count && count < CORE_WORDS)
		words->carried_count++;
	else if (place == count)
		for (place = 0; place < count; place++)
			if (!map_find(&words->written, words->carried[place], 0))
				break;
	if (place == CORE_WORDS)
		return 0;
	words->carried[place] = word;
	return (uint16_t)(FIRST_WORD + place);
}

static void add_store(struct core_stored *stored, uint16_t store)
{
	for (unsigned i = 0; i < stored->count; i++)
		if (stored->stores[i] == store)
			return;
	if (stored->count < CORE_OPERANDS_MAX)
		stored->stores[stored->count++] = store;
}

/* The bytes that a store has; they count as far as the first store of all has them. */
static unsigned take_store(struct core_stored *stored, uint16_t store, uint8_t mask)
{
	if (!store || !mask)
		return 0;
	add_store(stored, store);
	return stored->stores[0] == store ? (unsigned)__builtin_popcount(mask) : 0;
}

void core_words_load(
	struct core_words *words, uint64_t address, unsigned bytes, struct core_stored *ret)
{
	uint64_t first = address / WORD_BYTES, count = word_count(address, bytes);
	unsigned of_first = 0;
	ret->count = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint8_t mask = word_mask(i, address, bytes);
		const uint64_t *packed = map_find(&words->stores, first + i, 0);
		struct word_stores stores = { .last_mask = UINT8_MAX };
		if (packed)
			stores = word_unpack(*packed);
		else
			stores.last = find_carried(words, first + i);
		of_first += take_store(ret, stores.last, mask & stores.last_mask);
		of_first += take_store(
			ret, stores.older, mask & stores.older_mask & (uint8_t)~stores.last_mask);
	}
	ret->is_blocked = ret->count > 0 && of_first < (bytes ? bytes : 1);
}

int core_words_store(struct core_words *words, uint64_t address, unsigned bytes, uint16_t index)
{
	uint64_t first = address / WORD_BYTES, count = word_count(address, bytes);
	int grown = mem_grow(&words->order, &words->order_capacity, words->order_count + 1,
		sizeof(*words->order));
	if (grown != 0)
		return grown;
	words->order[words->order_count++] = index;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t *packed = NULL;
		int rc = map_add(&words->stores, first + i, 0, 0, &packed);
		if (rc < 0)
			return rc;
		struct word_stores stores = word_unpack(*packed);
		uint8_t mask = word_mask(i, address, bytes);
		if (stores.last_mask & (uint8_t)~mask) {
			stores.older = stores.last;
			stores.older_mask = stores.last_mask;
		}
		stores.last = index;
		stores.last_mask = mask;
		*packed = word_pack(stores);
	}
	return 0;
}

size_t core_words_back(const struct core_words *words, uint16_t index)
{
	size_t from = 0, to = words->order_count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (words->order[middle] < index)
			from = middle + 1;
		else
			to = middle;
	}
	return words->order_count - from;
}

uint16_t core_words_ago(const struct core_words *words, size_t back)
{
	return back > 0 && back <= words->order_count ? words->order[words->order_count - back] : 0;
}

void core_words_end_trace(const struct core_words *words, uint16_t *last_writer)
{
	for (uint32_t i = 0; i < words->carried_count; i++) {
		const uint64_t *store = map_find(&words->stores, words->carried[i], 0);
		if (store)
			last_writer[FIRST_WORD + i] = (uint16_t)*store;
	}
}
