/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: objects of the engine for those of the recording, threads, and the engine. */
#include "replay/player.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	WORK_SLICE_NS = 3000000, /* Linux's on eight cores or more */
	KERNEL_THREADS_NS = 30000000, /* as counted: docs/models/sim.md; where slices are Linux's */
};

static int put_event(void *context, const struct event *event, struct err *err)
{
	return replay_emit(context, event, err);
}

int player_add_to_table(
	struct player *player, enum sim_object_kind kind, uint32_t number, uint32_t object)
{
	struct play_table *table = &player->tables[kind];
	if (mem_grow(&table->objects, &table->capacity, (size_t)number + 1,
		    sizeof *table->objects) < 0)
		return -ENOMEM;
	table->objects[number] = object;
	if (table->count <= number)
		table->count = (size_t)number + 1;
	return 0;
}

/* OpenMP's runtimes spin only where they have as many cores as threads. */
static bool can_spin(const struct player *player)
{
	uint32_t spinners = 0;
	for (uint32_t i = 0; i < player->replay->thread_count; i++)
		spinners += player->replay->threads[i].spins;
	return spinners <= player->cores;
}

static int set_spinning(
	struct player *player, enum sim_object_kind kind, uint32_t number, uint32_t object)
{
	bool spins = player->can_spin && player->replay->objects[object].spins;
	return spins ? sim_set_spinning(player->sim, kind, number, WAKES_SPIN_NS) : 0;
}

static int add_object(struct player *player, uint32_t index)
{
	static const enum sim_object_kind kinds[] = { [PLAY_MUTEX] = SIM_MUTEX,
		[PLAY_SPIN] = SIM_SPIN,
		[PLAY_RWLOCK] = SIM_RWLOCK,
		[PLAY_SEM] = SIM_SEM,
		[PLAY_COND] = SIM_COND };
	const struct load_object *object = &player->replay->objects[index];
	uint32_t *number = &player->numbers[index];
	int code = 0;
	switch (object->play) {
	case PLAY_MUTEX:
		code = sim_add_mutex(player->sim, NULL, number);
		break;
	case PLAY_SPIN:
		code = sim_add_spin(player->sim, NULL, number);
		break;
	case PLAY_RWLOCK:
		code = sim_add_rwlock(player->sim, NULL, object->writers_first, number);
		break;
	case PLAY_SEM:
		code = sim_add_sem(player->sim, NULL, object->value, number);
		break;
	case PLAY_COND:
		code = sim_add_cond(player->sim, NULL, number);
		break;
	default: /* barriers: for each number of threads, see below */
		return 0;
	}
	if (code == 0 && object->is_handed_over &&
		(object->play == PLAY_MUTEX || object->play == PLAY_SPIN))
		code = sim_set_handover(player->sim, kinds[object->play], *number);
	if (code == 0 && (object->play == PLAY_MUTEX || object->play == PLAY_SEM))
		code = set_spinning(player, kinds[object->play], *number, index);
	return code < 0 ? code : player_add_to_table(player, kinds[object->play], *number, index);
}

/* A condition's state at the start. */
static int start_cond(struct player *player, uint32_t index)
{
	const struct load_object *object = &player->replay->objects[index];
	struct play_cond *cond = &player->conds[index];
	size_t count;
	if (object->play != PLAY_COND)
		return 0;
	if (object->meaning != UINT32_MAX) {
		cond->items = (int64_t)meaning_conds(
			player->replay->opts.meaning, &count)[object->meaning]
				      .initial;
	}
	if (object->meaning != UINT32_MAX && object->signals == 0)
		return 0;
	cond->has_order = object->signals > 0;
	cond->signals = calloc(object->signals / 8 + 1, 1);
	return cond->signals ? 0 : -ENOMEM;
}

