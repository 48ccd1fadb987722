/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the reports of predictions share. */
#ifndef REPORT_PREDICT_VIEW_H
#define REPORT_PREDICT_VIEW_H

#include "report/criticality_view.h"
#include "report/figure.h"
#include "report/predict.h"
#include "report/quantity.h"

/* The most critical threads of a point: "worker-1 62%, worker-2 13%". */
void predict_add_critical(struct strbuf *out, const struct predict_answer *answer,
	const struct predict_point *point, size_t count);

/* "2.41 to 2.50 s" */
void predict_add_span(struct strbuf *out, const struct predict_point *point);

/* Cycles per instruction: the highest that a figure has to hold. */
double predict_most_cpi(const struct predict_answer *answer);

/* "compute 4711", for people; the caller frees it. NULL: no memory. */
char *predict_thread_name(
	const struct predict_answer *answer, const struct predicted_thread *thread);

#endif
