/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A rate from a count that only grows, where an interval may have only a few units: one more or less would be a third of three.
 * So those are measured from the end of one to the end of another, as far as somebody has looked often enough to see when
 * that was. It knows no clock.
 *
 *	|--begin--------u-------------u-------------u----------- end   (u: a unit has ended)
 *	                '---- two units in this time ----'
 */
#ifndef STEER_UNITS_H
#define STEER_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* So many in an interval are enough: one more or less is 6%. */
enum { UNITS_ENOUGH = 16 };

enum units_base {
	UNITS_ANY, /* began within a unit: what ends next is not counted */
	UNITS_WAITED, /* at the end of a unit that was waited for: until the next one, however long that takes */
	UNITS_LAST, /* where the last measurement ended */
};

struct units {
	enum units_base base;
	uint64_t base_count, base_ns;
	uint64_t first_count,
		first_ns; /* UNITS_ANY: when a unit was first seen to have ended; 0: not yet */
	uint64_t seen_count, seen_ns; /* when the count was last seen to grow */
};

/* What was done up to now does not count. */
void units_begin(struct units *units, uint64_t now_ns, uint64_t count);

/* A look at the count; the oftener, the more exact. */
void units_see(struct units *units, uint64_t now_ns, uint64_t count);

/*
 * Units per second since the begin, or since the last time that this told it, and over how long. False: it is not known yet. `is_whole`: as few as one
 * unit do; if there was none, there was nothing to do, or a unit takes longer than an interval: it is measured from its end on.
 */
bool units_rate(
	struct units *units, uint64_t now_ns, bool is_whole, double *ret_per_s, double *ret_s);

/* Whether it is worth while to look oftener. */
bool units_are_few(const struct units *units);

#endif
