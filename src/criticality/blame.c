/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits, and which part of blame an event is for. */
#include "criticality/blame_parts.h"

#include "base/mem.h"

#include <errno.h>

static int begin_wait(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	struct object *object = blame_object(blame, event->pid, event->what, event->object);
	if (!object)
		return -ENOMEM;
	object_settle(object, account);
	bool is_barrier = event->what == WHAT_BARRIER;
	/* The last to arrive may say that it waits in the instant in which it lets the others go. */
	bool is_last = object->has_left && object->end_ns == account->now_ns;
	if (!is_last && (object->waiters == 0 || object->has_left)) {
		int code = is_barrier ? episode_begin(blame, account, object) : 0;
		if (code < 0)
			return code;
		object->wait_g = account->g;
		object->open_ns = account->now_ns;
	}
	if (object->waiters == 0)
		object->busy_since_ns = account->now_ns;
	if (is_barrier)
		episode_arrive(blame, object, account, index, event);
	if (event->what == WHAT_FUTEX) {
		futex_arrive(object, account, index);
		if (!object->entry)
			object->entry = event->value;
	}
	if (!object->site)
		object->site = event->site;
	object->waiters++;
	object->waits += account->is_inside;
	struct blame_thread *mine = &blame->threads[index];
	mine->object = object_index(blame, object) + 1;
	mine->wait_ns = account->now_ns;
	for (size_t i = 0; i < RANKS; i++) {
		mine->wait_w[i] = account->w[i];
		mine->wait_w_idle[i] = account->w_idle[i];
	}
	holds_await(blame, account, index);
	return 0;
}

/* One object, or the two words at which the C library lets threads wait for one condition in turn. As indices plus one. */
static bool is_same_condition(const struct blame *blame, uint32_t last, uint32_t next)
{
	if (last == 0 || last == next)
		return last == next;
	const struct object *a = &blame->objects[last - 1], *b = &blame->objects[next - 1];
	return a->what == WHAT_FUTEX && b->what == WHAT_FUTEX && a->pid == b->pid &&
	       (a->address ^ b->address) == sizeof(uint32_t);
}

static int end_wait(struct blame *blame, const struct account *account, uint32_t index)
{
	struct blame_thread *mine = &blame->threads[index];
	if (mine->object == 0)
		return 0;
	uint32_t number = mine->object - 1;
	struct object *object = &blame->objects[number];
	uint64_t waited = account->now_ns - mine->wait_ns;
	object_settle(object, account);
	episode_leave(object, account);
	mine->object = 0;
	if (!is_same_condition(blame, mine->last_object, number + 1))
		mine->timed_out = 0;
	mine->last_object = number + 1;
	uint8_t rank = account->threads[index].rank;
	mine->lost = account->w[rank] - mine->wait_w[rank];
	mine->lost_idle = account->w_idle[rank] - mine->wait_w_idle[rank];
	object->loss += mine->lost;
	object->idle_loss += mine->lost_idle;
	if (what_is_lock(object->what))
		holds_pass_on(blame, account, index, object);
	object->waited_ns += waited;
	object->waited_ns2 += (double)waited * (double)waited;
	if (--object->waiters ==
		0) /* the last at a barrier may wait for no time, see begin_wait() */
		object->contended_ns += account->now_ns - object->busy_since_ns;
	struct pairing *pairing = blame_pairing(&blame->by_site, number, mine->site);
	if (!pairing)
		return -ENOMEM;
	pairing->waited_ns += waited;
	pairing->count++;
	if (!object_is_code(object))
		return 0;
	pairing = blame_pairing(&blame->by_thread, number, index);
	if (pairing)
		pairing->waited_ns += waited;
	return pairing ? 0 : -ENOMEM;
}

/* A wait that ran into its time limit was not for what somebody else did. */
static void forget_loss(struct blame *blame, uint32_t index)
{
	struct blame_thread *mine = &blame->threads[index];
	if (mine->last_object == 0)
		return;
	blame->objects[mine->last_object - 1].loss -= mine->lost;
	blame->objects[mine->last_object - 1].idle_loss -= mine->lost_idle;
	mine->timed_out += mine->lost;
	mine->lost = mine->lost_idle = 0;
}

/* All that a thread has accrued, its open stretch included. */
static uint64_t criticality_so_far(const struct account *account, const struct thread *thread)
{
	return thread->criticality + account_since(account, thread, thread->since_g);
}

