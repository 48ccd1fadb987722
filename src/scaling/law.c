/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scaling/law.h"

#include "base/cleanup.h"
#include "scaling/interval.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

double curve_time(const struct curve *curve, size_t i)
{
	double value = curve->points[i].value;
	return curve->metric == METRIC_TIME ? value : 1 / value;
}

/* Fits without the last points and looks at them: what the law misses where it has not seen. */
static int hold_out(const struct law *law, const double *n, const double *time, size_t count,
	uint32_t target, struct interval *interval)
{
	enum { HELD_OUT_MAX = 4 };
	for (size_t held = 1; held <= HELD_OUT_MAX && count >= held + law->points_min; held++) {
		double params[LAW_PARAMS_MAX];
		size_t seen = count - held;
		int code = law->fit(n, time, seen, target, params);
		if (code == -ENOMEM)
			return code;
		for (size_t i = seen; code == 0 && i < count; i++)
			interval_add_held_out(interval, log(n[i] / n[seen - 1]),
				log(time[i] / law->time(params, n[i])));
	}
	return 0;
}

int law_predict(const struct law *law, const struct curve *curve, struct forecast *ret,
	double params[LAW_PARAMS_MAX], struct err *err)
{
	size_t count = curve->point_count;
	AUTO_FREE double *n = calloc(count, sizeof *n);
	AUTO_FREE double *time = calloc(count, sizeof *time);
	if (!n || !time)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++) {
		n[i] = curve->points[i].threads;
		time[i] = curve_time(curve, i);
	}
	uint32_t target = (uint32_t)ret->point_count;
	struct interval interval = { .prior_rate = law->prior_rate };
	int code = law->fit(n, time, count, target, params);
	if (code == 0)
		code = hold_out(law, n, time, count, target, &interval);
	if (code == -ENOMEM)
		return err_set(err, code, "out of memory");
	if (code < 0)
		return err_set(err, code,
			"no curve of %s fits these %zu points: measure more thread counts, or use "
			"--method auto",
			ret->method, count);

	for (size_t i = 0; i < count; i++)
		interval_add_fitted(&interval, log(time[i] / law->time(params, n[i])));
	for (size_t i = 0; i < ret->point_count; i++) {
		double predicted = law->time(params, ret->points[i].threads);
		ret->points[i].value = curve->metric == METRIC_TIME ? predicted : 1 / predicted;
	}
	interval_fill(&interval, law->param_count, curve, ret);
	return 0;
}
