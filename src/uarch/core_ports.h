/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which port starts a micro-operation when: a ring of cycles, from the one in which the core dispatches on, with
 * the ports that are taken in each. A micro-operation takes the first cycle from when it is ready in which one of its
 * ports is free, and of the free ones that which other units need least. The ring also knows how many
 * micro-operations are dispatched and not yet issued, those that access memory apart.
 */
#ifndef UARCH_CORE_PORTS_H
#define UARCH_CORE_PORTS_H

#include "uarch/core_parts.h"

enum { CORE_RING = 4096, CORE_FAR_MAX = 8192, CORE_ISSUE_QUEUES = 2 };

struct core_port_unit {
	uint64_t ports; /* in order of how little others need them; 0: needs none */
	uint32_t interval;
	int64_t full_from, full_to; /* cycles in which all its ports are taken */
};

struct core_ports {
	struct core_port_unit units[CORE_UNITS];
	int64_t now; /* cycles before are past */
	uint32_t waiting[CORE_ISSUE_QUEUES]; /* dispatched, not issued at `now` */
	uint32_t room[CORE_ISSUE_QUEUES];
	bool is_split; /* memory has a queue of its own */
	uint32_t far_count; /* issue behind the ring's end, where ports are plenty */
	int64_t far_least;
	uint64_t taken[CORE_RING];
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

/* When a micro-operation that is ready at a cycle after ports->now issues; it counts as waiting until then. */
int64_t core_ports_book(struct core_ports *ports, unsigned unit, int64_t ready);

#endif
