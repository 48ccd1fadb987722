/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing arrays: half as much again each time, so appending is linear overall. */
#include "base/mem.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int mem_grow(void *array, size_t *capacity, size_t need, size_t size)
{
	if (need <= *capacity)
		return 0;
	size_t want = *capacity + *capacity / 2;
	if (want < need)
		want = need;
	if (want < 8)
		want = 8;
	if (want > SIZE_MAX / size)
		return -ENOMEM;
	void *old;
	memcpy(&old, array, sizeof old);
	char *grown = realloc(old, want * size);
	if (!grown)
		return -ENOMEM;
	memset(grown + *capacity * size, 0, (want - *capacity) * size);
	memcpy(array, &grown, sizeof grown);
	*capacity = want;
	return 0;
}
