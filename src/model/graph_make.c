/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model with its parameters' values, as the engine wants it: numbers, nanoseconds, sums of probabilities. */
#include "base/cleanup.h"
#include "model/graph_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static int evaluate(const struct graph *graph, const struct model_value *value,
	enum model_unit unit, double *ret, struct err *err)
{
	return model_evaluate(graph->model, value, unit, graph->parameters, ret, err);
}

static int evaluate_ns(
	const struct graph *graph, const struct model_value *value, uint64_t *ret, struct err *err)
{
	double seconds;
	int code = evaluate(graph, value, MODEL_TIME, &seconds, err);
	if (code == 0)
		*ret = (uint64_t)(seconds * 1e9 + 0.5);
	return code;
}

static int evaluate_whole(
	const struct graph *graph, const struct model_value *value, uint64_t *ret, struct err *err)
{
	double number;
	int code = evaluate(graph, value, MODEL_NUMBER, &number, err);
	if (code == 0)
		*ret = number > 0 ? (uint64_t)(number + 0.5) : 0;
	return code;
}

static int make_quantiles(struct graph *graph, const struct model_dist *dist, double scale_ns,
	struct sim_dist *ret, struct err *err)
{
	double *values = model_alloc(graph->memory, dist->quantile_count, sizeof *values);
	if (!values)
		return out_of_memory(err);
	for (uint32_t i = 0; i < dist->quantile_count; i++)
		values[i] = dist->quantiles[i] * scale_ns;
	*ret = dist->quantile_count == 1 ? (struct sim_dist){ .kind = SIM_FIXED, .a = values[0] }
					 : (struct sim_dist){ .kind = SIM_EMPIRICAL,
						   .values = values,
						   .value_count = dist->quantile_count };
	return 0;
}

static int make_dist(
	struct graph *graph, const struct model_dist *dist, struct sim_dist *ret, struct err *err)
{
	static const enum sim_dist_kind kinds[] = {
		[MODEL_NO_TIME] = SIM_FIXED,
		[MODEL_FIXED] = SIM_FIXED,
		[MODEL_UNIFORM] = SIM_UNIFORM,
		[MODEL_EXPONENTIAL] = SIM_EXPONENTIAL,
		[MODEL_ERLANG] = SIM_ERLANG,
	};
	double scale = 1, a = 0, b = 0;
	int code = 0;
	if (dist->scale.formula || dist->scale.value != 0)
		code = evaluate(graph, &dist->scale, MODEL_NUMBER, &scale, err);
	if (code < 0)
		return code;
	if (dist->kind == MODEL_QUANTILES)
		return make_quantiles(graph, dist, scale * 1e9, ret, err);
	if (dist->kind != MODEL_NO_TIME)
		code = evaluate(graph, &dist->a, MODEL_TIME, &a, err);
	if (code == 0 && dist->kind == MODEL_UNIFORM)
		code = evaluate(graph, &dist->b, MODEL_TIME, &b, err);
	b *= scale * 1e9;
	if (code == 0 && dist->kind == MODEL_ERLANG)
		code = evaluate(graph, &dist->b, MODEL_NUMBER, &b, err);
	if (code == 0)
		*ret = (struct sim_dist){ .kind = kinds[dist->kind], .a = a * scale * 1e9, .b = b };
	return code;
}

/* A deck of as many outcomes as the fragment draws; *ret is NULL if each draw is independent. */
static int make_deck(struct graph *graph, const struct model_fragment *from, const double *shares,
	uint32_t count, uint32_t last, struct deck **ret, struct err *err)
{
	uint64_t draws = 0;
	int code = evaluate_whole(graph, &from->draws, &draws, err);
	*ret = NULL;
	if (code < 0 || draws == 0 || count < 2)
		return code;
	return deck_new(graph->memory, shares, count, draws, last, ret) < 0 ? out_of_memory(err)
									    : 0;
}

