/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of threads that meet at barriers, and take pieces of work between them. */
#include "build_script.h"

enum { THREADS = 3, ROUNDS = 8, PIECES = 12, BARRIER = 200, TAKING = 4, MEETING = 8, MERGING = 12 };

static void meet_at(struct script *s, uint64_t barrier, uint64_t site, uint16_t flags)
{
	for (uint32_t i = 1; i <= THREADS; i++)
		send(s, (struct event){ .tid = i,
				.kind = EVENT_WAIT,
				.what = WHAT_BARRIER,
				.object = barrier,
				.site = site,
				.flags = flags });
	for (uint32_t i = 1; i <= THREADS; i++)
		send(s, (struct event){ .tid = i,
				.kind = EVENT_PASS,
				.what = WHAT_BARRIER,
				.object = barrier,
				.site = site,
				.value = THREADS });
}

static void meet(struct script *s, uint64_t site)
{
	meet_at(s, BARRIER, site, 0);
}

/* In each round they take twelve pieces, two to six each; then one of them, another one each time, sleeps before they meet again. */
static struct model *take_turns(void)
{
	static const uint32_t takers[PIECES] = { 1, 2, 3, 1, 1, 2, 1, 3, 1, 1, 2, 2 };
	struct script s = begin(THREADS);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < PIECES; i++) {
			uint32_t tid = 1 + (takers[i] + round) % THREADS;
			locked(&s, tid, LOCK, TAKING);
			work(&s, tid, 20000);
		}
		for (uint32_t i = 1; i <= THREADS; i++)
			locked(&s, i, LOCK, TAKING); /* finds nothing */
		meet(&s, MEETING);
		op(&s, 1 + round % THREADS, EVENT_WAIT, WHAT_SLEEP, 0, MERGING);
		s.now_ns += 100000;
		op(&s, 1 + round % THREADS, EVENT_PASS, WHAT_SLEEP, 0, MERGING);
		meet(&s, MEETING + 1);
	}
	return finish(&s, THREADS);
}

static void what_was_taken_in_rounds_is_dealt_out_in_each(void **state)
{
	(void)state;
	AUTO(model) struct model *model = take_turns();
	const struct model_fragment *ticket = fragment_of(model, 1, MODEL_TRY_GET);
	assert_non_null(ticket);
	const struct model_object *queue = &model->objects[ticket->object];
	assert_int_not_equal(queue->refilled_by, MODEL_NONE);
	assert_int_equal(model->objects[queue->refilled_by].kind, MODEL_BARRIER);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

static void what_one_of_them_does_one_of_more_does(void **state)
{
	(void)state;
	AUTO(model) struct model *model = take_turns();
	const struct model_group *group = &model->groups[1];
	const struct model_fragment *meeting = NULL;
	for (size_t i = 0; i < group->fragment_count && !meeting; i++)
		if (group->fragments[i].op == MODEL_ARRIVE && group->fragments[i].edge_count == 2)
			meeting = &group->fragments[i];
	assert_non_null(meeting);
	double sum = 0;
	for (uint32_t i = 0; i < 2; i++)
		sum += value_with(model, &meeting->edges[i].probability, 8);
	assert_true(fabs(sum - 1) < 1e-9);
	assert_true(value_with(model, &meeting->draws, 8) == 8);
	double rarer = fmin(value_with(model, &meeting->edges[0].probability, 8),
		value_with(model, &meeting->edges[1].probability, 8));
	assert_true(rarer == 0.125);
}

/* In each round they share 300 us of work, meet, one does 200 us alone, and they meet again. is_first: it is always the first one. */
static struct model *lead(bool is_first)
{
	struct script s = begin(THREADS);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 1; i <= THREADS; i++)
			work(&s, i, 100000);
		s.now_ns += 100000;
		meet(&s, MEETING);
		work(&s, is_first ? 1 : 1 + round % THREADS, 200000);
		s.now_ns += 200000;
		meet(&s, MEETING + 1);
	}
	return finish(&s, THREADS);
}

