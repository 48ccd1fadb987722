/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What belongs together is sorted and added up; samples without a class are counted as lost. */
#include "uarch/profile_importing.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* With more threads than that, those that do the same are counted as one. */
enum { THREADS_APART = 1024 };

static int out_of_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory: the profile is too large");
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;
	return compare_u64(x->number, y->number);
}

static int compare_classes(const void *a, const void *b)
{
	const struct profile_class *x = a, *y = b;
	int order = compare_u64(x->thread, y->thread);
	return order ? order : compare_u64(x->stretch, y->stretch);
}

static void add_class(struct profile_class *to, const struct profile_class *from)
{
	to->stretches += from->stretches;
	to->instructions += from->instructions;
	to->loads += from->loads;
	to->stores += from->stores;
	to->fetches += from->fetches;
	to->first_touches += from->first_touches;
	to->first_touches_global += from->first_touches_global;
	to->system_calls += from->system_calls;
	to->system_ns += from->system_ns;
	for (int i = 0; i < CODE_CLASSES; i++)
		to->mix[i] += from->mix[i];
}

/* The backend's numbers become indices, in the same order. */
static int settle_threads(struct importing *importing, struct err *err)
{
	struct profile *profile = importing->profile;
	size_t count = importing->thread_count;
	if (count > 0)
		qsort(importing->threads, count, sizeof *importing->threads, compare_numbers);
	profile->threads = calloc(count ? count : 1, sizeof *profile->threads);
	if (!profile->threads)
		return out_of_memory(err);
	for (size_t i = 0; i < count; i++) {
		profile->threads[i] = importing->threads[i].thread;
		*map_find(&importing->thread_numbers, importing->threads[i].number, 0) = i;
		if (!importing->threads[i].is_told)
			profile->quality.is_partial = true;
	}
	profile->thread_count = count;
	return 0;
}

/* By thread and stretch; those of both are one. */
static void merge_classes(struct profile *profile)
{
	struct profile_class *classes = profile->classes;
	if (profile->class_count > 0)
		qsort(classes, profile->class_count, sizeof *classes, compare_classes);
	size_t kept = 0;
	for (size_t i = 0; i < profile->class_count; i++) {
		if (kept > 0 && compare_classes(&classes[kept - 1], &classes[i]) == 0)
			add_class(&classes[kept - 1], &classes[i]);
		else
			classes[kept++] = classes[i];
	}
	profile->class_count = kept;
}

/*
 * Threads that have been through the same kinds of stretches at the same places do the same, so far as a
 * profile can tell: the first of them stands for all. Classes are sorted.
 */
static int join_threads(struct profile *profile, struct err *err)
{
	AUTO_RELEASE(map) struct map firsts = { 0 };
	for (size_t i = 0, end; i < profile->class_count; i = end) {
		uint32_t thread = profile->classes[i].thread;
		uint64_t
			a = 0,
			b = 0; /* of all its stretches: two hashes, so that no two sets are alike */
		for (end = i; end < profile->class_count && profile->classes[end].thread == thread;
			end++) {
			uint64_t stretch = profile->classes[end].stretch;
			a = (a ^ stretch) * UINT64_C(0x9e3779b97f4a7c15);
			b = (b + stretch) * UINT64_C(0xff51afd7ed558ccd) ^ a >> 32;
		}
		uint64_t *first = NULL;
		if (map_add(&firsts, a, b, thread, &first) < 0)
			return out_of_memory(err);
		if (*first == thread)
			continue;
		profile->threads[thread].counted_with = (uint32_t)*first + 1;
		for (size_t j = i; j < end; j++)
			profile->classes[j].thread = (uint32_t)*first;
	}
	merge_classes(profile);
	return 0;
}

static int settle_classes(struct importing *importing, struct err *err)
{
	struct profile *profile = importing->profile;
	for (size_t i = 0; i < profile->class_count; i++) {
		struct profile_class *class = &profile->classes[i];
		class->thread = (uint32_t)*map_find(&importing->thread_numbers, class->thread, 0);
	}
	merge_classes(profile);
	return profile->thread_count > THREADS_APART ? join_threads(profile, err) : 0;
}

