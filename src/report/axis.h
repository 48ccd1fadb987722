/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One axis of a figure: its range, linear or logarithmic, and its ticks. The terminal, the SVG and
 * the page all place their marks through axis_position(), so that they show the same figure.
 */
#ifndef REPORT_AXIS_H
#define REPORT_AXIS_H

#include "report/quantity.h"

#include <stdbool.h>

enum { TICKS_MAX = 16 };

struct axis {
	const char *title; /* borrowed */
	enum quantity quantity;
	bool is_threads; /* whole numbers: ticks prefer powers of two and divisors of the end */
	bool is_log; /* then 0 < low */
	bool is_hidden; /* has no ticks: its values mean nothing */
	double low, high; /* low < high */
};

struct ticks {
	unsigned count;
	double at[TICKS_MAX];
	struct quantity_text labels[TICKS_MAX];
};

/*
 * Sets the range so that it holds low..high and ends on round numbers; a linear axis starts at 0
 * (all that we plot is positive, and a cut axis exaggerates). Set is_log and is_threads before.
 */
void axis_fit(struct axis *axis, double low, double high);

/* 0 at axis->low, 1 at axis->high; values outside (and 0 on a logarithmic axis) are clamped. */
double axis_position(const struct axis *axis, double value);
/* The value at a position 0..1. */
double axis_value(const struct axis *axis, double position);

/* At most `wanted` (2 .. TICKS_MAX) round values within the range, ascending. */
void axis_ticks(const struct axis *axis, unsigned wanted, struct ticks *ret);

#endif
