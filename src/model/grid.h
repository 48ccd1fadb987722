/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Settings to simulate: some of a model's parameters take several values each, and every combination is
 * one setting. As people write them:
 *
 *	workers=1,2,4,8		rate=10-130:10		think=50ms,1s
 *
 * Numbers without unit are taken in the parameter's own: seconds, 1/s. The first axis changes slowest.
 */
#ifndef MODEL_GRID_H
#define MODEL_GRID_H

#include "model/model.h"

enum { GRID_AXES_MAX = 16, GRID_SETTINGS_MAX = 100000 };

struct grid {
	struct grid_axis {
		uint32_t parameter;
		double *values; /* in the order given, without duplicates */
		size_t count, capacity;
	} axes[GRID_AXES_MAX];
	size_t axis_count;
};

void grid_release(struct grid *grid);

/* Adds an axis, "NAME=VALUES". 0; -EINVAL (what is wrong), -ENOMEM. */
int grid_add(struct grid *grid, const struct model *model, const char *text, struct err *err);

/* How many settings; 1 without an axis. */
size_t grid_size(const struct grid *grid);

/* Values of all parameters of the model in a setting. */
void grid_setting(const struct grid *grid, const struct model *model, size_t setting, double *ret);

/* The value of an axis in a setting. */
double grid_value(const struct grid *grid, size_t axis, size_t setting);

#endif
