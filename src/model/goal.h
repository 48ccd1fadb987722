/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which setting is the best. A goal is terms with commas between them: at most one "min WHAT" or "max WHAT",
 * and any number of conditions "WHAT < VALUE", "WHAT > VALUE". WHAT is a metric (goal_metrics) or a
 * parameter: "max throughput, p99 < 100 ms", "min workers, response < 0.1".
 * Without min or max, the first setting that meets the conditions is the best.
 */
#ifndef MODEL_GOAL_H
#define MODEL_GOAL_H

#include "model/simulated.h"

struct goal_metric {
	const char *name, *title; /* title: for tables and axes */
	enum model_unit unit;
	size_t offset; /* of its struct estimate in struct simulated_setting */
};
extern const struct goal_metric goal_metrics[]; /* ends with a NULL name */

/* Borrowed from the setting. */
const struct estimate *goal_metric_of(
	const struct goal_metric *metric, const struct simulated_setting *setting);

/* 0; -EINVAL: what is wrong with it. */
int goal_check(const struct model *model, const char *goal, struct err *err);

/* Sets best, equals and why_none by simulated->goal. 0, -EINVAL. */
int goal_choose(struct simulated *simulated, struct err *err);

#endif
