/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated settings for people and for tools. The rules of report.h hold here too. */
#ifndef REPORT_SIMULATED_H
#define REPORT_SIMULATED_H

#include "base/strbuf.h"
#include "model/goal.h"
#include "model/simulated.h"
#include "report/quantity.h"
#include "report/text.h"

/* What it is, a row for each setting, of one alone its parts and objects, the best one, notes. */
void report_simulated_text(struct strbuf *out, const struct simulated *simulated,
	const char *subject, const struct text_style *style);

/* docs/formats/simulate.json.md; ends with a line break. With each fragment's time, or parts only. */
void report_simulated_json(struct strbuf *out, const struct simulated *simulated,
	const char *subject, bool has_fragments);

/* A row for each setting, a column for each number; empty where there is none. */
void report_simulated_csv(struct strbuf *out, const struct simulated *simulated);

/* Lines over the parameter with the most values: simulated_has_figure(). */
void report_simulated_svg(
	struct strbuf *out, const struct simulated *simulated, const char *subject);

/* A page that stands alone: findings, figures, heat maps of two parameters, tables, notes. */
void report_simulated_html(
	struct strbuf *out, const struct simulated *simulated, const char *subject);

/* Whether some parameter has several values. */
bool simulated_has_figure(const struct simulated *simulated);

/* The metric that matters most: response time, or the time of an iteration or of the run. */
const struct goal_metric *simulated_main_metric(const struct simulated *simulated);

/* The best setting and what it promises, a sentence without a line break; nothing without a goal. */
void simulated_add_best(struct strbuf *out, const struct simulated *simulated);

/* How it was simulated: replications and requests. */
void simulated_add_method(struct strbuf *out, const struct simulated *simulated);

/* A value of a metric: "12.3 ms", "40%". */
struct quantity_text simulated_format(const struct goal_metric *metric, double value);

/* The object that is used most, SIZE_MAX: none has a utilisation. */
size_t simulated_busiest(
	const struct simulated *simulated, const struct simulated_setting *setting);

#endif
