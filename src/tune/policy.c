/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune/policy.h"

#include <string.h>

const struct tune_policy *const tune_policies[] = { &tune_policy_process, &tune_policy_opresca,
	&tune_policy_binsearch, NULL };

const struct tune_policy *tune_policy_by_name(const char *name)
{
	for (const struct tune_policy *const *p = tune_policies; *p; p++)
		if (strcmp((*p)->name, name) == 0)
			return *p;
	return NULL;
}

const struct tune_point *tune_set_find(const struct tune_set *set, uint32_t threads)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->points[i].threads == threads)
			return &set->points[i];
	return NULL;
}

const struct tune_point *tune_set_best(const struct tune_set *set)
{
	const struct tune_point *best = NULL;
	for (size_t i = 0; i < set->count; i++)
		if (!best || set->points[i].performance > best->performance)
			best = &set->points[i];
	return best;
}
