/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions of the replay, for people and for tools: functions append to a string, as report.h's. */
#ifndef REPORT_WHATIF_H
#define REPORT_WHATIF_H

#include "replay/replay.h"
#include "report/criticality.h"

/* One prediction. */
struct whatif_point {
	uint32_t cores;
	uint64_t predicted_ns, low_ns, high_ns;
	struct results *results; /* of the simulated timeline */
};

struct whatif_answer {
	struct criticality_input before; /* the recording */
	const struct replay_facts *facts;
	uint64_t replayed_ns; /* on the recorded cores, without changes */
	double error; /* of that: replayed over measured, less 1 */
	bool is_within_limit;
	size_t forgotten; /* conditions whose meaning led to a deadlock, and was left out */
	char *const *changes; /* as the user gave them: "lock=2", "without lock" */
	size_t change_count;
	const struct whatif_point *points; /* ascending cores, at least one */
	size_t point_count;
};

/* replayed_ns over the point's time. */
double whatif_speedup(const struct whatif_answer *answer, const struct whatif_point *point);

/* The answer, the replay's error, and what changes: for one point all, for several a curve. */
void report_whatif_text(
	struct strbuf *out, const struct whatif_answer *answer, const struct text_style *style);

/* docs/formats/whatif.json.md */
void report_whatif_json(struct strbuf *out, const struct whatif_answer *answer);

/* A row for each point: its cores in the column "threads", so that `corecast forecast` and `report` read it. */
void report_whatif_csv(struct strbuf *out, const struct whatif_answer *answer);

/* The curve; of one point its criticality figures. */
void report_whatif_svg(struct strbuf *out, const struct whatif_answer *answer);
void report_whatif_html(struct strbuf *out, const struct whatif_answer *answer);

#endif
