/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the loads of micro-traces get from older stores, byte by byte of the words that these wrote. A word that a trace reads
 * before it writes it has the time of the class's trace before: there are CORE_WORDS places for such words.
 */
#ifndef UARCH_CORE_WORDS_H
#define UARCH_CORE_WORDS_H

#include "uarch/core_parts.h"

struct core_words {
	struct map stores; /* of the trace, by word: the last two, packed */
	struct map written; /* words that the trace stores to, now or later */
	uint16_t *order; /* the trace's stores, as they came: indices into done[] */
	size_t order_count, order_capacity;
	uint64_t carried[CORE_WORDS]; /* of the class: words whose times carry over */
	uint32_t carried_count;
};

/* The stores that a load gets its data from: indices into done[], each once. */
struct core_stored {
	uint16_t stores[CORE_OPERANDS_MAX];
	unsigned count;
	bool is_blocked; /* no one of them has all of its bytes */
};

/* Another trace begins, of another class or of the same. */
void core_words_start_trace(struct core_words *words, bool is_other_class);

/* Before its first load: a store of so many bytes (0: one) that the trace will do. 0 or -ENOMEM. */
int core_words_will_store(struct core_words *words, uint64_t address, unsigned bytes);

void core_words_load(
	struct core_words *words, uint64_t address, unsigned bytes, struct core_stored *ret);

/* `index`: into done[]. 0 or -ENOMEM. */
int core_words_store(struct core_words *words, uint64_t address, unsigned bytes, uint16_t index);

/* How many stores ago that was whose index is given, which core_words_load() told: 1 for the last. */
size_t core_words_back(const struct core_words *words, uint16_t index);

/* The store so many ago, or 0: the trace had not so many. */
uint16_t core_words_ago(const struct core_words *words, size_t back);

/* Into core_trace.last_writer: who wrote the words last whose times carry over. */
void core_words_end_trace(const struct core_words *words, uint16_t *last_writer);

/* For AUTO_RELEASE(core_words); { 0 } is empty. */
void core_words_release(struct core_words *words);

#endif
