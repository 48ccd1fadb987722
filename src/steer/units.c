/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/units.h"

void units_begin(struct units *units, uint64_t now_ns, uint64_t count)
{
	*units = (struct units){
		.base_count = count, .base_ns = now_ns, .seen_count = count, .seen_ns = now_ns
	};
}

void units_see(struct units *units, uint64_t now_ns, uint64_t count)
{
	if (count <= units->seen_count)
		return;
	units->seen_count = count;
	units->seen_ns = now_ns;
	if (units->base == UNITS_ANY && units->first_ns == 0) {
		units->first_count = count;
		units->first_ns = now_ns;
	}
}

static void set_base(struct units *units, enum units_base base, uint64_t ns, uint64_t count)
{
	units->base = base;
	units->base_ns = ns;
	units->base_count = count;
	units->first_ns = 0;
}

bool units_are_few(const struct units *units)
{
	return units->seen_count - units->base_count < UNITS_ENOUGH;
}

static bool tell(struct units *units, uint64_t end_ns, double *ret_per_s, double *ret_s)
{
	if (units->seen_count == units->base_count || end_ns <= units->base_ns)
		return false;
	*ret_s = 1e-9 * (double)(end_ns - units->base_ns);
	*ret_per_s = (double)(units->seen_count - units->base_count) / *ret_s;
	set_base(units, UNITS_LAST, end_ns, units->seen_count);
	return true;
}

bool units_rate(
	struct units *units, uint64_t now_ns, bool is_whole, double *ret_per_s, double *ret_s)
{
	if (!units_are_few(units))
		return tell(units, now_ns, ret_per_s, ret_s);
	if (!is_whole)
		return false;
	if (units->seen_count == units->base_count && units->base != UNITS_WAITED) {
		set_base(units, UNITS_ANY, now_ns, units->seen_count);
		return false;
	}
	if (units->base == UNITS_ANY) /* it has been seen to grow since */
		set_base(units, UNITS_WAITED, units->first_ns, units->first_count);
	return tell(units, units->seen_ns, ret_per_s, ret_s);
}
