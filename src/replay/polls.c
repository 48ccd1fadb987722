/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that look again and again whether the others are done, and sleep between: how often they do says how long the others
 * took, not how long they sleep.
 *
 * Pauses (sleeps, waits for a condition whose time ran out) at one place, with nothing but short looks between, perhaps under
 * a lock, are such a poll if some thread besides was active at the end of each of them but the last. The threads that came to
 * rest during the poll are what it waited for: in the replay it goes on pausing until each of them has come to
 * where it was at rest. That holds for a fixed number of pauses by chance only, if the others happen to be done
 * during its last one. So do twice as many pauses in the last of which a thread ended, though others went on with what that
 * left to them (who prints the result), if threads do not end all the time. A poll whose last wait is ended by a signal waits for that.
 */
#include "replay/player.h"

#include "base/mem.h"

#include <errno.h>

enum {
	PAUSES_LEAST = 5, /* a chance of at most one in five */
	PAUSES_BESIDE_OTHERS = 10, /* one in ten: more ends may be seen than times without others */
	PAUSES_EACH_ALONE =
		10, /* who has to look once more for each so many pauses may have had others to wait for */
	SEEN_MAX =
		64, /* threads that are active besides: of more their progress is not looked at */
	WORK_PART = 10, /* looking takes less than one in so many parts of the pauses */
	LOOKS_FACTOR =
		64, /* what never comes to rest is not waited for: so many times the recorded pauses */
};

/* Whether the wait that ends now is one more of the thread's poll. */
static bool goes_on(const struct load_thread *thread, uint64_t site)
{
	const struct load_poll *poll = &thread->poll;
	if (poll->pauses == 0 || poll->object != thread->wait_object || poll->site != site)
		return false;
	for (size_t i = poll->last + 1; i + 1 < thread->wait_step; i++)
		if (!step_is_look(&thread->steps[i]))
			return false;
	return true;
}

/* The step at which a thread rests, plus one; 0: it does not, did not begin to in this time, or polls itself. */
static size_t rests_at(const struct load_thread *thread, uint64_t since_ns)
{
	if (thread->is_over)
		return thread->ended_ns > since_ns ? thread->count : 0;
	bool is_polling = thread->poll.pauses > 0 && thread->poll.object == thread->wait_object;
	if (thread->wait_what == WHAT_NONE || thread->wait_what == WHAT_SLEEP ||
		thread->was_woken || is_polling)
		return 0;
	return thread->wait_ns > since_ns ? thread->wait_step : 0;
}

static int add_rest(struct load_poll *poll, uint32_t thread, size_t step)
{
	if (mem_grow(&poll->rests, &poll->rest_capacity, poll->rest_count + 1,
		    sizeof *poll->rests) < 0)
		return -ENOMEM;
	poll->rests[poll->rest_count++] = (struct rest){ thread, step };
	return 0;
}

/* The step, plus one, that another thread has to come to; 0: none. */
typedef size_t (*place_of)(const struct load_thread *other, const struct load_poll *poll);

static size_t rest_of(const struct load_thread *other, const struct load_poll *poll)
{
	return rests_at(other, poll->began_ns);
}

/*
 * In an emulator work takes many times as long, and pauses do not: so many of them are how far those have come who are active, which is
 * known by what they did last.
 */
static size_t progress_of(const struct load_thread *other, const struct load_poll *poll)
{
	return other->is_active && other->busy_ns >= poll->began_ns ? other->count : 0;
}

static size_t end_of(const struct load_thread *other, const struct load_poll *poll)
{
	bool is_beside = other->is_over && other->ended_ns > poll->began_ns &&
			 other->ended_ns <= poll->last_ended_ns;
	return is_beside ? other->count : 0;
}

