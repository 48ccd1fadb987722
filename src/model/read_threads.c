/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `threads` of a model file: groups and their fragments. */
#include "model/reader.h"

#include "base/lines.h"
#include "base/number.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A name that stands for a fragment, or for the end. */
static int find_target(const struct reader *r, const struct model_group *group,
	const struct yaml_node *node, const char *name, unsigned line, uint32_t *ret)
{
	if (!name)
		return reader_fail(r, node->line, "the name of a fragment was expected here");
	*ret = strcmp(name, "exit") == 0   ? (uint32_t)MODEL_EXIT
	       : strcmp(name, "stop") == 0 ? (uint32_t)MODEL_STOP
					   : model_find_fragment(group, name);
	if (*ret != MODEL_NONE)
		return 0;
	return reader_fail(r, line, "'%s' has no fragment '%s'", text_show(group->name).text,
		text_show(name).text);
}

static int read_target(const struct reader *r, const struct model_group *group,
	const struct yaml_node *node, uint32_t *ret)
{
	return find_target(r, group, node, node->text, node->line, ret);
}

static int read_edge_map(const struct reader *r, const struct model_group *group,
	const struct yaml_node *next, struct model_fragment *fragment)
{
	if (!next->count)
		return reader_fail(r, next->line, "'next' names no fragment");
	struct model_edge *edges = model_alloc(r->model, next->count, sizeof *edges);
	if (!edges)
		return reader_out_of_memory(r);
	for (size_t i = 0; i < next->count; i++) {
		const struct yaml_entry *entry = &next->entries[i];
		int code = find_target(r, group, next, entry->key, entry->line, &edges[i].to);
		if (code == 0)
			code = reader_value_node(
				r, entry->node, MODEL_NUMBER, &edges[i].probability);
		if (code < 0)
			return code;
	}
	fragment->edges = edges;
	fragment->edge_count = (uint32_t)next->count;
	return 0;
}

static int read_edges(const struct reader *r, const struct model_group *group,
	struct yaml_node *map, uint32_t index, struct model_fragment *fragment)
{
	const struct yaml_node *next = reader_take(map, "next");
	if (next && next->kind == YAML_MAP)
		return read_edge_map(r, group, next, fragment);
	uint32_t to = index + 1 < group->fragment_count ? index + 1 : (uint32_t)MODEL_EXIT;
	int code = next ? read_target(r, group, next, &to) : 0;
	if (code < 0)
		return code;
	fragment->edges = model_alloc(r->model, 1, sizeof *fragment->edges);
	if (!fragment->edges)
		return reader_out_of_memory(r);
	fragment->edges[0] = (struct model_edge){ .to = to, .probability = { .value = 1 } };
	fragment->edge_count = 1;
	return 0;
}

/* "3 x 1", or "1". */
static int read_turn(const struct reader *r, const struct yaml_node *node, struct model_turn *ret)
{
	AUTO_FREE char *text = strdup(node->text ? node->text : "");
	if (!text)
		return reader_out_of_memory(r);
	char *times = strstr(text, " x ");
	if (times)
		*times = '\0';
	*ret = (struct model_turn){ .times = 1 };
	if ((times && number_parse_u32(text, &ret->times) < 0) ||
		number_parse_u32(times ? times + strlen(" x ") : text, &ret->which) < 0 ||
		ret->which == 0)
		return reader_fail(r, node->line,
			"'%s': such as '2', or '3 x 1' for the first three times in a row",
			text_show(node->text ? node->text : "").text);
	ret->which--;
	return 0;
}

static int read_order(
	const struct reader *r, struct yaml_node *map, struct model_fragment *fragment)
{
	const struct yaml_node *node = reader_take(map, "order");
	if (!node)
		return 0;
	if (node->kind != YAML_LIST || node->count == 0)
		return reader_fail(r, node->line, "a list was expected here, such as [3 x 1, 2]");
	if (node->count > MODEL_ORDER_MAX)
		return reader_fail(r, node->line, "an 'order' of more than %d", MODEL_ORDER_MAX);
	fragment->order = model_alloc(r->model, node->count, sizeof *fragment->order);
	if (!fragment->order)
		return reader_out_of_memory(r);
	fragment->order_count = (uint32_t)node->count;
	int code = 0;
	for (size_t i = 0; code == 0 && i < node->count; i++)
		code = read_turn(r, node->entries[i].node, &fragment->order[i]);
	return code;
}

