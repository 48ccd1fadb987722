/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sim: programs of threads against closed forms, and the scheduler's promises. */
#include "cmocka_all.h"

#include "sim/sim.h"
#include "sim_replications.h"

#include <errno.h>
#include <stdlib.h>

enum { US = 1000, MS = 1000000, STATIONS = 3, THREADS_MAX = 1024 };

/* A program in which every thread does the same, by a function that is asked for each operation. */
struct program {
	int (*next)(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
		struct sim_op *ret, struct err *err);
	uint32_t threads;
	uint64_t limit; /* of rounds, visits, ... */
	struct sim_dist work, think;
	double chance[STATIONS]; /* to go there */
	double service_ns[STATIONS];
	/* While it runs. */
	uint64_t count;
	uint64_t counts[THREADS_MAX + 1];
};

static struct sim *new_sim(struct program *program, struct sim_options options)
{
	struct sim_program plug = { .context = program, .next = program->next };
	struct sim *sim = NULL;
	uint32_t tid;
	struct err err = { 0 };
	if (sim_new(&options, &plug, &sim, &err) < 0)
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < program->threads; i++)
		assert_int_equal(sim_add_thread(sim, NULL, NULL, &tid), 0);
	return sim;
}

static void run_well(struct sim *sim)
{
	struct err err = { 0 };
	int code = sim_run(sim, &err);
	if (code < 0)
		fail_msg("%d: %s", code, err.text);
}

/* A closed network: thinks, goes to a station by chance, is served there under its lock. */
static int visit(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)tid, (void)last, (void)err;
	struct program *program = context;
	struct rng *rng = sim_rng(sim);
	switch (ret->kind) {
	case SIM_LOCK: {
		struct sim_dist service = { SIM_EXPONENTIAL,
			.a = program->service_ns[ret->object] };
		*ret = (struct sim_op){ .kind = SIM_COMPUTE, .object = ret->object, .other = 1 };
		ret->amount = sim_draw(&service, rng);
		return 0;
	}
	case SIM_COMPUTE:
		ret->kind = ret->other ? SIM_UNLOCK : SIM_LOCK;
		if (ret->other)
			return 0;
		double u = rng_uniform(rng);
		for (ret->object = 0; ret->object < STATIONS - 1; ret->object++)
			if ((u -= program->chance[ret->object]) < 0)
				break;
		return 0;
	default:
		if (program->count++ == program->limit)
			ret->kind = SIM_STOP;
		else
			*ret = (struct sim_op){ .kind = SIM_COMPUTE,
				.amount = sim_draw(&program->think, rng) };
		return 0;
	}
}

/* Exact mean value analysis (Reiser and Lavenberg, 1980): visits / ns of n threads. */
static double mva(const struct program *program)
{
	double length[STATIONS] = { 0 }, rate = 0;
	for (uint32_t n = 1; n <= program->threads; n++) {
		double response[STATIONS], cycle = program->think.a;
		for (int k = 0; k < STATIONS; k++) {
			response[k] = program->service_ns[k] * (1 + length[k]);
			cycle += program->chance[k] * response[k];
		}
		rate = n / cycle;
		for (int k = 0; k < STATIONS; k++)
			length[k] = rate * program->chance[k] * response[k];
	}
	return rate;
}

static void a_network_of_locks_runs_as_mean_value_analysis_says(void **state)
{
	(void)state;
	struct program program = { .next = visit,
		.limit = 10000,
		.think = { SIM_EXPONENTIAL, .a = 500 * US },
		.chance = { 0.5, 0.3, 0.2 },
		.service_ns = { 100 * US, 100 * US, 200 * US } };
	for (program.threads = 1; program.threads <= 25; program.threads *= 5) {
		struct replications r = { 0 };
		for (uint64_t seed = 1; seed <= REPLICATIONS; seed++) {
			program.count = 0;
			struct sim *sim = new_sim(&program, (struct sim_options){ .seed = seed });
			uint32_t number;
			for (int i = 0; i < STATIONS; i++)
				assert_int_equal(sim_add_mutex(sim, NULL, &number), 0);
			run_well(sim);
			replications_add(&r, (double)program.limit / (double)sim_now(sim));
			sim_free(sim);
		}
		double rate = mva(&program);
		/* All begin thinking: the first cycle differs. */
		assert_near(&r, rate, 0.01 * rate, rate * program.threads / (double)program.limit);
	}
}

