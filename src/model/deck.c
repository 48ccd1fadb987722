/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/deck.h"

#include <errno.h>
#include <string.h>

enum { BLOCK = 32 };

struct deck {
	uint64_t *cards, *left; /* of each outcome: of a full deck, and now */
	uint64_t *blocks; /* sums of BLOCK of those that are left */
	uint64_t sum, left_sum;
	uint32_t count, last;
};

static void fill(struct deck *deck)
{
	memcpy(deck->left, deck->cards, deck->count * sizeof *deck->cards);
	deck->left_sum = deck->sum;
	memset(deck->blocks, 0, (deck->count / BLOCK + 1) * sizeof *deck->blocks);
	for (uint32_t i = 0; i < deck->count; i++)
		deck->blocks[i / BLOCK] += deck->left[i];
}

int deck_new(struct model *memory, const double *shares, uint32_t count, uint64_t draws,
	uint32_t last, struct deck **ret)
{
	struct deck *deck = model_alloc(memory, 1, sizeof *deck);
	size_t numbers = 2 * (size_t)count + count / BLOCK + 1;
	uint64_t *cards = model_alloc(memory, numbers, sizeof *cards);
	if (!deck || !cards)
		return -ENOMEM;
	*deck = (struct deck){ .cards = cards,
		.left = cards + count,
		.blocks = cards + 2 * (size_t)count,
		.count = count,
		.last = last };
	for (uint32_t i = 0; i < count; i++) {
		cards[i] = (uint64_t)(shares[i] * (double)draws + 0.5);
		if (i == last && cards[i] > 0)
			cards[i]--; /* it lies at the bottom */
		deck->sum += cards[i];
	}
	fill(deck);
	*ret = deck->sum > 0 || last < count ? deck : NULL;
	return 0;
}

uint32_t deck_draw(struct deck *deck, struct rng *rng)
{
	if (deck->left_sum == 0 && deck->last < deck->count)
		return deck->last;
	if (deck->left_sum == 0)
		fill(deck);
	uint64_t draw = rng_below(rng, deck->left_sum);
	uint32_t block = 0;
	for (; draw >= deck->blocks[block]; block++)
		draw -= deck->blocks[block];
	uint32_t i = block * BLOCK;
	for (; draw >= deck->left[i]; i++)
		draw -= deck->left[i];
	deck->left[i]--;
	deck->blocks[block]--;
	deck->left_sum--;
	return i;
}
