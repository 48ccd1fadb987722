/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Formulas are those of models (model/value.h), whose parameters are here the figures of a processor in the units of
 * processor.h: "l3.size" is l3_size in them, for a name has no dot.
 */
#include "uarch/space.h"

#include "base/lines.h"
#include "base/mem.h"
#include "model/reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct axis {
	const struct machine_field *field;
	double *values;
	bool *has_unit; /* a latency: in ns, or in cycles */
	size_t count;
};

struct rule {
	char *formula;
	unsigned line;
	const struct machine_field *field; /* that it sets; NULL: it is a requirement */
	bool is_ns; /* a latency */
	double least, most;
};

struct space {
	char *path, *base;
	struct model *model; /* the fields, as parameters */
	struct axis axes[SPACE_AXES_MAX];
	size_t axis_count;
	struct rule rules[SPACE_RULES_MAX];
	size_t rule_count;
	size_t size;
};

/* "l3.size" as a name in formulas. */
static void name_of(const struct machine_field *field, char ret[64])
{
	snprintf(ret, 64, "%s%s%s", field->section, *field->section ? "_" : "", field->key);
}

static int make_model(struct space *space)
{
	const struct machine_field *field;
	space->model = model_new();
	if (!space->model)
		return -ENOMEM;
	for (size_t i = 0; (field = machine_field(i)); i++) {
		char name[64];
		uint32_t index;
		name_of(field, name);
		if (model_add_parameter(space->model, name, &index) < 0)
			return -ENOMEM;
		space->model->parameters[index].value = 1; /* formulas are tried with that */
	}
	return 0;
}

static int find_field(
	const struct reader *r, const struct yaml_entry *entry, const struct machine_field **ret)
{
	*ret = machine_field_find(entry->key);
	return *ret ? 0
		    : reader_fail(r, entry->line, "'%s' is no figure of a machine",
			      text_show(entry->key).text);
}

static int read_value(const struct reader *r, const struct machine_field *field,
	const struct yaml_node *node, double *ret, bool *ret_has_unit)
{
	struct err why = { "" };
	if (!node || node->kind != YAML_TEXT)
		return reader_fail(
			r, node ? node->line : 1, "a value was expected, in '%s'", field->key);
	int code = machine_value_parse(field->quantity, node->text, ret, ret_has_unit, &why);
	struct processor tried = { 0 };
	if (code == 0)
		code = machine_field_set(field, &tried, *ret, *ret_has_unit, &why);
	return code < 0 ? reader_fail(r, node->line, "%s, in '%s'", why.text, field->key) : 0;
}

static int add_value(
	const struct reader *r, struct axis *axis, unsigned line, double value, bool has_unit)
{
	if (axis->count == SPACE_VALUES_MAX)
		return reader_fail(r, line, "more than %d values", SPACE_VALUES_MAX);
	axis->values[axis->count] = value;
	axis->has_unit[axis->count++] = has_unit;
	return 0;
}

static int read_list(const struct reader *r, struct axis *axis, const struct yaml_node *list)
{
	int code = list->count > 0 ? 0 : reader_fail(r, list->line, "there are no values");
	for (size_t i = 0; code == 0 && i < list->count; i++) {
		const struct yaml_node *item = list->entries[i].node;
		double value = 0;
		bool has_unit = false;
		code = read_value(r, axis->field, item, &value, &has_unit);
		if (code == 0)
			code = add_value(r, axis, item->line, value, has_unit);
	}
	return code;
}

/* { from: A, to: B, step: C } or { from: A, to: B, times: F } */
static int read_range(const struct reader *r, struct axis *axis, struct yaml_node *map)
{
	double from = 0, to = 0, step = 0;
	bool has_unit = false, has_other = false;
	const struct yaml_node *by = reader_take(map, "step"), *times = reader_take(map, "times");
	int code = read_value(r, axis->field, reader_take(map, "from"), &from, &has_unit);
	if (code == 0)
		code = read_value(r, axis->field, reader_take(map, "to"), &to, &has_other);
	if (code == 0 && (!by == !times))
		code = reader_fail(r, map->line, "a range has 'from', 'to', and 'step' or 'times'");
	if (code == 0 && by)
		code = read_value(r, axis->field, by, &step, &has_other);
	if (code == 0 && times)
		code = reader_number(r, map, "times", MODEL_NUMBER, &step);
	if (code == 0)
		code = reader_finish(r, map, "a range");
	if (code == 0 && (to < from || (by && !(step > 0)) || (times && !(step > 1))))
		code = reader_fail(r, map->line, "this range has no end");
	/* Not by sums, which would round again and again. */
	double value = from;
	for (size_t i = 0; code == 0 && value <= to * (1 + 1e-12); i++) {
		code = add_value(r, axis, map->line, value, has_unit);
		value = by ? from + (double)(i + 1) * step : value * step;
	}
	return code;
}

