/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the reports of predictions share. */
#ifndef REPORT_WHATIF_VIEW_H
#define REPORT_WHATIF_VIEW_H

#include "report/criticality_view.h"
#include "report/figure.h"
#include "report/quantity.h"
#include "report/whatif.h"

#include <string.h>

/* A prediction in the words of a table's row. */
struct whatif_row {
	char cores[16];
	struct quantity_text time;
	char span[72];
	char speedup[32];
};

struct whatif_row whatif_row(const struct whatif_answer *answer, const struct whatif_point *point);

/* The answer and how far to trust it, sentence by sentence, each ended by a line break. */
void whatif_add_findings(struct strbuf *out, const struct whatif_answer *answer);

/* The first threads of a point's criticality stack: "worker-1 62%, worker-2 13%". */
void whatif_add_stack(struct strbuf *out, const struct whatif_answer *answer,
	const struct whatif_point *point, size_t count);

/* Time over cores; release it afterwards. */
void figure_of_whatif(struct figure *figure, const struct whatif_answer *answer);

#endif
