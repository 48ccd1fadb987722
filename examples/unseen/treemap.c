/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Balanced search trees of allocated nodes (treaps), one for each thread's keys: insertions, then lookups. */
#include "examples/kernels/common/kernel.h"

#include <stdlib.h>

enum { TREES = 16, KEYS = 8000, LOOKUPS = 4 };

struct node {
	struct node *left, *right;
	uint64_t key, priority, value;
};

struct shared {
	size_t trees, keys;
	uint64_t *sums;
};

static struct node *insert(struct node *at, struct node *new)
{
	if (!at)
		return new;
	if (new->key < at->key) {
		at->left = insert(at->left, new);
		if (at->left->priority > at->priority) {
			struct node *up = at->left;
			at->left = up->right;
			up->right = at;
			return up;
		}
	} else {
		at->right = insert(at->right, new);
		if (at->right->priority > at->priority) {
			struct node *up = at->right;
			at->right = up->left;
			up->left = at;
			return up;
		}
	}
	return at;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->trees, thread);
	for (size_t tree = part.begin; tree < part.end; tree++) {
		struct node *root = NULL;
		for (size_t i = 0; i < s->keys; i++) {
			struct node *node = malloc(sizeof(*node));
			if (!node)
				return;
			*node = (struct node){ .key = kernel_mix(tree, i) % (4 * s->keys),
				.priority = kernel_mix(tree + 1, i),
				.value = i };
			root = insert(root, node);
		}
		uint64_t sum = 0;
		for (size_t i = 0; i < s->keys * LOOKUPS; i++) {
			uint64_t key = kernel_mix(tree + 2, i) % (4 * s->keys);
			const struct node *at = root;
			while (at && at->key != key)
				at = key < at->key ? at->left : at->right;
			sum += at ? at->value : 1;
		}
		s->sums[tree] = sum;
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Search trees (threads).");
	struct shared s = { .trees = TREES, .keys = kernel_scaled(&kernel, KEYS) };
	s.sums = kernel_array(TREES, 8);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.sums, TREES * 8));
}
