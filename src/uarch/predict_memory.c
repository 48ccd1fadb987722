/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that all cores share. It takes S = line / bandwidth for each line. A line that comes meets what mean
 * value analysis (Reiser and Lavenberg, JACM 1980; arrivals by Schweitzer) says of a closed system with N lines under
 * way: W = f rho (W + S / 2), f = (N - 1) / N, which for large N is M/D/1; and rho is at most 1. N is the
 * throughput times the latency. What a class and those who run beside it demand falls as W grows, so there is one
 * W at which both agree. How CPI grows with the latency is taken as linear, from two latencies at which the core
 * was played.
 */
#include "uarch/predict_parts.h"

#include <math.h>

/* Of the bandwidth: below that nobody waits for long enough to count (W below 3% of S). */
static const double LITTLE = 0.05;
/* A change of this part of a CPI is none. */
static const double SAME = 0.01;
enum { HALVINGS = 50 };

double predict_line_ns(const struct processor *processor)
{
	return PROFILE_LINE_BYTES * 1e9 / processor->memory_bytes_per_s;
}

/* Lines per ns that one instruction stream moves, of this CPI. */
static double rate(const struct processor *processor, double lines, double cpi)
{
	return cpi > 0 ? lines * processor->frequency_hz / 1e9 / cpi : 0;
}

bool predict_needs_memory(const struct processor *processor, uint32_t cores,
	const struct class_curve *curves, const struct prediction *prediction)
{
	double most = 0;
	if (processor->memory_bytes_per_s == 0)
		return false;
	for (size_t i = 0; i < prediction->class_count; i++)
		most = fmax(most,
			rate(processor, prediction->classes[i].memory_lines, curves[i].cpi[0]));
	double threads =
		prediction->thread_count < cores ? (double)prediction->thread_count : (double)cores;
	return most * threads * predict_line_ns(processor) > LITTLE;
}

/* One class, and those beside it. */
struct demand {
	const struct processor *processor;
	double lines, cpi[2], others[2]; /* others: lines per ns at either latency */
	double step_ns; /* between the two latencies */
};

/* Lines per ns when each waits so long. */
static double demand_at(const struct demand *d, double wait_ns)
{
	double part = wait_ns / d->step_ns;
	double own = rate(d->processor, d->lines, predict_line_at(d->cpi, part)), others = 0;
	if (d->others[0] > 0 && d->others[1] > 0)
		others = 1 / (1 / d->others[0] + (1 / d->others[1] - 1 / d->others[0]) * part);
	return own + others;
}

/* The wait at which what is asked for and what is given agree. */
static double settle_wait(const struct demand *d)
{
	double service_ns = predict_line_ns(d->processor), low_ns = 0;
	double high_ns = 1000 * (service_ns + d->processor->memory_ns);
	for (int i = 0; i < HALVINGS; i++) {
		double wait_ns = (low_ns + high_ns) / 2;
		double lines = demand_at(d, wait_ns), rho = lines * service_ns;
		double under_way = lines * (d->processor->memory_ns + wait_ns);
		double met = under_way > 1 ? rho * (1 - 1 / under_way) : 0;
		bool is_short = rho > 1 || wait_ns < met * (wait_ns + service_ns / 2);
		if (is_short)
			low_ns = wait_ns;
		else
			high_ns = wait_ns;
	}
	return high_ns;
}

unsigned overlap_level(double load)
{
	double limit = 1.0 / 32;
	unsigned level = 0;
	while (level + 1 < OVERLAP_LEVELS && load >= limit) {
		limit *= 2;
		level++;
	}
	return level;
}

/*
 * The CPI of a class that had others beside it for some of its time: as many instructions were done in each part of
 * the time as its CPI there allows.
 */
static double queued_cpi(const struct processor *processor, double lines,
	const struct class_curve *curve, const struct overlap *overlap)
{
	double all_ns = 0, done = 0;
	for (unsigned i = 0; i < OVERLAP_LEVELS; i++) {
		const struct overlap_level *level = &overlap->levels[i];
		if (level->own_ns == 0)
			continue;
		const struct demand demand = { .processor = processor,
			.lines = lines,
			.cpi = { curve->cpi[0], curve->cpi[1] },
			.others = { level->others[0] / level->own_ns,
				level->others[1] / level->own_ns },
			.step_ns = (PREDICT_LOADED - 1) * processor->memory_ns };
		double part = settle_wait(&demand) / demand.step_ns;
		all_ns += level->own_ns;
		done += level->own_ns / predict_line_at(curve->cpi, part);
	}
	return done > 0 ? all_ns / done : curve->cpi[0];
}

bool predict_memory(const struct processor *processor, const struct overlap *overlaps,
	const struct prediction *prediction, struct class_curve *curves)
{
	double memory_cycles = processor->memory_ns * processor->frequency_hz / 1e9;
	bool has_changed = false;
	for (size_t i = 0; i < prediction->class_count; i++) {
		struct class_curve *curve = &curves[i];
		double lines = prediction->classes[i].memory_lines;
		if (lines == 0 || !(curve->cpi[1] > curve->cpi[0]))
			continue;
		double cpi = queued_cpi(processor, lines, curve, &overlaps[i]);
		has_changed |= fabs(cpi - curve->cpi_now) > SAME * cpi;
		curve->cpi_now = cpi;
		curve->queue_cycles = (cpi - curve->cpi[0]) / (curve->cpi[1] - curve->cpi[0]) *
				      (PREDICT_LOADED - 1) * memory_cycles;
	}
	return has_changed;
}
