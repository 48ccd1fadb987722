/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/set_speed.h"

#include "machine/memory_room.h"
#include "machine/speed_clock.h"

#include <sys/mman.h>

enum {
	/* More than a set of the first level has, and pages that the first level of the TLB has. */
	FIRST_LINES = 48,
	/* As many pages in 4 MiB: more than their sets of a second level have, of 2 MiB and 16 ways; not what a third level has. */
	SECOND_LINES = 1024,
	LOADS = 8192, /* of a try */
	TRIES = 100,
};

static double loads_ns(const struct room *room, unsigned lines)
{
	double best_ns = 0;
	unsigned rounds = LOADS / lines;
	for (unsigned i = 0; i < TRIES; i++) {
		double began_ns = speed_now_ns();
		for (unsigned n = 0; n < rounds; n++)
			for (unsigned line = 0; line < lines; line++)
				(void)*(volatile const char *)(room->at + (size_t)line * ROOM_PAGE);
		best_ns = speed_least(best_ns, speed_now_ns() - began_ns);
	}
	return best_ns / rounds / lines;
}

struct set_speed set_speed_measure(void)
{
	AUTO_RELEASE(room) struct room room = { 0 };
	if (room_map(&room, (size_t)SECOND_LINES * ROOM_PAGE, MADV_HUGEPAGE) != 0)
		return (struct set_speed){ 0 };
	return (struct set_speed){ loads_ns(&room, FIRST_LINES), loads_ns(&room, SECOND_LINES) };
}
