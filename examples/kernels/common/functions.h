/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * exp and log for kernels, good to six digits or so: those of the C library are fused on processors
 * that can, so that what runs would depend on where.
 */
#ifndef KERNELS_FUNCTIONS_H
#define KERNELS_FUNCTIONS_H

#include <stdint.h>
#include <string.h>

/* e^x for x from -700 to 700: 2^k times a polynomial of the rest. */
static inline double kernel_exp(double x)
{
	double scaled = x * 1.4426950408889634;
	int64_t k = (int64_t)(scaled + (scaled < 0 ? -0.5 : 0.5));
	double r = x - (double)k * 0.6931471805599453;
	double sum =
		1 +
		r * (1 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 +
								   r * (1.0 / 120 +
									       r * (1.0 / 720))))));
	uint64_t bits = (uint64_t)(k + 1023) << 52;
	double power = 0;
	memcpy(&power, &bits, sizeof(power));
	return sum * power;
}

/* Of a normal number above 0: the exponent and a series in (m - 1) / (m + 1). */
static inline double kernel_log(double x)
{
	uint64_t bits = 0;
	memcpy(&bits, &x, sizeof(bits));
	double k = (double)((int64_t)(bits >> 52) - 1023), m = 0;
	bits = (bits & 0xfffffffffffffU) | 0x3ff0000000000000U;
	memcpy(&m, &bits, sizeof(m));
	double z = (m - 1) / (m + 1), w = z * z;
	return k * 0.6931471805599453 +
	       2 * z *
		       (1 + w * (1.0 / 3 +
					w * (1.0 / 5 +
						    w * (1.0 / 7 +
								w * (1.0 / 9 + w * (1.0 / 11))))));
}

#endif
