/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entropy of branches, and the rates of misprediction that follow from it. */
#include "cmocka_all.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/rng.h"
#include "bench/refsim/branch_entropy.h"
#include "bench/refsim/predictors.h"
#include "plugin/entropy.h"
#include "uarch/branches.h"

#include <math.h>
#include <stdlib.h>

enum { BRANCHES = 100000, KIB = 1024 };
enum {
	GLOBAL_0,
	GLOBAL_8,
	GLOBAL_16,
	GLOBAL_24,
	LOCAL_64,
	LOCAL_8,
	GLOBAL_12,
	CHOICE,
	FAR_CHOICE,
	NEAR_CHOICE
};

static void assert_between(double is, double least, double most)
{
	if (is < least || is > most)
		fail_msg("%.4f is not between %.4f and %.4f", is, least, most);
}

/* One in five is taken, by chance. */
static bool at_random(size_t n, struct rng *rng)
{
	(void)n;
	return rng_below(rng, 5) == 0;
}

/* Loops of eight rounds. */
static bool eighth_is_not(size_t n, struct rng *rng)
{
	(void)rng;
	return n / 2 % 8 != 7;
}

/* Two branches in turn. */
static struct branch *stream_of(bool (*outcome)(size_t n, struct rng *rng))
{
	struct branch *branches = calloc(BRANCHES, sizeof(*branches));
	struct rng rng;
	rng_init(&rng, 1);
	assert_non_null(branches);
	for (size_t n = 0; n < BRANCHES; n++)
		branches[n] = (struct branch){ 0x401000 + n % 2 * 37, outcome(n, &rng) };
	return branches;
}

static struct profile_class class_of(const struct branch *branches)
{
	struct profile_class class = { 0 };
	assert_int_equal(branch_entropy(branches, BRANCHES, BRANCHES, BRANCHES, class.branches), 0);
	return class;
}

static double simulated(const struct branch *branches, enum predictor_kind kind, uint32_t bytes)
{
	AUTO(branch_predictor) struct branch_predictor *predictor = NULL;
	assert_int_equal(branch_predictor_new(kind, bytes, &predictor), 0);
	size_t wrong = 0;
	for (size_t i = 0; i < BRANCHES; i++)
		wrong += !branch_predictor_predict(
			predictor, branches[i].address, branches[i].is_taken);
	return (double)wrong / BRANCHES;
}

static void estimates_bracket_what_few_visits_leave_open(void **state)
{
	(void)state;
	assert_true(entropy_plug_in(1, 1) == 0 && entropy_leave_one_out(1, 1) == 1);
	assert_true(entropy_plug_in(2, 1) == 2 && entropy_leave_one_out(2, 1) == 4);
	assert_true(entropy_plug_in(3, 1) == 2 && entropy_leave_one_out(3, 1) == 4);
	assert_true(entropy_plug_in(100, 20) == 40 && entropy_leave_one_out(100, 20) == 40);
	/* p = 1/2, n = 3: the mean over all outcomes is n for leave one out, less for plug-in. */
	double plug_in = 0, without = 0;
	for (uint32_t bits = 0; bits < 8; bits++) {
		uint32_t taken = (uint32_t)__builtin_popcount(bits);
		plug_in += entropy_plug_in(3, taken) / 8;
		without += entropy_leave_one_out(3, taken) / 8;
	}
	assert_true(fabs(without - 3) < 1e-12 && plug_in < 2);
}

static void entropy_of_chance_is_twice_the_rarer(void **state)
{
	(void)state;
	AUTO_FREE struct branch *branches = stream_of(at_random);
	struct profile_class class = class_of(branches);
	const unsigned dense[] = { GLOBAL_0, GLOBAL_8, LOCAL_8 };
	for (unsigned i = 0; i < ARRAY_SIZE(dense); i++) {
		assert_between(class.branches[dense[i]].floor_entropy, 0.33, 0.405);
		assert_between(class.branches[dense[i]].entropy, 0.39, 0.45);
	}
	/* The chain of its four states, up with 1/5 and down with 4/5, is wrong 4 times in 17. */
	assert_between(class.branches[GLOBAL_0].missed, 0.23, 0.24);
	assert_between(class.branches[CHOICE].missed, 0.2, 0.3);
	assert_between(class.branches[FAR_CHOICE].missed, 0.2, 0.3);
	/* Hardly any pattern of 64 outcomes comes twice: nothing is known. */
	assert_between(class.branches[LOCAL_64].floor_entropy, 0, 0.01);
	assert_between(class.branches[LOCAL_64].entropy, 0.98, 1);
	assert_between(class.branches[GLOBAL_0].executions, BRANCHES - 24, BRANCHES - 24);
}

