/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that sleep so that something is not done more often than at a rate. */
#include "build_script.h"

#include "base/rng.h"

enum { WORKERS = 4, TURNS = 100, LOOK_SITE = 11, PAUSE_SITE = 13, SERVE_SITE = 14 };
enum { TOKEN_NS = 2500000, BURST = 3, CONDITION = 300 };

enum way {
	RESERVES,
	LOOKS_AGAIN,
	WAITS,
	NOT_LIMITED
}; /* WAITS: as LOOKS_AGAIN, for a condition that nobody signals */

struct happening {
	uint64_t at_ns;
	struct event event;
};

struct happenings {
	struct happening items[32 * WORKERS * TURNS];
	size_t count;
};

static void add(struct happenings *to, uint64_t at_ns, uint32_t tid, enum event_kind kind,
	enum event_what what, uint64_t site)
{
	assert_true(to->count < ARRAY_SIZE(to->items));
	to->items[to->count++] =
		(struct happening){ at_ns, { .tid = tid,
						   .kind = (uint8_t)kind,
						   .what = (uint8_t)what,
						   .object = what == WHAT_MUTEX ? LOCK : 0,
						   .site = site } };
}

static void add_sleep(
	struct happenings *to, uint64_t *clock_ns, uint32_t tid, uint64_t site, uint64_t ns)
{
	add(to, *clock_ns, tid, EVENT_WAIT, WHAT_SLEEP, site);
	*clock_ns += ns;
	add(to, *clock_ns, tid, EVENT_PASS, WHAT_SLEEP, site);
}

static void add_flagged(struct happenings *to, uint64_t at_ns, uint32_t tid, enum event_kind kind,
	enum event_what what, uint16_t flags)
{
	add(to, at_ns, tid, kind, what, PAUSE_SITE);
	struct event *event = &to->items[to->count - 1].event;
	event->flags = flags;
	if (what == WHAT_COND) {
		event->object = CONDITION;
		event->value = LOCK;
	}
}

static void add_wait(struct happenings *to, uint64_t *clock_ns, uint32_t tid, uint64_t ns)
{
	add_flagged(to, *clock_ns += 1000, tid, EVENT_RELEASE, WHAT_MUTEX, EVENT_IMPLICIT);
	add_flagged(to, *clock_ns += 1000, tid, EVENT_WAIT, WHAT_COND, 0);
	*clock_ns += ns;
	add_flagged(to, *clock_ns, tid, EVENT_PASS, WHAT_COND, EVENT_WAITED | EVENT_TIMED_OUT);
	add_flagged(to, *clock_ns += 1000, tid, EVENT_PASS, WHAT_MUTEX, EVENT_IMPLICIT);
}

