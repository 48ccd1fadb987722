/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurement sets of every format, and the curves made of them. */
#include "fuzz.h"

#include "scaling/curve.h"
#include "scaling/runs.h"

#include <math.h>
#include <string.h>

static void check_runs(const struct runs *runs)
{
	fuzz_check(runs->row_count > 0);
	for (size_t i = 0; i < runs->row_count; i++) {
		const struct runs_row *row = &runs->rows[i];
		fuzz_check(row->threads >= 1 && row->threads <= RUNS_THREADS_MAX);
		fuzz_check(isfinite(row->value) && row->value > 0);
		for (size_t k = 0; k < runs->stall_count; k++)
			fuzz_check(isnan(row->stalls[k]) ||
				   (isfinite(row->stalls[k]) && row->stalls[k] >= 0));
	}
}

static void check_curve(const struct curve *curve)
{
	fuzz_check(curve->point_count > 0);
	for (size_t i = 0; i < curve->point_count; i++) {
		const struct curve_point *point = &curve->points[i];
		fuzz_check(i == 0 || point[-1].threads < point->threads);
		fuzz_check(isfinite(point->value) && point->value > 0);
		fuzz_check(isnan(point->spread) || point->spread >= 0);
		for (size_t k = 0; k < curve->stall_count; k++)
			fuzz_check(isfinite(point->stalls[k]));
	}
}

/* A refusal names the file and stays on one line of plain text. */
static void check_refusal(const struct err *err)
{
	fuzz_check(strncmp(err->text, "input:", 6) == 0 || strcmp(err->text, "out of memory") == 0);
	for (const char *p = err->text; *p; p++)
		fuzz_check((unsigned char)*p >= ' ' && *p != 0x7f);
}

static void read_as(const uint8_t *data, size_t size, const struct runs_read_opts *opts)
{
	AUTO_FILE FILE *in = fuzz_open(data, size);
	AUTO(runs) struct runs *runs = NULL;
	AUTO(curve) struct curve *curve = NULL;
	struct err err = { "" };
	int code = runs_read(in, "input", opts, &runs, &err);
	fuzz_check((code == 0) == (runs != NULL));
	if (code < 0) {
		check_refusal(&err);
		return;
	}
	check_runs(runs);
	fuzz_check(curve_from_runs(runs, &curve, &err) == 0);
	check_curve(curve);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_as(data, size, NULL);
	read_as(data, size, &(struct runs_read_opts){ .metric = METRIC_THROUGHPUT });
	read_as(data, size, &(struct runs_read_opts){ .metric = METRIC_TIME, .select = "a" });
	return 0;
}