static int make_count_deck(struct graph *graph, const struct model_fragment *from,
	struct graph_count *ret, struct err *err)
{
	AUTO_FREE double *shares = calloc(ret->entry_count + 1, sizeof *shares);
	if (!shares)
		return out_of_memory(err);
	for (uint32_t i = 0; i < ret->entry_count; i++)
		shares[i] = ret->entries[i].probability;
	return make_deck(graph, from, shares, ret->entry_count, MODEL_NONE, &ret->deck, err);
}

/* A loop of 1.25 turns is one of 2 each fourth time. */
static int make_turns(struct graph *graph, const struct model_value *value, struct graph_count *ret,
	struct err *err)
{
	double number;
	int code = evaluate(graph, value, MODEL_NUMBER, &number, err);
	if (code < 0 || !(number > 0))
		return code;
	ret->fixed = (uint64_t)number;
	ret->fraction = number - (double)ret->fixed;
	if (ret->fraction == 0)
		return 0;
	ret->owed = model_alloc(graph->memory, 1, sizeof *ret->owed);
	return ret->owed ? 0 : out_of_memory(err);
}

static int make_count(struct graph *graph, const struct model_fragment *from,
	struct graph_count *ret, struct err *err)
{
	const struct model_count *count = &from->count;
	bool is_given = count->entry_count || count->value.formula || count->value.value != 0;
	*ret = (struct graph_count){ .entries = count->entries, .entry_count = count->entry_count };
	if (!is_given)
		ret->fixed = from->op != MODEL_IO && from->op != MODEL_LOOP;
	if (count->entry_count)
		return make_count_deck(graph, from, ret, err);
	if (!is_given)
		return 0;
	return from->op == MODEL_LOOP ? make_turns(graph, &count->value, ret, err)
				      : evaluate_whole(graph, &count->value, &ret->fixed, err);
}

static int make_edges(struct graph *graph, const struct model_fragment *from,
	struct graph_fragment *to, struct err *err)
{
	to->edges = model_alloc(graph->memory, from->edge_count + 1, sizeof *to->edges);
	AUTO_FREE double *shares = calloc(from->edge_count + 1, sizeof *shares);
	if (!to->edges || !shares)
		return out_of_memory(err);
	double sum = 0;
	uint32_t last = MODEL_NONE;
	for (uint32_t i = 0; i < from->edge_count; i++) {
		double probability;
		int code = evaluate(
			graph, &from->edges[i].probability, MODEL_NUMBER, &probability, err);
		if (code < 0)
			return code;
		if (probability <= 0 && from->order_count == 0)
			continue;
		sum += probability;
		shares[to->edge_count] = probability;
		last = i == from->last ? to->edge_count : last;
		to->edges[to->edge_count++] = (struct graph_edge){ from->edges[i].to, sum };
	}
	for (uint32_t i = 0; i < to->edge_count; i++)
		to->edges[i].up_to /= sum;
	return make_deck(graph, from, shares, to->edge_count, last, &to->deck, err);
}

static int make_order(struct graph *graph, const struct model_fragment *from,
	struct graph_fragment *to, struct err *err)
{
	uint64_t sum = 0;
	if (from->order_count == 0)
		return 0;
	to->order = from->order;
	to->order_count = from->order_count;
	to->order_up_to = model_alloc(graph->memory, from->order_count, sizeof *to->order_up_to);
	if (!to->order_up_to)
		return out_of_memory(err);
	for (uint32_t i = 0; i < from->order_count; i++)
		to->order_up_to[i] = sum += from->order[i].times;
	return 0;
}

static enum sim_op_kind lock_kind(enum model_object_kind object, enum model_op op)
{
	bool is_unlock = op == MODEL_UNLOCK;
	switch (object) {
	case MODEL_SPIN:
		return is_unlock ? SIM_SPIN_UNLOCK : SIM_SPIN_LOCK;
	case MODEL_RWLOCK:
		return is_unlock ? SIM_RW_UNLOCK : SIM_WRITE_LOCK;
	default:
		return is_unlock ? SIM_UNLOCK : SIM_LOCK;
	}
}