static int read_axis(const struct reader *r, struct space *space, const struct yaml_entry *entry)
{
	if (space->axis_count == SPACE_AXES_MAX)
		return reader_fail(r, entry->line, "more than %d figures vary", SPACE_AXES_MAX);
	struct axis *axis = &space->axes[space->axis_count++];
	axis->values = calloc(SPACE_VALUES_MAX, sizeof *axis->values);
	axis->has_unit = calloc(SPACE_VALUES_MAX, sizeof *axis->has_unit);
	if (!axis->values || !axis->has_unit)
		return reader_out_of_memory(r);
	int code = find_field(r, entry, &axis->field);
	if (code < 0)
		return code;
	if (entry->node->kind == YAML_MAP)
		code = read_range(r, axis, entry->node);
	else if (entry->node->kind == YAML_LIST)
		code = read_list(r, axis, entry->node);
	else
		code = reader_fail(r, entry->line,
			"'%s' varies over a list, such as [2, 4], or a range", axis->field->key);
	if (code == 0 && __builtin_mul_overflow(space->size, axis->count, &space->size))
		space->size = SIZE_MAX;
	if (code == 0 && space->size > SPACE_POINTS_MAX)
		code = reader_fail(r, entry->line, "more than %d points", SPACE_POINTS_MAX);
	return code;
}

/* Works it out with all figures 1, for what is wrong with the formula itself. */
static int add_rule(const struct reader *r, struct space *space, const struct yaml_node *node,
	const struct machine_field *field, struct rule **ret)
{
	if (space->rule_count == SPACE_RULES_MAX)
		return reader_fail(r, node->line, "more than %d formulas", SPACE_RULES_MAX);
	if (node->kind != YAML_TEXT || !*node->text)
		return reader_fail(r, node->line, "a formula was expected");
	struct rule *rule = &space->rules[space->rule_count++];
	*rule = (struct rule){ .formula = strdup(node->text),
		.line = node->line,
		.field = field,
		.least = -INFINITY,
		.most = INFINITY };
	if (!rule->formula)
		return reader_out_of_memory(r);
	const struct model_value value = { .formula = rule->formula };
	double now = 0;
	int code = model_evaluate(space->model, &value, MODEL_NUMBER, NULL, &now, r->err);
	*ret = rule;
	return code == -EINVAL ? err_prefix(r->err, code, "%s:%u", r->file, node->line) : code;
}

/* "14 ns" is no formula, but says a value all the same. */
static int read_setting(const struct reader *r, struct space *space, const struct yaml_entry *entry)
{
	const struct machine_field *field = NULL;
	struct rule *rule = NULL;
	int code = find_field(r, entry, &field);
	if (code < 0)
		return code;
	double value = 0;
	bool has_unit = false;
	struct yaml_node *node = entry->node;
	if (node->kind != YAML_TEXT ||
		machine_value_parse(field->quantity, node->text, &value, &has_unit, NULL) < 0)
		return add_rule(r, space, node, field, &rule);
	code = read_value(r, field, node, &value, &has_unit);
	if (code < 0)
		return code;
	AUTO_FREE char *number = NULL;
	if (asprintf(&number, "%.17g", value) < 0) {
		number = NULL;
		return reader_out_of_memory(r);
	}
	struct yaml_node constant = { .kind = YAML_TEXT, .line = node->line, .text = number };
	code = add_rule(r, space, &constant, field, &rule);
	if (code == 0)
		rule->is_ns = has_unit;
	return code;
}

static int read_requirement(const struct reader *r, struct space *space, struct yaml_node *map)
{
	struct rule *rule = NULL;
	const struct yaml_node *value = reader_take(map, "value");
	if (!value)
		return reader_fail(r, map->line, "such as { value: rob * frequency, most: 1e12 }");
	int code = add_rule(r, space, value, NULL, &rule);
	if (code == 0)
		code = reader_number(r, map, "least", MODEL_NUMBER, &rule->least);
	if (code == 0)
		code = reader_number(r, map, "most", MODEL_NUMBER, &rule->most);
	return code < 0 ? code : reader_finish(r, map, "a requirement");
}

static int read_sections(const struct reader *r, struct space *space, struct yaml_node *file)
{
	struct yaml_node *base = reader_take(file, "base"), *vary = reader_take(file, "vary");
	struct yaml_node *set = reader_take(file, "set"), *require = reader_take(file, "require");
	if (!base || base->kind != YAML_TEXT || !*base->text)
		return reader_fail(r, base ? base->line : 1, "'base' names a machine");
	space->base = strdup(base->text);
	if (!space->base)
		return reader_out_of_memory(r);
	if (!vary || vary->kind != YAML_MAP || vary->count == 0)
		return reader_fail(r, vary ? vary->line : 1, "'vary' says what varies");
	int code = 0;
	for (size_t i = 0; code == 0 && i < vary->count; i++)
		code = read_axis(r, space, &vary->entries[i]);
	if (code == 0 && set && set->kind != YAML_MAP)
		code = reader_fail(r, set->line, "'set' has fields, such as { rob: 100 }");
	for (size_t i = 0; code == 0 && set && i < set->count; i++)
		code = read_setting(r, space, &set->entries[i]);
	if (code == 0 && require && require->kind != YAML_LIST)
		code = reader_fail(r, require->line, "'require' is a list");
	for (size_t i = 0; code == 0 && require && i < require->count; i++)
		code = read_requirement(r, space, require->entries[i].node);
	return code < 0 ? code : reader_finish(r, file, "a space file");
}

