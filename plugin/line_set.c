/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "line_set.h"

#include "hash.h"

#include <stdlib.h>

enum { FIRST_BITS = 8 };

static bool grow(struct line_set *set)
{
	if (set->lines && set->used * 2 < 1u << set->bits)
		return true;
	struct line_set larger = { .bits = set->lines ? set->bits + 1 : FIRST_BITS,
		.used = set->used };
	larger.lines = calloc(1u << larger.bits, sizeof(*larger.lines));
	if (!larger.lines)
		return false;
	for (uint32_t i = 0; set->lines && i < 1u << set->bits; i++) {
		if (!set->lines[i])
			continue;
		uint32_t at = hash_bits(set->lines[i], larger.bits);
		while (larger.lines[at])
			at = (at + 1) & ((1u << larger.bits) - 1);
		larger.lines[at] = set->lines[i];
	}
	free(set->lines);
	*set = larger;
	return true;
}

bool line_set_add(struct line_set *set, uint64_t line)
{
	if (!grow(set))
		return false;
	uint32_t at = hash_bits(line + 1, set->bits);
	while (set->lines[at] && set->lines[at] != line + 1)
		at = (at + 1) & ((1u << set->bits) - 1);
	if (set->lines[at])
		return false;
	set->lines[at] = line + 1;
	set->used++;
	return true;
}