static enum sim_op_kind make_kind(const struct graph *graph, const struct model_fragment *from)
{
	static const enum sim_op_kind kinds[MODEL_OPS] = {
		[MODEL_TRY_LOCK] = SIM_TRY_LOCK,
		[MODEL_READ_LOCK] = SIM_READ_LOCK,
		[MODEL_ARRIVE] = SIM_BARRIER,
		[MODEL_WAIT] = SIM_COND_WAIT,
		[MODEL_SIGNAL] = SIM_SIGNAL,
		[MODEL_BROADCAST] = SIM_BROADCAST,
		[MODEL_ACQUIRE] = SIM_SEM_WAIT,
		[MODEL_POST] = SIM_SEM_POST,
		[MODEL_PUT] = SIM_PUT,
		[MODEL_GET] = SIM_GET,
		[MODEL_TRY_PUT] = SIM_TRY_PUT,
		[MODEL_TRY_GET] = SIM_TRY_GET,
		[MODEL_CLOSE] = SIM_CLOSE,
		[MODEL_TAKE] = SIM_TAKE,
		[MODEL_GIVE] = SIM_GIVE,
		[MODEL_IO] = SIM_DISK,
		[MODEL_SLEEP] = SIM_SLEEP,
		[MODEL_SPAWN] = SIM_SPAWN,
		[MODEL_JOIN] = SIM_JOIN,
		[MODEL_BEGIN] = SIM_REQUEST_BEGIN,
		[MODEL_END] = SIM_REQUEST_END,
		[MODEL_FAIL] = SIM_REQUEST_END,
		[MODEL_TICK] = SIM_TICK,
		[MODEL_YIELD] = SIM_YIELD,
	};
	if (from->op == MODEL_LOCK || from->op == MODEL_UNLOCK)
		return lock_kind(graph->model->objects[from->object].kind, from->op);
	return kinds[from->op];
}

/* Parts of a distribution of which each comes equally often. */
static int make_cpu_deck(struct graph *graph, uint64_t visits, struct graph_fragment *to)
{
	enum { PARTS_MAX = 1024 };
	uint32_t parts = visits < PARTS_MAX ? (uint32_t)visits : PARTS_MAX;
	if (parts < 2 || to->cpu.kind != SIM_EMPIRICAL)
		return 0;
	AUTO_FREE double *shares = calloc(parts, sizeof *shares);
	if (!shares)
		return -ENOMEM;
	for (uint32_t i = 0; i < parts; i++)
		shares[i] = 1.0 / parts;
	to->cpu_parts = parts;
	return deck_new(graph->memory, shares, parts, parts, MODEL_NONE, &to->cpu_deck);
}

static int make_visits(struct graph *graph, const struct model_fragment *from,
	struct graph_fragment *to, struct err *err)
{
	uint64_t visits = 0;
	int code = evaluate_whole(graph, &from->visits, &visits, err);
	if (code == 0 && make_cpu_deck(graph, visits, to) < 0)
		return out_of_memory(err);
	if (code < 0 || from->course.factor_count == 0)
		return code;
	to->course = (struct graph_course){ .factors = from->course.factors,
		.factor_count = from->course.factor_count,
		.visits = visits > 0 ? (double)visits : 1 };
	return evaluate_whole(graph, &from->course.threads, &to->course.threads, err);
}