/* By the backend's number of its thread; negative if nothing was counted in that class. */
static ptrdiff_t find_class(const struct importing *importing, uint32_t number, uint64_t stretch)
{
	const uint64_t *thread = map_find(&importing->thread_numbers, number, 0);
	return thread ? profile_find_class(importing->profile, (uint32_t)*thread, stretch)
		      : -ENOENT;
}

static int compare_reuse(const void *a, const void *b)
{
	const struct profile_reuse *x = a, *y = b;
	int order = compare_u64(x->class, y->class);
	order = order ? order : compare_u64(x->code, y->code);
	order = order ? order : compare_u64(x->scope, y->scope);
	return order ? order : compare_u64(x->bin, y->bin);
}

static int settle_reuse(struct importing *importing, struct err *err)
{
	struct profile *profile = importing->profile;
	size_t count = 0, kept = 0;
	struct profile_reuse *reuse = calloc(importing->reuse_count + 1, sizeof *reuse);
	if (!reuse)
		return out_of_memory(err);
	profile->reuse = reuse;
	for (size_t i = 0; i < importing->reuse_count; i++) {
		const struct pending_reuse *pending = &importing->reuse[i];
		ptrdiff_t class = find_class(importing, pending->reuse.class, pending->stretch);
		bool has_code = pending->reuse.code < profile->code_count ||
				pending->reuse.code == PROFILE_NO_CODE;
		if (class < 0 || !has_code) {
			profile->quality.lost += pending->reuse.samples;
			continue;
		}
		reuse[count] = pending->reuse;
		reuse[count++].class = (uint32_t) class;
	}
	qsort(reuse, count, sizeof *reuse, compare_reuse);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || compare_reuse(&reuse[kept - 1], &reuse[i]) != 0) {
			reuse[kept++] = reuse[i];
			continue;
		}
		reuse[kept - 1].samples += reuse[i].samples;
		reuse[kept - 1].count += reuse[i].count;
	}
	profile->reuse_count = kept;
	return 0;
}

static bool has_codes(const struct profile *profile, const struct pending_micro *pending)
{
	for (uint32_t i = 0; i < pending->count; i++)
		if (profile->micro_ops[pending->first + i].code >= profile->code_count)
			return false;
	return true;
}

/* A micro-trace and where in its class it begins, until all are in order. */
struct placed_micro {
	struct micro_trace micro;
	uint64_t class_at;
};

static int compare_micro(const void *a, const void *b)
{
	const struct placed_micro *x = a, *y = b;
	int order = compare_u64(x->micro.class, y->micro.class);
	order = order ? order : compare_u64(x->class_at, y->class_at);
	return order ? order : compare_u64((uintptr_t)x->micro.ops, (uintptr_t)y->micro.ops);
}

/* Of classes that several threads are counted into: where in its class a trace began is not known then. */
static void weigh_alike(const struct profile *profile, struct placed_micro *placed, size_t count)
{
	for (size_t i = 0, end; i < count; i = end) {
		uint32_t class = placed[i].micro.class;
		uint64_t ops = 0;
		for (end = i; end < count && placed[end].micro.class == class; end++)
			ops += placed[end].micro.count;
		double each = (double)profile->classes[class].instructions / (double)ops;
		for (size_t j = i; j < end; j++)
			placed[j].micro.weight = each * placed[j].micro.count;
	}
}

/* Where what a trace stands for ends: halfway to the next one of its class, or with the class. */
static double end_of_part(
	const struct profile *profile, const struct placed_micro *placed, size_t i, size_t count)
{
	uint32_t class = placed[i].micro.class;
	double all = (double)profile->classes[class].instructions;
	if (i + 1 == count || placed[i + 1].micro.class != class)
		return all;
	return fmin(all, ((double)placed[i].class_at + (double)placed[i + 1].class_at) / 2);
}

static void weigh_micro(const struct profile *profile, struct placed_micro *placed, size_t count)
{
	double begin = 0;
	for (size_t i = 0; i < count; i++) {
		bool is_first = i == 0 || placed[i - 1].micro.class != placed[i].micro.class;
		double end = end_of_part(profile, placed, i, count);
		begin = is_first ? 0 : begin;
		placed[i].micro.weight = end - begin;
		begin = end;
	}
}

