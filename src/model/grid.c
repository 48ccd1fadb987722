/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/grid.h"

#include "base/lines.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/value.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void grid_release(struct grid *grid)
{
	for (size_t i = 0; i < grid->axis_count; i++)
		free(grid->axes[i].values);
	*grid = (struct grid){ 0 };
}

static int add_value(struct grid_axis *axis, double value)
{
	for (size_t i = 0; i < axis->count; i++)
		if (axis->values[i] == value)
			return 0;
	if (mem_grow(&axis->values, &axis->capacity, axis->count + 1, sizeof *axis->values) < 0)
		return -ENOMEM;
	axis->values[axis->count++] = value;
	return 0;
}

static int read_one(
	const struct model_parameter *parameter, const char *text, double *ret, struct err *err)
{
	enum model_unit unit;
	int code = value_read_constant(text, ret, &unit, err);
	if (code < 0)
		return err_prefix(err, code, "%s", parameter->name);
	if (unit == parameter->unit || unit == MODEL_NUMBER)
		return 0;
	return err_set(
		err, -EINVAL, "%s: '%s' is not in its unit", parameter->name, text_show(text).text);
}

/* The '-' between two values: not a sign, not an exponent's. */
static char *find_dash(char *text)
{
	for (char *at = text + (*text == '-'); *at; at++)
		if (*at == '-' && at != text && (at[-1] | 0x20) != 'e')
			return at;
	return NULL;
}

static int add_range(struct grid_axis *axis, const struct model_parameter *parameter,
	const char *from_text, const char *to_text, const char *step_text, struct err *err)
{
	double from, to, step = 1;
	int code = read_one(parameter, from_text, &from, err);
	if (code == 0)
		code = read_one(parameter, to_text, &to, err);
	if (code == 0 && step_text)
		code = read_one(parameter, step_text, &step, err);
	if (code < 0)
		return code;
	if (!(step > 0) || to < from || (to - from) / step > GRID_SETTINGS_MAX)
		return err_set(err, -EINVAL, "%s: a range is LOW-HIGH:STEP, of at most %d values",
			parameter->name, GRID_SETTINGS_MAX);
	/* A millionth of a step forgives what 0.1 is not. */
	size_t steps = (size_t)floor((to - from) / step + 1e-6);
	for (size_t i = 0; i <= steps; i++)
		if (add_value(axis, from + (double)i * step) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int add_item(struct grid_axis *axis, const struct model_parameter *parameter, char *item,
	struct err *err)
{
	char *dash = find_dash(item), *colon = strchr(item, ':');
	double value;
	if (colon)
		*colon++ = '\0';
	if (dash) {
		*dash = '\0';
		return add_range(axis, parameter, item, dash + 1, colon, err);
	}
	if (colon)
		return err_set(err, -EINVAL, "%s: a range is LOW-HIGH:STEP", parameter->name);
	int code = read_one(parameter, item, &value, err);
	if (code == 0 && add_value(axis, value) < 0)
		code = err_set(err, -ENOMEM, "out of memory");
	return code;
}

static int fail_unknown(const struct model *model, const char *name, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf names = { 0 };
	for (size_t i = 0; i < model->parameter_count; i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", model->parameters[i].name);
	return err_set(err, -EINVAL, "the model has no parameter '%s'; it has: %s",
		text_show(name).text, names.text ? names.text : "none");
}

int grid_add(struct grid *grid, const struct model *model, const char *text, struct err *err)
{
	AUTO_FREE char *copy = strdup(text);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	char *values = strchr(copy, '=');
	if (!values || !values[1])
		return err_set(err, -EINVAL, "'%s' is not NAME=VALUES", text_show(text).text);
	*values++ = '\0';
	uint32_t parameter = model_find_parameter(model, copy);
	if (parameter == MODEL_NONE)
		return fail_unknown(model, copy, err);
	for (size_t i = 0; i < grid->axis_count; i++)
		if (grid->axes[i].parameter == parameter)
			return err_set(err, -EINVAL, "'%s' is set twice", copy);
	if (grid->axis_count == GRID_AXES_MAX)
		return err_set(err, -EINVAL, "more than %d parameters are set", GRID_AXES_MAX);
	struct grid_axis *axis = &grid->axes[grid->axis_count++];
	*axis = (struct grid_axis){ .parameter = parameter };
	char *rest = NULL;
	int code = 0;
	for (char *item = strtok_r(values, ",", &rest); item && code == 0;
		item = strtok_r(NULL, ",", &rest))
		code = add_item(axis, &model->parameters[parameter], item, err);
	if (code == 0 && !axis->count)
		code = err_set(err, -EINVAL, "'%s' has no values", copy);
	if (code == 0 && grid_size(grid) > GRID_SETTINGS_MAX)
		code = err_set(err, -EINVAL, "more than %d settings", GRID_SETTINGS_MAX);
	return code;
}

size_t grid_size(const struct grid *grid)
{
	size_t size = 1;
	for (size_t i = 0; i < grid->axis_count; i++)
		if (__builtin_mul_overflow(size, grid->axes[i].count, &size))
			return SIZE_MAX;
	return size;
}

/* Of the axis's value in a setting. */
static size_t index_of(const struct grid *grid, size_t axis, size_t setting)
{
	for (size_t i = grid->axis_count; --i > axis;)
		setting /= grid->axes[i].count;
	return setting % grid->axes[axis].count;
}

double grid_value(const struct grid *grid, size_t axis, size_t setting)
{
	return grid->axes[axis].values[index_of(grid, axis, setting)];
}

void grid_setting(const struct grid *grid, const struct model *model, size_t setting, double *ret)
{
	for (size_t i = 0; i < model->parameter_count; i++)
		ret[i] = model->parameters[i].value;
	for (size_t i = 0; i < grid->axis_count; i++)
		ret[grid->axes[i].parameter] = grid_value(grid, i, setting);
}
