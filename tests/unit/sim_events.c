/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sim: what it emits. The criticality of simulated runs against closed forms, the same bytes for the same
 * seed, and random programs whose every event is checked.
 */
#include "cmocka_all.h"

#include "criticality/analysis.h"
#include "sim_script.h"

#include <errno.h>
#include <math.h>

enum { US = 1000, MS = 1000000 };

static struct sim *new_sim(const struct sim_options *options, struct script *script)
{
	struct sim *sim = NULL;
	struct sim_program program = script_program(script);
	assert_int_equal(sim_new(options, &program, &sim, NULL), 0);
	return sim;
}

static void run_well(struct sim *sim)
{
	struct err err = { 0 };
	int code = sim_run(sim, &err);
	if (code < 0)
		fail_msg("%d: %s", code, err.text);
}

static struct results *results_of(struct analysis *analysis)
{
	struct results *results = NULL;
	assert_int_equal(analysis_results(analysis, &results, NULL), 0);
	uint64_t sum = 0;
	for (size_t i = 0; i < results->thread_count; i++)
		sum += results->threads[i].criticality_ns;
	assert_int_equal(sum, results->active_ns);
	assert_int_equal(results->active_ns + results->idle_ns, results->elapsed_ns);
	return results;
}

static const struct result_thread *thread_named(const struct results *results, const char *name)
{
	for (size_t i = 0; i < results->thread_count; i++)
		if (results->threads[i].name && strcmp(results->threads[i].name, name) == 0)
			return &results->threads[i];
	fail_msg("no thread '%s'", name);
	return NULL;
}

#define POST(number) OP(SEM_POST, number)

/*
 * Du Bois et al., "Criticality Stacks", ISCA 2013, figure 2 (tests/unit/criticality.c plays its
 * timeline by hand): a waits from 3 to 14 ms, b from 6 to 7, c from 10 to 11; b, c and d wait for a at
 * the barrier from 17 to 22.
 */
static void a_simulated_run_has_the_criticality_of_the_papers_figure_2(void **state)
{
	(void)state;
	static const struct sim_op a[] = { COMPUTE(3 * MS), OP(SEM_WAIT, 0), COMPUTE(8 * MS),
		OP(BARRIER, 0), EXIT };
	static const struct sim_op b[] = { COMPUTE(6 * MS), OP(SEM_WAIT, 1), COMPUTE(10 * MS),
		OP(BARRIER, 0), EXIT };
	static const struct sim_op c[] = { COMPUTE(10 * MS), OP(SEM_WAIT, 2), COMPUTE(6 * MS),
		OP(BARRIER, 0), EXIT };
	static const struct sim_op d[] = { COMPUTE(7 * MS), POST(1), COMPUTE(4 * MS), POST(2),
		COMPUTE(3 * MS), POST(0), COMPUTE(3 * MS), OP(BARRIER, 0), EXIT };
	static const struct sim_op *const ops[] = { a, b, c, d };
	static const char *const names[] = { "a", "b", "c", "d" };
	static const double expected_us[] = { 6500, 5000, 5000, 5500 };
	static const uint64_t running_ms[] = { 11, 16, 16, 17 };
	for (uint32_t cores = 0; cores <= 4; cores += 4) {
		AUTO(analysis) struct analysis *analysis = NULL;
		assert_int_equal(analysis_new(&(struct analysis_opts){ 0 }, &analysis, NULL), 0);
		struct event_sink sink = analysis_sink(analysis);
		struct script script = { 0 };
		struct sim *sim =
			new_sim(&(struct sim_options){ .cores = cores, .sink = &sink }, &script);
		uint32_t number;
		for (int i = 0; i < 3; i++)
			assert_int_equal(sim_add_sem(sim, NULL, 0, &number), 0);
		assert_int_equal(sim_add_barrier(sim, "end", 4, &number), 0);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(sim_add_thread(sim, names[i], NULL, &number), 0);
			script.ops[number] = ops[i];
		}
		run_well(sim);
		AUTO(results) struct results *results = results_of(analysis);
		assert_int_equal(results->elapsed_ns, 22 * MS);
		for (int i = 0; i < 4; i++) {
			const struct result_thread *thread = thread_named(results, names[i]);
			/* Rounding to whole nanoseconds. */
			assert_true(
				fabs((double)thread->criticality_ns - 1e3 * expected_us[i]) <= 1);
			assert_int_equal(thread->running_ns, running_ms[i] * MS);
		}
		sim_free(sim);
	}
}