/* What a thread has accrued since its last sample goes to a place. 0 or -ENOMEM. */
static int charge(struct blame *blame, const struct account *account, uint32_t index,
	const struct site *place)
{
	struct blame_thread *mine = &blame->threads[index];
	const struct thread *thread = &account->threads[index];
	struct site *site = blame_site(blame, &blame->samples, place);
	if (!site)
		return -ENOMEM;
	uint64_t total = criticality_so_far(account, thread);
	site->blame += total - mine->sampled;
	site->alone_ns += thread->alone_ns - mine->sampled_alone_ns;
	mine->sampled = total;
	mine->sampled_alone_ns = thread->alone_ns;
	mine->sample = (uint32_t)(site - blame->samples.items) + 1;
	return 0;
}

static int take_sample(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	const struct site place = {
		.pid = event->pid, .address = event->site, .stack = event->object
	};
	int code = charge(blame, account, index, &place);
	if (code < 0)
		return code;
	blame->samples.items[blame->threads[index].sample - 1].count++;
	blame->sample_count++;
	return 0;
}

/* The rest of a thread, which no sample will follow. */
static int end_samples(struct blame *blame, const struct account *account, uint32_t index)
{
	const struct blame_thread *mine = &blame->threads[index];
	const struct thread *thread = &account->threads[index];
	struct site place = { .pid = thread->pid, .address = thread->routine };
	if (criticality_so_far(account, thread) == mine->sampled)
		return 0;
	if (mine->sample > 0)
		place = blame->samples.items[mine->sample - 1];
	return charge(blame, account, index, &place);
}

static int add_segment(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	struct blame_thread *mine = &blame->threads[index];
	const struct thread *thread = &account->threads[index];
	bool is_exit = event->kind == EVENT_THREAD_EXIT;
	uint64_t units = account_since(account, thread, mine->segment_g);
	if (units == 0 || (event->site == 0 && !is_exit))
		return 0;
	mine->segment_g = account->g;
	const struct site place = { .pid = event->pid,
		.address = event->site == 0 ? thread->routine : event->site };
	struct site *site = blame_site(blame, &blame->segments, &place);
	if (!site)
		return -ENOMEM;
	site->blame += units;
	site->count++;
	return 0;
}

/* What a thread ran until now. */
static int add_code(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	if (event->kind == EVENT_SAMPLE)
		return take_sample(blame, account, index, event);
	int code = add_segment(blame, account, index, event);
	if (code == 0 && event->kind == EVENT_THREAD_EXIT)
		code = end_samples(blame, account, index);
	return code;
}

/* Whether an event of this kind can start or stop its thread. */
static bool is_change(uint8_t kind)
{
	return kind == EVENT_WAIT || kind == EVENT_WOKEN || kind == EVENT_PASS ||
	       kind == EVENT_THREAD_EXIT || kind == EVENT_RUN || kind == EVENT_PREEMPT;
}

static int release(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	if (what_is_lock(event->what))
		return hold_give_back(blame, account, index, event);
	if (event->what == WHAT_SEM)
		return semaphore_post(blame, account, index, event);
	if (!what_is_signalled(event->what))
		return 0;
	struct object *object = blame_object(blame, event->pid, event->what, event->object);
	return object ? object_signal(blame, account, index, object) : -ENOMEM;
}

