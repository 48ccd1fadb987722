/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "branches.h"

#include "entropy.h"
#include "foresight.h"
#include "hash.h"
#include "jumps.h"
#include "out.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Outcomes of a class that are all looked at. */
	FIRST_OUTCOMES = 30000,
	/* Then windows, in instructions: a 9th while the thread is young, a 40th later, at last rarer and rarer; short ones, as phases
	 * differ more than what is in a window. Each stands for what was executed since the last one: a program's first part, of
	 * which all is looked at, is not what it does. */
	WINDOW_FIRST = 200000,
	WINDOW_LEAST = 8000,
	WINDOW_MOST = 50000,
	WINDOW_PART = 256, /* of what has been executed */
	GAP_PART = 32,
	GAP_MOST = 40 * WINDOW_MOST,
	GAP_LAST_PART = 64,
	/* Before a window branches are followed, not counted: their histories are old. */
	WARM_UP = 8000,
	LONGEST_HISTORY = 24, /* of all branches */
	LONGEST_PLAIN = 12, /* a pattern, in a key */
	TABLE_FIRST_BITS = 12,
	TABLE_LAST_BITS = 18, /* 4 MB a thread; when it is full it is written */
	LOCAL_FIRST = 4096,
	/* Fewer are not worth the entropy that is lost by beginning anew. */
	WRITE_LEAST = 200000,
};

struct history {
	bool is_local;
	uint8_t bits;
	bool is_choice, is_jump;
	uint8_t kib;
};

/*
 * Windows of all threads. A thread is slower in one, and others wait for it (pace.h): who could have opened one, too, does so
 * now.
 */
static atomic_uint windows_opened;

static const struct history histories[RAW_HISTORIES] = RAW_HISTORY_TABLE;

struct pattern {
	uint64_t key; /* sum, code, history, pattern; 0: free */
	uint32_t visits, taken : 30, counter : 2; /* foresight.h */
};

struct branch {
	uint64_t past; /* its last outcomes */
	struct foresight foresight;
};

struct branches {
	struct pattern *table;
	uint32_t bits, used;
	struct branch *local; /* by code */
	uint32_t local_count;
	uint32_t global;
	uint32_t known; /* outcomes in `global` */
	uint64_t outcomes; /* in the table */
	struct jumps jumps;
	uint64_t warm_end, window_end, next_window; /* instructions of the thread */
	uint64_t joins_from; /* the same: when a window is opened because another thread does */
	uint32_t opened; /* windows of all threads, when it last looked */
	bool in_window, is_warming;
	double weight; /* of the window: as long as what it stands for, over its own length */
};

static bool grow(struct branches *branches)
{
	uint32_t bits = branches->table ? branches->bits + 1 : TABLE_FIRST_BITS;
	struct pattern *table = calloc(1u << bits, sizeof(*table));
	if (!table)
		return false;
	for (uint32_t i = 0; branches->table && i < 1u << branches->bits; i++) {
		if (!branches->table[i].key)
			continue;
		uint32_t at = hash_bits(branches->table[i].key, bits);
		while (table[at].key)
			at = (at + 1) & ((1u << bits) - 1);
		table[at] = branches->table[i];
	}
	free(branches->table);
	branches->table = table;
	branches->bits = bits;
	return true;
}

/* What was looked at since the last time counts as often as it stands for; all of a class's first outcomes are there. */
static void weigh(struct thread *thread)
{
	const struct branches *branches = thread->branches;
	for (struct sum *sum = thread->sums; sum; sum = sum->next) {
		if (sum->looked + sum->jumps == 0)
			continue;
		bool stands_for_more = branches->in_window && sum->outcomes > FIRST_OUTCOMES;
		double weight = stands_for_more ? branches->weight : 1;
		sum->all_looked += weight * sum->looked;
		sum->all_jumps += weight * sum->jumps;
		sum->looked_plain += sum->looked;
		for (unsigned i = 0; i < RAW_HISTORIES; i++) {
			sum->all_missed[i] += weight * sum->missed_halves[i] / 2;
			sum->missed_halves[i] = 0;
		}
		sum->looked = sum->jumps = 0;
	}
}

