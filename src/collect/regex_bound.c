/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pass: groups, repetitions and intervals are told from literals. An expression of at most
 * REGEX_BYTES_MAX bytes in which no repetition is repeated directly, groups nest REGEX_DEPTH_MAX
 * deep and intervals multiply to REGEX_COPIES_MAX compiles to a bounded size.
 */
#include "collect/regex_bound.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Behind a bracket expression that starts at `p`: a ']' at its beginning is a member. */
static const char *skip_bracket(const char *p)
{
	p++;
	if (*p == '^')
		p++;
	if (*p == ']')
		p++;
	while (*p && *p != ']') {
		/* [:alpha:], [.x.], [=x=] */
		bool is_class = *p == '[' && p[1] && strchr(":.=", p[1]);
		const char *end = is_class ? strchr(p + 2, ']') : NULL;
		p = end ? end + 1 : p + 1;
	}
	return *p ? p + 1 : p;
}

/* Behind an interval that starts at `p`, whose larger bound multiplies *copies; at p if it is none. */
static const char *skip_interval(const char *p, unsigned long *copies)
{
	char *end;
	unsigned long low = strtoul(p + 1, &end, 10);
	unsigned long high = low;
	if (*end == ',')
		high = strtoul(end + 1, &end, 10);
	if (*end != '}')
		return p;
	unsigned long bound = high > low ? high : low;
	if (bound > REGEX_COPIES_MAX)
		bound = REGEX_COPIES_MAX + 1;
	if (bound > 1 && *copies <= REGEX_COPIES_MAX)
		*copies *= bound;
	return end + 1;
}

int regex_bound_check(const char *expression, struct err *err)
{
	if (strlen(expression) > REGEX_BYTES_MAX)
		return err_set(
			err, -EINVAL, "the expression is longer than %d bytes", REGEX_BYTES_MAX);
	int depth = 0;
	unsigned long copies = 1;
	bool was_repetition = false;
	for (const char *p = expression; *p;) {
		const char *after_interval = *p == '{' ? skip_interval(p, &copies) : p;
		bool is_repetition = strchr("*+?", *p) || after_interval != p;
		if (is_repetition && was_repetition)
			return err_set(err, -EINVAL,
				"the expression repeats a repetition ('++'): put it into a group, "
				"or a backslash before a sign that is meant as such");
		if (*p == '(' && ++depth > REGEX_DEPTH_MAX)
			return err_set(err, -EINVAL, "the expression has groups more than %d deep",
				REGEX_DEPTH_MAX);
		depth -= *p == ')';
		if (*p == '[')
			p = skip_bracket(p);
		else if (after_interval != p)
			p = after_interval;
		else
			p += *p == '\\' && p[1] ? 2 : 1;
		was_repetition = is_repetition;
	}
	if (copies > REGEX_COPIES_MAX)
		return err_set(err, -EINVAL,
			"the intervals {m,n} of the expression multiply to more than %d copies",
			REGEX_COPIES_MAX);
	return 0;
}
