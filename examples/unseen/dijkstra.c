/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shortest paths in a random graph with a binary heap, from several starts. */
#include "examples/kernels/common/kernel.h"

#include <string.h>

enum { NODES = 30000, DEGREE = 6, STARTS = 16 };

struct item {
	uint32_t distance, node;
};

struct shared {
	size_t nodes, starts;
	uint32_t *targets, *lengths;
	uint64_t *sums;
	struct item *heaps;
	uint32_t *distances;
};

static void push(struct item *heap, size_t *count, struct item item)
{
	size_t i = (*count)++;
	for (; i > 0 && heap[(i - 1) / 2].distance > item.distance; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = item;
}

static struct item pop(struct item *heap, size_t *count)
{
	struct item first = heap[0], last = heap[--*count];
	size_t i = 0;
	for (;;) {
		size_t child = 2 * i + 1;
		if (child >= *count)
			break;
		if (child + 1 < *count && heap[child + 1].distance < heap[child].distance)
			child++;
		if (heap[child].distance >= last.distance)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->starts, thread);
	struct item *heap = s->heaps + (size_t)thread * s->nodes * DEGREE;
	uint32_t *distance = s->distances + (size_t)thread * s->nodes;
	for (size_t start = part.begin; start < part.end; start++) {
		size_t count = 0;
		uint64_t sum = 0;
		memset(distance, 0xff, s->nodes * sizeof *distance); /* UINT32_MAX: not reached */
		uint32_t from = (uint32_t)(kernel_mix(1, start) % s->nodes);
		distance[from] = 0;
		push(heap, &count, (struct item){ 0, from });
		while (count > 0) {
			struct item item = pop(heap, &count);
			if (item.distance > distance[item.node])
				continue;
			sum += item.distance;
			for (size_t e = (size_t)item.node * DEGREE;
				e < ((size_t)item.node + 1) * DEGREE; e++) {
				uint32_t to = s->targets[e], d = item.distance + s->lengths[e];
				if (d < distance[to]) {
					distance[to] = d;
					push(heap, &count, (struct item){ d, to });
				}
			}
		}
		s->sums[start] = sum;
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Shortest paths (threads).");
	struct shared s = { .nodes = kernel_scaled(&kernel, NODES), .starts = STARTS };
	s.targets = kernel_array(s.nodes * DEGREE, 4);
	s.lengths = kernel_array(s.nodes * DEGREE, 4);
	s.sums = kernel_array(STARTS, 8);
	s.heaps = kernel_array(s.nodes * DEGREE * (size_t)kernel.threads, sizeof(struct item));
	s.distances = kernel_array(s.nodes * (size_t)kernel.threads, 4);
	for (size_t i = 0; i < s.nodes * DEGREE; i++) {
		s.targets[i] = (uint32_t)(kernel_mix(2, i) % s.nodes);
		s.lengths[i] = (uint32_t)(1 + kernel_mix(3, i) % 100);
	}
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.sums, STARTS * 8));
}
