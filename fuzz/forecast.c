/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every forecasting method on curves that no program would give. Not text: the bytes are
 *
 *	target, metric, number of stall categories, then for each run
 *	thread count (2 bytes), value (3 bytes), each stall (3 bytes)
 */
#include "fuzz.h"

#include "scaling/curve.h"
#include "scaling/forecast.h"

#include <math.h>
#include <string.h>

enum { STALLS_MAX = 2, RUNS_MAX = 24, THREADS_MAX = 128 };

struct bytes {
	const uint8_t *data;
	size_t size;
};

static uint8_t next_byte(struct bytes *bytes)
{
	if (bytes->size == 0)
		return 0;
	bytes->size--;
	return *bytes->data++;
}

static uint16_t next_u16(struct bytes *bytes)
{
	uint16_t high = next_byte(bytes);
	return (uint16_t)(high << 8 | next_byte(bytes));
}

/* 1 to 65536 times a power of ten from -12 to 12. */
static double next_value(struct bytes *bytes)
{
	double digits = 1 + (double)next_u16(bytes);
	return digits * pow(10, next_byte(bytes) % 25 - 12);
}

static struct runs *make_runs(struct bytes *bytes)
{
	static const char *const names[STALLS_MAX] = { "a", "b" };
	enum metric metric = next_byte(bytes) % 2 ? METRIC_TIME : METRIC_THROUGHPUT;
	struct runs *runs = runs_new(metric, names, next_byte(bytes) % (STALLS_MAX + 1));
	fuzz_check(runs != NULL);
	do {
		double stalls[STALLS_MAX] = { 0 };
		struct runs_row row = { .threads = 1u + next_u16(bytes) % THREADS_MAX,
			.value = next_value(bytes),
			.rss_bytes = NAN,
			.stalls = stalls };
		for (size_t i = 0; i < runs->stall_count; i++)
			stalls[i] = next_value(bytes) - 1e-12; /* 0 is a stall count too */
		fuzz_check(runs_append(runs, &row) == 0);
	} while (bytes->size > 0 && runs->row_count < RUNS_MAX);
	return runs;
}

static void check_forecast(const struct forecast *forecast, uint32_t target)
{
	fuzz_check(forecast->point_count == target);
	fuzz_check(forecast->best_threads >= 1 && forecast->best_threads <= target);
	for (size_t i = 0; i < forecast->point_count; i++) {
		const struct forecast_point *point = &forecast->points[i];
		fuzz_check(isfinite(point->value) && point->value > 0);
		fuzz_check(point->low >= 0 && point->low <= point->value);
		fuzz_check(point->high >= point->value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = { data, size };
	uint32_t target = 1u + next_byte(&bytes) % THREADS_MAX;
	AUTO(runs) struct runs *runs = make_runs(&bytes);
	AUTO(curve) struct curve *curve = NULL;
	fuzz_check(curve_from_runs(runs, &curve, NULL) == 0);
	for (const struct forecast_method *const *method = forecast_methods; *method; method++) {
		AUTO(forecast) struct forecast *forecast = NULL;
		struct forecast_opts opts = { .target = target };
		struct err err = { "" };
		int code = forecast_run(curve, *method, &opts, &forecast, &err);
		fuzz_check((code == 0) == (forecast != NULL));
		if (code == 0)
			check_forecast(forecast, target);
		else
			fuzz_check(err.text[0] != '\0');
	}
	return 0;
}
