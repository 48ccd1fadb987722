/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code behind a stall category, as a table of at most 80 columns. */
#ifndef REPORT_WHERE_TEXT_H
#define REPORT_WHERE_TEXT_H

#include "base/strbuf.h"
#include "collect/where.h"

/* Adds at most `max` places; check strbuf_failed(). */
void where_text(const struct where *where, size_t max, struct strbuf *out);

#endif
