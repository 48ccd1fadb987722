/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP. Many bodies as Rodinia's lavaMD: space is cut into boxes, and each particle feels those of its own
 * and of the neighbouring boxes; much arithmetic on little data.
 */
#include "examples/kernels/common/functions.h"
#include "examples/kernels/common/kernel.h"

#include <omp.h>

enum { SIDE = 12, PARTICLES = 40 };

struct box {
	double x[PARTICLES], y[PARTICLES], z[PARTICLES], charge[PARTICLES];
	double force[PARTICLES];
};

static double pull(const struct box *from, double x, double y, double z)
{
	double sum = 0;
	for (size_t i = 0; i < PARTICLES; i++) {
		double dx = from->x[i] - x, dy = from->y[i] - y, dz = from->z[i] - z;
		sum += from->charge[i] * kernel_exp(-0.5 * (dx * dx + dy * dy + dz * dz));
	}
	return sum;
}

static void do_box(struct box *boxes, size_t side, size_t at)
{
	struct box *box = &boxes[at];
	size_t x = at % side, y = at / side % side, z = at / side / side;
	for (size_t nz = z > 0 ? z - 1 : 0; nz <= z + 1 && nz < side; nz++) {
		for (size_t ny = y > 0 ? y - 1 : 0; ny <= y + 1 && ny < side; ny++) {
			for (size_t nx = x > 0 ? x - 1 : 0; nx <= x + 1 && nx < side; nx++) {
				const struct box *other = &boxes[(nz * side + ny) * side + nx];
				for (size_t i = 0; i < PARTICLES; i++)
					box->force[i] +=
						pull(other, box->x[i], box->y[i], box->z[i]);
			}
		}
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Particles in boxes (OpenMP).");
	size_t side = kernel_side(&kernel, SIDE, 3), count = side * side * side;
	struct box *boxes = kernel_array(count, sizeof(*boxes));
	uint64_t seed = 19, checksum = 1;
	omp_set_num_threads(kernel.threads);
	for (size_t at = 0; at < count; at++) {
		for (size_t i = 0; i < PARTICLES; i++) {
			size_t row = at / side;
			boxes[at].x[i] = (double)(at % side) + next_uniform(&seed);
			boxes[at].y[i] = (double)(row % side) + next_uniform(&seed);
			size_t layer = row / side;
			boxes[at].z[i] = (double)layer + next_uniform(&seed);
			boxes[at].charge[i] = next_uniform(&seed);
		}
	}
	kernel_begin_work(&kernel);
#pragma omp parallel for schedule(dynamic, 2)
	for (size_t at = 0; at < count; at++)
		do_box(boxes, side, at);
	kernel_end_work(&kernel);
	for (size_t at = 0; at < count; at++)
		checksum = kernel_mix(checksum, (uint64_t)(boxes[at].force[at % PARTICLES] * 1e6));
	return kernel_finish(&kernel, checksum);
}
