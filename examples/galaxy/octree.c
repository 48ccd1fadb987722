/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "octree.h"

#include "examples/common/arguments.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	NONE = UINT32_MAX,
	DEPTH_MAX = 48, /* bodies closer than 2^-48 of the whole share a cell, as a list */
	STACK_MAX = 8 * (DEPTH_MAX + 2),
};

struct octree_node {
	double mass, center[3]; /* of mass */
	double size_squared;
	double middle[3], half; /* of the cube */
	uint32_t child[8];
	uint32_t body; /* of a leaf, else NONE */
	uint32_t next; /* leaf in the same place; NONE: none */
};

void octree_init(struct octree *tree, uint32_t body_count)
{
	*tree = (struct octree){ .body_count = body_count };
	tree->leaf_of = calloc(body_count, sizeof(*tree->leaf_of));
	if (!tree->leaf_of)
		die(1, "galaxy: not enough memory");
}

void octree_release(struct octree *tree)
{
	free(tree->nodes);
	free(tree->leaf_of);
}

static uint32_t add_node(struct octree *tree, const double middle[3], double half)
{
	if (tree->count == tree->capacity) {
		tree->capacity = tree->capacity ? tree->capacity * 2 : 1024;
		tree->nodes = realloc(tree->nodes, tree->capacity * sizeof(*tree->nodes));
		if (!tree->nodes)
			die(1, "galaxy: not enough memory");
	}
	struct octree_node *node = &tree->nodes[tree->count];
	*node = (struct octree_node){
		.half = half, .size_squared = 4 * half * half, .body = NONE, .next = NONE
	};
	memcpy(node->middle, middle, sizeof(node->middle));
	memset(node->child, 0xff, sizeof(node->child));
	return tree->count++;
}

static uint32_t add_leaf(struct octree *tree, const struct body *bodies, uint32_t body)
{
	uint32_t leaf = add_node(tree, bodies[body].position, 0);
	tree->nodes[leaf].body = body;
	tree->nodes[leaf].mass = bodies[body].mass;
	memcpy(tree->nodes[leaf].center, bodies[body].position, sizeof(bodies[body].position));
	tree->leaf_of[body] = leaf;
	return leaf;
}

static int octant_of(const struct octree_node *node, const double position[3])
{
	return (position[0] >= node->middle[0]) | (position[1] >= node->middle[1]) << 1 |
	       (position[2] >= node->middle[2]) << 2;
}

static uint32_t add_cell(struct octree *tree, uint32_t parent, int octant)
{
	const struct octree_node *node = &tree->nodes[parent];
	double half = node->half / 2;
	double middle[3];
	for (int axis = 0; axis < 3; axis++)
		middle[axis] = node->middle[axis] + (octant >> axis & 1 ? half : -half);
	return add_node(tree, middle, half);
}

static void insert(struct octree *tree, const struct body *bodies, uint32_t body)
{
	uint32_t leaf = add_leaf(tree, bodies, body);
	uint32_t cell = 0;
	for (int depth = 0;; depth++) {
		int octant = octant_of(&tree->nodes[cell], bodies[body].position);
		uint32_t child = tree->nodes[cell].child[octant];
		if (child == NONE) {
			tree->nodes[cell].child[octant] = leaf;
			return;
		}
		if (tree->nodes[child].body == NONE) {
			cell = child;
			continue;
		}
		if (depth >= DEPTH_MAX) {
			tree->nodes[leaf].next = child;
			tree->nodes[cell].child[octant] = leaf;
			return;
		}
		/* A leaf is in the way: a cell takes its place, and the leaf. */
		uint32_t between = add_cell(tree, cell, octant);
		int below = octant_of(&tree->nodes[between], tree->nodes[child].center);
		tree->nodes[between].child[below] = child;
		tree->nodes[cell].child[octant] = between;
		cell = between;
	}
}

/* Mass and centre of a cell from its children's. Children come after parents, except leaves. */
static void weigh(struct octree *tree, uint32_t cell)
{
	double mass = 0, moment[3] = { 0 };
	for (int i = 0; i < 8; i++) {
		uint32_t child = tree->nodes[cell].child[i];
		if (child != NONE && tree->nodes[child].body == NONE)
			weigh(tree, child);
		for (; child != NONE; child = tree->nodes[child].next) {
			const struct octree_node *node = &tree->nodes[child];
			mass += node->mass;
			for (int axis = 0; axis < 3; axis++)
				moment[axis] += node->mass * node->center[axis];
		}
	}
	tree->nodes[cell].mass = mass;
	for (int axis = 0; axis < 3; axis++)
		tree->nodes[cell].center[axis] = moment[axis] / mass;
}