static int add_objects(struct player *player)
{
	const struct replay *replay = player->replay;
	int code = 0;
	for (uint32_t i = 0; code == 0 && i < replay->object_count; i++) {
		player->owners[i] = player->taken[i].by = REPLAY_NONE;
		code = add_object(player, i);
		if (code == 0)
			code = start_cond(player, i);
	}
	for (uint32_t i = 0; code == 0 && i < replay->episode_count; i++) {
		const struct episode *episode = &replay->episodes[i];
		code = sim_add_barrier(
			player->sim, NULL, episode->threads, &player->episode_numbers[i]);
		if (code == 0)
			code = player_add_to_table(
				player, SIM_BARRIERS, player->episode_numbers[i], episode->object);
		if (code == 0)
			code = set_spinning(
				player, SIM_BARRIERS, player->episode_numbers[i], episode->object);
	}
	return code;
}

static int add_thread(struct player *player, uint32_t index)
{
	const struct load_thread *thread = &player->replay->threads[index];
	struct play_thread *play = &player->threads[index];
	play->list = index;
	play->sem = play->turn_sem = SIM_NONE;
	int code = 0;
	if (thread->is_sleeper)
		code = sim_add_sem(player->sim, NULL, 0, &play->sem);
	if (code == 0 && thread->is_sleeper)
		code = player_add_to_table(player, SIM_SEM, play->sem, REPLAY_NONE);
	if (code < 0 || thread->parent != REPLAY_NONE)
		return code;
	code = sim_add_thread(player->sim, NULL, NULL, &play->tid);
	if (code == 0)
		code = mem_grow(&player->by_tid, &player->by_tid_capacity, (size_t)play->tid + 1,
			sizeof *player->by_tid);
	if (code == 0)
		player->by_tid[play->tid] = index + 1;
	return code;
}

/* Changes of threads are known once and for all, of other parts by what a thread does. */
static int add_changes(struct player *player)
{
	const struct replay *replay = player->replay;
	const struct replay_run *run = player->run;
	for (size_t i = 0; i < replay->thread_count; i++)
		player->threads[i].factor = 1;
	for (uint32_t i = 0; i < run->change_count; i++) {
		const struct replay_change *change = &run->changes[i];
		const struct replay_target *target = &change->target;
		if (target->kind != REPLAY_THREAD)
			player->parts[player->part_count++] = i;
		for (size_t k = 0; target->kind == REPLAY_THREAD && k < replay->thread_count; k++)
			if (replay_is_of(change, &replay->threads[k]))
				player->threads[k].factor *= change->factor;
	}
	player->depths = calloc(
		(replay->thread_count + 1) * (player->part_count + 1), sizeof *player->depths);
	return player->depths ? 0 : -ENOMEM;
}

static int player_init(struct player *player)
{
	const struct replay *replay = player->replay;
	size_t objects = replay->object_count + 1, threads = replay->thread_count + 1;
	player->threads = calloc(threads, sizeof *player->threads);
	player->numbers = calloc(objects, sizeof *player->numbers);
	player->owners = calloc(objects, sizeof *player->owners);
	player->taken = calloc(objects, sizeof *player->taken);
	player->turns = calloc(objects, sizeof *player->turns);
	player->dealt = calloc(replay->supply_count + 1, sizeof *player->dealt);
	player->progress = calloc(threads, sizeof *player->progress);
	player->pool_left_ns = calloc(replay->pool_count + 1, sizeof *player->pool_left_ns);
	player->poll_left = calloc(replay->poll_count + 1, sizeof *player->poll_left);
	player->conds = calloc(objects, sizeof *player->conds);
	player->episode_numbers =
		calloc(replay->episode_count + 1, sizeof *player->episode_numbers);
	player->parts = calloc(player->run->change_count + 1, sizeof *player->parts);
	if (!player->threads || !player->numbers || !player->owners || !player->taken ||
		!player->turns || !player->dealt || !player->progress || !player->pool_left_ns ||
		!player->poll_left || !player->conds || !player->episode_numbers || !player->parts)
		return -ENOMEM;
	for (size_t i = 0; i < replay->pool_count; i++)
		player->pool_left_ns[i] = replay->pools[i].work_ns;
	for (size_t i = 0; i < replay->poll_count; i++)
		player->poll_left[i] = replay->polls[i].rest_count;
	int code = progress_init(player);
	if (code == 0)
		code = add_objects(player);
	if (code == 0)
		code = add_changes(player);
	for (uint32_t i = 0; code == 0 && i < replay->thread_count; i++) {
		player->left += !replay->threads[i].is_daemon;
		code = add_thread(player, i);
	}
	return code;
}

