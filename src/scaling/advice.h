/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions that are answered by forecasting again: what to measure next, where two curves cross. */
#ifndef SCALING_ADVICE_H
#define SCALING_ADVICE_H

#include "scaling/forecast.h"

/*
 * Which count in 1..candidate_max, if measured and found where the forecast puts it, would narrow
 * the interval at the target most. `forecast` is the method's own for this curve. 0, a refusal of
 * the method, or -ENOMEM.
 */
int advice_what_next(const struct curve *curve, const struct forecast *forecast,
	const struct forecast_method *method, const struct forecast_opts *opts,
	uint32_t candidate_max, struct advice *ret, struct err *err);

/*
 * The first thread count, common to both, at which the other one is better than at the first
 * count; 0 if they do not cross. -EINVAL if one is a time and the other a throughput.
 */
int forecast_crossing(
	const struct forecast *a, const struct forecast *b, uint32_t *ret, struct err *err);

#endif
