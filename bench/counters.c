/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derives stall categories from counted events. */
#include "counters.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "scaling/runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 64 };

static const double DEFAULT_WIDTH = 6; /* Sapphire Rapids; the sets without slots are its */

enum column { THREADS, TIME, INSTRUCTIONS, CYCLES, SLOTS, COLUMN_COUNT };

static const char *const column_names[COLUMN_COUNT] = { "threads", "time", "INSTR_RETIRED_ANY",
	"CPU_CLK_UNHALTED_CORE", "TOPDOWN_SLOTS" };

static void find_columns(char *line, int at[COLUMN_COUNT])
{
	for (int c = 0; c < COLUMN_COUNT; c++)
		at[c] = -1;
	line[strcspn(line, "\r\n")] = '\0';
	char *rest = line;
	for (int i = 0; rest; i++) {
		const char *field = strsep(&rest, ",");
		for (int c = 0; c < COLUMN_COUNT; c++)
			if (strcmp(field, column_names[c]) == 0)
				at[c] = i;
	}
}

static void read_row(char *line, const int at[COLUMN_COUNT], double ret[COLUMN_COUNT])
{
	for (int c = 0; c < COLUMN_COUNT; c++)
		ret[c] = NAN;
	line[strcspn(line, "\r\n")] = '\0';
	char *rest = line;
	for (int i = 0; rest; i++) {
		const char *field = strsep(&rest, ",");
		for (int c = 0; c < COLUMN_COUNT; c++)
			if (at[c] == i)
				(void)number_parse_double(field, &ret[c]); /* stays NAN */
	}
}

int counters_read_curve(FILE *in, const char *name, struct curve **ret, struct err *err)
{
	static const char *const stalls[] = { "waiting", "extra_work" };
	AUTO(runs) struct runs *runs = runs_new(METRIC_TIME, stalls, 2);
	AUTO_FREE char *line = NULL;
	size_t line_bytes = 0;
	int at[COLUMN_COUNT];
	if (!runs)
		return err_set(err, -ENOMEM, "out of memory");
	if (getline(&line, &line_bytes, in) <= 0)
		return err_set(err, -EINVAL, "%s: empty", name);
	find_columns(line, at);
	if (at[THREADS] < 0 || at[TIME] < 0 || at[INSTRUCTIONS] < 0 || at[CYCLES] < 0)
		return err_set(err, -EINVAL, "%s: needs threads, time, instructions, cycles", name);
	double useful = NAN;
	while (getline(&line, &line_bytes, in) > 0) {
		double v[COLUMN_COUNT];
		read_row(line, at, v);
		if (isnan(v[INSTRUCTIONS]) || isnan(v[CYCLES]) || !(v[TIME] > 0))
			continue;
		if (isnan(useful))
			useful = v[INSTRUCTIONS];
		double width = isnan(v[SLOTS]) ? DEFAULT_WIDTH : v[SLOTS] / v[CYCLES];
		double values[] = { fmax(v[CYCLES] - v[INSTRUCTIONS] / width, 0),
			fmax(v[INSTRUCTIONS] - useful, 0) / width };
		struct runs_row row = { .threads = (uint32_t)v[THREADS],
			.value = v[TIME],
			.rss_bytes = NAN,
			.stalls = values };
		if (runs_append(runs, &row) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return curve_from_runs(runs, ret, err);
}