/* Entropies are of all that was looked at alike, and then scaled as if it had been as much as it stands for. */
static void write_sum(
	const struct thread *thread, struct sum *sum, const struct raw_branches *first)
{
	double scale = sum->looked_plain ? sum->all_looked / (double)sum->looked_plain : 1;
	for (uint32_t i = 0; i < RAW_HISTORIES; i++) {
		struct raw_branches branches = first[i];
		branches.executions *= scale;
		branches.entropy *= scale;
		branches.floor_entropy *= scale;
		branches.missed = sum->all_missed[i];
		sum->all_missed[i] = 0;
		if (histories[i].is_choice)
			branches.executions = first[0].executions * scale;
		if (histories[i].is_jump)
			branches.executions = sum->all_jumps;
		if (branches.executions == 0)
			continue;
		branches.stretch = sum->stretch;
		branches.thread = thread->number;
		branches.history = i;
		out_record(RAW_BRANCHES, &branches, sizeof(branches), NULL, 0);
	}
	sum->all_jumps = sum->all_looked = 0;
	sum->looked_plain = 0;
}

static void write_table(struct thread *thread)
{
	struct branches *branches = thread->branches;
	struct raw_branches *totals =
		calloc((size_t)thread->sum_count * RAW_HISTORIES, sizeof(*totals));
	if (!totals)
		return;
	weigh(thread);
	for (uint32_t i = 0; i < 1u << branches->bits; i++) {
		const struct pattern *pattern = &branches->table[i];
		if (!pattern->key)
			continue;
		uint64_t key = pattern->key - 1;
		struct raw_branches *total = &totals[(key >> 42) * RAW_HISTORIES + (key >> 12 & 7)];
		total->executions += pattern->visits;
		total->entropy += entropy_leave_one_out(pattern->visits, pattern->taken);
		total->floor_entropy += entropy_plug_in(pattern->visits, pattern->taken);
	}
	for (struct sum *sum = thread->sums; sum; sum = sum->next)
		write_sum(thread, sum, &totals[(size_t)sum->index * RAW_HISTORIES]);
	free(totals);
	memset(branches->table, 0, (size_t)sizeof(*branches->table) << branches->bits);
	branches->used = 0;
	branches->outcomes = 0;
}

void branches_write(struct thread *thread, bool is_end)
{
	struct branches *branches = thread->branches;
	if (branches && branches->table && branches->outcomes > (is_end ? 0 : WRITE_LEAST))
		write_table(thread);
}

void branches_free(struct thread *thread)
{
	if (!thread->branches)
		return;
	free(thread->branches->table);
	free(thread->branches->local);
	jumps_free(&thread->branches->jumps);
	free(thread->branches);
	thread->branches = NULL;
}

static bool make_room(struct thread *thread)
{
	struct branches *branches = thread->branches;
	if (branches->table && branches->used * 2 < 1u << branches->bits)
		return true;
	if (branches->table && branches->bits >= TABLE_LAST_BITS) {
		write_table(thread);
		return branches->used == 0;
	}
	return grow(branches);
}

/* Half misses of the pattern's counter. */
static unsigned visit(struct branches *branches, uint64_t key, bool is_taken)
{
	key++;
	uint32_t mask = (1u << branches->bits) - 1;
	uint32_t at = hash_bits(key, branches->bits);
	while (branches->table[at].key && branches->table[at].key != key)
		at = (at + 1) & mask;
	struct pattern *pattern = &branches->table[at];
	branches->used += !pattern->key;
	pattern->key = key;
	unsigned counter = pattern->counter;
	unsigned missed = foresight_count(pattern->visits, &counter, is_taken);
	pattern->counter = counter & 3;
	pattern->visits++;
	pattern->taken += is_taken;
	return missed;
}

