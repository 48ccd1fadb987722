/* SPDX-License-Identifier: MIT */
/*
 * corecast as a library: how a program that was measured at a few thread counts performs at others, and the
 * best count while it runs.
 *
 *	struct corecast_measurement runs[] = { { 1, 10.0 }, { 2, 5.2 }, { 4, 2.9 }, { 8, 1.8 } };
 *	struct corecast_prediction *p;
 *	struct corecast_error error;
 *	if (corecast_forecast(runs, 4, CORECAST_TIME, 16, NULL, &p, &error) < 0)
 *		fprintf(stderr, "%s\n", error.text);
 *	else
 *		printf("%g s with 16 threads\n", p->points[15].value);
 *	corecast_prediction_free(p);
 *
 * Functions return 0 or a negative errno value, leave their results untouched on failure, keep no
 * state of their own, print nothing, and may be called from several threads at once. The same input gives the
 * same result, bit for bit. Link with the flags that `pkg-config corecast` prints.
 */
#ifndef CORECAST_CORECAST_H
#define CORECAST_CORECAST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CORECAST_API __attribute__((visibility("default")))
#else
#define CORECAST_API
#endif

/* "MAJOR.MINOR.PATCH" of the library that is linked; a static string. */
CORECAST_API const char *corecast_version(void);

/* Why a function failed, for a person: what, on what, and what to do. */
struct corecast_error {
	char text[1024];
};

/* One run. Several runs of one thread count are repeats; their median counts. */
struct corecast_measurement {
	unsigned threads; /* 1 .. 65536 */
	double value; /* from 1e-30 to 1e30, in the unit of the metric */
};

enum corecast_metric {
	CORECAST_TIME = 1, /* of a fixed amount of work; any unit; less is better */
	CORECAST_THROUGHPUT = 2 /* work per time; any unit; more is better */
};

/* Stalls of one category beside the measurements, for the method "estima". */
struct corecast_stalls {
	const char *name;
	const double *values; /* one for each measurement, summed over threads, not negative */
};

/* Zero, or no options at all (NULL), means the defaults. */
struct corecast_forecast_opts {
	const char *method; /* NULL: "auto"; or "presca", "estima", "usl", "amdahl", "pmnf" */
	const struct corecast_stalls *stalls;
	size_t stall_count;
	double dataset_ratio; /* "estima": size of the target's data over those measured */
	double frequency_ratio; /* "estima": clock of the target over that measured */
};

struct corecast_point {
	unsigned threads;
	double value;
	double low, high; /* 90% prediction interval of one measurement */
};

struct corecast_prediction {
	const char *method; /* a static string */
	struct corecast_point *points; /* thread counts 1 .. point_count, the target */
	size_t point_count;
	unsigned best_threads; /* the best predicted value among them */
	unsigned stops_scaling_at; /* where it stops improving; 0: not within the range */
	char **notes; /* when not to trust it, one sentence each */
	size_t note_count;
};

/*
 * Predicts thread counts 1 .. target from `count` measurements. `error` may be NULL.
 * 0; -EINVAL: bad arguments; -EDOM: the method refuses, error says why; -ENOMEM.
 * On success the caller frees *ret with corecast_prediction_free().
 */
CORECAST_API int corecast_forecast(const struct corecast_measurement *measurements, size_t count,
	enum corecast_metric metric, unsigned target, const struct corecast_forecast_opts *opts,
	struct corecast_prediction **ret, struct corecast_error *error);

/* Accepts NULL. */
CORECAST_API void corecast_prediction_free(struct corecast_prediction *prediction);

/*
 * The best thread count while a program runs: measure an interval, say how fast it went, and run the next one
 * with the count that comes back.
 *
 *	struct corecast_tuner *tuner;
 *	struct corecast_tuner_choice choice;
 *	corecast_tuner_new(16, NULL, &tuner, &choice, NULL);
 *	while (serving) {
 *		set_threads(choice.threads);
 *		corecast_tuner_measured(tuner, requests_per_second(), &choice, NULL);
 *	}
 *	corecast_tuner_free(tuner);
 *
 * It knows no clock and starts no thread; one tuner belongs to one thread at a time.
 */
struct corecast_tuner;

/* Zero, or no options at all (NULL), means the defaults. */
struct corecast_tuner_opts {
	unsigned threads_min; /* 0: 1 */
	const char *policy; /* NULL: "process"; or "opresca", "binsearch" */
	double false_alarm; /* chance, per interval that is held, to see a change of the workload where there is
			       none; 0: 0.0001 */
	unsigned long long seed;
};

struct corecast_tuner_choice {
	unsigned threads; /* of the next interval */
	int is_held; /* the search is over; intervals go on being measured */
	int has_restarted; /* the workload has changed: the search began again */
	unsigned steps; /* intervals that this search took so far */
	char why[160]; /* for a person */
};

/*
 * Chooses among threads_min .. threads_max (at most 65536). 0, -EINVAL, -ENOMEM. On success the caller frees
 * *ret with corecast_tuner_free(); *ret_first is for the first interval. `error` may be NULL.
 */
CORECAST_API int corecast_tuner_new(unsigned threads_max, const struct corecast_tuner_opts *opts,
	struct corecast_tuner **ret, struct corecast_tuner_choice *ret_first,
	struct corecast_error *error);

/*
 * performance: of the interval that ran with the last choice; work per time, in any unit that stays the same. What is
 * not positive and finite (nothing to do) says nothing, and the same count runs again. 0, -EINVAL, -ENOMEM.
 */
CORECAST_API int corecast_tuner_measured(struct corecast_tuner *tuner, double performance,
	struct corecast_tuner_choice *ret, struct corecast_error *error);

/* Accepts NULL. */
CORECAST_API void corecast_tuner_free(struct corecast_tuner *tuner);

#ifdef __cplusplus
}
#endif

#endif
