/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "criticality/account.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

#define CLOCK_MAX_NS ((uint64_t)1 << (63 - UNIT_SHIFT))
#define STANDBY_FROM_NS 32000000u

void account_init(struct account *account)
{
	*account = (struct account){ .strip_shift = STRIP_SHIFT_MIN };
}

void account_release(struct account *account)
{
	for (size_t i = 0; i < account->thread_count; i++) {
		free(account->threads[i].name);
		free(account->threads[i].bins);
	}
	free(account->threads);
	index_release(&account->index);
	*account = (struct account){ 0 };
}

/* Those of the threads that wait which could save something. */
static enum rank rank_of_savers(const struct account *account)
{
	return account->held_up[RANK_WORKER] > 0 ? RANK_WORKER : RANK_STANDBY;
}

/* What each of them could have saved of a stretch with r active threads. */
static uint64_t saving(const struct account *account, uint64_t dt, uint32_t r)
{
	uint64_t w = account->held_up[rank_of_savers(account)], p = r + w;
	if (w == 0)
		return 0;
	if (account->cores == 0 || p <= account->cores)
		return (dt << UNIT_SHIFT) / p;
	if (r >= account->cores)
		return 0;
	return (dt << UNIT_SHIFT) / (account->cores * w) * (account->cores - r);
}

/* Cores that are there, but not for this program's threads, of which enough were ready. */
static void add_denied(struct account *account, uint64_t dt)
{
	uint64_t wanted = account->ready < account->run_cores ? account->ready : account->run_cores;
	account->wanted_ns += dt * wanted;
	if (account->running < wanted)
		account->denied_ns += dt * (wanted - account->running);
}

/* Gives away a stretch in which nobody changed. */
static void accrue(struct account *account, uint64_t until_ns)
{
	uint64_t dt = until_ns - account->now_ns;
	uint32_t r = account->active;
	if (dt == 0)
		return;
	account->now_ns = until_ns;
	add_denied(account, dt);
	account->parallelism_ns[r < PARALLELISM_MAX ? r : PARALLELISM_MAX] += dt;
	if (r == 0) {
		account->idle_ns += dt;
		account->w_idle[rank_of_savers(account)] += saving(account, dt, 1);
		return;
	}
	account->w[rank_of_savers(account)] += saving(account, dt, r);
	uint64_t units = (dt << UNIT_SHIFT) + account->carry;
	if (r == 1) {
		account->g += units;
		account->carry = 0;
		account->threads[account->active_sum].alone_ns += dt;
		return;
	}
	account->g += units / r;
	account->carry = units % r;
}

/* Two bins become one. */
static void halve_bins(struct thread *thread)
{
	if (thread->bin_count == 0)
		return;
	uint32_t first = thread->first_bin, last = first + thread->bin_count - 1;
	uint32_t count = last / 2 - first / 2 + 1;
	for (uint32_t i = 0; i < thread->bin_count; i++) {
		uint64_t units = thread->bins[i];
		thread->bins[i] = 0;
		thread->bins[(first + i) / 2 - first / 2] += units;
	}
	thread->first_bin = first / 2;
	thread->bin_count = count;
}

/* By what the thread has done so far; it waits. */
static enum rank rank_of(const struct account *account, const struct thread *thread)
{
	uint64_t life_ns = account->now_ns - thread->start_ns;
	bool is_standby = account->most_active_ns >= STANDBY_FROM_NS &&
			  thread->active_ns < life_ns / SERIAL_RATIO &&
			  thread->active_ns < account->most_active_ns / SERIAL_RATIO;
	return is_standby ? RANK_STANDBY : RANK_WORKER;
}

static void rank_again(struct account *account, struct thread *thread)
{
	if (!thread->is_alive || !thread->is_waiting || !what_is_held_up(thread->what))
		return;
	account->held_up[thread->rank]--;
	thread->rank = (uint8_t)rank_of(account, thread);
	account->held_up[thread->rank]++;
}

