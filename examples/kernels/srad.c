/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX threads. A 2-D stencil with divisions as Rodinia's srad: speckles of an image are smoothed in
 * two sweeps, coefficients and then the image, with a barrier after each.
 */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>

enum { SIDE = 512, ITERATIONS = 240 };

struct image {
	size_t side;
	float *pixels, *coefficients;
	pthread_barrier_t barrier;
};

static size_t up(size_t row)
{
	return row > 0 ? row - 1 : 0;
}

static size_t down(size_t row, size_t side)
{
	return row + 1 < side ? row + 1 : row;
}

static void find_coefficients(struct image *image, size_t y)
{
	size_t side = image->side;
	const float *here = image->pixels + y * side;
	const float *above = image->pixels + up(y) * side,
		    *below = image->pixels + down(y, side) * side;
	for (size_t x = 0; x < side; x++) {
		float value = here[x];
		float n = above[x] - value, s = below[x] - value;
		float w = here[up(x)] - value, e = here[down(x, side)] - value;
		float gradient = (n * n + s * s + w * w + e * e) / (value * value);
		float laplace = (n + s + w + e) / value;
		float part = 1.0f + 0.25f * laplace;
		float q = (0.5f * gradient - 0.0625f * laplace * laplace) / (part * part);
		float c = 1.0f / (1.0f + (q - 0.05f) / (0.05f * 1.05f));
		image->coefficients[y * side + x] = c < 0 ? 0 : c > 1 ? 1 : c;
	}
}

/* Uses coefficients of this row and the next only, so that a row may change in place. */
static void diffuse(struct image *image, size_t y)
{
	size_t side = image->side;
	float *here = image->pixels + y * side;
	const float *c = image->coefficients + y * side;
	const float *below = image->coefficients + down(y, side) * side;
	for (size_t x = 0; x < side; x++) {
		float flow = c[x] + below[x] + c[down(x, side)] - 3.0f * c[up(x)];
		here[x] *= 1.0f + 0.01f * flow;
	}
}

static void smooth(const struct kernel *kernel, int thread, void *shared)
{
	struct image *image = (struct image *)shared;
	struct kernel_part rows = kernel_part(kernel, image->side, thread);
	for (int i = 0; i < ITERATIONS; i++) {
		for (size_t y = rows.begin; y < rows.end; y++)
			find_coefficients(image, y);
		(void)pthread_barrier_wait(&image->barrier); /* cannot fail */
		for (size_t y = rows.begin; y < rows.end; y++)
			diffuse(image, y);
		(void)pthread_barrier_wait(&image->barrier);
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel =
		kernel_start(argc, argv, "Smooths an image, a stencil (POSIX threads).");
	struct image image = { .side = kernel_side(&kernel, SIDE, 2) };
	size_t count = image.side * image.side;
	uint64_t seed = 2;
	image.pixels = kernel_array(count, sizeof(float));
	image.coefficients = kernel_array(count, sizeof(float));
	for (size_t i = 0; i < count; i++)
		image.pixels[i] = 1.0f + (float)(next_random(&seed) % 256) / 256.0f;
	(void)pthread_barrier_init(&image.barrier, NULL, (unsigned)kernel.threads);
	kernel_begin_work(&kernel);
	kernel_run_team(&kernel, smooth, &image);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, image.pixels, count * sizeof(float)));
}
