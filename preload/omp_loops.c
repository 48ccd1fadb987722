/* SPDX-License-Identifier: MIT */
/* Loops whose iterations GCC's OpenMP runtime hands out: how many each thread got, and in how many pieces. */
#include "gomp.h"
#include "omp.h"
#include "tuned.h"

/*
 * Of loops whose iterations are handed out: since the threads met last, how many times this one got some, plus one. 0:
 * it did not ask.
 */
static __thread uint64_t handed_out __attribute__((tls_model("initial-exec")));

static __thread uint64_t loop_step __attribute__((tls_model("initial-exec")));

uint64_t omp_take_handed_out(void)
{
	uint64_t value = handed_out;
	handed_out = 0;
	return value;
}

uint64_t omp_begin_loop(uint64_t step)
{
	uint64_t outer = loop_step;
	loop_step = step;
	return outer;
}

/* Guided ones get fewer and fewer at a time: how often tells nothing. */
enum { DYNAMIC = 1, GUIDED = 0 };

/* Bounds are 64 bits, with a sign or without. */
static bool got(bool has_some, uint64_t pieces, const void *ret_from, const void *ret_to)
{
	handed_out += (handed_out == 0) + has_some * pieces;
	if (!has_some || loop_step == 0 || !tuned_wants_iterations())
		return has_some;
	uint64_t from = *(const uint64_t *)ret_from, to = *(const uint64_t *)ret_to;
	/* Up or down: the shorter way is the right one. */
	uint64_t way = (int64_t)(to - from) < 0 ? from - to : to - from;
	tuned_iterations(way / loop_step + (way % loop_step > 0));
	return true;
}

static bool began(
	bool has_some, uint64_t pieces, int64_t step, const void *ret_from, const void *ret_to)
{
	(void)omp_begin_loop(omp_step_size(step)); /* the one before is over */
	tuned_saw(TUNED_DIVIDES);
	return got(has_some, pieces, ret_from, ret_to);
}

#define LOOP(kind, pieces)                                                                         \
	EXPORT bool GOMP_loop_##kind##_start(                                                      \
		long start, long end, long step, long chunk, long *ret_from, long *ret_to)         \
	{                                                                                          \
		const struct gomp *gomp = gomp_find(OMP_CALLER);                                   \
		bool has_some =                                                                    \
			gomp->GOMP_loop_##kind##_start(start, end, step, chunk, ret_from, ret_to); \
		return began(has_some, pieces, step, ret_from, ret_to);                            \
	}                                                                                          \
	EXPORT bool GOMP_loop_##kind##_next(long *ret_from, long *ret_to)                          \
	{                                                                                          \
		const struct gomp *gomp = gomp_find(OMP_CALLER);                                   \
		bool has_some = gomp->GOMP_loop_##kind##_next(ret_from, ret_to);                   \
		return got(has_some, pieces, ret_from, ret_to);                                    \
	}                                                                                          \
	EXPORT bool GOMP_loop_ull_##kind##_start(bool is_up, unsigned long long start,             \
		unsigned long long end, unsigned long long step, unsigned long long chunk,         \
		unsigned long long *ret_from, unsigned long long *ret_to)                          \
	{                                                                                          \
		const struct gomp *gomp = gomp_find(OMP_CALLER);                                   \
		bool has_some = gomp->GOMP_loop_ull_##kind##_start(                                \
			is_up, start, end, step, chunk, ret_from, ret_to);                         \
		return began(has_some, pieces, (int64_t)step, ret_from, ret_to);                   \
	}                                                                                          \
	EXPORT bool GOMP_loop_ull_##kind##_next(                                                   \
		unsigned long long *ret_from, unsigned long long *ret_to)                          \
	{                                                                                          \
		const struct gomp *gomp = gomp_find(OMP_CALLER);                                   \
		bool has_some = gomp->GOMP_loop_ull_##kind##_next(ret_from, ret_to);               \
		return got(has_some, pieces, ret_from, ret_to);                                    \
	}

LOOP(dynamic, DYNAMIC)
LOOP(guided, GUIDED)
LOOP(nonmonotonic_dynamic, DYNAMIC)
LOOP(nonmonotonic_guided, GUIDED)
