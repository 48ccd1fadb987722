/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plugin files: loaded by a schema, checked, and applied to what a run has printed. */
#include "collect/plugin.h"

#include "collect/argv.h"
#include "collect/yaml_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct plugin_document {
	char *category;
	char *source;
	char *expression;
	enum reduction reduction;
	enum plugin_unit unit;
	double *scale; /* NULL: 1 */
};

enum { CATEGORY_BYTES = 64, TEXT_BYTES = 4096 };

static const cyaml_strval_t reduction_names[] = {
	{ "min", REDUCE_MIN },
	{ "max", REDUCE_MAX },
	{ "sum", REDUCE_SUM },
	{ "average", REDUCE_AVERAGE },
};

static const cyaml_strval_t unit_names[] = {
	{ "cycles", PLUGIN_CYCLES },
	{ "seconds", PLUGIN_SECONDS },
};

static const cyaml_schema_field_t fields[] = {
	CYAML_FIELD_STRING_PTR("category", CYAML_FLAG_POINTER, struct plugin_document, category, 1,
		CATEGORY_BYTES),
	CYAML_FIELD_STRING_PTR(
		"source", CYAML_FLAG_POINTER, struct plugin_document, source, 1, TEXT_BYTES),
	CYAML_FIELD_STRING_PTR("expression", CYAML_FLAG_POINTER, struct plugin_document, expression,
		1, TEXT_BYTES),
	CYAML_FIELD_ENUM("reduction", CYAML_FLAG_STRICT, struct plugin_document, reduction,
		reduction_names, CYAML_ARRAY_LEN(reduction_names)),
	CYAML_FIELD_ENUM("unit", CYAML_FLAG_STRICT, struct plugin_document, unit, unit_names,
		CYAML_ARRAY_LEN(unit_names)),
	CYAML_FIELD_FLOAT_PTR(
		"scale", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct plugin_document, scale),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_POINTER, struct plugin_document, fields) };

/* The line of a field that the schema has accepted, from 1. */
static unsigned line_of(const char *text, size_t size, const char *field)
{
	unsigned line = 1;
	size_t length = strlen(field);
	for (size_t i = 0; i < size; i++) {
		if ((i == 0 || text[i - 1] == '\n') && size - i > length &&
			memcmp(text + i, field, length) == 0 && text[i + length] == ':')
			return line;
		line += text[i] == '\n';
	}
	return 1;
}

static bool is_column_name(const char *name)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("_-.", *name))
			return false;
	return true;
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			return true;
	return false;
}

/* What the schema cannot express; *ret_field names the field that is wrong. */
static int check(struct plugin *plugin, const char **ret_field, struct err *err)
{
	const struct plugin_document *document = plugin->document;
	*ret_field = "category";
	if (has_control(document->category))
		return err_set(err, -EINVAL, "it contains a control character");
	if (!is_column_name(document->category))
		return err_set(err, -EINVAL,
			"'%s' cannot be a column's name: letters, digits, '_', '-' and '.' can",
			document->category);
	*ret_field = "source";
	if (has_control(document->source))
		return err_set(err, -EINVAL, "it contains a control character");
	*ret_field = "scale";
	if (document->scale && !(isfinite(*document->scale) && *document->scale > 0))
		return err_set(err, -EINVAL, "%g is not above zero", *document->scale);
	*ret_field = "expression";
	return extractor_init(&plugin->extractor, document->expression, document->reduction, err);
}

int plugin_parse(
	const char *text, size_t size, const char *name, struct plugin **ret, struct err *err)
{
	AUTO_FREE struct plugin *plugin = calloc(1, sizeof *plugin);
	if (!plugin)
		return err_set(err, -ENOMEM, "out of memory");
	void *document = NULL;
	int status = yaml_file_parse(name, text, size, &schema, &document, err);
	if (status < 0)
		return status;
	plugin->document = document;
	const char *field;
	status = check(plugin, &field, err);
	if (status < 0) {
		yaml_file_free(&schema, document);
		return err_prefix(
			err, status, "%s:%u: field '%s'", name, line_of(text, size, field), field);
	}
	plugin->category = plugin->document->category;
	plugin->source = plugin->document->source;
	plugin->unit = plugin->document->unit;
	plugin->scale = plugin->document->scale ? *plugin->document->scale : 1;
	*ret = TAKE(plugin);
	return 0;
}

int plugin_load(const char *path, struct plugin **ret, struct err *err)
{
	AUTO_FILE FILE *file = fopen(path, "re");
	AUTO_FREE char *text = malloc(YAML_FILE_BYTES_MAX + 1);
	if (!file)
		return err_set(
			err, -errno, "cannot read the plugin '%s': %s", path, strerror(errno));
	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	size_t size = fread(text, 1, YAML_FILE_BYTES_MAX + 1, file);
	if (ferror(file))
		return err_set(err, -EIO, "cannot read the plugin '%s': %s", path, strerror(errno));
	if (size > YAML_FILE_BYTES_MAX)
		return err_set(err, -EFBIG, "the plugin '%s' is larger than %d bytes", path,
			(int)YAML_FILE_BYTES_MAX);
	return plugin_parse(text, size, path, ret, err);
}

void plugin_free(struct plugin *plugin)
{
	if (!plugin)
		return;
	extractor_release(&plugin->extractor);
	yaml_file_free(&schema, plugin->document);
	free(plugin);
}

bool plugin_reads(const struct plugin *plugin, enum capture_stream stream)
{
	return strcmp(plugin->source, stream == CAPTURE_STDOUT ? "stdout" : "stderr") == 0;
}

static int read_from(const struct plugin *plugin, int fd, double *ret, struct err *err)
{
	double value;
	int matches = extractor_read(&plugin->extractor, fd, &value, err);
	if (matches < 0)
		return err_prefix(
			err, matches, "plugin '%s' on %s", plugin->category, plugin->source);
	if (value < 0)
		return err_set(err, -EINVAL, "plugin '%s' on %s: a stall of %g is below zero",
			plugin->category, plugin->source, value);
	*ret = value * plugin->scale;
	return 0;
}

/* File systems stamp with the kernel's clock of the last tick: as much older is still now. */
static bool is_older(struct timespec stamp, struct timespec start)
{
	static const double TICK_S = 0.02;
	double age_s = (double)(start.tv_sec - stamp.tv_sec) +
		       (double)(start.tv_nsec - stamp.tv_nsec) * 1e-9;
	return age_s > TICK_S;
}

static int read_file(const struct plugin *plugin, const char *path, struct timespec start,
	double *ret, struct err *err)
{
	/* Not to hang on a pipe that the program left. */
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "plugin '%s': cannot read '%s': %s", plugin->category,
			path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(
			err, -EINVAL, "plugin '%s': '%s' is not a file", plugin->category, path);
	if (is_older(st.st_mtim, start))
		return err_set(err, -ESTALE,
			"plugin '%s': '%s' is older than the run: the program did not write it",
			plugin->category, path);
	return read_from(plugin, fd, ret, err);
}

int plugin_read(const struct plugin *plugin, const struct capture *capture, uint32_t threads,
	struct timespec start, double *ret, struct err *err)
{
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		if (plugin_reads(plugin, i))
			return read_from(plugin, capture->fds[i], ret, err);
	AUTO_FREE char *path = argv_substitute(plugin->source, threads);
	if (!path)
		return err_set(err, -ENOMEM, "out of memory");
	return read_file(plugin, path, start, ret, err);
}
