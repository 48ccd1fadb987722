/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights of sampled traces, held against what is known of all. */
#include "core_script.h"
#include "uarch/core_weights.h"

enum { TRACES = 40, KINDS = 3 };

struct sample {
	double weights[TRACES], shares[TRACES][KINDS];
};

/* Traces of one kind each: so many of the second, the others of the first. */
static struct sample two_kinds(size_t of_second)
{
	struct sample sample = { 0 };
	for (size_t i = 0; i < TRACES; i++) {
		sample.weights[i] = 100;
		sample.shares[i][i < of_second] = 1;
	}
	return sample;
}

static double mean_of(const struct sample *sample, size_t kind)
{
	double sum = 0, all = 0;
	for (size_t i = 0; i < TRACES; i++) {
		sum += sample->weights[i] * sample->shares[i][kind];
		all += sample->weights[i];
	}
	assert_near(all, 100 * TRACES, 1e-9);
	return sum / all;
}

static void weigh(struct sample *sample, const double *known, double length)
{
	core_weights(sample->weights, sample->shares[0], TRACES, known, KINDS, length);
}

static void what_was_counted_is_what_traces_stand_for(void **state)
{
	(void)state;
	static const double known[KINDS] = { 0.95, 0.05 };
	for (size_t of_second = 1; of_second < 8; of_second++) {
		struct sample sample = two_kinds(of_second);
		weigh(&sample, known, 1e6);
		assert_near(mean_of(&sample, 1), 0.05, 0.01);
		assert_near(sample.weights[TRACES - 1], sample.weights[of_second], 1e-9);
	}
}

/* Ten of a thousand instructions are met sqrt(10) times more or less. */
static void a_trace_is_believed_only_as_far_as_its_length_goes(void **state)
{
	(void)state;
	static const double known[KINDS] = { 0.99, 0.01 };
	struct sample sample = { 0 };
	for (size_t i = 0; i < TRACES; i++) {
		sample.weights[i] = 100;
		sample.shares[i][1] = i == 0 ? 0.013 : 0.0099;
		sample.shares[i][0] = 1 - sample.shares[i][1];
	}
	weigh(&sample, known, 1000);
	for (size_t i = 0; i < TRACES; i++)
		assert_near(sample.weights[i], 100, 0.05);
}

static void what_no_trace_has_changes_nothing(void **state)
{
	(void)state;
	static const double known[KINDS] = { 0.9, 0, 0.1 };
	struct sample sample = two_kinds(0);
	weigh(&sample, known, 1000);
	for (size_t i = 0; i < TRACES; i++)
		assert_near(sample.weights[i], 100, 1e-9);
}

/* Half of the instructions divide in the second half; the class is known to do so for another share, whatever the trace was said to stand for. */
static void a_class_takes_what_it_executed(void **state)
{
	(void)state;
	static const double shares[] = { 0.3, 0.5, 0.9 };
	struct processor processor = eight_wide();
	processor.units[CODE_DIVIDE] = (struct unit){ .latency = 10, .interval = 10, .ports = 1 };
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		struct script script = { .codes = { { .class = CODE_ALU },
						 { .class = CODE_DIVIDE } },
			.first_share = shares[i],
			.class = { .instructions = 100000 } };
		script.class.mix[CODE_DIVIDE] = 10000;
		script.class.mix[CODE_ALU] = 90000;
		for (unsigned j = OPS / 2; j < OPS; j++)
			script.ops[j].code = 1;
		assert_near(play_hits(&script, &processor).cpi, 0.1 * 10 + 0.9 / 8, 0.05);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_counted_is_what_traces_stand_for),
		cmocka_unit_test(a_trace_is_believed_only_as_far_as_its_length_goes),
		cmocka_unit_test(what_no_trace_has_changes_nothing),
		cmocka_unit_test(a_class_takes_what_it_executed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
