/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which port starts a micro-operation when: a ring of cycles, from the one in which the core dispatches on, with
 * the ports that are taken in each. A micro-operation takes the first cycle from when it is ready in which one of its
 * ports is free, and of the free ones that which other units need least. The ring also knows how many
 * micro-operations are dispatched and not yet issued, those that access memory and those on vector registers apart.
 *
 * Where the processor has a `vector_backlog`, operations on vector registers wait in it, in order, for a place in their issue
 * queue: dispatch goes on, and loads behind them begin.
 *
 * Where the processor `binds`, a micro-operation has its port from when it is dispatched: of its ports the one for which the
 * fewest waited at the end of the cycle before, counted with those of its own kind that were bound in this cycle; the
 * highest of several. So renaming decides in Intel's cores (Abel and Reineke, "uiCA", ICS 2022, section 4.1). Where it is 2, all that
 * were bound in this cycle are counted; integers go where the fewest went of late, whatever waits there, and wait in front
 * of their port, in a queue of `port_queue` (loops on a Zen 4: docs/models/core.md).
 */
#ifndef UARCH_CORE_PORTS_H
#define UARCH_CORE_PORTS_H

#include "uarch/core_parts.h"

enum { CORE_RING = 4096, CORE_FAR_MAX = 8192, CORE_ISSUE_QUEUES = 3, CORE_BOUND_MAX = 64 };

struct core_port_unit {
	uint64_t ports; /* in order of how little others need them; 0: needs none */
	uint64_t blocks; /* likewise: struct unit's, or vector_load_blocks */
	uint32_t interval;
	bool blocks_full; /* only where all of its ports start something */
	bool by_queue; /* renaming looks at what waits, not at what it did of late */
	int64_t full_from, full_to; /* cycles in which all its ports are taken */
};

/* A micro-operation that was bound in the cycle at hand. */
struct core_bound {
	uint64_t ports;
	unsigned port;
};

struct core_ports {
	struct core_port_unit units[CORE_UNITS];
	bool binds;
	bool sees_all; /* also what others were bound to in the same cycle */
	uint32_t
		port_room; /* of each port, of those not on vector registers; 0: no limit of its own */
	uint32_t recent
		[2]
		[PROCESSOR_PORTS_MAX]; /* bound in the last cycle that bound any, and in the one before */
	uint64_t used[PROCESSOR_PORTS_MAX], uses; /* number of the last that was bound */
	uint32_t bound[PROCESSOR_PORTS_MAX]; /* not issued at `now`, of the cycles before */
	struct core_bound fresh[CORE_BOUND_MAX];
	uint32_t fresh_count;
	int64_t now; /* cycles before are past */
	uint32_t waiting[CORE_ISSUE_QUEUES]; /* dispatched, not issued at `now` */
	uint32_t room[CORE_ISSUE_QUEUES];
	uint8_t queue_of[CORE_UNITS];
	uint32_t vector_room, vector_inside; /* of the vectors' queue, when the youngest comes in */
	int64_t vector_at; /* that is then; not before `now` */
	uint32_t far_count; /* issue behind the ring's end, where ports are plenty */
	int64_t far_least;
	uint64_t taken[CORE_RING];
	uint64_t has_blocked
		[CORE_RING]; /* ports of which one was kept by what starts there from starting anything */
	uint16_t issued[CORE_RING][CORE_ISSUE_QUEUES];
	int64_t far[CORE_FAR_MAX]; /* cycle * CORE_ISSUE_QUEUES + queue */
};

/* Before a class is played: `uops` says how many micro-operations each unit gets. */
void core_ports_start(
	struct core_ports *ports, const struct processor *processor, const double *uops);

/* Whether a micro-operation of this unit finds a place in its issue queue at `now`. */
bool core_ports_have_room(const struct core_ports *ports, unsigned unit);

/* Forgets the cycles before `now`, which never falls. */
void core_ports_advance(struct core_ports *ports, int64_t now);

/* A port of the unit, beside a micro-operation that is booked itself, from the first cycle from `ready` on in which one is free. */
void core_ports_book_beside(struct core_ports *ports, unsigned unit, int64_t ready);

/* When a micro-operation that is ready at a cycle after ports->now issues; it counts as waiting until then. */
int64_t core_ports_book(struct core_ports *ports, unsigned unit, int64_t ready);

#endif
