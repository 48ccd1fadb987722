/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model for people and for tools: what it consists of, and how well it reproduces its run. */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include "base/strbuf.h"
#include "model/fit.h"
#include "report/text.h"

struct model_report {
	const struct model *model; /* borrowed */
	const struct model_fit *fit; /* borrowed; NULL: nobody asked */
	const char *subject; /* the file's name */
};

/* Threads, what they meet at, what a person can set, how well it fits, notes. */
void report_model_text(
	struct strbuf *out, const struct model_report *report, const struct text_style *style);

/* The graph of each group: fragments, their costs, and where they lead. */
void report_model_graphs(
	struct strbuf *out, const struct model_report *report, const struct text_style *style);

/* A drawing that stands alone; a page with it, tables and notes. */
void report_model_svg(struct strbuf *out, const struct model_report *report);
void report_model_html(struct strbuf *out, const struct model_report *report);

/* docs/formats/model-summary.json.md; ends with a line break. */
void report_model_json(struct strbuf *out, const struct model_report *report);

#endif
