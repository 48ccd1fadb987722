/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast instructions come from the second level and the third, measured on code without jumps that is larger than the
 * level before: cycles from one line to the next. A tenth of a second of work; the least of many short tries is taken, since
 * others only make them longer.
 */
#ifndef MACHINE_FETCH_SPEED_H
#define MACHINE_FETCH_SPEED_H

#include <stdint.h>

struct fetch_speed {
	double first_ns; /* of a line that the first level has: what its instructions take anyway */
	double second_ns, third_ns; /* of one that comes from the level */
};

/* Of a core whose levels have so many bytes, the first of instructions; 0: there is none. What could not be measured is 0. */
struct fetch_speed fetch_speed_measure(
	uint64_t first_bytes, uint64_t second_bytes, uint64_t third_bytes);

#endif
