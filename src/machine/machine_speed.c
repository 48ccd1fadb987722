/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/machine_speed.h"

#include "base/order.h"

#include "machine/busy.h"
#include "machine/chain.h"
#include "machine/core_watch.h"
#include "machine/locked_speed.h"
#include "machine/place_probe.h"
#include "machine/speed_clock.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of each kind many short tries, so that some are not disturbed, however busy the machine is. */
enum {
	CHAIN = 10000, /* instructions of a try: some ten microseconds, in which nobody else need be there */
	CHAINS = 30000, /* a third of a second */
	WINDOW = 1000, /* of them: some ticks of any system */
	LOOKS = 3, /* at a pair of cores */
	WAKES = 8, /* probes */
	INTERRUPTS = 5,
};

/* Busy processors: more than the system's own work and the watch take. */
static const double OTHERS_NOTABLE = 0.1;

static const double SLICE_NS = 0.5e6; /* what is longer is somebody's turn, no interrupt */
static const double MOST_NS = 0.5e9; /* for the tries of each kind, or others make it long */

struct interruptions {
	double lost_ns, all_ns; /* of */
	unsigned count;
};

/* Adds tries, each of which takes free_ns: not the clock's own changes, and not what schedulers give to others. */
static void see_interruptions(const double *tries_ns, double free_ns, struct interruptions *ret)
{
	for (unsigned i = 0; i < WINDOW; i++) {
		double more_ns = tries_ns[i] - free_ns;
		if (more_ns > SLICE_NS)
			continue;
		ret->all_ns += tries_ns[i];
		if (more_ns > free_ns / 5) {
			ret->lost_ns += more_ns;
			ret->count++;
		}
	}
}

/*
 * A core does not keep one clock: the fastest of many short tries is a twentieth above what programs get. Of windows of
 * tries the median is what is lost by interrupts, of the kernel or below it.
 */
static void measure_clock(struct machine_speed *ret)
{
	static double tries_ns[CHAINS], sorted_ns[CHAINS];
	double shares[CHAINS / WINDOW];
	double all_ns = speed_now_ns();
	size_t count = 0, windows = 0;
	while (count < CHAINS && speed_now_ns() - all_ns < MOST_NS)
		tries_ns[count++] = chain_run_ns(CHAIN);
	memcpy(sorted_ns, tries_ns, count * sizeof *tries_ns);
	double free_ns = speed_lower_tenth(sorted_ns, count);
	ret->hz = CHAIN_CYCLES * (double)CHAIN / free_ns * 1e9;
	struct interruptions all = { 0 };
	for (; windows < count / WINDOW; windows++) {
		struct interruptions window = { 0 };
		see_interruptions(&tries_ns[windows * WINDOW], free_ns, &window);
		shares[windows] = window.all_ns > 0 ? window.lost_ns / window.all_ns : 0;
		all.lost_ns += window.lost_ns;
		all.count += window.count;
	}
	order_doubles(shares, windows);
	ret->interrupted = windows > 0 ? shares[windows / 2] : 0;
	ret->interruption_ns = all.count > 0 ? all.lost_ns / all.count : 0;
}

/* Puts values in order; the first that was measured (not 0), or `count`. */
static size_t first_known(double *values, size_t count)
{
	size_t first = 0;
	order_doubles(values, count);
	while (first < count && values[first] == 0)
		first++;
	return first;
}

/* Of what was measured: 0 if that is nothing. */
static double middle(double *values, size_t count)
{
	size_t first = first_known(values, count);
	return first < count ? values[first + (count - first) / 2] : 0;
}

/* The same: wake_probe_spread(). */
static double spread(double *values, size_t count)
{
	size_t first = first_known(values, count), tenth = (count - first) / 10;
	if (first == count)
		return 0;
	return wake_probe_spread(
		values[first + tenth], middle(values, count), values[count - 1 - tenth]);
}

/*
 * 0: it was never alone. What goes by way of a hypervisor takes twice as long at one moment as at another (11 to 30 us to wake a thread,
 * within 20 s), and a program has its share of all of them: the middle counts, not the least.
 */
