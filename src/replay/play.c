/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plug: what each thread of the recording does next. */
#include "replay/player.h"

#include "base/mem.h"
#include "sim/dist.h"

#include <errno.h>
#include <math.h>

/* A joined thread that nobody has started yet is looked for again: so often, each after so long. */
enum { LOOKS_MAX = 100000, LOOK_NS = 10000 };

/* A lock that a thread took again behind no more other ones is in its first cache yet: a quarter of one of 32 KiB. */
enum { NEAR_TAKES = 128 };

/* Repeated stretches of the examples' work differ by this much on an idle core. */
static const double NOISE = 0.01;

static const struct replay_change *part_of(const struct player *player, size_t part)
{
	return &player->run->changes[player->parts[part]];
}

/* A thread that begins goes to the cores that it is to keep to. 1: *op takes it there. 0, -ENOMEM. */
static int pin(struct player *player, uint32_t index, struct sim_op *op)
{
	struct play_thread *thread = &player->threads[index];
	int code = 0;
	for (size_t i = 0; code >= 0 && !thread->is_placed && i < player->run->change_count; i++) {
		const struct replay_change *change = &player->run->changes[i];
		if (!replay_is_pinned(change) ||
			!replay_is_of(change, &player->replay->threads[index]))
			continue;
		code = sim_set_affinity(player->sim, thread->tid, change->cores);
		code = code < 0 ? code : play_op(op, SIM_YIELD, 0);
	}
	thread->is_placed = true;
	return code;
}

static bool is_target(const struct replay_target *target, const struct load_object *object)
{
	return target->kind == REPLAY_LOCK && target->pid == object->pid &&
	       target->what == object->what && target->number == object->address;
}

/* Enters or leaves the parts of the program that changes are about. */
static void change_depth(
	struct player *player, uint32_t index, const struct step *step, bool is_more)
{
	for (size_t i = 0; i < player->part_count; i++) {
		const struct replay_target *target = &part_of(player, i)->target;
		bool is_here;
		if (step->kind == STEP_MARK)
			is_here = target->kind == REPLAY_REGION &&
				  target->pid == player->replay->threads[index].pid &&
				  target->number == step->amount;
		else
			is_here = is_target(target, &player->replay->objects[step->object]);
		uint32_t *depth = &player->depths[index * player->part_count + i];
		if (is_here && is_more)
			++*depth;
		else if (is_here && *depth > 0)
			--*depth;
	}
}

static bool is_left_out(const struct player *player, uint32_t object)
{
	for (size_t i = 0; i < player->part_count; i++)
		if (part_of(player, i)->factor == 0 &&
			is_target(&part_of(player, i)->target, &player->replay->objects[object]))
			return true;
	return false;
}

/* How many times as fast the work before a step is, after all changes. */
static double factor_of(struct player *player, uint32_t index, const struct step *step)
{
	double factor = player->threads[index].factor;
	for (size_t i = 0; i < player->part_count; i++) {
		const struct replay_change *change = part_of(player, i);
		bool is_site = change->target.kind == REPLAY_SITE &&
			       change->target.number == step->site &&
			       change->target.pid == player->replay->threads[index].pid;
		if (change->factor > 0 &&
			(is_site || player->depths[index * player->part_count + i] > 0))
			factor *= change->factor;
	}
	factor = factor > REPLAY_FACTOR_LEAST ? factor : REPLAY_FACTOR_LEAST;
	if (player->run->seed > 0) /* another run of the same: no stretch takes as long again */
		factor *= 1 + NOISE * (2 * rng_uniform(&player->rng) - 1);
	return factor;
}

/* A lock's line is where it was taken last. That it takes another time each time ends the luck of threads that would meet as they did, always. */
static uint64_t fetch_lock(struct player *player, uint32_t index, const struct step *step)
{
	struct play_thread *thread = &player->threads[index];
	struct play_taken last = player->taken[step->object];
	player->taken[step->object] = (struct play_taken){ index, ++thread->takes };
	thread->has_lock_near = last.by == index && thread->takes - last.takes <= NEAR_TAKES;
	if (last.by == REPLAY_NONE || last.by == index)
		return 0;
	double spread = player->run->transfer_spread;
	double drawn = spread > 0 ? 1 - spread + spread * dist_exponential(&player->rng) : 1;
	return (uint64_t)((double)player->run->transfer_ns * drawn);
}

