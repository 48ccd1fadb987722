/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions that walk memory in steps of many lines: down the columns of a matrix whose rows are a power of two apart,
 * say. While each step is a multiple of 2^k lines, the lines that they bring fall into one of 2^k sets. The profile's
 * micro-traces tell k, and how long it lasts; how many lines of its own an instruction has met is the sum of statstack.h over its
 * own accesses alone,
 *
 *	S_own(r) = sum over i < r of  w P_own(d > i),	w its share of the accesses
 *
 * One that goes around among a few lines has other steps than one that goes on: accesses that come back within WALK_NEAR
 * lines have shares of their own.
 */
#include "base/mem.h"
#include "uarch/statstack_parts.h"

#include <errno.h>
#include <stdlib.h>

enum {
	STEPS = 8, /* that are looked at together: of random ones the least is hardly ever even */
	STEPS_LEAST = 4,
};

/* Less than this share of an instruction's accesses does not make it walk. */
static const double notable = 0.02;

/* An instruction, in the trace that is read and in all. */
struct walker {
	size_t trace; /* plus one; 0: in none so far */
	uint64_t line;
	uint32_t steps;
	uint8_t bits[STEPS]; /* of the last ones, in a ring */
	uint64_t lines[WALK_NEAR]; /* where they led, in another one */
	bool comes_back;
	double weight; /* of the trace */
	uint32_t open[WALK_KINDS]; /* accesses to lines that are new in the trace */
	/* Accesses while steps are of a kind; steps from there that are of a smaller one. */
	double seen[WALK_RANGES][WALK_KINDS], left[WALK_KINDS];
};

static unsigned least_bits(const struct walker *walker)
{
	unsigned least = WALK_KINDS - 1;
	for (uint32_t i = 0; i < STEPS && i < walker->steps; i++)
		if (walker->bits[i] < least)
			least = walker->bits[i];
	return least;
}

/* Who comes back to lines in a trace did so from those that were new in it, too; who never does goes on. */
static void end_trace(struct walker *walker)
{
	for (unsigned k = 0; k < WALK_KINDS; k++) {
		if (!walker->comes_back)
			walker->seen[WALK_FAR][k] += walker->open[k] * walker->weight;
		walker->open[k] = 0;
	}
	walker->comes_back = false;
	walker->steps = 0;
}

static bool is_near(const struct walker *walker, uint64_t line)
{
	for (uint32_t i = 0; i < WALK_NEAR && i < walker->steps; i++)
		if (walker->lines[i] == line)
			return true;
	return false;
}

static void step_on(struct walker *walker, uint64_t line)
{
	/* The bits of a step down are those of one up. */
	unsigned bits = (unsigned)__builtin_ctzll(line - walker->line);
	if (walker->steps >= STEPS_LEAST) {
		unsigned kind = least_bits(walker);
		walker->left[kind] += bits < kind ? walker->weight : 0;
	}
	bool comes_back = is_near(walker, line);
	walker->comes_back |= comes_back;
	walker->bits[walker->steps % STEPS] = (uint8_t)bits;
	walker->lines[walker->steps % WALK_NEAR] = line;
	walker->steps++;
	if (walker->steps < STEPS_LEAST)
		return;
	if (comes_back)
		walker->seen[WALK_CLOSE][least_bits(walker)] += walker->weight;
	else if (walker->steps > WALK_NEAR)
		walker->seen[WALK_FAR][least_bits(walker)] += walker->weight;
	else
		walker->open[least_bits(walker)]++;
}

static void access_line(struct walker *walker, size_t trace, uint64_t line, double weight)
{
	if (walker->trace != trace) {
		end_trace(walker);
		walker->trace = trace;
		walker->line = line;
		walker->weight = weight;
	}
	if (line != walker->line)
		step_on(walker, line);
	else if (walker->steps >= STEPS_LEAST)
		walker->seen[WALK_CLOSE][least_bits(walker)] += weight;
	walker->line = line;
}

/* `places`: of each of the profile's instructions in this class, its index in `codes`, plus one; 0: none. */
static void place_codes(
	const struct statstack *statstack, size_t class, bool is_there, size_t *places)
{
	const struct class_reuse *reuse = &statstack->classes[class];
	for (size_t i = reuse->first_code; i < reuse->first_code + reuse->code_count; i++)
		places[statstack->codes[i].code] = is_there ? i + 1 : 0;
}