/* Mean of a fragment's CPU time with so many workers. */
static double cpu_with(
	const struct model *model, const struct model_fragment *fragment, double workers)
{
	double mean = fragment->cpu.kind == MODEL_QUANTILES ? fragment->cpu.quantiles[0]
							    : fragment->cpu.a.value;
	bool is_scaled = fragment->cpu.scale.formula;
	return is_scaled ? mean * value_with(model, &fragment->cpu.scale, workers) : mean;
}

static void check_lead(const struct model *model)
{
	const struct model_group *group = &model->groups[1];
	const struct model_fragment *take = fragment_of(model, 1, MODEL_TRY_GET);
	assert_non_null(take);
	const struct model_object *queue = &model->objects[take->object];
	assert_true(queue->initial.value == 1);
	assert_int_not_equal(queue->refilled_by, MODEL_NONE);
	const struct model_fragment *alone = &group->fragments[take->edges[0].to];
	assert_int_equal(alone->op, MODEL_COMPUTE);
	for (double workers = THREADS; workers <= 2 * THREADS; workers += THREADS)
		assert_true(fabs(cpu_with(model, alone, workers) / 200e-6 - 1) < 0.05);
	double longest = 0;
	for (size_t i = 0; i < group->fragment_count; i++)
		if (group->fragments[i].op == MODEL_ARRIVE)
			longest = fmax(longest, cpu_with(model, &group->fragments[i], 2 * THREADS));
	assert_true(fabs(longest / 50e-6 - 1) < 0.05);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fabs(fit.simulated_s / fit.measured_s - 1) < 0.05);
}

static void what_one_does_alone_is_not_shared(void **state)
{
	(void)state;
	AUTO(model) struct model *by_any = lead(false);
	check_lead(by_any);
	AUTO(model) struct model *by_first = lead(true);
	check_lead(by_first);
}

enum { DEALT_ROUNDS = 40, ROUND_NS = 900000 };

/* In each round they take parts of the same work that differ each time; or each does what it likes. */
static struct model *deal(bool is_dealt)
{
	struct script s = begin(THREADS);
	uint64_t seed = 7;
	for (uint32_t round = 0; round < DEALT_ROUNDS; round++) {
		uint64_t left = ROUND_NS;
		for (uint32_t i = 1; i <= THREADS; i++) {
			seed = seed * 6364136223846793005U + 1442695040888963407U;
			uint64_t part = ROUND_NS / 6 + (seed >> 33) % (ROUND_NS / 3);
			part = is_dealt && i == THREADS ? left : part;
			work(&s, i, part);
			left -= part;
		}
		s.now_ns += ROUND_NS / THREADS;
		meet(&s, MEETING);
	}
	return finish(&s, THREADS);
}

static void what_is_taken_unseen_is_dealt_out(void **state)
{
	(void)state;
	AUTO(model) struct model *model = deal(true);
	const struct model_fragment *take = fragment_of(model, 1, MODEL_TRY_GET);
	assert_non_null(take);
	const struct model_object *queue = &model->objects[take->object];
	assert_int_not_equal(queue->refilled_by, MODEL_NONE);
	double pieces = value_with(model, &queue->initial, 2 * THREADS);
	const struct model_fragment *piece = &model->groups[1].fragments[take->edges[0].to];
	assert_true(fabs(pieces * piece->cpu.a.value / (ROUND_NS * 1e-9) - 1) < 0.01);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fabs(fit.simulated_s / fit.measured_s - 1) < 0.1);
}

static void what_differs_by_itself_is_not_dealt_out(void **state)
{
	(void)state;
	AUTO(model) struct model *model = deal(false);
	assert_null(fragment_of(model, 1, MODEL_TRY_GET));
}

/* All work alike in a round, ten times as long in the first as in the last. */
static void check_rounds_that_shrink(uint64_t rounds)
{
	struct script s = begin(THREADS);
	for (uint64_t round = 0; round < rounds; round++) {
		uint64_t ns = 1000000 - round * 900000 / rounds;
		for (uint32_t i = 1; i <= THREADS; i++)
			work(&s, i, ns + i * 100);
		s.now_ns += ns;
		meet(&s, MEETING);
	}
	AUTO(model) struct model *model = finish(&s, THREADS);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known && fabs(fit.simulated_s / fit.measured_s - 1) < 0.1);
}

