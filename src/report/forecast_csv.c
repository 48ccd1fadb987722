/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A forecast as CSV. */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>

/* Seventeen digits identify a double; nothing stands for no number. */
static void add_number(struct strbuf *out, double value)
{
	if (isfinite(value))
		strbuf_addf(out, ",%.17g", value);
	else
		strbuf_add(out, ",");
}

void report_forecast_csv(struct strbuf *out, const struct forecast *forecast)
{
	strbuf_add(out, "threads,value,low,high,measured\n");
	for (size_t i = 0; i < forecast->point_count; i++) {
		const struct forecast_point *p = &forecast->points[i];
		strbuf_addf(out, "%" PRIu32, p->threads);
		add_number(out, p->value);
		add_number(out, p->low);
		add_number(out, p->high);
		add_number(out, p->measured);
		strbuf_add(out, "\n");
	}
}
