/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/outlier.h"

#include "base/map.h"
#include "builder/pool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct place {
	uint64_t site;
	uint32_t op;
};

/* What a thread does at one place, in the mean; a place is an operation and a site. */
struct habit {
	uint64_t count;
	double sum_ns, squares;
};

static void add_habit(
	const struct build_thread *thread, const struct place *place, struct habit *ret)
{
	*ret = (struct habit){ 0 };
	for (size_t i = 0; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		if (step->op != place->op || step->site != place->site)
			continue;
		ret->count++;
		ret->sum_ns += (double)step->cpu_ns;
		ret->squares += (double)step->cpu_ns * (double)step->cpu_ns;
	}
}

/*
 * One thread that always works much longer at a place than the others is of another kind (the one
 * that a barrier waits for): its mean is more than twice the others', and that difference is most of
 * the variance there. Returns its position in the group, or the group's size.
 */
static size_t find_outlier(const struct build_trace *trace, const struct build_group *group,
	const struct place *place, struct habit *habits)
{
	size_t most = 0;
	double total_ns = 0;
	for (size_t i = 0; i < group->count; i++) {
		add_habit(&trace->threads[group->threads[i]], place, &habits[i]);
		total_ns += (double)trace->threads[group->threads[i]].cpu_ns;
		if (habits[i].count < 3)
			return group->count;
		if (habits[i].sum_ns / (double)habits[i].count >
			habits[most].sum_ns / (double)habits[most].count)
			most = i;
	}
	struct habit others = { 0 };
	for (size_t i = 0; i < group->count; i++) {
		others.count += i == most ? 0 : habits[i].count;
		others.sum_ns += i == most ? 0 : habits[i].sum_ns;
		others.squares += i == most ? 0 : habits[i].squares;
	}
	const struct habit *its = &habits[most];
	double count = (double)its->count, rest = (double)others.count;
	double sum = its->sum_ns + others.sum_ns;
	double variance = its->squares + others.squares - sum * sum / (count + rest);
	double between = its->sum_ns * its->sum_ns / count + others.sum_ns * others.sum_ns / rest -
			 sum * sum / (count + rest);
	bool is_outlier = its->sum_ns / count > 2 * others.sum_ns / rest &&
			  between > variance / 2 && its->sum_ns > total_ns / 20;
	return is_outlier ? most : group->count;
}

/* Takes a member of a group into a group of its own. */
static int part(struct build_groups *groups, size_t index, size_t member)
{
	struct build_group *group = &groups->items[index];
	uint32_t thread = group->threads[member];
	group->count--;
	for (size_t i = member; i < group->count; i++)
		group->threads[i] = group->threads[i + 1];
	return build_groups_add(groups, groups->count, thread);
}

/* Who started all others of its group; the group's size: nobody. */
static size_t find_starter(const struct build_trace *trace, const struct build_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		size_t started = 0;
		for (size_t j = 0; j < group->count; j++)
			started += trace->threads[group->threads[j]].parent == group->threads[i];
		if (started + 1 == group->count && started > 0)
			return i;
	}
	return group->count;
}

/* CPU time of a thread by place, lock, or queue: ns; and how often it came there. The program's end is none. 0 or -ENOMEM. */
static int add_places(const struct build_thread *thread, struct map *ret_ns, struct map *ret_visits)
{
	for (size_t i = 0; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		bool is_known =
			step->op == STEP_GET || step->op == STEP_PUT || step->op == STEP_LOCK;
		uint64_t place = is_known ? step->object : step->site, *ns, *visits;
		if (step->op == STEP_EXIT && thread->parent == BUILD_NONE)
			continue;
		if (map_add(ret_ns, place, step->op, 0, &ns) < 0 ||
			map_add(ret_visits, place, step->op, 0, &visits) < 0)
			return -ENOMEM;
		*ns += step->cpu_ns;
		++*visits;
	}
	return 0;
}

static double value_at(const struct map *places, const struct map_slot *place)
{
	const uint64_t *value = map_find(places, place->a, place->b);
	return value ? (double)(int64_t)*value : 0;
}

struct doings {
	struct map ns, visits;
	double threads;
};

/*
 * Whether both take about as long at a place each time. Who meets at a barrier as often as each of the others has a share of the work, which may be
 * larger: no more than twice, as an outlier's.
 */
static bool is_alike(
	const struct doings *its, const struct doings *others, const struct map_slot *place)
{
	double visits = value_at(&its->visits, place), of_all = value_at(&others->visits, place);
	double alike = place->b == STEP_ARRIVE && visits * others->threads == of_all ? 2 : 1.25;
	double own = value_at(&its->ns, place) / visits;
	double rest = value_at(&others->ns, place) / of_all;
	return own <= alike * rest && rest <= alike * own;
}

