/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune/boost.h"

#include <string.h>

const struct boost_policy *const boost_policies[] = { &boost_policy_dynamic, &boost_policy_resume,
	&boost_policy_bis, NULL };

const struct boost_policy *boost_policy_by_name(const char *name)
{
	for (const struct boost_policy *const *p = boost_policies; *p; p++)
		if (strcmp((*p)->name, name) == 0)
			return *p;
	return NULL;
}

/* The ends of the criticalities, `held` left out of the least one as Algorithm 1 has it. */
struct extent {
	const struct boost_thread *most, *held; /* NULL: there is none */
	uint64_t least;
	bool has_least;
};

/* Of equals the held one is the most critical, then the first: no change without a reason. */
static struct extent extent_of(const struct boost_view *view, uint32_t held)
{
	struct extent extent = { 0 };
	for (size_t i = 0; i < view->thread_count; i++) {
		const struct boost_thread *thread = &view->threads[i];
		bool is_held = thread->id == held;
		if (is_held)
			extent.held = thread;
		if (!extent.most || thread->criticality > extent.most->criticality ||
			(is_held && thread->criticality == extent.most->criticality))
			extent.most = thread;
		if (is_held || (extent.has_least && thread->criticality >= extent.least))
			continue;
		extent.least = thread->criticality;
		extent.has_least = true;
	}
	return extent;
}

/* Ratios as products: a criticality may be 0. */
static bool is_above(uint64_t a, double ratio, uint64_t b)
{
	return (double)a > ratio * (double)b;
}

/* Algorithm 1. */
static void choose_critical(const struct boost_settings *settings, const struct boost_view *view,
	struct boost_state *state)
{
	double alpha = settings->alpha > 0 ? settings->alpha : 1.2;
	double beta = settings->beta > 0 ? settings->beta : 0.8;
	struct extent extent = extent_of(view, state->held);
	if (!extent.held)
		state->held = BOOST_NONE;
	if (!extent.most || extent.most->criticality == 0) {
		state->held = BOOST_NONE; /* nothing ran: nobody is critical */
		return;
	}
	if (extent.has_least && is_above(extent.most->criticality, alpha, extent.least))
		state->held = extent.most->id;
	else if (extent.held &&
		 !((double)extent.held->criticality >= beta * (double)extent.most->criticality))
		state->held = BOOST_NONE;
}

static void react_as_published(const struct boost_view *view, struct boost_state *state)
{
	bool was_fast = state->held != BOOST_NONE && state->fast == state->held;
	if (was_fast && !view->is_held_active)
		state->held = BOOST_NONE;
	if (view->only != BOOST_NONE) {
		state->held = state->fast = view->only;
		return;
	}
	state->fast = view->is_held_active ? state->held : BOOST_NONE;
}

static void react_and_resume(const struct boost_view *view, struct boost_state *state)
{
	state->fast = view->only != BOOST_NONE ? view->only
		      : view->is_held_active   ? state->held
					       : BOOST_NONE;
}

/* BIS: whoever executes the bottleneck for which threads have waited most. */
static void choose_bottleneck(const struct boost_view *view, struct boost_state *state)
{
	const struct boost_bottleneck *worst = NULL;
	for (size_t i = 0; i < view->bottleneck_count; i++) {
		const struct boost_bottleneck *bottleneck = &view->bottlenecks[i];
		if (bottleneck->executor == BOOST_NONE)
			continue;
		if (!worst || bottleneck->contention > worst->contention ||
			(bottleneck->contention == worst->contention &&
				bottleneck->executor == state->held))
			worst = bottleneck;
	}
	state->held = state->fast = worst ? worst->executor : BOOST_NONE;
}

const struct boost_policy boost_policy_dynamic = {
	.name = "dynamic",
	.summary = "the most critical thread of the last slice, until it is scheduled out",
	.slice = choose_critical,
	.change = react_as_published,
};

const struct boost_policy boost_policy_resume = {
	.name = "resume",
	.summary = "the most critical thread of the last slice, whenever it is active",
	.slice = choose_critical,
	.change = react_and_resume,
};

const struct boost_policy boost_policy_bis = {
	.name = "bis",
	.summary = "who executes the most contended bottleneck",
	.needs_bottlenecks = true,
	.change = choose_bottleneck,
};
