/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups of threads and their fragments. A cycle is refused if none of its fragments can take time:
 * neither CPU time, nor sleep, nor disk, nor an operation that may wait. The way into a loop's body
 * does not count, since it is taken a finite number of times; the way back does.
 */
#include "base/cleanup.h"
#include "base/lines.h"
#include "model/check.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIND(kind) (1U << (kind))

/* On what kinds of objects an operation works; 0: on none. */
static const unsigned op_kinds[MODEL_OPS] = {
	[MODEL_LOCK] = KIND(MODEL_MUTEX) | KIND(MODEL_SPIN) | KIND(MODEL_RWLOCK),
	[MODEL_TRY_LOCK] = KIND(MODEL_MUTEX),
	[MODEL_READ_LOCK] = KIND(MODEL_RWLOCK),
	[MODEL_UNLOCK] = KIND(MODEL_MUTEX) | KIND(MODEL_SPIN) | KIND(MODEL_RWLOCK),
	[MODEL_ARRIVE] = KIND(MODEL_BARRIER),
	[MODEL_WAIT] = KIND(MODEL_CONDITION),
	[MODEL_SIGNAL] = KIND(MODEL_CONDITION),
	[MODEL_BROADCAST] = KIND(MODEL_CONDITION),
	[MODEL_ACQUIRE] = KIND(MODEL_SEMAPHORE),
	[MODEL_POST] = KIND(MODEL_SEMAPHORE),
	[MODEL_PUT] = KIND(MODEL_QUEUE),
	[MODEL_GET] = KIND(MODEL_QUEUE),
	[MODEL_TRY_PUT] = KIND(MODEL_QUEUE),
	[MODEL_TRY_GET] = KIND(MODEL_QUEUE),
	[MODEL_CLOSE] = KIND(MODEL_QUEUE),
	[MODEL_TAKE] = KIND(MODEL_LIMIT),
	[MODEL_GIVE] = KIND(MODEL_LIMIT),
	[MODEL_IO] = KIND(MODEL_DISK),
};

/* What a fragment is called in a message. */
static const char *label(const struct model_fragment *fragment, struct text_shown *shown)
{
	*shown = text_show(fragment->name);
	return shown->text;
}

static int check_object_of(const struct check *c, const struct model_fragment *fragment)
{
	struct text_shown shown;
	unsigned wanted = op_kinds[fragment->op];
	const char *word = model_op_word(fragment->op);
	if (!wanted)
		return 0;
	if (fragment->object >= c->model->object_count)
		return check_fail(c, fragment->line, "fragment '%s': '%s' on nothing",
			label(fragment, &shown), word);
	const struct model_object *object = &c->model->objects[fragment->object];
	if (!(wanted & KIND(object->kind)))
		return check_fail(c, fragment->line, "fragment '%s': '%s' does not work on a %s",
			label(fragment, &shown), word, model_object_word(object->kind));
	if (fragment->op == MODEL_IO && fragment->other >= object->class_count)
		return check_fail(c, fragment->line, "fragment '%s': no such class of requests",
			label(fragment, &shown));
	bool has_mutex = fragment->other < c->model->object_count &&
			 c->model->objects[fragment->other].kind == MODEL_MUTEX;
	if (fragment->op == MODEL_WAIT && !has_mutex)
		return check_fail(c, fragment->line, "fragment '%s': 'wait' needs a mutex",
			label(fragment, &shown));
	/* Which instance the thread holds is the walker's to know, not the engine's. */
	if (fragment->op == MODEL_WAIT)
		return check_whole(c, fragment->line, "instances of a mutex with a condition",
			&c->model->objects[fragment->other].size, 0, 1);
	return 0;
}

static bool is_target(const struct model_group *group, uint32_t to)
{
	return to < group->fragment_count || to == MODEL_EXIT || to == MODEL_STOP;
}

/* Operations that can be refused, and so need an `else`. */
static bool needs_otherwise(const struct model_fragment *fragment)
{
	return fragment->op == MODEL_TRY_LOCK || fragment->op == MODEL_TRY_PUT ||
	       fragment->op == MODEL_TRY_GET || fragment->op == MODEL_TAKE ||
	       (fragment->op == MODEL_WAIT && fragment->time.kind != MODEL_NO_TIME);
}

