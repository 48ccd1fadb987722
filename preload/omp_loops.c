/* SPDX-License-Identifier: MIT */
/* Loops whose iterations GCC's OpenMP runtime hands out: how many times each thread got some. */
#include "gomp.h"
#include "omp.h"

/*
 * Of loops whose iterations are handed out: since the threads met last, how many times this one got some, plus one. 0:
 * it did not ask.
 */
static __thread uint64_t handed_out __attribute__((tls_model("initial-exec")));

uint64_t omp_take_handed_out(void)
{
	uint64_t value = handed_out;
	handed_out = 0;
	return value;
}

/* Guided ones get fewer and fewer at a time: how often tells nothing. */

enum { DYNAMIC = 1, GUIDED = 0 };

static bool got(bool has_some, uint64_t pieces)
{
	handed_out += (handed_out == 0) + has_some * pieces;
	return has_some;
}

#define LOOP(kind, pieces)                                                                         \
	EXPORT bool GOMP_loop_##kind##_start(                                                      \
		long start, long end, long step, long chunk, long *ret_from, long *ret_to)         \
	{                                                                                          \
		const struct gomp *gomp = gomp_find(OMP_CALLER);                                   \
		return got(                                                                        \
			gomp->GOMP_loop_##kind##_start(start, end, step, chunk, ret_from, ret_to), \
			pieces);                                                                   \
	}                                                                                          \
	EXPORT bool GOMP_loop_##kind##_next(long *ret_from, long *ret_to)                          \
	{                                                                                          \
		const struct gomp *gomp = gomp_find(OMP_CALLER);                                   \
		return got(gomp->GOMP_loop_##kind##_next(ret_from, ret_to), pieces);               \
	}                                                                                          \
	EXPORT bool GOMP_loop_ull_##kind##_start(bool is_up, unsigned long long start,             \
		unsigned long long end, unsigned long long step, unsigned long long chunk,         \
		unsigned long long *ret_from, unsigned long long *ret_to)                          \
	{                                                                                          \
		const struct gomp *gomp = gomp_find(OMP_CALLER);                                   \
		return got(gomp->GOMP_loop_ull_##kind##_start(                                     \
				   is_up, start, end, step, chunk, ret_from, ret_to),              \
			pieces);                                                                   \
	}                                                                                          \
	EXPORT bool GOMP_loop_ull_##kind##_next(                                                   \
		unsigned long long *ret_from, unsigned long long *ret_to)                          \
	{                                                                                          \
		const struct gomp *gomp = gomp_find(OMP_CALLER);                                   \
		return got(gomp->GOMP_loop_ull_##kind##_next(ret_from, ret_to), pieces);           \
	}

LOOP(dynamic, DYNAMIC)
LOOP(guided, GUIDED)
LOOP(nonmonotonic_dynamic, DYNAMIC)
LOOP(nonmonotonic_guided, GUIDED)