int space_parse(
	const char *path, const char *text, size_t length, struct space **ret, struct err *err)
{
	AUTO(space) struct space *space = calloc(1, sizeof *space);
	AUTO(yaml_node) struct yaml_node *file = NULL;
	AUTO_FILE FILE *in = fmemopen((void *)text, length, "r");
	if (!space || !in || make_model(space) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	space->size = 1;
	space->path = strdup(path);
	if (!space->path)
		return err_set(err, -ENOMEM, "out of memory");
	int code = yaml_tree_read(in, path, &file, err);
	if (code < 0)
		return code;
	const struct reader reader = { .file = path, .err = err };
	code = file->kind == YAML_MAP ? read_sections(&reader, space, file)
				      : reader_fail(&reader, file->line, "a space file has fields");
	if (code == 0)
		*ret = TAKE(space);
	return code;
}

void space_free(struct space *space)
{
	if (!space)
		return;
	for (size_t i = 0; i < space->axis_count; i++) {
		free(space->axes[i].values);
		free(space->axes[i].has_unit);
	}
	for (size_t i = 0; i < space->rule_count; i++)
		free(space->rules[i].formula);
	model_free(space->model);
	free(space->path);
	free(space->base);
	free(space);
}

const char *space_base(const struct space *space)
{
	return space->base;
}

size_t space_size(const struct space *space)
{
	return space->size;
}

const struct machine_field *space_axis(const struct space *space, size_t n)
{
	return n < space->axis_count ? space->axes[n].field : NULL;
}

const struct machine_field *space_setting(const struct space *space, size_t n)
{
	for (size_t i = 0; i < space->rule_count; i++)
		if (space->rules[i].field && n-- == 0)
			return space->rules[i].field;
	return NULL;
}

static size_t index_of(const struct space *space, size_t axis, size_t point)
{
	for (size_t i = space->axis_count; i-- > axis + 1;)
		point /= space->axes[i].count;
	return point % space->axes[axis].count;
}

double space_value(const struct space *space, size_t axis, size_t point)
{
	return space->axes[axis].values[index_of(space, axis, point)];
}

void space_format(
	const struct space *space, size_t axis, size_t point, char ret[MACHINE_VALUE_BYTES])
{
	const struct axis *a = &space->axes[axis];
	size_t index = index_of(space, axis, point);
	bool is_ns = a->field->quantity == MACHINE_LATENCY && a->has_unit[index];
	machine_value_format(is_ns ? MACHINE_NS : a->field->quantity, a->values[index], ret);
}

static void take_figures(const struct processor *processor, double *ret)
{
	const struct machine_field *field;
	for (size_t i = 0; (field = machine_field(i)); i++)
		ret[i] = machine_field_get(field, processor);
}

/* 1, 0 (err says why not), -EINVAL, -ENOMEM */
static int apply(const struct space *space, const struct rule *rule, double *figures,
	struct processor *processor, struct err *err)
{
	const struct model_value formula = { .formula = rule->formula };
	double value = 0;
	take_figures(processor, figures);
	int code = model_evaluate(space->model, &formula, MODEL_NUMBER, figures, &value, err);
	if (code < 0)
		return code == -EINVAL ? err_prefix(err, code, "%s:%u", space->path, rule->line)
				       : code;
	if (!rule->field) {
		bool is_met = value >= rule->least && value <= rule->most;
		if (!is_met)
			(void)err_set(err, -EDOM, "%s is %g", rule->formula, value);
		return is_met;
	}
	bool is_whole = rule->field->store == MACHINE_U32 || rule->field->store == MACHINE_U64 ||
			(rule->field->store == MACHINE_CACHE && !rule->is_ns);
	if (is_whole)
		value = floor(value + 0.5);
	code = machine_field_set(rule->field, processor, value, rule->is_ns, err);
	if (code < 0)
		(void)err_prefix(err, code, "%s", rule->field->key); /* told as the reason */
	return code == 0;
}

int space_point(const struct space *space, const struct processor *base, size_t point,
	struct processor *ret, struct err *err)
{
	struct processor processor = *base;
	AUTO_FREE double *figures = calloc(space->model->parameter_count + 1, sizeof *figures);
	if (!figures)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < space->axis_count; i++) {
		const struct axis *axis = &space->axes[i];
		size_t index = index_of(space, i, point);
		if (machine_field_set(axis->field, &processor, axis->values[index],
			    axis->has_unit[index], err) < 0)
			return 0; /* not whole: a range of fractions */
	}
	for (size_t i = 0; i < space->rule_count; i++) {
		int code = apply(space, &space->rules[i], figures, &processor, err);
		if (code <= 0)
			return code;
	}
	const char *field = NULL;
	processor_settle(&processor);
	if (processor_check(&processor, &field, err) < 0)
		return 0;
	*ret = processor;
	return 1;
}
