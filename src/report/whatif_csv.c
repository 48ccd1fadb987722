/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions of the replay as a measurement set: docs/formats/runs.md. */
#include "report/whatif.h"

#include <inttypes.h>

void report_whatif_csv(struct strbuf *out, const struct whatif_answer *answer)
{
	strbuf_add(out, "threads,time,low,high\n");
	for (size_t i = 0; i < answer->point_count; i++) {
		const struct whatif_point *p = &answer->points[i];
		strbuf_addf(out, "%" PRIu32 ",%.9f,%.9f,%.9f\n", p->cores,
			(double)p->predicted_ns / 1e9, (double)p->low_ns / 1e9,
			(double)p->high_ns / 1e9);
	}
}
