/* SPDX-License-Identifier: MIT */
/*
 * Linear entropy of branch outcomes, as they come: how often an outcome goes against what the same branch, after the
 * same history, mostly did before. De Pestel, Eyerman and Eeckhout, "Micro-architecture independent branch
 * behavior characterization", ISPASS 2015: E = mean of 2 min(p, 1 - p) over executions.
 *
 * Each of k of n outcomes that is in the minority when it comes adds 1 to a sum that so stays min(k, n - k): twice
 * this sum over the executions is E without what chance adds (the floor). At a tie, a first visit most of all, nothing is known:
 * counted as half a minority, E includes what there is to be learnt.
 *
 * The same text is used by whoever profiles and by whoever calibrates, so that both mean the same numbers.
 */
#ifndef PLUGIN_ENTROPY_H
#define PLUGIN_ENTROPY_H

#include <stdint.h>

enum {
	ENTROPY_HISTORIES = 6, /* as profile_histories of src/uarch/profile.c */
	ENTROPY_TABLE_BITS = 16, /* patterns of one history; further ones share */
	ENTROPY_LOCAL_BITS = 12,
	ENTROPY_VISITS_MAX =
		64, /* of a pattern; then both counts are halved, so that it can change */
};

/* Of one thread: about 800 KB. Zeros to begin with; goes on from stretch to stretch. */
struct entropy {
	uint64_t global; /* outcomes, the last one in bit 0 */
	uint8_t local[1 << ENTROPY_LOCAL_BITS];
	struct entropy_pattern {
		uint8_t visits, taken;
	} patterns[ENTROPY_HISTORIES][1 << ENTROPY_TABLE_BITS];
};

/* Of one stretch. With them, raw_branches.entropy is 2 against + ties, and floor_entropy 2 against. */
struct entropy_sums {
	uint64_t executions;
	uint64_t against[ENTROPY_HISTORIES]; /* outcomes of the minority so far */
	uint64_t ties[ENTROPY_HISTORIES]; /* outcomes when there was none */
};

static inline uint64_t entropy_hash(uint64_t x)
{
	return x * UINT64_C(0x9e3779b97f4a7c15);
}

/* `at`: a branch and its history, hashed. */
static inline void entropy_count(struct entropy *entropy, struct entropy_sums *sums,
	unsigned history, uint64_t at, unsigned taken)
{
	struct entropy_pattern *pattern =
		&entropy->patterns[history][at >> (64 - ENTROPY_TABLE_BITS)];
	unsigned with = taken ? pattern->taken : pattern->visits - pattern->taken;
	sums->against[history] += 2 * with < pattern->visits;
	sums->ties[history] += 2 * with == pattern->visits;
	pattern->visits++;
	pattern->taken = (uint8_t)(pattern->taken + taken);
	if (pattern->visits == ENTROPY_VISITS_MAX) {
		pattern->visits /= 2;
		pattern->taken /= 2;
	}
}

/* A conditional branch was executed: its address, and whether (1 or 0) it was taken. */
static inline void entropy_add(
	struct entropy *entropy, struct entropy_sums *sums, uint64_t address, unsigned taken)
{
	static const uint8_t global_bits[] = { 0, 4, 8, 12 };
	static const uint8_t local_bits[] = { 4, 8 };
	enum { GLOBALS = sizeof(global_bits), LOCALS = sizeof(local_bits) };
	uint8_t *local = &entropy->local[entropy_hash(address) >> (64 - ENTROPY_LOCAL_BITS)];
	for (unsigned i = 0; i < GLOBALS; i++) {
		uint64_t history = entropy->global & ((1u << global_bits[i]) - 1);
		entropy_count(entropy, sums, i, entropy_hash(address ^ history << 48), taken);
	}
	for (unsigned i = 0; i < LOCALS; i++) {
		uint64_t history = *local & ((1u << local_bits[i]) - 1);
		entropy_count(
			entropy, sums, GLOBALS + i, entropy_hash(address ^ history << 48), taken);
	}
	sums->executions++;
	entropy->global = entropy->global << 1 | taken;
	*local = (uint8_t)(*local << 1 | taken);
}

#endif