static int check_otherwise(
	const struct check *c, const struct model_group *group, const struct model_fragment *f)
{
	struct text_shown shown;
	if (f->otherwise == MODEL_NONE)
		return needs_otherwise(f)
			       ? check_fail(c, f->line, "fragment '%s': '%s' needs an 'else'",
					 label(f, &shown), model_op_word(f->op))
			       : 0;
	if (!needs_otherwise(f) && f->op != MODEL_GET)
		return check_fail(c, f->line, "fragment '%s': '%s' has no 'else'", label(f, &shown),
			model_op_word(f->op));
	return is_target(group, f->otherwise)
		       ? 0
		       : check_fail(c, f->line, "fragment '%s': 'else' leads nowhere",
				 label(f, &shown));
}

static int check_edges(
	const struct check *c, const struct model_group *group, const struct model_fragment *f)
{
	struct text_shown shown;
	double sum = 0;
	for (uint32_t i = 0; i < f->edge_count; i++) {
		double probability;
		int code = check_value(
			c, f->line, &f->edges[i].probability, MODEL_NUMBER, &probability);
		if (code < 0)
			return code;
		if (!is_target(group, f->edges[i].to))
			return check_fail(c, f->line, "fragment '%s': 'next' leads nowhere",
				label(f, &shown));
		if (!(probability >= 0 && probability <= 1 + CHECK_PROBABILITY_SLACK))
			return check_fail(c, f->line, "fragment '%s': a probability is %.6g",
				label(f, &shown), probability);
		sum += probability;
	}
	if (!f->edge_count || fabs(sum - 1) <= CHECK_PROBABILITY_SLACK)
		return 0;
	return check_fail(c, f->line,
		"fragment '%s': the probabilities of 'next' sum to %.6g, not 1", label(f, &shown),
		sum);
}

/* Draws out of a deck. */
static int check_draws(const struct check *c, const struct model_fragment *f)
{
	struct text_shown shown;
	bool has_draws = f->draws.formula || f->draws.value != 0;
	if (f->last != MODEL_NONE && (f->last >= f->edge_count || !has_draws))
		return check_fail(c, f->line, "fragment '%s': 'last' is of nothing that is drawn",
			label(f, &shown));
	if (f->is_together && (f->op != MODEL_LOOP || f->count.entry_count == 0))
		return check_fail(c, f->line,
			"fragment '%s': 'together' is of loops with a table of 'times'",
			label(f, &shown));
	return has_draws ? check_whole(c, f->line, "'draws'", &f->draws, 0, MODEL_COUNT_MAX) : 0;
}

/* What comes in turn, instead. */
static int check_order(const struct check *c, const struct model_fragment *f)
{
	bool is_loop = f->op == MODEL_LOOP;
	uint64_t turns = 0;
	struct text_shown shown;
	if (f->order_count > 0 && (f->is_together || f->draws.formula || f->draws.value != 0))
		return check_fail(c, f->line,
			"fragment '%s': 'order' needs no 'draws', nor 'together'",
			label(f, &shown));
	for (uint32_t i = 0; i < f->order_count; i++) {
		if (f->order[i].which >= (is_loop ? f->count.entry_count : f->edge_count))
			return check_fail(c, f->line,
				"fragment '%s': 'order' has a %" PRIu32 ", of %" PRIu32,
				label(f, &shown), f->order[i].which + 1,
				is_loop ? f->count.entry_count : f->edge_count);
		turns += f->order[i].times;
	}
	if (turns > MODEL_ORDER_MAX || (f->order_count > 0 && turns == 0))
		return check_fail(c, f->line, "fragment '%s': 'order' is of 1 to %d turns",
			label(f, &shown), MODEL_ORDER_MAX);
	return 0;
}

