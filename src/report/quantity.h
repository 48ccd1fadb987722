/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers with units, as people read them: three significant digits, "12.3 ms", "4.56 min",
 * "1.23k/s", "4.5/h".
 */
#ifndef REPORT_QUANTITY_H
#define REPORT_QUANTITY_H

#include "scaling/runs.h"

enum quantity {
	QUANTITY_COUNT, /* no unit, with k, M, G, T */
	QUANTITY_TIME, /* seconds */
	QUANTITY_RATE, /* per second */
};

/* Of a measurement set's values. */
enum quantity quantity_of_metric(enum metric metric);

struct quantity_unit {
	double size; /* in seconds, per second, or one */
	const char *name; /* goes right behind the number, with its space if it has one */
};

/* The unit in which a value of this size reads best. */
struct quantity_unit quantity_unit(enum quantity quantity, double value);

struct quantity_text {
	char text[32];
};

/* "12.3 ms", of whole counts "12"; "-" for NAN, "∞" for infinity. */
struct quantity_text quantity_format(enum quantity quantity, double value);

/* As few digits as say the value in this unit, for ticks: "0", "2.5 s", "200 ms". */
struct quantity_text quantity_format_tick(double value, struct quantity_unit unit);

/* Three significant digits, no exponent between 0.001 and a million: "0.0123", "12.3", "1234". */
struct quantity_text number_format(double value);

#endif
