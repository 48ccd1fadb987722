/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists of counts as people write them: "8", "1-12", "1,2,4,8", "1-64:4" (1, 5, 9, ...; the last
 * number of a stepped range is always included, so that 1-64:4 ends at 64).
 */
#ifndef BASE_INTLIST_H
#define BASE_INTLIST_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Sorted, without duplicates, each from min to max. The caller frees *ret.
 * 0, -EINVAL (not such a list), -ERANGE (outside min..max), -ENOMEM.
 */
int intlist_parse(const char *text, uint32_t min, uint32_t max, uint32_t **ret, size_t *ret_count,
	struct err *err);

#endif
