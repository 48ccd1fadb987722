/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/energy.h"

bool energy_is_known(const struct processor *processor)
{
	return processor->power.voltage_count > 0;
}

double energy_volts(const struct power *power, double hz)
{
	if (power->voltage_count == 0)
		return 0;
	uint32_t above = 0;
	while (above < power->voltage_count && power->voltages[above].hz < hz)
		above++;
	if (above == 0)
		return power->voltages[0].volts;
	if (above == power->voltage_count)
		return power->voltages[above - 1].volts;
	double from = power->voltages[above - 1].hz, to = power->voltages[above].hz;
	double low = power->voltages[above - 1].volts, high = power->voltages[above].volts;
	return low + (high - low) * (hz - from) / (to - from);
}

struct energy energy_of(const struct processor *processor, const struct energy_use *use)
{
	const struct power *power = &processor->power;
	struct energy energy = { 0 };
	if (!energy_is_known(processor))
		return energy;
	double volts = energy_volts(power, processor->frequency_hz);
	double cycle_j = power->dynamic_nf * 1e-9 * volts * volts; /* of a fully used one */
	double cycles = use->cores * use->seconds * processor->frequency_hz;
	double used = use->uops / processor->dispatch_width;
	used = used < cycles ? used : cycles;
	energy.static_j = use->cores * power->static_w * use->seconds;
	energy.dynamic_j = cycle_j * (used + power->idle_fraction * (cycles - used));
	energy.uncore_j = power->uncore_w * use->seconds;
	energy.memory_j = power->memory_nj * 1e-9 * use->memory_lines;
	energy.total_j = energy.static_j + energy.dynamic_j + energy.uncore_j + energy.memory_j;
	energy.edp_js = energy.total_j * use->seconds;
	return energy;
}
