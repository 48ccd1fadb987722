/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text inside XML and HTML. */
#ifndef REPORT_MARKUP_H
#define REPORT_MARKUP_H

#include "base/strbuf.h"

/* Cleaned (text.h), with & < > " ' as entities: for elements and for quoted attributes. */
void markup_add(struct strbuf *out, const char *text);

#endif
