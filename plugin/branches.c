/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "branches.h"

#include "out.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* Outcomes of a class that are all looked at. */
	FIRST_OUTCOMES = 30000,
	/* Then one window in so many, in instructions. */
	WINDOW = 200000,
	WINDOW_EVERY = 24,
	WINDOWS_OFTEN = 16, /* after so many, rarer: in proportion to what has been executed */
	LONGEST_HISTORY = 12,
};

struct branches {
	struct entropy entropy;
	uint32_t known; /* outcomes since the window was opened */
	uint64_t window_end, next_window; /* instructions of the thread */
	uint32_t windows;
};

void branches_write(const struct thread *thread, struct sum *sum)
{
	struct entropy_sums *sums = &sum->branches;
	for (uint32_t i = 0; sums->executions && i < ENTROPY_HISTORIES; i++) {
		double against = 2 * (double)sums->against[i];
		struct raw_branches branches = { .stretch = sum->stretch,
			.thread = thread->number,
			.history = i,
			.executions = (double)sums->executions,
			.entropy = against + (double)sums->ties[i],
			.floor_entropy = against };
		out_record(RAW_BRANCHES, &branches, sizeof(branches), NULL, 0);
	}
	*sums = (struct entropy_sums){ 0 };
}

void branches_free(struct thread *thread)
{
	free(thread->branches);
	thread->branches = NULL;
}

void branches_block(struct vcpu *vcpu, const struct block *next)
{
	const struct block *previous = vcpu->previous;
	struct branches *branches = vcpu->thread->branches;
	if (!previous->ends_in_branch)
		return;
	uint64_t address = blocks_code(previous->places[previous->count - 1].code)->address;
	bool is_taken = next->address != previous->end;
	/* The history from before the window is not that of its first branches: they only make a new one. */
	if (branches->known++ < LONGEST_HISTORY) {
		branches->entropy.global = branches->entropy.global << 1 | is_taken;
		return;
	}
	entropy_add(&branches->entropy, &vcpu->sum->branches, address, is_taken);
	vcpu->sum->outcomes++;
}

static void set_window(struct vcpu *vcpu, bool is_open)
{
	bool was_open = vcpu->mode & VCPU_BRANCHES;
	if (is_open == was_open)
		return;
	vcpu->mode ^= VCPU_BRANCHES;
	vcpu->thread->branches->known = 0;
}

uint64_t branches_look(struct vcpu *vcpu)
{
	struct thread *thread = vcpu->thread;
	uint64_t now = vcpu->slot->instructions;
	if (!thread->branches && !(thread->branches = calloc(1, sizeof(*thread->branches))))
		return UINT64_MAX;
	struct branches *branches = thread->branches;
	if (now >= branches->next_window) {
		branches->window_end = now + WINDOW;
		branches->windows++;
		uint64_t gap = (uint64_t)WINDOW * WINDOW_EVERY;
		if (branches->windows > WINDOWS_OFTEN)
			gap += now / WINDOWS_OFTEN;
		branches->next_window = now + gap / 2 + thread_random(thread) % gap;
	}
	bool in_window = now < branches->window_end;
	set_window(vcpu, in_window || vcpu->sum->outcomes < FIRST_OUTCOMES);
	return (in_window ? branches->window_end : branches->next_window) - now;
}