static int make_fragment(struct graph *graph, const struct model_fragment *from,
	struct graph_fragment *to, struct err *err)
{
	bool is_group = from->op == MODEL_SPAWN || from->op == MODEL_JOIN;
	*to = (struct graph_fragment){
		.op = from->op,
		.kind = make_kind(graph, from),
		.object = is_group || from->object == MODEL_NONE
				  ? from->object
				  : graph->objects[from->object].number,
		.instances = is_group || from->object == MODEL_NONE
				     ? 1
				     : graph->objects[from->object].instances,
		.other = from->op == MODEL_WAIT ? graph->objects[from->other].number : from->other,
		.has_cpu = from->cpu.kind != MODEL_NO_TIME,
		.is_plain = from->is_plain,
		.is_for_all = from->is_for_all,
		.hands_on = from->hands_on,
		.is_background = from->is_background,
		.is_paced = from->is_paced,
		.most = from->takes_all ? UINT64_MAX : 1,
		.by_taken = from->by_taken,
		.less = from->less,
		.is_together = from->is_together,
		.otherwise = from->otherwise,
		.body = from->body,
		.part = from->part,
	};
	if (!is_group && from->object != MODEL_NONE) {
		to->is_reply = graph->model->objects[from->object].are_replies;
		to->is_call = graph->model->objects[from->object].are_calls;
		to->up_to = graph->objects[from->object].up_to;
		to->share_count = graph->model->objects[from->object].share_count;
	}
	int code = make_dist(graph, &from->cpu, &to->cpu, err);
	if (code == 0)
		code = make_visits(graph, from, to, err);
	if (code == 0)
		code = make_dist(graph, &from->time, &to->time, err);
	if (code == 0)
		code = make_count(graph, from, &to->count, err);
	if (code == 0 && (from->up_to.formula || from->up_to.value != 0))
		code = evaluate_whole(graph, &from->up_to, &to->most, err);
	if (code == 0)
		code = make_order(graph, from, to, err);
	return code < 0 ? code : make_edges(graph, from, to, err);
}

static int make_affinity(struct graph *graph, const struct model_group *from,
	struct graph_group *to, struct err *err)
{
	if (!from->core_count)
		return 0;
	to->cores = model_alloc(graph->memory, (MODEL_CORES_MAX + 63) / 64, sizeof *to->cores);
	if (!to->cores)
		return out_of_memory(err);
	for (uint32_t i = 0; i < from->core_count; i++) {
		if (graph->cores && from->cores[i] >= graph->cores)
			return err_set(err, -EINVAL,
				"%s:%u: '%s' may use core %u, and there are %u",
				graph->model->file ? graph->model->file : "model", from->line,
				from->name, from->cores[i], graph->cores);
		to->cores[from->cores[i] / 64] |= UINT64_C(1) << (from->cores[i] % 64);
	}
	return 0;
}

static int make_group(struct graph *graph, size_t index, struct err *err)
{
	const struct model_group *from = &graph->model->groups[index];
	struct graph_group *to = &graph->groups[index];
	to->fragments = model_alloc(graph->memory, from->fragment_count, sizeof *to->fragments);
	if (!to->fragments)
		return out_of_memory(err);
	to->fragment_count = from->fragment_count;
	to->start = from->start;
	uint64_t count = 0;
	int code = evaluate_whole(graph, &from->count, &count, err);
	to->thread_count = (uint32_t)count;
	for (uint32_t i = 0; code == 0 && i < from->fragment_count; i++) {
		struct graph_fragment *fragment = &to->fragments[i];
		code = make_fragment(graph, &from->fragments[i], fragment, err);
		fragment->tally_at = graph_fragment_at(graph->model, index, i);
		if (fragment->op == MODEL_LOOP)
			fragment->loop = to->loop_count++;
		if (fragment->course.threads > 0)
			fragment->course.index = to->course_count++;
		if (fragment->order)
			fragment->order_index = to->course_count++;
		to->asks |= fragment->is_reply &&
			    (fragment->op == MODEL_GET || fragment->op == MODEL_TRY_GET);
	}
	return code < 0 ? code : make_affinity(graph, from, to, err);
}