/* Works for a while, waits for all; `limit` times. */
static int rounds(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)last, (void)err;
	struct program *program = context;
	if (ret->kind == SIM_COMPUTE)
		ret->kind = SIM_BARRIER;
	else if (program->counts[tid]++ == program->limit)
		ret->kind = SIM_EXIT;
	else
		ret->kind = SIM_COMPUTE;
	ret->object = 0;
	ret->amount = sim_draw(&program->work, sim_rng(sim));
	return 0;
}

/* The mean length of a round. */
static double round_ns(struct program program, struct sim_options options)
{
	struct sim *sim = new_sim(&program, options);
	uint32_t number;
	assert_int_equal(sim_add_barrier(sim, NULL, program.threads, &number), 0);
	run_well(sim);
	double mean = (double)sim_now(sim) / (double)program.limit;
	sim_free(sim);
	return mean;
}

/* The greatest of n exponential times has the mean H_n. */
static void a_fork_takes_as_long_as_the_last_to_join(void **state)
{
	(void)state;
	struct program program = {
		.next = rounds, .limit = 500, .work = { SIM_EXPONENTIAL, .a = MS }
	};
	for (program.threads = 1; program.threads <= 64; program.threads *= 4) {
		struct replications r = { 0 };
		double harmonic = 0;
		for (uint32_t i = 1; i <= program.threads; i++)
			harmonic += 1.0 / i;
		for (uint64_t seed = 1; seed <= REPLICATIONS; seed++)
			replications_add(
				&r, round_ns(program, (struct sim_options){ .seed = seed }));
		assert_mean(&r, harmonic * MS, 0.01);
	}
}

/*
 * Bounds of fork and join where cores are few: on c cores, n tasks take at least the work of all over c and
 * at least as long as the longest, and, if no core idles while a task waits, at most both together
 * (Graham, 1966).
 */
static void a_fork_on_few_cores_keeps_grahams_bound(void **state)
{
	(void)state;
	struct program program = {
		.next = rounds, .limit = 1, .threads = 13, .work = { SIM_EXPONENTIAL, .a = 10 * MS }
	};
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct sim_options options = { .seed = seed,
			.cores = 1 + (uint32_t)(seed % 8),
			.scheduler = seed % 2 ? SIM_FAIR : SIM_ROUND_ROBIN };
		struct sim *sim = new_sim(&program, options);
		uint32_t number;
		assert_int_equal(sim_add_barrier(sim, NULL, 13, &number), 0);
		run_well(sim);
		double sum = 0, longest = 0;
		for (uint32_t tid = 1; tid <= 13; tid++) {
			struct sim_thread_stats stats;
			sim_thread_stats(sim, tid, &stats);
			sum += (double)stats.work_ns;
			longest = fmax(longest, (double)stats.work_ns);
		}
		double elapsed = (double)sim_now(sim), shared = sum / options.cores;
		assert_true(elapsed >= fmax(shared, longest) - 1);
		assert_true(elapsed <= shared + longest);
		sim_free(sim);
		for (uint32_t tid = 0; tid <= 13; tid++)
			program.counts[tid] = 0;
	}
}

/*
 * RPPM, table I: times that are right on average but off by up to e between barriers make a program of n
 * threads longer by e (n - 1) / (n + 1), the mean of the greatest of n uniform errors. The paper's
 * figures come from a million iterations and have two decimals.
 */
