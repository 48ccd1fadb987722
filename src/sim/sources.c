/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests from outside: made, refused, ended. */
#include "sim/requests.h"

#include <errno.h>

static uint64_t draw(struct sim *sim, const struct source *source)
{
	return sim_draw(&source->options.interval, &sim->rng);
}

static bool is_dry(const struct source *source)
{
	const struct sim_source_options *options = &source->options;
	return options->limit > 0 && source->made >= options->limit;
}

/* When the next one comes, after the one at this moment. Of a closed source: a client's. */
static int schedule(struct sim *sim, struct source *source, uint32_t client)
{
	switch (source->options.kind) {
	case SIM_POISSON:
	case SIM_INTERVALS:
		return timer_set(sim, source->first_timer, sim->now_ns + draw(sim, source));
	case SIM_CLOSED:
		return timer_set(sim, source->first_timer + client,
			sim->now_ns + draw(sim, source) + source->options.way_ns);
	case SIM_ARRIVALS: {
		uint64_t time_ns = source->options.times[source->made];
		return timer_set(
			sim, source->first_timer, time_ns > sim->now_ns ? time_ns : sim->now_ns);
	}
	case SIM_BATCH:
		return timer_set(sim, source->first_timer, sim->now_ns);
	}
	return 0;
}

static void end(struct sim *sim, const struct request *request, int status)
{
	if (sim->program.request_ended)
		sim->program.request_ended(sim->program.context, request->number, request->begin_ns,
			sim->now_ns, status);
}

static int refuse(struct sim *sim, struct source *source, const struct request *request, int status)
{
	source->object.refused++;
	end(sim, request, status);
	return source->options.kind == SIM_CLOSED && !source->is_dry
		       ? schedule(sim, source, request->client)
		       : 0;
}

/* It waits for room, in order of arrival among the sources of its queue. */
static void hold(struct sim *sim, struct queue *queue, uint32_t number, uint64_t item)
{
	struct source *source = &sim->sources.all[number];
	source->held[(source->held_first + source->held_count++) % source->held_capacity] = item;
	if (source->held_count > 1)
		return;
	uint32_t *link = &queue->held_source;
	while (*link != SIM_NONE)
		link = &sim->sources.all[*link].next_held;
	*link = number;
	source->next_held = SIM_NONE;
}

static uint32_t queue_of(const struct source *source, const struct request *request)
{
	const struct sim_source_options *options = &source->options;
	uint64_t turn = options->kind == SIM_CLOSED ? request->client : source->made;
	return options->queue + (options->queues > 1 ? (uint32_t)(turn % options->queues) : 0);
}

/* Into the queue, or refused. *ret_is_held: it waits for room instead. */
static int enter(struct sim *sim, uint32_t number, const struct request *request, bool *ret_is_held)
{
	struct source *source = &sim->sources.all[number];
	struct queue *queue = &sim->queues.all[queue_of(source, request)];
	struct limit *limit = source->options.resource == SIM_NONE
				      ? NULL
				      : &sim->limits.all[source->options.resource];
	if (limit && !limit_take(sim, limit))
		return refuse(sim, source, request, -EMFILE);
	int code = queue_put(sim, queue, request->number, 0);
	if (code == -EAGAIN && source->options.does_wait_for_room) {
		hold(sim, queue, number, request->number);
		*ret_is_held = true;
		code = 0;
	} else if (code == -EAGAIN || code == -EPIPE) {
		queue->object.refused++;
		if (limit)
			object_set_length(sim, &limit->object, --limit->used);
		return refuse(sim, source, request, code);
	} else if (code == 0) {
		queue->object.uses++;
	}
	return code < 0 ? code : requests_add(sim, request);
}

int source_timer(struct sim *sim, uint32_t number, uint32_t client)
{
	struct source *source = &sim->sources.all[number];
	if (source->is_dry) /* a client whose request would be one too many */
		return 0;
	struct request request = { .number = ++sim->request_made,
		.begin_ns = sim->now_ns,
		.source = number,
		.client = client };
	source->object.uses++;
	source->made++;
	if (is_dry(source)) {
		source->is_dry = true;
		sim->sources_alive--;
	}
	bool is_held = false;
	int code = enter(sim, number, &request, &is_held);
	if (code < 0 || source->is_dry || is_held || source->options.kind == SIM_CLOSED)
		return code;
	return schedule(sim, source, 0);
}

int source_has_room(struct sim *sim, struct queue *queue)
{
	if (queue->held_source == SIM_NONE)
		return 0;
	struct source *source = &sim->sources.all[queue->held_source];
	uint64_t item = source->held[source->held_first];
	source->held_first = (source->held_first + 1) % source->held_capacity;
	if (--source->held_count == 0)
		queue->held_source = source->next_held;
	int code = queue_put(sim, queue, item, 0);
	if (code < 0)
		return code;
	queue->object.uses++;
	return source->is_dry || source->options.kind == SIM_CLOSED ? 0 : schedule(sim, source, 0);
}

int sources_start(struct sim *sim)
{
	for (size_t i = 0; i < sim->sources.count; i++) {
		int code = source_start(sim, (uint32_t)i);
		if (code < 0)
			return code;
	}
	return 0;
}

int source_start(struct sim *sim, uint32_t number)
{
	struct source *source = &sim->sources.all[number];
	sim->sources_alive++;
	uint32_t clients = source->options.kind == SIM_CLOSED ? source->options.population : 1;
	int code = 0;
	for (uint32_t i = 0; i < clients && code == 0; i++)
		code = schedule(sim, source, i);
	return code;
}

int op_request_begin(struct sim *sim, struct sim_thread *thread)
{
	emit(sim, thread, EVENT_REQUEST_BEGIN, &(struct subject){ .value = thread->op.item });
	return OP_DONE;
}

int op_request_end(struct sim *sim, struct sim_thread *thread)
{
	emit(sim, thread, EVENT_REQUEST_END, &(struct subject){ .value = thread->op.item });
	struct request request;
	if (!requests_take(sim, thread->op.item, &request))
		return OP_DONE; /* one that the plug began itself */
	struct source *source = &sim->sources.all[request.source];
	if (source->options.resource != SIM_NONE) {
		struct limit *limit = &sim->limits.all[source->options.resource];
		object_set_length(sim, &limit->object, --limit->used);
	}
	end(sim, &request, (int)(int64_t)thread->op.amount);
	return source->options.kind == SIM_CLOSED && !source->is_dry
		       ? schedule(sim, source, request.client)
		       : 0;
}
