/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects of several kinds behind pointers, each with functions of its own: calls through tables, in no order. */
#include "examples/kernels/common/kernel.h"

enum { SHAPES = 40000, ROUNDS = 40, KINDS = 6 };

struct shape;
struct kind {
	double (*area)(const struct shape *shape);
	void (*grow)(struct shape *shape, double by);
};

struct shape {
	const struct kind *kind;
	double a, b, c;
};

static double circle(const struct shape *s)
{
	return 3.14159 * s->a * s->a;
}
static double box(const struct shape *s)
{
	return s->a * s->b;
}
static double prism(const struct shape *s)
{
	return 2 * (s->a * s->b + s->b * s->c + s->a * s->c);
}
static double ring(const struct shape *s)
{
	return s->a > s->b ? 3.14159 * (s->a * s->a - s->b * s->b) : 0;
}
static double wedge(const struct shape *s)
{
	return s->a * s->b / 2 + s->c;
}
static double dot(const struct shape *s)
{
	(void)s;
	return 0;
}
static void grow_one(struct shape *s, double by)
{
	s->a += by;
}
static void grow_two(struct shape *s, double by)
{
	s->a += by;
	s->b += by / 2;
}
static void grow_all(struct shape *s, double by)
{
	s->a *= 1 + by * 0.01;
	s->b *= 1 + by * 0.02;
	s->c += by;
}
static void grow_not(struct shape *s, double by)
{
	(void)s;
	(void)by;
}

static const struct kind kinds[KINDS] = { { circle, grow_one }, { box, grow_two },
	{ prism, grow_all }, { ring, grow_two }, { wedge, grow_one }, { dot, grow_not } };

struct shared {
	struct shape **shapes;
	size_t count;
	double *sums;
};

static void work(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	struct kernel_part part = kernel_part(kernel, s->count, thread);
	double sum = 0;
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = part.begin; i < part.end; i++) {
			struct shape *shape = s->shapes[i];
			sum += shape->kind->area(shape);
			if (sum > 1e9) {
				shape->kind->grow(shape, 0.5);
				sum -= 1e9;
			}
		}
	s->sums[8 * thread] = sum;
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Calls through tables (threads).");
	struct shared s = { .count = kernel_scaled(&kernel, SHAPES * 8) };
	s.shapes = kernel_array(s.count, sizeof(*s.shapes));
	s.sums = kernel_array(8 * (size_t)kernel.threads, 8);
	struct shape *all = kernel_array(s.count, sizeof(*all));
	for (size_t i = 0; i < s.count; i++) {
		uint64_t random = kernel_mix(1, i) >> 9;
		all[i] = (struct shape){ &kinds[random % 11 % KINDS], (double)(random % 97),
			(double)(random % 89), 3 };
		s.shapes[i] = &all[i];
	}
	for (size_t i = s.count; i-- > 1;) {
		size_t j = kernel_mix(2, i) % (i + 1);
		struct shape *kept = s.shapes[i];
		s.shapes[i] = s.shapes[j];
		s.shapes[j] = kept;
	}
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, s.count);
}
