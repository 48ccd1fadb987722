/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lookups in a tree whose nodes have sixteen keys: binary search in a node, then a load that misses. */
#include "examples/kernels/common/kernel.h"

enum { KEYS = 2000000, LOOKUPS = 3000000, WIDTH = 16 };

struct shared {
	uint64_t *levels[10];
	size_t counts[10];
	int height;
	size_t lookups;
	uint64_t *sums;
};

static size_t find(const uint64_t *keys, size_t count, uint64_t key)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (keys[middle] <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->lookups, thread);
	uint64_t sum = 0;
	for (size_t i = part.begin; i < part.end; i++) {
		uint64_t key = kernel_mix(5, i) % (s->counts[0] * 3);
		size_t at = 0;
		for (int level = s->height - 1; level >= 0; level--) {
			size_t from = at * WIDTH, left = s->counts[level] - from;
			size_t in = find(s->levels[level] + from, left < WIDTH ? left : WIDTH, key);
			at = from + (in > 0 ? in - 1 : 0);
		}
		sum += s->levels[0][at] == key ? at : 1;
	}
	__atomic_fetch_add(&s->sums[0], sum, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Looks up keys in a tree (threads).");
	struct shared s = { .lookups = kernel_scaled(&kernel, LOOKUPS) };
	size_t count = kernel_scaled(&kernel, KEYS);
	s.sums = kernel_array(8, 8);
	for (size_t step = 1;; step *= WIDTH) {
		s.counts[s.height] = count;
		uint64_t *keys = s.levels[s.height++] = kernel_array(count, 8);
		for (size_t i = 0; i < count; i++)
			keys[i] = 3 * i * step;
		if (count <= WIDTH)
			break;
		count = (count + WIDTH - 1) / WIDTH;
	}
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, s.sums[0]);
}