/* What an operation costs by itself, where events do not say. */
static double operation_of(struct player *player, uint32_t index, const struct step *step)
{
	switch (step->kind) {
	case STEP_LOCK:
		return player->run->operation_ns + (double)fetch_lock(player, index, step);
	case STEP_UNLOCK:
	case STEP_SIGNAL:
	case STEP_PUT:
	case STEP_SEM_WAIT:
	case STEP_SEM_POST:
	case STEP_BARRIER:
		return player->run->operation_ns;
	case STEP_YIELD:
		return (double)player->run->yield_ns;
	default:
		return 0;
	}
}

/* Of that, what shows: a core goes on with the work beside a lock whose line it has. */
static uint64_t operation_beside(
	struct player *player, uint32_t index, const struct step *step, uint64_t work_ns)
{
	struct play_thread *thread = &player->threads[index];
	double ns = operation_of(player, index, step);
	bool is_lock = step->kind == STEP_LOCK || step->kind == STEP_UNLOCK;
	if (player->run->locks_overlap && is_lock && thread->has_lock_near)
		ns = fmax(ns - (double)work_ns, 0);
	ns += thread->rest_ns;
	thread->rest_ns = ns - floor(ns);
	return (uint64_t)ns;
}

/* The time for the work before a step, or for a part of it: then there is work left. */
static uint64_t next_work(struct player *player, uint32_t index, const struct step *step)
{
	struct play_thread *thread = &player->threads[index];
	const struct replay_run *run = player->run;
	bool is_first = !thread->has_begun;
	if (is_first)
		deal_begin(player, index, step);
	thread->has_begun = true;
	uint64_t ns = thread->work;
	if (thread->pool)
		ns = deal_part(player, index);
	else if (run->duration && ns > 0)
		ns = run->duration(run->duration_context, index, step->stretch, &thread->work);
	else
		thread->work = 0;
	if (is_first && player->replay->opts.stretch) {
		uint64_t operation_ns = operation_beside(player, index, step, ns);
		thread->operation_ns += operation_ns;
		ns += operation_ns;
	}
	double factor = factor_of(player, index, step);
	return factor == 1 ? ns : (uint64_t)((double)ns / factor + 0.5);
}

static int lock(struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	struct play_thread *thread = &player->threads[index];
	const struct load_object *object = &player->replay->objects[step->object];
	bool is_try = step->is_try && object->play == PLAY_MUTEX;
	int code = thread->stage == 0 && !is_try ? turns_wait(player, index, step, op) : 0;
	if (code != 0)
		return code < 0 ? code : PLAY_AGAIN;
	if (is_try && thread->stage > 0 && thread->status == -EBUSY)
		return turns_pass(player, step->object, op) ? PLAY_LAST : PLAY_DONE;
	if (thread->stage++ > 0) {
		if (!step->is_shared)
			player->owners[step->object] = index;
		change_depth(player, index, step, true);
		return !turns_pass_when_given_back(object) && turns_pass(player, step->object, op)
			       ? PLAY_LAST
			       : PLAY_DONE;
	}
	uint32_t number = player->numbers[step->object];
	switch (object->play) {
	case PLAY_SPIN:
		(void)play_op(op, SIM_SPIN_LOCK, number);
		break;
	case PLAY_RWLOCK:
		(void)play_op(op, step->is_shared ? SIM_READ_LOCK : SIM_WRITE_LOCK, number);
		break;
	case PLAY_SEM:
		(void)play_op(op, SIM_SEM_WAIT, number);
		break;
	default:
		(void)play_op(op, is_try ? SIM_TRY_LOCK : SIM_LOCK, number);
		break;
	}
	op->spin_ns = step->is_awake ? object->awake_ns : 0;
	return PLAY_AGAIN;
}

