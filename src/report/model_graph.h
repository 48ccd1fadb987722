/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the drawings of a model share. */
#ifndef REPORT_MODEL_GRAPH_H
#define REPORT_MODEL_GRAPH_H

#include "report/model.h"

/* Probability of an edge at the default parameters. */
double model_edge_probability(const struct model *model, const struct model_edge *edge);

/* What a fragment does, besides its CPU time: "cpu 4.3 us", ", sleeps 2 ms", ", 9 times". */
void model_add_costs(
	struct strbuf *out, const struct model *model, const struct model_fragment *fragment);

/* The model's threads and what they meet at, then the graph of each group: one SVG element. */
void model_add_drawing(struct strbuf *out, const struct model_report *report);

#endif
