/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a curve at a few thread counts to a prediction, with an interval, at every count from 1 to a
 * target. A method is a const struct of functions; forecast_methods[] lists them all, and each of
 * them sees the same curve and fills the same result, whoever asks: command, library, benchmark.
 */
#ifndef SCALING_FORECAST_H
#define SCALING_FORECAST_H

#include "scaling/curve.h"

#include <stdbool.h>

struct forecast_point {
	uint32_t threads;
	double value;
	double low, high; /* 90% prediction interval of one measurement at this count */
	double measured; /* NAN where there was none */
};

/* One stall category, summed over threads in the unit of its column, at each point. */
struct forecast_stall {
	char *name;
	double *values; /* point_count values */
	double share_at_target; /* of all stalls there, 0..1 */
};

/* What to measure next: the count that would narrow the interval at the target most. */
struct advice {
	uint32_t threads; /* 0: none would */
	double factor_now, factor_then; /* high over low at the target, now and with that count */
};

struct forecast {
	const char *method; /* borrowed from the method's table */
	enum metric metric;
	struct forecast_point *points; /* thread counts 1 .. point_count */
	size_t point_count;
	uint32_t measured_max; /* largest measured count */
	uint32_t best_threads; /* best predicted value among 1..target */
	uint32_t stops_scaling_at; /* see forecast_opts; 0: not within the range */
	struct forecast_stall *stalls;
	size_t stall_count;
	bool has_stall_seconds; /* as in struct runs */
	struct advice advice; /* zero unless asked for: scaling/advice.h */
	char **notes; /* warnings and treatments, one sentence each */
	size_t note_count;
};

struct forecast_opts {
	uint32_t target; /* highest thread count; required */
	double dataset_ratio; /* estima: target dataset size over measured; 0 means 1 */
	double frequency_ratio; /* estima: target clock over measured clock; 0 means 1 */
	uint64_t seed;
};

struct forecast_method {
	const char *name;
	const char *summary;
	bool needs_stalls;
	uint32_t min_points;
	/*
	 * Fills value, low and high of every point of `ret` (threads and measured are set already);
	 * may add stalls and notes. 0, -EINVAL or -EDOM: refused, with the reason in err; -ENOMEM.
	 */
	int (*predict)(const struct curve *curve, const struct forecast_opts *opts,
		struct forecast *ret, struct err *err);
};

/* Ends with a NULL. The first is the default. */
extern const struct forecast_method *const forecast_methods[];
const struct forecast_method *forecast_method_by_name(const char *name);

/*
 * Predicts with the method; method NULL is the default. 0, or a refusal (-EINVAL, -EDOM) whose
 * reason is in err, or -ENOMEM. The caller frees *ret with forecast_free().
 */
int forecast_run(const struct curve *curve, const struct forecast_method *method,
	const struct forecast_opts *opts, struct forecast **ret, struct err *err);
void forecast_free(struct forecast *forecast);

/* For methods. 0 or -ENOMEM. */
int forecast_add_note(struct forecast *forecast, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* values are copied; shares are computed at the end by forecast_run(). */
int forecast_add_stall(struct forecast *forecast, const char *name, const double *values);

CLEANUP_DEFINE(forecast, forecast_free)

#endif