static void errors_add_up_at_barriers_as_in_table_i(void **state)
{
	(void)state;
	static const struct {
		uint32_t threads;
		double percent[3];
	} table[] = {
		{ 1, { 0.00, 0.00, 0.00 } },
		{ 2, { 0.33, 1.67, 3.34 } },
		{ 4, { 0.60, 3.00, 6.01 } },
		{ 8, { 0.78, 3.89, 7.79 } },
		{ 16, { 0.88, 4.41, 8.83 } },
	};
	static const double errors[] = { 1, 5, 10 };
	for (size_t i = 0; i < 5; i++) {
		for (int j = 0; j < 3; j++) {
			struct program program = { .next = rounds,
				.threads = table[i].threads,
				.limit = 1000,
				.work = { SIM_UNIFORM, .a = MS * (1 - errors[j] / 100),
					.b = MS * (1 + errors[j] / 100) } };
			struct replications r = { 0 };
			for (uint64_t seed = 1; seed <= REPLICATIONS; seed++) {
				double ns = round_ns(program, (struct sim_options){ .seed = seed });
				replications_add(&r, 100 * (ns / MS - 1));
			}
			/* Half a unit of the table's last place, and what its million rounds vary. */
			double spread = errors[j] / sqrt(3) / sqrt(1e6);
			assert_near(&r, table[i].percent[j], 0.01 * errors[j], 0.005 + 4 * spread);
		}
	}
}

/* One thread works alone, then n share the rest: Amdahl's law, to the nanosecond. */
static int amdahl(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)sim, (void)last, (void)err;
	struct program *program = context;
	uint64_t step = program->counts[tid]++;
	*ret = (struct sim_op){ .kind = SIM_EXIT };
	if (step == 0 && tid == 1)
		*ret = (struct sim_op){ .kind = SIM_COMPUTE, .amount = (uint64_t)program->think.a };
	else if (step == (tid == 1))
		*ret = (struct sim_op){ .kind = SIM_BARRIER };
	else if (step == 1U + (tid == 1))
		*ret = (struct sim_op){ .kind = SIM_COMPUTE,
			.amount = (uint64_t)program->work.a / program->threads };
	return 0;
}

static void a_serial_part_bounds_the_speedup(void **state)
{
	(void)state;
	for (uint32_t threads = 1; threads <= 64; threads *= 2) {
		for (uint32_t cores = 0; cores <= 16; cores += 4) {
			struct program program = { .next = amdahl,
				.threads = threads,
				.think = { .a = 20 * MS },
				.work = { .a = 320 * MS } };
			struct sim *sim = new_sim(&program, (struct sim_options){ .cores = cores });
			uint32_t number;
			assert_int_equal(sim_add_barrier(sim, NULL, threads, &number), 0);
			run_well(sim);
			uint32_t width = cores == 0 || threads < cores ? threads : cores;
			/* Once a core idles, it may take until a tick (4 ms) before it takes one of
			   those left, who may be a slice behind, which ends with another tick. */
			double expected = 20e6 + 320e6 / width, slack = threads > width ? 12e6 : 0;
			double more = (double)sim_now(sim) - expected;
			assert_true(more >= 0 && more <= slack);
			sim_free(sim);
		}
	}
}

/* Schedulers. */

/* Threads 1 and 2 of 3 always work; the third works for a tenth of the time. */
static int hogs(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)sim, (void)err;
	struct program *program = context;
	if (tid < 3) {
		*ret = (struct sim_op){ .kind = SIM_COMPUTE, .amount = 1000 * (uint64_t)MS };
		return 0;
	}
	if (ret->kind == SIM_COMPUTE) {
		*ret = (struct sim_op){ .kind = SIM_SLEEP, .amount = 9 * MS };
		return 0;
	}
	if (ret->kind == SIM_SLEEP)
		program->count =
			program->count > last->waited_ns ? program->count : last->waited_ns;
	*ret = (struct sim_op){ .kind = SIM_COMPUTE, .amount = MS };
	return 0;
}