/* How often the ways on are drawn in all, and which comes last. */
static int read_draws(const struct reader *r, const struct model_group *group,
	struct yaml_node *map, struct model_fragment *fragment)
{
	const struct yaml_node *last = reader_take(map, "last");
	uint32_t to = MODEL_NONE;
	int code = reader_value(r, map, "draws", MODEL_NUMBER, &fragment->draws);
	if (code == 0)
		code = reader_flag(r, map, "together", &fragment->is_together);
	if (code == 0 && last)
		code = read_target(r, group, last, &to);
	if (code < 0 || !last)
		return code;
	for (uint32_t i = 0; i < fragment->edge_count; i++)
		if (fragment->edges[i].to == to)
			fragment->last = i;
	return fragment->last != MODEL_NONE
		       ? 0
		       : reader_fail(r, last->line, "'last' is none of those in 'next'");
}

/* Operations that are said as "do: WORD". */
static bool is_bare(enum model_op op)
{
	return op == MODEL_BEGIN || op == MODEL_END || op == MODEL_FAIL || op == MODEL_TICK ||
	       op == MODEL_YIELD;
}

static int read_bare(const struct reader *r, const struct yaml_node *node, enum model_op *ret)
{
	for (int op = 0; op < MODEL_OPS; op++)
		if (is_bare((enum model_op)op) && node->text &&
			strcmp(model_op_word((enum model_op)op), node->text) == 0) {
			*ret = (enum model_op)op;
			return 0;
		}
	return reader_fail(r, node->line,
		"'do' is one of begin_request, end_request, fail_request, tick, yield");
}

/* Finds the operation and the node that says on what. */
static int find_operation(const struct reader *r, struct yaml_node *map, enum model_op *ret_op,
	struct yaml_node **ret_node)
{
	struct yaml_node *found = reader_take(map, "do");
	enum model_op found_op = MODEL_COMPUTE;
	int code = found ? read_bare(r, found, &found_op) : 0;
	if (code < 0)
		return code;
	for (int op = MODEL_COMPUTE + 1; op < MODEL_OPS; op++) {
		struct yaml_node *node =
			is_bare((enum model_op)op)
				? NULL
				: reader_take(map, model_op_word((enum model_op)op));
		if (node && found)
			return reader_fail(r, node->line,
				"two operations in one fragment: '%s' and '%s'",
				model_op_word(found_op), model_op_word((enum model_op)op));
		if (node) {
			found = node;
			found_op = (enum model_op)op;
		}
	}
	*ret_op = found_op;
	*ret_node = found;
	return 0;
}

static int read_object(
	const struct reader *r, const struct yaml_node *node, const char *what, uint32_t *ret)
{
	*ret = node->text ? model_find_object(r->model, node->text) : (uint32_t)MODEL_NONE;
	if (*ret != MODEL_NONE)
		return 0;
	return reader_fail(r, node->line, "there is no %s '%s'", what,
		node->text ? text_show(node->text).text : "");
}

/* `class` of a disk, by name; may be left out if it has one only. */
static int read_class(
	const struct reader *r, struct yaml_node *map, struct model_fragment *fragment)
{
	const struct model_object *disk = &r->model->objects[fragment->object];
	const struct yaml_node *node = reader_take(map, "class");
	if (disk->kind != MODEL_DISK)
		return reader_fail(
			r, fragment->line, "'%s' is not a disk", text_show(disk->name).text);
	if (!node && disk->class_count == 1) {
		fragment->other = 0;
		return 0;
	}
	for (uint32_t i = 0; node && node->text && i < disk->class_count; i++)
		if (strcmp(disk->classes[i].name, node->text) == 0) {
			fragment->other = i;
			return 0;
		}
	return reader_fail(r, node ? node->line : fragment->line,
		"'io' needs a 'class' that disk '%s' has", text_show(disk->name).text);
}

static int read_wait(const struct reader *r, struct yaml_node *map, struct model_fragment *fragment)
{
	const struct yaml_node *mutex = reader_take(map, "mutex");
	if (!mutex)
		return reader_fail(r, fragment->line, "'wait' needs a 'mutex'");
	int code = read_object(r, mutex, "mutex", &fragment->other);
	return code < 0 ? code : reader_dist(r, map, "timeout", &fragment->time);
}

/* `up_to` of a get: a number or "all". */
static int read_up_to(
	const struct reader *r, struct yaml_node *map, struct model_fragment *fragment)
{
	const struct yaml_node *node = reader_take(map, "up_to");
	if (!node)
		return 0;
	fragment->takes_all = node->text && strcmp(node->text, "all") == 0;
	if (fragment->takes_all)
		return 0;
	int code = reader_value_node(r, node, MODEL_NUMBER, &fragment->up_to);
	if (code == 0 && !fragment->up_to.formula && !(fragment->up_to.value >= 1))
		code = reader_fail(r, node->line, "'up_to' is at least 1, or 'all'");
	return code;
}

