/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/core_ports.h"

#include <string.h>

enum { PORTS = PROCESSOR_PORTS_MAX, MASK = CORE_RING - 1 };

static uint32_t ports_of(const struct processor *processor, unsigned unit)
{
	if (unit == CORE_VECTOR_LOADS && processor->vector_load_ports)
		return processor->vector_load_ports;
	if (unit == CORE_VECTOR_STORES && processor->vector_store_ports)
		return processor->vector_store_ports;
	if (unit == CORE_LOADS || unit == CORE_VECTOR_LOADS)
		return processor->load_ports;
	if (unit == CORE_STORES || unit == CORE_VECTOR_STORES)
		return processor->store_ports;
	if (unit == CORE_COMPARES)
		return processor->compare_ports;
	if (unit == CORE_CROSSINGS)
		return processor->crossings ? processor->units[CODE_CROSS].ports : 0;
	bool is_renamed = unit == CODE_NOP || processor->units[unit].latency == 0;
	return is_renamed ? 0 : processor->units[unit].ports;
}

/* rank[port]: 0 for the one that is needed least, if each unit spreads its work evenly. */
static void rank_ports(const struct processor *processor, const double *uops, unsigned *rank)
{
	double need[PORTS] = { 0 };
	for (unsigned u = 0; u < CORE_UNITS; u++) {
		uint32_t mask = ports_of(processor, u);
		for (unsigned p = 0; p < PORTS; p++)
			if (mask >> p & 1)
				need[p] += uops[u] / __builtin_popcount(mask);
	}
	for (unsigned p = 0; p < PORTS; p++) {
		rank[p] = 0;
		for (unsigned q = 0; q < PORTS; q++)
			rank[p] += need[q] < need[p] || (need[q] == need[p] && q < p);
	}
}

enum { QUEUE, MEMORY_QUEUE, VECTOR_QUEUE };

static bool is_vector(unsigned unit)
{
	switch (unit) {
	case CODE_FP_ADD:
	case CODE_FP_MULTIPLY:
	case CODE_FP_FMA:
	case CODE_FP_DIVIDE:
	case CODE_FP_DIVIDE_SINGLE:
	case CODE_FP_ROOT:
	case CODE_FP_ROOT_SINGLE:
	case CODE_CONVERT:
	case CODE_VECTOR:
	case CODE_SHUFFLE:
	case CODE_CROSS:
	case CORE_CROSSINGS:
		return true;
	default:
		return false;
	}
}

static bool is_memory(unsigned unit)
{
	return unit >= CORE_LOADS && unit <= CORE_VECTOR_STORES;
}

static void start_queues(struct core_ports *ports, const struct processor *processor)
{
	ports->room[QUEUE] = processor->issue_queue;
	ports->room[MEMORY_QUEUE] = processor->memory_queue;
	ports->room[VECTOR_QUEUE] = processor->vector_queue + processor->vector_backlog;
	ports->vector_room = processor->vector_queue;
	ports->vector_inside = 0;
	ports->vector_at = 0;
	for (unsigned u = 0; u < CORE_UNITS; u++) {
		ports->queue_of[u] = is_memory(u) && processor->memory_queue > 0   ? MEMORY_QUEUE
				     : is_vector(u) && processor->vector_queue > 0 ? VECTOR_QUEUE
										   : QUEUE;
	}
}

