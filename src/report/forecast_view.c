/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which counts a report shows, speedups, shares. */
#include "report/forecast_view.h"

#include <math.h>

double forecast_known_value(const struct forecast_point *point)
{
	return isfinite(point->measured) ? point->measured : point->value;
}

double speed_ratio(enum metric metric, double a, double b)
{
	if (!(a > 0) || !(b > 0) || !isfinite(a) || !isfinite(b))
		return NAN;
	return metric == METRIC_TIME ? a / b : b / a;
}

double forecast_speedup(const struct forecast *forecast, const struct forecast_point *point)
{
	return speed_ratio(forecast->metric, forecast_known_value(&forecast->points[0]),
		forecast_known_value(point));
}

const struct forecast_point *forecast_at(const struct forecast *forecast, uint32_t threads)
{
	return threads >= 1 && threads <= forecast->point_count ? &forecast->points[threads - 1]
								: NULL;
}

struct selection selection_of(const struct forecast *forecast)
{
	enum { FEW = 12 };
	size_t measured = 0;
	for (size_t i = 0; i < forecast->point_count; i++)
		measured += isfinite(forecast->points[i].measured);
	return (struct selection){ .forecast = forecast, .has_few_measured = measured <= FEW };
}

bool selection_has(const struct selection *selection, uint32_t threads)
{
	enum { ALL = 16 };
	const struct forecast *f = selection->forecast;
	const struct forecast_point *point = forecast_at(f, threads);
	if (!point)
		return false;
	bool is_power_of_two = (threads & (threads - 1)) == 0;
	return f->point_count <= ALL || is_power_of_two || threads == f->best_threads ||
	       threads == f->stops_scaling_at || threads == f->measured_max ||
	       threads == f->point_count ||
	       (selection->has_few_measured && isfinite(point->measured));
}

bool forecast_has_stall(const struct forecast *forecast, const struct forecast_stall *stall)
{
	for (size_t i = 0; i < forecast->point_count; i++)
		if (stall->values[i] > 0)
			return true;
	return false;
}

bool forecast_has_stalls(const struct forecast *forecast)
{
	for (size_t i = 0; i < forecast->stall_count; i++)
		if (forecast_has_stall(forecast, &forecast->stalls[i]))
			return true;
	return false;
}

double forecast_stall_share(
	const struct forecast *forecast, const struct forecast_stall *stall, uint32_t threads)
{
	double total = 0;
	for (size_t i = 0; i < forecast->stall_count; i++)
		total += forecast->stalls[i].values[threads - 1];
	return total > 0 && isfinite(total) ? stall->values[threads - 1] / total : 0;
}

const struct forecast_stall *forecast_worst_stall(
	const struct forecast *forecast, uint32_t threads, double *ret_share)
{
	const struct forecast_stall *worst = NULL;
	double share = 0;
	for (size_t i = 0; i < forecast->stall_count; i++) {
		double own = forecast_stall_share(forecast, &forecast->stalls[i], threads);
		if (own > share) {
			worst = &forecast->stalls[i];
			share = own;
		}
	}
	*ret_share = share;
	return worst;
}