int blame_before(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	if (mem_grow(&blame->threads, &blame->thread_capacity, account->thread_count,
		    sizeof *blame->threads) < 0)
		return -ENOMEM;
	blame->thread_count = account->thread_count;
	if (event->kind == EVENT_LEFT_OUT) {
		hold_burst(blame, account, index, event);
		return 0;
	}
	futex_find_join(blame, index, event);
	if (event->kind == EVENT_THREAD_START)
		blame->threads[index].begin_cpu_ns = event->cpu_ns;
	int code = add_code(blame, account, index, event);
	if (code < 0)
		return code;
	if (event->kind == EVENT_RELEASE)
		return release(blame, account, index, event);
	if (event->kind == EVENT_WOKEN)
		code = futex_signal(blame, account, index, event);
	if (code == 0 && (event->kind == EVENT_WAIT || event->kind == EVENT_THREAD_EXIT))
		code = hold_end_coming(blame, account, index);
	if (code < 0 || !is_change(event->kind))
		return code;
	while (event->kind == EVENT_THREAD_EXIT && code == 0 && blame->threads[index].count > 0)
		code = hold_end(blame, account, index, blame->threads[index].holds);
	hold_recount(blame, account, index, -1);
	bool was_waiting = blame->threads[index].object > 0, was_kept = is_kept(blame, index);
	if (code == 0 && was_kept && event->kind == EVENT_WOKEN)
		code = keep_end(blame, account, index, event);
	if (was_kept && event->kind == EVENT_THREAD_EXIT)
		keep_forget(blame, account, index);
	if (code == 0 && event->kind != EVENT_RUN && event->kind != EVENT_PREEMPT)
		code = end_wait(blame, account, index);
	if (code == 0 && event->kind == EVENT_WOKEN && was_waiting)
		code = turn_end(blame, account, index, event);
	if (code < 0 || event->kind != EVENT_WAIT)
		return code;
	blame->threads[index].site = event->site;
	return what_is_object(event->what) ? begin_wait(blame, account, index, event) : 0;
}

/* No thread was active until this one's wait was over. */
static int end_idle(struct blame *blame, const struct account *account, uint32_t index)
{
	struct blame_thread *mine = &blame->threads[index];
	const struct thread *thread = &account->threads[index];
	uint64_t idle_ns = thread->ended_idle_ns - mine->ended_idle_ns;
	if (idle_ns == 0 || thread->what == WHAT_NONE)
		return 0;
	mine->ended_idle_ns = thread->ended_idle_ns;
	const struct site place = {
		.pid = thread->pid, .address = mine->site, .what = thread->what
	};
	struct site *site = blame_site(blame, &blame->idles, &place);
	if (!site)
		return -ENOMEM;
	site->alone_ns += idle_ns;
	site->count++;
	return 0;
}

static int pass(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	if (event->flags & EVENT_TIMED_OUT) {
		if (event->flags & EVENT_WAITED)
			forget_loss(blame, index);
		return hold_end_coming(blame, account, index);
	}
	if (what_is_held(event->what))
		return hold_take(blame, account, index, event);
	return event->what == WHAT_BARRIER ? episode_pass(blame, account, index, event) : 0;
}

/* What the scheduler says of a thread beside what was recorded of it: the rest of its life it slept. */
static void find_unseen(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	struct blame_thread *mine = &blame->threads[index];
	/* The scheduler's sum lags behind by a tick; who ends by itself knows it exactly. */
	uint64_t cpu_ns = event->object > event->cpu_ns ? event->object : event->cpu_ns;
	uint64_t known_ns = cpu_ns + event->value;
	uint64_t active_ns = account->threads[index].active_ns + mine->begin_cpu_ns;
	bool is_known = event->value > 0 && account->window_to_ns == 0;
	if (is_known)
		mine->queued_ns = event->value;
	if (is_known && active_ns > known_ns)
		mine->unseen_ns = active_ns - known_ns;
}

int blame_after(struct blame *blame, const struct account *account, uint32_t index,
	const struct event *event)
{
	if (event->kind == EVENT_TRY_FAILED) {
		struct object *object = blame_object(blame, event->pid, event->what, event->object);
		if (object)
			object->try_failures += account->is_inside;
		return object ? 0 : -ENOMEM;
	}
	if (!is_change(event->kind))
		return 0;
	hold_recount(blame, account, index, 1);
	if (event->kind == EVENT_THREAD_EXIT)
		find_unseen(blame, account, index, event);
	int code = end_idle(blame, account, index);
	if (code == 0 && event->kind == EVENT_WOKEN)
		code = hold_expect(blame, account, index);
	return code == 0 && event->kind == EVENT_PASS ? pass(blame, account, index, event) : code;
}

void blame_settle(struct blame *blame, const struct account *account)
{
	for (size_t i = 0; i < blame->thread_count; i++) {
		if (is_kept(blame, (uint32_t)i))
			keep_forget(blame, account, (uint32_t)i);
		(void)end_wait(blame, account, (uint32_t)i); /* memory: only a call site is lost */
		if (account->threads[i].is_alive)
			(void)end_samples(blame, account, (uint32_t)i); /* as above */
	}
	for (size_t i = 0; i < blame->object_count; i++) {
		object_settle(&blame->objects[i], account);
		(void)episode_end(blame, account, &blame->objects[i]); /* as above */
	}
}
