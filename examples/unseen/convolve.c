/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolution of an image in single precision, five by five, and its gradient; a barrier between the two. */
#include "examples/kernels/common/kernel.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { SIDE = 1100, ROUNDS = 4, REACH = 2 };

struct shared {
	float *from, *to, weights[2 * REACH + 1][2 * REACH + 1];
	size_t side;
	pthread_barrier_t barrier;
};

static float weigh(const struct shared *s, size_t y, size_t x)
{
	float sum = 0;
	for (int dy = -REACH; dy <= REACH; dy++)
		for (int dx = -REACH; dx <= REACH; dx++)
			sum += s->weights[dy + REACH][dx + REACH] *
			       s->from[(y + (size_t)dy) * s->side + x + (size_t)dx];
	return sum;
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->side - 2 * REACH, thread);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t y = part.begin + REACH; y < part.end + REACH; y++)
			for (size_t x = REACH; x < s->side - REACH; x++)
				s->to[y * s->side + x] = weigh(s, y, x);
		(void)pthread_barrier_wait(&s->barrier);
		for (size_t y = part.begin + REACH; y < part.end + REACH; y++)
			for (size_t x = REACH; x < s->side - REACH; x++) {
				const float *at = &s->to[y * s->side + x];
				float dx = at[1] - at[-1], dy = at[s->side] - at[0 - s->side];
				s->from[y * s->side + x] = *at + 0.1f * sqrtf(dx * dx + dy * dy);
			}
		(void)pthread_barrier_wait(&s->barrier);
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Convolves an image (threads).");
	static struct shared s;
	s.side = kernel_side(&kernel, SIDE, 2) + 4 * REACH;
	s.from = kernel_array(s.side * s.side, sizeof(float));
	s.to = kernel_array(s.side * s.side, sizeof(float));
	for (size_t i = 0; i < s.side * s.side; i++)
		s.from[i] = (float)(kernel_mix(1, i) >> 40) / (float)(1 << 24);
	for (int i = 0; i < 25; i++)
		s.weights[i / 5][i % 5] =
			1.0f / (float)(9 + abs(i / 5 - 2) * 9 + abs(i % 5 - 2) * 9);
	(void)pthread_barrier_init(&s.barrier, NULL, (unsigned)kernel.threads);
	kernel_begin_work(&kernel);
	kernel_run_team(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.to, s.side * 4));
}
