/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/clients.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	AMISS_MOST =
		10, /* at most one arrival in so many may come while all clients seem to wait */
	AMISS_PARTS = 100, /* it is taken to be as likely as one in so many of those at a rate */
	ARRIVALS_LEAST = 30, /* fewer tell nothing of how intervals spread */
};

static const double surely = 6.9; /* ln 1000 */

/* While so many requests are served. */
struct level {
	double time_s;
	uint64_t arrivals;
};

/* From the first arrival to the last. */
struct course {
	struct level *levels;
	size_t most; /* the highest */
	uint64_t arrivals;
	double intervals_s, squares_s2, logs; /* sums over intervals between arrivals */
	double span_s;
};

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return (double)(to_ns - from_ns) * 1e-9;
}

static void take_interval(struct course *course, double interval_s)
{
	interval_s = fmax(interval_s, 1e-9); /* what the clock can tell */
	course->intervals_s += interval_s;
	course->squares_s2 += interval_s * interval_s;
	course->logs += log(interval_s);
}

static void follow(struct course *course, const struct build_moment *moments, size_t count)
{
	size_t level = 0, last = 0;
	uint64_t arrived_ns = 0;
	for (size_t i = 0; i < count; i++)
		last = moments[i].is_end ? last : i;
	for (size_t i = 0; i <= last && i < count; i++) {
		const struct build_moment *moment = &moments[i];
		if (course->arrivals > 0) {
			double time_s = seconds(moments[i - 1].time_ns, moment->time_ns);
			course->levels[level].time_s += time_s;
			course->span_s += time_s;
		}
		if (moment->is_end) {
			level -= level > 0;
			continue;
		}
		if (course->arrivals > 0) {
			course->levels[level].arrivals++;
			take_interval(course, seconds(arrived_ns, moment->time_ns));
		}
		arrived_ns = moment->time_ns;
		course->arrivals++;
		level++;
		course->most = level > course->most ? level : course->most;
	}
}

/* Logarithm of the likelihood of intervals that are drawn from a gamma distribution with their mean and variance. */
static double likelihood_of_rate(const struct course *course)
{
	double count = (double)(course->arrivals - 1), mean = course->intervals_s / count;
	double variance = course->squares_s2 / count - mean * mean;
	double shape = fmin(fmax(mean * mean / fmax(variance, 1e-30), 0.01), 1e6);
	double exponential = -count * (log(mean) + 1);
	double gamma = (shape - 1) * course->logs - shape * count -
		       count * (shape * log(mean / shape) + lgamma(shape));
	return fmax(exponential, gamma);
}

/* The same of so many clients; arrivals while all of them wait come a hundredth as often as others do on the average. */
static double likelihood_of_clients(const struct course *course, uint32_t clients)
{
	double waiting_s = 0, likelihood = 0; /* of clients that think */
	uint64_t regular = 0, amiss = 0;
	for (size_t i = 0; i < clients; i++) {
		waiting_s += (double)(clients - i) * course->levels[i].time_s;
		regular += course->levels[i].arrivals;
	}
	if (regular == 0)
		return -INFINITY;
	double think_s = fmax(waiting_s / (double)regular, 1e-9);
	for (size_t i = 0; i < clients; i++)
		likelihood +=
			(double)course->levels[i].arrivals * log((double)(clients - i) / think_s);
	for (size_t i = clients; i < course->most; i++)
		amiss += course->levels[i].arrivals;
	double rare_per_s = (double)course->arrivals / course->span_s / AMISS_PARTS;
	return likelihood - (double)regular + (double)amiss * log(rare_per_s);
}

/* The number that is likeliest, or 0 for a rate. */
static uint32_t likeliest(const struct course *course)
{
	double best = likelihood_of_rate(course) + surely;
	uint64_t amiss = 0;
	uint32_t ret = 0;
	for (size_t clients = course->most; clients > 0; clients--) {
		double likelihood = likelihood_of_clients(course, (uint32_t)clients);
		if (likelihood > best) {
			best = likelihood;
			ret = (uint32_t)clients;
		}
		amiss += course->levels[clients - 1].arrivals;
		if (amiss * AMISS_MOST > course->arrivals)
			break;
	}
	return ret;
}

int64_t build_clients_count(const struct build_moment *moments, size_t count)
{
	struct course course = { .levels = calloc(count + 1, sizeof *course.levels) };
	if (!course.levels)
		return -ENOMEM;
	follow(&course, moments, count);
	bool is_known = course.arrivals >= ARRIVALS_LEAST && course.span_s > 0;
	uint32_t ret = is_known ? likeliest(&course) : 0;
	free(course.levels);
	return ret;
}

size_t build_clients_think(
	const struct build_moment *moments, size_t count, uint32_t clients, double *thinking_s)
{
	size_t ret = 0, answer = 0;
	uint64_t arrivals = 0;
	for (size_t i = 0; i < count; i++) {
		if (moments[i].is_end || arrivals++ < clients)
			continue;
		while (answer < count && !moments[answer].is_end)
			answer++;
		if (answer == count)
			break;
		/* The answer may have been told of late. */
		thinking_s[ret++] =
			answer < i ? seconds(moments[answer].time_ns, moments[i].time_ns) : 0;
		answer++;
	}
	return ret;
}
