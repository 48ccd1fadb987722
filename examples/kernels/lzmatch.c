/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. Bytes and strings: the match finder of an LZ compressor with chains of a hash table, on
 * blocks of made-up text, which threads take from an atomic counter (pigz-like).
 */
#include "examples/kernels/common/kernel.h"

#include <string.h>

enum {
	BLOCKS = 200,
	BLOCK = 1 << 14,
	BUCKETS = 1 << 11,
	CHAIN = 128,
	SHORTEST = 4,
	LONGEST = 255,
};

struct text {
	uint8_t *bytes;
	size_t blocks, next;
	uint64_t *sizes; /* bits of each block, compressed with more and more effort */
};

struct finder {
	uint16_t heads[BUCKETS], before[BLOCK]; /* place + 1; 0: none */
};

static size_t bucket_of(const uint8_t *at)
{
	uint32_t four = 0;
	memcpy(&four, at, sizeof(four));
	return four * 2654435761U >> 21;
}

static size_t match_length(const uint8_t *a, const uint8_t *b, size_t most)
{
	size_t length = 0;
	while (length < most && a[length] == b[length])
		length++;
	return length;
}

static size_t longest_match(const struct finder *finder, const uint8_t *block, size_t at, int chain)
{
	size_t most = BLOCK - at < LONGEST ? BLOCK - at : LONGEST, longest = 0;
	size_t other = finder->heads[bucket_of(block + at)];
	for (int tries = 0; other && tries < chain; tries++) {
		size_t length = match_length(block + other - 1, block + at, most);
		longest = length > longest ? length : longest;
		other = finder->before[other - 1];
	}
	return longest;
}

static void remember(struct finder *finder, const uint8_t *block, size_t at)
{
	uint16_t *head = &finder->heads[bucket_of(block + at)];
	finder->before[at] = *head;
	*head = (uint16_t)(at + 1);
}

static uint64_t compress(struct finder *finder, const uint8_t *block, int chain)
{
	uint64_t bits = 0;
	memset(finder, 0, sizeof(*finder));
	for (size_t at = 0; at + SHORTEST < BLOCK;) {
		size_t length = longest_match(finder, block, at, chain);
		size_t step = length >= SHORTEST ? length : 1;
		bits += length >= SHORTEST ? 24 : 9;
		for (size_t i = 0; i < step && at + SHORTEST < BLOCK; i++)
			remember(finder, block, at++);
	}
	return bits;
}

static void work(const struct kernel *kernel, int thread, void *shared)
{
	struct text *text = (struct text *)shared;
	struct finder finder;
	(void)kernel;
	(void)thread;
	for (size_t i; (i = __atomic_fetch_add(&text->next, 1, __ATOMIC_RELAXED)) < text->blocks;)
		for (int chain = 2; chain <= CHAIN; chain *= 4)
			text->sizes[i] += compress(&finder, text->bytes + i * BLOCK, chain);
}

/* Words of two to eight letters, the first of them the most often, now and then a new one. */
static void write_text(struct text *text)
{
	uint64_t seed = 22;
	for (size_t at = 0; at < text->blocks * BLOCK;) {
		uint64_t random = next_random(&seed);
		uint64_t word = (random & 255) * (random >> 8 & 255) / 64;
		uint64_t letters = random >> 60 ? kernel_mix(3, word) : random;
		size_t length = 2 + letters % 7;
		for (size_t i = 0; i < length && at < text->blocks * BLOCK; i++)
			text->bytes[at++] = i + 1 < length ? 'a' + (letters >> (8 * i)) % 26 : ' ';
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Finds matches in text (POSIX threads).");
	struct text text = { .blocks = kernel_scaled(&kernel, BLOCKS) };
	text.bytes = kernel_array(text.blocks, BLOCK);
	text.sizes = kernel_array(text.blocks, sizeof(*text.sizes));
	write_text(&text);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &text);
	kernel_end_work(&kernel);
	return kernel_finish(
		&kernel, kernel_hash(1, text.sizes, text.blocks * sizeof(*text.sizes)));
}
