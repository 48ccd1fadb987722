/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/core_front.h"

#include <string.h>

void core_front_start(struct core_front *front, const struct processor *processor,
	const struct core_input *input, const struct core_memory *memory)
{
	/* What lies between a line and one so far before it, and the instruction after which that was come upon. */
	double ahead = processor->fetch_ahead > 0 && input->fetches > 0
			       ? processor->fetch_ahead / input->fetches + 1
			       : 0;
	*front = (struct core_front){
		.processor = processor,
		.has_fetch_misses = input->fetch_beyond[0] > 0,
		.has_targets = processor->targets.entries > 0,
		.ahead = ahead < CORE_FETCHED_MAX ? (uint32_t)ahead : CORE_FETCHED_MAX - 1,
	};
	for (unsigned i = 0; i < 2; i++)
		front->targets_late[i] =
			input->targets_late[i] - (i == 0 ? input->targets_late[1] : 0);
	for (uint32_t i = 0; i < processor->level_count; i++) {
		bool is_last = i + 1 == processor->level_count;
		double beyond = is_last ? 0 : input->fetch_beyond[i + 1];
		unsigned service = is_last ? CORE_FROM_MEMORY
					   : CORE_FROM_LEVEL + processor->level_count - 2 - i;
		front->fetch_misses[i] = input->fetch_beyond[i] - beyond;
		front->fetch_debt[i] = 0.5;
		front->fetch_latency[i] = (double)memory->services[service].latency;
		front->fetch_interval[i] = is_last ? 0 : processor->levels[i + 1].fetch_interval;
	}
}

void core_front_hold(struct core_front *front, int64_t ready, enum core_component reason)
{
	if (ready <= front->ready)
		return;
	front->ready = ready;
	front->reason = reason;
}

void core_front_redirect(struct core_front *front, int64_t ready)
{
	front->redirected_at = ready;
	core_front_hold(front, ready, CORE_BRANCH);
}

/*
 * When the line of the instruction at hand is asked for: when the front end needs it; or, where it runs ahead, when it came
 * upon it: after it had begun anew, and had got rid of a line so far before this one.
 */
static int64_t fetch_start(const struct core_front *front, int64_t dispatch_at)
{
	if (front->ahead == 0)
		return front->ready > dispatch_at ? front->ready : dispatch_at;
	int64_t passed = front->passed_at[(front->instruction - front->ahead) % CORE_FETCHED_MAX];
	return passed > front->redirected_at ? passed : front->redirected_at;
}

/*
 * Misses of instruction lines come evenly: each holds the front end until it has what the next level takes, and comes some
 * cycles behind the one before, which a queue of blocks hides only until it is empty: behind a misprediction.
 */
void core_front_fetch(struct core_front *front, int64_t dispatch_at)
{
	if (!front->has_fetch_misses && !front->has_targets)
		return;
	front->passed_at[++front->instruction % CORE_FETCHED_MAX] = dispatch_at;
	for (unsigned i = 0; i < 2; i++)
		front->target_debt[i] += front->targets_late[i];
	for (uint32_t i = 0; i < front->processor->level_count; i++) {
		front->fetch_debt[i] += front->fetch_misses[i];
		if (front->fetch_debt[i] < 1)
			continue;
		front->fetch_debt[i] -= 1;
		int64_t came =
			fetch_start(front, dispatch_at) + (int64_t)(front->fetch_latency[i] + 0.5);
		if (came < front->line_at + front->fetch_interval[i])
			came = front->line_at + front->fetch_interval[i];
		front->line_at = came;
		core_front_hold(front, came, CORE_ICACHE);
	}
}

/*
 * It goes on to another block of instructions so many cycles after it came to this one; ahead of dispatch, if it runs ahead,
 * so that a queue of blocks hides that where instructions take longer to be done.
 */
static void next_block(struct core_front *front, int64_t dispatch_at, int64_t cycles)
{
	int64_t found = fetch_start(front, dispatch_at);
	if (front->ahead > 0 && front->block_at > found)
		found = front->block_at;
	front->block_at = found + cycles;
	core_front_hold(front, front->block_at, CORE_BRANCH);
}

void core_front_next_line(struct core_front *front, int64_t dispatch_at)
{
	if (front->ahead > 0 && front->processor->targets.next_line > 0)
		next_block(front, dispatch_at, front->processor->targets.next_line);
}

/* Of one whose target is at hand. */
static int64_t least_delay(const struct targets *targets, const struct core_uop *uop)
{
	bool is_return = uop->is_computed && !(uop->flags & CORE_INDIRECT);
	if (is_return && targets->return_delay > 0)
		return targets->return_delay;
	if (uop->is_computed)
		return targets->computed_delay > 0 ? targets->computed_delay : targets->delay;
	return 0;
}

/* Cycles until it goes on behind a taken branch. Targets that are not in a level come evenly. */
static int64_t target_delay(struct core_front *front, const struct core_uop *uop)
{
	const struct targets *targets = &front->processor->targets;
	int64_t delay = least_delay(targets, uop);
	if (front->target_debt[0] >= 1) {
		front->target_debt[0] -= 1;
		delay = targets->delay;
	}
	if (front->target_debt[1] >= 1) {
		front->target_debt[1] -= 1;
		delay = targets->second_delay;
	}
	return delay;
}

/* Cycles more that the block took which the branch ends: of long ones that repeat there is one on its way at a time. */
static int64_t block_delay(struct core_front *front, const struct core_uop *uop, uint64_t uops)
{
	const struct targets *targets = &front->processor->targets;
	uint64_t length = uops - front->block_from;
	front->block_from = uops;
	if (front->ahead == 0 || targets->short_block == 0 || uop->windows == 0 ||
		length <= targets->short_block)
		return 0;
	front->taken = targets->taken; /* it has its cycles to itself */
	return (int64_t)targets->long_block + uop->windows - 1;
}

/*
 * To the target in the cycle after the branch, or after the last branch that it follows in a cycle; or when the target comes.
 */
void core_front_take_branch(
	struct core_front *front, const struct core_uop *uop, int64_t dispatch_at, uint64_t uops)
{
	if (!front->has_targets)
		return;
	int64_t delay = uop->is_split ? front->processor->targets.split_branch : 0;
	delay += target_delay(front, uop) + block_delay(front, uop, uops);
	bool ends_cycle = front->ahead > 0 && ++front->taken >= front->processor->targets.taken;
	if (ends_cycle)
		front->taken = 0;
	next_block(front, dispatch_at, delay + ends_cycle);
}
