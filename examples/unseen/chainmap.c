/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash map with chains of allocated nodes and a lock for each stripe: insertions, lookups, removals. */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>
#include <stdlib.h>

enum { STRIPES = 64, BUCKETS = 1 << 17, OPERATIONS = 2000000 };

struct node {
	struct node *next;
	uint64_t key, value;
};

struct stripe {
	pthread_mutex_t lock;
	uint64_t sum;
	char rest[64];
};

struct shared {
	struct node **buckets;
	struct stripe stripes[STRIPES];
	size_t bucket_count, operations, keys;
};

static void operate(struct shared *s, size_t i)
{
	uint64_t key = kernel_mix(11, i) % s->keys, hash = kernel_mix(1, key) >> 16;
	struct node **place = &s->buckets[hash % s->bucket_count];
	struct stripe *stripe = &s->stripes[hash % s->bucket_count % STRIPES];
	(void)pthread_mutex_lock(&stripe->lock); /* a plain lock that exists */
	while (*place && (*place)->key != key)
		place = &(*place)->next;
	if (i % 4 == 0 && !*place) {
		struct node *node = malloc(sizeof(*node));
		if (node) {
			*node = (struct node){ NULL, key, 1 };
			*place = node;
		}
	} else if (i % 16 == 5 && *place) {
		struct node *gone = *place;
		*place = gone->next;
		free(gone);
	} else if (*place) {
		stripe->sum += (*place)->value;
	}
	(void)pthread_mutex_unlock(&stripe->lock);
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->operations, thread);
	for (size_t i = part.begin; i < part.end; i++)
		operate(s, i);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "A hash map with chains (threads).");
	static struct shared s;
	s.bucket_count = kernel_scaled(&kernel, BUCKETS);
	s.keys = 2 * s.bucket_count;
	s.operations = kernel_scaled(&kernel, OPERATIONS);
	s.buckets = kernel_array(s.bucket_count, sizeof(*s.buckets));
	for (int i = 0; i < STRIPES; i++)
		(void)pthread_mutex_init(&s.stripes[i].lock, NULL);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, s.operations); /* what is found depends on the order */
}