static void rounds_may_be_of_different_sizes(void **state)
{
	(void)state;
	check_rounds_that_shrink(DEALT_ROUNDS);
	check_rounds_that_shrink(6);
}

/* Once in their lives; one had a core for itself and took twice as much, and they end together. */
static void who_ends_together_took_from_a_common_stock(void **state)
{
	(void)state;
	struct script s = begin(THREADS);
	s.now_ns += 600000;
	work(&s, 1, 600000);
	for (uint32_t i = 2; i <= THREADS; i++)
		work(&s, i, 300000);
	AUTO(model) struct model *model = finish(&s, THREADS);
	const struct model_fragment *take = fragment_of(model, 1, MODEL_TRY_GET);
	assert_non_null(take);
	const struct model_object *queue = &model->objects[take->object];
	assert_int_equal(queue->refilled_by, MODEL_NONE);
	const struct model_fragment *piece = &model->groups[1].fragments[take->edges[0].to];
	double pieces = value_with(model, &queue->initial, 2 * THREADS);
	assert_true(fabs(pieces * piece->cpu.a.value / 1200e-6 - 1) < 0.01);
}

/*
 * Three regions with the same code, of 12 pieces that threads take as they come: two end at one barrier, the third, of one piece
 * more, at another one.
 */
static struct model *call_in_turn(void)
{
	static const uint32_t takers[PIECES + 1] = { 1, 2, 3, 1, 1, 2, 1, 3, 1, 1, 2, 2, 3 };
	struct script s = begin(THREADS);
	for (uint32_t region = 0; region < 3; region++) {
		for (uint32_t i = 0; i < PIECES + (region == 2); i++) {
			locked(&s, takers[i], LOCK, TAKING);
			work(&s, takers[i], 20000);
		}
		meet_at(&s, BARRIER + (region == 2), MEETING + (region == 2), EVENT_SPINS);
	}
	return finish(&s, THREADS);
}

static void regions_that_never_come_again_are_told_apart(void **state)
{
	(void)state;
	AUTO(model) struct model *model = call_in_turn();
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
	size_t barriers = 0;
	for (size_t i = 0; i < model->object_count; i++) {
		if (model->objects[i].kind != MODEL_BARRIER)
			continue;
		barriers++;
		assert_true(fabs(model->objects[i].spins.value - 0.003) < 1e-12);
	}
	assert_int_equal(barriers, 2);
	/* All three in each thread, with any number of them. */
	for (size_t i = 0; i < model->parameter_count; i++)
		if (strcmp(model->parameters[i].name, "workers") == 0)
			model->parameters[i].value = 2;
	assert_int_equal(model_fit_run(model, &fit), 0);
}

/* Searches of two to four levels: threads meet at the end of each level, and, elsewhere, of each search. */
static void all_have_as_many_levels(void **state)
{
	(void)state;
	struct script s = begin(THREADS);
	for (uint32_t search = 0; search < 4 * ROUNDS; search++) {
		for (uint32_t level = 0; level < 2 + (search * 2654435761U >> 16) % 3; level++) {
			for (uint32_t i = 1; i <= THREADS; i++)
				work(&s, i, 20000);
			meet_at(&s, BARRIER, MEETING, 0);
		}
		meet_at(&s, BARRIER + 1, MEETING + 1, 0);
	}
	AUTO(model) struct model *model = finish(&s, THREADS);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	size_t together = 0;
	for (size_t i = 0; i < model->group_count; i++)
		for (size_t j = 0; j < model->groups[i].fragment_count; j++)
			together += model->groups[i].fragments[j].is_together;
	assert_true(together > 0);
}

enum { SMOOTH = 4, DOWN = 8, UP = 12 };

