/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/requests.h"

#include "base/mem.h"
#include "builder/answers.h"
#include "builder/clients.h"
#include "builder/handed.h"
#include "builder/lingering.h"

#include <errno.h>
#include <stdlib.h>

void build_requests_release(struct build_requests *requests)
{
	free(requests->intervals_s);
	free(requests->thinking_s);
	*requests = (struct build_requests){ 0 };
}

static bool is_accept(const struct build_step *step)
{
	return step->op == STEP_IO && step->count == EVENT_IO_ACCEPT;
}

/* A wait for a timer or an eventfd is for what the program itself does. */
static bool is_for_input(const struct build_step *step)
{
	return step->op == STEP_IO && step->count != EVENT_IO_OTHER;
}

/* Whether most of the requests that the thread begins come after a wait for input. */
static bool gets_from_outside(const struct build_thread *thread)
{
	uint64_t begun = 0, outside = 0;
	for (size_t i = 0; i < thread->step_count; i++) {
		const struct build_step *step = &thread->steps[i];
		if (step->op != STEP_BEGIN)
			continue;
		begun++;
		outside += step->flags & STEP_FROM_OUTSIDE ||
			   (i > 0 && is_for_input(&thread->steps[i - 1]));
	}
	return outside * 2 > begun;
}

static int add_arrivals(struct build_trace *trace, uint32_t pid, uint32_t *ret)
{
	return build_add_object(trace,
		(struct build_object){ .pid = pid, .what = WHAT_QUEUE, .name = "arrivals" }, ret);
}

/*
 * A wait for the next request, which the queue replaces: for a connection, just before a request that begins, or
 * (`is_open` false) anywhere between two requests that come over connections.
 */
static bool is_for_arrival(const struct build_thread *thread, size_t step, bool is_open)
{
	const struct build_step *wait = &thread->steps[step];
	if (wait->op != STEP_IO)
		return false;
	return is_accept(wait) || !is_open ||
	       (step + 1 < thread->step_count && thread->steps[step + 1].op == STEP_BEGIN);
}

static bool has_step(const struct build_thread *thread, enum step_op op)
{
	for (size_t i = 0; i < thread->step_count; i++)
		if (thread->steps[i].op == op)
			return true;
	return false;
}

/* What a thread does after its last request, which it ends or hands on, is no part of serving (the server is stopped). */
static void leave_out_end(struct build_thread *thread)
{
	uint8_t last = has_step(thread, STEP_END) ? STEP_END : STEP_PUT;
	while (thread->step_count > 0 && thread->steps[thread->step_count - 1].op != last)
		thread->step_count--;
	thread->has_exited = false;
}

static void take_arrivals(struct build_thread *thread, uint32_t arrivals, bool are_over)
{
	if (are_over)
		leave_out_end(thread);
	struct build_rewrite rewrite = { .thread = thread };
	bool is_open = !are_over;
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step step = thread->steps[i];
		if (are_over && (step.op == STEP_BEGIN || step.op == STEP_END))
			is_open = step.op == STEP_BEGIN;
		if (is_for_arrival(thread, i, is_open)) {
			rewrite_leave_out(&rewrite, step);
			continue;
		}
		if (step.op == STEP_BEGIN) {
			step.op = STEP_GET;
			step.object = arrivals;
			step.flags = STEP_FROM_OUTSIDE;
			step.site = 0;
			step.count = 1;
		}
		rewrite_keep(&rewrite, step);
	}
	rewrite_end(&rewrite);
}

static int compare_by_number(const void *left, const void *right)
{
	const struct build_moment *a = left, *b = right;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->is_end - b->is_end;
}

static int compare_by_time(const void *left, const void *right)
{
	const struct build_moment *a = left, *b = right;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static int collect(const struct build_trace *trace, struct build_moment **ret, size_t *ret_count)
{
	size_t capacity = 0;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (step->op != STEP_BEGIN && step->op != STEP_END)
				continue;
			if (mem_grow(ret, &capacity, *ret_count + 1, sizeof **ret) < 0)
				return -ENOMEM;
			(*ret)[(*ret_count)++] = (struct build_moment){ step->section,
				step->begin_ns, step->count, (uint32_t)i, step->op == STEP_END };
		}
	return 0;
}

/* Whether a thread begins a request only when the one before is over, and has any. */
static bool has_one_at_a_time(const struct build_thread *thread)
{
	bool has_any = false, is_open = false;
	for (size_t i = 0; i < thread->step_count; i++) {
		uint8_t op = thread->steps[i].op;
		if (op == STEP_BEGIN && is_open)
			return false;
		if (op == STEP_BEGIN || op == STEP_END)
			is_open = op == STEP_BEGIN;
		has_any |= is_open;
	}
	return has_any;
}

/* Whether a thread that ends one request was begun for that by who began it. */
static bool is_made_for(const struct build_trace *trace, const struct build_moment *begin,
	const struct build_moment *end)
{
	const struct build_thread *thread = &trace->threads[end->thread];
	size_t ends = 0;
	if (thread->parent != begin->thread || thread->start_ns < begin->time_ns ||
		thread->start_ns > end->time_ns)
		return false;
	for (size_t i = 0; i < thread->step_count; i++)
		ends += thread->steps[i].op == STEP_END;
	return ends == 1;
}

