/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fields of a CSV line. */
#include "base/csv.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without the quotes, in place. Returns where the field ends, NULL if the quotes do not match. */
static char *unquote(char *text)
{
	char *out = text;
	char *p = text + 1;
	for (;; p++) {
		if (*p == '"' && p[1] == '"')
			p++;
		else if (*p == '"' || *p == '\0')
			break;
		*out++ = *p;
	}
	if (*p == '\0')
		return NULL;
	p++;
	p += strspn(p, " \t");
	*out = '\0'; /* before p, so what follows the quote is still there */
	return *p == ',' || *p == '\0' ? p : NULL;
}

/* Ends a field that has no quotes after its last byte that is not a space. */
static void trim_end(char *text, char *end)
{
	while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
}

static int add_field(
	struct csv_fields *fields, char *text, const struct lines *lines, struct err *err)
{
	if (fields->count == CSV_FIELDS_MAX)
		return lines_fail(lines, err, "more than %d fields", (int)CSV_FIELDS_MAX);
	if (mem_grow(&fields->items, &fields->capacity, fields->count + 1, sizeof *fields->items) <
		0)
		return err_set(err, -ENOMEM, "out of memory");
	fields->items[fields->count++] = text;
	return 0;
}

int csv_split(struct csv_fields *fields, struct lines *lines, struct err *err)
{
	fields->count = 0;
	char *p = lines->text;
	for (;;) {
		p += strspn(p, " \t");
		int code = add_field(fields, p, lines, err);
		if (code < 0)
			return code;
		bool is_quoted = *p == '"';
		char *end = is_quoted ? unquote(p) : p + strcspn(p, ",");
		if (!end)
			return lines_fail(lines, err,
				"field %zu: its quotes do not match: write \"...\", with \"\" for "
				"a quote inside, on one line",
				fields->count);
		bool is_last = *end == '\0';
		if (!is_quoted)
			trim_end(p, end);
		if (is_last)
			return 0;
		p = end + 1;
	}
}

void csv_fields_release(struct csv_fields *fields)
{
	free(fields->items);
	*fields = (struct csv_fields){ 0 };
}
