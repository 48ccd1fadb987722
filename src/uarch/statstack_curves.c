/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expected stack distances. An access i steps before the end was made in the same stretch, or in one before; so
 *
 *	S(r) = sum over i < r of  w(i) P_class(d > i) + (1 - w(i)) P_others(d > i)
 *
 * where w(i) = max(0, 1 - i / L) in a class whose stretches have L accesses. The others are all classes of the
 * thread (private) or of the program (global). A class of n stretches of L accesses can only be i steps back at
 * n min(L, i) places, which is its weight: the one long stretch that fills the tables does not count among
 * short ones for short distances.
 */
#include "uarch/statstack_parts.h"

#include <errno.h>
#include <stdlib.h>

double reuse_edge(unsigned bin)
{
	if (bin < REUSE_INFINITE)
		return (double)reuse_bin_least(bin);
	double last = (double)reuse_bin_least(REUSE_INFINITE - 1);
	return last + (last - (double)reuse_bin_least(REUSE_INFINITE - 2));
}

void reuse_tails(const double *share, double *ret)
{
	double from_here = share[REUSE_INFINITE];
	for (unsigned bin = REUSE_INFINITE; bin-- > 0;) {
		from_here += share[bin];
		double width = reuse_edge(bin + 1) - reuse_edge(bin);
		ret[bin] = width * from_here - share[bin] * (width + 1) / 2;
	}
}

/* Classes whose accesses lie between those of one another: of a thread, or all. */
struct company {
	double share[REUSE_BINS]; /* of its accesses */
	double tails[REUSE_BINS]; /* reuse_tails, by weights that depend on the distance */
	double weight[REUSE_BINS];
	double accesses;
	double lines; /* that it ever meets */
};

double class_accesses(const struct profile_class *class, enum profile_scope scope)
{
	return scope == PROFILE_FETCH ? (double)class->fetches
				      : (double)class->loads + (double)class->stores;
}

/* First touches. */
static double scope_lines(
	const struct profile_class *class, enum profile_scope scope, const double *share)
{
	/* Of pages as many as of lines: there are no more. */
	return scope == PROFILE_PRIVATE || scope == PROFILE_PAGE ? (double)class->first_touches
	       : scope == PROFILE_GLOBAL ? (double)class->first_touches_global
					 : share[REUSE_INFINITE] * (double)class->fetches;
}

double stretch_accesses(const struct profile_class *class, enum profile_scope scope)
{
	double accesses = class_accesses(class, scope);
	return class->stretches > 0 ? accesses / (double)class->stretches : accesses;
}

/* `threads`: distances grow so many times as fast as the class makes accesses. */
static void company_add(struct company *company, const struct profile_class *class,
	enum profile_scope scope, const double *share, double threads)
{
	double accesses = class_accesses(class, scope), length = stretch_accesses(class, scope);
	if (accesses <= 0)
		return;
	double tails[REUSE_BINS] = { 0 };
	reuse_tails(share, tails);
	for (unsigned bin = 0; bin < REUSE_INFINITE; bin++) {
		double middle = (reuse_edge(bin) + reuse_edge(bin + 1)) / (2 * threads);
		double weight = accesses / length * (middle < length ? middle : length);
		company->tails[bin] += weight * tails[bin];
		company->weight[bin] += weight;
	}
	for (unsigned bin = 0; bin < REUSE_BINS; bin++)
		company->share[bin] += accesses * share[bin];
	company->accesses += accesses;
	company->lines += scope_lines(class, scope, share);
}

static void company_close(struct company *company)
{
	if (company->accesses <= 0)
		return;
	for (unsigned bin = 0; bin < REUSE_BINS; bin++)
		company->share[bin] /= company->accesses;
	for (unsigned bin = 0; bin < REUSE_INFINITE; bin++)
		company->tails[bin] /= company->weight[bin];
}

/* A class of few samples is like its company as far as one sample goes. */
static void share_smooth(double *share, double samples, const struct company *company)
{
	if (company->accesses <= 0)
		return;
	for (unsigned bin = 0; bin < REUSE_BINS; bin++)
		share[bin] = (samples * share[bin] + company->share[bin]) / (samples + 1);
}

/* The least distance that no finite one reaches. */
static unsigned last_bin(const double *share)
{
	unsigned bin = REUSE_INFINITE;
	while (bin > 0 && share[bin - 1] <= 0)
		bin--;
	return bin;
}

/* However long it goes on, there are no more lines than those of the company. */
static void curve_fill(struct lines_curve *curve, const double *share, double length,
	const struct company *company)
{
	double tails[REUSE_BINS] = { 0 }, lines = 0;
	reuse_tails(share, tails);
	for (unsigned bin = 0; bin < REUSE_INFINITE; bin++) {
		double middle = (reuse_edge(bin) + reuse_edge(bin + 1)) / 2;
		double own = middle < length ? 1 - middle / length : 0;
		curve->at[bin] = lines;
		lines += own * tails[bin] + (1 - own) * company->tails[bin];
		if (lines > company->lines)
			lines = company->lines;
	}
	curve->at[REUSE_INFINITE] = lines;
	curve->population = curve->at[last_bin(share)];
}

