/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. Dynamic programming as Rodinia's nw: two sequences are aligned; blocks of the table on one
 * diagonal can be done in parallel, so the number of them grows and shrinks.
 */
#include "examples/kernels/common/kernel.h"

#include <omp.h>

enum { SIDE = 1536, BLOCK = 32, PAIRS = 64, GAP = 3 };

struct table {
	size_t side, stride; /* stride: a row with its border */
	const uint8_t *down, *across;
	int32_t *cells;
};

static int32_t largest(int32_t a, int32_t b, int32_t c)
{
	int32_t ab = a > b ? a : b;
	return ab > c ? ab : c;
}

static void fill_block(const struct table *t, size_t by, size_t bx)
{
	size_t y_end = (by + 1) * BLOCK < t->side ? (by + 1) * BLOCK : t->side;
	size_t x_end = (bx + 1) * BLOCK < t->side ? (bx + 1) * BLOCK : t->side;
	for (size_t y = by * BLOCK + 1; y <= y_end; y++) {
		int32_t *row = t->cells + y * t->stride;
		const int32_t *above = row - t->stride;
		for (size_t x = bx * BLOCK + 1; x <= x_end; x++) {
			int32_t match = t->down[y - 1] == t->across[x - 1] ? 5 : -4;
			row[x] = largest(above[x - 1] + match, above[x] - GAP, row[x - 1] - GAP);
		}
	}
}

static void align(const struct table *t)
{
	size_t blocks = (t->side + BLOCK - 1) / BLOCK;
	for (size_t diagonal = 0; diagonal < 2 * blocks - 1; diagonal++) {
		size_t first = diagonal < blocks ? 0 : diagonal - blocks + 1;
		size_t last = diagonal < blocks ? diagonal : blocks - 1;
#pragma omp parallel for schedule(static)
		for (size_t by = first; by <= last; by++)
			fill_block(t, by, diagonal - by);
	}
}

static void clear_border(const struct table *t)
{
	for (size_t i = 0; i <= t->side; i++)
		t->cells[i] = t->cells[i * t->stride] = -GAP * (int32_t)i;
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Aligns sequences (OpenMP).");
	struct table t = { .side = kernel_side(&kernel, SIDE, 2) };
	size_t length = t.side * PAIRS * 2;
	uint8_t *letters = kernel_array(length, 1);
	uint64_t seed = 7, checksum = 1;
	omp_set_num_threads(kernel.threads);
	t.stride = t.side + 1;
	t.cells = kernel_array(t.stride * t.stride, sizeof(*t.cells));
	for (size_t i = 0; i < length; i++)
		letters[i] = next_random(&seed) % 4;
	kernel_begin_work(&kernel);
	for (size_t pair = 0; pair < PAIRS; pair++) {
		t.down = letters + 2 * pair * t.side;
		t.across = t.down + t.side;
		clear_border(&t);
		align(&t);
		checksum = kernel_mix(checksum, (uint64_t)t.cells[t.stride * t.stride - 1]);
	}
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, checksum);
}
