/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "builder/limiters.h"

#include "base/mem.h"
#include "base/order.h"
#include "meaning/meaning.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BURST_MAX = 64,
	CANDIDATES_MAX = 32,
	OFF_PART = 4, /* of T: sleeps end that much off at most */
	FOLLOW_PART = 8, /* of it is taken over: T is not known exactly */
};

/* Half of those that do not depend on one another are in time by chance, at most: half of what is left shows that they do. */
static const double IN_TIME = 0.75;

/* Where threads may wait for their turns, and how. */
struct candidate {
	uint32_t lock;
	uint64_t lock_site, sleep_site;
	bool looks_again;
	size_t sleeps; /* that follow one another, of which the first waits: fewer are something else */
};

/* That a thread went on: after its turn or token had come. */
struct passage {
	uint64_t time_ns, slept_ns;
	bool has_waited;
	size_t last; /* step */
};

struct passages {
	struct passage *items;
	size_t count, capacity;
};

struct limit {
	double interval_ns;
	unsigned burst;
};

static bool is_section(const struct build_thread *thread, size_t at, const struct candidate *c)
{
	const struct build_step *steps = thread->steps;
	return at + 1 < thread->step_count && steps[at].op == STEP_LOCK &&
	       steps[at].object == c->lock && steps[at].site == c->lock_site &&
	       steps[at + 1].op == STEP_UNLOCK && steps[at + 1].object == c->lock;
}

static bool is_wait(const struct build_thread *thread, size_t at, const struct candidate *c)
{
	size_t sleeps = 0;
	while (at + sleeps < thread->step_count && thread->steps[at + sleeps].op == STEP_SLEEP)
		sleeps++;
	return sleeps >= c->sleeps && thread->steps[at].site == c->sleep_site;
}

/* The passage that begins with the section at a step. */
static struct passage passage_at(
	const struct build_thread *thread, size_t at, const struct candidate *c)
{
	struct passage ret = { .last = at + 1 };
	while (is_wait(thread, ret.last + 1, c) &&
		(!c->looks_again || is_section(thread, ret.last + 2, c))) {
		ret.has_waited = true;
		ret.slept_ns += thread->steps[ret.last + 1].waited_ns;
		ret.last += c->looks_again ? 3 : 1;
		if (!c->looks_again)
			break;
	}
	const struct build_step *last = &thread->steps[ret.last];
	ret.time_ns = last->begin_ns + last->waited_ns;
	return ret;
}