static void player_release(struct player *player)
{
	for (size_t i = 0; i < player->replay->object_count && player->conds; i++)
		free(player->conds[i].signals);
	for (size_t i = 0; i < sizeof player->tables / sizeof *player->tables; i++)
		free(player->tables[i].objects);
	free(player->threads);
	free(player->numbers);
	free(player->owners);
	free(player->taken);
	free(player->turns);
	free(player->dealt);
	free(player->progress);
	free(player->pool_left_ns);
	free(player->poll_left);
	free(player->conds);
	free(player->episode_numbers);
	free(player->parts);
	free(player->depths);
	free(player->by_tid);
	map_release(&player->turn_waiters);
	map_release(&player->passes);
	progress_release(player);
	sim_free(player->sim);
}

bool replay_is_pinned(const struct replay_change *change)
{
	for (size_t i = 0; i < ARRAY_SIZE(change->cores); i++)
		if (change->cores[i] != 0)
			return true;
	return false;
}

bool replay_is_of(const struct replay_change *change, const struct load_thread *thread)
{
	return change->target.kind == REPLAY_THREAD && change->target.pid == thread->pid &&
	       change->target.number == thread->tid;
}

static bool may_use_one(const struct replay_change *change, uint32_t cores)
{
	for (uint32_t i = 0; i < cores; i++)
		if (change->cores[i / 64] >> (i % 64) & 1)
			return true;
	return false;
}

static int check_change(const struct replay *replay, const struct replay_run *run,
	const struct replay_change *change, struct err *err)
{
	uint32_t cores = run->cores ? run->cores : replay->facts.cores;
	if (replay_is_pinned(change) &&
		(change->target.kind != REPLAY_THREAD || !may_use_one(change, cores)))
		return err_set(err, -EINVAL,
			"a thread is to keep to cores of which there is none: there are %u, from 0",
			cores);
	if (!(change->factor >= 0) ||
		(change->factor == 0 && !replay_can_leave_out(replay, &change->target)))
		return err_set(err, -EINVAL,
			"a change cannot be made: a lock that guards a condition, or no lock");
	return 0;
}

static int check(const struct replay *replay, const struct replay_run *run, struct err *err)
{
	if (!replay->is_finished)
		return err_set(err, -EINVAL, "there is nothing to replay yet");
	if (run->cores > REPLAY_CORES_MAX)
		return err_set(
			err, -EINVAL, "%u cores: the most is %d", run->cores, REPLAY_CORES_MAX);
	if (run->change_count > REPLAY_CHANGES_MAX)
		return err_set(err, -EINVAL, "more than %d changes", REPLAY_CHANGES_MAX);
	if (replay->opts.stretch && !run->duration)
		return err_set(
			err, -EINVAL, "the recording counts work: nobody says how long it takes");
	int code = 0;
	for (size_t i = 0; code == 0 && i < run->change_count; i++)
		code = check_change(replay, run, &run->changes[i], err);
	return code;
}

