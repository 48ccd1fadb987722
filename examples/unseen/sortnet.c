/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting networks of sixteen numbers without branches, then merges of what they sorted. */
#include "examples/kernels/common/kernel.h"

#include <stdbool.h>

enum { GROUP = 16, GROUPS = 300000 };

struct shared {
	int32_t *numbers, *merged;
	size_t groups;
};

static inline void order(int32_t *a, int32_t *b)
{
	int32_t low = *a < *b ? *a : *b, high = *a < *b ? *b : *a;
	*a = low;
	*b = high;
}

static void sort_group(int32_t *v)
{
	for (unsigned k = 2; k <= GROUP; k *= 2)
		for (unsigned j = k / 2; j > 0; j /= 2)
			for (unsigned i = 0; i < GROUP; i++) {
				unsigned other = i ^ j;
				if (other > i) {
					if (i & k)
						order(&v[other], &v[i]);
					else
						order(&v[i], &v[other]);
				}
			}
}

static void merge(const int32_t *a, const int32_t *b, int32_t *out)
{
	const int32_t *a_end = a + GROUP, *b_end = b + GROUP;
	while (a < a_end && b < b_end) {
		int32_t x = *a, y = *b;
		bool is_first = x <= y;
		*out++ = is_first ? x : y;
		a += is_first;
		b += !is_first;
	}
	while (a < a_end)
		*out++ = *a++;
	while (b < b_end)
		*out++ = *b++;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->groups / 2, thread);
	for (size_t i = 2 * part.begin; i < 2 * part.end; i += 2) {
		sort_group(s->numbers + i * GROUP);
		sort_group(s->numbers + (i + 1) * GROUP);
		merge(s->numbers + i * GROUP, s->numbers + (i + 1) * GROUP, s->merged + i * GROUP);
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Sorts many short lists (threads).");
	size_t groups = 2 * kernel_scaled(&kernel, GROUPS / 2);
	struct shared s = { kernel_array(groups * GROUP, 4), kernel_array(groups * GROUP, 4),
		groups };
	for (size_t i = 0; i < groups * GROUP; i++)
		s.numbers[i] = (int32_t)(kernel_mix(3, i) >> 33);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.merged, groups * GROUP * 4));
}
