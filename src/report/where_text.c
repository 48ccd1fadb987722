/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/where_text.h"

#include "base/path.h"

#include <inttypes.h>
#include <math.h>

enum {
	COLUMNS = 80,
	PLACE_COLUMN = 25, /* where the description of a place starts */
};

/* "name (file.c:12) from caller", or "module+0x1234" where the function is not known. */
static void describe(const struct where_place *place, struct strbuf *out)
{
	if (place->function)
		strbuf_add(out, place->function);
	else
		strbuf_addf(out, "%s+0x%" PRIx64,
			place->module ? path_file_name(place->module) : "memory", place->address);
	if (place->file && place->line > 0)
		strbuf_addf(out, " (%s:%" PRIu32 ")", path_file_name(place->file), place->line);
	else if (place->function && place->module)
		strbuf_addf(out, " (%s)", path_file_name(place->module));
	if (place->caller)
		strbuf_addf(out, " from %s", place->caller);
}

static void add_line(const struct where_place *place, struct strbuf *out)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	describe(place, &text);
	strbuf_addf(out, "%5.1f%%", 100 * place->share);
	if (isnan(place->seconds))
		strbuf_addf(out, " %16" PRIu64 "  ", place->count);
	else
		strbuf_addf(out, " %9.3fs %6" PRIu64 " ", place->seconds, place->count);
	if (text.text && text.length > COLUMNS - PLACE_COLUMN)
		strbuf_addf(out, "%.*s...\n", COLUMNS - PLACE_COLUMN - 3, text.text);
	else
		strbuf_addf(out, "%s\n", text.text ? text.text : "");
}

void where_text(const struct where *where, size_t max, struct strbuf *out)
{
	strbuf_addf(out, "%s: %" PRIu64 " %s", where->category, where->count, where->unit);
	if (!isnan(where->seconds))
		strbuf_addf(out, ", %.3f s summed over threads", where->seconds);
	strbuf_add(out, "\n");
	for (size_t i = 0; i < where->place_count && i < max; i++)
		add_line(&where->places[i], out);
	if (where->place_count > max)
		strbuf_addf(out, "  and %zu more places\n", where->place_count - max);
	if (where->lost > 0)
		strbuf_addf(out, "  %" PRIu64 " %s without a place\n", where->lost, where->unit);
}