int graph_compile(struct graph *graph, struct err *err)
{
	graph->groups =
		model_alloc(graph->memory, graph->model->group_count, sizeof *graph->groups);
	if (!graph->groups)
		return out_of_memory(err);
	int code = 0;
	for (size_t i = 0; code == 0 && i < graph->model->group_count; i++) {
		code = make_group(graph, i, err);
		graph->has_replies |= graph->groups[i].asks;
	}
	return code;
}

static int add_disk(struct graph *graph, const struct model_object *object, uint64_t size,
	uint32_t *ret, struct err *err)
{
	double latency_s = 0;
	int code = evaluate(graph, &object->latency, MODEL_TIME, &latency_s, err);
	if (code < 0)
		return code;
	struct sim_dist *service = model_alloc(graph->memory, object->class_count, sizeof *service);
	if (!service)
		return out_of_memory(err);
	for (uint32_t i = 0; i < object->class_count; i++) {
		code = make_dist(graph, &object->classes[i].service, &service[i], err);
		if (code < 0)
			return code;
	}
	if (size > SIM_DISK_PARALLELISM_MAX)
		return err_set(err, -EINVAL, "disk '%s' serves %llu requests at once: %d at most",
			object->name, (unsigned long long)size, SIM_DISK_PARALLELISM_MAX);
	const struct sim_disk_options options = {
		.parallelism = (uint32_t)size,
		.service = service,
		.class_count = object->class_count,
		.order = object->order,
		.latency_ns = (uint64_t)(latency_s * 1e9 + 0.5),
	};
	code = sim_add_disk(graph->sim, object->name, &options, ret);
	return code == -EINVAL ? err_set(err, code, "disk '%s' is not possible", object->name)
			       : code;
}

/* As many as there are instances, numbered one after the other. */
static int add_locks(
	struct graph *graph, const struct model_object *object, struct graph_object *ret)
{
	struct sim *sim = graph->sim;
	int code = 0;
	double sum = 0;
	ret->up_to = model_alloc(graph->memory, object->share_count + 1, sizeof *ret->up_to);
	if (!ret->up_to)
		return -ENOMEM;
	for (uint32_t i = 0; i < object->share_count; i++)
		ret->up_to[i] = sum += object->shares[i];
	for (uint32_t i = 0; i < ret->instances && code == 0; i++) {
		uint32_t number = 0;
		if (object->kind == MODEL_MUTEX)
			code = sim_add_mutex(sim, object->name, &number);
		else if (object->kind == MODEL_SPIN)
			code = sim_add_spin(sim, object->name, &number);
		else
			code = sim_add_rwlock(
				sim, object->name, object->has_writers_first, &number);
		ret->number = i == 0 ? number : ret->number;
	}
	ret->kind = object->kind == MODEL_MUTEX  ? SIM_MUTEX
		    : object->kind == MODEL_SPIN ? SIM_SPIN
						 : SIM_RWLOCK;
	return code;
}

/* Barriers stand before queues in a model. */
static int set_refill(
	struct graph *graph, const struct model_object *queue, uint32_t number, struct err *err)
{
	uint64_t items = 0;
	if (queue->refilled_by == MODEL_NONE)
		return 0;
	int code = evaluate_whole(graph, &queue->initial, &items, err);
	return code < 0 || items == 0 ? code
				      : sim_set_refill(graph->sim, number,
						graph->objects[queue->refilled_by].number, items);
}

static int add_queues(struct graph *graph, const struct model_object *object, uint64_t capacity,
	struct graph_object *ret, struct err *err)
{
	struct sim *sim = graph->sim;
	uint64_t instances = 0;
	int code = evaluate_whole(graph, &object->instances, &instances, err);
	ret->kind = SIM_QUEUE;
	ret->instances = instances > 1 ? (uint32_t)instances : 1;
	for (uint32_t i = 0; i < ret->instances && code == 0; i++) {
		uint32_t number = 0;
		code = sim_add_queue(sim, object->name, capacity, &number);
		if (code == 0 && (object->lends || object->are_signals))
			code = sim_set_lending(sim, SIM_QUEUE, number,
				object->are_signals || object->lends_any ? 0 : SIM_LENT_OF);
		ret->number = i == 0 ? number : ret->number;
	}
	return code == 0 ? set_refill(graph, object, ret->number, err) : code;
}