/* *ret_waits: the operation can take time. */
static int check_operation(const struct check *c, const struct model_group *group,
	const struct model_fragment *f, bool *ret_waits)
{
	struct text_shown shown;
	bool takes_time = false;
	double most = 0;
	int code = check_dist(c, f->line, &f->time, &takes_time);
	if (code == 0)
		code = check_count(c, f->line, &f->count, &most);
	if (code < 0)
		return code;
	*ret_waits = f->op == MODEL_ARRIVE || f->op == MODEL_WAIT || f->op == MODEL_ACQUIRE ||
		     f->op == MODEL_GET || f->op == MODEL_JOIN || f->op == MODEL_PUT ||
		     (f->op == MODEL_SLEEP && takes_time) || (f->op == MODEL_IO && most > 0);
	switch (f->op) {
	case MODEL_SLEEP:
		if (f->time.kind == MODEL_NO_TIME)
			code = check_fail(
				c, f->line, "fragment '%s' sleeps for no time", label(f, &shown));
		break;
	case MODEL_LOOP:
		if (f->body >= group->fragment_count)
			code = check_fail(c, f->line, "fragment '%s': the loop has no body",
				label(f, &shown));
		break;
	case MODEL_GET:
		if (f->up_to.formula || f->up_to.value != 0)
			code = check_whole(c, f->line, "'up_to'", &f->up_to, 1, MODEL_ITEMS_MAX);
		break;
	case MODEL_PUT:
	case MODEL_TRY_PUT:
		if (most > MODEL_ITEMS_MAX)
			code = check_fail(c, f->line, "fragment '%s' puts %.15g items: %d at most",
				label(f, &shown), most, MODEL_ITEMS_MAX);
		break;
	case MODEL_SPAWN:
	case MODEL_JOIN:
		if (f->object >= c->model->group_count)
			code = check_fail(c, f->line, "fragment '%s': no such group of threads",
				label(f, &shown));
		else if (most > MODEL_THREADS_MAX)
			code = check_fail(c, f->line,
				"fragment '%s' spawns %.15g threads: %d at most", label(f, &shown),
				most, MODEL_THREADS_MAX);
		else if (f->count.entry_count == 0 && f->count.value.formula)
			code = check_whole(c, f->line, "the number of threads", &f->count.value, 0,
				MODEL_THREADS_MAX);
		break;
	default:
		break;
	}
	return code;
}

enum { FACTOR_MAX = 100 };

static int check_course(const struct check *c, const struct model_fragment *f)
{
	const struct model_course *course = &f->course;
	double most = 0;
	if (course->factor_count == 0)
		return check_whole(c, f->line, "visits", &f->visits, 0, MODEL_COUNT_MAX);
	for (uint32_t i = 0; i < course->factor_count; i++) {
		if (!(course->factors[i] >= 0 && course->factors[i] <= FACTOR_MAX))
			return check_fail(
				c, f->line, "the factors of a course are 0 to %d", FACTOR_MAX);
		most = fmax(most, course->factors[i]);
	}
	if (!(most > 0))
		return check_fail(c, f->line, "all factors of a course are 0");
	int code =
		check_whole(c, f->line, "of a course the 'visits'", &f->visits, 1, MODEL_COUNT_MAX);
	return code < 0 ? code
			: check_whole(c, f->line, "the threads of a course", &course->threads, 0,
				  MODEL_THREADS_MAX);
}

static int check_fragment(const struct check *c, const struct model_group *group, uint32_t index,
	bool *ret_takes_time)
{
	const struct model_fragment *f = &group->fragments[index];
	bool has_cpu, can_wait;
	int code = check_name(c, f->line, "fragment", f->name);
	if (code < 0)
		return code;
	if (strcmp(f->name, "exit") == 0 || strcmp(f->name, "stop") == 0)
		return check_fail(c, f->line, "a fragment cannot be called '%s'", f->name);
	if ((unsigned)f->op >= MODEL_OPS)
		return check_fail(c, f->line, "an unknown operation");
	if (f->part != MODEL_NONE && f->part >= c->model->part_count)
		return check_fail(c, f->line, "no such part");
	code = check_dist(c, f->line, &f->cpu, &has_cpu);
	if (code == 0)
		code = check_course(c, f);
	if (code == 0)
		code = check_object_of(c, f);
	if (code == 0)
		code = check_operation(c, group, f, &can_wait);
	if (code == 0)
		code = check_otherwise(c, group, f);
	if (code == 0)
		code = check_edges(c, group, f);
	if (code == 0)
		code = check_draws(c, f);
	if (code == 0)
		code = check_order(c, f);
	if (code == 0)
		*ret_takes_time = has_cpu || can_wait;
	return code;
}

/* The ways out of a fragment, one by one: its edges, then `else`. */
static uint32_t way_out(const struct model_fragment *f, uint32_t index)
{
	return index < f->edge_count ? f->edges[index].to : f->otherwise;
}

struct walk {
	const struct model_group *group;
	const bool *takes_time;
	unsigned char *seen; /* 0: not yet, 1: on the path, 2: done */
	uint32_t *path, *at; /* fragments, and which way out of each comes next */
};