/* The begin of the request that ends there, if its is the moment before; NULL. Moments by number. */
static const struct build_moment *begin_of(const struct build_moment *moments, size_t end)
{
	bool is_pair = end > 0 && moments[end].is_end && !moments[end - 1].is_end &&
		       moments[end - 1].number == moments[end].number;
	return is_pair ? &moments[end - 1] : NULL;
}

/* Who keeps the requests that it begins, or was begun with, or begins threads with; moments by number. */
static void find_keepers(
	struct build_trace *trace, const struct build_moment *moments, size_t count)
{
	for (size_t i = 0; i < trace->thread_count; i++)
		trace->threads[i].keeps_requests = has_one_at_a_time(&trace->threads[i]);
	for (size_t i = 0; i < count; i++) {
		const struct build_moment *begin = begin_of(moments, i);
		struct build_thread *ender = &trace->threads[moments[i].thread];
		if (begin && is_made_for(trace, begin, &moments[i]))
			ender->has_request_at_first = ender->keeps_requests =
				trace->threads[begin->thread].keeps_requests = true;
	}
	for (size_t i = 0; i < count; i++) {
		const struct build_moment *begin = begin_of(moments, i);
		if (begin && begin->thread != moments[i].thread &&
			!trace->threads[moments[i].thread].has_request_at_first)
			trace->threads[begin->thread].keeps_requests = false;
	}
}

/* Mean response and throughput; then the intervals between arrivals. */
static int measure(struct build_trace *trace, struct build_moment *moments, size_t count,
	struct build_requests *ret)
{
	double sum_s = 0;
	uint64_t first = UINT64_MAX, last = 0;
	ret->intervals_s = calloc(count + 1, sizeof *ret->intervals_s);
	if (!ret->intervals_s)
		return -ENOMEM;
	qsort(moments, count, sizeof *moments, compare_by_number);
	find_keepers(trace, moments, count);
	for (size_t i = 0; i < count; i++) {
		const struct build_moment *m = &moments[i];
		first = m->time_ns < first ? m->time_ns : first;
		last = m->is_end && m->time_ns > last ? m->time_ns : last;
		ret->begun += !m->is_end;
		if (!m->is_end && m->time_ns > ret->last_ns)
			ret->last_ns = m->time_ns;
		const struct build_moment *begin = begin_of(moments, i);
		if (!begin)
			continue;
		sum_s += (double)(m->time_ns - begin->time_ns) * 1e-9;
		ret->ended++;
	}
	ret->first_ns = first;
	ret->response_s = ret->ended > 0 ? sum_s / (double)ret->ended : 0;
	if (last > first)
		ret->throughput_per_s = (double)ret->ended / ((double)(last - first) * 1e-9);
	qsort(moments, count, sizeof *moments, compare_by_time);
	uint64_t before = 0;
	for (size_t i = 0; i < count; i++) {
		if (moments[i].is_end)
			continue;
		if (before > 0)
			ret->intervals_s[ret->interval_count++] =
				(double)(moments[i].time_ns - before) * 1e-9;
		before = moments[i].time_ns;
	}
	return 0;
}

/* Whether connections that all were open at once are all there were: then each stayed for many requests. */
static bool are_lasting(const struct build_trace *trace)
{
	uint64_t last_begin_ns = 0, first_end_ns = UINT64_MAX, begun = 0;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (!(step->flags & STEP_FROM_OUTSIDE) || step->flags & STEP_OVER)
				continue;
			begun += step->op == STEP_BEGIN;
			if (step->op == STEP_BEGIN && step->begin_ns > last_begin_ns)
				last_begin_ns = step->begin_ns;
			if (step->op == STEP_END && step->begin_ns < first_end_ns)
				first_end_ns = step->begin_ns;
		}
	return begun > 1 && last_begin_ns < first_end_ns;
}

/* Leaves out the requests from outside that are (or are not) what came over connections. */
static void leave_out(struct build_thread *thread, bool over)
{
	struct build_rewrite rewrite = { .thread = thread };
	for (size_t i = 0; i < thread->step_count; i++) {
		struct build_step step = thread->steps[i];
		if (step.flags & STEP_FROM_OUTSIDE && !(step.flags & STEP_OVER) == !over &&
			(step.op == STEP_BEGIN || step.op == STEP_END))
			rewrite_leave_out(&rewrite, step);
		else
			rewrite_keep(&rewrite, step);
	}
	rewrite_end(&rewrite);
}

/* Whether what came over connections is requests, and there were enough that the connections are not. */
static bool are_over_connections(const struct build_trace *trace)
{
	uint64_t connections = 0, over = 0;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			if (step->op != STEP_BEGIN || !(step->flags & STEP_FROM_OUTSIDE))
				continue;
			connections += !(step->flags & STEP_OVER);
			over += (step->flags & STEP_OVER) > 0;
		}
	return over > 0 && over >= REQUESTS_MANY * connections;
}

