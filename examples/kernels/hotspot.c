/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. A 2-D stencil as Rodinia's hotspot: heat flows between the cells of a chip, step by step
 * between two grids, with a parallel loop for each step.
 */
#include "examples/kernels/common/kernel.h"

#include <omp.h>

enum { SIDE = 1024, STEPS = 160 };

struct chip {
	size_t side;
	const float *power;
};

/* Borders keep their temperature. */
static void heat_row(
	const struct chip *chip, const float *restrict from, float *restrict to, size_t row)
{
	size_t side = chip->side;
	const float *here = from + row * side;
	for (size_t x = 1; x + 1 < side; x++) {
		float across = here[x - 1] + here[x + 1] - 2.0f * here[x];
		float along = here[x - side] + here[x + side] - 2.0f * here[x];
		to[row * side + x] = here[x] + 0.1f * across + 0.12f * along +
				     0.05f * (chip->power[row * side + x] - 0.01f * here[x]);
	}
}

static void step(const struct chip *chip, const float *from, float *to)
{
#pragma omp parallel for schedule(static)
	for (size_t row = 1; row < chip->side - 1; row++)
		heat_row(chip, from, to, row);
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Heat on a chip, a stencil (OpenMP).");
	size_t side = kernel_side(&kernel, SIDE, 2), cells = side * side;
	float *heat[2] = { kernel_array(cells, sizeof(float)), kernel_array(cells, sizeof(float)) };
	float *power = kernel_array(cells, sizeof(float));
	uint64_t seed = 1;
	omp_set_num_threads(kernel.threads);
	for (size_t i = 0; i < cells; i++) {
		heat[0][i] = heat[1][i] = 300.0f + (float)(i % 40);
		power[i] = (float)(next_random(&seed) % 16);
	}
	struct chip chip = { side, power };
	kernel_begin_work(&kernel);
	for (int i = 0; i < STEPS; i++)
		step(&chip, heat[i % 2], heat[(i + 1) % 2]);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, heat[STEPS % 2], cells * sizeof(float)));
}