static int give_back(
	struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	uint8_t play = player->replay->objects[step->object].play;
	uint32_t number = player->numbers[step->object];
	if (play == PLAY_SEM) {
		op->amount = 1;
		return play_op(op, SIM_SEM_POST, number);
	}
	if (play == PLAY_RWLOCK)
		return play_op(op, SIM_RW_UNLOCK, number);
	if (player->owners[step->object] != index)
		return PLAY_DONE;
	player->owners[step->object] = REPLAY_NONE;
	return play_op(op, play == PLAY_SPIN ? SIM_SPIN_UNLOCK : SIM_UNLOCK, number);
}

/* A try did not get the mutex; its turn has passed. */
static bool was_refused(const struct player *player, uint32_t index, uint32_t object)
{
	const struct load_object *mutex = &player->replay->objects[object];
	return mutex->is_tried && mutex->play == PLAY_MUTEX && player->owners[object] != index;
}

static int unlock(struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	if (player->threads[index].stage == 0 && was_refused(player, index, step->object))
		return PLAY_DONE;
	if (player->threads[index].stage++ == 0) {
		change_depth(player, index, step, false);
		if (give_back(player, index, step, op) == PLAY_LAST)
			return turns_pass_when_given_back(&player->replay->objects[step->object])
				       ? PLAY_AGAIN
				       : PLAY_LAST;
	}
	return turns_pass_when_given_back(&player->replay->objects[step->object]) &&
			       turns_pass(player, step->object, op)
		       ? PLAY_LAST
		       : PLAY_DONE;
}

static int join_thread(
	struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	const struct play_thread *joined = &player->threads[step->other];
	if (joined->tid > 0)
		return play_op(op, SIM_JOIN, joined->tid);
	if (player->threads[index].looks++ == LOOKS_MAX)
		return PLAY_DONE;
	op->amount = LOOK_NS;
	(void)play_op(op, SIM_SLEEP, 0);
	return PLAY_AGAIN;
}

/*
 * Who joins a thread while holding a mutex may have chosen one that had ended (pigz does): here another one may end
 * first, and the chosen one need that mutex. So it is given back as long as it waits.
 */
static int join(struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	enum { HOLDS, JOINS, JOINED, TAKES };
	struct play_thread *thread = &player->threads[index];
	if (step->other == REPLAY_NONE)
		return PLAY_DONE;
	uint32_t mutex = step->amount > 0 ? (uint32_t)(step->amount - 1) : REPLAY_NONE;
	bool is_over = !player_step(player, step->other);
	int code;
	switch (thread->stage) {
	case HOLDS:
		if (is_over || mutex == REPLAY_NONE || player->owners[mutex] != index ||
			player->replay->objects[mutex].play != PLAY_MUTEX)
			return join_thread(player, index, step, op);
		player->owners[mutex] = REPLAY_NONE;
		thread->stage = JOINS;
		(void)play_op(op, SIM_UNLOCK, player->numbers[mutex]);
		return PLAY_AGAIN;
	case JOINS:
		code = join_thread(player, index, step, op);
		thread->stage = code == PLAY_AGAIN ? JOINS : JOINED;
		return PLAY_AGAIN;
	case JOINED:
		thread->stage = TAKES;
		(void)play_op(op, SIM_LOCK, player->numbers[mutex]);
		return PLAY_AGAIN;
	default:
		player->owners[mutex] = index;
		return PLAY_DONE;
	}
}

/* The end of an OpenMP region: tells that it has come, then waits for the next one. */
static int dock(struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	if (player->threads[index].stage++ == 0) {
		op->amount = 1;
		(void)play_op(op, SIM_SEM_POST, player->numbers[step->object]);
		return PLAY_AGAIN;
	}
	return step->other == REPLAY_NONE || player->replay->objects[step->other].lets_pass
		       ? PLAY_DONE
		       : play_op(op, SIM_SEM_WAIT, player->numbers[step->other]);
}