/* n threads, each with a share p of its work in one critical section: the lock is found, by name. */
static void a_lock_is_found_by_its_name(void **state)
{
	(void)state;
	static struct sim_op ops[301];
	for (int i = 0; i < 300; i += 3) {
		ops[i] = (struct sim_op)OP(LOCK, 0);
		ops[i + 1] = (struct sim_op)COMPUTE(10 * US);
		ops[i + 2] = (struct sim_op)OP(UNLOCK, 0);
	}
	ops[300] = (struct sim_op)EXIT;
	AUTO(analysis) struct analysis *analysis = NULL;
	assert_int_equal(analysis_new(&(struct analysis_opts){ 0 }, &analysis, NULL), 0);
	struct event_sink sink = analysis_sink(analysis);
	struct script script = { 0 };
	struct sim *sim = new_sim(&(struct sim_options){ .sink = &sink }, &script);
	uint32_t number;
	assert_int_equal(sim_add_mutex(sim, "the big one", &number), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(sim_add_thread(sim, NULL, NULL, &number), 0);
		script.ops[number] = ops;
	}
	run_well(sim);
	AUTO(results) struct results *results = results_of(analysis);
	assert_int_equal(results->elapsed_ns, 4 * MS);
	assert_int_equal(results->lock_count, 1);
	assert_string_equal(results->locks[0].name, "the big one");
	assert_int_equal(results->locks[0].acquisitions, 400);
	assert_int_equal(results->locks[0].held_ns, 4 * MS);
	assert_int_equal(results->findings[0].kind, FINDING_LOCK);
	sim_free(sim);
}

/* Random programs that end, whatever their order. */

enum {
	THREADS = 12,
	LOCKS = 3,
	ROUNDS = 6,
	ACTS = 12,
	CPUS_MAX = 16,
	BARRIER = 0,
	NOT_ON_A_CPU = UINT32_MAX,
};

struct player {
	uint32_t round, act, step, kind, lock;
	uint64_t work_ns, locks, gets;
	/* As told by events. */
	uint64_t time_ns, cpu_ns;
	bool is_waiting, was_woken, has_started, has_exited;
	uint32_t cpu;
};

struct game {
	struct rng rng;
	struct player players[THREADS + 1];
	uint32_t owner[LOCKS], spin_owner[LOCKS], readers[LOCKS], writer[LOCKS];
	uint32_t on_cpu[CPUS_MAX];
	uint32_t cores;
	uint64_t hash, events, last_ns, finish_ns;
	struct event_sink chained;
	struct sim *sim; /* whose cores change their speed at any event; NULL: they do not */
};

