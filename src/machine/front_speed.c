/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/front_speed.h"

#include "base/cleanup.h"
#include "base/order.h"
#include "base/rng.h"
#include "machine/speed_clock.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Outcomes. Zen 4 learns 16,384 random ones by heart, and of 65,536 some. */
	OUTCOMES = 1 << 18,
	SLICE = 1 << 13, /* of these, that are timed together: some thirty microseconds */
	SLICES = 40 * (OUTCOMES / SLICE),
	DISTURBED = 10, /* one slice in so many has nobody else on its core */
	ROUNDS = 2000, /* of a loop */
};

static const double MOST_NS = 0.2e9; /* for the tries of each kind */

/* The assembly keeps compilers from making the branch a conditional move. */
__attribute__((noinline)) static void branch_by(const uint8_t *outcomes)
{
	uint64_t taken = 0;
	for (unsigned i = 0; i < SLICE; i++)
		if (outcomes[i])
			__asm__ volatile("" : "+r"(taken));
}

/* Not the least: of random outcomes more or fewer are foretold. */
static double outcomes_ns(const uint8_t *outcomes)
{
	static double slices_ns[SLICES];
	double all_ns = speed_now_ns();
	size_t count = 0;
	while (count < SLICES && speed_now_ns() - all_ns < MOST_NS) {
		double began_ns = speed_now_ns();
		branch_by(outcomes + count % (OUTCOMES / SLICE) * SLICE);
		slices_ns[count++] = speed_now_ns() - began_ns;
	}
	order_doubles(slices_ns, count);
	return slices_ns[count / DISTURBED] / SLICE;
}

/* Of random outcomes half go otherwise than foretold; the rest of a round is that of outcomes that do not change. */
static double measure_mispredicted_ns(void)
{
	AUTO_FREE uint8_t *outcomes = malloc(OUTCOMES);
	struct rng rng;
	if (!outcomes)
		return 0;
	rng_init(&rng, 1);
	for (unsigned i = 0; i < OUTCOMES; i++)
		outcomes[i] = (uint8_t)(rng_next(&rng) >> 40 & 1);
	double random_ns = outcomes_ns(outcomes);
	memset(outcomes, 0, OUTCOMES);
	double never_ns = outcomes_ns(outcomes);
	memset(outcomes, 1, OUTCOMES);
	double lost_ns = 2 * (random_ns - (never_ns + outcomes_ns(outcomes)) / 2);
	return lost_ns > 0 ? lost_ns : 0;
}

/* A loop of six short instructions so many bytes behind the beginning of a line. */
#if defined(__x86_64__)
#define HAS_LOOPS 1
#define LOOP(name, offset)                                                                         \
	__attribute__((noinline)) static void name(void)                                           \
	{                                                                                          \
		uint64_t left = ROUNDS;                                                            \
		__asm__ volatile("jmp 1f\n.p2align 6\n.skip " #offset                              \
				 "\n1: nop\nnop\nnop\nnop\ndec %0\njnz 1b"                         \
				 : "+r"(left)                                                      \
				 :                                                                 \
				 : "cc");                                                          \
	}
LOOP(loop_in_line, 16)
LOOP(loop_over_lines, 60)
LOOP(loop_of_split_branch, 58)
#elif defined(__aarch64__)
#define HAS_LOOPS 1
#define LOOP(name, offset)                                                                         \
	__attribute__((noinline)) static void name(void)                                           \
	{                                                                                          \
		uint64_t left = ROUNDS;                                                            \
		__asm__ volatile("b 1f\n.p2align 6\n.skip " #offset                                \
				 "\n1: nop\nnop\nnop\nnop\nsubs %0, %0, #1\nb.ne 1b"               \
				 : "+r"(left)                                                      \
				 :                                                                 \
				 : "cc");                                                          \
	}
LOOP(loop_in_line, 16)
LOOP(loop_over_lines, 48)
LOOP(loop_of_split_branch,
	44) /* between the comparison and its branch: instructions are not split */
#else
#define HAS_LOOPS 0
static void loop_in_line(void)
{
}
static void loop_over_lines(void)
{
}
static void loop_of_split_branch(void)
{
}
#endif

enum { IN_LINE, OVER_LINES, SPLIT, KINDS };

/* A round of each, ns: by turns, for so long that others who have the core's other half leave some of them alone. */
static void measure_rounds(double ret_ns[KINDS])
{
	static void (*const loops[KINDS])(void) = {
		[IN_LINE] = loop_in_line,
		[OVER_LINES] = loop_over_lines,
		[SPLIT] = loop_of_split_branch,
	};
	double best_ns[KINDS] = { 0 }, all_ns = speed_now_ns();
	while (HAS_LOOPS && speed_now_ns() - all_ns < MOST_NS)
		for (unsigned k = 0; k < KINDS; k++) {
			double began_ns = speed_now_ns();
			loops[k]();
			best_ns[k] = speed_least(best_ns[k], speed_now_ns() - began_ns);
		}
	for (unsigned k = 0; k < KINDS; k++)
		ret_ns[k] = best_ns[k] / ROUNDS;
}

struct front_speed front_speed_measure(void)
{
	struct front_speed speed = { .mispredicted_ns = measure_mispredicted_ns() };
	double rounds_ns[KINDS];
	measure_rounds(rounds_ns);
	speed.has_line = HAS_LOOPS;
	speed.line_ns = fmax(rounds_ns[OVER_LINES] - rounds_ns[IN_LINE], 0);
	speed.split_ns = fmax(rounds_ns[SPLIT] - rounds_ns[OVER_LINES], 0);
	return speed;
}