static int settle_micro(struct importing *importing, struct err *err)
{
	struct profile *profile = importing->profile;
	size_t count = 0;
	AUTO_FREE struct placed_micro *placed = calloc(importing->micro_count + 1, sizeof *placed);
	profile->micro = calloc(importing->micro_count + 1, sizeof *profile->micro);
	if (!profile->micro || !placed)
		return out_of_memory(err);
	for (size_t i = 0; i < importing->micro_count; i++) {
		const struct pending_micro *pending = &importing->micro[i];
		ptrdiff_t class = find_class(importing, pending->thread, pending->stretch);
		if (class < 0 || !has_codes(profile, pending)) {
			profile->quality.lost++;
			continue;
		}
		placed[count].class_at = pending->class_at;
		placed[count++].micro = (struct micro_trace){
			.class = (uint32_t) class,
			.count = pending->count,
			.ops = profile->micro_ops + pending->first,
		};
	}
	qsort(placed, count, sizeof *placed, compare_micro);
	if (profile->thread_count > THREADS_APART)
		weigh_alike(profile, placed, count);
	else
		weigh_micro(profile, placed, count);
	for (size_t i = 0; i < count; i++)
		profile->micro[i] = placed[i].micro;
	profile->micro_count = count;
	profile->quality.lost += importing->micro_lost;
	return 0;
}

static void settle_branches(struct importing *importing)
{
	struct profile *profile = importing->profile;
	for (size_t i = 0; i < importing->branches_count; i++) {
		const struct raw_branches *sums = &importing->branches[i];
		ptrdiff_t class = find_class(importing, sums->thread, sums->stretch);
		if (class < 0) {
			profile->quality.lost++;
			continue;
		}
		struct profile_branches *to = &profile->classes[class].branches[sums->history];
		to->executions += sums->executions;
		to->entropy += sums->entropy;
		to->floor_entropy += sums->floor_entropy;
		to->missed += sums->missed;
	}
	for (size_t i = 0; i < profile->class_count; i++)
		for (int h = 0; h < PROFILE_HISTORIES; h++) {
			struct profile_branches *branches = &profile->classes[i].branches[h];
			double executions = branches->executions > 0 ? branches->executions : 1;
			branches->entropy = fmin(branches->entropy / executions, 1);
			branches->floor_entropy = fmin(branches->floor_entropy / executions, 1);
			branches->missed = fmin(branches->missed / executions, 1);
		}
}

/* Of all that was translated, what the samples speak of. */
static int keep_used_codes(struct profile *profile, struct err *err)
{
	size_t kept = 0;
	AUTO_FREE uint32_t *places = calloc(profile->code_count + 1, sizeof *places);
	if (!places)
		return out_of_memory(err);
	for (size_t i = 0; i < profile->reuse_count; i++)
		if (profile->reuse[i].code != PROFILE_NO_CODE)
			places[profile->reuse[i].code] = 1;
	for (size_t i = 0; i < profile->micro_count; i++)
		for (uint32_t j = 0; j < profile->micro[i].count; j++)
			places[profile->micro[i].ops[j].code] = 1;
	for (size_t i = 0; i < profile->code_count; i++) {
		if (!places[i])
			continue;
		places[i] = (uint32_t)kept;
		profile->codes[kept++] = profile->codes[i];
	}
	profile->code_count = kept;
	for (size_t i = 0; i < profile->reuse_count; i++)
		if (profile->reuse[i].code != PROFILE_NO_CODE)
			profile->reuse[i].code = places[profile->reuse[i].code];
	for (size_t i = 0; i < profile->micro_count; i++) {
		size_t first = (size_t)(profile->micro[i].ops - profile->micro_ops);
		for (size_t j = first; j < first + profile->micro[i].count; j++)
			profile->micro_ops[j].code = places[profile->micro_ops[j].code];
	}
	return 0;
}

int profile_settle(struct importing *importing, struct err *err)
{
	int code = settle_threads(importing, err);
	if (code < 0)
		return code;
	code = settle_classes(importing, err);
	if (code < 0)
		return code;
	settle_branches(importing);
	code = settle_reuse(importing, err);
	if (code == 0)
		code = settle_micro(importing, err);
	return code < 0 ? code : keep_used_codes(importing->profile, err);
}