static int compare_passages(const void *left, const void *right)
{
	const struct passage *a = left, *b = right;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static int find_passages(
	const struct build_trace *trace, const struct candidate *c, struct passages *ret)
{
	for (size_t i = 0; i < trace->thread_count; i++) {
		const struct build_thread *thread = &trace->threads[i];
		for (size_t j = 0; j < thread->step_count; j++) {
			if (!is_section(thread, j, c))
				continue;
			if (mem_grow(&ret->items, &ret->capacity, ret->count + 1,
				    sizeof *ret->items) < 0)
				return -ENOMEM;
			ret->items[ret->count] = passage_at(thread, j, c);
			j = ret->items[ret->count++].last;
		}
	}
	if (ret->count > 0)
		qsort(ret->items, ret->count, sizeof *ret->items, compare_passages);
	return 0;
}

/* The time between two that waited: tokens come as fast as they can; 0: too few of them. */
static double find_interval(const struct passages *passages, double *values)
{
	size_t count = 0, like = 0;
	double sum = 0;
	for (size_t i = 1; i < passages->count; i++)
		if (passages->items[i - 1].has_waited && passages->items[i].has_waited)
			values[count++] = (double)(passages->items[i].time_ns -
						   passages->items[i - 1].time_ns);
	if (count < LIMITED_LEAST)
		return 0;
	order_doubles(values, count);
	double median = order_median_of_ordered(values, count);
	for (size_t i = 0; i < count; i++) {
		bool is_like = values[i] > median / 2 && values[i] < median * 3 / 2;
		sum += is_like ? values[i] : 0;
		like += is_like;
	}
	return like > 0 ? sum / (double)like : 0;
}

/* How much of the passages a limit explains. */
struct explained {
	double not_early; /* share: a token had come */
	double in_time; /* of those that waited: none had come much before */
};

/* `off`: how far the ends of sleeps were from when a token came, for each of them. */
static struct explained explain(
	const struct passages *passages, const struct limit *limit, double *off)
{
	double next = 0, waited = 0, not_early = 0, in_time = 0;
	double most = limit->interval_ns / OFF_PART;
	for (size_t i = 0; i < passages->count; i++) {
		const struct passage *passage = &passages->items[i];
		double at = (double)(passage->time_ns - passages->items[0].time_ns);
		double late = at - (next - (limit->burst - 1) * limit->interval_ns);
		not_early += late >= -most;
		if (!passage->has_waited) {
			next = fmax(next, at) + limit->interval_ns;
			continue;
		}
		off[(size_t)waited++] = late;
		in_time += fabs(late) <= most;
		next += limit->interval_ns + fmax(-most, fmin(most, late)) / FOLLOW_PART;
	}
	return (struct explained){ not_early / (double)passages->count,
		waited > 0 ? in_time / waited : 0 };
}

/* Half of all values are within this. */
static double spread(double *values, size_t count)
{
	order_doubles(values, count);
	return values[count - 1 - count / 4] - values[count / 4];
}

/* Whether there is such a limit; values: room for two numbers for each passage. */
static bool find_limit(
	const struct passages *passages, size_t threads, double *values, struct limit *ret)
{
	double *off = values + passages->count, best = 0;
	size_t waited = 0;
	struct limit limit = { .interval_ns = find_interval(passages, values) };
	if (!(limit.interval_ns > 0))
		return false;
	for (limit.burst = 1; limit.burst <= BURST_MAX; limit.burst++) {
		struct explained explained = explain(passages, &limit, off);
		if (explained.not_early < MEANING_EXPLAINED || explained.in_time <= best)
			continue;
		best = explained.in_time;
		*ret = limit;
	}
	if (best < IN_TIME)
		return false;
	(void)explain(passages, ret, off);
	for (size_t i = 0; i < passages->count; i++)
		if (passages->items[i].has_waited)
			values[waited++] = (double)passages->items[i].slept_ns;
	if (waited < LIMITED_LEAST || spread(values, waited) <= 2 * spread(off, waited))
		return false;
	/* Who comes last of all threads waits for as many tokens. */
	return values[waited / 2] <= 2 * (double)threads * ret->interval_ns;
}

static int add_object(struct build_trace *trace, const struct candidate *c,
	struct build_object with, uint32_t *ret)
{
	with.pid = trace->objects[c->lock].pid;
	with.address = trace->objects[c->lock].address;
	return build_add_object(trace, with, ret);
}

/* What stands for a limit in the threads' steps. */
struct meeting {
	uint32_t tokens, taken; /* objects */
};

static int append(struct build_thread *thread, struct build_step step)
{
	if (mem_grow(&thread->steps, &thread->step_capacity, thread->step_count + 1,
		    sizeof *thread->steps) < 0)
		return -ENOMEM;
	thread->steps[thread->step_count++] = step;
	return 0;
}

/* The thread's steps, with what it does at the semaphore instead of its sleeps. */
static int rewrite(
	struct build_thread *thread, const struct candidate *c, const struct meeting *meeting)
{
	struct build_thread to = { 0 };
	int code = 0;
	for (size_t i = 0; i < thread->step_count && code == 0; i++) {
		struct build_step step = thread->steps[i];
		code = append(&to, step);
		if (!is_section(thread, i, c) || code < 0)
			continue;
		struct passage passage = passage_at(thread, i, c);
		struct build_step acquire = { .op = STEP_ACQUIRE,
			.begin_ns = passage.time_ns,
			.site = c->lock_site,
			.object = meeting->tokens,
			.region = step.region,
			.count = 1 };
		struct build_step put = acquire;
		put.op = STEP_PUT;
		put.object = meeting->taken;
		for (size_t j = i + 2; j <= passage.last; j++)
			acquire.cpu_ns += thread->steps[j].cpu_ns;
		struct build_step unlock = thread->steps[i + 1];
		if (c->looks_again) /* the last look is like that of who need not wait */
			unlock.site = thread->steps[passage.last].site;
		code = append(&to, unlock);
		if (code == 0)
			code = append(&to, acquire);
		if (code == 0)
			code = append(&to, put);
		i = passage.last;
	}
	if (code < 0) {
		free(to.steps);
		return code;
	}
	free(thread->steps);
	thread->steps = to.steps;
	thread->step_count = to.step_count;
	thread->step_capacity = to.step_capacity;
	return 0;
}

/* The thread that gives tokens back, from the beginning to the end of the process. */
static int add_thread(struct build_trace *trace, const struct candidate *c,
	const struct passages *passages, const struct limit *limit, const struct meeting *meeting)
{
	size_t count = trace->thread_count;
	if (count >= BUILD_NONE || mem_grow(&trace->threads, &trace->thread_capacity, count + 1,
					   sizeof *trace->threads) < 0)
		return -ENOMEM;
	struct build_thread *thread = &trace->threads[count];
	*thread = (struct build_thread){ .pid = trace->objects[c->lock].pid,
		.parent = BUILD_NONE,
		.stopped_by = BUILD_NONE,
		.start_ns = trace->start_ns,
		.end_ns = trace->end_ns,
		.name = strdup("limiter"),
		.is_cut = true,
		.goes_on = true,
		.has_cpu = true };
	trace->thread_count++;
	for (size_t i = 0; i < passages->count; i++) {
		struct build_step step = { .begin_ns = passages->items[i].time_ns,
			.site = c->lock_site,
			.region = BUILD_NONE,
			.op = STEP_GET,
			.object = meeting->taken,
			.count = 1 };
		int code = append(thread, step);
		step.op = STEP_SLEEP;
		step.object = BUILD_NONE;
		step.waited_ns = (uint64_t)limit->interval_ns; /* paced: wake-ups do not add up */
		if (code == 0)
			code = append(thread, step);
		step.op = STEP_POST;
		step.object = meeting->tokens;
		step.waited_ns = 0;
		if (code == 0)
			code = append(thread, step);
		if (code < 0)
			return code;
	}
	return thread->name ? 0 : -ENOMEM;
}

static int add_limiter(struct build_trace *trace, const struct candidate *c,
	const struct passages *passages, const struct limit *limit, struct build_limiters *ret)
{
	struct meeting meeting;
	int code = add_object(trace, c,
		(struct build_object){
			.what = WHAT_SEM, .name = "tokens", .first = limit->burst + 1 },
		&meeting.tokens);
	if (code == 0)
		code = add_object(trace, c,
			(struct build_object){ .what = WHAT_QUEUE, .name = "tokens taken" },
			&meeting.taken);
	for (size_t i = 0; i < trace->thread_count && code == 0; i++)
		code = rewrite(&trace->threads[i], c, &meeting);
	if (code == 0)
		code = add_thread(trace, c, passages, limit, &meeting);
	if (code == 0)
		ret->items[ret->count++] =
			(struct build_limiter){ .thread = (uint32_t)trace->thread_count - 1,
				.lock = c->lock,
				.interval_s = limit->interval_ns * 1e-9 };
	return code;
}

/* 0 or -ENOMEM. */
static int try_candidate(
	struct build_trace *trace, const struct candidate *c, struct build_limiters *ret)
{
	struct passages passages = { 0 };
	struct limit limit;
	int code = find_passages(trace, c, &passages);
	AUTO_FREE double *values = calloc(2 * passages.count + 1, sizeof *values);
	if (!values)
		code = -ENOMEM;
	if (code == 0 && find_limit(&passages, trace->thread_count, values, &limit))
		code = add_limiter(trace, c, &passages, &limit, ret);
	free(passages.items);
	return code;
}

static bool is_known(const struct candidate *items, size_t count, const struct candidate *c)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].lock == c->lock && items[i].lock_site == c->lock_site &&
			items[i].sleep_site == c->sleep_site)
			return true;
	return false;
}

