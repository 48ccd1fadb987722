/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast lines come that all go into one set of a cache: loads of lines one page apart, none of which waits for another, from the
 * next level. The least of many short tries is taken, since others only make them longer.
 */
#ifndef MACHINE_SET_SPEED_H
#define MACHINE_SET_SPEED_H

struct set_speed {
	double first_ns; /* a line that the second level has; 0: not known */
	double second_ns; /* that only the third has */
};

struct set_speed set_speed_measure(void);

#endif
