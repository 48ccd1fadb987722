/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/branch_streams.h"

#include "base/rng.h"

#include <stdlib.h>

enum { NODES_MAX = 400, CHILDREN_MAX = 6, SYMBOLS_MAX = 8, DEPTH_MAX = 4 };

enum node_kind {
	NODE_BIASED, /* taken with a probability */
	NODE_PERIODIC, /* a pattern of bits, again and again */
	NODE_FOLLOWS, /* as an earlier outcome was, mostly */
	NODE_SWITCH, /* compares with one symbol after the other */
	NODE_LOOP, /* at its end, taken but for the last round */
	NODE_KINDS,
};

struct node {
	enum node_kind kind;
	uint64_t address;
	double probability;
	uint64_t pattern;
	uint32_t period, at;
	uint32_t rounds, rounds_spread;
	uint32_t follows; /* outcomes back */
	uint32_t symbols, symbol, next[SYMBOLS_MAX]; /* the usual successor */
	uint32_t child_count;
	struct node *children[CHILDREN_MAX];
};

struct maker {
	bool is_regular; /* loops of as many rounds each time, and few conditions */
	struct rng rng;
	struct node nodes[NODES_MAX];
	size_t node_count;
	uint64_t history;
	struct branch *branches;
	size_t count, capacity;
};

static void emit(struct maker *maker, uint64_t address, bool is_taken)
{
	if (maker->count < maker->capacity)
		maker->branches[maker->count++] = (struct branch){ address, is_taken };
	maker->history = maker->history << 1 | is_taken;
}

/* Most conditions of programs are lopsided. */
static double make_probability(struct rng *rng)
{
	double u = rng_uniform(rng);
	double p = u * u * 0.5;
	return rng_below(rng, 2) ? p : 1 - p;
}

static struct node *make_node(struct maker *maker, unsigned depth)
{
	if (maker->node_count == NODES_MAX)
		return NULL;
	struct rng *rng = &maker->rng;
	struct node *node = &maker->nodes[maker->node_count];
	unsigned one_in = maker->is_regular ? 2 : 3;
	bool is_inner = depth < DEPTH_MAX && (depth == 0 || rng_below(rng, one_in) == 0);
	*node = (struct node){
		.kind = is_inner            ? NODE_LOOP
			: maker->is_regular ? NODE_BIASED
					    : (enum node_kind)rng_below(rng, NODE_LOOP),
		.address = 0x400000 + maker->node_count * 64 + rng_below(rng, 24),
		.probability = make_probability(rng),
		.pattern = rng_next(rng),
		.period = 2 + (uint32_t)rng_below(rng, rng_below(rng, 2) ? 6 : 40),
		.rounds = 1 + (uint32_t)rng_below(rng, rng_below(rng, 2) ? 8 : 60),
		.follows = (uint32_t)rng_below(rng, rng_below(rng, 2) ? 4 : 16),
		.symbols = 2 + (uint32_t)rng_below(rng, SYMBOLS_MAX - 1),
	};
	if (maker->is_regular) {
		node->rounds = 2 + (uint32_t)rng_below(rng, rng_below(rng, 2) ? 16 : 120);
		node->probability *= 0.05;
	}
	node->rounds_spread = rng_below(rng, 2) ? (uint32_t)rng_below(rng, node->rounds + 1) : 0;
	if (maker->is_regular)
		node->rounds_spread = 0;
	for (unsigned i = 0; i < SYMBOLS_MAX; i++)
		node->next[i] = (uint32_t)rng_below(rng, node->symbols);
	maker->node_count++;
	if (!is_inner)
		return node;
	uint32_t children = 1 + (uint32_t)rng_below(rng, maker->is_regular ? 2 : CHILDREN_MAX);
	for (uint32_t i = 0; i < children; i++) {
		struct node *child = make_node(maker, depth + 1);
		if (child)
			node->children[node->child_count++] = child;
	}
	return node;
}

/* The next symbol is mostly the usual one. */
static void run_switch(struct maker *maker, struct node *node)
{
	bool is_usual = rng_uniform(&maker->rng) < 0.5 + node->probability / 2;
	node->symbol = is_usual ? node->next[node->symbol]
				: (uint32_t)rng_below(&maker->rng, node->symbols);
	for (uint32_t i = 0; i + 1 < node->symbols; i++) {
		emit(maker, node->address + 4 * i, node->symbol == i);
		if (node->symbol == i)
			return;
	}
}

static void run_leaf(struct maker *maker, struct node *node)
{
	double chance = rng_uniform(&maker->rng);
	bool usual = maker->history >> node->follows & 1;
	switch (node->kind) {
	case NODE_BIASED:
		emit(maker, node->address, chance < node->probability);
		break;
	case NODE_PERIODIC:
		emit(maker, node->address, node->pattern >> node->at & 1);
		node->at = (node->at + 1) % node->period;
		break;
	case NODE_FOLLOWS:
		/* At most a quarter otherwise. */
		emit(maker, node->address, usual != (chance < node->probability / 4));
		break;
	default:
		run_switch(maker, node);
	}
}

static void run(struct maker *maker, struct node *node)
{
	if (node->kind != NODE_LOOP) {
		run_leaf(maker, node);
		return;
	}
	uint64_t rounds = node->rounds;
	if (node->rounds_spread > 0)
		rounds += rng_below(&maker->rng, node->rounds_spread);
	for (uint64_t i = 0; i < rounds && maker->count < maker->capacity; i++) {
		for (uint32_t k = 0; k < node->child_count; k++)
			run(maker, node->children[k]);
		emit(maker, node->address, i + 1 < rounds);
	}
}

struct branch *branch_stream_new(uint64_t number, size_t count)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	struct branch *branches = calloc(count + 1, sizeof(*branches));
	if (!maker || !branches) {
		free(maker);
		free(branches);
		return NULL;
	}
	rng_init(&maker->rng, number);
	maker->is_regular = number % 3 == 2;
	maker->branches = branches;
	maker->capacity = count;
	struct node *top = make_node(maker, 0);
	while (maker->count < count)
		run(maker, top);
	free(maker);
	return branches;
}