void core_ports_start(
	struct core_ports *ports, const struct processor *processor, const double *uops)
{
	unsigned rank[PORTS];
	rank_ports(processor, uops, rank);
	ports->binds = processor->binds != 0;
	ports->sees_all = processor->binds > 1;
	for (unsigned p = 0; p < PORTS && ports->binds; p++)
		rank[p] = p;
	memset(ports->bound, 0, sizeof(ports->bound));
	memset(ports->recent, 0, sizeof(ports->recent));
	memset(ports->used, 0, sizeof(ports->used));
	ports->uses = 0;
	ports->fresh_count = 0;
	ports->port_room = ports->sees_all ? processor->port_queue : 0;
	for (unsigned u = 0; u < CORE_UNITS; u++) {
		struct core_port_unit *unit = &ports->units[u];
		uint32_t mask = ports_of(processor, u);
		*unit = (struct core_port_unit){ .interval = 1,
			.by_queue = !ports->sees_all || is_memory(u) || is_vector(u) };
		unit->blocks_full = u == CORE_VECTOR_LOADS;
		uint32_t blocks = unit->blocks_full          ? processor->vector_load_blocks
				  : u < CODE_CLASSES && mask ? processor->units[u].blocks
							     : 0;
		for (unsigned p = 0; p < PORTS; p++) {
			unit->ports |= (uint64_t)(mask >> p & 1) << rank[p];
			unit->blocks |= (uint64_t)(blocks >> p & 1) << rank[p];
		}
		if (u < CODE_CLASSES && processor->units[u].interval > 1)
			unit->interval = processor->units[u].interval;
	}
	ports->now = 0;
	start_queues(ports, processor);
	memset(ports->waiting, 0, sizeof(ports->waiting));
	ports->far_count = 0;
	ports->far_least = INT64_MAX;
	memset(ports->taken, 0, sizeof(ports->taken));
	memset(ports->has_blocked, 0, sizeof(ports->has_blocked));
	memset(ports->issued, 0, sizeof(ports->issued));
}

/* Moves what is no longer far into the ring. */
static void bring_near(struct core_ports *ports)
{
	uint32_t left = 0;
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < ports->far_count; i++) {
		int64_t at = ports->far[i] / CORE_ISSUE_QUEUES;
		unsigned queue = (unsigned)(ports->far[i] % CORE_ISSUE_QUEUES);
		if (at < ports->now) {
			ports->waiting[queue]--;
		} else if (at < ports->now + CORE_RING) {
			ports->issued[at & MASK][queue]++;
		} else {
			ports->far[left++] = ports->far[i];
			least = at < least ? at : least;
		}
	}
	ports->far_count = left;
	ports->far_least = least;
	if (ports->vector_inside > ports->waiting[VECTOR_QUEUE])
		ports->vector_inside = ports->waiting[VECTOR_QUEUE];
}

/* From the cycle in which the youngest came into the vectors' queue to the next one. */
static void pass_vector_cycle(struct core_ports *ports)
{
	uint32_t issued = ports->issued[ports->vector_at++ & MASK][VECTOR_QUEUE];
	ports->vector_inside -= issued < ports->vector_inside ? issued : ports->vector_inside;
}

/* When the vectors' queue has a place for the next one; it takes it. */
static int64_t enter_vector_queue(struct core_ports *ports)
{
	int64_t end = ports->now + CORE_RING - 1;
	while (ports->vector_inside >= ports->vector_room && ports->vector_at < end)
		pass_vector_cycle(ports);
	ports->vector_inside++;
	return ports->vector_at;
}

/* An operation in quarters; what has no other port counts less. */
static uint32_t weight_of(uint64_t among)
{
	return among & (among - 1) ? 4 : 3;
}

/* What was bound in the cycle that ends. */
static void settle_bound(struct core_ports *ports)
{
	if (ports->fresh_count == 0)
		return;
	memcpy(ports->recent[1], ports->recent[0], sizeof(ports->recent[0]));
	memset(ports->recent[0], 0, sizeof(ports->recent[0]));
	for (uint32_t i = 0; i < ports->fresh_count; i++) {
		ports->bound[ports->fresh[i].port]++;
		ports->recent[0][ports->fresh[i].port] += weight_of(ports->fresh[i].ports);
	}
	ports->fresh_count = 0;
}

static void release_bound(struct core_ports *ports, uint64_t issued)
{
	for (; issued; issued &= issued - 1)
		ports->bound[__builtin_ctzll(issued)]--;
}

