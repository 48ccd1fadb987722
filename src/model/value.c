/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers with units, and formulas over parameters:
 *
 *	sum	= product { ("+" | "-") product }
 *	product	= factor { ("*" | "/") factor }
 *	factor	= "-" factor | "(" sum ")" | name | number [name | "%"]
 *
 * A name is a unit or a parameter; a unit is that much of its quantity, so that "70 /s" and "4.3 us" need
 * no rule of their own. Each term carries the power of seconds that it measures; + and - want the
 * same on both sides, and the whole must be what the place asks for.
 */
#include "model/value.h"

#include "base/lines.h"
#include "base/mem.h"
#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

struct term {
	double value;
	int power; /* of seconds */
};

struct formula {
	const struct model *model;
	const double *parameters;
	const char *text, *at;
	unsigned depth;
	struct err *err;
};

/* Seconds are count / per, which rounds once: 4.3 us is the double nearest to 4.3e-6. */
static const struct unit {
	const char *name;
	double count, per;
} units[] = {
	{ "ns", 1, 1e9 },
	{ "us", 1, 1e6 },
	{ "ms", 1, 1e3 },
	{ "s", 1, 1 },
	{ "min", 60, 1 },
	{ "h", 3600, 1 },
};

static const struct unit *find_unit(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

bool value_is_unit(const char *name)
{
	return find_unit(name) != NULL;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int fail(const struct formula *f, const char *why)
{
	return err_set(f->err, -EINVAL, "'%s': %s", text_show(f->text).text, why);
}

static void skip_spaces(struct formula *f)
{
	while (*f->at == ' ' || *f->at == '\t')
		f->at++;
}

/* True and consumed if the next character is `c`. */
static bool takes(struct formula *f, char c)
{
	skip_spaces(f);
	if (*f->at != c)
		return false;
	f->at++;
	return true;
}

static int read_name(struct formula *f, char name[MODEL_NAME_BYTES_MAX + 1])
{
	size_t length = 0;
	while (is_letter(*f->at) || is_digit(*f->at)) {
		if (length == MODEL_NAME_BYTES_MAX)
			return fail(f, "a name is too long");
		name[length++] = *f->at++;
	}
	name[length] = '\0';
	return 0;
}

static int read_named(struct formula *f, struct term *ret)
{
	char name[MODEL_NAME_BYTES_MAX + 1];
	int code = read_name(f, name);
	if (code < 0)
		return code;
	const struct unit *unit = find_unit(name);
	if (unit) {
		*ret = (struct term){ unit->count / unit->per, 1 };
		return 0;
	}
	uint32_t index = model_find_parameter(f->model, name);
	if (index == MODEL_NONE)
		return err_set(f->err, -EINVAL,
			"'%s': there is no parameter '%s' and no such unit (ns, us, ms, s, min, h, "
			"%%)",
			text_show(f->text).text, text_show(name).text);
	static const int powers[] = { [MODEL_TIME] = 1, [MODEL_RATE] = -1 };
	const struct model_parameter *parameter = &f->model->parameters[index];
	*ret = (struct term){ f->parameters ? f->parameters[index] : parameter->value,
		powers[parameter->unit] };
	return 0;
}

static bool is_sign(char c)
{
	return c == '-' || c == '+';
}

static int read_number(struct formula *f, struct term *ret)
{
	char text[64];
	size_t length = 0;
	while (is_digit(*f->at) || *f->at == '.' ||
		((*f->at == 'e' || *f->at == 'E') && (is_digit(f->at[1]) || is_sign(f->at[1]))) ||
		(is_sign(*f->at) && length && (text[length - 1] | 0x20) == 'e')) {
		if (length == sizeof text - 1)
			return fail(f, "a number is too long");
		text[length++] = *f->at++;
	}
	text[length] = '\0';
	double number;
	int code = number_parse_double(text, &number);
	if (code < 0)
		return code == -ENOMEM ? err_set(f->err, code, "out of memory")
				       : fail(f, "not a number");
	*ret = (struct term){ number, 0 };
	if (takes(f, '%')) {
		ret->value /= 100;
		return 0;
	}
	if (!is_letter(*f->at))
		return 0;
	const char *name_at = f->at;
	char name[MODEL_NAME_BYTES_MAX + 1];
	code = read_name(f, name);
	if (code < 0)
		return code;
	const struct unit *unit = find_unit(name);
	if (unit) {
		*ret = (struct term){ number * unit->count / unit->per, 1 };
		return 0;
	}
	struct term factor = { 0 };
	f->at = name_at;
	code = read_named(f, &factor);
	ret->value *= factor.value;
	ret->power = factor.power;
	return code;
}

static int read_sum(struct formula *f, struct term *ret);

static int read_factor(struct formula *f, struct term *ret)
{
	bool is_negative = false;
	while (takes(f, '-'))
		is_negative = !is_negative;
	int code;
	if (takes(f, '(')) {
		if (++f->depth > DEPTH_MAX)
			return fail(f, "too many parentheses in one another");
		code = read_sum(f, ret);
		f->depth--;
		if (code == 0 && !takes(f, ')'))
			code = fail(f, "a ')' is missing");
	} else if (is_letter(*f->at)) {
		code = read_named(f, ret);
	} else if (is_digit(*f->at) || *f->at == '.') {
		code = read_number(f, ret);
	} else {
		code = fail(f, *f->at ? "a number or name was expected" : "it ends too early");
	}
	if (code == 0 && is_negative)
		ret->value = -ret->value;
	return code;
}

static int read_product(struct formula *f, struct term *ret)
{
	int code = read_factor(f, ret);
	while (code == 0) {
		struct term right;
		bool is_division = takes(f, '/');
		if (!is_division && !takes(f, '*'))
			return 0;
		code = read_factor(f, &right);
		if (code < 0)
			return code;
		if (is_division && right.value == 0)
			return fail(f, "division by 0");
		ret->value = is_division ? ret->value / right.value : ret->value * right.value;
		ret->power += is_division ? -right.power : right.power;
		if (ret->power < -4 || ret->power > 4)
			return fail(f, "this measures nothing");
	}
	return code;
}

static int read_sum(struct formula *f, struct term *ret)
{
	int code = read_product(f, ret);
	while (code == 0) {
		struct term right;
		bool is_minus = takes(f, '-');
		if (!is_minus && !takes(f, '+'))
			return 0;
		code = read_product(f, &right);
		if (code < 0)
			return code;
		if (right.power != ret->power)
			return fail(f,
				"adds what has different units (a missing one, as in '4.3 us'?)");
		ret->value += is_minus ? -right.value : right.value;
	}
	return code;
}

static int check_unit(const struct formula *f, int power, enum model_unit unit)
{
	static const struct {
		int power;
		const char *missing, *wrong;
	} wanted[] = {
		[MODEL_NUMBER] = { 0, "", "a number without unit is needed here" },
		[MODEL_TIME] = { 1, "the unit is missing: a time such as '4.3 us'",
			"a time is needed here, such as '4.3 us'" },
		[MODEL_RATE] = { -1, "the unit is missing: a rate such as '70 /s'",
			"a rate is needed here, such as '70 /s'" },
	};
	if (power == wanted[unit].power)
		return 0;
	return fail(f, power == 0 ? wanted[unit].missing : wanted[unit].wrong);
}

static int read_formula(struct formula *f, struct term *ret)
{
	int code = read_sum(f, ret);
	if (code < 0)
		return code;
	skip_spaces(f);
	if (*f->at)
		return fail(f, "not a number or formula");
	if (!isfinite(ret->value))
		return fail(f, "too large");
	return 0;
}

int model_evaluate(const struct model *model, const struct model_value *value, enum model_unit unit,
	const double *parameters, double *ret, struct err *err)
{
	if (!value->formula) {
		if (!isfinite(value->value))
			return err_set(err, -EINVAL, "a value is not finite");
		*ret = value->value;
		return 0;
	}
	struct formula f = { .model = model,
		.parameters = parameters,
		.text = value->formula,
		.at = value->formula,
		.err = err };
	struct term term;
	int code = read_formula(&f, &term);
	if (code == 0)
		code = check_unit(&f, term.power, unit);
	if (code == 0)
		*ret = term.value;
	return code;
}

int value_read_constant(const char *text, double *ret, enum model_unit *ret_unit, struct err *err)
{
	static const struct model none;
	struct formula f = { .model = &none, .text = text, .at = text, .err = err };
	struct term term;
	int code = read_formula(&f, &term);
	if (code < 0)
		return code;
	if (term.power < -1 || term.power > 1)
		return fail(&f, "neither a number, a time nor a rate");
	*ret = term.value;
	*ret_unit = term.power == 0 ? MODEL_NUMBER : term.power == 1 ? MODEL_TIME : MODEL_RATE;
	return 0;
}

void model_format(double value, enum model_unit unit, char ret[MODEL_FORMAT_BYTES])
{
	if (unit == MODEL_NUMBER) {
		snprintf(ret, MODEL_FORMAT_BYTES, "%.15g", value);
		return;
	}
	if (unit == MODEL_RATE) {
		snprintf(ret, MODEL_FORMAT_BYTES, "%.6g /s", value);
		return;
	}
	size_t i = value == 0 ? 3 : 0; /* 0 s */
	while (i < 3 && fabs(value) * units[i].per >= 999.9995)
		i++;
	snprintf(ret, MODEL_FORMAT_BYTES, "%.6g %s", value * units[i].per, units[i].name);
}
