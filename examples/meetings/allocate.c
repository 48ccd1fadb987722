/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each thread allocates two small blocks and frees them: whether threads meet is up to the C library. */
#include "examples/meetings/meeting.h"

#include <stdatomic.h>

struct shared {
	size_t rounds;
	_Atomic uint64_t clashes;
};

/* The compiler may not leave the block out. */
static void *block_new(size_t bytes)
{
	void *block = malloc(bytes);
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

static void allocate(const struct kernel *kernel, int thread, void *data)
{
	struct shared *s = data;
	size_t rounds = meeting_part(kernel, s->rounds, thread);
	uint64_t x = (uint64_t)thread + 1, clashes = 0;
	for (size_t i = 0; i < rounds; i++) {
		x = meeting_mix(x + i);
		void *one = block_new(16 + x % 512), *other = block_new(64);
		uint64_t is_same = one == other;
		free(one);
		free(other);
		x += is_same;
		clashes += is_same;
	}
	atomic_fetch_add(&s->clashes, clashes);
}

static const struct meeting meetings[] = {
	{ "allocate", allocate, 50000000, "Allocates and frees small blocks (threads)." },
	{ 0 },
};

int main(int argc, char **argv)
{
	static struct shared s;
	const struct meeting *meeting = meeting_find(meetings, MEETING);
	struct kernel kernel = kernel_start(argc, argv, meeting->summary);
	s.rounds = kernel_scaled(&kernel, meeting->rounds);
	meeting_run(&kernel, meeting, &s);
	return meeting_finish(&kernel, s.rounds, s.clashes, 0);
}