/* OpenMP's runtimes spin only where they have as many cores as threads. */
static int add_barrier(struct graph *graph, const struct model_object *object, uint32_t threads,
	struct graph_object *ret, struct err *err)
{
	uint64_t spins_ns = 0;
	int code = evaluate_ns(graph, &object->spins, &spins_ns, err);
	ret->kind = SIM_BARRIERS;
	if (code == 0)
		code = sim_add_barrier(graph->sim, object->name, threads, &ret->number);
	bool has_cores = graph->cores == 0 || threads <= graph->cores;
	return code == 0 && spins_ns > 0 && has_cores
		       ? sim_set_spinning(graph->sim, SIM_BARRIERS, ret->number, spins_ns)
		       : code;
}

static int add_object(struct graph *graph, size_t index, struct err *err)
{
	const struct model_object *object = &graph->model->objects[index];
	struct graph_object *ret = &graph->objects[index];
	struct sim *sim = graph->sim;
	const char *name = object->name;
	uint64_t size = 0;
	int code = evaluate_whole(graph, &object->size, &size, err);
	if (code < 0)
		return code;
	ret->instances = 1;
	switch (object->kind) {
	case MODEL_MUTEX:
	case MODEL_SPIN:
	case MODEL_RWLOCK:
		ret->instances = size > 1 ? (uint32_t)size : 1;
		return add_locks(graph, object, ret);
	case MODEL_BARRIER:
		return add_barrier(graph, object, (uint32_t)size, ret, err);
	case MODEL_CONDITION:
		ret->kind = SIM_COND;
		return sim_add_cond(sim, name, &ret->number);
	case MODEL_SEMAPHORE:
		ret->kind = SIM_SEM;
		code = sim_add_sem(sim, name, size, &ret->number);
		return code == 0 && object->lends
			       ? sim_set_lending(sim, SIM_SEM, ret->number, SIM_LENT_OF)
			       : code;
	case MODEL_QUEUE:
		return add_queues(graph, object, size, ret, err);
	case MODEL_LIMIT:
		ret->kind = SIM_LIMIT;
		code = sim_add_limit(sim, name, size, &ret->number);
		return code == 0 && object->lends
			       ? sim_set_lending(sim, SIM_LIMIT, ret->number, SIM_LENT_OF)
			       : code;
	default:
		ret->kind = SIM_DISKS;
		return add_disk(graph, object, size, &ret->number, err);
	}
}

static int make_times(struct graph *graph, const struct model_source *from,
	struct sim_source_options *ret, struct err *err)
{
	uint64_t *times = model_alloc(graph->memory, from->time_count, sizeof *times);
	if (!times)
		return out_of_memory(err);
	for (size_t i = 0; i < from->time_count; i++)
		times[i] = (uint64_t)(from->times[i] * 1e9 + 0.5);
	ret->times = times;
	if (!ret->limit || ret->limit > from->time_count)
		ret->limit = from->time_count;
	return 0;
}

