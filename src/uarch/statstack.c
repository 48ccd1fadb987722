/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts a profile's rows of reuse by class and instruction, as shares. */
#include "uarch/statstack.h"
#include "uarch/statstack_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int check_row(const struct profile *profile, size_t at, struct err *err)
{
	const struct profile_reuse *row = &profile->reuse[at];
	bool has_code = row->scope != PROFILE_FETCH;
	if (row->class < profile->class_count && row->scope < PROFILE_SCOPES &&
		row->bin < REUSE_BINS && row->count >= 0 &&
		(!has_code || row->code < profile->code_count))
		return 0;
	return err_set(err, -EINVAL,
		"row %zu of reuse distances (class %u, code %u, scope %u, bin %u) is of something "
		"that the profile does not have: make the profile again",
		at, row->class, row->code, row->scope, row->bin);
}

static int check(const struct profile *profile, struct err *err)
{
	for (size_t i = 0; i < profile->class_count; i++)
		if (profile->classes[i].thread >= profile->thread_count)
			return err_set(err, -EINVAL,
				"class %zu is of thread %u, and there are %zu: make the profile "
				"again",
				i, profile->classes[i].thread, profile->thread_count);
	for (size_t i = 0; i < profile->reuse_count; i++) {
		int status = check_row(profile, i, err);
		if (status < 0)
			return status;
	}
	return 0;
}

/* How many run at a time: as many as would, with equal shares, have as likely two accesses of one thread.
 * `accesses`: zeros, one for each thread. */
static double concurrent_threads(const struct profile *profile, double *accesses)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		accesses[class->thread] += class_accesses(class, PROFILE_PRIVATE);
	}
	for (size_t i = 0; i < profile->thread_count; i++) {
		sum += accesses[i];
		squares += accesses[i] * accesses[i];
	}
	return squares > 0 ? sum * sum / squares : 1;
}

/* The mean bin of the longer half of the finite distances; 0: there are none. */
static double mean_long_bin(const double *counts)
{
	double all = 0, above = 0, sum = 0;
	for (unsigned bin = 0; bin < REUSE_INFINITE; bin++)
		all += counts[bin];
	for (unsigned bin = REUSE_INFINITE; bin-- > 0 && above < all / 2;) {
		double part = above + counts[bin] < all / 2 ? counts[bin] : all / 2 - above;
		above += part;
		sum += part * bin;
	}
	return above > 0 ? sum / above : 0;
}

/*
 * Whether threads have lines in common. In a line of its own a thread's distances grow by the number of threads when
 * all accesses count; in one that all use alike they stay, since the others' accesses count as reuse, too.
 */
static double common_lines(const struct profile *profile, double threads)
{
	enum { BINS_PER_OCTAVE = 4 };
	double counts[PROFILE_SCOPES][REUSE_BINS] = { { 0 } };
	for (size_t i = 0; i < profile->reuse_count; i++)
		counts[profile->reuse[i].scope][profile->reuse[i].bin] += profile->reuse[i].count;
	double grown =
		mean_long_bin(counts[PROFILE_GLOBAL]) - mean_long_bin(counts[PROFILE_PRIVATE]);
	double most = BINS_PER_OCTAVE * log2(threads);
	if (threads <= 1 || grown >= most)
		return 0;
	return grown > 0 ? 1 - grown / most : 1;
}

/* Each class's distribution of distances; `samples` gets how many it rests on. */
static void class_shares(
	struct statstack *statstack, const struct profile *profile, double *samples)
{
	for (size_t i = 0; i < profile->reuse_count; i++) {
		const struct profile_reuse *row = &profile->reuse[i];
		statstack->has_pages |= row->scope == PROFILE_PAGE;
		statstack->classes[row->class].share[row->scope][row->bin] += row->count;
		samples[(size_t)row->class * PROFILE_SCOPES + row->scope] += row->samples;
	}
	for (size_t i = 0; i < statstack->class_count; i++) {
		struct class_reuse *class = &statstack->classes[i];
		for (int scope = 0; scope < PROFILE_SCOPES; scope++) {
			double *share = class->share[scope], sum = 0;
			for (unsigned bin = 0; bin < REUSE_BINS; bin++)
				sum += share[bin];
			if (sum <= 0)
				samples[i * PROFILE_SCOPES + (size_t)scope] = 0;
			for (unsigned bin = 0; bin < REUSE_BINS; bin++)
				share[bin] = sum > 0 ? share[bin] / sum : 0;
		}
	}
}

/* Of lines that somebody else had before this thread met them anew, how many were written by another since. */
static void class_written(struct class_reuse *reuse, const struct profile_class *class)
{
	double accesses = class_accesses(class, PROFILE_PRIVATE);
	double first = (double)class->first_touches;
	double again = accesses * reuse->share[PROFILE_PRIVATE][REUSE_INFINITE] - first;
	double others = first - (double)class->first_touches_global;
	if (again > 0)
		reuse->written = again / (again + (others > 0 ? others : 0));
}

