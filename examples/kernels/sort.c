/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. Branches that nobody can foresee: pieces of an array are sorted by quicksort, then merged in
 * pairs, with half as many pairs each time: the last merge is one thread's.
 */
#include "examples/kernels/common/kernel.h"

#include <omp.h>
#include <stdbool.h>

enum { KEYS = 4000000, PIECES = 16, FEW = 12 };

static void insertion_sort(uint32_t *keys, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint32_t key = keys[i];
		size_t at = i;
		for (; at > 0 && keys[at - 1] > key; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

static uint32_t median(uint32_t a, uint32_t b, uint32_t c)
{
	if (a > b)
		return b > c ? b : a > c ? c : a;
	return a > c ? a : b > c ? c : b;
}

static void quick_sort(uint32_t *keys, size_t count)
{
	while (count > FEW) {
		uint32_t pivot = median(keys[0], keys[count / 2], keys[count - 1]);
		size_t low = 0, high = count - 1;
		for (;;) {
			while (keys[low] < pivot)
				low++;
			while (keys[high] > pivot)
				high--;
			if (low >= high)
				break;
			uint32_t key = keys[low];
			keys[low++] = keys[high];
			keys[high--] = key;
		}
		quick_sort(keys, low);
		keys += low;
		count -= low;
	}
	insertion_sort(keys, count);
}

static void merge(const uint32_t *keys, size_t begin, size_t middle, size_t end, uint32_t *to)
{
	size_t a = begin, b = middle;
	for (size_t i = begin; i < end; i++) {
		bool is_first = a < middle && (b == end || keys[a] <= keys[b]);
		to[i] = is_first ? keys[a++] : keys[b++];
	}
}

static size_t piece_begin(size_t count, size_t piece)
{
	return count * piece / PIECES;
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Sorts and merges (OpenMP).");
	size_t count = kernel_scaled(&kernel, KEYS);
	uint32_t *from = kernel_array(count, sizeof(*from)), *to = kernel_array(count, sizeof(*to));
	uint64_t seed = 16;
	omp_set_num_threads(kernel.threads);
	for (size_t i = 0; i < count; i++)
		from[i] = (uint32_t)next_random(&seed);
	kernel_begin_work(&kernel);
#pragma omp parallel for schedule(dynamic)
	for (size_t i = 0; i < PIECES; i++)
		quick_sort(from + piece_begin(count, i),
			piece_begin(count, i + 1) - piece_begin(count, i));
	for (size_t width = 1; width < PIECES; width *= 2) {
#pragma omp parallel for schedule(dynamic)
		for (size_t i = 0; i < PIECES; i += 2 * width)
			merge(from, piece_begin(count, i), piece_begin(count, i + width),
				piece_begin(count, i + 2 * width), to);
		uint32_t *merged = to;
		to = from;
		from = merged;
	}
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, from, count * sizeof(*from)));
}
