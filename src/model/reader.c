/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fields of a model file: texts, values, distributions. */
#include "model/reader.h"

#include "base/lines.h"
#include "base/mem.h"
#include "base/number.h"
#include "model/value.h"

#include <errno.h>
#include <string.h>

int reader_fail(const struct reader *r, unsigned line, const char *fmt, ...)
{
	char text[ERR_TEXT_BYTES];
	va_list args;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args); /* cut at its size */
	va_end(args);
	return err_set(r->err, -EINVAL, "%s:%u: %s", r->file, line, text);
}

int reader_out_of_memory(const struct reader *r)
{
	return err_set(r->err, -ENOMEM, "out of memory");
}

struct yaml_node *reader_take(struct yaml_node *map, const char *key)
{
	for (size_t i = 0; map->kind == YAML_MAP && i < map->count; i++)
		if (strcmp(map->entries[i].key, key) == 0) {
			map->entries[i].is_used = true;
			return map->entries[i].node;
		}
	return NULL;
}

int reader_finish(const struct reader *r, const struct yaml_node *map, const char *what)
{
	for (size_t i = 0; map->kind == YAML_MAP && i < map->count; i++)
		if (!map->entries[i].is_used)
			return reader_fail(r, map->entries[i].line, "%s has no field '%s'", what,
				text_show(map->entries[i].key).text);
	return 0;
}

int reader_map(const struct reader *r, const struct yaml_node *node, const char *what)
{
	/* "NAME:" and nothing after it: all fields by default */
	if (node->kind == YAML_MAP || (node->kind == YAML_TEXT && !*node->text))
		return 0;
	return reader_fail(r, node->line, "%s needs fields, such as { name: value }", what);
}

static int need_text(const struct reader *r, const struct yaml_node *node)
{
	if (node->kind == YAML_TEXT && *node->text)
		return 0;
	return reader_fail(r, node->line, "a value was expected here");
}

int reader_text(const struct reader *r, struct yaml_node *map, const char *key, const char **ret)
{
	const struct yaml_node *node = reader_take(map, key);
	if (!node)
		return 0;
	int code = need_text(r, node);
	if (code < 0)
		return code;
	*ret = model_text(r->model, node->text);
	return *ret ? 0 : reader_out_of_memory(r);
}

int reader_flag(const struct reader *r, struct yaml_node *map, const char *key, bool *ret)
{
	const struct yaml_node *node = reader_take(map, key);
	if (!node)
		return 0;
	*ret = node->kind == YAML_TEXT && strcmp(node->text, "true") == 0;
	if (*ret || (node->kind == YAML_TEXT && strcmp(node->text, "false") == 0))
		return 0;
	return reader_fail(r, node->line, "'%s' is true or false", key);
}

/* Puts the place before what `code` says was wrong. */
static int place(const struct reader *r, unsigned line, int code)
{
	return code == -EINVAL ? err_prefix(r->err, code, "%s:%u", r->file, line) : code;
}

static int read_value(const struct reader *r, unsigned line, const char *text, enum model_unit unit,
	struct model_value *ret)
{
	struct model_value value = { .formula = text };
	double now;
	int code = model_evaluate(r->model, &value, unit, NULL, &now, r->err);
	if (code < 0)
		return place(r, line, code);
	enum model_unit own;
	if (value_read_constant(text, &now, &own, NULL) == 0) {
		*ret = (struct model_value){ .value = now };
		return 0;
	}
	*ret = (struct model_value){ .formula = model_text(r->model, text) };
	return ret->formula ? 0 : reader_out_of_memory(r);
}

int reader_value_node(const struct reader *r, const struct yaml_node *node, enum model_unit unit,
	struct model_value *ret)
{
	int code = need_text(r, node);
	return code < 0 ? code : read_value(r, node->line, node->text, unit, ret);
}

int reader_value(const struct reader *r, struct yaml_node *map, const char *key,
	enum model_unit unit, struct model_value *ret)
{
	const struct yaml_node *node = reader_take(map, key);
	return node ? reader_value_node(r, node, unit, ret) : 0;
}

int reader_constant(const struct reader *r, const struct yaml_node *node, double *ret,
	enum model_unit *ret_unit)
{
	int code = need_text(r, node);
	return code < 0 ? code
			: place(r, node->line,
				  value_read_constant(node->text, ret, ret_unit, r->err));
}

static int read_number(
	const struct reader *r, const struct yaml_node *node, enum model_unit unit, double *ret)
{
	static const struct model without_parameters;
	int code = need_text(r, node);
	if (code < 0)
		return code;
	struct model_value value = { .formula = node->text };
	return place(r, node->line,
		model_evaluate(&without_parameters, &value, unit, NULL, ret, r->err));
}

int reader_number(const struct reader *r, struct yaml_node *map, const char *key,
	enum model_unit unit, double *ret)
{
	const struct yaml_node *node = reader_take(map, key);
	return node ? read_number(r, node, unit, ret) : 0;
}

int reader_list(const struct reader *r, const struct yaml_node *node, enum model_unit unit,
	double **ret, size_t *ret_count)
{
	if (node->kind != YAML_LIST || !node->count)
		return reader_fail(r, node->line, "a list was expected here, such as [1, 2]");
	double *numbers = model_alloc(r->model, node->count, sizeof *numbers);
	if (!numbers)
		return reader_out_of_memory(r);
	for (size_t i = 0; i < node->count; i++) {
		int code = read_number(r, node->entries[i].node, unit, &numbers[i]);
		if (code < 0)
			return code;
	}
	*ret = numbers;
	*ret_count = node->count;
	return 0;
}

