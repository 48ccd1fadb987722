/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A design space that was predicted, for people and for tools: functions append to a string, as report.h's. */
#ifndef REPORT_EXPLORED_H
#define REPORT_EXPLORED_H

#include "base/strbuf.h"
#include "report/text.h"
#include "uarch/explored.h"

/* `subject`: the profile's name. */
void report_explored_text(struct strbuf *out, const struct explored *explored, const char *subject,
	const struct text_style *style);

/* docs/formats/explore.json.md */
void report_explored_json(struct strbuf *out, const struct explored *explored, const char *subject);

/* A row for each point that is done: what varies, what follows, time, energy. */
void report_explored_csv(struct strbuf *out, const struct explored *explored);

/* Time against energy; without energy, time against the first figure that varies. */
void report_explored_svg(struct strbuf *out, const struct explored *explored, const char *subject);
void report_explored_html(struct strbuf *out, const struct explored *explored, const char *subject);

#endif
