/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/disk_queue.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	STEPS = 128, /* in which latencies are tried */
	DISORDER = 20 /* one in so many may seem to take no time */
};

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return (double)(to_ns - from_ns) * 1e-9;
}

/* Ends of requests, in their order; who is still there are those from `first` on. */
struct ends {
	uint64_t *times_ns;
	size_t first, count;
};

static void insert(struct ends *ends, uint64_t end_ns)
{
	size_t at = ends->count++;
	for (; at > ends->first && ends->times_ns[at - 1] > end_ns; at--)
		ends->times_ns[at] = ends->times_ns[at - 1];
	ends->times_ns[at] = end_ns;
}

/* How long each waited until a server was free: w. */
static int find_waits(
	const struct build_served *items, size_t count, uint32_t parallel, double *ret)
{
	AUTO_FREE uint64_t *times_ns = calloc(count, sizeof *times_ns);
	struct ends ends = { .times_ns = times_ns };
	if (!times_ns)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		while (ends.first < ends.count && times_ns[ends.first] <= items[i].begin_ns)
			ends.first++;
		ret[i] = ends.count - ends.first < parallel
				 ? 0
				 : seconds(items[i].begin_ns, times_ns[ends.count - parallel]);
		insert(&ends, items[i].end_ns);
	}
	return 0;
}

static double service(const struct build_served *item, double queued_s, double latency_s)
{
	return seconds(item->begin_ns, item->end_ns) - fmax(queued_s, latency_s);
}

/* Of services, if that is the latency. */
static double variance(
	const struct build_served *items, const double *queued_s, size_t count, double latency_s)
{
	double sum_s = 0, squares = 0, n = (double)count;
	for (size_t i = 0; i < count; i++) {
		double service_s = service(&items[i], queued_s[i], latency_s);
		sum_s += service_s;
		squares += service_s * service_s;
	}
	return fmax(squares / n - sum_s / n * (sum_s / n), 0);
}

/*
 * The mean of all latencies, each as likely as normally distributed services make it, times how likely it is before anything is
 * known: exponential, a tenth of what a request takes in the mean. 0 if none tells: if one as long as all of that is within two
 * standard errors of the best.
 */
static double find_latency(const struct build_served *items, const double *queued_s, size_t count)
{
	const double two_errors = exp(-2), expected_steps = STEPS / 10.0;
	double mean_s = 0, variances[STEPS], least = INFINITY, sum = 0, sum_s = 0, fit = 0;
	for (size_t i = 0; i < count; i++)
		mean_s += service(&items[i], queued_s[i], 0) / (double)count;
	for (int i = 0; i < STEPS; i++) {
		variances[i] = variance(items, queued_s, count, mean_s * i / STEPS);
		least = fmin(least, variances[i]);
	}
	for (int i = 0; i < STEPS; i++) {
		fit = exp((double)count / 2 * (1 - variances[i] / least));
		double weight = fit * exp(-i / expected_steps);
		sum += weight;
		sum_s += weight * mean_s * i / STEPS;
	}
	return fit < two_errors ? sum_s / sum : 0;
}

int build_disk_unqueue(
	struct build_served *items, size_t count, uint32_t parallel, double *ret_latency_s)
{
	AUTO_FREE double *queued_s = calloc(count, sizeof *queued_s);
	size_t disorder = 0;
	*ret_latency_s = 0;
	if (!queued_s)
		return -ENOMEM;
	int code = find_waits(items, count, parallel, queued_s);
	if (code < 0)
		return code;
	for (size_t i = 0; i < count; i++)
		disorder += service(&items[i], queued_s[i], 0) < 0;
	if (disorder > count / DISORDER)
		return -EDOM;
	*ret_latency_s = find_latency(items, queued_s, count);
	for (size_t i = 0; i < count; i++)
		items[i].service_s = fmax(service(&items[i], queued_s[i], *ret_latency_s), 0);
	return 0;
}