/* `times` of a loop: a count, or "taken", or "taken - N". */
static int read_turns(
	const struct reader *r, struct yaml_node *map, struct model_fragment *fragment)
{
	static const char taken[] = "taken";
	const struct yaml_node *node = reader_take(map, "times");
	unsigned less = 0;
	char rest;
	if (!node || !node->text || strncmp(node->text, taken, strlen(taken)) != 0)
		return reader_count(r, map, "times", &fragment->count);
	if (strcmp(node->text, taken) != 0 &&
		(sscanf(node->text, "taken - %u%c", &less, &rest) != 1 || less > MODEL_ITEMS_MAX))
		return reader_fail(r, node->line,
			"'times' is a number, 'taken' or 'taken - N', but not '%s'",
			text_show(node->text).text);
	fragment->by_taken = true;
	fragment->less = less;
	return 0;
}

/* `times` of a put: a count, or "waiting". */
static int read_items(
	const struct reader *r, struct yaml_node *map, struct model_fragment *fragment)
{
	const struct yaml_node *node = reader_take(map, "times");
	if (!node || !node->text || strcmp(node->text, "waiting") != 0)
		return reader_count(r, map, "times", &fragment->count);
	fragment->is_for_all = true;
	return 0;
}

static int read_operation(const struct reader *r, const struct model_group *group,
	struct yaml_node *map, struct model_fragment *fragment)
{
	struct yaml_node *node = NULL;
	int code = find_operation(r, map, &fragment->op, &node);
	if (code < 0)
		return code;
	switch (fragment->op) {
	case MODEL_COMPUTE:
	case MODEL_BEGIN:
	case MODEL_END:
	case MODEL_FAIL:
	case MODEL_YIELD:
		return 0;
	case MODEL_TICK:
		return reader_count(r, map, "times", &fragment->count);
	case MODEL_SLEEP:
		code = reader_dist_node(r, node, &fragment->time);
		return code < 0 ? code : reader_flag(r, map, "paced", &fragment->is_paced);
	case MODEL_LOOP:
		code = read_target(r, group, node, &fragment->body);
		return code < 0 ? code : read_turns(r, map, fragment);
	case MODEL_SPAWN:
	case MODEL_JOIN:
		fragment->object =
			node->text ? model_find_group(r->model, node->text) : (uint32_t)MODEL_NONE;
		if (fragment->object == MODEL_NONE)
			return reader_fail(r, node->line, "there is no group of threads '%s'",
				node->text ? text_show(node->text).text : "");
		if (fragment->op == MODEL_JOIN)
			return 0;
		code = reader_flag(r, map, "with_request", &fragment->hands_on);
		return code < 0 ? code : reader_count(r, map, "times", &fragment->count);
	default:
		code = read_object(r, node, "object", &fragment->object);
	}
	if (code < 0)
		return code;
	if (fragment->op == MODEL_WAIT)
		return read_wait(r, map, fragment);
	if (fragment->op == MODEL_GET)
		return read_up_to(r, map, fragment);
	if (fragment->op == MODEL_PUT || fragment->op == MODEL_TRY_PUT)
		code = reader_flag(r, map, "plain", &fragment->is_plain);
	if (code == 0 && fragment->is_plain)
		code = read_items(r, map, fragment);
	else if (code == 0 && fragment->op == MODEL_POST)
		code = reader_count(r, map, "times", &fragment->count);
	if (code < 0 || fragment->op != MODEL_IO)
		return code;
	fragment->count.value.value = 1;
	code = read_class(r, map, fragment);
	if (code == 0)
		code = reader_flag(r, map, "background", &fragment->is_background);
	return code < 0 ? code : reader_count(r, map, "requests", &fragment->count);
}

static int read_course(const struct reader *r, struct yaml_node *map, struct model_course *ret)
{
	struct yaml_node *course = reader_take(map, "course");
	size_t count = 0;
	int code = course ? reader_map(r, course, "a course") : 0;
	if (!course || code < 0)
		return code;
	const struct yaml_node *factors = reader_take(course, "factors");
	if (!factors)
		return reader_fail(r, course->line, "a course needs 'factors'");
	code = reader_list(r, factors, MODEL_NUMBER, &ret->factors, &count);
	if (code == 0 && count > MODEL_FACTORS_MAX)
		return reader_fail(r, factors->line, "more than %d factors", MODEL_FACTORS_MAX);
	ret->factor_count = code == 0 ? (uint32_t)count : 0;
	if (code == 0)
		code = reader_value(r, course, "threads", MODEL_NUMBER, &ret->threads);
	return code < 0 ? code : reader_finish(r, course, "a course");
}

