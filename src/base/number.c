/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strict numbers from text, in the C locale whatever the program around us has set. */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const char *skip_spaces(const char *text)
{
	while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
		text++;
	return text;
}

int number_parse_double(const char *text, double *ret)
{
	const char *start = skip_spaces(text);
	const char *digits = start + (*start == '-' || *start == '+');
	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		return -EINVAL;
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		return -ENOMEM;
	char *end;
	errno = 0;
	double value = strtod_l(start, &end, c_locale);
	int code = errno;
	freelocale(c_locale);
	if (end == start || *skip_spaces(end))
		return -EINVAL;
	if (code == ERANGE && fabs(value) > 1)
		return -ERANGE;
	*ret = value;
	return 0;
}

int number_parse_u32(const char *text, uint32_t *ret)
{
	text = skip_spaces(text);
	if (*text < '0' || *text > '9')
		return -EINVAL;
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (*skip_spaces(end))
		return -EINVAL;
	if (errno == ERANGE || value > UINT32_MAX)
		return -ERANGE;
	*ret = (uint32_t)value;
	return 0;
}

int number_parse_u64(const char *text, uint64_t *ret)
{
	text = skip_spaces(text);
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = is_hex ? text + 2 : text;
	if (!(is_hex ? isxdigit((unsigned char)*digits) : isdigit((unsigned char)*digits)))
		return -EINVAL;
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, is_hex ? 16 : 10);
	if (*skip_spaces(end))
		return -EINVAL;
	if (errno == ERANGE)
		return -ERANGE;
	*ret = value;
	return 0;
}
