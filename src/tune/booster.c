/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune/booster.h"

#include "base/mem.h"
#include "tune/bottlenecks.h"

#include <errno.h>
#include <stdlib.h>

struct booster {
	const struct boost_policy *policy;
	struct boost_settings settings;
	struct boost_state state;
	struct account account;
	struct bottlenecks bottlenecks;
	uint64_t *before; /* criticality of each thread at the begin of the slice */
	size_t before_capacity;
	struct boost_thread *threads;
	size_t thread_capacity;
};

int booster_new(const struct booster_opts *opts, struct booster **ret, struct err *err)
{
	struct booster *booster = calloc(1, sizeof *booster);
	if (!booster)
		return err_set(err, -ENOMEM, "out of memory");
	booster->policy = opts->policy;
	booster->settings = opts->settings;
	booster->state = (struct boost_state){ BOOST_NONE, BOOST_NONE };
	account_init(&booster->account);
	*ret = booster;
	return 0;
}

void booster_free(struct booster *booster)
{
	if (!booster)
		return;
	account_release(&booster->account);
	bottlenecks_release(&booster->bottlenecks);
	free(booster->before);
	free(booster->threads);
	free(booster);
}

static int react(struct booster *booster)
{
	const struct account *account = &booster->account;
	uint32_t held = booster->state.held;
	struct boost_view view = {
		.only = account->active == 1 ? (uint32_t)account->active_sum : (uint32_t)BOOST_NONE,
		.is_held_active = held != BOOST_NONE && account->threads[held].is_active,
	};
	if (booster->policy->needs_bottlenecks) {
		int code = bottlenecks_view(
			&booster->bottlenecks, account, &view.bottlenecks, &view.bottleneck_count);
		if (code < 0)
			return code;
	}
	booster->policy->change(&view, &booster->state);
	return 0;
}

int booster_event(struct booster *booster, const struct event *event)
{
	struct account *account = &booster->account;
	if (event->kind == EVENT_NAME || event->kind == EVENT_LOST || event_is_aside(event))
		return 0;
	int code = account_advance(account, event->time_ns);
	if (code < 0)
		return code;
	uint32_t index = account_thread(account, event->pid, event->tid);
	if (index == INDEX_NONE)
		return -ENOMEM;
	account_apply(account, index, event);
	if (booster->policy->needs_bottlenecks)
		code = bottlenecks_event(&booster->bottlenecks, index, event);
	return code < 0 ? code : react(booster);
}

int booster_slice(struct booster *booster, uint64_t now_ns)
{
	struct account *account = &booster->account;
	size_t count = account->thread_count;
	int code = account->has_begun ? account_advance(account, now_ns) : 0;
	if (code < 0)
		return code;
	if (mem_grow(&booster->before, &booster->before_capacity, count, sizeof *booster->before) <
			0 ||
		mem_grow(&booster->threads, &booster->thread_capacity, count,
			sizeof *booster->threads) < 0)
		return -ENOMEM;
	account_settle(account);
	struct boost_view view = { .threads = booster->threads, .only = BOOST_NONE };
	for (uint32_t i = 0; i < count; i++) {
		const struct thread *thread = &account->threads[i];
		uint64_t criticality = thread->criticality - booster->before[i];
		booster->before[i] = thread->criticality;
		if (thread->is_alive)
			booster->threads[view.thread_count++] =
				(struct boost_thread){ i, criticality, thread->is_active };
	}
	if (booster->policy->slice)
		booster->policy->slice(&booster->settings, &view, &booster->state);
	return react(booster);
}

uint32_t booster_fast(const struct booster *booster)
{
	return booster->state.fast;
}

const struct account *booster_account(const struct booster *booster)
{
	return &booster->account;
}
