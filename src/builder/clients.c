/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/clients.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	AMISS_MOST =
		10, /* at most one arrival in so many may come while all clients seem to wait */
	ARRIVALS_LEAST = 30, /* fewer tell nothing of how intervals spread */
	NUMBERS_MOST =
		64, /* of clients that are tried: as many as were served at once, and fewer */
};

static const double surely = 6.9; /* ln 1000 */
/* More than what else makes arrivals depend on who is served brings for each of them: whoever asks may share cores with the server. */
static const double clearly = 0.05;
/* Who seems to wait for an answer, which was not told of yet, against who thinks. */
static const double amiss = 0.01;

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return (double)(to_ns - from_ns) * 1e-9;
}

/* At which rate requests come while so many are served, but for a factor. `clients` 0: always the same. */
static double rate_while(uint32_t clients, size_t served)
{
	if (clients == 0)
		return 1;
	return served < clients ? (double)(clients - served) : amiss;
}

/*
 * Logarithm of the likelihood of the arrivals behind the first one, if they come at such rates: then intervals are alike in a time that passes as fast
 * as those (Berman, "Inhomogeneous and modulated gamma processes", Biometrika 68, 1981): those of a gamma distribution with
 * their mean and variance.
 */
static double likelihood(const struct build_moment *moments, size_t count, uint32_t clients)
{
	double interval = 0, sum = 0, squares = 0, logs = 0, rates = 0;
	size_t served = 0, arrivals = 0;
	for (size_t i = 0; i < count; i++) {
		double rate = rate_while(clients, served);
		if (arrivals > 0)
			interval += rate * seconds(moments[i - 1].time_ns, moments[i].time_ns);
		if (moments[i].is_end) {
			served -= served > 0;
			continue;
		}
		if (arrivals++ > 0) {
			interval = fmax(interval, amiss * 1e-9); /* what the clock can tell */
			sum += interval;
			squares += interval * interval;
			logs += log(interval);
			rates += log(rate);
		}
		interval = 0;
		served++;
	}
	double intervals = (double)arrivals - 1, mean = sum / intervals;
	double variance = squares / intervals - mean * mean;
	double shape = fmin(fmax(mean * mean / fmax(variance, 1e-30), 0.01), 1e6);
	double exponential = -intervals * (log(mean) + 1);
	double gamma = (shape - 1) * logs - shape * intervals -
		       intervals * (shape * log(mean / shape) + lgamma(shape));
	return rates + fmax(exponential, gamma);
}

/* Arrivals by how many were served then. Returns the most that ever were. */
static size_t follow(const struct build_moment *moments, size_t count, uint64_t *arrivals)
{
	size_t served = 0, most = 0;
	for (size_t i = 0; i < count; i++) {
		if (moments[i].is_end) {
			served -= served > 0;
			continue;
		}
		arrivals[served++]++;
		most = served > most ? served : most;
	}
	return most;
}

int64_t build_clients_count(const struct build_moment *moments, size_t count)
{
	uint64_t *arrivals = calloc(count + 1, sizeof *arrivals), all = 0, late = 0;
	uint32_t ret = 0;
	if (!arrivals)
		return -ENOMEM;
	size_t most = follow(moments, count, arrivals);
	for (size_t i = 0; i < most; i++)
		all += arrivals[i];
	if (all >= ARRIVALS_LEAST) {
		double best = likelihood(moments, count, 0) + surely + clearly * (double)all;
		for (size_t n = most; n > 0 && n + NUMBERS_MOST > most && late * AMISS_MOST <= all;
			n--) {
			double found = likelihood(moments, count, (uint32_t)n);
			ret = found > best ? (uint32_t)n : ret;
			best = fmax(found, best);
			late += arrivals[n - 1];
		}
	}
	free(arrivals);
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
