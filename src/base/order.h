/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers by size, and the one in their middle. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Ascending; no NAN among them. */
void order_doubles(double *values, size_t count);
void order_u32(uint32_t *values, size_t count);

/* Puts the values in order; of an even number of them the middle between two. NAN if there are none. */
double order_median(double *values, size_t count);

/* The same of values that are in order. */
double order_median_of_ordered(const double *ordered, size_t count);

#endif