/* Sections that a sleep follows. */
static size_t find_candidates(const struct build_trace *trace, struct candidate *ret)
{
	size_t count = 0;
	for (size_t i = 0; i < trace->thread_count; i++) {
		const struct build_thread *thread = &trace->threads[i];
		for (size_t j = 0; j + 2 < thread->step_count && count < CANDIDATES_MAX; j++) {
			const struct build_step *step = &thread->steps[j];
			struct candidate c = { .lock = step->object,
				.lock_site = step->site,
				.sleep_site = step[2].site };
			if (step->object == BUILD_NONE || step[2].op != STEP_SLEEP ||
				!is_section(thread, j, &c) || is_known(ret, count, &c))
				continue;
			ret[count++] = c;
		}
	}
	return count;
}

int build_limiters_find(struct build_trace *trace, struct build_limiters *ret)
{
	static const struct {
		bool looks_again;
		size_t sleeps;
	} ways[] = { { true, 1 }, { false, 2 }, { false, 1 } };
	struct candidate candidates[CANDIDATES_MAX];
	size_t count = find_candidates(trace, candidates);
	for (size_t i = 0; i < count; i++) {
		size_t before = ret->count;
		for (size_t j = 0; j < ARRAY_SIZE(ways) && ret->count == before; j++) {
			candidates[i].looks_again = ways[j].looks_again;
			candidates[i].sleeps = ways[j].sleeps;
			if (ret->count == LIMITERS_MAX)
				return 0;
			int code = try_candidate(trace, &candidates[i], ret);
			if (code < 0)
				return code;
		}
	}
	return 0;
}