void core_ports_advance(struct core_ports *ports, int64_t now)
{
	if (ports->binds && now > ports->now)
		settle_bound(ports);
	int64_t end = now - ports->now < CORE_RING ? now : ports->now + CORE_RING;
	for (int64_t t = ports->now; t < end; t++) {
		if (ports->vector_at == t)
			pass_vector_cycle(ports);
		for (unsigned queue = 0; queue < CORE_ISSUE_QUEUES; queue++) {
			ports->waiting[queue] -= ports->issued[t & MASK][queue];
			ports->issued[t & MASK][queue] = 0;
		}
		if (ports->binds)
			release_bound(ports, ports->taken[t & MASK] & UINT32_MAX);
		ports->taken[t & MASK] = 0;
		ports->has_blocked[t & MASK] = 0;
	}
	ports->now = now;
	if (ports->vector_at < now)
		ports->vector_at = now;
	if (ports->far_least < now + CORE_RING / 2)
		bring_near(ports);
}

/*
 * Of ports whose units are to work from t on: those that are idle for the whole interval. If there is none, *ret_next is
 * when one may be at the earliest: after the last cycle in which the port that is given up latest works.
 */
static uint64_t idle_ports(const struct core_ports *ports, const struct core_port_unit *unit,
	int64_t t, int64_t *ret_next)
{
	uint64_t idle = unit->ports;
	int64_t at = t + unit->interval;
	while (idle && at-- > t)
		idle &= ~(ports->taken[at & MASK] >> PORTS);
	*ret_next = (at < t ? t : at) + 1;
	return idle;
}

/* Units that are not pipelined: a port that is free, and its unit for the whole interval. */
static int64_t book_interval(struct core_ports *ports, struct core_port_unit *unit, int64_t ready)
{
	int64_t end = ports->now + CORE_RING - unit->interval, next;
	for (int64_t t = ready; t < end; t = next) {
		uint64_t free = idle_ports(ports, unit, t, &next) & ~ports->taken[t & MASK];
		if (!free)
			continue;
		uint64_t port = free & -free;
		ports->taken[t & MASK] |= port;
		for (uint32_t i = 0; i < unit->interval; i++)
			ports->taken[(t + i) & MASK] |= port << PORTS;
		return t;
	}
	return end;
}

/* How much a port of a unit has to do, as renaming sees it; no two have as much. */
static uint64_t load_of(
	const struct core_ports *ports, const struct core_port_unit *unit, unsigned port)
{
	uint64_t count = 0, weight = ports->recent[0][port] + ports->recent[1][port] / 2;
	for (uint32_t i = 0; i < ports->fresh_count; i++) {
		const struct core_bound *fresh = &ports->fresh[i];
		if (fresh->port != port || (!ports->sees_all && fresh->ports != unit->ports))
			continue;
		count++;
		weight += weight_of(fresh->ports);
	}
	return unit->by_queue ? (ports->bound[port] + count) * PORTS + (PORTS - 1 - port)
			      : (weight << 48) + ports->used[port];
}

/* The port that renaming chooses, as a mask. */
static uint64_t bind_port(const struct core_ports *ports, const struct core_port_unit *unit)
{
	uint64_t least = UINT64_MAX;
	unsigned best = 0;
	for (uint64_t left = unit->ports; left; left &= left - 1) {
		unsigned port = (unsigned)__builtin_ctzll(left);
		uint64_t load = load_of(ports, unit, port);
		if (load < least) {
			least = load;
			best = port;
		}
	}
	return UINT64_C(1) << best;
}

static void remember_bound(struct core_ports *ports, uint64_t among, uint64_t port)
{
	if (ports->fresh_count == CORE_BOUND_MAX)
		settle_bound(ports);
	unsigned number = (unsigned)__builtin_ctzll(port);
	ports->fresh[ports->fresh_count++] = (struct core_bound){ among, number };
	ports->used[number] = ++ports->uses;
}

static int64_t book_ring(struct core_ports *ports, struct core_port_unit *unit, int64_t ready)
{
	int64_t t = ready >= unit->full_from && ready < unit->full_to ? unit->full_to : ready;
	int64_t from = t, end = ports->now + CORE_RING;
	while (t < end && !(unit->ports & ~ports->taken[t & MASK]))
		t++;
	if (t > from) { /* all taken in between: the next one starts behind */
		if (from != unit->full_to)
			unit->full_from = from;
		unit->full_to = t;
	}
	if (t < end) {
		uint64_t free = unit->ports & ~ports->taken[t & MASK];
		ports->taken[t & MASK] |= free & -free;
	}
	return t;
}

