/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. An imbalanced main thread as Parsec's freqmine: main alone puts transactions into a prefix tree;
 * then the items are mined in parallel, of which some take far longer than others.
 */
#include "examples/kernels/common/kernel.h"

#include <omp.h>

enum { TRANSACTIONS = 100000, ITEMS = 64, MINED = 16 };

struct node {
	uint32_t parent, same_item; /* 0: none; the root is node 0 */
	uint32_t child, sibling;
	uint32_t item, count;
};

struct tree {
	struct node *nodes;
	uint32_t count;
	uint32_t heads[ITEMS]; /* the first node of each item */
};

static uint32_t child_of(struct tree *tree, uint32_t parent, uint32_t item)
{
	uint32_t child = tree->nodes[parent].child;
	while (child && tree->nodes[child].item != item)
		child = tree->nodes[child].sibling;
	if (!child) {
		child = tree->count++;
		tree->nodes[child] = (struct node){ .parent = parent,
			.same_item = tree->heads[item],
			.sibling = tree->nodes[parent].child,
			.item = item };
		tree->heads[item] = child;
		tree->nodes[parent].child = child;
	}
	return child;
}

/* Items that are often bought together with small numbers: a bit is set with falling probability. */
static void insert(struct tree *tree, uint64_t transaction)
{
	uint32_t at = 0;
	for (uint64_t left = transaction; left; left &= left - 1) {
		at = child_of(tree, at, (uint32_t)__builtin_ctzll(left));
		tree->nodes[at].count++;
	}
}

static uint64_t mine(const struct tree *tree, uint32_t item)
{
	uint64_t together[ITEMS] = { 0 }, sum = 0;
	for (int pass = 0; pass < MINED; pass++)
		for (uint32_t leaf = tree->heads[item]; leaf; leaf = tree->nodes[leaf].same_item)
			for (uint32_t at = tree->nodes[leaf].parent; at;
				at = tree->nodes[at].parent)
				together[tree->nodes[at].item] += tree->nodes[leaf].count;
	for (size_t i = 0; i < ITEMS; i++)
		sum += together[i] * (i + 1);
	return sum;
}

static uint64_t make_transaction(uint64_t *seed)
{
	uint64_t a = next_random(seed), b = next_random(seed), c = next_random(seed);
	uint64_t often = 0xffffU, rarely = a & b & c & next_random(seed);
	return ((a & b) & often) | rarely;
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Mines a prefix tree (OpenMP).");
	size_t count = kernel_scaled(&kernel, TRANSACTIONS);
	struct tree tree = { .nodes = kernel_array(count * 12 + 1, sizeof(struct node)),
		.count = 1 };
	uint64_t *transactions = kernel_array(count, sizeof(*transactions));
	uint64_t seed = 21, sum = 0;
	omp_set_num_threads(kernel.threads);
	for (size_t i = 0; i < count; i++)
		transactions[i] = make_transaction(&seed);
	kernel_begin_work(&kernel);
	for (size_t i = 0; i < count; i++)
		insert(&tree, transactions[i]);
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
	for (uint32_t item = 0; item < ITEMS; item++)
		sum += mine(&tree, item);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_mix(kernel_mix(1, sum), tree.count));
}
