/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether what is asked of the program changed while it was recorded. The run is cut into SLICES of equal length, whose means
 * differ by chance as much as they do before and after a change, whatever neighbours have in common: what differs by more than `far`
 * standard errors of that is no chance (Student's t with 14 degrees of freedom: two of 10,000 do, at each of eleven places).
 */
#include "builder/parts.h"

#include <math.h>

enum { SLICES = 16, SEEN_LEAST = 20, FILLED_LEAST = 3, PARTS = 64 };
static const double far = 5;

/* What is compared is the mean of what was added, or how much was. */
struct slices {
	double count[SLICES], sum[SLICES];
	bool are_counts;
	struct seen {
		double count, sum, squares;
	} parts[PARTS]; /* the same, finer */
};

static void add(struct slices *slices, double at, double value)
{
	struct seen *part = &slices->parts[at >= 1 ? PARTS - 1 : (int)(at * PARTS)];
	part->count++;
	part->sum += value;
	part->squares += value * value;
	int slice = (int)(at * SLICES);
	slice = slice < 0 ? 0 : slice;
	slice = slice >= SLICES ? SLICES - 1 : slice;
	slices->count[slice]++;
	slices->sum[slice] += value;
}

/* Some of the slices, of those that are not empty. */
struct part {
	double mean, squares; /* sum of squared differences from the mean */
	double filled, seen;
};

static struct part part_of(const struct slices *slices, int from, int to)
{
	struct part part = { 0 };
	for (int i = from; i < to; i++) {
		part.seen += slices->count[i];
		if (!slices->are_counts && !(slices->count[i] > 0))
			continue;
		double mean =
			slices->are_counts ? slices->count[i] : slices->sum[i] / slices->count[i];
		double apart = mean - part.mean;
		part.filled++;
		part.mean += apart / part.filled;
		part.squares += apart * (mean - part.mean);
	}
	return part;
}

/* Of the mean from a slice on to the mean before, less 1; 0: it is no more than chance. *deviations: how far apart. */
static double change_at(const struct slices *slices, int split, double *deviations)
{
	struct part first = part_of(slices, 0, split), second = part_of(slices, split, SLICES);
	*deviations = 0;
	if (first.seen < SEEN_LEAST || second.seen < SEEN_LEAST || first.filled < FILLED_LEAST ||
		second.filled < FILLED_LEAST || !(first.mean > 0))
		return 0;
	double variance = (first.squares + second.squares) / (first.filled + second.filled - 2);
	double error = sqrt(variance * (1 / first.filled + 1 / second.filled));
	*deviations = error > 0 ? fabs(second.mean - first.mean) / error : INFINITY;
	return *deviations > far ? second.mean / first.mean - 1 : 0;
}

/* The clearest change. */
static double change_of(const struct slices *slices)
{
	double change = 0, most = 0;
	for (int split = FILLED_LEAST; split <= SLICES - FILLED_LEAST; split++) {
		double deviations, here = change_at(slices, split, &deviations);
		if (deviations > most) {
			most = deviations;
			change = here;
		}
	}
	return change;
}

/*
 * How much the means of parts of the run differ beyond chance, relative to the mean of all: a standard deviation; 0: no more than
 * by chance. One-way analysis of variance; F's own spread is that of the many parts' chi-squared. The first and the last part,
 * where threads start and end, do not count.
 */
static double phases_of(const struct slices *slices)
{
	struct seen all = { 0 };
	double groups = 0, between = 0, squares = 0;
	const int half = PARTS / 2;
	for (int i = 1; i < PARTS - 1; i++) {
		const struct seen *part = &slices->parts[i];
		if (part->count < 2)
			continue;
		groups++;
		all.count += part->count;
		all.sum += part->sum;
		all.squares += part->squares;
		squares += part->sum * part->sum / part->count;
	}
	if (groups < half || all.count < 2 * groups || !(all.sum > 0))
		return 0;
	between = (squares - all.sum * all.sum / all.count) / (groups - 1);
	double within = (all.squares - squares) / (all.count - groups);
	if (!(within > 0) || between < within * (1 + far * sqrt(2 / (groups - 1))))
		return 0;
	double mean = all.sum / all.count;
	return sqrt((between - within) / (all.count / groups)) / mean;
}

/* Where a thread begins with its next item, request or ticket. */
static bool begins_turn(const struct build_step *step)
{
	return step->op == STEP_BEGIN || ((step->op == STEP_GET || step->op == STEP_TRY_GET) &&
						 !(step->flags & STEP_REFUSED));
}

/* Mean service of each class of requests to the disk: s. */
struct services {
	double mean_s[REQUEST_CLASSES];
};

static struct services services_of(const struct build_disk *disk)
{
	struct services services = { 0 };
	for (size_t i = 0; i < REQUEST_CLASSES; i++) {
		for (size_t j = 0; j < disk->services[i].count; j++)
			services.mean_s[i] += disk->services[i].items_s[j];
		if (disk->services[i].count > 0)
			services.mean_s[i] /= (double)disk->services[i].count;
	}
	return services;
}

/* What a step takes by itself, whoever else is there: s. */
static double cost_of(const struct services *services, const struct build_step *step)
{
	double cost = (double)step->cpu_ns * 1e-9;
	if (step->op == STEP_SLEEP || step->op == STEP_IO)
		cost += (double)step->waited_ns * 1e-9;
	if (step->op == STEP_DISK && !(step->flags & STEP_BACKGROUND))
		cost += step->count * services->mean_s[step->class];
	return cost;
}

static void add_turns(const struct services *services, const struct build_thread *thread,
	uint64_t from_ns, double span_ns, struct slices *slices)
{
	double cost = 0;
	uint64_t begin_ns = 0;
	for (size_t i = 0; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		if (begins_turn(step) && begin_ns > 0)
			add(slices, (double)(begin_ns - from_ns) / span_ns, cost);
		if (begins_turn(step)) {
			begin_ns = step->begin_ns;
			cost = 0;
		} else {
			cost += cost_of(services, step);
		}
	}
}

/* From the first to the last turn of a group's threads. */
static void find_span(const struct build *build, const struct build_group *group,
	uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	*ret_from_ns = UINT64_MAX;
	*ret_to_ns = 0;
	for (size_t i = 0; i < group->count; i++) {
		const struct build_thread *thread = &build->trace.threads[group->threads[i]];
		for (size_t j = 0; j < thread->step_count; j++) {
			uint64_t at_ns = thread->steps[j].begin_ns;
			if (!begins_turn(&thread->steps[j]))
				continue;
			*ret_from_ns = at_ns < *ret_from_ns ? at_ns : *ret_from_ns;
			*ret_to_ns = at_ns > *ret_to_ns ? at_ns : *ret_to_ns;
		}
	}
}

/* Of what groups do for each item or request, a figure of each weighted by its time. */
static double weigh_turns(const struct build *build, double (*figure)(const struct slices *))
{
	double cost = 0, change = 0;
	const struct services services = services_of(&build->disk);
	for (size_t i = 0; i < build->groups.count; i++) {
		const struct build_group *group = &build->groups.items[i];
		struct slices slices = { 0 };
		uint64_t from_ns, to_ns;
		find_span(build, group, &from_ns, &to_ns);
		if (to_ns <= from_ns)
			continue;
		for (size_t j = 0; j < group->count; j++)
			add_turns(&services, &build->trace.threads[group->threads[j]], from_ns,
				(double)(to_ns - from_ns), &slices);
		double sum = 0;
		for (int j = 0; j < SLICES; j++)
			sum += slices.sum[j];
		cost += sum;
		change += sum * fabs(figure(&slices));
	}
	return cost > 0 ? change / cost : 0;
}

double build_drift_of_turns(const struct build *build)
{
	return weigh_turns(build, change_of);
}

double build_phases_of_turns(const struct build *build)
{
	return weigh_turns(build, phases_of);
}

static double sum_of(const struct build_requests *requests)
{
	double sum = 0;
	for (size_t i = 0; i < requests->interval_count; i++)
		sum += requests->intervals_s[i];
	return sum;
}

/*
 * How long all threads that begin requests by themselves go on: the model's end, too, one before the other. From the first
 * request on, s; INFINITY: there are none.
 */
static double all_begin_s(const struct build *build)
{
	uint64_t first_ns = UINT64_MAX, end_ns = UINT64_MAX;
	for (size_t i = 0; i < build->trace.thread_count; i++) {
		const struct build_thread *thread = &build->trace.threads[i];
		uint64_t begun = 0, last_ns = 0;
		for (size_t j = 0; j < thread->step_count; j++) {
			uint64_t at_ns = thread->steps[j].begin_ns;
			if (thread->steps[j].op != STEP_BEGIN)
				continue;
			first_ns = at_ns < first_ns ? at_ns : first_ns;
			last_ns = at_ns;
			begun++;
		}
		if (begun >= SEEN_LEAST && last_ns < end_ns)
			end_ns = last_ns;
	}
	return end_ns == UINT64_MAX ? INFINITY : (double)(end_ns - first_ns) * 1e-9;
}

double build_drift_of_arrivals(const struct build *build)
{
	const struct build_requests *requests = &build->requests;
	struct slices slices = { .are_counts = true };
	double at = 0, span = fmin(sum_of(requests), all_begin_s(build));
	for (size_t i = 0; i < requests->interval_count && span > 0; i++) {
		at += requests->intervals_s[i];
		if (at <= span)
			add(&slices, at / span, 0);
	}
	return change_of(&slices);
}

bool build_come_in_bursts(const struct build *build)
{
	enum { PARTS_MAX = 64, PARTS_LEAST = 10, IN_PART = 20 };
	const struct build_requests *requests = &build->requests;
	size_t count = requests->interval_count, parts = count / IN_PART;
	double at = 0, span = sum_of(requests), squares = 0, counts[PARTS_MAX] = { 0 };
	parts = parts > PARTS_MAX ? PARTS_MAX : parts;
	if (parts < PARTS_LEAST || !(span > 0))
		return false;
	double mean = span / (double)count, each = (double)count / (double)parts, apart = 0;
	for (size_t i = 0; i < count; i++) {
		double interval = requests->intervals_s[i];
		at += interval;
		size_t part = (size_t)(at / span * (double)parts);
		counts[part < parts ? part : parts - 1]++;
		squares += (interval - mean) * (interval - mean);
	}
	for (size_t i = 0; i < parts; i++)
		apart += (counts[i] - each) * (counts[i] - each);
	/* If intervals are drawn one by one, counts vary as much as these (D. Cox, "Renewal Theory", 1962, 4.1). */
	double drawn = squares / (double)count / (mean * mean);
	double seen = apart / (double)(parts - 1) / each;
	return seen > 1 && seen > 2 * drawn &&
	       seen > drawn * (1 + far * sqrt(2 / (double)(parts - 1)));
}