void octree_build(struct octree *tree, const struct body *bodies)
{
	static const double origin[3];
	double reach = DBL_MIN;
	for (uint32_t i = 0; i < tree->body_count; i++)
		for (int axis = 0; axis < 3; axis++)
			if (bodies[i].mass > 0)
				reach = fmax(reach, fabs(bodies[i].position[axis]));
	tree->count = 0;
	(void)add_node(tree, origin, reach);
	for (uint32_t i = 0; i < tree->body_count; i++)
		if (bodies[i].mass > 0)
			insert(tree, bodies, i);
	weigh(tree, 0);
}

static void pull_by(
	const struct octree_node *node, const double from[3], double softening, double sum[3])
{
	double distance[3], squared = softening * softening;
	for (int axis = 0; axis < 3; axis++) {
		distance[axis] = node->center[axis] - from[axis];
		squared += distance[axis] * distance[axis];
	}
	double factor = node->mass / (squared * sqrt(squared));
	for (int axis = 0; axis < 3; axis++)
		sum[axis] += factor * distance[axis];
}

static double distance_squared(const double a[3], const double b[3])
{
	double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
	return x * x + y * y + z * z;
}

/* Pushes a cell's children; the stack holds at most 7 siblings of each level and one below. */
static int push_children(const struct octree_node *node, uint32_t *stack, int used)
{
	for (int i = 7; i >= 0; i--)
		if (node->child[i] != NONE)
			stack[used++] = node->child[i];
	return used;
}

void octree_pull(
	const struct octree *tree, uint32_t body, double theta, double softening, double ret[3])
{
	const double *from = tree->nodes[tree->leaf_of[body]].center;
	double theta_squared = theta * theta;
	uint32_t stack[STACK_MAX];
	int used = 0;
	memset(ret, 0, 3 * sizeof(*ret));
	used = push_children(&tree->nodes[0], stack, used);
	while (used > 0) {
		const struct octree_node *node = &tree->nodes[stack[--used]];
		if (node->body != NONE) {
			for (; node; node = node->next == NONE ? NULL : &tree->nodes[node->next])
				if (node->body != body)
					pull_by(node, from, softening, ret);
		} else if (node->size_squared <
			   theta_squared * distance_squared(node->center, from)) {
			pull_by(node, from, softening, ret);
		} else {
			used = push_children(node, stack, used);
		}
	}
}

/* Whether the cube comes nearer than `reach` to the place. */
static int is_near(const struct octree_node *node, const double place[3], double reach)
{
	double squared = 0;
	for (int axis = 0; axis < 3; axis++) {
		double beyond = fabs(place[axis] - node->middle[axis]) - node->half;
		squared += beyond > 0 ? beyond * beyond : 0;
	}
	return squared <= reach * reach;
}

uint32_t octree_touching(
	const struct octree *tree, const struct body *bodies, uint32_t body, double radius_max)
{
	const double *place = bodies[body].position;
	uint32_t found = NONE;
	uint32_t stack[STACK_MAX];
	int used = push_children(&tree->nodes[0], stack, 0);
	while (used > 0) {
		const struct octree_node *node = &tree->nodes[stack[--used]];
		if (!is_near(node, place, bodies[body].radius + radius_max))
			continue;
		if (node->body == NONE) {
			used = push_children(node, stack, used);
			continue;
		}
		for (; node; node = node->next == NONE ? NULL : &tree->nodes[node->next]) {
			double reach = bodies[body].radius + bodies[node->body].radius;
			if (node->body < body && node->body < found &&
				distance_squared(node->center, place) < reach * reach)
				found = node->body;
		}
	}
	return found;
}

void octree_merge(struct octree *tree, const struct body *bodies, uint32_t kept, uint32_t gone)
{
	struct octree_node *leaf = &tree->nodes[tree->leaf_of[kept]];
	leaf->mass = bodies[kept].mass;
	memcpy(leaf->center, bodies[kept].position, sizeof(leaf->center));
	tree->nodes[tree->leaf_of[gone]].mass = 0;
}
