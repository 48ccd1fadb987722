/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits the maps of src/uarch/branches.h, once, to simulated predictors. No program that bench/branches scores is used.
 *
 *	calibrate_branches rows NAME TRACE	prints what a full trace's branches are like, and how predictors do
 *	calibrate_branches fit ROWS		fits such rows and made-up streams; prints src/uarch/branches_map.c
 *
 * bench/calibrate_branches_run makes traces of common programs and does both. Least squares with coefficients that are
 * not negative, of relative errors (a rate of y has the weight 1 / (y + 0.02)); made-up streams, of which there are more
 * and which are harder than programs, count 0.16 of a program's, and branches by chance count as much as two. Each program is there twice: seen whole, and in windows
 * of a tenth, as a profiler sees long runs.
 */
#include "bench/refsim/branch_entropy.h"
#include "bench/refsim/branch_streams.h"
#include "bench/refsim/predictors.h"
#include "bench/trace_branches.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "plugin/profile_raw.h"
#include "uarch/branches.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	F = BRANCHES_FEATURES,
	STREAMS = 90,
	STREAM_BRANCHES = 500000,
	SKIP = 500000,
	MOST = 3000000,
	LEAST = 100000,
	WINDOW = 30000,
	PERIOD = 300000,
	VIEWS = 2,
	SWEEPS = 3000,
};

static const double made_up_weight = 0.16, ridge = 1e-3, offset = 0.02;
static const double chance_weight = 2, chance_rate = 0.5;

struct row {
	char name[64];
	bool is_made_up;
	double features[F], rates[BRANCHES_KINDS][BRANCHES_SIZES];
};

struct rows {
	struct row *rows;
	size_t count, capacity;
};

static int simulate(const struct branch *branches, size_t count, struct row *row)
{
	for (int kind = 0; kind < BRANCHES_KINDS; kind++) {
		uint32_t bytes = BRANCHES_SIZE_FIRST;
		for (int size = 0; size < BRANCHES_SIZES; size++, bytes *= BRANCHES_SIZE_STEP) {
			AUTO(branch_predictor) struct branch_predictor *predictor = NULL;
			size_t wrong = 0;
			if (branch_predictor_new(kind, bytes, &predictor) < 0)
				return -ENOMEM;
			for (size_t i = 0; i < count; i++)
				wrong += !branch_predictor_predict(
					predictor, branches[i].address, branches[i].is_taken);
			row->rates[kind][size] = (double)wrong / (double)count;
		}
	}
	return 0;
}

/* Both views of a stream: seen whole, and in windows. */
static int add_rows(struct rows *rows, const char *name, bool is_made_up,
	const struct branch *branches, size_t count)
{
	struct row row = { .is_made_up = is_made_up };
	(void)snprintf(row.name, sizeof(row.name), "%s", name);
	if (simulate(branches, count, &row) < 0 ||
		mem_grow(&rows->rows, &rows->capacity, rows->count + VIEWS, sizeof(row)) < 0)
		return -ENOMEM;
	for (int view = 0; view < VIEWS; view++) {
		struct profile_branches entropy[PROFILE_HISTORIES];
		if (branch_entropy(branches, count, view ? WINDOW : count, view ? PERIOD : count,
			    entropy) < 0)
			return -ENOMEM;
		branches_features(entropy, row.features);
		rows->rows[rows->count++] = row;
	}
	return 0;
}