/* A thread that nobody started has none. */
static void take_times(const struct player *player, struct replay_time *times)
{
	for (uint32_t i = 0; i < player->replay->thread_count; i++) {
		const struct load_thread *loaded = &player->replay->threads[i];
		const struct play_thread *thread = &player->threads[i];
		struct sim_thread_stats stats = { 0 };
		if (thread->tid > 0)
			sim_thread_stats(player->sim, thread->tid, &stats);
		times[i] = (struct replay_time){ .pid = loaded->pid,
			.tid = loaded->tid,
			.ran_ns = stats.ran_ns,
			.ready_ns = stats.ready_ns,
			.waited_ns = stats.waited_ns,
			.operation_ns = thread->operation_ns };
	}
}

/*
 * What the run gets of other cores than the recorded ones: others have as much time of cores as they had there, and take it
 * first of the cores that the run leaves to them.
 */
static double share_of(const struct replay_facts *facts, uint32_t cores)
{
	double others = (1 - facts->available_full) * facts->cores;
	double left = facts->cores > cores ? facts->cores - cores : 0;
	double share = others > left ? 1 - (others - left) / cores : 1;
	return share > facts->available_full ? share : facts->available_full;
}

/* Those that are played as such: again they have first what the run leaves to them. */
static double others_of(const struct replay_facts *facts, uint32_t cores)
{
	double left = facts->cores > cores ? facts->cores - cores : 0;
	return facts->others > left ? facts->others - left : 0;
}

/* From a wake-up to running: any of those that were seen and that others did not disturb. */
static struct sim_dist wake_of(struct player *player, uint32_t cores)
{
	const struct replay *replay = player->replay;
	if (replay->facts.wake_ns == 0)
		return (struct sim_dist){ .a = replay->opts.wakes.latency_ns };
	late_wakes(replay, cores, player->wake_parts_ns);
	return (struct sim_dist){
		.kind = SIM_EMPIRICAL, .values = player->wake_parts_ns, .value_count = WAKES_PARTS
	};
}

static int play(struct player *player, uint32_t cores, uint64_t *ret_ns, struct err *err)
{
	struct sim_program program = { .context = player, .next = play_next, .name = replay_name };
	struct event_sink sink = { .context = player, .event = put_event };
	const struct replay_facts *facts = &player->replay->facts;
	bool is_work = player->replay->opts.stretch != NULL;
	/* What no recording tells of another number of cores: see docs/models/replay.md, Uncertainty. */
	uint64_t guess = !is_work && cores != facts->cores ? player->run->seed : 0;
	/* Linux looks for an idle core; where the recorded machine did not, fewer of its cores are like it. */
	bool wakes_in_place = cores <= facts->cores && facts->wakes_in_place;
	double speeds[REPLAY_CORES_MAX];
	bool are_others_known = player->replay->opts.others.wall_ns > 0;
	player->speed = is_work || cores == facts->cores || (!are_others_known && guess & 2)
				? facts->available_spare
				: share_of(facts, cores);
	for (uint32_t i = 0; i < cores; i++)
		speeds[i] = player->speed;
	struct sim_kernel kernel = { .wakes_in_place = wakes_in_place != (guess & 1),
		.switch_ns = facts->block_ns,
		.wake = wake_of(player, cores),
		.doze_ns = player->replay->opts.wakes.doze_ns,
		.wake_cost_ns = facts->wake_cost_ns };
	struct sim_options options = { .seed = player->run->seed,
		.cores = cores,
		.speed = speeds,
		.quantum = { .kind = SIM_FIXED,
			.a = is_work && player->run->kernel.hot_ns == 0 ? WORK_SLICE_NS : 0 },
		.kernel = is_work ? player->run->kernel : kernel,
		.others = is_work ? 0 : others_of(facts, cores),
		.sink = is_work && !player->sink ? NULL : &sink };
	/* The recorded order is that of so few cores: on more it keeps most of them idle. */
	player->guesses_no_order = (!is_work && cores > facts->cores) != ((guess & 4) != 0);
	player->cores = cores;
	player->can_spin = can_spin(player);
	options.kernel.brief_ns = KERNEL_THREADS_NS;
	int code = sim_new(&options, &program, &player->sim, err);
	if (code < 0)
		return code;
	code = player_init(player);
	if (code < 0)
		return err_set(err, code, "out of memory");
	if (player->sink)
		code = replay_emit_names(player->replay, player->sink, err);
	if (code == 0 && player->run->begin)
		code = player->run->begin(player->run->begin_context, player->sim);
	if (code == 0)
		code = sim_run(player->sim, err);
	if (code < 0)
		return code;
	player->replay->switches = sim_switch_count(player->sim);
	*ret_ns = player->has_cut ? player->end_ns : sim_now(player->sim);
	if (player->run->times)
		take_times(player, player->run->times);
	return player->sink ? sink_finish(player->sink, *ret_ns, err) : 0;
}