static void entropy_falls_with_the_history_that_tells(void **state)
{
	(void)state;
	AUTO_FREE struct branch *branches = stream_of(eighth_is_not);
	struct profile_class class = class_of(branches);
	assert_between(class.branches[GLOBAL_0].floor_entropy, 0.245, 0.255);
	assert_between(class.branches[GLOBAL_8].floor_entropy, 0.12, 0.13);
	assert_between(class.branches[LOCAL_64].entropy, 0, 0.003);
	assert_between(class.branches[LOCAL_8].entropy, 0, 0.001);
	assert_between(class.branches[GLOBAL_0].missed, 0.12, 0.13);
	assert_between(class.branches[GLOBAL_16].missed, 0, 0.001);
	assert_between(class.branches[CHOICE].missed, 0, 0.003);
}

static void predictors_miss_what_chance_decides(void **state)
{
	(void)state;
	AUTO_FREE struct branch *branches = stream_of(at_random);
	struct profile_class class = class_of(branches);
	for (int kind = 0; kind < BRANCHES_KINDS; kind++)
		for (uint32_t bytes = KIB; bytes <= 64 * KIB; bytes *= 4) {
			double rate = simulated(branches, kind, bytes);
			assert_between(branches_mispredicted(&class, kind, bytes), rate - 0.08,
				rate + 0.08);
		}
	assert_true(branches_mispredicted(&class, PREDICTOR_PERFECT, 4 * KIB) == 0);
	assert_true(
		branches_mispredicted(&(struct profile_class){ 0 }, PREDICTOR_TAGE, 4 * KIB) == 0);
}

static void history_helps_who_has_it(void **state)
{
	(void)state;
	AUTO_FREE struct branch *branches = stream_of(eighth_is_not);
	struct profile_class class = class_of(branches);
	double without = branches_mispredicted(&class, PREDICTOR_BIMODAL, 4 * KIB);
	double with = branches_mispredicted(&class, PREDICTOR_TOURNAMENT, 4 * KIB);
	assert_between(without, 0.1, 0.15);
	assert_between(with, 0, 0.02);
}

/* Longer than the history of a tournament of 4 KiB, shorter than that of one of 64. */
static void loops_longer_than_a_history_end_unforeseen(void **state)
{
	(void)state;
	AUTO_FREE struct branch *branches = calloc(BRANCHES, sizeof(*branches));
	assert_non_null(branches);
	for (size_t n = 0; n < BRANCHES; n++)
		branches[n] = (struct branch){ 0x1000, n % 14 != 13 };
	struct profile_class class = class_of(branches);
	assert_between(simulated(branches, PREDICTOR_TOURNAMENT, 4 * KIB), 0.07, 0.073);
	assert_between(branches_mispredicted(&class, PREDICTOR_TOURNAMENT, 4 * KIB), 0.055, 0.075);
	assert_between(branches_mispredicted(&class, PREDICTOR_TOURNAMENT, 64 * KIB), 0, 0.03);
	assert_between(branches_mispredicted(&class, PREDICTOR_GSHARE, 64 * KIB), 0, 0.03);
}

/* Streams that the map was not fitted to. */
static void made_up_programs_are_predicted(void **state)
{
	(void)state;
	double error = 0;
	int count = 0;
	for (uint64_t number = 1000; number < 1010; number++) {
		AUTO_FREE struct branch *branches = branch_stream_new(number, BRANCHES);
		assert_non_null(branches);
		struct profile_class class = class_of(branches);
		error += fabs(simulated(branches, PREDICTOR_TOURNAMENT, 4 * KIB) -
			      branches_mispredicted(&class, PREDICTOR_TOURNAMENT, 4 * KIB));
		count++;
	}
	assert_between(error / count, 0, 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_bracket_what_few_visits_leave_open),
		cmocka_unit_test(entropy_of_chance_is_twice_the_rarer),
		cmocka_unit_test(entropy_falls_with_the_history_that_tells),
		cmocka_unit_test(predictors_miss_what_chance_decides),
		cmocka_unit_test(history_helps_who_has_it),
		cmocka_unit_test(loops_longer_than_a_history_end_unforeseen),
		cmocka_unit_test(made_up_programs_are_predicted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
