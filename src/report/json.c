/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cleaned values, and dumping into strings. */
#include "report/json.h"

#include "base/cleanup.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>

/* Seventeen digits identify a double. */
#define EXACT (JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY)

json_t *json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_text(const char *text)
{
	AUTO_RELEASE(strbuf) struct strbuf clean = { 0 };
	text_add_clean(&clean, text);
	return strbuf_failed(&clean) < 0 ? NULL : json_string(clean.text ? clean.text : "");
}

json_t *json_push(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) == 0)
		return array;
	json_decref(array);
	return NULL;
}

json_t *json_with(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) == 0)
		return object;
	json_decref(object);
	return NULL;
}

static void add(struct strbuf *out, json_t *value, size_t flags)
{
	AUTO_FREE char *dump = value ? json_dumps(value, flags | EXACT) : NULL;
	json_decref(value);
	if (dump)
		strbuf_add(out, dump);
	else
		out->failed = true;
}

void json_add(struct strbuf *out, json_t *value)
{
	add(out, value, JSON_INDENT(1));
	strbuf_add(out, "\n");
}

void json_add_in_script(struct strbuf *out, json_t *value)
{
	AUTO_RELEASE(strbuf) struct strbuf dump = { 0 };
	add(&dump, value, JSON_COMPACT);
	if (strbuf_failed(&dump) < 0)
		out->failed = true;
	/* In JSON these stand only inside strings, where an escape means the same. */
	for (const char *p = dump.text; p && *p; p++) {
		if (*p == '<' || *p == '>' || *p == '&')
			strbuf_addf(out, "\\u%04x", (unsigned)*p);
		else
			strbuf_add_bytes(out, p, 1);
	}
}
