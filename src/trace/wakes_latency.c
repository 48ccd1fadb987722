/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/wakes_latency.h"

#include "base/order.h"

#include <math.h>
#include <stddef.h>

enum { BINS = 128, ROUNDS = 100, SAMPLES_LEAST = 8 };

struct bins {
	double width_ns;
	double exact[BINS]; /* samples */
	double p[BINS]; /* probabilities */
};

static size_t bin_of(const struct bins *bins, uint32_t ns)
{
	double bin = (double)ns / bins->width_ns;
	return bin < BINS ? (size_t)bin : BINS;
}

/* One round of expectation and maximisation: each window is shared out as probabilities are by now. */
static void improve(const struct wakes_seen *seen, struct bins *bins)
{
	double before[BINS + 1] = { 0 }, changes[BINS + 1] = { 0 }, sum = 0, weight = 0;
	for (size_t i = 0; i < BINS; i++)
		before[i + 1] = before[i] + bins->p[i];
	for (size_t i = 0; i < seen->window_count; i++) {
		size_t from = bin_of(bins, seen->windows[i].from_ns);
		size_t to = bin_of(bins, seen->windows[i].to_ns);
		to += to < BINS;
		double mass = before[to] - before[from];
		if (!(mass > 0))
			continue; /* disturbed by others */
		changes[from] += 1 / mass;
		changes[to] -= 1 / mass;
	}
	for (size_t i = 0; i < BINS; i++) {
		weight += changes[i];
		bins->p[i] = bins->exact[i] + bins->p[i] * (weight > 0 ? weight : 0);
		sum += bins->p[i];
	}
	for (size_t i = 0; i < BINS; i++)
		bins->p[i] /= sum;
}

static double quantile(const struct bins *bins, double share)
{
	double sum = 0;
	size_t i = 0;
	for (; i + 1 < BINS && sum + bins->p[i] < share; i++)
		sum += bins->p[i];
	double part = bins->p[i] > 0 ? (share - sum) / bins->p[i] : 0;
	return ((double)i + (part < 1 ? part : 1)) * bins->width_ns;
}

/* The most likely distribution of what was seen, up to most_ns, and of the windows. */
static void add_windows(const struct wakes_seen *seen, double most_ns, struct wakes_found *found)
{
	struct bins bins = { .width_ns = most_ns / BINS };
	for (size_t i = 0; i < seen->sample_count; i++) {
		size_t bin = bin_of(&bins, seen->samples_ns[i]);
		if (bin < BINS)
			bins.exact[bin]++;
	}
	for (size_t i = 0; i < BINS; i++)
		bins.p[i] = 1.0 / BINS;
	for (int i = 0; i < ROUNDS; i++)
		improve(seen, &bins);
	for (size_t i = 0; i < WAKES_PARTS; i++)
		found->parts_ns[i] = quantile(&bins, (double)(i + 1) / (WAKES_PARTS + 1));
	found->latency_ns = (uint64_t)quantile(&bins, 0.5);
}

static size_t undisturbed(const struct wakes_seen *seen, uint64_t median_ns)
{
	size_t count = seen->sample_count;
	size_t least = (size_t)((1 - seen->disturbed) * (double)count);
	while (count > least && seen->samples_ns[count - 1] > 2 * median_ns)
		count--;
	return count;
}

void wakes_latency(const struct wakes_seen *seen, struct wakes_found *found)
{
	if (seen->sample_count < SAMPLES_LEAST)
		return;
	order_u32(seen->samples_ns, seen->sample_count);
	found->latency_ns = seen->samples_ns[seen->sample_count / 2];
	size_t count = undisturbed(seen, found->latency_ns);
	for (size_t i = 0; i < WAKES_PARTS; i++) {
		size_t part = (i + 1) * count / (WAKES_PARTS + 1);
		found->parts_ns[i] = seen->samples_ns[part];
	}
	if (seen->window_count == 0 || found->latency_ns == 0)
		return;
	double usual_ns = fmax((double)found->latency_ns, seen->machine_ns);
	add_windows(seen, fmax(2 * usual_ns, seen->samples_ns[count - 1] + 1.0), found);
}
