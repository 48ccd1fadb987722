/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branch predictors on outcomes whose predictability is known. */
#include "cmocka_all.h"
#include "base/rng.h"
#include "bench/refsim/predictors.h"
#include "bench/refsim/targets.h"

#include <errno.h>

enum { BRANCHES = 200000, KIB = 1024 };

/* The outcome of the n-th branch. */
typedef bool (*outcome_fn)(uint64_t n, struct rng *rng);

static double missed(enum predictor_kind kind, outcome_fn outcome)
{
	AUTO(branch_predictor) struct branch_predictor *predictor = NULL;
	struct rng rng;
	uint64_t wrong = 0;
	rng_init(&rng, 1);
	assert_int_equal(branch_predictor_new(kind, 4 * KIB, &predictor), 0);
	for (uint64_t n = 0; n < BRANCHES; n++)
		wrong += !branch_predictor_predict(
			predictor, 0x401000 + n % 2 * 37, outcome(n, &rng));
	return (double)wrong / BRANCHES;
}

static bool always(uint64_t n, struct rng *rng)
{
	(void)n, (void)rng;
	return true;
}

static bool at_random(uint64_t n, struct rng *rng)
{
	(void)n;
	return rng_below(rng, 10) < 2;
}

/* Both branches are loops of eight rounds. */
static bool eighth_is_not(uint64_t n, struct rng *rng)
{
	(void)rng;
	return n / 2 % 8 != 7;
}

/* The second does as the first did, which is chance. */
static bool second_as_first(uint64_t n, struct rng *rng)
{
	static bool first;
	if (n % 2 == 0)
		first = rng_below(rng, 2);
	return first;
}

/* The first is chance, the second a loop of four rounds: its own history tells, the common one hardly. */
static bool one_is_chance(uint64_t n, struct rng *rng)
{
	return n % 2 == 0 ? rng_below(rng, 2) : n / 2 % 4 != 3;
}

/* A loop of forty rounds, too long for short histories. */
static bool forty_rounds(uint64_t n, struct rng *rng)
{
	(void)rng;
	return n / 2 % 40 != 39;
}

static void assert_between(double is, double least, double most)
{
	if (is < least || is > most)
		fail_msg("%.4f is not between %.4f and %.4f", is, least, most);
}

static void what_never_changes_is_learnt(void **state)
{
	(void)state;
	for (int kind = 0; kind < PREDICTOR_KINDS; kind++)
		assert_between(missed(kind, always), 0, 0.001);
}

static void chance_is_missed(void **state)
{
	(void)state;
	/* A 2-bit counter at p = 0.2 does not always say no: 0.2353 by its Markov chain. */
	assert_between(missed(PREDICTOR_BIMODAL, at_random), 0.23, 0.24);
	assert_between(missed(PREDICTOR_GSHARE, at_random), 0.2, 0.25);
	assert_between(missed(PREDICTOR_TOURNAMENT, at_random), 0.2, 0.25);
	assert_between(missed(PREDICTOR_TAGE, at_random), 0.2, 0.25);
	assert_true(missed(PREDICTOR_PERFECT, at_random) == 0);
}

static void short_loops_need_history(void **state)
{
	(void)state;
	assert_between(missed(PREDICTOR_BIMODAL, eighth_is_not), 0.12, 0.13);
	assert_between(missed(PREDICTOR_GSHARE, eighth_is_not), 0, 0.002);
	assert_between(missed(PREDICTOR_TOURNAMENT, eighth_is_not), 0, 0.002);
	assert_between(missed(PREDICTOR_TAGE, eighth_is_not), 0, 0.002);
}

static void correlation_needs_common_history(void **state)
{
	(void)state;
	assert_between(missed(PREDICTOR_BIMODAL, second_as_first), 0.45, 0.55);
	assert_between(missed(PREDICTOR_GSHARE, second_as_first), 0.24, 0.28);
	assert_between(missed(PREDICTOR_TOURNAMENT, second_as_first), 0.24, 0.28);
	assert_between(missed(PREDICTOR_TAGE, second_as_first), 0.24, 0.28);
}

static void a_tournament_takes_the_better_one(void **state)
{
	(void)state;
	assert_between(missed(PREDICTOR_TOURNAMENT, one_is_chance), 0.24, 0.28);
	assert_between(missed(PREDICTOR_BIMODAL, one_is_chance), 0.35, 0.40);
}

static void long_loops_need_long_history(void **state)
{
	(void)state;
	/* The end of the first is not seen coming; the second's follows from it. */
	assert_between(missed(PREDICTOR_TOURNAMENT, forty_rounds), 0.0115, 0.0135);
	assert_between(missed(PREDICTOR_TAGE, forty_rounds), 0, 0.004);
}

static void sizes_are_rounded_down(void **state)
{
	(void)state;
	for (uint32_t bytes = 0; bytes < 70000; bytes += 6500) {
		AUTO(branch_predictor) struct branch_predictor *predictor = NULL;
		for (int kind = 0; kind < PREDICTOR_KINDS; kind++) {
			branch_predictor_free(predictor);
			predictor = NULL;
			assert_int_equal(branch_predictor_new(kind, bytes, &predictor), 0);
			(void)branch_predictor_predict(predictor, UINT64_MAX, true);
		}
	}
}

/* A jump goes to each of so many targets in turn, after a branch with a target of its own: share mispredicted. */
static double targets_missed(uint32_t targets, uint32_t bytes, bool has_paths)
{
	AUTO(target_predictor) struct target_predictor *predictor = NULL;
	uint64_t wrong = 0;
	assert_int_equal(target_predictor_new(bytes, has_paths, &predictor), 0);
	for (uint64_t n = 0; n < BRANCHES; n++) {
		uint64_t target = 0x500000 + 64 * (n * n % targets);
		wrong += !target_predictor_predict(predictor, 0x401000, target);
		target_predictor_take(predictor, target);
	}
	return (double)wrong / BRANCHES;
}

static void targets_are_told_by_the_path_while_the_tables_have_room(void **state)
{
	(void)state;
	assert_true(targets_missed(1, 4 * KIB, false) < 0.001);
	assert_true(targets_missed(16, 4 * KIB, false) > 0.5);
	assert_true(targets_missed(16, 4 * KIB, true) < 0.01);
	assert_true(targets_missed(2048, 4 * KIB, true) > 0.5);
	assert_true(targets_missed(2048, 256 * KIB, true) < 0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_told_by_the_path_while_the_tables_have_room),
		cmocka_unit_test(what_never_changes_is_learnt),
		cmocka_unit_test(chance_is_missed),
		cmocka_unit_test(short_loops_need_history),
		cmocka_unit_test(correlation_needs_common_history),
		cmocka_unit_test(a_tournament_takes_the_better_one),
		cmocka_unit_test(long_loops_need_long_history),
		cmocka_unit_test(sizes_are_rounded_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