static int read_fragment(const struct reader *r, const struct model_group *group,
	const struct yaml_entry *entry, uint32_t index)
{
	struct model_fragment *fragment = &group->fragments[index];
	struct yaml_node *map = entry->node;
	int code = reader_map(r, map, "a fragment");
	if (code == 0)
		code = reader_dist(r, map, "cpu", &fragment->cpu);
	if (code == 0)
		code = reader_value(r, map, "visits", MODEL_NUMBER, &fragment->visits);
	if (code == 0)
		code = read_course(r, map, &fragment->course);
	if (code == 0)
		code = read_operation(r, group, map, fragment);
	if (code < 0)
		return code;
	const struct yaml_node *otherwise = reader_take(map, "else");
	if (otherwise)
		code = read_target(r, group, otherwise, &fragment->otherwise);
	const char *part = NULL;
	if (code == 0)
		code = reader_text(r, map, "part", &part);
	if (code == 0 && part && model_add_part(r->model, part, &fragment->part) < 0)
		code = reader_out_of_memory(r);
	if (code == 0)
		code = read_edges(r, group, map, index, fragment);
	if (code == 0)
		code = read_draws(r, group, map, fragment);
	if (code == 0)
		code = read_order(r, map, fragment);
	return code < 0 ? code : reader_finish(r, map, "this fragment");
}

static int read_fragments(const struct reader *r, uint32_t index, const struct yaml_node *map)
{
	for (size_t i = 0; i < map->count; i++) {
		uint32_t fragment;
		if (model_add_fragment(r->model, index, map->entries[i].key, &fragment) < 0)
			return reader_out_of_memory(r);
		r->model->groups[index].fragments[fragment].line = map->entries[i].line;
	}
	for (size_t i = 0; i < map->count; i++) {
		int code =
			read_fragment(r, &r->model->groups[index], &map->entries[i], (uint32_t)i);
		if (code < 0)
			return code;
	}
	return 0;
}

static int read_cores(const struct reader *r, struct yaml_node *map, struct model_group *group)
{
	const struct yaml_node *node = reader_take(map, "cores");
	double *numbers;
	size_t count;
	int code = node ? reader_list(r, node, MODEL_NUMBER, &numbers, &count) : 0;
	if (!node || code < 0)
		return code;
	if (count > MODEL_CORES_MAX)
		return reader_fail(r, node->line, "more than %d cores", MODEL_CORES_MAX);
	group->cores = model_alloc(r->model, count, sizeof *group->cores);
	if (!group->cores)
		return reader_out_of_memory(r);
	for (size_t i = 0; i < count; i++) {
		if (!(numbers[i] >= 0 && numbers[i] < MODEL_CORES_MAX) ||
			numbers[i] != (double)(uint32_t)numbers[i])
			return reader_fail(r, node->line, "cores are counted from 0 to %d",
				MODEL_CORES_MAX - 1);
		group->cores[i] = (uint32_t)numbers[i];
	}
	group->core_count = (uint32_t)count;
	return 0;
}

static int read_group(const struct reader *r, uint32_t index, struct yaml_node *map)
{
	struct model_group *group = &r->model->groups[index];
	int code = reader_map(r, map, "a group of threads");
	if (code == 0)
		code = reader_value(r, map, "count", MODEL_NUMBER, &group->count);
	if (code == 0)
		code = read_cores(r, map, group);
	if (code < 0)
		return code;
	const struct yaml_node *fragments = reader_take(map, "fragments");
	if (!fragments || fragments->kind != YAML_MAP)
		return reader_fail(r, fragments ? fragments->line : group->line,
			"'%s' needs 'fragments'", text_show(group->name).text);
	code = read_fragments(r, index, fragments);
	const struct yaml_node *start = reader_take(map, "start");
	if (code == 0 && start)
		code = read_target(r, group, start, &group->start);
	return code < 0 ? code : reader_finish(r, map, "a group of threads");
}

int reader_threads(const struct reader *r, struct yaml_node *threads)
{
	int code = reader_map(r, threads, "'threads'");
	if (code < 0)
		return code;
	for (size_t i = 0; i < threads->count; i++) {
		uint32_t index;
		if (model_add_group(r->model, threads->entries[i].key, &index) < 0)
			return reader_out_of_memory(r);
		r->model->groups[index].line = threads->entries[i].line;
	}
	for (size_t i = 0; code == 0 && i < threads->count; i++)
		code = read_group(r, (uint32_t)i, threads->entries[i].node);
	return code;
}
