/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions of a profile on processors, for people and for tools: functions append to a string, as report.h's. */
#ifndef REPORT_PREDICT_H
#define REPORT_PREDICT_H

#include "report/criticality.h"
#include "uarch/predict.h"

/* One processor. */
struct predict_point {
	struct processor processor;
	struct prediction prediction;
	uint64_t low_ns,
		high_ns; /* least and most of predictions that are as good; this is the middle one */
	uint64_t
		alone_ns; /* if nobody used the cores' other hardware threads; 0: the processor has no such neighbours */
	uint64_t seed; /* of this one's draws */
	struct results *results; /* of the predicted timeline */
};

struct predict_answer {
	const char *subject; /* the profile's name */
	const struct profile *profile;
	const struct replay_facts *facts; /* of its timeline */
	const struct code_finder *finder;
	const struct predict_point *points; /* at least one, as they were asked for */
	size_t point_count;
	size_t forgotten; /* conditions whose meaning was left out, since it led to a deadlock */
};

/* Times, CPI stacks as bars; of a single processor its threads' stacks and criticality. */
void report_predict_text(
	struct strbuf *out, const struct predict_answer *answer, const struct text_style *style);

/* docs/formats/predict.json.md */
void report_predict_json(struct strbuf *out, const struct predict_answer *answer);

/* CPI stacks. */
void report_predict_svg(struct strbuf *out, const struct predict_answer *answer);
void report_predict_html(struct strbuf *out, const struct predict_answer *answer);

/* What that page says first (the answer and how far to trust it, each sentence ended by a line break), and its parts. */
void predict_add_findings(struct strbuf *out, const struct predict_answer *answer);
void predict_add_sections(struct strbuf *out, const struct predict_answer *answer);

#endif
