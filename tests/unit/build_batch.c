/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of a thread that takes what there is, up to a limit, and does something for each item. */
#include "build_script.h"

enum { BATCHES = 400, MOST = 4, CONDITION = 300, PUTTING = 4, GETTING = 8, CLOSING = 12 };
enum { NAPPING = 16, REPORTING = 20, NAP_NS = 50000, ITEM_NS = 30000, REPORT_NS = 20000 };

static void put(struct script *s, uint64_t site)
{
	op(s, MAIN, EVENT_PASS, WHAT_MUTEX, LOCK, site);
	op(s, MAIN, EVENT_RELEASE, WHAT_COND, CONDITION, site + 1);
	op(s, MAIN, EVENT_RELEASE, WHAT_MUTEX, LOCK, site + 2);
}

/* Waits for one item, which comes meanwhile. */
static void await_item(struct script *s)
{
	send(s, (struct event){ .tid = 1,
			.kind = EVENT_RELEASE,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.flags = EVENT_IMPLICIT });
	send(s, (struct event){ .tid = 1,
			.kind = EVENT_WAIT,
			.what = WHAT_COND,
			.object = CONDITION,
			.site = GETTING + 1,
			.value = LOCK });
	put(s, PUTTING);
	send(s, (struct event){ .tid = 1,
			.kind = EVENT_PASS,
			.what = WHAT_COND,
			.object = CONDITION,
			.site = GETTING + 1,
			.flags = EVENT_WAITED });
	send(s, (struct event){ .tid = 1,
			.kind = EVENT_PASS,
			.what = WHAT_MUTEX,
			.object = LOCK,
			.flags = EVENT_IMPLICIT });
}

static void nap(struct script *s)
{
	op(s, 1, EVENT_WAIT, WHAT_SLEEP, 0, NAPPING);
	s->now_ns += NAP_NS;
	op(s, 1, EVENT_PASS, WHAT_SLEEP, 0, NAPPING);
}

static void report(struct script *s, uint64_t ns, uint64_t site)
{
	work(s, 1, ns);
	s->now_ns += ns;
	locked(s, 1, OTHER_LOCK, site);
}

enum handling { NAPS, COMPUTES, REPORTS };

/*
 * Naps once for each item, or computes in proportion, and then takes a lock that others take, too; or does that for each
 * item, for the first in another place.
 */
static void handle(struct script *s, uint64_t items, enum handling handling)
{
	for (uint64_t i = 0; i < items && handling == NAPS; i++)
		nap(s);
	report(s, REPORT_NS + (handling == COMPUTES ? items * ITEM_NS : 0), REPORTING);
	for (uint64_t i = 1; i < items && handling == REPORTS; i++)
		report(s, ITEM_NS, REPORTING + 4);
}

static struct model *batches(enum handling handling)
{
	struct script s = begin(1);
	uint64_t items = 0, seed = 99;
	locked(&s, MAIN, OTHER_LOCK, REPORTING + 2);
	for (int i = 0; i < BATCHES; i++) {
		seed = seed * 6364136223846793005U + 1442695040888963407U;
		uint64_t come = (seed >> 33) % (2 * MOST);
		if (handling == REPORTS && come > 0 && come <= MOST)
			come = 1;
		for (; come > 0; come--, items++)
			put(&s, PUTTING);
		op(&s, 1, EVENT_PASS, WHAT_MUTEX, LOCK, GETTING);
		if (items == 0) {
			await_item(&s);
			items++;
		}
		op(&s, 1, EVENT_RELEASE, WHAT_MUTEX, LOCK, GETTING + 2);
		uint64_t taken = items < MOST ? items : MOST;
		items -= taken;
		handle(&s, taken, handling);
	}
	put(&s, CLOSING);
	for (; items > 0; items -= items < MOST ? items : MOST) {
		locked(&s, 1, LOCK, GETTING);
		handle(&s, items < MOST ? items : MOST, handling);
	}
	locked(&s, 1, LOCK, GETTING);
	return finish(&s, 1);
}

static const struct model_fragment *loop_by_taken(const struct model *model)
{
	const struct model_group *group = &model->groups[1];
	for (size_t i = 0; i < group->fragment_count; i++)
		if (group->fragments[i].op == MODEL_LOOP && group->fragments[i].by_taken)
			return &group->fragments[i];
	return NULL;
}

static void check_get(const struct model *model)
{
	const struct model_fragment *get = fragment_of(model, 1, MODEL_GET);
	double most;
	assert_non_null(get);
	assert_int_equal(model_evaluate(model, &get->up_to, MODEL_NUMBER, NULL, &most, NULL), 0);
	assert_true(most == MOST);
}

static void turns_of_a_loop_are_as_many_as_items(void **state)
{
	(void)state;
	AUTO(model) struct model *model = batches(NAPS);
	check_get(model);
	const struct model_fragment *loop = loop_by_taken(model);
	assert_non_null(loop);
	assert_int_equal(model->groups[1].fragments[loop->body].op, MODEL_SLEEP);
}

static void work_in_proportion_is_done_for_each_item(void **state)
{
	(void)state;
	AUTO(model) struct model *model = batches(COMPUTES);
	check_get(model);
	const struct model_fragment *loop = loop_by_taken(model);
	assert_non_null(loop);
	const struct model_fragment *item = &model->groups[1].fragments[loop->body];
	assert_int_equal(item->op, MODEL_COMPUTE);
	assert_true(fabs(item->cpu.a.value / (ITEM_NS * 1e-9) - 1) < 0.01);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fabs(fit.simulated_cpu_s / fit.measured_cpu_s - 1) < 0.05);
}

/* The first turn of each batch does more, and is a fragment of its own: the others follow as there are items. */
static void a_first_turn_is_one_of_the_turns(void **state)
{
	(void)state;
	AUTO(model) struct model *model = batches(REPORTS);
	check_get(model);
	const struct model_group *group = &model->groups[1];
	const struct model_fragment *loop = loop_by_taken(model);
	assert_non_null(loop);
	assert_int_equal(loop->less, 1);
	size_t comes = 0;
	for (size_t i = 0; i < group->fragment_count; i++)
		for (size_t j = 0; j < group->fragments[i].edge_count; j++)
			comes += &group->fragments[group->fragments[i].edges[j].to] == loop;
	assert_int_equal(comes, 2); /* from the first, and from the others */
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fabs(fit.simulated_cpu_s / fit.measured_cpu_s - 1) < 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_of_a_loop_are_as_many_as_items),
		cmocka_unit_test(work_in_proportion_is_done_for_each_item),
		cmocka_unit_test(a_first_turn_is_one_of_the_turns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
