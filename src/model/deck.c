/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/deck.h"

#include <errno.h>
#include <string.h>

struct deck {
	uint64_t *cards, *left; /* of each outcome: of a full deck, and now */
	uint64_t sum, left_sum;
	uint32_t count, last;
};

int deck_new(struct model *memory, const double *shares, uint32_t count, uint64_t draws,
	uint32_t last, struct deck **ret)
{
	struct deck *deck = model_alloc(memory, 1, sizeof *deck);
	uint64_t *cards = model_alloc(memory, 2 * (size_t)count + 1, sizeof *cards);
	if (!deck || !cards)
		return -ENOMEM;
	*deck = (struct deck){
		.cards = cards, .left = cards + count, .count = count, .last = last
	};
	for (uint32_t i = 0; i < count; i++) {
		cards[i] = (uint64_t)(shares[i] * (double)draws + 0.5);
		if (i == last && cards[i] > 0)
			cards[i]--; /* it lies at the bottom */
		deck->sum += cards[i];
	}
	memcpy(deck->left, cards, count * sizeof *cards);
	deck->left_sum = deck->sum;
	*ret = deck->sum > 0 || last < count ? deck : NULL;
	return 0;
}

uint32_t deck_draw(struct deck *deck, struct rng *rng)
{
	if (deck->left_sum == 0 && deck->last < deck->count)
		return deck->last;
	if (deck->left_sum == 0) {
		memcpy(deck->left, deck->cards, deck->count * sizeof *deck->cards);
		deck->left_sum = deck->sum;
	}
	uint64_t draw = rng_below(rng, deck->left_sum);
	uint32_t i = 0;
	for (; i + 1 < deck->count && draw >= deck->left[i]; i++)
		draw -= deck->left[i];
	deck->left[i]--;
	deck->left_sum--;
	return i;
}
