/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/course.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { PARTS_MAX = 64, IN_PART = 8 };

/* Less than this, as a standard deviation of factors, is as good as none; errors below that of the mean are those of clocks. */
static const double least_spread = 0.1, least_error = 0.01;
/* Threads whose means differ by less, and that are each as fast all the time, had cores of different speed. */
static const double core_speeds = 1.25, least_apart = 1.1;
/* Two criteria that differ by ten are no match (R. Kass and A. Raftery, JASA 90, 1995). */
static const double no_match = 10;

/* A state's visits in one order. */
struct row {
	struct timed {
		uint64_t key, second;
		double cpu_ns;
		size_t visit;
	} * visits;
	double *sums; /* of those before each */
	double squares;
	size_t count;
};

struct course {
	size_t parts; /* 0: none */
	double criterion;
};

static int compare_timed(const void *left, const void *right)
{
	const struct timed *a = left, *b = right;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->second < b->second ? -1 : a->second > b->second;
}

static size_t part_begin(const struct row *row, size_t parts, size_t part)
{
	return row->count * part / parts;
}

static double part_mean(const struct row *row, size_t parts, size_t part)
{
	size_t from = part_begin(row, parts, part), to = part_begin(row, parts, part + 1);
	return (row->sums[to] - row->sums[from]) / (double)(to - from);
}

static double criterion_of(const struct row *row, size_t parts)
{
	double errors = row->squares, count = (double)row->count;
	double mean = row->sums[row->count] / count;
	for (size_t i = 0; i < parts; i++) {
		double own = part_mean(row, parts, i);
		double visits = (double)(part_begin(row, parts, i + 1) - part_begin(row, parts, i));
		errors -= own * own * visits;
	}
	double least = least_error * mean;
	return count * log(fmax(errors / count, least * least)) + (double)parts * log(count);
}

static bool is_worth_it(const struct row *row, size_t parts)
{
	double mean = row->sums[row->count] / (double)row->count, squares = 0;
	for (size_t i = 0; i < parts; i++) {
		double factor = part_mean(row, parts, i) / mean;
		squares += (factor - 1) * (factor - 1);
	}
	return sqrt(squares / (double)parts) >= least_spread;
}

/* The best number of parts, from `least` on and doubled. */
static struct course find_course(const struct row *row, size_t least)
{
	struct course best = { 0, criterion_of(row, 1) };
	for (size_t parts = least; parts <= PARTS_MAX && parts * IN_PART <= row->count;
		parts *= 2) {
		double criterion = criterion_of(row, parts);
		if (criterion < best.criterion - (best.parts == 0 ? no_match : 0) &&
			is_worth_it(row, parts))
			best = (struct course){ parts, criterion };
	}
	return best;
}

static void sort(struct row *row)
{
	qsort(row->visits, row->count, sizeof *row->visits, compare_timed);
	row->squares = 0;
	for (size_t i = 0; i < row->count; i++) {
		row->sums[i + 1] = row->sums[i] + row->visits[i].cpu_ns;
		row->squares += row->visits[i].cpu_ns * row->visits[i].cpu_ns;
	}
}

static void fill(const struct build_graph *graph, const struct build_state *state, bool by_thread,
	struct row *ret)
{
	ret->count = state->visits;
	for (size_t i = 0; i < state->visits; i++) {
		size_t index = graph->order[state->first + i];
		const struct build_visit *visit = &graph->visits[index];
		ret->visits[i] = (struct timed){ by_thread ? visit->thread : visit->step->begin_ns,
			by_thread ? visit->step->begin_ns : visit->thread,
			(double)visit->step->cpu_ns, index };
	}
	sort(ret);
}