static void double_width(struct account *account)
{
	for (uint32_t i = 0; i <= STRIP_BINS / 2; i++)
		account->strip_g[i] = account->strip_g[2 * i];
	for (size_t i = 0; i < account->thread_count; i++) {
		halve_bins(&account->threads[i]);
		rank_again(account, &account->threads[i]);
	}
	account->strip_shift++;
	account->strip_done = STRIP_BINS / 2;
}

static uint64_t clock_time(struct account *account, uint64_t time_ns)
{
	if (!account->has_begun) {
		account->has_begun = true;
		account->origin_ns = time_ns;
	}
	uint64_t time = time_ns > account->origin_ns ? time_ns - account->origin_ns : 0;
	account->is_inside = account->window_to_ns == 0 ||
			     (time >= account->window_from_ns && time <= account->window_to_ns);
	if (account->window_to_ns == 0)
		return time;
	if (time > account->window_to_ns)
		time = account->window_to_ns;
	return time > account->window_from_ns ? time - account->window_from_ns : 0;
}

int account_advance(struct account *account, uint64_t time_ns)
{
	uint64_t time = clock_time(account, time_ns);
	if (time <= account->now_ns)
		return 0;
	if (time >= CLOCK_MAX_NS)
		return -ERANGE;
	while (time >> account->strip_shift > account->strip_done) {
		accrue(account, (uint64_t)(account->strip_done + 1) << account->strip_shift);
		account->strip_g[++account->strip_done] = account->g;
		if (account->strip_done == STRIP_BINS)
			double_width(account);
	}
	accrue(account, time);
	return 0;
}

/* NULL without memory: then the strip lacks this part, nothing else. */
static uint64_t *bin_of(struct thread *thread, uint32_t bin)
{
	if (thread->bin_count == 0)
		thread->first_bin = bin;
	uint32_t need = bin - thread->first_bin + 1;
	if (need > thread->bin_count) {
		uint64_t *bins = realloc(thread->bins, need * sizeof *bins);
		if (!bins)
			return NULL;
		for (uint32_t i = thread->bin_count; i < need; i++)
			bins[i] = 0;
		thread->bins = bins;
		thread->bin_count = need;
	}
	return &thread->bins[bin - thread->first_bin];
}

static void add_to_strip(struct account *account, struct thread *thread)
{
	uint32_t last = (uint32_t)(account->now_ns >> account->strip_shift);
	uint64_t g = thread->since_g;
	for (uint32_t i = (uint32_t)(thread->since_ns >> account->strip_shift); i <= last; i++) {
		uint64_t end = i < last ? account->strip_g[i + 1] : account->g;
		uint64_t *bin = end != g ? bin_of(thread, i) : NULL;
		if (bin)
			*bin += end - g;
		g = end;
	}
}

/* What a thread's open stretch is worth so far; a new stretch of the same kind begins. */
static void settle(struct account *account, struct thread *thread)
{
	uint64_t dt = account->now_ns - thread->since_ns;
	if (thread->is_active) {
		thread->criticality += account->g - thread->since_g;
		thread->active_ns += dt;
		if (thread->active_ns > account->most_active_ns)
			account->most_active_ns = thread->active_ns;
		add_to_strip(account, thread);
	} else if (thread->is_waiting && thread->is_alive) {
		thread->waited_ns[thread->what] += dt;
	}
	thread->since_ns = account->now_ns;
	thread->since_g = account->g;
}

static void change(struct account *account, uint32_t index)
{
	struct thread *thread = &account->threads[index];
	bool has_core = !account->needs_core || !account->has_cores || thread->is_on_core;
	bool is_ready = thread->is_alive && !thread->is_waiting;
	bool is_running = is_ready && thread->is_on_core;
	bool is_active = is_ready && has_core;
	account->ready += (uint32_t)is_ready - (uint32_t)thread->is_ready;
	account->running += (uint32_t)is_running - (uint32_t)thread->is_running;
	thread->is_ready = is_ready;
	thread->is_running = is_running;
	if (is_active == thread->is_active)
		return;
	thread->is_active = is_active;
	account->active += is_active ? 1 : -1;
	if (is_active && account->active == 1) {
		thread->ended_idle_ns += account->idle_ns - account->idle_told_ns;
		account->idle_told_ns = account->idle_ns;
	}
	account->active_sum += is_active ? index : -(uint64_t)index;
}

