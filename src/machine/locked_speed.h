/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a locked operation (a read, a change and a write that nobody comes between) takes longer whose line the first level
 * has not, measured on words at random whose addresses are known early: the line is asked for ahead, and what is left is
 * not the next level's latency. The least of many short tries is taken, since others only make them longer.
 */
#ifndef MACHINE_LOCKED_SPEED_H
#define MACHINE_LOCKED_SPEED_H

#include <stdint.h>

/* Of a core whose first level has so many bytes. ns; 0: not known. */
double locked_miss_measure(uint64_t first_bytes);

#endif
