/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sharing.h"

#include "hash.h"
#include "pace.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum {
	LINE_BITS = 12,
	SHARERS = 8, /* of a line, those who came last */
	HEAT_MAX = 15, /* samples of other lines that a line outlives in its place */
	SAMPLES_MAX = 64, /* then the older half counts half */
	QUIET_GAPS = 8, /* usual gaps without a sample: the thread is done with the line */
	MET_BITS = 16,
	GAP_BINS = 16, /* of powers of 2 */
	GAPS_MANY = 32, /* among which those between bursts are */
	GAPS_MAX = 256, /* then the older half counts half */
	/* Instructions, about as many as a core executes while a line comes: stores that are nearer to one another take it once. */
	TAKEN_ONCE = 100,
};

/* A thread's sampled accesses of a line, from the first to the last. */
struct sharer {
	const struct vcpu *vcpu; /* NULL: free */
	double samples, stores; /* stores: accesses that they stand for, without the first */
	uint64_t first, last; /* instructions of the thread */
	uint64_t barriers; /* that it had passed: what it does on this side of them is known */
	/* From store to store: all, by size, and their instructions. */
	float gap_count, gaps[GAP_BINS], gap_sums[GAP_BINS];
};

struct shared_line {
	uint64_t line;
	uint32_t heat;
	struct sharer sharers[SHARERS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared_line lines[1 << LINE_BITS];
/* By hash. */
struct met {
	uint8_t bits[(1 << MET_BITS) / 8];
};
static struct met met_codes, met_lines; /* lines: of a kind of stretch */

/* With the lock, as all below. NULL: the place is another line's. */
static struct shared_line *find(uint64_t line)
{
	struct shared_line *shared = &lines[hash_bits(line, LINE_BITS)];
	return shared->line == line ? shared : NULL;
}

static struct shared_line *take(uint64_t line)
{
	struct shared_line *shared = &lines[hash_bits(line, LINE_BITS)];
	if (shared->line == line) {
		shared->heat += shared->heat < HEAT_MAX;
		return shared;
	}
	if (shared->heat > 0) {
		shared->heat--;
		return NULL;
	}
	*shared = (struct shared_line){ .line = line };
	return shared;
}

static struct sharer *sharer_of(struct shared_line *shared, const struct vcpu *vcpu)
{
	for (unsigned i = 0; i < SHARERS; i++)
		if (shared->sharers[i].vcpu == vcpu)
			return &shared->sharers[i];
	return NULL;
}

/* In the place of the one with the fewest samples. */
static struct sharer *add_sharer(struct shared_line *shared, const struct vcpu *vcpu)
{
	struct sharer *least = &shared->sharers[0];
	for (unsigned i = 1; i < SHARERS; i++)
		if (shared->sharers[i].samples < least->samples)
			least = &shared->sharers[i];
	*least = (struct sharer){ .vcpu = vcpu };
	return least;
}

static uint64_t instructions_of(const struct sharer *sharer)
{
	return __atomic_load_n(&sharer->vcpu->slot->instructions, __ATOMIC_RELAXED);
}

/* It has executed a lot since without coming to the line. */
static bool is_done(const struct sharer *sharer)
{
	double gap = (double)(sharer->last - sharer->first) / sharer->samples;
	return (double)(instructions_of(sharer) - sharer->last) > QUIET_GAPS * gap;
}

static void forget_half(struct sharer *sharer)
{
	sharer->first += (sharer->last - sharer->first) / 2;
	sharer->samples /= 2;
	sharer->stores /= 2;
}

/* Few stores among many loads: they are forgotten by their own number. */
static void forget_half_of_gaps(struct sharer *sharer)
{
	sharer->gap_count /= 2;
	for (unsigned i = 0; i < GAP_BINS; i++) {
		sharer->gaps[i] /= 2;
		sharer->gap_sums[i] /= 2;
	}
}

static uint64_t barriers_of(const struct sharer *sharer)
{
	return __atomic_load_n(&sharer->vcpu->slot->barriers, __ATOMIC_RELAXED);
}

static void forget(struct sharer *sharer)
{
	*sharer = (struct sharer){ .vcpu = sharer->vcpu };
}

static void add_sample(struct sharer *sharer, double stores)
{
	if (sharer->barriers != barriers_of(sharer) || (sharer->samples >= 2 && is_done(sharer)))
		forget(sharer);
	sharer->barriers = barriers_of(sharer);
	sharer->last = instructions_of(sharer);
	if (sharer->samples == 0)
		sharer->first = sharer->last;
	else
		sharer->stores += stores;
	if (++sharer->samples >= SAMPLES_MAX)
		forget_half(sharer);
}

void sharing_sample(const struct vcpu *vcpu, uint64_t line, bool is_store, double weight)
{
	(void)pthread_mutex_lock(&lock);
	struct shared_line *shared = take(line);
	struct sharer *sharer = shared ? sharer_of(shared, vcpu) : NULL;
	if (shared && !sharer)
		sharer = add_sharer(shared, vcpu);
	if (sharer)
		add_sample(sharer, is_store ? weight : 0);
	(void)pthread_mutex_unlock(&lock);
}

void sharing_store(const struct vcpu *vcpu, uint64_t line, double weight)
{
	(void)pthread_mutex_lock(&lock);
	struct shared_line *shared = find(line);
	struct sharer *sharer = shared ? sharer_of(shared, vcpu) : NULL;
	if (sharer && sharer->samples > 1)
		sharer->stores += weight;
	(void)pthread_mutex_unlock(&lock);
}

/*
 * For each instruction. Of n samples at random the span between the first and the last is that of n - 1 gaps, but one over
 * it is (n - 1) / (n - 2) of one over its mean: two samples that happen to be close say nothing.
 */
static double stores_rate(const struct sharer *sharer)
{
	if (sharer->samples <= 2 || sharer->last == sharer->first)
		return 0;
	double bias = (sharer->samples - 2) / (sharer->samples - 1);
	return bias * sharer->stores / (double)(sharer->last - sharer->first);
}

/* Gaps between stores: all of their time, and what of it is within a stretch. */
struct gaps {
	double count, sum, within;
};

static void add_gaps(struct gaps *near, struct gaps *far, struct gaps added)
{
	struct gaps *gaps = added.sum < added.count * TAKEN_ONCE ? near : far;
	gaps->count += added.count;
	gaps->sum += added.sum;
	gaps->within += added.within;
}

/*
 * That it takes the line in a stretch of so many instructions that begins anywhere: E min(X, t) / E X for gaps X from store to store.
 * Stores in a burst, as to the fields of a structure, take it once: of a burst what is longer than TAKEN_ONCE counts.
 * Among the first few gaps those between bursts may not be: they lack as much time as the rate of stores says, taken as one gap of a random length.
 */
static double stores_odds(const struct sharer *sharer, double instructions)
{
	struct gaps near = { 0 }, far = { 0 };
	for (unsigned i = 0; i < GAP_BINS; i++) {
		struct gaps gaps = { (double)sharer->gaps[i], (double)sharer->gap_sums[i], 0 };
		double most = gaps.count * instructions;
		gaps.within = gaps.sum < most ? gaps.sum : most;
		add_gaps(&near, &far, gaps);
	}
	double count = near.count + far.count;
	double lacking = (count + 1) / stores_rate(sharer) - near.sum - far.sum;
	if (count < GAPS_MANY && lacking > 0)
		add_gaps(&near, &far,
			(struct gaps){ 1, lacking, lacking * -expm1(-instructions / lacking) });
	double once = far.count * TAKEN_ONCE;
	double beyond = near.sum > once ? 1 - once / near.sum : 0;
	return (far.within + beyond * near.within) / (far.sum + beyond * near.sum);
}

static struct sharing_odds foreign_odds(
	const struct shared_line *shared, const struct vcpu *vcpu, double instructions)
{
	struct sharing_odds odds = { 0 };
	double none = 1;
	for (unsigned i = 0; i < SHARERS; i++) {
		const struct sharer *other = &shared->sharers[i];
		if (!other->vcpu || other->vcpu == vcpu || other->barriers != barriers_of(other) ||
			!pace_runs(other->vcpu) || is_done(other) || stores_rate(other) <= 0)
			continue;
		double odds_of_one = stores_odds(other, instructions);
		none *= 1 - odds_of_one;
		odds.writers += odds_of_one;
	}
	odds.written = 1 - none;
	return odds;
}

struct sharing_odds sharing_odds(const struct vcpu *vcpu, uint64_t line, uint64_t instructions)
{
	struct sharing_odds odds = { 0 };
	(void)pthread_mutex_lock(&lock);
	const struct shared_line *shared = find(line);
	if (shared)
		odds = foreign_odds(shared, vcpu, (double)instructions);
	(void)pthread_mutex_unlock(&lock);
	return odds;
}

bool sharing_is_shared(const struct vcpu *vcpu, uint64_t line)
{
	bool is_shared = false;
	(void)pthread_mutex_lock(&lock);
	const struct shared_line *shared = find(line);
	for (unsigned i = 0; shared && i < SHARERS; i++)
		is_shared |= shared->sharers[i].vcpu && shared->sharers[i].vcpu != vcpu;
	(void)pthread_mutex_unlock(&lock);
	return is_shared;
}

void sharing_gap(const struct vcpu *vcpu, uint64_t line, uint64_t instructions)
{
	unsigned bin = 0;
	while (bin + 1 < GAP_BINS && instructions >> (bin + 1) > 0)
		bin++;
	(void)pthread_mutex_lock(&lock);
	struct shared_line *shared = find(line);
	struct sharer *sharer = shared ? sharer_of(shared, vcpu) : NULL;
	if (sharer) {
		sharer->gaps[bin]++;
		sharer->gap_sums[bin] += (float)instructions;
		if (++sharer->gap_count >= GAPS_MAX)
			forget_half_of_gaps(sharer);
	}
	(void)pthread_mutex_unlock(&lock);
}

void sharing_end(const struct vcpu *vcpu)
{
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct sharer *own = sharer_of(&lines[i], vcpu);
		if (own)
			*own = (struct sharer){ 0 };
	}
	(void)pthread_mutex_unlock(&lock);
}

static void set_met(struct met *met, uint64_t key)
{
	uint32_t bit = hash_bits(key, MET_BITS);
	__atomic_fetch_or(&met->bits[bit / 8], (uint8_t)(1 << bit % 8), __ATOMIC_RELAXED);
}

static bool is_met(const struct met *met, uint64_t key)
{
	uint32_t bit = hash_bits(key, MET_BITS);
	return __atomic_load_n(&met->bits[bit / 8], __ATOMIC_RELAXED) >> bit % 8 & 1;
}

/* Of a line in a kind of stretch: both are spread before they meet. */
static uint64_t key_of(uint64_t stretch, uint64_t line)
{
	return (uint64_t)hash_bits(stretch, 32) << 32 ^ line;
}

static uint64_t key_of_code(uint32_t code, bool is_within)
{
	return (uint64_t)code << 1 | is_within;
}

void sharing_meet(uint32_t code, uint64_t stretch, uint64_t line, bool is_within, bool is_written)
{
	uint64_t key = key_of(stretch, line << 1 | is_within);
	if (is_written)
		set_met(&met_lines, key);
	if (is_written || is_met(&met_lines, key))
		set_met(&met_codes, key_of_code(code, is_within));
}

bool sharing_is_met(uint32_t code, bool is_within)
{
	return is_met(&met_codes, key_of_code(code, is_within));
}

void sharing_forked(void)
{
	(void)pthread_mutex_init(&lock, NULL);
	memset(lines, 0, sizeof(lines));
	met_codes = met_lines = (struct met){ { 0 } };
}