/* Of a row by thread: whether each thread has as many visits, and what they take differs by more than cores do. */
static bool have_pieces(const struct row *row, size_t threads, const struct course *course)
{
	double least = INFINITY, most = 0;
	for (size_t i = 0; i < threads; i++) {
		size_t from = part_begin(row, threads, i), to = part_begin(row, threads, i + 1);
		size_t slack = 1 + (to - from) / 50;
		if (from + slack >= to - slack || row->visits[from + slack].key != i ||
			row->visits[to - 1 - slack].key != i)
			return false;
		least = fmin(least, part_mean(row, threads, i));
		most = fmax(most, part_mean(row, threads, i));
	}
	return most > least * (course->parts > threads ? least_apart : core_speeds);
}

/* The factors of a course: the state's, and taken off the steps. */
static int apply(struct build_trace *trace, const struct build_group *group,
	struct build_graph *graph, struct build_state *state, const struct row *row, size_t parts)
{
	double mean = row->sums[row->count] / (double)row->count;
	state->factors = calloc(parts, sizeof *state->factors);
	if (!state->factors)
		return -ENOMEM;
	state->factor_count = (uint32_t)parts;
	for (size_t i = 0; i < parts; i++) {
		double factor = state->factors[i] = part_mean(row, parts, i) / mean;
		for (size_t j = part_begin(row, parts, i); j < part_begin(row, parts, i + 1); j++) {
			const struct build_visit *visit = &graph->visits[row->visits[j].visit];
			struct build_thread *thread =
				&trace->threads[group->threads[visit->thread]];
			struct build_step *step = &thread->steps[visit->step - thread->steps];
			if (factor > 0)
				step->cpu_ns = (uint64_t)((double)step->cpu_ns / factor + 0.5);
		}
	}
	return 0;
}

static int find_in_state(struct build_trace *trace, const struct build_group *group, bool is_pool,
	struct build_graph *graph, struct build_state *state)
{
	AUTO_FREE struct timed *visits = calloc(state->visits, sizeof *visits);
	AUTO_FREE double *sums = calloc(state->visits + 1, sizeof *sums);
	struct row row = { .visits = visits, .sums = sums };
	if (!visits || !sums)
		return -ENOMEM;
	struct course pieces = { 0 };
	if (is_pool) {
		fill(graph, state, true, &row);
		pieces = find_course(&row, group->count);
		if (pieces.parts > 0 && !have_pieces(&row, group->count, &pieces))
			pieces.parts = 0;
	}
	fill(graph, state, false, &row);
	struct course course = find_course(&row, 2);
	if (pieces.parts > 0 && pieces.criterion < course.criterion - no_match) {
		state->are_pieces = true;
		course = pieces;
		fill(graph, state, true, &row);
	}
	return course.parts > 0 ? apply(trace, group, graph, state, &row, course.parts) : 0;
}

int build_courses_find(struct build_trace *trace, const struct build_group *group,
	const struct build_pool *pool, double least_ns, struct build_graph *graph,
	uint64_t *ret_apart)
{
	bool is_pool =
		pool && pool->parameter != BUILD_NONE && pool->waves == 1 && group->count > 1;
	for (size_t i = 0; i < graph->state_count; i++) {
		struct build_state *state = &graph->states[i];
		double sum = 0;
		for (size_t j = 0; j < state->visits; j++)
			sum += (double)graph->visits[graph->order[state->first + j]].step->cpu_ns;
		if (!(sum > least_ns) || state->visits < 2 * IN_PART)
			continue;
		if (find_in_state(trace, group, is_pool, graph, state) < 0)
			return -ENOMEM;
		*ret_apart += state->are_pieces;
	}
	return 0;
}

double build_course_change(const struct build_graph *graph)
{
	double change = 0;
	for (size_t i = 0; i < graph->state_count; i++) {
		const struct build_state *state = &graph->states[i];
		double sum = 0, off = 0;
		for (size_t j = 0; j < state->visits && state->factor_count > 0; j++)
			sum += (double)graph->visits[graph->order[state->first + j]].step->cpu_ns;
		for (uint32_t j = 0; j < state->factor_count; j++)
			off += fabs(state->factors[j] - 1);
		change += state->factor_count > 0 ? sum * off / state->factor_count : 0;
	}
	return change;
}