static int64_t book_bound(
	struct core_ports *ports, const struct core_port_unit *unit, int64_t ready)
{
	uint64_t port = bind_port(ports, unit);
	struct core_port_unit alone = { .ports = port, .interval = unit->interval };
	int64_t at = unit->interval > 1 ? book_interval(ports, &alone, ready)
					: book_ring(ports, &alone, ready);
	if (at < ports->now + CORE_RING - (unit->interval > 1 ? unit->interval : 0))
		remember_bound(ports, unit->ports, port);
	return at;
}

/* Whether the port that an operation would be bound to has room in its queue. */
static bool port_has_room(const struct core_ports *ports, const struct core_port_unit *unit)
{
	if (unit->by_queue || ports->waiting[QUEUE] < ports->port_room || ports->port_room == 0)
		return true;
	unsigned port = (unsigned)__builtin_ctzll(bind_port(ports, unit));
	uint32_t waiting = ports->bound[port];
	for (uint32_t i = 0; i < ports->fresh_count; i++)
		waiting += ports->fresh[i].port == port;
	return waiting < ports->port_room;
}

bool core_ports_have_room(const struct core_ports *ports, unsigned unit)
{
	unsigned queue = ports->queue_of[unit];
	return !ports->units[unit].ports || (ports->waiting[queue] < ports->room[queue] &&
						    port_has_room(ports, &ports->units[unit]));
}

static int64_t book_any(struct core_ports *ports, struct core_port_unit *unit, int64_t ready)
{
	return ports->binds         ? book_bound(ports, unit, ready)
	       : unit->interval > 1 ? book_interval(ports, unit, ready)
				    : book_ring(ports, unit, ready);
}

/* What starts at a cycle, with all others that do so there, keeps one more port from starting anything for a cycle. */
static void block(struct core_ports *ports, const struct core_port_unit *unit, int64_t at)
{
	struct core_port_unit blocked = { .ports = unit->blocks, .interval = 1 };
	if (!unit->blocks || ports->has_blocked[at & MASK] & unit->blocks ||
		at + 1 >= ports->now + CORE_RING ||
		(unit->blocks_full && unit->ports & ~ports->taken[at & MASK]))
		return;
	ports->has_blocked[at & MASK] |= unit->blocks;
	(void)book_any(ports, &blocked, at);
}

void core_ports_book_beside(struct core_ports *ports, unsigned index, int64_t ready)
{
	struct core_port_unit *unit = &ports->units[index];
	if (!unit->ports || unit->interval > 1 || ports->queue_of[index] != QUEUE)
		return;
	int64_t at = ready > ports->now ? ready : ports->now + 1;
	if (at + 1 >= ports->now + CORE_RING)
		return;
	(void)book_any(ports, unit, at);
}

int64_t core_ports_book(struct core_ports *ports, unsigned index, int64_t ready)
{
	struct core_port_unit *unit = &ports->units[index];
	if (!unit->ports)
		return ready;
	unsigned queue = ports->queue_of[index];
	if (queue == VECTOR_QUEUE) {
		int64_t entered = enter_vector_queue(ports);
		ready = ready > entered ? ready : entered + 1;
	}
	int64_t at = ready;
	if (ready + (int64_t)unit->interval < ports->now + CORE_RING)
		at = book_any(ports, unit, ready);
	block(ports, unit, at);
	ports->waiting[queue]++;
	if (at < ports->now + CORE_RING) {
		ports->issued[at & MASK][queue]++;
	} else if (ports->far_count < CORE_FAR_MAX) {
		ports->far[ports->far_count++] = at * CORE_ISSUE_QUEUES + queue;
		ports->far_least = at < ports->far_least ? at : ports->far_least;
	} else {
		ports->waiting[queue]--; /* more than any queue has: not counted */
	}
	return at;
}
