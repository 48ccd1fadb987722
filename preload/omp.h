/* SPDX-License-Identifier: MIT */
/* What the two ways to see OpenMP share: GCC's entry points (omp.c) and OMPT (ompt.c). */
#ifndef PRELOAD_OMP_H
#define PRELOAD_OMP_H

#include "sink.h"

enum {
	/* Less than this between entry and return is the call itself, not a wait. */
	OMP_NOTICEABLE_NS = 1000,
};

/* A parallel region was opened by GCC's entry points. */
extern HIDDEN bool omp_has_regions;

/*
 * ompt.c: tuning changes the runtime's default for a region of this thread. Whether it has; then, what the program's is; it has
 * set another one itself.
 */
bool ompt_has_default(void);
unsigned ompt_default(void);
void ompt_default_set(void);

/* This thread waits as OMPT says: what the runtime does for that is not a wait of its own. */
extern HIDDEN __thread bool omp_is_waiting __attribute__((tls_model("initial-exec")));

/* A lock that cannot be tried was asked for at start_ns, and is had now. flags: 0, or ACQUIRE_ORDERED. */
void omp_entered(const void *lock, uint64_t start_ns, uint32_t flags, const void *caller);

/* Before that: when it is asked for. */
uint64_t omp_asks(void);

/* Who called an entry point of GCC's runtime, by its return address there. */
const void *omp_caller(const void *caller);

#define OMP_CALLER omp_caller(__builtin_return_address(0))

/* omp_loops.c: how many times this thread got iterations of a loop that is handed out, plus one; 0: it did not ask. Begins anew. */
uint64_t omp_take_handed_out(void);

static inline uint64_t omp_step_size(int64_t step)
{
	return step < 0 ? -(uint64_t)step : (uint64_t)step;
}

/* By how much the loop goes on that this thread gets iterations of from here on; what it was before. */
uint64_t omp_begin_loop(uint64_t step);

#endif
