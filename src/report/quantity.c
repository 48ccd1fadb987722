/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers with units. */
#include "report/quantity.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>

/* Each unit up to where the next one reads better: 90 s is not 1.5 min, 500 min is not 8.33 h. */
static const struct scale_step {
	double below;
	struct quantity_unit unit;
} times[] = { { 1e-6, { 1e-9, " ns" } }, { 1e-3, { 1e-6, " µs" } }, { 1, { 1e-3, " ms" } },
	{ 120, { 1, " s" } }, { 7200, { 60, " min" } }, { 172800, { 3600, " h" } },
	{ INFINITY, { 86400, " d" } } },
  counts[] = { { 1e3, { 1, "" } }, { 1e6, { 1e3, "k" } }, { 1e9, { 1e6, "M" } },
	  { 1e12, { 1e9, "G" } }, { INFINITY, { 1e12, "T" } } },
  rates[] = { { 1e-4, { 1 / 86400.0, "/d" } }, { 1e-2, { 1 / 3600.0, "/h" } }, { 1e3, { 1, "/s" } },
	  { 1e6, { 1e3, "k/s" } }, { 1e9, { 1e6, "M/s" } }, { 1e12, { 1e9, "G/s" } },
	  { INFINITY, { 1e12, "T/s" } } };

enum quantity quantity_of_metric(enum metric metric)
{
	switch (metric) {
	case METRIC_TIME:
		return QUANTITY_TIME;
	case METRIC_THROUGHPUT:
		return QUANTITY_RATE;
	case METRIC_UNKNOWN:
		break;
	}
	return QUANTITY_COUNT;
}

struct quantity_unit quantity_unit(enum quantity quantity, double value)
{
	const struct scale_step *step = quantity == QUANTITY_TIME   ? times
					: quantity == QUANTITY_RATE ? rates
								    : counts;
	if (value == 0) /* is no small one */
		value = 1;
	while (step->below < INFINITY && !(fabs(value) < step->below))
		step++;
	return step->unit;
}

/* Three significant digits of a number in its unit; exponents only where nothing else fits. */
static void print_three_digits(struct quantity_text *ret, double number, const char *unit)
{
	double size = fabs(number);
	int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
	if (size > 0 && size < 0.9995)
		decimals = 2 - (int)floor(log10(size));
	if (number == 0)
		snprintf(ret->text, sizeof ret->text, "0%s", unit);
	else if (size >= 1e6 || decimals > 5)
		snprintf(ret->text, sizeof ret->text, "%.2e%s", number, unit);
	else
		snprintf(ret->text, sizeof ret->text, "%.*f%s", decimals, number, unit);
}

static struct quantity_text format(double value, struct quantity_unit unit)
{
	struct quantity_text ret = { "-" };
	if (isinf(value))
		snprintf(ret.text, sizeof ret.text, "%s∞", value < 0 ? "-" : "");
	else if (!isnan(value))
		print_three_digits(&ret, value / unit.size, unit.name);
	return ret;
}

struct quantity_text quantity_format(enum quantity quantity, double value)
{
	struct quantity_unit unit = quantity_unit(quantity, value);
	bool is_whole_count = quantity == QUANTITY_COUNT && value == floor(value);
	return is_whole_count && unit.size == 1 ? quantity_format_tick(value, unit)
						: format(value, unit);
}

struct quantity_text number_format(double value)
{
	return format(value, (struct quantity_unit){ 1, "" });
}

struct quantity_text quantity_format_tick(double value, struct quantity_unit unit)
{
	struct quantity_text ret = { "0" };
	double number = value / unit.size;
	if (number != 0)
		snprintf(ret.text, sizeof ret.text, fabs(number) < 1e5 ? "%.6g%s" : "%.1e%s",
			number, unit.name);
	return ret;
}