/* What a connection did last: in order of time, by descriptor. */
static int compare_connections(const void *left, const void *right)
{
	const struct build_moment *a = left, *b = right;
	if (a->descriptor != b->descriptor)
		return a->descriptor < b->descriptor ? -1 : 1;
	return compare_by_time(left, right);
}

/* Of the next request over the same connection the same thread takes care, in STAYING_PARTS - 1 of so many cases at least. */
enum { STAYING_PARTS = 20 };

/* Moments as compare_connections() orders them. */
static bool do_stay(const struct build_moment *moments, size_t count)
{
	const struct build_moment *before = NULL;
	size_t pairs = 0, same = 0;
	bool are_several = false;
	for (size_t i = 0; i < count; i++) {
		if (moments[i].is_end)
			continue;
		if (before && before->descriptor == moments[i].descriptor) {
			pairs++;
			same += before->thread == moments[i].thread;
		}
		are_several |= before && before->thread != moments[i].thread;
		before = &moments[i];
	}
	return are_several && pairs > 0 && same * STAYING_PARTS >= pairs * (STAYING_PARTS - 1);
}

/* A connection that is another's after it was closed thinks longer; who waits longest of a few is no matter. */
static int measure_clients(struct build_moment *moments, size_t count, struct build_requests *ret)
{
	ret->thinking_s = calloc(count + 1, sizeof *ret->thinking_s);
	if (!ret->thinking_s)
		return -ENOMEM;
	if (count > 0)
		qsort(moments, count, sizeof *moments, compare_connections);
	for (size_t i = 0; i < count; i++) {
		bool is_next = i > 0 && moments[i].descriptor == moments[i - 1].descriptor;
		ret->clients += !is_next;
		if (is_next && !moments[i].is_end && moments[i - 1].is_end)
			ret->thinking_s[ret->thinking_count++] =
				(double)(moments[i].time_ns - moments[i - 1].time_ns) * 1e-9;
	}
	ret->stay = do_stay(moments, count);
	return 0;
}

/*
 * Whether threads waited for input before they took requests, as many at a time as there are clients: else those are seen when there is time for
 * them, and that a request begins when another has ended says nothing of who asks.
 */
static bool are_awaited(const struct build_trace *trace, uint32_t at_a_time)
{
	uint64_t begun = 0, awaited = 0;
	for (size_t i = 0; i < trace->thread_count; i++) {
		const struct build_thread *thread = &trace->threads[i];
		bool has_waited = false; /* since it began or ended one */
		if (!gets_from_outside(thread))
			continue;
		for (size_t j = 0; j < thread->step_count; j++) {
			const struct build_step *step = &thread->steps[j];
			has_waited |= is_for_input(step);
			if (step->op != STEP_BEGIN && step->op != STEP_END)
				continue;
			begun += step->op == STEP_BEGIN;
			awaited += step->op == STEP_BEGIN && has_waited;
			has_waited = false;
		}
	}
	return begun > 0 && awaited * (at_a_time + 1) >= begun;
}

/* Moments in order of time. */
static int find_clients(const struct build_trace *trace, const struct build_moment *moments,
	size_t count, struct build_requests *ret)
{
	int64_t clients = build_clients_count(moments, count);
	if (clients <= 0 || !are_awaited(trace, (uint32_t)clients))
		return clients < 0 ? -ENOMEM : 0;
	ret->thinking_s = calloc(count + 1, sizeof *ret->thinking_s);
	if (!ret->thinking_s)
		return -ENOMEM;
	ret->clients = (uint32_t)clients;
	ret->thinking_count = build_clients_think(moments, count, ret->clients, ret->thinking_s);
	return 0;
}

int build_requests_find(struct build_trace *trace, struct build_requests *ret)
{
	bool are_over = are_over_connections(trace);
	ret->are_over = are_over;
	bool are_left_out = are_over || are_lasting(trace);
	for (size_t i = 0; i < trace->thread_count; i++) {
		leave_out(&trace->threads[i], !are_over);
		if (are_left_out)
			leave_out(&trace->threads[i], false);
	}
	struct build_moment *moments = NULL;
	size_t count = 0;
	int code = 0;
	ret->arrivals = BUILD_NONE;
	for (size_t i = 0; i < trace->thread_count && are_over && code == 0; i++)
		code = build_answers_order(&trace->threads[i]);
	if (code == 0)
		code = are_over ? build_handed_find(trace) : build_lingering_leave_out(trace);
	if (code == 0)
		code = collect(trace, &moments, &count);
	if (code == 0 && count > 0)
		code = measure(trace, moments, count, ret);
	if (code == 0 && are_over)
		code = measure_clients(moments, count, ret);
	else if (code == 0 && count > 0)
		code = find_clients(trace, moments, count, ret);
	free(moments);
	for (size_t i = 0; i < trace->thread_count && code == 0; i++) {
		struct build_thread *thread = &trace->threads[i];
		if (!gets_from_outside(thread))
			continue;
		if (ret->arrivals == BUILD_NONE)
			code = add_arrivals(trace, thread->pid, &ret->arrivals);
		if (code == 0)
			take_arrivals(thread, ret->arrivals, are_over);
	}
	return code;
}