static void do_all(struct script *s, uint64_t ns, uint64_t site)
{
	for (uint32_t tid = 1; tid <= THREADS; tid++)
		work(s, tid, ns);
	s->now_ns += ns;
	meet_at(s, BARRIER + site, site, 0);
}

/* A level of a multigrid cycle has four times the work of the next one, to which it comes twice. */
static void cycle(struct script *s, uint64_t ns,
	int levels) /* NOLINT(misc-no-recursion): as deep as there are levels */
{
	do_all(s, ns, SMOOTH);
	do_all(s, ns, SMOOTH);
	if (levels > 1) {
		do_all(s, ns / 2, DOWN);
		cycle(s, ns / 4, levels - 1);
		cycle(s, ns / 4, levels - 1);
		do_all(s, ns / 3, UP);
	}
	do_all(s, ns, SMOOTH);
}

/*
 * What comes after smoothing, and how much it is, says only the place in the cycle. Drawn by each thread for itself, one would smooth while another
 * one waits for what was restricted.
 */
static void the_place_in_a_cycle_says_what_comes(void **state)
{
	(void)state;
	enum { CYCLES = 12, LEVELS = 4 };
	struct script s = begin_with(
		&(struct build_opts){ .name = "test", .cores = 4, .conds = BUILD_IN_ORDER },
		THREADS);
	for (int i = 0; i < CYCLES; i++)
		cycle(&s, 1600000, LEVELS);
	AUTO(model) struct model *model = finish(&s, THREADS);
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fabs(fit.simulated_s / ((double)s.now_ns * 1e-9) - 1) < 0.05);
}

/* The first thread starts the other two, and works alone before a region; how many regions of each kind come, no rule says. */
static void rounds(struct script *s)
{
	static const int turns[] = { 3, 0, 1, 7, 1, 1, 0, 4, 2, 0, 0, 5, 1, 3, 9, 0, 2 };
	for (size_t i = 0; i < ARRAY_SIZE(turns); i++) {
		work(s, 1, 50000);
		s->now_ns += 50000;
		for (int j = 0; j <= turns[i]; j++)
			do_all(s, 200000, SMOOTH);
		do_all(s, 400000, DOWN);
	}
}

/* Drawn, one thread would smooth while another one waits for what was restricted. */
static void an_order_without_a_rule_is_the_recorded_one(void **state)
{
	(void)state;
	static const enum build_conds ways[] = { BUILD_BY_MEANING, BUILD_AS_RECORDED };
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct script s = begin_with(
			&(struct build_opts){ .name = "test", .cores = 4, .conds = ways[i] }, 0);
		start(&s, 1);
		for (uint32_t tid = 2; tid <= THREADS; tid++)
			send(&s, (struct event){ .tid = tid,
					 .kind = EVENT_THREAD_START,
					 .object = ROUTINE + 1,
					 .site = 2,
					 .value = 1 });
		rounds(&s);
		AUTO(model) struct model *model = finish(&s, THREADS);
		struct model_fit fit;
		assert_int_equal(model_fit_run(model, &fit), 0);
		bool is_like = fit.is_known &&
			       fabs(fit.simulated_s / ((double)s.now_ns * 1e-9) - 1) < 0.05;
		assert_int_equal(is_like, ways[i] == BUILD_AS_RECORDED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_order_without_a_rule_is_the_recorded_one),
		cmocka_unit_test(what_was_taken_in_rounds_is_dealt_out_in_each),
		cmocka_unit_test(regions_that_never_come_again_are_told_apart),
		cmocka_unit_test(all_have_as_many_levels),
		cmocka_unit_test(what_one_of_them_does_one_of_more_does),
		cmocka_unit_test(what_one_does_alone_is_not_shared),
		cmocka_unit_test(what_is_taken_unseen_is_dealt_out),
		cmocka_unit_test(what_differs_by_itself_is_not_dealt_out),
		cmocka_unit_test(rounds_may_be_of_different_sizes),
		cmocka_unit_test(who_ends_together_took_from_a_common_stock),
		cmocka_unit_test(the_place_in_a_cycle_says_what_comes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
