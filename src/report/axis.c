/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scales and round ticks. */
#include "report/axis.h"

#include "base/mem.h"

#include <math.h>

/* The smallest of 1, 2, 2.5, 5, 10 times a power of ten that is not below `least`. */
static double round_step(double least)
{
	static const double steps[] = { 1, 2, 2.5, 5, 10 };
	double power = pow(10, floor(log10(least)));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (steps[i] * power >= least * (1 - 1e-9))
			return steps[i] * power;
	return 10 * power;
}

/* The nearest number of one or two digits, evenly spaced on a logarithmic axis, beyond the value. */
static double round_log(double value, bool up)
{
	static const double steps[] = { 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10 };
	double power = pow(10, floor(log10(value) + 1e-9));
	double below = power;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		double step = steps[i] * power;
		if (up && step >= value * (1 - 1e-9))
			return step;
		if (step <= value * (1 + 1e-9))
			below = step;
	}
	return below;
}

void axis_fit(struct axis *axis, double low, double high)
{
	if (!(high > 0) || !isfinite(high))
		high = 1;
	if (axis->is_log) {
		if (!(low > 0) || low > high)
			low = high / 1000;
		axis->low = axis->is_threads ? low : round_log(low, false);
		axis->high = axis->is_threads ? high : round_log(high, true);
		if (!(axis->high > axis->low))
			axis->high = axis->low * 10;
		return;
	}
	struct quantity_unit unit = quantity_unit(axis->quantity, high);
	double step = round_step(high / unit.size / 5) * unit.size;
	axis->low = 0;
	/* Half a step is round enough, and wastes less of the plot. */
	axis->high = axis->is_threads ? high : ceil(high / (step / 2) - 1e-9) * (step / 2);
}

double axis_position(const struct axis *axis, double value)
{
	double position;
	if (axis->is_log)
		position = value > 0 ? log(value / axis->low) / log(axis->high / axis->low) : 0;
	else
		position = (value - axis->low) / (axis->high - axis->low);
	return position > 0 ? fmin(position, 1) : 0;
}

double axis_value(const struct axis *axis, double position)
{
	if (axis->is_log)
		return axis->low * pow(axis->high / axis->low, position);
	return axis->low + position * (axis->high - axis->low);
}

static void tick_add(const struct axis *axis, struct ticks *ticks, double value)
{
	if (ticks->count == TICKS_MAX || value < axis->low * (1 - 1e-9) ||
		value > axis->high * (1 + 1e-9))
		return;
	/* Beyond a second, a logarithmic axis reads best in seconds: 60 and 3600 are not round. */
	double size = axis->is_log && axis->quantity == QUANTITY_TIME ? fmin(value, 1)
		      : axis->is_log                                  ? value
								      : axis->high;
	struct quantity_unit unit = axis->is_threads
					    ? (struct quantity_unit){ 1, "" }
					    : quantity_unit(axis->quantity, size * (1 + 1e-9));
	ticks->labels[ticks->count] = quantity_format_tick(value, unit);
	ticks->at[ticks->count++] = value;
}

/* The step whose multiples end at the axis's end if there is one, else the densest allowed. */
static double thread_step(double high, unsigned wanted)
{
	static const double steps[] = { 1, 2, 4, 5, 8, 10, 12, 16, 20, 24, 25, 32, 40, 48, 50, 64,
		80, 96, 100, 128, 200, 250, 256, 500, 512 };
	double densest = 0;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		double count = high / steps[i];
		if (count > wanted)
			continue;
		if (densest == 0)
			densest = steps[i];
		if (count >= 3 && fmod(high, steps[i]) == 0)
			return steps[i];
	}
	return densest > 0 ? densest : round_step(high / wanted);
}

static void ticks_linear(const struct axis *axis, unsigned wanted, struct ticks *ret)
{
	double step;
	if (axis->is_threads) {
		step = thread_step(axis->high, wanted - 1);
	} else {
		struct quantity_unit unit = quantity_unit(axis->quantity, axis->high);
		step = round_step(axis->high / unit.size / (wanted - 1)) * unit.size;
	}
	for (unsigned i = 0; i < wanted; i++)
		tick_add(axis, ret, i * step);
}

static void ticks_log(const struct axis *axis, unsigned wanted, struct ticks *ret)
{
	double base = axis->is_threads ? 2 : 10;
	double first = floor(log(axis->low) / log(base) + 1e-9);
	double last = floor(log(axis->high) / log(base) + 1e-9);
	double spans = log(axis->high / axis->low) / log(base);
	double stride = fmax(1, ceil((spans + 1) / wanted));
	/* 1, 2 and 5 of each decade where they fit. */
	bool is_dense = !axis->is_threads && 3 * spans + 1 <= wanted + 1e-9;
	for (double power = first; power <= last; power += stride)
		for (int i = 0; i < (is_dense ? 3 : 1); i++)
			tick_add(axis, ret, pow(base, power) * (const double[]){ 1, 2, 5 }[i]);
	if (ret->count == 0)
		tick_add(axis, ret, axis->low);
	/* The target, where its label does not touch the last one's. */
	if (axis->is_threads && axis_position(axis, ret->at[ret->count - 1]) < 0.92)
		tick_add(axis, ret, axis->high);
	if (ret->count == 1)
		tick_add(axis, ret, axis->high);
}

void axis_ticks(const struct axis *axis, unsigned wanted, struct ticks *ret)
{
	ret->count = 0;
	if (wanted > TICKS_MAX)
		wanted = TICKS_MAX;
	if (wanted < 2)
		wanted = 2;
	if (axis->is_log)
		ticks_log(axis, wanted, ret);
	else
		ticks_linear(axis, wanted, ret);
}