/* One operation of each act after the other; false: the act is over. */
static bool act(struct game *game, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret)
{
	struct player *me = &game->players[tid];
	uint32_t step = me->step++;
	*ret = (struct sim_op){ .kind = SIM_COMPUTE, .object = me->lock };
	uint64_t work_ns = 1 + rng_below(&game->rng, 400 * US);
	switch (me->kind) {
	case 0: /* works */
		ret->amount = work_ns;
		return step == 0;
	case 1: /* mutex; the second of two in order of number, so without circles */
		if (step == 1) {
			assert_int_equal(game->owner[me->lock], 0);
			game->owner[me->lock] = tid;
			me->locks++;
		}
		if (step == 2)
			game->owner[me->lock] = 0;
		ret->kind = step == 1 ? SIM_COMPUTE : step == 0 ? SIM_LOCK : SIM_UNLOCK;
		ret->amount = work_ns / 8;
		return step < 3;
	case 2: /* spin lock */
		if (step == 1) {
			assert_int_equal(game->spin_owner[me->lock], 0);
			game->spin_owner[me->lock] = tid;
		}
		if (step == 2)
			game->spin_owner[me->lock] = 0;
		ret->kind = step == 1 ? SIM_COMPUTE : step == 0 ? SIM_SPIN_LOCK : SIM_SPIN_UNLOCK;
		ret->amount = work_ns / 16;
		return step < 3;
	case 3: /* reads */
		if (step == 1) {
			assert_int_equal(game->writer[me->lock], 0);
			game->readers[me->lock]++;
		}
		if (step == 2)
			game->readers[me->lock]--;
		ret->kind = step == 1 ? SIM_COMPUTE : step == 0 ? SIM_READ_LOCK : SIM_RW_UNLOCK;
		ret->amount = work_ns / 8;
		return step < 3;
	case 4: /* writes */
		if (step == 1) {
			assert_int_equal(game->writer[me->lock], 0);
			assert_int_equal(game->readers[me->lock], 0);
			game->writer[me->lock] = tid;
		}
		if (step == 2)
			game->writer[me->lock] = 0;
		ret->kind = step == 1 ? SIM_COMPUTE : step == 0 ? SIM_WRITE_LOCK : SIM_RW_UNLOCK;
		ret->amount = work_ns / 8;
		return step < 3;
	case 5: /* puts one and gets one */
		if (step == 2) {
			assert_true(last->item > 0);
			me->gets++;
		}
		ret->kind = step == 0 ? SIM_PUT : SIM_GET;
		ret->object = 0;
		ret->item = 1 + rng_below(&game->rng, 1000);
		return step < 2;
	case 6: /* waits for a condition, for a while */
		ret->kind = step == 0 ? SIM_LOCK : step == 1 ? SIM_COND_WAIT : SIM_UNLOCK;
		if (step == 1)
			ret->amount = work_ns;
		ret->other = ret->object;
		if (step == 2) {
			assert_int_equal(game->owner[me->lock], 0);
			assert_true(last->status == 0 || last->status == -ETIMEDOUT);
		}
		me->locks += step == 1 || step == 2;
		return step < 3;
	case 7: /* signals */
		ret->kind = rng_below(&game->rng, 2) ? SIM_SIGNAL : SIM_BROADCAST;
		return step < 1;
	case 8: /* sleeps, reads */
		ret->kind = step == 0 ? SIM_SLEEP : SIM_DISK;
		ret->object = 0;
		ret->amount = step == 0 ? work_ns / 2 : rng_below(&game->rng, 4);
		ret->other = work_ns % 2;
		return step < 2;
	case 9: /* semaphore */
		ret->kind = step == 1 ? SIM_COMPUTE : step == 0 ? SIM_SEM_WAIT : SIM_SEM_POST;
		ret->amount = step == 1 ? work_ns / 8 : 0;
		ret->object = 0;
		return step < 3;
	case 10: /* the world changes */
		if (game->cores > 0) {
			uint64_t cores = 1 + rng_below(&game->rng, (1U << game->cores) - 1);
			uint32_t other = 1 + (uint32_t)rng_below(&game->rng, THREADS);
			assert_int_equal(sim_set_affinity(sim, other, &cores), 0);
			uint32_t core = (uint32_t)rng_below(&game->rng, game->cores);
			double speed = 0.5 + rng_uniform(&game->rng);
			assert_int_equal(sim_set_speed(sim, core, speed), 0);
		}
		ret->kind = SIM_YIELD;
		return step < 1;
	default: /* tries */
		if (step == 1 && last->status < 0) {
			me->step = 3;
			return false;
		}
		if (step == 1) {
			assert_int_equal(game->owner[me->lock], 0);
			me->locks++;
		}
		ret->kind = step == 0 ? SIM_TRY_LOCK : SIM_UNLOCK;
		return step < 2;
	}
}