static int take_semaphore(
	struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	struct play_thread *thread = &player->threads[index];
	uint32_t count = step->other != REPLAY_NONE ? step->other : 1;
	if (player->replay->objects[step->object].lets_pass)
		return PLAY_DONE;
	int code = thread->stage == 0 ? turns_wait(player, index, step, op) : 0;
	if (code != 0)
		return code < 0 ? code : PLAY_AGAIN;
	if (thread->stage++ == count) {
		change_depth(player, index, step, true);
		return turns_pass(player, step->object, op) ? PLAY_LAST : PLAY_DONE;
	}
	(void)play_op(op, SIM_SEM_WAIT, player->numbers[step->object]);
	return PLAY_AGAIN;
}

static int mark(struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	switch (step->class) {
	case EVENT_REGION_BEGIN:
	case EVENT_REGION_END:
		change_depth(player, index, step, step->class == EVENT_REGION_BEGIN);
		return play_op(op,
			step->class == EVENT_REGION_BEGIN ? SIM_REGION_BEGIN : SIM_REGION_END, 0);
	case EVENT_REQUEST_BEGIN:
	case EVENT_REQUEST_END:
		op->item = step->amount;
		return play_op(op,
			step->class == EVENT_REQUEST_BEGIN ? SIM_REQUEST_BEGIN : SIM_REQUEST_END,
			0);
	default:
		op->amount = step->amount;
		return play_op(op, SIM_TICK, 0);
	}
}

bool play_is_cut(const struct player *player, uint32_t index)
{
	const struct play_thread *thread = &player->threads[index];
	return thread->is_cut || (thread->is_pausing && player->left == 0 &&
					 player->replay->threads[index].is_daemon);
}

/* Time passes; for a daemon only while others are there. */
static int play_pause(
	struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	player->threads[index].is_pausing = true;
	if (play_is_cut(player, index) || tickers_end(player, index) ||
		player->threads[index].has_nothing)
		return PLAY_DONE;
	if (step->is_poll)
		return polls_play(player, index, step, op);
	op->amount = step->amount;
	if (step->kind == STEP_SLEEP)
		return step->amount ? play_op(op, SIM_SLEEP, 0) : PLAY_DONE;
	op->amount += op->amount == 0;
	(void)play_wait_for(player, index, step, op);
	return PLAY_LAST;
}

static int play_step(
	struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	bool has_object =
		step->object != REPLAY_NONE && step->kind != STEP_SLEEP && step->kind != STEP_MARK;
	if (has_object && player->part_count > 0 && is_left_out(player, step->object))
		return PLAY_DONE;
	switch ((enum step_kind)step->kind) {
	case STEP_NOTHING:
		return PLAY_DONE;
	case STEP_LOCK:
		return lock(player, index, step, op);
	case STEP_UNLOCK:
		return unlock(player, index, step, op);
	case STEP_BARRIER:
		if (player->replay->objects[player->replay->episodes[step->amount].object]
				.lets_pass)
			return PLAY_DONE;
		return play_op(op, SIM_BARRIER, player->episode_numbers[step->amount]);
	case STEP_DOCK:
		return dock(player, index, step, op);
	case STEP_AWAIT_SIGNAL:
		return play_await_signal(player, index, step, op);
	case STEP_TIMED_WAIT:
	case STEP_SLEEP:
		return play_pause(player, index, step, op);
	case STEP_SIGNAL:
		return play_signal(player, step, op);
	case STEP_DECIDE:
		return play_decide(player, index, step, op);
	case STEP_PUT:
		return play_put(player, index, step, op);
	case STEP_SEM_WAIT:
		return take_semaphore(player, index, step, op);
	case STEP_SEM_POST:
		change_depth(player, index, step, false);
		op->amount = step->amount;
		return play_op(op, SIM_SEM_POST, player->numbers[step->object]);
	case STEP_AWAIT_WAKE:
		return play_op(op, SIM_SEM_WAIT, player->threads[index].sem);
	case STEP_WAKE:
		op->amount = 1;
		return play_op(op, SIM_SEM_POST, player->threads[step->other].sem);
	case STEP_SPAWN:
		op->other = step->other + 1;
		return play_op(op, SIM_SPAWN, 0);
	case STEP_JOIN:
		return join(player, index, step, op);
	case STEP_YIELD:
		return play_op(op, SIM_YIELD, 0);
	case STEP_MARK:
		return mark(player, index, step, op);
	case STEP_EXIT:
		return play_op(op, SIM_EXIT, 0);
	}
	return PLAY_DONE;
}