static int add_source(struct graph *graph, const struct model_source *from, struct err *err)
{
	static const enum sim_source_kind kinds[] = {
		[MODEL_POISSON] = SIM_POISSON,
		[MODEL_INTERVALS] = SIM_INTERVALS,
		[MODEL_CLOSED] = SIM_CLOSED,
		[MODEL_ARRIVALS] = SIM_ARRIVALS,
		[MODEL_BATCH] = SIM_BATCH,
	};
	struct sim_source_options options = {
		.kind = kinds[from->kind],
		.queue = graph->objects[from->queue].number,
		.queues = graph->objects[from->queue].instances,
		.resource = from->limit == MODEL_NONE ? (uint32_t)SIM_NONE
						      : graph->objects[from->limit].number,
		.does_wait_for_room = from->does_wait_for_room,
	};
	double rate = 1;
	uint64_t clients = 0;
	int code = evaluate_whole(graph, &from->requests, &options.limit, err);
	if (code == 0)
		code = make_dist(graph, &from->interval, &options.interval, err);
	if (code == 0 && from->kind == MODEL_POISSON)
		code = evaluate(graph, &from->rate, MODEL_RATE, &rate, err);
	if (from->kind == MODEL_POISSON)
		options.interval = (struct sim_dist){ .kind = SIM_EXPONENTIAL, .a = 1e9 / rate };
	if (code == 0 && from->kind == MODEL_CLOSED)
		code = evaluate_whole(graph, &from->clients, &clients, err);
	options.population = (uint32_t)clients;
	options.way_ns = graph->way_ns;
	if (code == 0 && from->kind == MODEL_ARRIVALS)
		code = make_times(graph, from, &options, err);
	if (code < 0)
		return code;
	uint32_t number;
	code = sim_add_source(graph->sim, from->name, &options, &number);
	return code == -EINVAL ? err_set(err, code, "source '%s' is not possible", from->name)
			       : code;
}

int graph_add_objects(struct graph *graph, struct err *err)
{
	const struct model *model = graph->model;
	graph->objects =
		model_alloc(graph->memory, model->object_count + 1, sizeof *graph->objects);
	if (!graph->objects)
		return out_of_memory(err);
	int code = evaluate_ns(graph, &model->way, &graph->way_ns, err);
	for (size_t i = 0; code == 0 && i < model->object_count; i++)
		code = add_object(graph, i, err);
	for (size_t i = 0; code == 0 && i < model->source_count; i++)
		code = add_source(graph, &model->sources[i], err);
	return code == -ENOMEM ? out_of_memory(err) : code;
}

static int make_speeds(struct graph *graph, double **ret, struct err *err)
{
	const struct model_hardware *hardware = &graph->model->hardware;
	double *speeds = model_alloc(graph->memory, graph->cores + 1, sizeof *speeds);
	if (!speeds)
		return out_of_memory(err);
	for (uint32_t i = 0; i < graph->cores; i++)
		speeds[i] = i < hardware->speed_count ? hardware->speeds[i] : 1;
	*ret = speeds;
	return 0;
}

int graph_options_of(
	struct graph *graph, struct sim_options *ret, uint64_t *ret_total, struct err *err)
{
	const struct model_hardware *hardware = &graph->model->hardware;
	uint64_t cores = 0, initial = 0;
	double *speeds = NULL;
	int code = evaluate_whole(graph, &hardware->cores, &cores, err);
	graph->cores = (uint32_t)cores;
	if (code == 0)
		code = make_speeds(graph, &speeds, err);
	if (code == 0)
		code = make_dist(graph, &hardware->quantum, &ret->quantum, err);
	if (code == 0)
		code = evaluate_ns(graph, &hardware->switch_time, &ret->kernel.switch_ns, err);
	if (code == 0)
		code = make_dist(graph, &hardware->wake, &ret->kernel.wake, err);
	if (code == 0)
		code = evaluate_ns(graph, &hardware->wake_cost, &ret->kernel.wake_cost_ns, err);
	if (code == 0)
		code = evaluate_ns(graph, &hardware->doze_time, &ret->kernel.doze_ns, err);
	for (size_t i = 0; code == 0 && i < graph->model->object_count; i++) {
		code = evaluate_whole(graph, &graph->model->objects[i].initial, &initial, err);
		*ret_total += initial;
	}
	ret->cores = graph->cores;
	ret->speed = graph->cores ? speeds : NULL;
	ret->threads_per_core = hardware->threads_per_core;
	ret->smt_factor = hardware->smt_factor;
	ret->scheduler = hardware->is_round_robin ? SIM_ROUND_ROBIN : SIM_FAIR;
	return code;
}
