/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One screen of corecast top. */
#ifndef CMD_TOP_PRINT_H
#define CMD_TOP_PRINT_H

#include "base/strbuf.h"
#include "record/live.h"
#include "report/text.h"

/* Rows of threads in a table; more become one line. */
struct top_view {
	const char *program; /* what is watched, for the first line */
	const struct live *live;
	const struct live_rows *rows;
	size_t row_max;
};

void top_add_text(struct strbuf *out, const struct top_view *view, const struct text_style *style);

/* One object, then a line feed (docs/formats/top.json.md). */
void top_add_json(struct strbuf *out, const struct top_view *view);

#endif