/* Who asks: a thread of the start is known; another one was told by SIM_SPAWN which it is. */
static int find_index(
	struct player *player, uint32_t tid, const struct sim_result *last, uint32_t *ret)
{
	if (tid < player->by_tid_capacity && player->by_tid[tid] > 0) {
		*ret = player->by_tid[tid] - 1;
		player->threads[*ret].tid = tid;
		return 0;
	}
	if (last->item == 0 || last->item > player->replay->thread_count ||
		mem_grow(&player->by_tid, &player->by_tid_capacity, (size_t)tid + 1,
			sizeof *player->by_tid) < 0)
		return -ENOMEM;
	player->by_tid[tid] = (uint32_t)last->item;
	*ret = (uint32_t)last->item - 1;
	player->threads[*ret].tid = tid;
	return 0;
}

/* What it did last is done. */
static void note_progress(struct player *player, uint32_t index, struct sim *sim)
{
	struct play_thread *thread = &player->threads[index];
	thread->is_cut = play_is_cut(player, index);
	thread->is_pausing = false;
	player->has_cut |= thread->is_cut;
	if (!thread->is_cut)
		player->end_ns = sim_now(sim);
}

/* It ends now. */
static void note_end(struct player *player, uint32_t index)
{
	struct play_thread *thread = &player->threads[index];
	player->left -= !thread->is_over && !player->replay->threads[index].is_daemon;
	thread->is_over = true;
}

static bool compute(struct sim_op *op, uint64_t ns)
{
	op->kind = SIM_COMPUTE;
	op->amount = ns;
	return ns > 0;
}

int play_next(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *op, struct err *err)
{
	struct player *player = context;
	uint32_t index;
	int code = find_index(player, tid, last, &index);
	if (code < 0)
		return err_set(err, code, "out of memory");
	const struct load_thread *loaded = &player->replay->threads[index];
	struct play_thread *thread = &player->threads[index];
	thread->status = last->status;
	note_progress(player, index, sim);
	if (op->kind == SIM_SPAWN && last->status == 0) /* it can be joined before it has run */
		player->threads[op->other - 1].tid = (uint32_t)last->item;
	*op = (struct sim_op){ 0 };
	code = pin(player, index, op);
	if (code != 0)
		return code < 0 ? err_set(err, code, "out of memory") : 0;
	if (!thread->has_slept && loaded->parent == REPLAY_NONE && loaded->start_ns > 0) {
		thread->has_slept = true;
		op->amount = loaded->start_ns;
		(void)play_op(op, SIM_SLEEP, 0);
		return 0;
	}
	thread->has_slept = true;
	tickers_go_on(player, index);
	if (thread->awaited_with > 0)
		player->owners[thread->awaited_with - 1] = index;
	thread->awaited_with = 0;
	for (const struct step *step; (step = player_step(player, index));) {
		op->site = step->site;
		while (!thread->has_begun || thread->work > 0)
			if (compute(op, next_work(player, index, step)))
				return 0;
		if (step->is_awaited && !thread->has_come)
			polls_reach(player, thread->list, thread->at);
		thread->has_come = true;
		code = play_step(player, index, step, op);
		if (code == -EDEADLK) {
			player->replay->was_poll_lost = true;
			return err_set(
				err, code, "a thread pauses until others rest, who never do");
		}
		if (code < 0)
			return err_set(err, code, "out of memory");
		if (op->kind == SIM_EXIT)
			note_end(player, index);
		if (code != PLAY_AGAIN) {
			thread->at++;
			thread->stage = 0;
			thread->has_come = false;
			thread->looks = 0;
			thread->has_begun = false;
			deal_next(player, index, step);
		}
		if (code != PLAY_DONE)
			return 0;
	}
	note_end(player, index);
	(void)play_op(op, SIM_EXIT, 0);
	return 0;
}