/* NULL without memory. */
static struct branch *find_branch(struct branches *branches, uint32_t code)
{
	if (code < branches->local_count)
		return &branches->local[code];
	uint32_t count = code + code / 2 + LOCAL_FIRST;
	struct branch *local = realloc(branches->local, count * sizeof(*local));
	if (!local)
		return NULL;
	memset(local + branches->local_count, 0, (count - branches->local_count) * sizeof(*local));
	branches->local = local;
	branches->local_count = count;
	return &local[code];
}

/* 22 bits: the sum; 3: the history; 39: the branch and the pattern, which when it is long is a hash of both. */
static uint64_t pattern_key(const struct sum *sum, uint32_t code, unsigned history, uint64_t past)
{
	unsigned bits = histories[history].bits;
	uint64_t key = (uint64_t)sum->index << 42 | history << 12;
	past = bits < 64 ? past & ((UINT64_C(1) << bits) - 1) : past;
	if (bits <= LONGEST_PLAIN)
		return key | (uint64_t)(code & 0x7ffffff) << 15 | past;
	uint64_t hash = (past ^ past >> 29) * UINT64_C(0x9e3779b97f4a7c15);
	hash = ((hash ^ hash >> 32) + code) * UINT64_C(0xbf58476d1ce4e5b9) >> 25;
	return key | hash >> 12 << 15 | (hash & 0xfff);
}

/* While a window warms up, of a class of which not only the first outcomes are looked at. */
static bool is_warming(const struct vcpu *vcpu)
{
	return vcpu->thread->branches->is_warming && vcpu->sum->outcomes >= FIRST_OUTCOMES;
}

static void follow_jump(struct vcpu *vcpu, const struct block *block, const struct block *next)
{
	struct sum *sum = vcpu->sum;
	struct jump_foretold foretold =
		jumps_follow(&vcpu->thread->branches->jumps, block->end, next->address);
	if (is_warming(vcpu))
		return;
	sum->jumps++;
	sum->missed_halves[RAW_LAST_TARGET] += foretold.by_last ? 0 : 2;
	for (unsigned i = 0; i < RAW_PATH_SIZES; i++)
		sum->missed_halves[RAW_PATH_TARGET + i] += foretold.by_path[i] ? 0 : 2;
}

/* Patterns are all over a table that is larger than caches: their places are asked for AHEAD outcomes before they are visited. */
enum { AHEAD = 8 };

struct outcome {
	uint64_t keys[RAW_PATTERNS];
	uint32_t code;
	bool is_taken;
};

struct outcomes {
	struct outcome ring[AHEAD];
	uint32_t added, visited;
};

static void ask_for(const struct branches *branches, const struct outcome *outcome)
{
	for (unsigned i = 0; branches->table && i < RAW_PATTERNS; i++)
		__builtin_prefetch(
			&branches->table[hash_bits(outcome->keys[i] + 1, branches->bits)], 1);
}

static void visit_next(struct vcpu *vcpu, struct outcomes *outcomes)
{
	struct branches *branches = vcpu->thread->branches;
	const struct outcome *outcome = &outcomes->ring[outcomes->visited++ % AHEAD];
	unsigned halves[RAW_PATTERNS];
	if (!make_room(vcpu->thread))
		return;
	for (unsigned i = 0; i < RAW_PATTERNS; i++)
		halves[i] = visit(branches, outcome->keys[i], outcome->is_taken);
	foresight_choose(
		&branches->local[outcome->code].foresight, halves, vcpu->sum->missed_halves);
	branches->outcomes++;
	vcpu->sum->looked++;
}

static void add_outcome(
	struct vcpu *vcpu, struct outcomes *outcomes, uint32_t code, uint64_t past, bool is_taken)
{
	struct branches *branches = vcpu->thread->branches;
	if (outcomes->added - outcomes->visited == AHEAD)
		visit_next(vcpu, outcomes);
	struct outcome *outcome = &outcomes->ring[outcomes->added++ % AHEAD];
	outcome->code = code;
	outcome->is_taken = is_taken;
	for (unsigned i = 0; i < RAW_PATTERNS; i++)
		outcome->keys[i] = pattern_key(
			vcpu->sum, code, i, histories[i].is_local ? past : branches->global);
	ask_for(branches, outcome);
	vcpu->sum->outcomes++;
}