static void the_fair_scheduler_is_fair_and_prompt(void **state)
{
	(void)state;
	struct program program = { .next = hogs, .threads = 3 };
	struct sim_options options = { .cores = 1, .stop_ns = 10000 * (uint64_t)MS };
	struct sim *sim = new_sim(&program, options);
	run_well(sim);
	struct sim_thread_stats stats[4];
	for (uint32_t tid = 1; tid <= 3; tid++)
		sim_thread_stats(sim, tid, &stats[tid]);
	/* Who works little waits for a slice of each of the others at most, which end with a tick
	   (4 ms); the others share the rest. */
	assert_true(program.count <= 9 * MS + 8 * MS);
	assert_true(stats[3].ran_ns >= 10000 / (10 + 3) * (uint64_t)MS);
	double apart = (double)stats[1].ran_ns - (double)stats[2].ran_ns;
	assert_true(fabs(apart) <= 6 * MS);
	sim_free(sim);

	/* Round robin makes it wait for the others' quanta. */
	program.count = 0;
	options.scheduler = SIM_ROUND_ROBIN;
	options.quantum = (struct sim_dist){ SIM_FIXED, .a = 5 * MS };
	sim = new_sim(&program, options);
	run_well(sim);
	assert_true(program.count >= 9 * MS + 5 * MS);
	sim_free(sim);
}

/* Everybody works the same, `limit` times. */
static int work(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)last, (void)err;
	struct program *program = context;
	*ret = (struct sim_op){ .kind = SIM_COMPUTE, .amount = (uint64_t)program->work.a };
	if (program->counts[tid]++ == program->limit)
		ret->kind = SIM_EXIT;
	else if (tid == 1 && program->counts[1] == 2 && program->think.a > 0)
		assert_int_equal(sim_set_speed(sim, 0, program->think.a), 0);
	return 0;
}

static uint64_t elapsed_ns(struct program program, struct sim_options options)
{
	struct sim *sim = new_sim(&program, options);
	run_well(sim);
	uint64_t elapsed = sim_now(sim);
	sim_free(sim);
	return elapsed;
}

static void cores_have_their_own_speed(void **state)
{
	(void)state;
	static const double speed[] = { 2, 0.5 };
	struct program program = { .next = work, .threads = 2, .limit = 2, .work = { .a = 100 } };
	struct sim_options options = { .cores = 2, .speed = speed };
	assert_int_equal(elapsed_ns(program, options), 400);
	program.threads = 1; /* it takes the fast one */
	assert_int_equal(elapsed_ns(program, options), 100);
	program.think.a = 4; /* which becomes twice as fast halfway */
	assert_int_equal(elapsed_ns(program, options), 75);
}

static void busy_siblings_share_a_core(void **state)
{
	(void)state;
	struct program program = { .next = work, .threads = 2, .limit = 1, .work = { .a = 6000 } };
	struct sim_options options = { .cores = 2, .threads_per_core = 2 };
	assert_int_equal(elapsed_ns(program, options), 6000); /* each has its own core */
	options.cores = 1;
	assert_int_equal(elapsed_ns(program, options), 10000);
	options.smt_factor = 0.75;
	assert_int_equal(elapsed_ns(program, options), 8000);
	program.threads = 3; /* one has a core alone until another comes */
	options.cores = 2;
	assert_int_equal(elapsed_ns(program, options), 8000);
}

static void a_switch_costs_what_it_costs(void **state)
{
	(void)state;
	struct program program = { .next = work, .threads = 2, .limit = 1, .work = { .a = 100 } };
	struct sim_options options = { .cores = 1,
		.scheduler = SIM_ROUND_ROBIN,
		.quantum = { SIM_FIXED, .a = 60 },
		.kernel.switch_ns = 10 };
	/* a: 10 + 50, b: 10 + 50, a: 10 + 50, b: 10 + 50 */
	assert_int_equal(elapsed_ns(program, options), 240);
}