static double curve_value(const struct lines_curve *curve, double distance)
{
	unsigned bin = distance < 1e15 ? reuse_bin((uint64_t)distance) : REUSE_INFINITE - 1;
	double low = reuse_edge(bin), part = (distance - low) / (reuse_edge(bin + 1) - low);
	if (part > 1)
		part = 1;
	return curve->at[bin] + part * (curve->at[bin + 1] - curve->at[bin]);
}

/* Lines of one kind, and those of the other kind that come in meanwhile, `rate` for each. */
static void curve_add(struct lines_curve *sum, const struct lines_curve *one,
	const struct lines_curve *other, double rate)
{
	for (unsigned bin = 0; bin < REUSE_BINS; bin++)
		sum->at[bin] = one->at[bin] + curve_value(other, reuse_edge(bin) * rate);
	sum->population = one->population + other->population;
}

static void class_curves(struct class_reuse *reuse, const struct profile_class *class,
	const struct company *companies, const struct company *program, double threads)
{
	struct lines_curve *curves = reuse->curves, global;
	curve_fill(&curves[CURVE_DATA], reuse->share[PROFILE_PRIVATE],
		stretch_accesses(class, PROFILE_PRIVATE), &companies[0]);
	curve_fill(&curves[CURVE_FETCH], reuse->share[PROFILE_FETCH],
		stretch_accesses(class, PROFILE_FETCH), &companies[1]);
	curve_fill(&curves[CURVE_PAGES], reuse->share[PROFILE_PAGE],
		stretch_accesses(class, PROFILE_PAGE), &companies[2]);
	curve_fill(&global, reuse->share[PROFILE_GLOBAL],
		threads * stretch_accesses(class, PROFILE_GLOBAL), program);
	double accesses = class_accesses(class, PROFILE_PRIVATE);
	double fetches = class_accesses(class, PROFILE_FETCH);
	double rate = accesses > 0 ? fetches / accesses : 0;
	double inverse = fetches > 0 ? accesses / fetches : 0;
	curve_add(&curves[CURVE_DATA_PRIVATE], &curves[CURVE_DATA], &curves[CURVE_FETCH], rate);
	curve_add(&curves[CURVE_FETCH_PRIVATE], &curves[CURVE_FETCH], &curves[CURVE_DATA], inverse);
	/* Threads run the same code: its lines are there once. */
	curve_add(&curves[CURVE_DATA_GLOBAL], &global, &curves[CURVE_FETCH], rate / threads);
	curve_add(&curves[CURVE_FETCH_GLOBAL], &curves[CURVE_FETCH], &global, inverse * threads);
}

int statstack_curves(
	struct statstack *statstack, const struct profile *profile, const double *samples)
{
	enum { PER_THREAD = 3 };
	size_t company_count = PER_THREAD * profile->thread_count + 1;
	AUTO_FREE struct company *companies = calloc(company_count, sizeof(*companies));
	if (!companies)
		return -ENOMEM;
	struct company *program = &companies[company_count - 1];
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		struct company *own = &companies[PER_THREAD * class->thread];
		struct company *to[PROFILE_SCOPES] = { [PROFILE_PRIVATE] = &own[0],
			[PROFILE_FETCH] = &own[1],
			[PROFILE_PAGE] = &own[2],
			[PROFILE_GLOBAL] = program };
		for (int scope = 0; scope < PROFILE_SCOPES; scope++)
			if (samples[i * PROFILE_SCOPES + (size_t)scope] > 0)
				company_add(to[scope], class, scope,
					statstack->classes[i].share[scope],
					scope == PROFILE_GLOBAL ? statstack->threads : 1);
	}
	for (size_t i = 0; i < company_count; i++)
		company_close(&companies[i]);
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		const double *seen = &samples[i * PROFILE_SCOPES];
		struct class_reuse *reuse = &statstack->classes[i];
		const struct company *own = &companies[PER_THREAD * class->thread];
		share_smooth(reuse->share[PROFILE_PRIVATE], seen[PROFILE_PRIVATE], &own[0]);
		share_smooth(reuse->share[PROFILE_FETCH], seen[PROFILE_FETCH], &own[1]);
		share_smooth(reuse->share[PROFILE_PAGE], seen[PROFILE_PAGE], &own[2]);
		share_smooth(reuse->share[PROFILE_GLOBAL], seen[PROFILE_GLOBAL], program);
		class_curves(reuse, class, own, program, statstack->threads);
	}
	return 0;
}
