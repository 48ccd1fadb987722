/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON of other tools: loads it, bounded, and gives it to the reader of its tool. */
#include "scaling/runs_formats.h"

#include <errno.h>
#include <string.h>

enum { JSON_BYTES_MAX = 16 << 20 };

struct source {
	FILE *in;
	size_t taken;
	bool is_too_long;
};

/* For jansson: up to `size` bytes, 0 at the end. */
static size_t take(void *buffer, size_t size, void *data)
{
	struct source *source = data;
	size_t count = fread(buffer, 1, size, source->in);
	source->taken += count;
	source->is_too_long = source->taken > JSON_BYTES_MAX;
	return source->is_too_long ? 0 : count; /* what is cut does not parse */
}

CLEANUP_DEFINE(json_t, json_decref)

int runs_json_read(
	struct lines *lines, const struct runs_read_opts *opts, struct runs **ret, struct err *err)
{
	struct source source = { .in = lines->in };
	json_error_t where;
	AUTO(json_t) json_t *root = json_load_callback(take, &source, 0, &where);
	if (source.is_too_long)
		return err_set(err, -EINVAL, "%s: more than %d bytes of JSON", lines->name,
			(int)JSON_BYTES_MAX);
	if (ferror(lines->in))
		return err_set(err, -EIO, "%s: cannot be read: %s", lines->name, strerror(errno));
	if (!root && where.text[0] == '\0') /* jansson has no words for it */
		return err_set(err, -ENOMEM, "out of memory");
	if (!root)
		return err_set(err, -EINVAL, "%s:%u: %s", lines->name,
			lines->number + (unsigned)(where.line > 0 ? where.line : 1),
			text_show(where.text).text);
	const json_t *results = json_object_get(root, "results");
	if (json_is_array(results) && opts->select)
		return runs_refuse_select(lines->name, err);
	if (json_is_array(results))
		return runs_hyperfine_read(results, lines->name, opts, ret, err);
	const json_t *benchmarks = json_object_get(root, "benchmarks");
	if (json_is_array(benchmarks))
		return runs_gbench_read(benchmarks, lines->name, opts, ret, err);
	return err_set(err, -EINVAL,
		"%s: JSON with neither \"results\" (hyperfine) nor \"benchmarks\" (Google "
		"Benchmark)",
		lines->name);
}
