/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The octree of J. Barnes and P. Hut, "A hierarchical O(N log N) force-calculation algorithm",
 * Nature 324 (1986): far bodies pull like one body at their centre of mass. It keeps copies of
 * positions and masses, so that bodies may move while others are still being computed.
 */
#ifndef GALAXY_OCTREE_H
#define GALAXY_OCTREE_H

#include <stdint.h>

struct body {
	double position[3], velocity[3];
	double mass; /* 0: merged into another */
	double radius;
};

struct octree {
	struct octree_node *nodes;
	uint32_t count, capacity; /* of nodes */
	uint32_t *leaf_of; /* by body */
	uint32_t body_count;
};

void octree_init(struct octree *tree, uint32_t body_count);
void octree_release(struct octree *tree);

/* Anew from the bodies that have mass, in their order: the same bodies make the same tree. */
void octree_build(struct octree *tree, const struct body *bodies);

/*
 * The acceleration of a body, with gravitational constant 1. A cell of size s at distance d counts
 * as one body if s < theta d; theta is below 0.57, so that a body is never part of what pulls it.
 */
void octree_pull(
	const struct octree *tree, uint32_t body, double theta, double softening, double ret[3]);

/* The lowest-numbered body before this one that touches it; UINT32_MAX: none. */
uint32_t octree_touching(
	const struct octree *tree, const struct body *bodies, uint32_t body, double radius_max);

/* `gone` has become part of `kept`, which is already changed. */
void octree_merge(struct octree *tree, const struct body *bodies, uint32_t kept, uint32_t gone);

#endif
