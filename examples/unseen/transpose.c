/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A matrix whose rows are powers of two apart, turned over without blocks: few sets of the caches are used. */
#include "examples/kernels/common/kernel.h"

#include <pthread.h>

enum { ROUNDS = 6, SIDE_MAX = 4096 };

struct shared {
	double *from, *to;
	size_t side, rounds;
	pthread_barrier_t barrier;
};

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->side, thread);
	for (size_t round = 0; round < s->rounds; round++) {
		const double *from = round % 2 ? s->to : s->from;
		double *to = round % 2 ? s->from : s->to;
		for (size_t i = part.begin; i < part.end; i++)
			for (size_t j = 0; j < s->side; j++)
				to[i * s->side + j] = from[j * s->side + i] + 1;
		(void)pthread_barrier_wait(&s->barrier);
	}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Turns a matrix over (threads).");
	static struct shared s;
	size_t cells = kernel_scaled(&kernel, 24000000);
	for (s.side = 64; 4 * s.side * s.side * ROUNDS <= cells && s.side < SIDE_MAX; s.side *= 2)
		;
	s.rounds = cells / (s.side * s.side) + 1;
	s.from = kernel_array(s.side * s.side, 8);
	s.to = kernel_array(s.side * s.side, 8);
	for (size_t i = 0; i < s.side * s.side; i++)
		s.from[i] = (double)i;
	(void)pthread_barrier_init(&s.barrier, NULL, (unsigned)kernel.threads);
	kernel_begin_work(&kernel);
	kernel_run_team(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.to, s.side * s.side * 8));
}