/* "LEFT WORD RIGHT" into its two values. */
static int read_two(const struct reader *r, unsigned line, const char *text, const char *word,
	enum model_unit left_unit, struct model_value *left, struct model_value *right)
{
	const char *at = strstr(text, word);
	if (!at)
		return reader_fail(r, line,
			"'%s': such as 'uniform 1 us to 3 us' or 'erlang 4 of 12 us'",
			text_show(text).text);
	AUTO_FREE char *first = strndup(text, (size_t)(at - text));
	if (!first)
		return reader_out_of_memory(r);
	int code = read_value(r, line, first, left_unit, left);
	return code < 0 ? code : read_value(r, line, at + strlen(word), MODEL_TIME, right);
}

/* The rest after "WORD ", NULL if the text does not begin so. */
static const char *after(const char *text, const char *word)
{
	size_t length = strlen(word);
	return strncmp(text, word, length) == 0 && text[length] == ' ' ? text + length + 1 : NULL;
}

/* "exponetial 1 ms": a word before a number; formulas have none. */
static size_t unknown_word(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	size_t space = strspn(text + length, " \t");
	return length > 0 && space > 0 && strchr("0123456789.", text[length + space]) ? length : 0;
}

static int read_dist_text(
	const struct reader *r, unsigned line, const char *text, struct model_dist *ret)
{
	const char *rest;
	if ((rest = after(text, "exponential"))) {
		ret->kind = MODEL_EXPONENTIAL;
		return read_value(r, line, rest, MODEL_TIME, &ret->a);
	}
	if ((rest = after(text, "uniform"))) {
		ret->kind = MODEL_UNIFORM;
		return read_two(r, line, rest, " to ", MODEL_TIME, &ret->a, &ret->b);
	}
	if ((rest = after(text, "erlang"))) {
		ret->kind = MODEL_ERLANG;
		return read_two(r, line, rest, " of ", MODEL_NUMBER, &ret->b, &ret->a);
	}
	size_t word = unknown_word(text);
	if (word > 0)
		return reader_fail(r, line,
			"'%.*s' is no distribution: a time, or 'exponential MEAN', 'uniform A to "
			"B', "
			"'erlang K of MEAN', or a list of quantiles",
			(int)(word < 40 ? word : 40), text);
	ret->kind = MODEL_FIXED;
	return read_value(r, line, text, MODEL_TIME, &ret->a);
}

static int read_quantiles(
	const struct reader *r, const struct yaml_node *node, struct model_dist *ret)
{
	double *quantiles;
	size_t count;
	if (node->count > MODEL_QUANTILES_MAX)
		return reader_fail(r, node->line, "more than %d quantiles", MODEL_QUANTILES_MAX);
	int code = reader_list(r, node, MODEL_TIME, &quantiles, &count);
	if (code < 0)
		return code;
	for (size_t i = 1; i < count; i++)
		if (quantiles[i] < quantiles[i - 1])
			return reader_fail(r, node->entries[i].node->line,
				"quantiles are ascending, this one is not");
	ret->kind = MODEL_QUANTILES;
	ret->quantiles = quantiles;
	ret->quantile_count = (uint32_t)count;
	return 0;
}

int reader_dist_node(const struct reader *r, struct yaml_node *node, struct model_dist *ret)
{
	if (node->kind == YAML_LIST)
		return read_quantiles(r, node, ret);
	if (node->kind == YAML_TEXT) {
		int code = need_text(r, node);
		return code < 0 ? code : read_dist_text(r, node->line, node->text, ret);
	}
	struct yaml_node *time = reader_take(node, "time");
	if (!time || time->kind == YAML_MAP)
		return reader_fail(r, node->line, "a distribution with 'scale' needs a 'time'");
	int code = reader_dist_node(r, time, ret);
	if (code == 0)
		code = reader_value(r, node, "scale", MODEL_NUMBER, &ret->scale);
	return code < 0 ? code : reader_finish(r, node, "a distribution");
}

int reader_dist(
	const struct reader *r, struct yaml_node *map, const char *key, struct model_dist *ret)
{
	struct yaml_node *node = reader_take(map, key);
	return node ? reader_dist_node(r, node, ret) : 0;
}

static int read_count_table(
	const struct reader *r, const struct yaml_node *node, struct model_count *ret)
{
	if (!node->count)
		return reader_fail(r, node->line, "no counts");
	struct model_count_entry *entries = model_alloc(r->model, node->count, sizeof *entries);
	if (!entries)
		return reader_out_of_memory(r);
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_entry *entry = &node->entries[i];
		if (number_parse_u64(entry->key, &entries[i].count) < 0)
			return reader_fail(
				r, entry->line, "'%s' is not a count", text_show(entry->key).text);
		int code = read_number(r, entry->node, MODEL_NUMBER, &entries[i].probability);
		if (code < 0)
			return code;
	}
	ret->entries = entries;
	ret->entry_count = (uint32_t)node->count;
	return 0;
}

int reader_count(
	const struct reader *r, struct yaml_node *map, const char *key, struct model_count *ret)
{
	struct yaml_node *node = reader_take(map, key);
	if (!node)
		return 0;
	return node->kind == YAML_MAP ? read_count_table(r, node, ret)
				      : reader_value_node(r, node, MODEL_NUMBER, &ret->value);
}