static void measure_wakes(struct machine_speed *ret)
{
	double latencies_ns[WAKES], costs_ns[WAKES], spreads[WAKES];
	for (int i = 0; i < WAKES; i++) {
		struct wake_probe probe = wake_probe_measure(WAKE_PROBE_WARM_NS);
		latencies_ns[i] = probe.latency_ns;
		costs_ns[i] = probe.cost_ns;
		spreads[i] = probe.latency_spread;
		ret->doze_ns = speed_least(ret->doze_ns, probe.doze_ns);
	}
	ret->wake_ns = middle(latencies_ns, WAKES);
	ret->wake_cost_ns = middle(costs_ns, WAKES);
	ret->wake_spread = hypot(middle(spreads, WAKES), spread(latencies_ns, WAKES));
	ret->halt = halt_probe_measure();
	double interrupt_costs_ns[INTERRUPTS], queued_costs_ns[INTERRUPTS], losses_ns[INTERRUPTS];
	for (int i = 0; i < INTERRUPTS; i++) {
		struct interrupt_probe probe = interrupt_probe_measure();
		interrupt_costs_ns[i] = probe.cost_ns;
		queued_costs_ns[i] = probe.queued_cost_ns;
		losses_ns[i] = probe.lost_ns;
	}
	ret->interrupt.cost_ns = middle(interrupt_costs_ns, INTERRUPTS);
	ret->interrupt.queued_cost_ns = middle(queued_costs_ns, INTERRUPTS);
	ret->interrupt.lost_ns = middle(losses_ns, INTERRUPTS);
}

static int measure_once(const struct machine *machine, struct machine_speed *ret, struct err *err)
{
	struct pair_speed looks[LOOKS];
	unsigned count = 0;
	int code = memory_levels_measure(machine, &ret->memory, err);
	if (code < 0)
		return code;
	measure_clock(ret);
	count += machine->usable > 1 && pair_speed_measure(&looks[count]);
	memory_rates_measure(machine, &ret->memory);
	count += machine->usable > 1 && pair_speed_measure(&looks[count]);
	ret->front = front_speed_measure();
	ret->fetch = fetch_speed_measure(machine->topology.l1i_bytes, machine->topology.l2_bytes,
		machine->topology.l3_bytes);
	ret->locked_miss_ns = locked_miss_measure(machine->topology.l1d_bytes);
	ret->sets = set_speed_measure();
	if (machine->usable > 1) {
		measure_wakes(ret);
		ret->in_place = place_probe_measure();
		ret->part_ns = part_probe_measure();
	}
	for (int i = 0; i < WAKES; i++)
		ret->switch_ns = speed_least(ret->switch_ns, switch_probe_measure());
	ret->call = call_probe_measure();
	count += machine->usable > 1 && pair_speed_measure(&looks[count]);
	ret->pair = pair_speed_settle(looks, count);
	return 0;
}

/* Busy processors since `before` that were not busy with this process, whose time since then is own_ns. */
static double busy_others(const struct busy_ticks *before, double wall_ns, double own_ns)
{
	struct busy_ticks after;
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	if (before->total == 0 || online < 1 || busy_read(&after) < 0)
		return 0;
	double others = busy_between(before, &after, (uint32_t)online) - own_ns / wall_ns;
	return others > 0 ? others : 0;
}

/* And what others did meanwhile. */
static int measure_round(const struct machine *machine, struct machine_speed *ret, struct err *err)
{
	AUTO(core_watch) struct core_watch *watch = core_watch_new();
	struct busy_ticks before;
	if (busy_read(&before) < 0)
		before = (struct busy_ticks){ 0 };
	double began_ns = speed_now_ns();
	uint64_t own_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	int code = measure_once(machine, ret, err);
	own_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - own_ns;
	ret->others = busy_others(&before, speed_now_ns() - began_ns, (double)own_ns);
	ret->shared = core_watch_seen(watch).shared;
	return code;
}

bool machine_speed_is_disturbed(const struct machine_speed *speed)
{
	return speed->others > OTHERS_NOTABLE || speed->shared >= CORE_SHARING_NOTABLE;
}

bool machine_speed_cores_move(const struct machine_speed *speed)
{
	const double apart = 2;
	return speed->pair.transfer_least_ns > 0 &&
	       speed->pair.transfer_most_ns > apart * speed->pair.transfer_least_ns;
}

int machine_speed_measure(const struct machine *machine, struct machine_speed *ret, struct err *err)
{
	AUTO(core_watch) struct core_watch *watch = NULL;
	if (!machine_shows_smt(&machine->topology))
		watch = core_watch_new();
	struct machine_speed rounds[MACHINE_ROUNDS] = { 0 };
	for (unsigned i = 0; i < MACHINE_ROUNDS; i++) {
		int code = measure_round(machine, &rounds[i], err);
		if (code < 0)
			return code;
	}
	*ret = machine_speed_settle(rounds, MACHINE_ROUNDS);
	struct core_sharing seen = core_watch_seen(watch);
	ret->sibling_busy = seen.shared >= CORE_SHARING_NOTABLE ? seen.taken : 0;
	ret->sibling_spell_ns = ret->sibling_busy > 0 ? seen.spell_ns : 0;
	ret->start = start_probe_measure("/proc/self/exe"); /* which others would seem to do */
	return 0;
}