static int compare(const void *left, const void *right)
{
	const struct happening *a = left, *b = right;
	return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

/* How long who looks at a time has to sleep, before it looks again or goes on. */
static uint64_t look(enum way way, uint64_t at_ns, uint64_t *full_ns, struct rng *rng)
{
	uint64_t least = at_ns + (way == LOOKS_AGAIN || way == WAITS ? (BURST - 1) * TOKEN_NS : 0);
	if (way == NOT_LIMITED)
		return 1 + (uint64_t)(rng_uniform(rng) * 3 * TOKEN_NS);
	if (*full_ns < at_ns)
		*full_ns = at_ns; /* when there are as many as there may be */
	uint64_t wait_ns = *full_ns > least ? *full_ns - least : 0;
	if (way == RESERVES || wait_ns == 0)
		*full_ns += TOKEN_NS;
	return wait_ns;
}

/* Threads that do something behind a limit, each for a drawn time. */
static struct model *model_of(enum way way)
{
	static struct happenings all;
	uint64_t clocks_ns[WORKERS], full_ns = 0;
	uint32_t turns[WORKERS] = { 0 };
	bool is_inside[WORKERS] = { false };
	struct rng rng;
	rng_init(&rng, 1);
	all.count = 0;
	struct script s = begin(WORKERS);
	for (size_t i = 0; i < WORKERS; i++)
		clocks_ns[i] = s.now_ns + 20000 * (i + 1);
	for (;;) {
		size_t next = 0;
		for (size_t i = 1; i < WORKERS; i++)
			next = clocks_ns[i] < clocks_ns[next] ? i : next;
		if (turns[next] == TURNS && (way != WAITS || clocks_ns[next] == UINT64_MAX))
			break;
		if (turns[next] == TURNS) { /* the others come out of their waits */
			clocks_ns[next] = UINT64_MAX;
			continue;
		}
		uint32_t tid = (uint32_t)next + 1;
		uint64_t *clock_ns = &clocks_ns[next];
		if (!is_inside[next])
			add(&all, *clock_ns += 3000, tid, EVENT_PASS, WHAT_MUTEX, LOOK_SITE);
		uint64_t wait_ns = look(way, *clock_ns, &full_ns, &rng);
		is_inside[next] = way == WAITS && wait_ns > 0;
		if (is_inside[next]) {
			add_wait(&all, clock_ns, tid, wait_ns);
			continue;
		}
		add(&all, *clock_ns += 3000, tid, EVENT_RELEASE, WHAT_MUTEX, LOOK_SITE + 1);
		if (wait_ns > 0)
			add_sleep(&all, clock_ns, tid, PAUSE_SITE, wait_ns);
		if (wait_ns > 0 && way == LOOKS_AGAIN)
			continue;
		add_sleep(&all, clock_ns, tid, SERVE_SITE,
			(uint64_t)(rng_uniform(&rng) * 3 * TOKEN_NS));
		turns[next]++;
	}
	qsort(all.items, all.count, sizeof *all.items, compare);
	for (size_t i = 0; i < all.count; i++) {
		if (all.items[i].at_ns > s.now_ns + 1000)
			s.now_ns = all.items[i].at_ns - 1000;
		send(&s, all.items[i].event);
	}
	return finish(&s, WORKERS);
}

static const struct model_object *tokens_of(const struct model *model)
{
	uint32_t index = model_find_object(model, "tokens");
	return index == MODEL_NONE ? NULL : &model->objects[index];
}

static void check_limit(enum way way, double burst, double tolerance)
{
	AUTO(model) struct model *model = model_of(way);
	const struct model_object *tokens = tokens_of(model);
	assert_non_null(tokens);
	assert_int_equal(tokens->kind, MODEL_SEMAPHORE);
	assert_true(value_with(model, &tokens->size, WORKERS) == burst);
	uint32_t rate = UINT32_MAX;
	for (uint32_t i = 0; i < model->parameter_count; i++)
		rate = model->parameters[i].unit == MODEL_RATE ? i : rate;
	assert_true(rate != UINT32_MAX);
	assert_true(fabs(model->parameters[rate].value * TOKEN_NS * 1e-9 - 1) < 0.02);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	assert_true(fabs(fit.simulated_s / fit.measured_s - 1) < tolerance);
	/* Which is not reached with more threads either. */
	model->parameters[model_find_parameter(model, "workers")].value = 4 * WORKERS;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.simulated_s > fit.measured_s * 0.9);
}

static void turns_that_threads_sleep_until_are_tokens(void **state)
{
	(void)state;
	check_limit(RESERVES, 1, 0.05);
}

static void tokens_that_threads_look_for_again_are_tokens(void **state)
{
	(void)state;
	check_limit(LOOKS_AGAIN, BURST, 0.05);
}

static void tokens_that_threads_let_time_pass_for_are_tokens(void **state)
{
	(void)state;
	check_limit(WAITS, BURST, 0.1); /* the last thread to come gets few, and ends alone */
}

static void sleeps_of_any_length_are_no_limit(void **state)
{
	(void)state;
	AUTO(model) struct model *model = model_of(NOT_LIMITED);
	assert_null(tokens_of(model));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_that_threads_sleep_until_are_tokens),
		cmocka_unit_test(tokens_that_threads_look_for_again_are_tokens),
		cmocka_unit_test(tokens_that_threads_let_time_pass_for_are_tokens),
		cmocka_unit_test(sleeps_of_any_length_are_no_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