static bool same_code(const struct profile_reuse *one, const struct profile_reuse *other)
{
	return one->class == other->class && one->code == other->code;
}

/* Shares of one scope's rows, from `at` on; returns their sum. */
static double code_rows(struct statstack *statstack, const struct profile *profile, size_t at,
	enum profile_scope scope, uint32_t *ret_count, double *ret_infinite)
{
	double sum = 0;
	size_t end = at;
	for (; end < profile->reuse_count && same_code(&profile->reuse[at], &profile->reuse[end]);
		end++)
		if (profile->reuse[end].scope == scope)
			sum += profile->reuse[end].count;
	*ret_count = 0;
	*ret_infinite = 0;
	if (sum <= 0)
		return 0;
	for (size_t i = at; i < end; i++) {
		const struct profile_reuse *row = &profile->reuse[i];
		if (row->scope != scope)
			continue;
		if (row->bin == REUSE_INFINITE)
			*ret_infinite += row->count / sum;
		statstack->rows[statstack->row_count++] =
			(struct reuse_row){ row->bin, (float)(row->count / sum) };
		++*ret_count;
	}
	return sum;
}

static void codes_fill(struct statstack *statstack, const struct profile *profile)
{
	for (size_t i = 0; i < profile->reuse_count; i++) {
		const struct profile_reuse *row = &profile->reuse[i];
		if ((i > 0 && same_code(row, row - 1)) || row->code == PROFILE_NO_CODE)
			continue;
		struct class_reuse *class = &statstack->classes[row->class];
		struct code_reuse *code = &statstack->codes[statstack->code_count];
		*code = (struct code_reuse){
			.class = row->class, .code = row->code, .first_row = statstack->row_count
		};
		double accesses = code_rows(statstack, profile, i, PROFILE_PRIVATE,
			&code->private_rows, &code->infinite_private);
		double global = code_rows(statstack, profile, i, PROFILE_GLOBAL, &code->global_rows,
			&code->infinite_global);
		double pages = 0; /* their infinite distances miss as in any bin */
		(void)code_rows(statstack, profile, i, PROFILE_PAGE, &code->page_rows, &pages);
		code->accesses = accesses > 0 ? accesses : global;
		code->is_load = profile->codes[row->code].flags & CODE_LOAD;
		if (class->code_count++ == 0)
			class->first_code = statstack->code_count;
		statstack->code_count++;
	}
}

static int fill(struct statstack *statstack, const struct profile *profile)
{
	size_t rows = profile->reuse_count + 1;
	statstack->class_count = profile->class_count;
	statstack->classes = calloc(profile->class_count + 1, sizeof(*statstack->classes));
	statstack->codes = calloc(rows, sizeof(*statstack->codes));
	statstack->rows = calloc(rows, sizeof(*statstack->rows));
	AUTO_FREE double *samples =
		calloc((profile->class_count + 1) * PROFILE_SCOPES, sizeof(*samples));
	AUTO_FREE double *accesses = calloc(profile->thread_count + 1, sizeof(*accesses));
	if (!statstack->classes || !statstack->codes || !statstack->rows || !samples || !accesses)
		return -ENOMEM;
	statstack->threads = concurrent_threads(profile, accesses);
	statstack->common = common_lines(profile, statstack->threads);
	class_shares(statstack, profile, samples);
	for (size_t i = 0; i < profile->class_count; i++)
		class_written(&statstack->classes[i], &profile->classes[i]);
	codes_fill(statstack, profile);
	int status = statstack_curves(statstack, profile, samples);
	return status < 0 ? status : statstack_walks(statstack, profile, accesses);
}

int statstack_new(const struct profile *profile, struct statstack **ret, struct err *err)
{
	int status = check(profile, err);
	if (status < 0)
		return status;
	AUTO(statstack) struct statstack *statstack = calloc(1, sizeof(*statstack));
	status = statstack ? fill(statstack, profile) : -ENOMEM;
	if (status < 0)
		return err_set(err, status, "not enough memory for the profile's reuse distances");
	*ret = TAKE(statstack);
	return 0;
}

bool statstack_has_pages(const struct statstack *statstack)
{
	return statstack->has_pages;
}

void statstack_free(struct statstack *statstack)
{
	if (!statstack)
		return;
	free(statstack->classes);
	free(statstack->codes);
	free(statstack->rows);
	free(statstack->walks);
	free(statstack);
}

double statstack_accesses(const struct statstack *statstack, ptrdiff_t found)
{
	return statstack->codes[found].accesses;
}

ptrdiff_t statstack_find(const struct statstack *statstack, uint32_t class, uint32_t code)
{
	if (class >= statstack->class_count)
		return -ENOENT;
	size_t low = statstack->classes[class].first_code;
	size_t high = low + statstack->classes[class].code_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (statstack->codes[middle].code == code)
			return (ptrdiff_t)middle;
		if (statstack->codes[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return -ENOENT;
}
