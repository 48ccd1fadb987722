/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several measurements of one machine, made one. */
#include "base/mem.h"
#include "base/order.h"
#include "machine/machine_speed.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* What others on the machine only make slower, and for some moments; the worst of it; what programs meet all the time. */
enum kind {
	OWN,
	MOST,
	BESIDE_OTHERS,
	OR_NONE, /* the same; 0 is a figure, too */
	OR_ENDLESS, /* the same; 0 is none that is so long */
};

#define AT(member) offsetof(struct machine_speed, member)

/* Doubles; 0 is what was not measured, but as its kind says. */
static const struct {
	size_t at;
	enum kind kind;
} figures[] = {
	{ AT(hz), BESIDE_OTHERS },
	{ AT(interrupted), OR_NONE },
	{ AT(interruption_ns), BESIDE_OTHERS },
	{ AT(memory.levels.ns[0]), OWN },
	{ AT(memory.levels.ns[1]), OWN },
	{ AT(memory.levels.ns[2]), BESIDE_OTHERS },
	{ AT(memory.levels.memory_ns), BESIDE_OTHERS },
	{ AT(memory.levels.error), BESIDE_OTHERS },
	{ AT(memory.spread), BESIDE_OTHERS },
	{ AT(memory.lifetime_ns), OR_ENDLESS },
	{ AT(memory.kept), OR_NONE },
	{ AT(memory.level_bytes_per_s), BESIDE_OTHERS },
	{ AT(memory.core_bytes_per_s), BESIDE_OTHERS },
	{ AT(memory.bytes_per_s), BESIDE_OTHERS },
	{ AT(memory.paged[0].more_ns), BESIDE_OTHERS },
	{ AT(memory.paged[1].more_ns), BESIDE_OTHERS },
	{ AT(memory.fault_ns), BESIDE_OTHERS },
	{ AT(front.mispredicted_ns), OWN },
	{ AT(fetch.first_ns), OWN },
	{ AT(fetch.second_ns), OWN },
	{ AT(fetch.third_ns), BESIDE_OTHERS },
	{ AT(locked_miss_ns), OWN },
	{ AT(sets.first_ns), OWN },
	{ AT(sets.second_ns), OWN },
	{ AT(pair.lock_ns), OWN },
	{ AT(pair.transfer_least_ns), OWN },
	{ AT(pair.transfer_most_ns), MOST },
	{ AT(pair.lock_overlap), OR_NONE },
	{ AT(switch_ns), OWN },
	{ AT(call.ns), OWN },
	{ AT(call.yield_ns), OWN },
	{ AT(call.yield_switch_ns), OWN },
	{ AT(doze_ns), OWN },
	{ AT(wake_ns), BESIDE_OTHERS },
	{ AT(wake_cost_ns), BESIDE_OTHERS },
	{ AT(wake_spread), BESIDE_OTHERS },
	{ AT(interrupt.cost_ns), BESIDE_OTHERS },
	{ AT(interrupt.queued_cost_ns), BESIDE_OTHERS },
	{ AT(interrupt.lost_ns), BESIDE_OTHERS },
	{ AT(halt.after_ns), BESIDE_OTHERS },
	{ AT(halt.start_ns), BESIDE_OTHERS },
	{ AT(halt.cost_ns), BESIDE_OTHERS },
	{ AT(halt.latency_ns), BESIDE_OTHERS },
	{ AT(in_place), OR_NONE },
	{ AT(part_ns), BESIDE_OTHERS },
	{ AT(others), OR_NONE },
	{ AT(shared), OR_NONE },
};

static_assert(MEMORY_PAGED == 2 && MEMORY_LEVELS == 3, "each has its line");

static double figure_of(const struct machine_speed *speed, size_t at)
{
	return *(const double *)(const void *)((const char *)speed + at);
}

static void set_figure(struct machine_speed *speed, size_t at, double value)
{
	*(double *)(void *)((char *)speed + at) = value;
}

/* In order; of an even number the lower of the two in the middle, which was measured. */
static double pick(double *values, unsigned count, enum kind kind)
{
	order_doubles(values, count);
	unsigned at = kind == OWN ? 0 : kind == MOST ? count - 1 : (count - 1) / 2;
	double value = count == 0 ? 0 : values[at];
	return isfinite(value) ? value : 0;
}

static double settle_figure(
	const struct machine_speed *rounds, unsigned count, size_t at, enum kind kind)
{
	double values[MACHINE_ROUNDS];
	unsigned known = 0;
	for (unsigned i = 0; i < count; i++) {
		double value = figure_of(&rounds[i], at);
		if (value == 0 && kind == OR_ENDLESS)
			value = INFINITY;
		if (value > 0 || kind == OR_NONE)
			values[known++] = value;
	}
	return pick(values, known, kind);
}

static uint64_t settle_bytes(const struct machine_speed *rounds, unsigned count, unsigned level)
{
	double values[MACHINE_ROUNDS];
	for (unsigned i = 0; i < count; i++)
		values[i] = (double)rounds[i].memory.levels.bytes[level];
	return (uint64_t)pick(values, count, BESIDE_OTHERS);
}

/* The round that has the middle of a figure, for what belongs to it. */
static const struct machine_speed *round_of(
	const struct machine_speed *rounds, unsigned count, size_t at)
{
	double value = settle_figure(rounds, count, at, BESIDE_OTHERS);
	unsigned i = 0;
	while (i + 1 < count && figure_of(&rounds[i], at) != value)
		i++;
	return &rounds[i];
}

struct machine_speed machine_speed_settle(const struct machine_speed *rounds, unsigned count)
{
	struct machine_speed speed = rounds[0];
	const struct machine_speed *pair = round_of(rounds, count, AT(pair.transfer_ns));
	speed.pair = pair->pair;
	speed.front = round_of(rounds, count, AT(front.line_ns))->front;
	for (unsigned level = 0; level < MEMORY_LEVELS; level++)
		speed.memory.levels.bytes[level] = settle_bytes(rounds, count, level);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		set_figure(&speed, figures[i].at,
			settle_figure(rounds, count, figures[i].at, figures[i].kind));
	return speed;
}
