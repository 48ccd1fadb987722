/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * branches PROFILE TRACE: misprediction rates of conditional branches as the model has them from a profile, and as
 * predictors have them that are simulated over a full trace of another run of the same program, one for each
 * thread. The profile begins with main(): predictors learn what is before, and are not held to it. CSV: predictor,kib,branches,simulated,predicted. bench/branches, the script, makes both files of kernels.
 */
#include "bench/refsim/predictors.h"
#include "bench/trace_branches.h"

#include "base/cleanup.h"
#include "uarch/branches.h"
#include "uarch/profile_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "bimodal", "gshare", "tournament", "tage" };

static int read_profile(const char *path, struct profile *ret, struct err *err)
{
	AUTO_FILE FILE *file = fopen(path, "re");
	if (!file)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fseek(file, 0, SEEK_END) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	long size = ftell(file);
	rewind(file);
	AUTO_FREE void *bytes = malloc((size_t)size + 1);
	if (size < 0 || !bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
		return err_set(err, -EIO, "%s: cannot be read", path);
	return profile_read(bytes, (size_t)size, path, ret, err);
}

/* Over all classes, by the branches that they execute. */
static double predicted_rate(const struct profile *profile, int kind, uint32_t bytes)
{
	double wrong = 0, all = 0;
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		double count = (double)class->mix[CODE_BRANCH];
		wrong += count * branches_mispredicted(class, (enum predictor_kind)kind, bytes);
		all += count;
	}
	return all > 0 ? wrong / all : 0;
}

static size_t branches_of_first(const struct profile *profile)
{
	size_t count = 0;
	for (size_t i = 0; i < profile->class_count; i++)
		count += profile->classes[i].thread == 0 ? profile->classes[i].mix[CODE_BRANCH] : 0;
	return count;
}

struct streams {
	size_t count;
	struct branch **branches;
	size_t *lengths;
};

static void streams_release(struct streams *streams)
{
	for (size_t i = 0; streams->branches && i < streams->count; i++)
		free(streams->branches[i]);
	free(streams->branches);
	free(streams->lengths);
}

static int read_streams(const char *path, struct streams *ret, struct err *err)
{
	AUTO(full_trace) struct full_trace *trace = NULL;
	int status = full_trace_open(path, &trace, err);
	if (status < 0)
		return status;
	ret->count = full_trace_threads(trace);
	ret->branches = calloc(ret->count + 1, sizeof(*ret->branches));
	ret->lengths = calloc(ret->count + 1, sizeof(*ret->lengths));
	if (!ret->branches || !ret->lengths) {
		err_set(err, -ENOMEM, "not enough memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < ret->count; i++) {
		ptrdiff_t length =
			trace_branches(trace, (uint32_t)i, 0, SIZE_MAX, &ret->branches[i]);
		if (length < 0)
			return err_set(err, (int)length, "not enough memory");
		ret->lengths[i] = (size_t)length;
	}
	return 0;
}

/* `first`: of the first thread's, those that are counted are the last ones. */
static int simulated_rate(const struct streams *streams, size_t first, int kind, uint32_t bytes,
	size_t *ret_all, double *ret)
{
	size_t wrong = 0, all = 0;
	for (size_t i = 0; i < streams->count; i++) {
		size_t begin = 0;
		if (i == 0 && first < streams->lengths[0])
			begin = streams->lengths[0] - first;
		AUTO(branch_predictor) struct branch_predictor *predictor = NULL;
		if (branch_predictor_new((enum predictor_kind)kind, bytes, &predictor) < 0)
			return -ENOMEM;
		all += streams->lengths[i] - begin;
		for (size_t k = 0; k < streams->lengths[i]; k++) {
			const struct branch *branch = &streams->branches[i][k];
			bool is_right = branch_predictor_predict(
				predictor, branch->address, branch->is_taken);
			wrong += k >= begin && !is_right;
		}
	}
	*ret_all = all;
	*ret = all ? (double)wrong / (double)all : 0;
	return 0;
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	struct profile profile = { 0 };
	struct streams streams = { 0 };
	if (argc != 3) {
		(void)fprintf(stderr, "usage: %s PROFILE TRACE\n", argv[0]);
		return 2;
	}
	int status = read_profile(argv[1], &profile, &err);
	if (status == 0)
		status = read_streams(argv[2], &streams, &err);
	size_t first = branches_of_first(&profile);
	for (int kind = 0; status == 0 && kind < BRANCHES_KINDS; kind++) {
		uint32_t bytes = BRANCHES_SIZE_FIRST;
		for (int i = 0; i < BRANCHES_SIZES && status == 0;
			i++, bytes *= BRANCHES_SIZE_STEP) {
			size_t all;
			double simulated;
			status = simulated_rate(&streams, first, kind, bytes, &all, &simulated);
			if (status == 0)
				(void)printf("%s,%u,%zu,%.5f,%.5f\n", kinds[kind], bytes / 1024,
					all, simulated, predicted_rate(&profile, kind, bytes));
		}
	}
	if (status < 0)
		(void)fprintf(stderr, "%s: %s\n", argv[0], err.text);
	streams_release(&streams);
	profile_release(&profile);
	return status < 0;
}
