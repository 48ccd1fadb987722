/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libcyaml tells what is wrong through its log, in lines such as
 *
 *	Load: Invalid uint64_t value: 'x'
 *	Load: Backtrace:
 *	  in sequence entry '2' (line: 3, column: 13)
 *	  in mapping field 'models' (line: 3, column: 9)
 *
 * of which the first message, the first line number and the first field name make our error.
 */
#include "collect/yaml_file.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MESSAGE_BYTES = 256, FIELD_BYTES = 64 };

struct complaint {
	char message[MESSAGE_BYTES];
	char field[FIELD_BYTES];
	unsigned line; /* from 1; 0: not known */
};

/* The message quotes the file, which may hold anything. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

static void take_log(cyaml_log_t level, void *context, const char *fmt, va_list args)
{
	struct complaint *complaint = context;
	char line[MESSAGE_BYTES];
	if (level != CYAML_LOG_ERROR)
		return;
	(void)vsnprintf(line, sizeof line, fmt, args); /* cut at its size */
	line[strcspn(line, "\n")] = '\0';

	static const char prefix[] = "Load: ";
	if (!*complaint->message) {
		size_t skip = strncmp(line, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
		snprintf(complaint->message, sizeof complaint->message, "%s", line + skip);
		make_printable(complaint->message);
		return;
	}
	const char *place = strstr(line, "(line: ");
	if (place && complaint->line == 0)
		(void)sscanf(place, "(line: %u", &complaint->line); /* stays 0 */
	if (!*complaint->field)
		(void)sscanf(line, " in mapping field '%63[^']", complaint->field); /* stays "" */
}

/* libcyaml gives the place of the field before; libyaml itself knows where it stumbled. */
static unsigned find_syntax_error(const char *text, size_t length)
{
	yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser))
		return 0;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	bool is_end = false;
	unsigned line = 0;
	while (!is_end && line == 0) {
		yaml_event_t event;
		if (!yaml_parser_parse(&parser, &event)) {
			line = (unsigned)parser.problem_mark.line + 1;
		} else {
			is_end = event.type == YAML_STREAM_END_EVENT;
			yaml_event_delete(&event);
		}
	}
	yaml_parser_delete(&parser);
	return line;
}

/* The line of a key that no schema knows: from the line before it, which is what libcyaml tells. */
static unsigned find_key(const char *text, size_t length, const char *key, unsigned from)
{
	const char *at = text, *end = text + length;
	size_t key_length = strlen(key);
	for (unsigned line = 1; at < end; line++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		while (at < stop && (*at == ' ' || *at == '-'))
			at++;
		if (line >= from && (size_t)(stop - at) > key_length &&
			memcmp(at, key, key_length) == 0 && at[key_length] == ':')
			return line;
		at = stop + 1;
	}
	return from;
}

static int report(const char *path, const char *text, size_t length, cyaml_err_t code,
	struct complaint *complaint, struct err *err)
{
	static const char unknown_key[] = "Unexpected key: ";
	if (code == CYAML_ERR_OOM)
		return err_set(err, -ENOMEM, "out of memory");
	if (code == CYAML_ERR_LIBYAML_PARSER)
		complaint->line = find_syntax_error(text, length);
	if (strncmp(complaint->message, unknown_key, strlen(unknown_key)) == 0) {
		complaint->line = find_key(
			text, length, complaint->message + strlen(unknown_key), complaint->line);
		complaint->field[0] = '\0'; /* that of the field before */
	}
	if (!*complaint->message)
		snprintf(complaint->message, sizeof complaint->message, "%s", cyaml_strerror(code));
	return err_set(err, -EINVAL, "%s:%u: %s%s%s%s", path, complaint->line ? complaint->line : 1,
		complaint->message, *complaint->field ? " (field '" : "", complaint->field,
		*complaint->field ? "')" : "");
}

static cyaml_config_t make_config(struct complaint *complaint)
{
	return (cyaml_config_t){
		.log_fn = take_log,
		.log_ctx = complaint,
		.log_level = CYAML_LOG_ERROR,
		.mem_fn = cyaml_mem,
		.flags = CYAML_CFG_NO_ALIAS,
	};
}

int yaml_file_parse(const char *path, const char *text, size_t length,
	const struct cyaml_schema_value *schema, void **ret, struct err *err)
{
	struct complaint complaint = { 0 };
	cyaml_config_t config = make_config(&complaint);
	void *data = NULL;
	cyaml_err_t code =
		cyaml_load_data((const uint8_t *)text, length, &config, schema, &data, NULL);
	if (code != CYAML_OK)
		return report(path, text, length, code, &complaint, err);
	if (!data)
		return err_set(err, -EINVAL, "%s:1: the file says nothing", path);
	*ret = data;
	return 0;
}

int yaml_file_load(
	const char *path, const struct cyaml_schema_value *schema, void **ret, struct err *err)
{
	AUTO_FILE FILE *file = fopen(path, "re");
	if (!file)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	AUTO_FREE char *text = malloc(YAML_FILE_BYTES_MAX + 1);
	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	size_t length = fread(text, 1, YAML_FILE_BYTES_MAX + 1, file);
	if (ferror(file))
		return err_set(err, -EIO, "cannot read '%s': %s", path, strerror(errno));
	if (length > YAML_FILE_BYTES_MAX)
		return err_set(
			err, -EFBIG, "'%s' is larger than %d bytes", path, YAML_FILE_BYTES_MAX);
	return yaml_file_parse(path, text, length, schema, ret, err);
}

void yaml_file_free(const struct cyaml_schema_value *schema, void *data)
{
	struct complaint none = { 0 };
	cyaml_config_t config = make_config(&none);
	(void)cyaml_free(&config, schema, data, 0); /* fails only for a NULL schema or config */
}
