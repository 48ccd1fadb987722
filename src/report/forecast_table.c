/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows that terminal and page show of a forecast, or of two, as text. */
#include "report/forecast_view.h"

#include <inttypes.h>
#include <math.h>

const char *const forecast_heads[FORECAST_COLUMNS] = { "threads", "forecast", "90% interval",
	"measured", "speedup", "efficiency" };

static void set_quantity(char cell[CELL_BYTES], enum quantity quantity, double value)
{
	snprintf(cell, CELL_BYTES, "%s", quantity_format(quantity, value).text);
}

static void set_interval(
	char cell[CELL_BYTES], enum quantity quantity, const struct forecast_point *p)
{
	if (isfinite(p->low) && isfinite(p->high))
		snprintf(cell, CELL_BYTES, "%s to %s", quantity_format(quantity, p->low).text,
			quantity_format(quantity, p->high).text);
	else
		snprintf(cell, CELL_BYTES, "-");
}

struct row forecast_row(const struct forecast *f, const struct forecast_point *p)
{
	enum quantity quantity = quantity_of_metric(f->metric);
	double speedup = forecast_speedup(f, p);
	struct row row = { 0 };
	snprintf(row.cells[0], CELL_BYTES, "%" PRIu32, p->threads);
	set_quantity(row.cells[1], quantity, p->value);
	set_interval(row.cells[2], quantity, p);
	if (isfinite(p->measured))
		set_quantity(row.cells[3], quantity, p->measured);
	snprintf(row.cells[4], CELL_BYTES, "%s", number_format(speedup).text);
	if (isfinite(speedup))
		snprintf(row.cells[5], CELL_BYTES, "%.0f%%", 100 * speedup / p->threads);
	else
		snprintf(row.cells[5], CELL_BYTES, "-");
	return row;
}

struct row comparison_row(const struct comparison *c, uint32_t threads)
{
	const struct forecast_point *a = forecast_at(c->a, threads),
				    *b = forecast_at(c->b, threads);
	enum quantity quantity = quantity_of_metric(c->a->metric);
	struct row row = { 0 };
	snprintf(row.cells[0], CELL_BYTES, "%" PRIu32, threads);
	set_quantity(row.cells[1], quantity, a->value);
	set_interval(row.cells[2], quantity, a);
	set_quantity(row.cells[3], quantity, b->value);
	set_interval(row.cells[4], quantity, b);
	double ratio = speed_ratio(c->a->metric, a->value, b->value);
	snprintf(row.cells[5], CELL_BYTES, "%s", number_format(ratio).text);
	return row;
}

uint32_t comparison_target(const struct comparison *c)
{
	size_t a = c->a->point_count, b = c->b->point_count;
	return (uint32_t)(a < b ? a : b);
}
