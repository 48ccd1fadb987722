/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a profile holds, for people and for tools: threads, what they execute, how good it is. */
#ifndef REPORT_PROFILE_H
#define REPORT_PROFILE_H

#include "base/strbuf.h"
#include "report/text.h"
#include "uarch/profile.h"

/* At most 80 columns. `subject`: the file's name. */
void report_profile_text(struct strbuf *out, const struct profile *profile, const char *subject,
	const struct text_style *style);

/* docs/formats/profile.json.md; ends with a line break. */
void report_profile_json(struct strbuf *out, const struct profile *profile, const char *subject);

#endif