/* The conditions of those who wait because of what these mean. */
static void note_stuck(const struct player *player)
{
	struct replay *replay = player->replay;
	for (size_t i = 0; i < replay->object_count; i++)
		replay->objects[i].was_stuck = false;
	for (size_t i = 0; i < replay->thread_count && player->threads; i++) {
		const struct play_thread *thread = &player->threads[i];
		const struct step *step = player_step(player, (uint32_t)i);
		if (thread->awaited_with > 0 && step && step->kind == STEP_DECIDE)
			replay->objects[step->object].was_stuck = true;
	}
}

bool replay_stuck(const struct replay *replay, size_t n, uint32_t *ret_meaning)
{
	for (size_t i = 0; i < replay->object_count && !replay->deals_anew; i++) {
		if (!replay->objects[i].was_stuck || n-- > 0)
			continue;
		*ret_meaning = replay->objects[i].meaning;
		return true;
	}
	return false;
}

int replay_run(
	struct replay *replay, const struct replay_run *run, uint64_t *ret_ns, struct err *err)
{
	int code = check(replay, run, err);
	if (code < 0)
		return code;
	struct player player = { .replay = replay, .run = run, .sink = run->sink };
	replay->was_poll_lost = false;
	rng_init(&player.rng, run->seed);
	code = play(&player, run->cores ? run->cores : replay->facts.cores, ret_ns, err);
	if (code == -EDEADLK) {
		note_stuck(&player);
		turns_note_stuck(&player);
	}
	player_release(&player);
	return code;
}

bool replay_thread(const struct replay *replay, uint32_t n, uint32_t *ret_pid, uint32_t *ret_tid)
{
	if (n >= replay->thread_count)
		return false;
	*ret_pid = replay->threads[n].pid;
	*ret_tid = replay->threads[n].tid;
	return true;
}

double replay_error(const struct replay *replay, uint64_t replayed_ns)
{
	return (double)replayed_ns / (double)replay->facts.measured_ns - 1;
}

/* One run is off the median of its program's by no more, in nine of ten cases: docs/models/replay.md, Uncertainty. */
static const double RUN_TO_RUN = 0.045;

/* What a change does to the time is known but for this part of its logarithm: docs/models/replay.md, Uncertainty. */
static const double UNSURE = 0.25;

/* The size of its logarithm, nearly: the same on every machine. */
static double size_of_change(const struct replay_spread *spread)
{
	if (spread->replayed_ns == 0 || spread->predicted_ns == 0)
		return 0;
	double root = sqrt((double)spread->predicted_ns / (double)spread->replayed_ns);
	return fabs(root - 1 / root);
}

void replay_interval(
	const struct replay_spread *spread, uint64_t *ret_low_ns, uint64_t *ret_high_ns)
{
	double wider = (1 + RUN_TO_RUN) * (1 + fabs(spread->error)) *
		       (1 + UNSURE * size_of_change(spread));
	*ret_low_ns = (uint64_t)((double)spread->least_ns / wider);
	*ret_high_ns = (uint64_t)((double)spread->most_ns * wider);
}
