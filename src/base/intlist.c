/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of counts: ranges, steps and commas into a sorted array. */
#include "base/intlist.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/order.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static int read_number(const char **p, uint64_t *ret)
{
	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	uint64_t value = 0;
	for (; isdigit((unsigned char)**p); (*p)++) {
		value = value * 10 + (uint64_t)(**p - '0');
		if (value > UINT32_MAX)
			value = (uint64_t)UINT32_MAX + 1; /* above any bound */
	}
	*ret = value;
	return 0;
}

/* One element of the list: N, N-M or N-M:STEP. */
static int read_range(const char **p, uint64_t *first, uint64_t *last, uint64_t *step)
{
	if (read_number(p, first) < 0)
		return -EINVAL;
	*last = *first;
	*step = 1;
	if (**p != '-')
		return 0;
	(*p)++;
	if (read_number(p, last) < 0)
		return -EINVAL;
	if (**p != ':')
		return 0;
	(*p)++;
	return read_number(p, step);
}

int intlist_parse(const char *text, uint32_t min, uint32_t max, uint32_t **ret, size_t *ret_count,
	struct err *err)
{
	AUTO_FREE uint32_t *list = NULL;
	size_t count = 0, capacity = 0;
	const char *p = text;
	for (;;) {
		uint64_t first, last, step;
		if (read_range(&p, &first, &last, &step) < 0 || step == 0 || first > last ||
			(*p != ',' && *p != '\0'))
			return err_set(err, -EINVAL,
				"'%s' is not a list of counts: write 8, 1-12, 1,2,4,8 or 1-64:4",
				text);
		if (first < min || last > max)
			return err_set(
				err, -ERANGE, "'%s': counts go from %u to %u", text, min, max);
		for (uint64_t n = first;; n = n + step > last ? last : n + step) {
			if (mem_grow(&list, &capacity, count + 1, sizeof *list) < 0)
				return err_set(err, -ENOMEM, "out of memory");
			list[count++] = (uint32_t)n;
			if (n == last)
				break;
		}
		if (*p == '\0')
			break;
		p++;
	}
	order_u32(list, count);
	size_t kept = 1;
	for (size_t i = 1; i < count; i++)
		if (list[i] != list[kept - 1])
			list[kept++] = list[i];
	*ret = TAKE(list);
	*ret_count = kept;
	return 0;
}
