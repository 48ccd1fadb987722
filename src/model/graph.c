/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walking the graph. A thread's stay in a fragment:
 *
 *	ENTER --> CPU --> OPERATE --> RESULT --+--> OPERATE (again: `times`)
 *	                                       `--> the next fragment's ENTER
 *
 * The engine is asked to play something in CPU and OPERATE; everything else takes no time and is passed in
 * one call of next().
 */
#include "base/mem.h"
#include "model/graph_parts.h"

#include <errno.h>
#include <string.h>

enum { STEPS_MAX = 1000000 }; /* in one instant of one thread: fragments whose draws were all 0 */

/* A thread. */

static int set_up(struct graph *graph, uint32_t tid, uint32_t group)
{
	if (mem_grow(&graph->walkers, &graph->walker_capacity, tid, sizeof *graph->walkers) < 0)
		return -ENOMEM;
	if (tid > graph->walker_count)
		graph->walker_count = tid;
	struct walker *walker = &graph->walkers[tid - 1];
	const struct graph_group *of = &graph->groups[group];
	if (of->loop_count) {
		walker->loops = model_alloc(
			graph->memory, (size_t)2 * of->loop_count, sizeof *walker->loops);
		if (!walker->loops)
			return -ENOMEM;
	}
	if (of->course_count) {
		walker->courses =
			model_alloc(graph->memory, of->course_count, sizeof *walker->courses);
		if (!walker->courses)
			return -ENOMEM;
	}
	walker->group = group;
	walker->number = graph->groups[group].started++;
	walker->fragment = of->start;
	walker->part = MODEL_NONE;
	walker->is_ready = true;
	const uint64_t *request = map_find(&graph->handed_on, tid, 0);
	walker->request = request ? *request : NO_REQUEST;
	(void)map_remove(&graph->handed_on, tid, 0); /* most are not there */
	return 0;
}

/* Time in parts: from entering one until a fragment that is not in it. */
static void set_part(struct graph *graph, struct walker *walker, uint32_t part)
{
	if (walker->part == part)
		return;
	uint64_t now_ns = sim_now(graph->sim);
	if (walker->part != MODEL_NONE) {
		double *tally = graph->tally + graph_part_at(graph->model, walker->part);
		tally[GRAPH_COUNT]++;
		tally[GRAPH_SPENT_S] += graph_seconds(now_ns - walker->part_since_ns);
	}
	walker->part = part;
	walker->part_since_ns = now_ns;
}

static void go(struct graph *graph, struct walker *walker, uint32_t to)
{
	const struct graph_fragment *from =
		&graph->groups[walker->group].fragments[walker->fragment];
	double *tally = graph->tally + from->tally_at;
	tally[GRAPH_COUNT]++;
	tally[GRAPH_SPENT_S] += graph_seconds(sim_now(graph->sim) - walker->since_ns);
	walker->fragment = to;
	walker->phase = PHASE_ENTER;
}

static void enter(struct graph *graph, struct walker *walker)
{
	const struct graph_fragment *fragment =
		&graph->groups[walker->group].fragments[walker->fragment];
	set_part(graph, walker, fragment->part);
	walker->since_ns = sim_now(graph->sim);
	walker->phase = PHASE_CPU;
}

/* True: there is CPU time to play. */
static bool compute(struct graph *graph, struct walker *walker, struct graph_fragment *fragment,
	struct sim_op *ret)
{
	walker->phase = PHASE_OPERATE;
	walker->left = 0;
	uint64_t amount = fragment->has_cpu ? graph_draw_cpu(graph, walker, fragment) : 0;
	*ret = (struct sim_op){ .kind = SIM_COMPUTE, .amount = amount };
	return amount > 0;
}

static uint64_t turns_of(
	struct graph *graph, const struct walker *walker, struct graph_fragment *fragment)
{
	uint64_t *begun = &walker->loops[graph->groups[walker->group].loop_count + fragment->loop];
	if (fragment->is_together)
		return graph_draw_together(graph, fragment, (*begun)++);
	if (!fragment->by_taken)
		return graph_draw_turns(graph, walker, fragment);
	return walker->taken > fragment->less ? walker->taken - fragment->less : 0;
}

static void loop(struct graph *graph, struct walker *walker, struct graph_fragment *fragment)
{
	uint64_t *left = &walker->loops[fragment->loop];
	/* One more than the passes to come, so that 0 is a loop that has not begun. */
	if (*left == 0)
		*left = turns_of(graph, walker, fragment) + 1;
	--*left;
	go(graph, walker, *left > 0 ? fragment->body : graph_draw_edge(graph, walker, fragment));
}

/* The last of the threads of that group that this one has spawned and not joined. False: none. */
static bool join(struct walker *walker, uint32_t group, struct sim_op *ret)
{
	for (size_t i = walker->spawned_count; i-- > 0;)
		if (walker->spawned[i].group == group) {
			ret->object = walker->spawned[i].tid;
			walker->spawned[i] = walker->spawned[--walker->spawned_count];
			return true;
		}
	return false;
}

/* Which instance of a lock or a queue an operation is about; MODEL_NONE: the thread does without. */
static int choose_instance(struct graph *graph, struct walker *walker,
	const struct graph_fragment *fragment, struct sim_op *op)
{
	if (fragment->instances < 2)
		return 0;
	switch (fragment->op) {
	case MODEL_UNLOCK:
		op->object = held_drop(&walker->held, fragment->object);
		return 0;
	case MODEL_GET:
	case MODEL_TRY_GET:
		op->object = fragment->object + walker->number % fragment->instances;
		return 0;
	case MODEL_PUT:
	case MODEL_TRY_PUT:
		op->object = fragment->is_reply
				     ? items_reply_to(walker, fragment)
				     : fragment->object + (uint32_t)rng_below(
								  &graph->rng, fragment->instances);
		return 0;
	default:
		return held_draw(&walker->held, &graph->rng, fragment, &op->object);
	}
}

/* A sleep of that time from when the last one was due; what it was late by is left out. */
static uint64_t pace(const struct graph *graph, struct walker *walker, uint64_t amount)
{
	uint64_t now_ns = sim_now(graph->sim);
	walker->due_ns = (walker->due_ns > 0 ? walker->due_ns : now_ns) + amount;
	return walker->due_ns > now_ns ? walker->due_ns - now_ns : 0;
}

/* True: *ret is to be played; false: the operation needs no engine. */
static bool operate(struct graph *graph, struct walker *walker,
	const struct graph_fragment *fragment, struct sim_op *ret)
{
	bool is_first = walker->left == 0;
	*ret = (struct sim_op){
		.kind = fragment->kind, .object = fragment->object, .other = fragment->other
	};
	walker->phase = PHASE_RESULT;
	switch (fragment->op) {
	case MODEL_COMPUTE:
		return false;
	case MODEL_JOIN:
		walker->left = 1;
		return join(walker, fragment->object, ret);
	case MODEL_SPAWN:
		ret->other = fragment->object;
		break;
	case MODEL_GET:
		if (!is_first)
			ret->kind = SIM_TRY_GET; /* what else there is */
		else
			walker->taken = 0;
		return true;
	case MODEL_PUT:
	case MODEL_TRY_PUT:
		ret->item = items_to_put(graph, walker, fragment);
		break;
	case MODEL_IO:
		ret->class = fragment->other;
		ret->other = fragment->is_background ? SIM_BACKGROUND : 0;
		ret->amount = graph_draw_count(graph, &fragment->count);
		return true;
	case MODEL_POST:
	case MODEL_TICK:
		ret->amount = graph_draw_count(graph, &fragment->count);
		if (fragment->op == MODEL_TICK)
			graph->tally[GRAPH_TICKS] += (double)(int64_t)ret->amount;
		return ret->amount > 0;
	case MODEL_WAIT:
	case MODEL_SLEEP:
		ret->amount = sim_draw(&fragment->time, &graph->rng);
		if (fragment->is_paced)
			ret->amount = pace(graph, walker, ret->amount);
		/* To the engine, a timeout of 0 is none. */
		if (ret->amount == 0 && fragment->otherwise != MODEL_NONE)
			ret->amount = 1;
		return true;
	case MODEL_BEGIN:
		return items_begin(graph, walker, ret);
	case MODEL_END:
	case MODEL_FAIL:
		if (walker->request == NO_REQUEST)
			return false;
		items_end(graph, walker, fragment->op == MODEL_FAIL, ret);
		return true;
	default:
		return true;
	}
	if (is_first)
		walker->left = fragment->is_call || fragment->is_for_all
				       ? items_called(graph, fragment)
				       : graph_draw_count(graph, &fragment->count);
	return walker->left > 0;
}

static int keep_spawned(struct walker *walker, uint32_t group, uint32_t tid)
{
	if (mem_grow(&walker->spawned, &walker->spawned_capacity, walker->spawned_count + 1,
		    sizeof *walker->spawned) < 0)
		return -ENOMEM;
	walker->spawned[walker->spawned_count++] = (struct spawned){ group, tid };
	return 0;
}

/* What came of the operation: where to go. */
static int take_result(struct graph *graph, struct walker *walker,
	const struct graph_fragment *fragment, const struct sim_result *last)
{
	int code = 0;
	if (last->has_waited && fragment->op != MODEL_SLEEP)
		walker->due_ns = 0;
	if (last->status < 0 && fragment->op == MODEL_GET && walker->taken > 0) {
		go(graph, walker, graph_draw_edge(graph, walker, fragment)); /* there is no more */
		return 0;
	}
	if (last->status < 0) {
		if (fragment->op == MODEL_TRY_LOCK && fragment->instances > 1)
			(void)held_drop(&walker->held, fragment->object); /* it did not get it */
		go(graph, walker,
			fragment->otherwise == MODEL_NONE ? (uint32_t)MODEL_EXIT
							  : fragment->otherwise);
		return 0;
	}
	if (fragment->op == MODEL_GET || fragment->op == MODEL_TRY_GET)
		code = items_take(graph, walker, fragment, last->item);
	if (fragment->op == MODEL_GET)
		walker->left = ++walker->taken < fragment->most ? 2 : 0;
	if (code == 0 && fragment->op == MODEL_SPAWN && walker->left > 0)
		code = keep_spawned(walker, fragment->object, (uint32_t)last->item);
	if (code == 0 && fragment->hands_on)
		code = items_hand_on(graph, walker, (uint32_t)last->item);
	if ((fragment->op == MODEL_PUT || fragment->op == MODEL_TRY_PUT) && !fragment->is_plain)
		items_leave(walker);
	if (fragment->op == MODEL_JOIN && walker->left > 0)
		walker->phase = PHASE_OPERATE;
	else if (walker->left > 1) {
		walker->left--;
		walker->phase = PHASE_OPERATE;
	} else
		go(graph, walker, graph_draw_edge(graph, walker, fragment));
	return code;
}

static int does_not_advance(const struct graph *graph, const struct walker *walker, struct err *err)
{
	const struct model_group *group = &graph->model->groups[walker->group];
	const struct model_fragment *fragment = &group->fragments[walker->fragment];
	return err_set(err, -EINVAL, "%s:%u: '%s' of '%s' goes round and round without taking time",
		graph->model->file ? graph->model->file : "model", fragment->line, fragment->name,
		group->name);
}

static bool does_without(const struct graph_fragment *fragment, const struct sim_op *op)
{
	return fragment->instances > 1 && op->object == MODEL_NONE;
}

static int walk(struct graph *graph, struct walker *walker, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	static const struct sim_result nothing;
	int code = 0;
	for (unsigned steps = 0; code == 0; steps++) {
		if (walker->fragment == MODEL_EXIT || walker->fragment == MODEL_STOP) {
			set_part(graph, walker, MODEL_NONE);
			bool is_exit = walker->fragment == MODEL_EXIT;
			*ret = (struct sim_op){ .kind = is_exit ? SIM_EXIT : SIM_STOP };
			return 0;
		}
		if (steps == STEPS_MAX)
			return does_not_advance(graph, walker, err);
		struct graph_fragment *fragment =
			&graph->groups[walker->group].fragments[walker->fragment];
		switch (walker->phase) {
		case PHASE_ENTER:
			enter(graph, walker);
			break;
		case PHASE_CPU:
			if (compute(graph, walker, fragment, ret))
				return 0;
			break;
		case PHASE_OPERATE:
			if (fragment->op == MODEL_LOOP)
				loop(graph, walker, fragment);
			else if (operate(graph, walker, fragment, ret)) {
				code = choose_instance(graph, walker, fragment, ret);
				if (code == 0 && !does_without(fragment, ret))
					return 0;
			} else
				walker->left = 0;
			break;
		case PHASE_RESULT:
			code = take_result(graph, walker, fragment, last);
			last = &nothing;
			break;
		}
	}
	return err_set(err, code, "out of memory");
}

/* The filler puts the items that queues have at first, and exits. */
static void fill(struct graph *graph, struct sim_op *ret)
{
	const struct model *model = graph->model;
	while (graph->fill_left == 0 && ++graph->fill_object < model->object_count) {
		double initial = 0;
		const struct model_object *object = &model->objects[graph->fill_object];
		/* It was evaluated before: this cannot fail. */
		(void)model_evaluate(
			model, &object->initial, MODEL_NUMBER, graph->parameters, &initial, NULL);
		graph->fill_left = initial > 0 ? (uint64_t)(initial + 0.5) : 0;
	}
	*ret = (struct sim_op){ .kind = SIM_EXIT };
	if (graph->fill_left == 0)
		return;
	graph->fill_left--;
	*ret = (struct sim_op){ .kind = SIM_PUT,
		.object = graph->objects[graph->fill_object].number };
}

static int next(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	struct graph *graph = context;
	(void)sim;
	graph_pass_marks(graph);
	if (graph->failure)
		return err_set(err, graph->failure, "out of memory");
	if (items_pile_up(graph))
		return err_set(err, -EINVAL,
			"threads take one request after the other and none of them ends: the model "
			"does not say how requests come to who answers them");
	if (graph->is_over) {
		*ret = (struct sim_op){ .kind = SIM_STOP };
		return 0;
	}
	if (tid == graph->filler_tid) {
		fill(graph, ret);
		return 0;
	}
	bool is_new = tid > graph->walker_count || !graph->walkers[tid - 1].is_ready;
	if (is_new && set_up(graph, tid, (uint32_t)last->item) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return walk(graph, &graph->walkers[tid - 1], last, ret, err);
}

static void request_ended(
	void *context, uint64_t request, uint64_t begin_ns, uint64_t end_ns, int status)
{
	struct graph *graph = context;
	const uint64_t *restart_ns = map_find(&graph->restarts, request, 0);
	if (restart_ns) {
		begin_ns = *restart_ns;
		(void)map_remove(&graph->restarts, request, 0); /* it is there */
	}
	graph_count_end(graph, graph_seconds(end_ns - begin_ns + graph->way_ns), status);
}

/* Of those that others start. */
static const char *name_of(void *context, uint8_t what, uint32_t number)
{
	const struct graph *graph = context;
	if (what != WHAT_THREAD || number > graph->walker_count ||
		!graph->walkers[number - 1].is_ready)
		return NULL;
	return graph->model->groups[graph->walkers[number - 1].group].name;
}

/* Making and running. */

static int add_threads(struct graph *graph, bool has_filler, struct err *err)
{
	uint32_t tid = 0;
	int code = 0;
	/* First, so that no thread finds the queues empty. */
	if (has_filler) {
		code = sim_add_thread(graph->sim, "(fill)", NULL, &tid);
		graph->filler_tid = tid;
		graph->fill_object = UINT32_MAX; /* before the first */
	}
	for (uint32_t i = 0; code == 0 && i < graph->model->group_count; i++) {
		const struct graph_group *group = &graph->groups[i];
		graph->threads += group->thread_count;
		for (uint32_t k = 0; code == 0 && k < group->thread_count; k++) {
			code = sim_add_thread(
				graph->sim, graph->model->groups[i].name, group->cores, &tid);
			if (code == 0)
				code = set_up(graph, tid, i);
		}
	}
	return code < 0 ? err_set(err, code, "cannot make %u threads", graph->threads) : 0;
}

static int make(struct graph *graph, const struct graph_options *options, struct err *err)
{
	const struct model *model = options->model;
	const struct sim_program program = {
		.context = graph, .next = next, .request_ended = request_ended, .name = name_of
	};
	struct sim_options engine = { .seed = options->seed, .event_limit = options->event_limit };
	uint64_t initial = 0;
	graph->memory = model_new();
	graph->tally_size = graph_tally_size(model);
	graph->tally = calloc(graph->tally_size, sizeof *graph->tally);
	graph->marks = calloc(graph->tally_size, GRAPH_MARKS * sizeof *graph->marks);
	if (!graph->memory || !graph->tally || !graph->marks)
		return err_set(err, -ENOMEM, "out of memory");
	graph->parameters =
		model_alloc(graph->memory, model->parameter_count + 1, sizeof *graph->parameters);
	if (!graph->parameters)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < model->parameter_count; i++)
		graph->parameters[i] =
			options->parameters ? options->parameters[i] : model->parameters[i].value;
	/* Not the engine's stream: sources draw the same times whatever the threads do. */
	rng_init(&graph->rng, options->seed ^ UINT64_C(0x6d6f64656c));
	graph->request_limit = options->request_limit;
	graph->duration_ns = (uint64_t)(options->duration_s * 1e9 + 0.5);
	engine.stop_ns = graph->duration_ns;
	int code = graph_options_of(graph, &engine, &initial, err);
	if (code == 0)
		code = sim_new(&engine, &program, &graph->sim, err);
	if (code == 0)
		code = graph_add_objects(graph, err);
	if (code == 0)
		code = graph_compile(graph, err);
	return code < 0 ? code : add_threads(graph, initial > 0, err);
}

int graph_new(const struct graph_options *options, struct graph **ret, struct err *err)
{
	AUTO(graph) struct graph *graph = calloc(1, sizeof *graph);
	if (!graph)
		return err_set(err, -ENOMEM, "out of memory");
	graph->model = options->model;
	int code = make(graph, options, err);
	if (code == 0)
		*ret = TAKE(graph);
	return code;
}

static void release_walker(struct walker *walker)
{
	free(walker->spawned);
	free(walker->others);
	held_release(&walker->held);
}

void graph_free(struct graph *graph)
{
	if (!graph)
		return;
	for (size_t i = 0; i < graph->walker_count; i++)
		release_walker(&graph->walkers[i]);
	sim_free(graph->sim);
	map_release(&graph->restarts);
	map_release(&graph->handed_on);
	for (size_t i = 0; graph->groups && i < graph->model->group_count; i++)
		for (uint32_t j = 0;
			graph->groups[i].fragments && j < graph->groups[i].fragment_count; j++)
			free(graph->groups[i].fragments[j].turns);
	model_free(graph->memory);
	free(graph->walkers);
	free(graph->tally);
	free(graph->marks);
	free(graph->responses);
	free(graph);
}

int graph_run(struct graph *graph, struct err *err)
{
	int code = sim_run(graph->sim, err);
	if (code == 0 && graph->failure)
		code = err_set(err, graph->failure, "out of memory");
	if (code == 0)
		graph_take_counts(graph);
	return code;
}
