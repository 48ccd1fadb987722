/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strict numbers from text, in the C locale whatever the program around us has set. */
#include "base/number.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

static const char DIGITS[] = "0123456789";

/* Behind the last of the groups of three digits that follow one of up to three; NULL: it is not grouped so. */
static const char *end_of_groups(const char *text)
{
	const char *at = text + strcspn(text, DIGITS);
	size_t first = strspn(at, DIGITS);
	at += first;
	if (first < 1 || first > 3 || *at != ',')
		return NULL;
	for (; *at == ','; at += 4)
		if (strspn(at + 1, DIGITS) != 3)
			return NULL;
	return at;
}

int number_parse_printed(const char *text, double *ret)
{
	static const struct {
		char name;
		double factor;
	} suffixes[] = { { 'k', 1e3 }, { 'M', 1e6 }, { 'G', 1e9 }, { 'T', 1e12 } };
	const char *groups_end = end_of_groups(text);
	AUTO_FREE char *plain = malloc(strlen(text) + 1);
	size_t length = 0;
	double factor = 1, value;
	if (!plain)
		return -ENOMEM;
	for (const char *at = text; *at; at++)
		if (*at != ',' || !groups_end || at >= groups_end)
			plain[length++] = *at;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes) && length > 1 && factor == 1; i++)
		if (plain[length - 1] == suffixes[i].name) {
			factor = suffixes[i].factor;
			length--;
		}
	plain[length] = '\0';
	int code = number_parse_double(plain, &value);
	if (code == 0)
		*ret = value * factor;
	return code;
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