static void follow_branch(
	struct vcpu *vcpu, struct outcomes *outcomes, const struct block *block, bool is_taken)
{
	struct branches *branches = vcpu->thread->branches;
	uint32_t code = block->places[block->count - 1].code;
	struct branch *branch = find_branch(branches, code);
	if (!branch)
		return;
	if (branches->known >= LONGEST_HISTORY && !is_warming(vcpu))
		add_outcome(vcpu, outcomes, code, branch->past, is_taken);
	branches->known++;
	branches->global = branches->global << 1 | is_taken;
	branch->past = branch->past << 1 | is_taken;
}

void branches_follow(struct vcpu *vcpu, struct block *const *begin, struct block *const *end)
{
	struct branches *branches = vcpu->thread->branches;
	struct outcomes outcomes = { .added = 0 };
	const struct block *block = vcpu->previous;
	for (struct block *const *at = begin; at < end; at++) {
		const struct block *next = *at;
		bool is_taken = next->address != block->end;
		if (block->ends_in_jump)
			follow_jump(vcpu, block, next);
		if (is_taken)
			jumps_take(&branches->jumps, next->address);
		if (block->ends_in_branch)
			follow_branch(vcpu, &outcomes, block, is_taken);
		block = next;
	}
	while (outcomes.visited < outcomes.added)
		visit_next(vcpu, &outcomes);
}

static void set_window(struct vcpu *vcpu, bool is_open)
{
	bool was_open = vcpu->mode & VCPU_BRANCHES;
	if (is_open == was_open)
		return;
	vcpu->mode ^= VCPU_BRANCHES;
	/* What was executed outside is not known. */
	vcpu->thread->branches->known = 0;
	vcpu->thread->branches->jumps.taken = 0;
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

static void open_window(struct thread *thread, uint64_t now)
{
	struct branches *branches = thread->branches;
	uint64_t window = within(now / WINDOW_PART, WINDOW_LEAST, WINDOW_MOST);
	if (branches->window_end == 0)
		window = WINDOW_FIRST;
	uint64_t gap = within(now / GAP_PART, 2 * WINDOW_LEAST, GAP_MOST);
	if (gap < now / GAP_LAST_PART)
		gap = now / GAP_LAST_PART;
	weigh(thread);
	branches->warm_end = now + (branches->window_end > 0 ? WARM_UP : 0);
	branches->weight = 1 + (double)(branches->warm_end - branches->window_end) / (double)window;
	branches->window_end = branches->warm_end + window;
	branches->joins_from = branches->window_end + gap / 2;
	branches->next_window = branches->joins_from + thread_random(thread, RANDOM_BRANCHES) % gap;
}

uint64_t branches_look(struct vcpu *vcpu)
{
	struct thread *thread = vcpu->thread;
	uint64_t now = vcpu->slot->instructions;
	if (!thread->branches && !(thread->branches = calloc(1, sizeof(*thread->branches))))
		return UINT64_MAX;
	struct branches *branches = thread->branches;
	if (branches->in_window != (now < branches->window_end))
		weigh(thread);
	uint32_t opened = atomic_load_explicit(&windows_opened, memory_order_relaxed);
	bool joins = opened != branches->opened && now >= branches->joins_from;
	if (now >= branches->next_window || joins) {
		open_window(thread, now);
		if (!joins)
			opened = atomic_fetch_add(&windows_opened, 1) + 1;
	}
	branches->opened = opened;
	branches->in_window = now < branches->window_end;
	branches->is_warming = now < branches->warm_end;
	set_window(vcpu, branches->in_window || vcpu->sum->outcomes < FIRST_OUTCOMES);
	if (branches->is_warming)
		return branches->warm_end - now;
	return (branches->in_window ? branches->window_end : branches->next_window) - now;
}
