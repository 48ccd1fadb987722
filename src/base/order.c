/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

void order_doubles(double *values, size_t count)
{
	qsort(values, count, sizeof *values, compare_doubles);
}

void order_u32(uint32_t *values, size_t count)
{
	qsort(values, count, sizeof *values, compare_u32);
}

double order_median_of_ordered(const double *ordered, size_t count)
{
	if (count == 0)
		return NAN;
	double low = ordered[(count - 1) / 2], high = ordered[count / 2];
	return low + (high - low) / 2;
}

double order_median(double *values, size_t count)
{
	order_doubles(values, count);
	return order_median_of_ordered(values, count);
}
