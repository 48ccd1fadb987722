/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "boost_steer.h"

#include "base/mem.h"
#include "boost_programs.h"

#include <errno.h>
#include <stdlib.h>

/* A run that is steered, from the events of the engine and its tick. */
struct run {
	const struct steering *steering;
	struct sim *sim;
	struct booster *booster;
	uint32_t cores;
	uint32_t *core_of; /* each thread's, by the account's index, plus one; 0: none yet */
	size_t core_capacity;
	uint32_t fast_core, fast_thread; /* BOOST_NONE: none */
	double base_speed, fast_speed;
	uint64_t now_ns, fast_ns, busy_ns, fast_busy_ns; /* busy: summed over cores */
};

static void change_nothing(const struct boost_view *view, struct boost_state *state)
{
	(void)view, (void)state;
}

static const struct boost_policy nobody = { .name = "none", .change = change_nothing };

/* Energy and time up to now, before anything changes. */
static void integrate(struct run *run, uint64_t now_ns)
{
	const struct account *account = booster_account(run->booster);
	uint64_t elapsed = now_ns - run->now_ns;
	run->now_ns = now_ns;
	uint32_t busy = account->active < run->cores ? account->active : run->cores;
	run->busy_ns += elapsed * busy;
	if (run->fast_core == BOOST_NONE)
		return;
	run->fast_ns += elapsed;
	if (account->threads[run->fast_thread].is_active)
		run->fast_busy_ns += elapsed;
}

static uint32_t wanted_thread(const struct run *run)
{
	const struct account *account = booster_account(run->booster);
	uint32_t tid = run->steering->fixed_tid;
	for (uint32_t i = 0; tid > 0 && i < account->thread_count; i++)
		if (account->threads[i].tid == tid && account->threads[i].is_alive)
			return i;
	return booster_fast(run->booster);
}

/* Cores follow what is wanted now. */
static int actuate(struct run *run)
{
	uint32_t thread = wanted_thread(run), core = BOOST_NONE;
	if (thread != BOOST_NONE && thread < run->core_capacity && run->core_of[thread] > 0)
		core = run->core_of[thread] - 1;
	run->fast_thread = thread;
	if (run->steering->is_all_fast || core == run->fast_core)
		return 0;
	uint32_t before = run->fast_core;
	run->fast_core = core;
	int code = before != BOOST_NONE ? sim_set_speed(run->sim, before, run->base_speed) : 0;
	if (code == 0 && core != BOOST_NONE)
		code = sim_set_speed(run->sim, core, run->fast_speed);
	return code;
}

static int take_core(struct run *run, const struct event *event)
{
	uint32_t index =
		index_find_rarely(&booster_account(run->booster)->index, event->pid, event->tid);
	if (index == INDEX_NONE)
		return 0;
	if (mem_grow(&run->core_of, &run->core_capacity, (size_t)index + 1, sizeof *run->core_of) <
		0)
		return -ENOMEM;
	run->core_of[index] = (uint32_t)event->value + 1;
	return 0;
}

static int take(void *context, const struct event *event, struct err *err)
{
	struct run *run = context;
	if (event->kind == EVENT_NAME)
		return 0;
	integrate(run, event->time_ns);
	int code = booster_event(run->booster, event);
	if (code == 0 && event->kind == EVENT_RUN)
		code = take_core(run, event);
	if (code == 0)
		code = actuate(run);
	return code < 0 ? err_set(err, code, "the booster failed") : 0;
}

static int end_slice(void *context, struct sim *sim)
{
	struct run *run = context;
	integrate(run, sim_now(sim));
	int code = booster_slice(run->booster, sim_now(sim));
	return code < 0 ? code : actuate(run);
}

static int begin(void *context, struct sim *sim)
{
	struct run *run = context;
	run->sim = sim;
	int code = 0;
	for (uint32_t i = 0; i < run->cores && code == 0; i++)
		code = sim_set_speed(
			sim, i, run->steering->is_all_fast ? run->fast_speed : run->base_speed);
	return code < 0 ? code : sim_add_tick(sim, BOOST_SLICE_NS, end_slice, run);
}

static int run_init(struct run *run, const struct steering *steering, uint32_t cores, double speed,
	struct err *err)
{
	double memory = steering->memory_share;
	*run = (struct run){
		.steering = steering,
		.cores = cores,
		.fast_core = BOOST_NONE,
		.fast_thread = BOOST_NONE,
		.base_speed = speed,
		.fast_speed = speed / (memory + (1 - memory) * BASE_GHZ / FAST_GHZ),
	};
	struct booster_opts opts = { .policy = steering->policy ? steering->policy : &nobody };
	return booster_new(&opts, &run->booster, err);
}

