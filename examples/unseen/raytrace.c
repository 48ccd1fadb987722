/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rays through a tree of boxes with spheres: square roots, divisions, comparisons that go either way; rows of an image as they come. */
#include "examples/kernels/common/kernel.h"

#include <math.h>

enum { SPHERES = 1024, SIDE = 1000, STACK = 32 };

struct sphere {
	float x[3], r;
};

struct node {
	float low[3], high[3];
	int left, first, count;
};

struct shared {
	struct sphere *spheres;
	struct node *nodes;
	int node_count, side, next_row;
	uint32_t *image;
};

static void bound(struct node *node, const struct sphere *spheres)
{
	for (int d = 0; d < 3; d++) {
		node->low[d] = 1e9f;
		node->high[d] = -1e9f;
		for (int i = node->first; i < node->first + node->count; i++) {
			node->low[d] = fminf(node->low[d], spheres[i].x[d] - spheres[i].r);
			node->high[d] = fmaxf(node->high[d], spheres[i].x[d] + spheres[i].r);
		}
	}
}

static void split(struct shared *s, int at, int axis)
{
	struct node *node = &s->nodes[at];
	bound(node, s->spheres);
	if (node->count <= 4)
		return;
	float middle = (node->low[axis] + node->high[axis]) / 2;
	int left = node->first, right = node->first + node->count - 1;
	while (left <= right) {
		if (s->spheres[left].x[axis] < middle) {
			left++;
			continue;
		}
		struct sphere swap = s->spheres[left];
		s->spheres[left] = s->spheres[right];
		s->spheres[right--] = swap;
	}
	int count = left - node->first;
	if (count == 0 || count == node->count)
		count = node->count / 2;
	node->left = s->node_count;
	s->node_count += 2;
	s->nodes[node->left] = (struct node){ .first = node->first, .count = count };
	s->nodes[node->left + 1] =
		(struct node){ .first = node->first + count, .count = node->count - count };
	node->count = 0;
	split(s, node->left, (axis + 1) % 3);
	split(s, node->left + 1, (axis + 1) % 3);
}

static int meets(const struct node *node, const float *from, const float *inverse, float nearest)
{
	float near = 0, far = nearest;
	for (int d = 0; d < 3; d++) {
		float a = (node->low[d] - from[d]) * inverse[d];
		float b = (node->high[d] - from[d]) * inverse[d];
		if (a > b) {
			float swap = a;
			a = b;
			b = swap;
		}
		near = a > near ? a : near;
		far = b < far ? b : far;
	}
	return near <= far;
}

static float hit(const struct sphere *sphere, const float *from, const float *along)
{
	float b = 0, c = -sphere->r * sphere->r;
	for (int d = 0; d < 3; d++) {
		float to = sphere->x[d] - from[d];
		b += to * along[d];
		c += to * to;
	}
	float square = b * b - c;
	if (square < 0)
		return 1e9f;
	float t = b - sqrtf(square);
	return t > 1e-3f ? t : 1e9f;
}

static uint32_t trace(const struct shared *s, const float *from, const float *along)
{
	float inverse[3], nearest = 1e8f;
	int stack[STACK], depth = 0, which = -1;
	for (int d = 0; d < 3; d++)
		inverse[d] = 1 / along[d];
	stack[depth++] = 0;
	while (depth > 0) {
		const struct node *node = &s->nodes[stack[--depth]];
		if (!meets(node, from, inverse, nearest))
			continue;
		for (int i = node->first; i < node->first + node->count; i++) {
			float t = hit(&s->spheres[i], from, along);
			if (t < nearest) {
				nearest = t;
				which = i;
			}
		}
		if (node->count == 0) {
			stack[depth++] = node->left;
			stack[depth++] = node->left + 1;
		}
	}
	return (uint32_t)which + (uint32_t)(nearest * 16);
}

static void work(const struct kernel *kernel, int thread, void *data)
{
	(void)kernel;
	(void)thread;
	struct shared *s = data;
	int y;
	while ((y = __atomic_fetch_add(&s->next_row, 1, __ATOMIC_RELAXED)) < s->side)
		for (int x = 0; x < s->side; x++) {
			float from[3] = { 0.5f, 0.5f, -2 };
			float along[3] = { ((float)x + 0.5f) / (float)s->side - 0.5f,
				((float)y + 0.5f) / (float)s->side - 0.5f, 1.7f };
			float length = sqrtf(
				along[0] * along[0] + along[1] * along[1] + along[2] * along[2]);
			for (int d = 0; d < 3; d++)
				along[d] /= length;
			s->image[y * s->side + x] = trace(s, from, along);
		}
}

int main(int argc, char **argv)
{
	struct kernel kernel = kernel_start(argc, argv, "Rays and spheres (threads).");
	struct shared s = { kernel_array(SPHERES, sizeof(*s.spheres)),
		kernel_array(2 * SPHERES, sizeof(*s.nodes)), 1, (int)kernel_side(&kernel, SIDE, 2),
		0, 0 };
	s.image = kernel_array((size_t)s.side * (size_t)s.side, 4);
	for (size_t i = 0; i < SPHERES; i++)
		for (size_t d = 0; d < 3; d++) {
			s.spheres[i].x[d] = (float)(kernel_mix(d, i) >> 40) / (float)(1 << 24);
			s.spheres[i].r = 0.03f;
		}
	s.nodes[0] = (struct node){ .count = SPHERES };
	split(&s, 0, 0);
	kernel_begin_work(&kernel);
	kernel_run_threads(&kernel, work, &s);
	kernel_end_work(&kernel);
	return kernel_finish(&kernel, kernel_hash(1, s.image, (size_t)s.side * (size_t)s.side * 4));
}
