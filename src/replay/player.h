/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the replay: one run of it. */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

#include "replay/parts.h"
#include "sim/sim.h"

struct play_thread {
	uint32_t
		list; /* the thread of the recording whose steps it does: its own, or that which had this piece */
	size_t at; /* its next step there */
	size_t pool; /* that the work before the step is from, plus one; 0: none */
	uint32_t epoch; /* of its supply */
	bool counts_as_refused; /* it is one of play_cond.refused_waiting */
	uint32_t tid; /* the engine's; 0: not started */
	uint32_t stage; /* of a step with several operations */
	int status; /* of its last operation */
	uint32_t turn_sem; /* at which it waits for its turn; SIM_NONE */
	uint32_t sem; /* of those who are woken by a STEP_WAKE; SIM_NONE */
	uint32_t awaited_with; /* the mutex of the condition that it waits for, plus one */
	uint32_t looks; /* for a thread that it joins and nobody has started yet */
	uint64_t
		generation; /* of the barrier that it waits at; of a condition told in rounds: how many it waits for */
	uint64_t begun_before; /* sections of its type when that which it decides in began */
	uint64_t takes; /* of locks */
	bool has_lock_near; /* that which it took last was in its first cache */
	bool has_begun; /* the work before the step */
	bool has_come; /* that work is done */
	uint32_t laps; /* of a ticker: how often it has done all of its recorded rounds */
	bool is_ticking; /* in a pause of a ticker */
	bool is_over, is_pausing,
		is_cut; /* is_cut: a daemon whose pauses are no time, since all others are over */
	uint64_t work; /* of that, what is to come */
	bool is_placed; /* on the cores that it is to keep to */
	bool has_slept; /* until its start */
	bool has_nothing; /* all that was put is taken: rounds of the recording that are not needed do not pause */
	uint64_t operation_ns; /* what its operations cost so far */
	double rest_ns; /* of that, what is less than a whole ns */
	double factor; /* how many times as fast it computes, by changes of threads */
};

/* What a condition stands for, now. */
struct play_cond {
	int64_t items;
	uint64_t puts, opened, arrived, generation;
	uint64_t
		rounds; /* drain: how often all was taken; told in rounds: as many had ended at the last signal */
	uint32_t refused_waiting; /* who wait for the queue to be closed */
	bool is_closed, has_order; /* has_order: somebody waits for one certain signal */
	uint8_t *signals; /* a bit for each recorded signal: it was given */
};

/* The recording's objects, by the engine's numbers. */
struct play_table {
	uint32_t *objects;
	size_t count, capacity;
};

/* The work before a step of a list, counted on from the step that was asked for last. */
struct play_progress {
	size_t at;
	uint64_t work;
};

struct play_taken {
	uint32_t by; /* thread; REPLAY_NONE */
	uint64_t takes; /* of locks that it had taken then */
};

/* Of conditions with MEANING_PROGRESS: see progress.c. */
struct play_progress_needs {
	struct map first; /* condition and type, tid -> the first of their needs, plus one */
	uint64_t *next; /* of each need: the next of the same, plus one; 0: none */
	struct map given, ended, begun; /* condition and type, tid (0: all) -> sections so far */
	struct map since; /* need, thread -> sections given when its section began */
};

struct player {
	struct replay *replay;
	const struct replay_run *run;
	const struct event_sink *sink;
	struct sim *sim;
	struct rng rng;
	struct play_thread *threads;
	uint32_t *by_tid; /* engine's tid -> thread */
	size_t by_tid_capacity;
	uint32_t *numbers; /* object -> the engine's number */
	uint32_t *owners; /* object -> thread that holds it exclusively, REPLAY_NONE */
	struct play_taken *taken; /* object -> when it was taken last */
	uint32_t *episode_numbers;
	struct play_cond *conds; /* by object */
	size_t *dealt; /* of each supply: how many pieces are gone */
	struct play_progress *progress; /* of each list, for run->moves */
	uint64_t *pool_left_ns; /* of each pool */
	uint32_t *poll_left; /* of each poll: who are still to come to rest */
	uint64_t *turns; /* object -> whose turn it is */
	struct map turn_waiters; /* object, turn -> thread that waits for it */
	struct map passes; /* thread, condition: how often it passed */
	struct play_progress_needs needs;
	struct play_table tables[SIM_DISKS + 1]; /* by enum sim_object_kind */
	uint32_t *parts; /* changes that are not of threads: their indices */
	size_t part_count;
	uint32_t *depths; /* thread * parts + part: locks held, regions that it is in */
	uint32_t left; /* threads that are no daemons, and not over */
	uint64_t end_ns; /* when somebody did something last; is_cut threads aside */
	bool has_cut; /* some thread is_cut */
	bool guesses_no_order; /* of conditions that have no meaning: see decide.c */
	uint32_t cores, active; /* active: threads that do not wait */
	bool can_spin; /* who waits in a runtime that does, where cores suffice */
	double speed; /* of the cores, now */
	double wake_parts_ns[WAKES_PARTS]; /* quantiles of the time from a wake-up to running */
};