/*
 * Whether who started threads then does the same as they: nine tenths of what their CPU time is made of, place by place, are at places where it comes, too, and
 * takes about as long each time. That both call the same few functions, or meet at the same lock, is not enough: so do two stages of a pipeline.
 */
static bool are_alike(const struct doings *its, const struct doings *others)
{
	double all_ns = 0, alike_ns = 0;
	for (size_t i = 0; i < others->ns.slot_count; i++) {
		const struct map_slot *place = &others->ns.slots[i];
		if (!place->is_used)
			continue;
		all_ns += (double)(int64_t)place->value;
		if (map_find(&its->ns, place->a, place->b) && is_alike(its, others, place))
			alike_ns += (double)(int64_t)place->value;
	}
	return all_ns > 0 && alike_ns >= 0.9 * all_ns;
}

/* Of the thread and the group's others. 1, 0 or -ENOMEM. */
static int does_the_same(
	const struct build_trace *trace, const struct build_group *group, uint32_t starter)
{
	struct doings its = { 0 }, others = { 0 };
	int code = add_places(&trace->threads[starter], &its.ns, &its.visits);
	for (size_t i = 0; i < group->count && code == 0; i++)
		if (group->threads[i] != starter) {
			code = add_places(
				&trace->threads[group->threads[i]], &others.ns, &others.visits);
			others.threads++;
		}
	if (code == 0)
		code = are_alike(&its, &others);
	map_release(&its.ns);
	map_release(&its.visits);
	map_release(&others.ns);
	map_release(&others.visits);
	return code;
}

/* Gives an outlier a group of its own. 1: it did. */
static int part_outlier(const struct build_trace *trace, struct build_groups *groups, size_t index)
{
	struct build_group *group = &groups->items[index];
	const struct build_thread *first = &trace->threads[group->threads[0]];
	AUTO_FREE struct habit *habits = calloc(group->count, sizeof *habits);
	if (!habits)
		return -ENOMEM;
	struct place seen[64];
	size_t seen_count = 0;
	for (size_t i = 0; i < first->step_count && seen_count < 64; i++) {
		struct place place = { first->steps[i].site, first->steps[i].op };
		bool is_known = place.op == STEP_SPAWN || place.op == STEP_JOIN;
		for (size_t j = 0; j < seen_count; j++)
			is_known |= seen[j].site == place.site && seen[j].op == place.op;
		if (is_known)
			continue;
		seen[seen_count++] = place;
		size_t outlier = find_outlier(trace, group, &place, habits);
		if (outlier == group->count)
			continue;
		int code = part(groups, index, outlier);
		return code < 0 ? code : 1;
	}
	return 0;
}

/* The first thread, if it started all of the group, which is another group's as its start is; BUILD_NONE: another one, or several. */
static uint32_t first_thread_of(const struct build_trace *trace, const struct build_group *group)
{
	uint32_t parent = trace->threads[group->threads[0]].parent;
	for (size_t i = 0; i < group->count; i++)
		if (trace->threads[group->threads[i]].parent != parent)
			return BUILD_NONE;
	return parent != BUILD_NONE && trace->threads[parent].parent == BUILD_NONE ? parent
										   : BUILD_NONE;
}

/* Who starts threads and then is one of them, in the group or as the program's first thread, is told from them. 0 or -ENOMEM. */
static int part_starter(const struct build_trace *trace, struct build_groups *groups, size_t index)
{
	struct build_group *group = &groups->items[index];
	size_t member = find_starter(trace, group);
	bool is_in = member < group->count;
	uint32_t starter = is_in ? group->threads[member] : first_thread_of(trace, group);
	int same = starter != BUILD_NONE ? does_the_same(trace, group, starter) : 0;
	group->has_starter = same > 0;
	return same < 0 ? same : is_in ? part(groups, index, member) : 0;
}

/* At most a third of a group: more are no exceptions. */
int build_groups_part(const struct build_trace *trace, struct build_groups *groups)
{
	size_t count = groups->count;
	int code = 0;
	for (size_t i = 0; i < count && code >= 0; i++) {
		code = part_starter(trace, groups, i);
		if (code < 0)
			return code;
		const struct build_thread *first = &trace->threads[groups->items[i].threads[0]];
		/* Of a team of OpenMP's the loop makes them so, not the thread: see lead.c. */
		size_t left = build_is_openmp(trace, first->pid, first->spawn_site)
				      ? 0
				      : groups->items[i].count / 3;
		while (left-- > 0 && groups->items[i].first_count == 0) {
			code = part_outlier(trace, groups, i);
			if (code <= 0)
				break;
		}
	}
	return code < 0 ? code : 0;
}