static void run_release(struct run *run)
{
	booster_free(run->booster);
	free(run->core_of);
}

static uint32_t most_critical(const struct account *account)
{
	uint32_t most = 0;
	for (uint32_t i = 1; i < account->thread_count; i++)
		if (account->threads[i].criticality > account->threads[most].criticality)
			most = i;
	return account->thread_count ? account->threads[most].tid : 0;
}

struct steer_power steer_power_assumed(void)
{
	const double volts = 1.00 / 0.90, hertz = FAST_GHZ / BASE_GHZ, leakage = 0.40;
	return (struct steer_power){ .base_static = leakage,
		.fast_static = leakage * volts,
		.base_dynamic = 1 - leakage,
		.fast_dynamic = (1 - leakage) * volts * volts * hertz };
}

static double dynamic_w(const struct power *power, double hz)
{
	double volts = energy_volts(power, hz);
	return 1e-9 * power->dynamic_nf * volts * volts * hz;
}

struct steer_power steer_power_of(const struct power *power)
{
	return (struct steer_power){ .base_static = power->static_w,
		.fast_static = power->static_w,
		.base_dynamic = dynamic_w(power, 1e9 * BASE_GHZ),
		.fast_dynamic = dynamic_w(power, 1e9 * FAST_GHZ),
		.idle_share = power->idle_fraction,
		.uncore = power->uncore_w };
}

static void sum_up(const struct run *run, uint64_t ns, struct outcome *ret)
{
	const struct steer_power *power = run->steering->power;
	bool is_all = run->steering->is_all_fast;
	double run_s = 1e-9 * (double)ns, all_s = run_s * run->cores;
	double busy_s = 1e-9 * (double)run->busy_ns;
	double fast_s = is_all ? all_s : 1e-9 * (double)run->fast_ns;
	double fast_busy_s = is_all ? busy_s : 1e-9 * (double)run->fast_busy_ns;
	double base_s = all_s - fast_s, base_busy_s = busy_s - fast_busy_s;
	double fixed =
		power->uncore * run_s + power->fast_static * fast_s + power->base_static * base_s;
	double fast_used_s = fast_busy_s + power->idle_share * (fast_s - fast_busy_s);
	double base_used_s = base_busy_s + power->idle_share * (base_s - base_busy_s);
	*ret = (struct outcome){
		.ns = ns,
		.fast_ns = is_all ? ns : run->fast_ns,
		.joules_asleep = fixed + power->fast_dynamic * fast_used_s +
				 power->base_dynamic * base_used_s,
		.joules_spinning =
			fixed + power->fast_dynamic * fast_s + power->base_dynamic * base_s,
		.critical_tid = most_critical(booster_account(run->booster)),
	};
}

int steer_program(const struct program *given, const struct steering *steering, struct outcome *ret,
	struct err *err)
{
	struct program program = *given;
	struct run run;
	int code = run_init(&run, steering, program.threads, 1, err);
	if (code < 0)
		return code;
	struct event_sink sink = { .context = &run, .event = take };
	struct sim_program plug = { .context = &program, .next = program_next };
	struct sim_options options = {
		.seed = program.seed, .cores = program.threads, .sink = &sink
	};
	struct sim *sim = NULL;
	code = sim_new(&options, &plug, &sim, err);
	if (code == 0)
		code = program_build(&program, sim);
	if (code == 0)
		code = begin(&run, sim);
	if (code == 0)
		code = sim_run(sim, err);
	if (code == 0)
		code = booster_slice(run.booster, sim_now(sim));
	if (code == 0)
		sum_up(&run, sim_now(sim), ret);
	sim_free(sim);
	run_release(&run);
	return code;
}

int steer_replay(struct replay *replay, uint32_t cores, const struct steering *steering,
	struct outcome *ret, struct err *err)
{
	struct replay_facts facts;
	replay_facts(replay, &facts);
	struct run run;
	int code = run_init(&run, steering, cores, facts.available_spare, err);
	if (code < 0)
		return code;
	struct event_sink sink = { .context = &run, .event = take };
	uint64_t ns = 0;
	code = replay_run(replay,
		&(struct replay_run){
			.cores = cores, .sink = &sink, .begin = begin, .begin_context = &run },
		&ns, err);
	if (code == 0)
		code = booster_slice(run.booster, ns);
	if (code == 0)
		sum_up(&run, ns, ret);
	run_release(&run);
	return code;
}