/* How a step goes on. */
enum {
	PLAY_DONE, /* nothing to do (any more) */
	PLAY_LAST, /* *op is its last operation */
	PLAY_AGAIN, /* *op, then it is asked again */
};

static inline int play_op(struct sim_op *op, enum sim_op_kind kind, uint32_t number)
{
	op->kind = kind;
	op->object = number;
	op->spin_ns = 0;
	return PLAY_LAST;
}

/* decide.c: steps at conditions. As above, or -ENOMEM. */
int play_wait_for(
	struct player *player, uint32_t index, const struct step *step, struct sim_op *op);
int play_decide(struct player *player, uint32_t index, const struct step *step, struct sim_op *op);
int play_put(struct player *player, uint32_t index, const struct step *step, struct sim_op *op);
int play_await_signal(
	struct player *player, uint32_t index, const struct step *step, struct sim_op *op);
int play_signal(struct player *player, const struct step *step, struct sim_op *op);

/* progress.c. progress_count(): as above, or -ENOMEM. */
int progress_init(struct player *player);
void progress_release(struct player *player);
/* A section begins to decide. 0 or -ENOMEM. */
int progress_decide(struct player *player, uint32_t index, const struct step *step);
bool progress_may_go_on(const struct player *player, uint32_t index, const struct step *step);
int progress_count(
	struct player *player, uint32_t index, const struct step *step, struct sim_op *op);

/* The step that a thread is at; NULL: it has done all. */
static inline const struct step *player_step(const struct player *player, uint32_t index)
{
	const struct play_thread *thread = &player->threads[index];
	const struct load_thread *list = &player->replay->threads[thread->list];
	return thread->at < list->count ? &list->steps[thread->at] : NULL;
}

/* deal.c. A thread's step is done: if that was a taking, it goes on with the next piece, or its own list. */
void deal_next(struct player *player, uint32_t index, const struct step *step);
/* The work before a step begins: thread.work; if thread.pool, a part of it, and what is left then. */
void deal_begin(struct player *player, uint32_t index, const struct step *step);
uint64_t deal_part(struct player *player, uint32_t index);
/* Whether it comes for what is no longer there. */
bool deal_is_refused(const struct player *player, uint32_t index, const struct step *step);
/* Whether the object is the place of a supply of which all is dealt. */
bool deal_is_over(const struct player *player, uint32_t object);

/* polls.c. Somebody has come to this step; a step that is a poll: as above, -EDEADLK when what it waits for does not come. */
/*
 * tickers.c. The thread comes to a pause: whether it ends instead. It is asked again: whether it was in a pause, behind which it
 * goes on elsewhere.
 */
bool tickers_end(struct player *player, uint32_t index);
void tickers_go_on(struct player *player, uint32_t index);
void polls_reach(struct player *player, uint32_t list, size_t at);
int polls_play(struct player *player, uint32_t index, const struct step *step, struct sim_op *op);

/* late.c: quantiles of the time from a wake-up to running on so many cores. */
void late_wakes(const struct replay *replay, uint32_t cores, double ret_parts[WAKES_PARTS]);

/* emit.c: struct sim_program's name(). */
const char *replay_name(void *context, uint8_t what, uint32_t number);

/* run.c */
bool replay_is_pinned(const struct replay_change *change);
bool replay_is_of(const struct replay_change *change, const struct load_thread *thread);
/* 0 or -ENOMEM. */
int player_add_to_table(
	struct player *player, enum sim_object_kind kind, uint32_t number, uint32_t object);

/* turns.c. Whether it is not this thread's turn: then *op waits for it. 1, 0, -ENOMEM, -EINVAL. */
int turns_wait(struct player *player, uint32_t index, const struct step *step, struct sim_op *op);
bool turns_pass_when_given_back(const struct load_object *object);
/* The next one's turn. True: *op lets it go. */
bool turns_pass(struct player *player, uint32_t object, struct sim_op *op);
/* After a deadlock. */
void turns_note_stuck(const struct player *player);

/* play.c: whether a thread is cut, now or when its pause is over. */
bool play_is_cut(const struct player *player, uint32_t index);

/* play.c: struct sim_program's next(). */
int play_next(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
	struct sim_op *op, struct err *err);

#endif