static void threads_stay_on_their_cores(void **state)
{
	(void)state;
	struct program program = { .next = work, .limit = 1, .work = { .a = 10 * MS } };
	struct sim *sim = new_sim(&program, (struct sim_options){ .cores = 70 });
	uint64_t first[] = { 1, 0 }, last[] = { 0, 1U << 5 }, none[] = { 0, 0 };
	uint32_t tid;
	for (int i = 0; i < 3; i++)
		assert_int_equal(sim_add_thread(sim, NULL, first, &tid), 0);
	assert_int_equal(sim_add_thread(sim, NULL, last, &tid), 0);
	assert_int_equal(sim_add_thread(sim, NULL, none, &tid), -EINVAL);
	run_well(sim);
	assert_int_equal(sim_now(sim), 30 * MS);
	assert_int_equal(sim_core_busy_ns(sim, 0), 30 * MS);
	assert_int_equal(sim_core_busy_ns(sim, 69), 10 * MS);
	sim_free(sim);
}

static void a_hundred_thousand_threads_run(void **state)
{
	(void)state;
	struct program *program = calloc(1, sizeof *program);
	assert_non_null(program);
	*program = (struct program){ .next = visit,
		.limit = 200000,
		.threads = 100000,
		.think = { SIM_EXPONENTIAL, .a = MS },
		.chance = { 1 },
		.service_ns = { US, US, US } };
	for (uint32_t cores = 0; cores <= 64; cores += 64) {
		program->count = 0;
		struct sim *sim = new_sim(program, (struct sim_options){ .cores = cores });
		uint32_t number;
		for (int i = 0; i < STATIONS; i++)
			assert_int_equal(sim_add_mutex(sim, NULL, &number), 0);
		run_well(sim);
		assert_true(program->count > program->limit);
		sim_free(sim);
	}
	free(program);
}

static void what_is_not_there_has_done_nothing(void **state)
{
	(void)state;
	struct program program = {
		.next = work, .threads = 3, .limit = 1, .work = { .a = 100 * MS }
	};
	struct sim *sim = new_sim(&program, (struct sim_options){ .cores = 2 });
	run_well(sim);
	struct sim_thread_stats stats;
	struct sim_object_stats none;
	for (int kind = 0; kind <= SIM_SOURCES + 1; kind++) {
		sim_object_stats(sim, (enum sim_object_kind)kind, 9, &none);
		assert_int_equal(none.uses, 0);
	}
	sim_thread_stats(sim, 99, &stats);
	assert_int_equal(stats.ran_ns + sim_core_busy_ns(sim, 99), 0);
	sim_free(sim);
}

static void options_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	static const double speed[] = { 1, 0 };
	static const struct sim_options cases[] = { { .cores = 5000 },
		{ .cores = 2, .speed = speed }, { .threads_per_core = 100 }, { .smt_factor = 2 },
		{ .quantum = { SIM_EXPONENTIAL, .a = -1 } } };
	struct program program = { .next = work };
	struct sim_program plug = { .context = &program, .next = work };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sim *sim = NULL;
		struct err err = { 0 };
		assert_int_equal(sim_new(&cases[i], &plug, &sim, &err), -EINVAL);
		assert_true(err.text[0] != 0 && sim == NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_network_of_locks_runs_as_mean_value_analysis_says),
		cmocka_unit_test(a_fork_takes_as_long_as_the_last_to_join),
		cmocka_unit_test(a_fork_on_few_cores_keeps_grahams_bound),
		cmocka_unit_test(errors_add_up_at_barriers_as_in_table_i),
		cmocka_unit_test(a_serial_part_bounds_the_speedup),
		cmocka_unit_test(the_fair_scheduler_is_fair_and_prompt),
		cmocka_unit_test(cores_have_their_own_speed),
		cmocka_unit_test(busy_siblings_share_a_core),
		cmocka_unit_test(a_switch_costs_what_it_costs),
		cmocka_unit_test(threads_stay_on_their_cores),
		cmocka_unit_test(a_hundred_thousand_threads_run),
		cmocka_unit_test(what_is_not_there_has_done_nothing),
		cmocka_unit_test(options_that_make_no_sense_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