static int game_next(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *ret, struct err *err)
{
	(void)err;
	struct game *game = context;
	struct player *me = &game->players[tid];
	for (;;) {
		if (me->round == ROUNDS) {
			*ret = (struct sim_op){ .kind = SIM_EXIT };
			return 0;
		}
		if (me->act == ACTS) {
			me->act = 0;
			me->round++;
			*ret = (struct sim_op){ .kind = SIM_BARRIER, .object = BARRIER };
			return 0;
		}
		if (me->step == 0) {
			me->kind = (uint32_t)rng_below(&game->rng, 12);
			me->lock = (uint32_t)rng_below(&game->rng, LOCKS);
		}
		if (act(game, sim, tid, last, ret)) {
			if (ret->kind == SIM_COMPUTE)
				me->work_ns += ret->amount;
			return 0;
		}
		me->step = 0;
		me->act++;
	}
}

static void hash_bytes(uint64_t *hash, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*hash = (*hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3U; /* FNV-1a */
}

/* What event.h says of a thread's events. */
static void check_event(struct game *game, const struct event *event)
{
	struct player *me = &game->players[event->tid];
	assert_in_range(event->tid, 1, THREADS);
	assert_true(event->time_ns >= game->last_ns);
	assert_true(event->cpu_ns >= me->cpu_ns);
	assert_true(event->cpu_ns - me->cpu_ns <= event->time_ns - me->time_ns);
	game->last_ns = event->time_ns;
	me->time_ns = event->time_ns;
	me->cpu_ns = event->cpu_ns;
	assert_false(me->has_exited);
	assert_true(me->has_started || event->kind == EVENT_THREAD_START);
	bool needs_cpu = game->cores > 0 && me->cpu == NOT_ON_A_CPU;
	switch (event->kind) {
	case EVENT_THREAD_START:
		me->has_started = true;
		break;
	case EVENT_WAIT:
		assert_true(!me->is_waiting || me->was_woken);
		assert_false(needs_cpu);
		me->is_waiting = true;
		me->was_woken = false;
		if (game->cores > 0 && event->what != WHAT_SPIN) {
			game->on_cpu[me->cpu] = 0;
			me->cpu = NOT_ON_A_CPU;
		}
		break;
	case EVENT_WOKEN:
		assert_true(me->is_waiting && !me->was_woken);
		me->was_woken = true;
		break;
	case EVENT_PASS:
		assert_int_equal(me->is_waiting, (event->flags & EVENT_WAITED) != 0);
		assert_true(!me->is_waiting || me->was_woken);
		assert_true(event->woken_ns <= event->time_ns);
		assert_false(needs_cpu);
		me->is_waiting = me->was_woken = false;
		break;
	case EVENT_RUN:
		assert_true(game->cores > 0 && event->value < CPUS_MAX);
		assert_int_equal(game->on_cpu[event->value], 0);
		assert_int_equal(me->cpu, NOT_ON_A_CPU);
		game->on_cpu[event->value] = event->tid;
		me->cpu = (uint32_t)event->value;
		break;
	case EVENT_PREEMPT:
		if (me->cpu != NOT_ON_A_CPU)
			game->on_cpu[me->cpu] = 0;
		me->cpu = NOT_ON_A_CPU;
		break;
	case EVENT_THREAD_EXIT:
		me->has_exited = true;
		if (me->cpu != NOT_ON_A_CPU)
			game->on_cpu[me->cpu] = 0;
		break;
	default:
		assert_false(me->is_waiting || needs_cpu);
	}
}

static int take(void *context, const struct event *event, struct err *err)
{
	struct game *game = context;
	struct event bytes = *event;
	bytes.text = NULL;
	hash_bytes(&game->hash, &bytes, sizeof bytes);
	if (event->text)
		hash_bytes(&game->hash, event->text, strlen(event->text));
	game->events++;
	if (game->sim && game->cores > 0 && game->events % 7 == 0) {
		double speed = 0.5 + rng_uniform(&game->rng);
		assert_int_equal(
			sim_set_speed(game->sim, (uint32_t)(game->events % game->cores), speed), 0);
	}
	if (event->kind != EVENT_NAME)
		check_event(game, event);
	return game->chained.event ? sink_event(&game->chained, event, err) : 0;
}

static int take_end(void *context, uint64_t end_ns, struct err *err)
{
	struct game *game = context;
	game->finish_ns = end_ns;
	return game->chained.event ? sink_finish(&game->chained, end_ns, err) : 0;
}

static void game_add_objects(struct sim *sim, bool hands_over)
{
	uint32_t number;
	for (int i = 0; i < LOCKS; i++) {
		assert_int_equal(sim_add_mutex(sim, "mutex", &number), 0);
		if (hands_over)
			assert_int_equal(sim_set_handover(sim, SIM_MUTEX, number), 0);
		assert_int_equal(sim_add_spin(sim, NULL, &number), 0);
		if (hands_over)
			assert_int_equal(sim_set_handover(sim, SIM_SPIN, number), 0);
		assert_int_equal(sim_add_rwlock(sim, NULL, i % 2, &number), 0);
		assert_int_equal(sim_add_cond(sim, NULL, &number), 0);
	}
	assert_int_equal(sim_add_barrier(sim, "round", THREADS, &number), 0);
	assert_int_equal(sim_add_queue(sim, "queue", 0, &number), 0);
	assert_int_equal(sim_add_sem(sim, "sem", 2, &number), 0);
	static const struct sim_dist service = { SIM_EXPONENTIAL, .a = 50 * US };
	const struct sim_disk_options disk = {
		.parallelism = 2, .service = &service, .class_count = 1, .order = SIM_DISK_RANDOM
	};
	assert_int_equal(sim_add_disk(sim, "disk", &disk, &number), 0);
}

/* The books balance at the end. */
static void game_check_end(struct game *game, struct sim *sim)
{
	uint64_t ran_ns = 0, busy_ns = 0, locks = 0, lock_uses = 0, gets = 0;
	for (uint32_t tid = 1; tid <= THREADS; tid++) {
		struct sim_thread_stats stats;
		sim_thread_stats(sim, tid, &stats);
		const struct player *player = &game->players[tid];
		assert_true(player->has_exited);
		assert_int_equal(stats.work_ns, player->work_ns);
		assert_int_equal(stats.ran_ns, player->cpu_ns);
		assert_int_equal(stats.ran_ns + stats.ready_ns + stats.waited_ns, player->time_ns);
		assert_true(game->cores > 0 || stats.ready_ns == 0);
		ran_ns += stats.ran_ns;
		locks += player->locks;
		gets += player->gets;
	}
	for (uint32_t core = 0; core < game->cores; core++)
		busy_ns += sim_core_busy_ns(sim, core);
	assert_true(game->cores == 0 || busy_ns == ran_ns);
	struct sim_object_stats stats;
	for (uint32_t i = 0; i < LOCKS; i++) {
		sim_object_stats(sim, SIM_MUTEX, i, &stats);
		lock_uses += stats.uses;
	}
	assert_int_equal(lock_uses, locks);
	sim_object_stats(sim, SIM_QUEUE, 0, &stats);
	assert_int_equal(stats.uses, gets);
	/* Little's law, exactly: the mean length times the time is the sum of the items' stays. */
	assert_true(fabs(stats.mean_length * (double)sim_now(sim) - (double)stats.held_ns) <=
		    1e-9 * (double)stats.held_ns + 1);
	/* Of the disk's, requests that nobody waits for may be under way. */
	sim_object_stats(sim, SIM_DISKS, 0, &stats);
	assert_true(stats.mean_length * (double)sim_now(sim) >=
		    (double)(stats.held_ns + stats.waited_ns) * (1 - 1e-9));
}

static void play(struct game *game, struct sim_options options, uint64_t seed, bool hands_over,
	bool is_analysed)
{
	*game = (struct game){ .cores = options.cores, .hash = 0xcbf29ce484222325U };
	rng_init(&game->rng, seed);
	for (uint32_t tid = 1; tid <= THREADS; tid++)
		game->players[tid].cpu = NOT_ON_A_CPU;
	AUTO(analysis) struct analysis *analysis = NULL;
	if (is_analysed) {
		assert_int_equal(analysis_new(&(struct analysis_opts){ 0 }, &analysis, NULL), 0);
		game->chained = analysis_sink(analysis);
	}
	struct event_sink sink = { .context = game, .event = take, .finish = take_end };
	struct sim_program program = { .context = game, .next = game_next };
	options.sink = &sink;
	options.seed = seed;
	struct sim *sim = NULL;
	assert_int_equal(sim_new(&options, &program, &sim, NULL), 0);
	game_add_objects(sim, hands_over);
	game->sim = is_analysed ? sim : NULL;
	for (uint32_t i = 0, tid; i < THREADS; i++)
		assert_int_equal(sim_add_thread(sim, "player", NULL, &tid), 0);
	run_well(sim);
	game_check_end(game, sim);
	assert_int_equal(game->finish_ns, sim_now(sim));
	if (is_analysed) {
		AUTO(results) struct results *results = results_of(analysis);
		assert_int_equal(results->elapsed_ns, sim_now(sim));
		assert_int_equal(results->thread_count, THREADS);
	}
	sim_free(sim);
}

static void random_programs_keep_the_rules(void **state)
{
	(void)state;
	static struct game game;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct rng rng;
		rng_init(&rng, seed);
		struct sim_options options = {
			.cores = (uint32_t)rng_below(&rng, 6),
			.threads_per_core = (uint32_t)rng_below(&rng, 3),
			.scheduler = rng_below(&rng, 2) ? SIM_FAIR : SIM_ROUND_ROBIN,
			.quantum = { SIM_FIXED, .a = (double)(rng_below(&rng, 2) * 50 * US) },
			.kernel.switch_ns = rng_below(&rng, 2) * 3 * US,
			.kernel.wake.a = (double)(rng_below(&rng, 2) * 2 * US),
		};
		if (options.scheduler == SIM_ROUND_ROBIN && seed % 3 == 0)
			options.quantum =
				(struct sim_dist){ SIM_UNIFORM, .a = 20 * US, .b = 400 * US };
		play(&game, options, seed, seed % 4 == 0, true);
	}
}