uint32_t account_thread(struct account *account, uint32_t pid, uint32_t tid)
{
	uint32_t found = index_find(&account->index, pid, tid);
	if (found != INDEX_NONE)
		return found;
	uint32_t index = (uint32_t)account->thread_count;
	if (mem_grow(&account->threads, &account->thread_capacity, account->thread_count + 1,
		    sizeof *account->threads) < 0 ||
		index_add(&account->index, pid, tid, index) < 0)
		return INDEX_NONE;
	account->threads[account->thread_count++] = (struct thread){ .pid = pid,
		.tid = tid,
		.start_ns = account->now_ns,
		.since_ns = account->now_ns,
		.since_g = account->g,
		.is_alive = true,
		.is_on_core = true };
	change(account, index);
	if (++account->live > account->live_max)
		account->live_max = account->live;
	return index;
}

static void end_wait(struct account *account, struct thread *thread)
{
	if (thread->is_waiting && what_is_held_up(thread->what))
		account->held_up[thread->rank]--;
	thread->is_waiting = false;
}

static void begin_wait(struct account *account, uint32_t index, uint8_t what)
{
	struct thread *thread = &account->threads[index];
	settle(account, thread);
	end_wait(account, thread);
	thread->what = what <= WHAT_OTHER ? what : WHAT_OTHER;
	thread->is_waiting = true;
	thread->is_on_core = false;
	thread->rank = (uint8_t)rank_of(account, thread);
	if (what_is_held_up(thread->what))
		account->held_up[thread->rank]++;
	change(account, index);
}

static void wake(struct account *account, uint32_t index)
{
	struct thread *thread = &account->threads[index];
	if (!thread->is_waiting)
		return;
	settle(account, thread);
	end_wait(account, thread);
	change(account, index);
}

static void set_core(struct account *account, uint32_t index, bool has_core)
{
	struct thread *thread = &account->threads[index];
	if (thread->is_on_core == has_core)
		return;
	settle(account, thread);
	thread->is_on_core = has_core;
	change(account, index);
}

static void end_thread(struct account *account, uint32_t index)
{
	struct thread *thread = &account->threads[index];
	settle(account, thread);
	end_wait(account, thread);
	thread->is_alive = false;
	account->live--;
	account->exited[account->exit_count++ % EXITED_MAX] = thread->tid;
	thread->end_ns = account->now_ns;
	change(account, index);
	index_remove(&account->index, thread->pid, thread->tid);
}

void account_apply(struct account *account, uint32_t index, const struct event *event)
{
	struct thread *thread = &account->threads[index];
	switch ((enum event_kind)event->kind) {
	case EVENT_THREAD_START:
		if (event->object) /* of two recorders one may not know it */
			thread->routine = event->object;
		thread->parent = (uint32_t)event->value;
		break;
	case EVENT_THREAD_EXIT:
		end_thread(account, index);
		break;
	case EVENT_WAIT:
		begin_wait(account, index, event->what);
		break;
	case EVENT_WOKEN:
		wake(account, index);
		break;
	case EVENT_PASS:
		wake(account, index);
		set_core(account, index, true);
		break;
	case EVENT_RUN:
	case EVENT_PREEMPT:
		account->has_cores = true;
		set_core(account, index, event->kind == EVENT_RUN);
		break;
	default:
		break;
	}
}

void account_settle(struct account *account)
{
	for (size_t i = 0; i < account->thread_count; i++) {
		struct thread *thread = &account->threads[i];
		if (!thread->is_alive)
			continue;
		settle(account, thread);
		thread->end_ns = account->now_ns;
	}
}
