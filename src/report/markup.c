/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Escaping. */
#include "report/markup.h"

#include "base/cleanup.h"
#include "report/text.h"

static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void markup_add(struct strbuf *out, const char *text)
{
	AUTO_RELEASE(strbuf) struct strbuf clean = { 0 };
	text_add_clean(&clean, text);
	if (strbuf_failed(&clean) < 0)
		out->failed = true;
	for (const char *p = clean.text; p && *p; p++)
		if (entity(*p))
			strbuf_add(out, entity(*p));
		else
			strbuf_add_bytes(out, p, 1);
}