/* What the poll waits for: such places of the other threads of its process. */
static int note(struct replay *replay, uint32_t index, place_of place)
{
	struct load_poll *poll = &replay->threads[index].poll;
	poll->rest_count = 0;
	for (uint32_t i = 0; i < replay->thread_count; i++) {
		const struct load_thread *other = &replay->threads[i];
		bool is_other = i != index && other->pid == replay->threads[index].pid;
		size_t step = is_other ? place(other, poll) : 0;
		if (step > 0 && add_rest(poll, i, step - 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Others were active all along: whether threads ended during the poll, one of them during its last pause, and few before. */
static bool ends_with_a_thread(const struct replay *replay, uint32_t index)
{
	const struct load_thread *thread = &replay->threads[index];
	const struct load_poll *poll = &thread->poll;
	uint32_t before = 0, ended = 0;
	if (poll->pauses < PAUSES_BESIDE_OTHERS || poll->alone > 0)
		return false;
	for (uint32_t i = 0; i < replay->thread_count; i++) {
		const struct load_thread *other = &replay->threads[i];
		if (i == index || other->pid != thread->pid || end_of(other, poll) == 0)
			continue;
		before += other->ended_ns <= poll->last_began_ns;
		ended++;
	}
	return ended > before && before <= poll->pauses / PAUSES_EACH_ALONE;
}

static bool is_confirmed(const struct load_thread *thread)
{
	const struct load_poll *poll = &thread->poll;
	uint64_t work_ns = 0;
	if (poll->pauses < PAUSES_LEAST || poll->is_refuted || poll->rest_count == 0 ||
		poll->alone > 1 + poll->pauses / PAUSES_EACH_ALONE ||
		(poll->alone == 0 && poll->pauses < PAUSES_BESIDE_OTHERS))
		return false;
	for (size_t i = poll->first + 1; i <= poll->last; i++)
		work_ns += thread->steps[i].work_ns;
	return work_ns * WORK_PART < poll->paused_ns;
}

/* Its pauses are none any more, but for the last. */
static void drop_pauses(struct load_thread *thread, size_t end)
{
	for (size_t i = thread->poll.first; i < end; i++)
		if (!step_is_look(&thread->steps[i]))
			step_drop_pause(&thread->steps[i]);
}

static int await_rest(struct replay *replay, uint32_t poll, struct rest rest)
{
	uint64_t *place;
	if (mem_grow(&replay->awaited, &replay->awaited_capacity, replay->awaited_count + 1,
		    sizeof *replay->awaited) < 0 ||
		map_add(&replay->rests, rest.thread, rest.step, 0, &place) < 0)
		return -ENOMEM;
	replay->awaited[replay->awaited_count++] = (struct awaited){ poll, (size_t)*place };
	*place = replay->awaited_count;
	replay->threads[rest.thread].steps[rest.step].is_awaited = true;
	return 0;
}

int polls_end(struct replay *replay, uint32_t index)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_poll *poll = &thread->poll;
	int code = 0;
	if (ends_with_a_thread(replay, index) && note(replay, index, end_of) < 0)
		return -ENOMEM;
	if (is_confirmed(thread)) {
		if (mem_grow(&replay->polls, &replay->poll_capacity, replay->poll_count + 1,
			    sizeof *replay->polls) < 0)
			return -ENOMEM;
		replay->polls[replay->poll_count] = (struct poll){ poll->pauses,
			(uint32_t)poll->rest_count, poll->paused_ns / poll->pauses };
		drop_pauses(thread, poll->last);
		thread->steps[poll->last].is_poll = true;
		thread->steps[poll->last].amount = replay->poll_count;
		for (size_t i = 0; code == 0 && i < poll->rest_count; i++)
			code = await_rest(replay, (uint32_t)replay->poll_count, poll->rests[i]);
		replay->poll_count++;
		replay->awaits_polls = true;
		replay->facts.polls++;
	}
	poll->pauses = 0;
	return code;
}

int polls_pause(struct replay *replay, uint32_t index, uint64_t site, uint64_t waited_ns)
{
	struct load_thread *thread = &replay->threads[index];
	struct load_poll *poll = &thread->poll;
	bool is_alone = replay->active == 1;
	if (!goes_on(thread, site)) {
		if (polls_end(replay, index) < 0)
			return -ENOMEM;
		*poll = (struct load_poll){ .rests = poll->rests,
			.rest_capacity = poll->rest_capacity,
			.object = thread->wait_object,
			.site = site,
			.first = thread->wait_step - 1,
			.began_ns = thread->wait_ns };
	}
	poll->last = thread->wait_step - 1;
	poll->last_began_ns = thread->wait_ns;
	poll->last_ended_ns = replay->now_ns;
	poll->pauses++;
	poll->paused_ns += waited_ns;
	poll->is_refuted |= !is_alone && poll->alone > 0;
	poll->alone += is_alone;
	if (is_alone)
		return poll->alone == 1 ? note(replay, index, rest_of) : 0;
	bool is_emulated = replay->opts.stretch && replay->active <= 1 + SEEN_MAX;
	bool may_count = poll->alone == 0 && poll->pauses >= PAUSES_BESIDE_OTHERS;
	return is_emulated && may_count ? note(replay, index, progress_of) : 0;
}

void polls_signalled(struct replay *replay, uint32_t index, uint64_t site)
{
	struct load_thread *thread = &replay->threads[index];
	if (!goes_on(thread, site))
		return;
	drop_pauses(thread, thread->wait_step - 1);
	thread->poll.pauses = 0;
}

void polls_reach(struct player *player, uint32_t list, size_t at)
{
	const struct replay *replay = player->replay;
	const uint64_t *place = map_find(&replay->rests, list, at);
	for (size_t i = place ? (size_t)*place : 0; i > 0; i = replay->awaited[i - 1].next)
		player->poll_left[replay->awaited[i - 1].poll]--;
}

int polls_play(struct player *player, uint32_t index, const struct step *step, struct sim_op *op)
{
	const struct poll *poll = &player->replay->polls[step->amount];
	uint32_t looks = player->threads[index].stage++;
	bool awaits = player->replay->awaits_polls;
	if (looks > 0 && (!awaits || player->poll_left[step->amount] == 0))
		return PLAY_DONE;
	if (looks / LOOKS_FACTOR > poll->pauses)
		return -EDEADLK;
	op->amount = awaits ? poll->pause_ns : poll->pause_ns * poll->pauses;
	if (step->kind == STEP_TIMED_WAIT)
		return play_wait_for(player, index, step, op);
	(void)play_op(op, SIM_SLEEP, 0);
	return PLAY_AGAIN;
}
