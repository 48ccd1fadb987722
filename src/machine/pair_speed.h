/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What two threads on two cores take for a line that both write, and for a lock that both may take. */
#ifndef MACHINE_PAIR_SPEED_H
#define MACHINE_PAIR_SPEED_H

#include <stdbool.h>
#include <stddef.h>

struct pair_speed {
	double transfer_ns; /* of a line that another core has written, and wants no more */
	double transfer_least_ns,
		transfer_most_ns; /* of all looks at it: a hypervisor may move its cores */
	double turn_ns; /* of a line that both look at all the time, until they can write to it by turns */
	double stay; /* additions to it that a core does before it goes on to another one that adds to it, too; 0: as many as wait */
	double hold_ns; /* how long such a line is held from the other one; 0: until those are done that wait */
	double lock_ns; /* of a free mutex's lock and unlock, in a process of several threads */
	double lock_overlap; /* of that, in which what is done between the two goes on: 0 .. 1 */
};

/* One look at the first two processors that the process may use, from threads of its own; false: they could not be made. */
bool pair_speed_measure(struct pair_speed *ret);

/* Of so many looks (sorts them): the one with the middle transfer, but of locks the least. All 0 without any. */
struct pair_speed pair_speed_settle(struct pair_speed *looks, size_t count);

#endif
