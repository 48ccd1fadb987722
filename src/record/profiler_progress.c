/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/profiler_progress.h"

#include <stddef.h>
#include <sys/mman.h>

void profiler_progress_watch(struct profiler_progress *progress, int page_fd)
{
	if (!progress->show)
		return;
	void *map = mmap(NULL, sizeof *progress->page, PROT_READ, MAP_SHARED, page_fd, 0);
	progress->page = map == MAP_FAILED ? NULL : map;
}

void profiler_progress_release(struct profiler_progress *progress)
{
	if (progress->page)
		(void)munmap((void *)progress->page, sizeof *progress->page); /* was mapped so */
	progress->page = NULL;
}

void profiler_progress_tick(void *context, uint64_t elapsed_ns)
{
	struct profiler_progress *progress = context;
	struct profiler_state state = { .elapsed_s = (double)elapsed_ns * 1e-9 };
	for (size_t i = 0; i < PROFILE_SLOTS; i++) {
		const struct profile_slot *slot = &progress->page->slots[i];
		state.threads += __atomic_load_n(&slot->tid, __ATOMIC_RELAXED) != 0;
		state.instructions += __atomic_load_n(&slot->instructions, __ATOMIC_RELAXED);
	}
	/* Those of a thread that has ended are gone when another has its slot. */
	if (state.instructions > progress->instructions)
		progress->instructions = state.instructions;
	state.instructions = progress->instructions;
	progress->show(&state);
}