/* Same seed, same bytes, on any machine: the hash of all events. */
static void a_run_is_the_same_everywhere(void **state)
{
	(void)state;
	static const struct {
		struct sim_options options;
		uint64_t events, hash;
	} golden[] = {
		{ { 0 }, 2437, 0xc749e5c63871e0c9 },
		{ { .cores = 3, .kernel.switch_ns = 2000 }, 2879, 0x32bf9687697bf8d0 },
		{ { .cores = 2, .threads_per_core = 2, .kernel.wake.a = 500 }, 2805,
			0x7ff3baeee32f757c },
		{ { .cores = 2,
			  .scheduler = SIM_ROUND_ROBIN,
			  .quantum = { SIM_EXPONENTIAL, .a = 100 * US } },
			3285, 0x5800745dcbe96cfe },
	};
	static struct game game;
	for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
		play(&game, golden[i].options, 42 + i, false, false);
		if (game.hash != golden[i].hash || game.events != golden[i].events)
			fail_msg("case %zu: %llu events, hash 0x%016llx", i,
				(unsigned long long)game.events, (unsigned long long)game.hash);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_simulated_run_has_the_criticality_of_the_papers_figure_2),
		cmocka_unit_test(a_lock_is_found_by_its_name),
		cmocka_unit_test(random_programs_keep_the_rules),
		cmocka_unit_test(a_run_is_the_same_everywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