static int print_rows(const char *name, const char *path)
{
	struct err err = { 0 };
	AUTO(full_trace) struct full_trace *trace = NULL;
	if (full_trace_open(path, &trace, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	struct rows rows = { 0 };
	for (uint32_t thread = 0; thread < full_trace_threads(trace); thread++) {
		AUTO_FREE struct branch *branches = NULL;
		ptrdiff_t count = trace_branches(trace, thread, SKIP, MOST, &branches);
		if (count >= LEAST && add_rows(&rows, name, false, branches, (size_t)count) < 0)
			return 1;
	}
	for (size_t i = 0; i < rows.count; i++) {
		(void)printf("%s", rows.rows[i].name);
		for (int f = 0; f < F; f++)
			(void)printf(" %.6f", rows.rows[i].features[f]);
		for (int k = 0; k < BRANCHES_KINDS * BRANCHES_SIZES; k++)
			(void)printf(" %.6f",
				rows.rows[i].rates[k / BRANCHES_SIZES][k % BRANCHES_SIZES]);
		(void)printf("\n");
	}
	free(rows.rows);
	return 0;
}

static int read_row(FILE *file, struct row *row)
{
	if (fscanf(file, "%63s", row->name) != 1)
		return 0;
	for (int f = 0; f < F; f++)
		if (fscanf(file, "%lf", &row->features[f]) != 1)
			return -EINVAL;
	for (int k = 0; k < BRANCHES_KINDS * BRANCHES_SIZES; k++)
		if (fscanf(file, "%lf", &row->rates[k / BRANCHES_SIZES][k % BRANCHES_SIZES]) != 1)
			return -EINVAL;
	return 1;
}

static int read_rows(const char *path, struct rows *rows)
{
	AUTO_FILE FILE *file = fopen(path, "re");
	if (!file)
		return -errno;
	struct row row = { 0 };
	int status;
	while ((status = read_row(file, &row)) > 0) {
		if (mem_grow(&rows->rows, &rows->capacity, rows->count + 1, sizeof(row)) < 0)
			return -ENOMEM;
		rows->rows[rows->count++] = row;
	}
	return status;
}

static int make_up_rows(struct rows *rows)
{
	for (uint64_t i = 0; i < STREAMS; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "made-up-%d", (int)i);
		AUTO_FREE struct branch *branches = branch_stream_new(i, STREAM_BRANCHES);
		if (!branches || add_rows(rows, name, true, branches, STREAM_BRANCHES) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What only a history tells that is longer than a predictor's it cannot know, whatever goes with it in some programs. */
static bool sees(int kind, int size, int feature)
{
	/* Outcomes of all branches that bench/refsim/predictors.h sees, rounded up to a history that is profiled. */
	static const uint8_t reach[BRANCHES_KINDS][BRANCHES_SIZES] = {
		[PREDICTOR_BIMODAL] = { 16, 16, 16, 16 },
		[PREDICTOR_GSHARE] = { 12, 16, 16, 16 },
		[PREDICTOR_TOURNAMENT] = { 12, 12, 16, 16 },
		[PREDICTOR_TAGE] = { 64, 64, 64, 64 },
	};
	return feature >= PROFILE_OUTCOMES || profile_histories[feature].bits <= reach[kind][size];
}

/* Non-negative least squares by turns of one coefficient, on the normal equations. */
static void solve(
	const double normal[F][F], const double right[F], int kind, int size, double ret[F])
{
	memset(ret, 0, F * sizeof(*ret));
	for (int sweep = 0; sweep < SWEEPS; sweep++) {
		for (int i = 0; i < F; i++) {
			double rest = right[i];
			for (int k = 0; k < F; k++)
				rest -= k == i ? 0 : normal[i][k] * ret[k];
			rest /= normal[i][i] + ridge;
			ret[i] = rest > 0 && sees(kind, size, i) ? rest : 0;
		}
	}
}

/* What nobody foretells every predictor misses, and all counters: a limit that programs are too far from to tell. */
static void add_chance(double normal[F][F], double right[F])
{
	double weight = chance_weight / (chance_rate + offset);
	for (int i = 0; i < PROFILE_OUTCOMES; i++) {
		right[i] += weight * chance_rate * chance_rate;
		for (int k = 0; k < PROFILE_OUTCOMES; k++)
			normal[i][k] += weight * chance_rate * chance_rate;
	}
}

/* To all rows but those of one name (NULL: all). */
static void fit(const struct rows *rows, int kind, int size, const char *without, double ret[F])
{
	double normal[F][F] = { { 0 } }, right[F] = { 0 };
	for (size_t r = 0; r < rows->count; r++) {
		const struct row *row = &rows->rows[r];
		if (without && strcmp(row->name, without) == 0)
			continue;
		double rate = row->rates[kind][size];
		double weight = (row->is_made_up ? made_up_weight : 1) / (rate + offset);
		for (int i = 0; i < F; i++) {
			right[i] += weight * row->features[i] * rate;
			for (int k = 0; k < F; k++)
				normal[i][k] += weight * row->features[i] * row->features[k];
		}
	}
	add_chance(normal, right);
	solve(normal, right, kind, size, ret);
}

/* Each program predicted from all others. Points of misprediction rate. */
static void leave_one_out(const struct rows *rows, int kind, int size)
{
	double sum = 0, worst = 0;
	const char *worst_name = "";
	size_t count = 0;
	for (size_t r = 0; r < rows->count; r++) {
		const struct row *row = &rows->rows[r];
		if (row->is_made_up)
			continue;
		double map[F], rate = 0;
		fit(rows, kind, size, row->name, map);
		for (int i = 0; i < F; i++)
			rate += map[i] * row->features[i];
		double error = 100 * fabs(rate - row->rates[kind][size]);
		sum += error;
		count++;
		if (error > worst) {
			worst = error;
			worst_name = row->name;
		}
	}
	(void)printf(" *\t%d KiB: %.2f, at most %.2f (%s)\n", 1 << 2 * size,
		count ? sum / (double)count : 0, worst, worst_name);
}

static const char *const kinds[] = { "bimodal", "gshare", "tournament", "TAGE" };

static void print_map(const struct rows *rows)
{
	(void)printf(
		"/* SPDX-License-Identifier: GPL-3.0-or-later */\n/*\n"
		" * Printed by bench/calibrate_branches_run; not to be edited. Each program "
		"predicted from\n"
		" * the others, mean and worst error in points of the misprediction rate:\n *\n");
	for (int kind = 0; kind < BRANCHES_KINDS; kind++) {
		(void)printf(" * %s\n", kinds[kind]);
		for (int size = 0; size < BRANCHES_SIZES; size++)
			leave_one_out(rows, kind, size);
	}
	(void)printf(" */\n#include \"uarch/branches_map.h\"\n\n"
		     "const double branches_map[BRANCHES_KINDS][BRANCHES_SIZES][BRANCHES_FEATURES] "
		     "= {\n");
	for (int kind = 0; kind < BRANCHES_KINDS; kind++) {
		(void)printf("\t/* %s */\n\t{\n", kinds[kind]);
		for (int size = 0; size < BRANCHES_SIZES; size++) {
			double map[F];
			fit(rows, kind, size, NULL, map);
			(void)printf("\t\t{");
			for (int i = 0; i < F; i++)
				(void)printf("%s %.3f", i ? "," : "", map[i]);
			(void)printf(" },\n");
		}
		(void)printf("\t},\n");
	}
	(void)printf("};\n");
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "rows") == 0)
		return print_rows(argv[2], argv[3]);
	if (argc != 3 || strcmp(argv[1], "fit") != 0) {
		(void)fprintf(stderr, "usage: %s rows NAME TRACE | fit ROWS\n", argv[0]);
		return 2;
	}
	struct rows rows = { 0 };
	int status = read_rows(argv[2], &rows);
	if (status < 0 || make_up_rows(&rows) < 0) {
		(void)fprintf(stderr, "%s: %s\n", argv[2], strerror(status < 0 ? -status : ENOMEM));
		free(rows.rows);
		return 1;
	}
	print_map(&rows);
	free(rows.rows);
	return 0;
}