static void read_traces(const struct statstack *statstack, const struct profile *profile,
	size_t *places, struct walker *walkers)
{
	size_t class = SIZE_MAX;
	for (size_t i = 0; i < profile->micro_count; i++) {
		const struct micro_trace *trace = &profile->micro[i];
		if (trace->class != class) {
			if (class != SIZE_MAX)
				place_codes(statstack, class, false, places);
			class = trace->class;
			place_codes(statstack, class, true, places);
		}
		for (uint32_t k = 0; k < trace->count; k++) {
			const struct micro_op *op = &trace->ops[k];
			if (op->address && places[op->code] > 0)
				access_line(&walkers[places[op->code] - 1], i + 1,
					op->address / PROFILE_LINE_BYTES, trace->weight);
		}
	}
	for (size_t i = 0; i < statstack->code_count; i++)
		end_trace(&walkers[i]);
}

/* Whether it walks; then its shares. */
static bool find_shares(const struct walker *walker, struct walk *walk)
{
	double all[WALK_RANGES] = { 0 }, walks = 0;
	for (unsigned range = 0; range < WALK_RANGES; range++)
		for (unsigned k = 0; k < WALK_KINDS; k++) {
			all[range] += walker->seen[range][k];
			walks += k > 0 ? walker->seen[range][k] : 0;
		}
	for (unsigned range = 0; range < WALK_RANGES; range++)
		for (unsigned k = 0; k < WALK_KINDS; k++)
			walk->share[range][k] =
				all[range] > 0 ? walker->seen[range][k] / all[range] : k == 0;
	return walks > notable * (all[WALK_CLOSE] + all[WALK_FAR]);
}

/* `accesses`: of the instruction, for each of the thread. */
static void lines_together(struct walk *walk, const struct walker *walker, double accesses)
{
	for (unsigned k = 0; k < WALK_KINDS; k++) {
		walk->together[k] = walk->lines[REUSE_INFINITE];
		if (walker->left[k] <= 0)
			continue;
		/* To the end of the bin: a mean says that some stay longer. */
		double seen = walker->seen[WALK_CLOSE][k] + walker->seen[WALK_FAR][k];
		double stays = seen / walker->left[k] / accesses;
		unsigned bin = stays < 1e15 ? reuse_bin((uint64_t)stays) : REUSE_INFINITE - 1;
		walk->together[k] = walk->lines[bin + 1];
	}
}

/*
 * In the thread's own accesses, of which those of its class are `within`; the instruction's are the part `part` of its class's,
 * whose stretches have `length`.
 */
static void own_lines(const struct statstack *statstack, const struct code_reuse *code,
	double within, double part, double length, double ret[REUSE_BINS])
{
	double share[REUSE_BINS] = { 0 }, tails[REUSE_BINS] = { 0 }, lines = 0;
	for (uint32_t i = 0; i < code->private_rows; i++) {
		const struct reuse_row *row = &statstack->rows[code->first_row + i];
		share[row->bin] += (double)row->share;
	}
	reuse_tails(share, tails);
	for (unsigned bin = 0; bin < REUSE_INFINITE; bin++) {
		double middle = (reuse_edge(bin) + reuse_edge(bin + 1)) / 2;
		double here = middle < length ? 1 - middle / length : 0;
		ret[bin] = lines;
		lines += part * (here + (1 - here) * within) * tails[bin];
	}
	ret[REUSE_INFINITE] = lines;
}

static int walks_add(struct statstack *statstack, const struct profile *profile,
	const struct walker *walkers, const double *thread_accesses)
{
	size_t capacity = 0;
	struct walk walk = { 0 };
	for (size_t i = 0; i < statstack->code_count; i++) {
		struct code_reuse *code = &statstack->codes[i];
		const struct profile_class *class = &profile->classes[code->class];
		if (!find_shares(&walkers[i], &walk))
			continue;
		double accesses = class_accesses(class, PROFILE_PRIVATE);
		double part = accesses > code->accesses ? code->accesses / accesses : 1;
		own_lines(statstack, code, accesses / thread_accesses[class->thread], part,
			stretch_accesses(class, PROFILE_PRIVATE), walk.lines);
		lines_together(&walk, &walkers[i], part);
		if (mem_grow(&statstack->walks, &capacity, statstack->walk_count + 1,
			    sizeof(*statstack->walks)) < 0)
			return -ENOMEM;
		statstack->walks[statstack->walk_count] = walk;
		code->walk = (uint32_t)++statstack->walk_count;
	}
	return 0;
}

int statstack_walks(
	struct statstack *statstack, const struct profile *profile, const double *thread_accesses)
{
	AUTO_FREE size_t *places = calloc(profile->code_count + 1, sizeof(*places));
	AUTO_FREE struct walker *walkers = calloc(statstack->code_count + 1, sizeof(*walkers));
	if (!places || !walkers)
		return -ENOMEM;
	read_traces(statstack, profile, places, walkers);
	return walks_add(statstack, profile, walkers, thread_accesses);
}