/* Depth first among fragments that take no time. The first fragment of a cycle, MODEL_NONE: there is none. */
static uint32_t find_cycle(struct walk *w, uint32_t from)
{
	size_t depth = 0;
	w->path[0] = from;
	w->at[0] = 0;
	w->seen[from] = 1;
	for (;;) {
		uint32_t here = w->path[depth];
		const struct model_fragment *f = &w->group->fragments[here];
		if (w->at[depth] > f->edge_count) {
			w->seen[here] = 2;
			if (depth-- == 0)
				return MODEL_NONE;
			continue;
		}
		uint32_t to = way_out(f, w->at[depth]++);
		if (to >= w->group->fragment_count || w->takes_time[to] || w->seen[to] == 2)
			continue;
		if (w->seen[to] == 1)
			return to;
		w->seen[to] = 1;
		w->path[++depth] = to;
		w->at[depth] = 0;
	}
}

static int check_cycles(
	const struct check *c, const struct model_group *group, const bool *takes_time)
{
	size_t count = group->fragment_count;
	AUTO_FREE unsigned char *seen = calloc(count, 1);
	AUTO_FREE uint32_t *path = calloc(count, sizeof *path);
	AUTO_FREE uint32_t *at = calloc(count, sizeof *at);
	if (!seen || !path || !at)
		return err_set(c->err, -ENOMEM, "out of memory");
	struct walk walk = { group, takes_time, seen, path, at };
	for (uint32_t i = 0; i < count; i++) {
		uint32_t found =
			takes_time[i] || seen[i] ? (uint32_t)MODEL_NONE : find_cycle(&walk, i);
		struct text_shown shown;
		if (found != MODEL_NONE)
			return check_fail(c, group->fragments[found].line,
				"fragment '%s' is on a cycle that takes no time",
				label(&group->fragments[found], &shown));
	}
	return 0;
}

/* Compares pointers to names. */
static int compare_names(const void *left, const void *right)
{
	return strcmp(**(const char *const *const *)left, **(const char *const *const *)right);
}

static int check_unique(const struct check *c, const struct model_group *group)
{
	AUTO_FREE const char ***names = calloc(group->fragment_count, sizeof *names);
	if (!names)
		return err_set(c->err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < group->fragment_count; i++)
		names[i] = (const char **)&group->fragments[i].name;
	qsort(names, group->fragment_count, sizeof *names, compare_names);
	for (uint32_t i = 1; i < group->fragment_count; i++)
		if (strcmp(*names[i - 1], *names[i]) == 0)
			return check_fail(c, group->line, "there are two fragments '%s'",
				text_show(*names[i]).text);
	return 0;
}

static int check_group(const struct check *c, size_t index)
{
	const struct model_group *group = &c->model->groups[index];
	int code = check_name(c, group->line, "group of threads", group->name);
	if (code < 0)
		return code;
	if (model_find_group(c->model, group->name) != index)
		return check_fail(c, group->line, "there are two groups of threads '%s'",
			text_show(group->name).text);
	if (!group->fragment_count || group->start >= group->fragment_count)
		return check_fail(c, group->line, "threads without fragments");
	AUTO_FREE bool *takes_time = calloc(group->fragment_count, sizeof *takes_time);
	if (!takes_time)
		return err_set(c->err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; code == 0 && i < group->fragment_count; i++)
		code = check_fragment(c, group, i, &takes_time[i]);
	if (code == 0)
		code = check_unique(c, group);
	return code < 0 ? code : check_cycles(c, group, takes_time);
}

int check_threads(const struct check *c)
{
	double sum = 0;
	for (size_t i = 0; i < c->model->group_count; i++) {
		const struct model_group *group = &c->model->groups[i];
		double count = 0;
		int code = check_group(c, i);
		if (code == 0)
			code = check_whole(c, group->line, "the number of threads", &group->count,
				0, MODEL_THREADS_MAX);
		if (code == 0)
			code = check_value(c, group->line, &group->count, MODEL_NUMBER, &count);
		if (code < 0)
			return code;
		sum += count;
		if (sum > MODEL_THREADS_MAX)
			return check_fail(
				c, group->line, "more than %d threads", MODEL_THREADS_MAX);
	}
	return sum > 0 ? 0
		       : check_fail(c, 0, "no thread exists at the start: no group has a 'count'");
}
