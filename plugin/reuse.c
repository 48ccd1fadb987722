/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reuse.h"

#include "hash.h"
#include "out.h"
#include "pages.h"
#include "reuse_table.h"
#include "sharing.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUCKET_BITS = 14,
	BUCKETS = 1 << BUCKET_BITS,
	HASHES_PER_BUCKET_BITS = REUSE_FILTER_BITS - BUCKET_BITS,
	/* 6% of the filter's bits, so that few accesses are looked at in vain. */
	WATCHES = 1 << 15,
	/* The mean gap between samples: a part of what the thread, or the class, has accessed so far, so that the
	 * number of samples grows with the logarithm of the run's length, and small classes get theirs. */
	GAP_LEAST = 50,
	SAMPLES_THREAD = 10000,
	SAMPLES_CLASS = 1000,
	/*
	 * Lines of which the first touch is seen: one in 64, fewer when there are many. One in 8 while the thread is young, as
	 * a program of a million instructions has few.
	 */
	SELECT_YOUNG_BITS = 3,
	YOUNG_ACCESSES = 1 << 20,
	WORD_BITS = 6,
	SELECT_FIRST_BITS = WORD_BITS,
	SELECT_LAST_BITS = 12,
	SELECTED_MANY = 2048,
	LOCK_FREE_STEPS = 16,
	BUCKETS_PER_WORD = BUCKETS / REUSE_FILTER_WORDS, /* of the filter: a page's lines are one */
};

/* The scopes of a thread's `taken`: both accesses in one stretch, or not. */
static const enum raw_scope taken_across = RAW_PRIVATE, taken_within = RAW_GLOBAL;

struct watch {
	uint64_t line;
	uint64_t clock; /* accesses of the thread */
	uint64_t global_clock; /* of all */
	uint64_t instructions, barriers, entered; /* of the thread */
	struct thread *thread; /* NULL: has ended */
	double weight;
	uint32_t next; /* index + 1 */
	bool global_done, own_done;
	bool is_written; /* by another thread */
	bool is_store; /* then it goes on until the thread's next store to the line, if others come there too */
};

struct bucket {
	uint32_t first; /* index + 1 */
	atomic_flag lock;
};

uint64_t reuse_filter[REUSE_FILTER_WORDS];
const uint64_t *reuse_told = reuse_filter;

static struct watch watches[WATCHES];
static struct bucket buckets[BUCKETS];
static uint16_t page_watches
	[REUSE_FILTER_WORDS]; /* pages that are watched, of each word; with its buckets' locks */
/* Free watches, touched lines of all threads, how lines are selected. */
static struct {
	pthread_mutex_t lock;
	uint32_t free; /* index + 1 */
	struct line_set touched;
	unsigned select_bits;
	uint32_t selected; /* since select_bits was set */
	double thinning; /* samples are so much rarer than the gaps above say */
	uint64_t samples;
	double weights;
	double written,
		writers; /* accesses soon after others' stores to the line, and by how many threads */
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t all_lines[REUSE_FILTER_WORDS]; /* as reuse_filter */
static struct {
	pthread_mutex_t lock;
	uint32_t count;
} lookers = { .lock = PTHREAD_MUTEX_INITIALIZER }; /* who wants to see each access */

void reuse_tell_all(bool begins)
{
	(void)pthread_mutex_lock(&lookers.lock);
	lookers.count += begins ? 1 : -1u;
	const uint64_t *told = lookers.count > 0 ? all_lines : reuse_filter;
	__atomic_store_n(&reuse_told, told, __ATOMIC_RELAXED);
	(void)pthread_mutex_unlock(&lookers.lock);
}

static void lock_bucket(struct bucket *bucket)
{
	for (unsigned i = 0; atomic_flag_test_and_set_explicit(&bucket->lock, memory_order_acquire);
		i++) {
		if (i > 100)
			(void)sched_yield();
	}
}

static void unlock_bucket(struct bucket *bucket)
{
	atomic_flag_clear_explicit(&bucket->lock, memory_order_release);
}

static struct bucket *bucket_of(uint32_t hash)
{
	return &buckets[hash >> HASHES_PER_BUCKET_BITS];
}

static void set_filter(uint32_t hash)
{
	__atomic_fetch_or(&reuse_filter[hash >> 6], UINT64_C(1) << (hash & 63), __ATOMIC_RELAXED);
}

static void clear_filter(uint32_t hash)
{
	__atomic_fetch_and(
		&reuse_filter[hash >> 6], ~(UINT64_C(1) << (hash & 63)), __ATOMIC_RELAXED);
}

static bool is_selected(uint32_t hash)
{
	/* Of 64 lines beside one another as many as there must be, or one at most; not always the same. */
	uint32_t word = hash >> WORD_BITS;
	unsigned bits = shared.select_bits, within = bits < WORD_BITS ? bits : WORD_BITS;
	return (word & ((1u << (bits - within)) - 1)) == 0 &&
	       ((hash ^ word * 2654435761u >> (32 - WORD_BITS)) & ((1u << within) - 1)) == 0;
}

/* Clears the hash's bit unless a watch or the selection needs it. With the bucket's lock. */
static void unfilter(const struct bucket *bucket, uint32_t hash)
{
	if (is_selected(hash) || page_watches[hash >> 6] > 0)
		return;
	for (uint32_t at = bucket->first; at; at = watches[at - 1].next) {
		if (reuse_hash(watches[at - 1].line) == hash)
			return;
	}
	clear_filter(hash);
}

void reuse_init(void)
{
	memset(buckets, 0, sizeof(buckets));
	memset(reuse_filter, 0, sizeof(reuse_filter));
	memset(all_lines, 0xff, sizeof(all_lines));
	for (uint32_t i = 0; i < WATCHES; i++)
		watches[i].next = i + 1 < WATCHES ? i + 2 : 0;
	shared.free = 1;
	shared.select_bits = SELECT_YOUNG_BITS;
	shared.thinning = 1;
	for (uint32_t hash = 0; hash < 1u << REUSE_FILTER_BITS; hash++) {
		if (is_selected(hash))
			set_filter(hash);
	}
}

void reuse_forked(void)
{
	(void)pthread_mutex_init(&shared.lock, NULL);
	(void)pthread_mutex_init(&lookers.lock, NULL);
	sharing_forked();
	memset(buckets, 0, sizeof(buckets));
	memset(reuse_filter, 0, sizeof(reuse_filter));
	memset(page_watches, 0, sizeof(page_watches));
}

/* Locked from the first on. */
static struct bucket *lock_word(uint64_t line)
{
	struct bucket *first = bucket_of(reuse_hash(line & ~UINT64_C(63)));
	for (unsigned i = 0; i < BUCKETS_PER_WORD; i++)
		lock_bucket(&first[i]);
	return first;
}

static void unlock_word(struct bucket *first)
{
	for (unsigned i = 0; i < BUCKETS_PER_WORD; i++)
		unlock_bucket(&first[i]);
}

void reuse_watch_page(uint64_t line)
{
	uint32_t word = reuse_hash(line) >> 6;
	struct bucket *first = lock_word(line);
	page_watches[word]++;
	__atomic_store_n(&reuse_filter[word], UINT64_MAX, __ATOMIC_RELAXED);
	unlock_word(first);
}

void reuse_unwatch_page(uint64_t line)
{
	uint32_t word = reuse_hash(line) >> 6;
	struct bucket *first = lock_word(line);
	if (--page_watches[word] == 0)
		for (uint32_t bit = 0; bit < 64; bit++) {
			uint32_t hash = word << 6 | bit;
			unfilter(bucket_of(hash), hash);
		}
	unlock_word(first);
}

/* Removes the watch after *link, and gives it back. With the bucket's lock. */
static void remove_watch(struct bucket *bucket, uint32_t *link)
{
	uint32_t at = *link;
	struct watch *watch = &watches[at - 1];
	uint32_t hash = reuse_hash(watch->line);
	*link = watch->next;
	unfilter(bucket, hash);
	(void)pthread_mutex_lock(&shared.lock);
	watch->next = shared.free;
	shared.free = at;
	(void)pthread_mutex_unlock(&shared.lock);
}

/* Half of the watches, picked at random, are dropped; the other half stands for them too. */
static void thin_out(struct thread *thread)
{
	for (uint32_t i = 0; i < BUCKETS; i++) {
		if (!buckets[i].first)
			continue;
		lock_bucket(&buckets[i]);
		for (uint32_t *link = &buckets[i].first; *link;) {
			struct watch *watch = &watches[*link - 1];
			if (thread_random(thread, RANDOM_THINNING) >> 63) {
				remove_watch(&buckets[i], link);
				continue;
			}
			watch->weight *= 2;
			link = &watch->next;
		}
		unlock_bucket(&buckets[i]);
	}
	(void)pthread_mutex_lock(&shared.lock);
	shared.thinning *= 2;
	(void)pthread_mutex_unlock(&shared.lock);
}

static uint32_t take_watch(struct thread *thread)
{
	for (int tries = 0; tries < 2; tries++) {
		(void)pthread_mutex_lock(&shared.lock);
		uint32_t at = shared.free;
		if (at)
			shared.free = watches[at - 1].next;
		(void)pthread_mutex_unlock(&shared.lock);
		if (at)
			return at;
		thin_out(thread);
	}
	return 0;
}

/* Accesses of all threads but this one. */
static uint64_t accesses_of_others(const struct vcpu *vcpu)
{
	uint64_t total = vcpu->earlier_accesses;
	for (unsigned i = 0; i < vcpu_end; i++) {
		if (&vcpu_table[i] != vcpu && vcpu_table[i].slot)
			total += vcpu_table[i].earlier_accesses + vcpu_table[i].slot->accesses;
	}
	return total;
}

/* Draws when the next access of the class is sampled. */
static void draw_sample(struct vcpu *vcpu, uint64_t clock)
{
	struct sum *sum = vcpu->sum;
	double of_thread = (double)clock / SAMPLES_THREAD;
	double of_class =
		(double)(sum->accesses + (clock - vcpu->counted_accesses)) / SAMPLES_CLASS;
	double gap = of_thread < of_class ? of_thread : of_class;
	gap = (gap > GAP_LEAST ? gap : GAP_LEAST) * shared.thinning;
	sum->sample_weight = gap;
	vcpu->next_access = clock + thread_gap(vcpu->thread, RANDOM_REUSE, gap);
}

void reuse_enter(struct vcpu *vcpu)
{
	struct sum *sum = vcpu->sum;
	uint64_t clock = vcpu->slot->accesses;
	if (sum->sample_weight == 0)
		draw_sample(vcpu, clock);
	else
		vcpu->next_access = clock + sum->sample_in;
}

void reuse_leave(struct vcpu *vcpu)
{
	uint64_t clock = vcpu->slot->accesses;
	if (vcpu->sum)
		vcpu->sum->sample_in = vcpu->next_access > clock ? vcpu->next_access - clock : 0;
	vcpu->next_access = UINT64_MAX;
	vcpu_look_no_more(vcpu, LOOKS_SAMPLER);
}

/* The thread's, before this access: its slot has those of the whole block. */
static uint64_t instructions_before(const struct vcpu *vcpu, const struct place *place)
{
	return vcpu->slot->instructions - place->block->count + place->index;
}

void reuse_sample(
	struct vcpu *vcpu, const struct place *place, uint64_t line, uint64_t clock, bool is_store)
{
	double weight = vcpu->sum->sample_weight;
	draw_sample(vcpu, clock);
	pages_sample(vcpu, place, line, clock, weight);
	uint32_t at = take_watch(vcpu->thread);
	if (!at)
		return;
	uint32_t hash = reuse_hash(line);
	struct bucket *bucket = bucket_of(hash);
	struct watch *watch = &watches[at - 1];
	uint64_t now = accesses_of_others(vcpu) + clock;
	sharing_sample(vcpu, line, is_store, weight);
	*watch = (struct watch){ .line = line,
		.clock = clock,
		.global_clock = now,
		.instructions = instructions_before(vcpu, place),
		.barriers = vcpu->slot->barriers,
		.entered = vcpu->entered,
		.is_store = is_store,
		.thread = vcpu->thread,
		.weight = weight };
	lock_bucket(bucket);
	watch->next = bucket->first;
	bucket->first = at;
	set_filter(hash);
	unlock_bucket(bucket);
	(void)pthread_mutex_lock(&shared.lock);
	shared.samples++;
	shared.weights += weight;
	(void)pthread_mutex_unlock(&shared.lock);
}

/* Selects one line in 2^bits from now on, fewer than so far. With the shared lock. */
static void select_fewer(unsigned bits)
{
	shared.select_bits = bits;
	shared.selected = 0;
	for (uint32_t hash = 0; hash < 1u << REUSE_FILTER_BITS; hash++) {
		struct bucket *bucket = bucket_of(hash);
		bool is_set = reuse_filter[hash >> 6] >> (hash & 63) & 1;
		if (!is_set || is_selected(hash) || atomic_flag_test_and_set(&bucket->lock))
			continue; /* a bit too many only costs time */
		unfilter(bucket, hash);
		unlock_bucket(bucket);
	}
}

static void grow_up(void)
{
	(void)pthread_mutex_lock(&shared.lock);
	if (shared.select_bits < SELECT_FIRST_BITS)
		select_fewer(SELECT_FIRST_BITS);
	(void)pthread_mutex_unlock(&shared.lock);
}

/* A selected line: counts its first touches by the thread and by any, which are infinite distances. */
static void touch(struct vcpu *vcpu, const struct place *place, uint64_t line)
{
	struct thread *thread = vcpu->thread;
	unsigned bits = shared.select_bits;
	uint64_t *often = &thread->touched_often[hash_bits(line, TOUCHED_OFTEN_BITS)];
	if (*often == line)
		return;
	*often = line;
	if (!line_set_add(&thread->touched, line))
		return;
	double lines = (double)(UINT64_C(1) << bits);
	vcpu->sum->counts.first_touches += UINT64_C(1) << bits;
	reuse_add(thread, vcpu->sum, place->code, RAW_PRIVATE, RAW_REUSE_INFINITE, lines);
	(void)pthread_mutex_lock(&shared.lock);
	if (line_set_add(&shared.touched, line)) {
		vcpu->sum->counts.first_touches_global += UINT64_C(1) << bits;
		reuse_add(thread, vcpu->sum, place->code, RAW_GLOBAL, RAW_REUSE_INFINITE, lines);
		if (++shared.selected > SELECTED_MANY && shared.select_bits < SELECT_LAST_BITS)
			select_fewer(shared.select_bits + 1);
	}
	(void)pthread_mutex_unlock(&shared.lock);
}

static uint64_t difference(uint64_t now, uint64_t then)
{
	return now > then ? now - then - 1 : 0;
}

static void note_writers(double weight, const struct sharing_odds *odds)
{
	(void)pthread_mutex_lock(&shared.lock);
	shared.written += weight * odds->written;
	shared.writers += weight * odds->writers;
	(void)pthread_mutex_unlock(&shared.lock);
}

/*
 * The thread that is watched comes again. Where the odds of a write in between are known they count, not what was seen; but
 * who writes on which side of a barrier is the program's order, and was seen.
 */
static void meet_own(
	const struct watch *watch, struct vcpu *vcpu, const struct place *place, uint64_t clock)
{
	struct thread *thread = vcpu->thread;
	uint64_t instructions = instructions_before(vcpu, place) - watch->instructions;
	bool is_short = instructions < SHARING_SHORT && watch->barriers == vcpu->slot->barriers;
	bool is_within = watch->entered == vcpu->entered;
	struct sharing_odds shared_odds = { 0 };
	if (is_short)
		shared_odds = sharing_odds(vcpu, watch->line, instructions);
	double odds = shared_odds.written;
	unsigned bin = watch->is_written && odds == 0
			       ? RAW_REUSE_INFINITE
			       : raw_reuse_bin(difference(clock, watch->clock));
	if (is_short)
		sharing_meet(place->code, vcpu->stretch, watch->line, is_within, watch->is_written);
	if (odds > 0 && sharing_is_met(place->code, is_within))
		note_writers(watch->weight, &shared_odds);
	if (odds > 0)
		reuse_table_add(&thread->taken, vcpu->sum, place->code,
			is_within ? taken_within : taken_across, bin, watch->weight * odds);
	reuse_add(thread, vcpu->sum, place->code, RAW_PRIVATE, bin, watch->weight * (1 - odds));
}

/* The watched line is accessed. Whether the watch has seen all. */
static bool meet(struct watch *watch, struct vcpu *vcpu, const struct place *place, uint64_t clock,
	bool is_store)
{
	if (!watch->global_done) {
		uint64_t now = accesses_of_others(vcpu) + clock;
		reuse_add(vcpu->thread, vcpu->sum, place->code, RAW_GLOBAL,
			raw_reuse_bin(difference(now, watch->global_clock)), watch->weight);
		watch->global_done = true;
	}
	if (watch->thread != vcpu->thread) {
		watch->is_written |= is_store;
		return !watch->thread;
	}
	bool is_first = !watch->own_done;
	if (is_first)
		meet_own(watch, vcpu, place, clock);
	watch->own_done = true;
	if (!watch->is_store || (is_first && !sharing_is_shared(vcpu, watch->line)))
		return true;
	uint64_t gap = instructions_before(vcpu, place) - watch->instructions;
	if (!is_store && gap < SHARING_SHORT)
		return false;
	sharing_gap(vcpu, watch->line, gap);
	return true;
}

/* The store of an instruction that has loaded from the line. Whether the watch has seen all. */
static bool store_again(
	struct watch *watch, const struct vcpu *vcpu, const struct place *place, uint64_t clock)
{
	bool is_own = watch->thread == vcpu->thread;
	watch->is_written |= !is_own;
	if (is_own && watch->clock == clock) {
		sharing_store(vcpu, watch->line, watch->weight);
		watch->is_store = true;
	} else if (is_own && watch->own_done) {
		sharing_gap(
			vcpu, watch->line, instructions_before(vcpu, place) - watch->instructions);
		return true;
	}
	return false;
}

/* A watch of another thread, which may wait for long, has seen all that this one can show it. */
static bool has_seen(const struct watch *watch, const struct vcpu *vcpu, bool is_store)
{
	const struct thread *thread = __atomic_load_n(&watch->thread, __ATOMIC_RELAXED);
	return thread && thread != vcpu->thread &&
	       __atomic_load_n(&watch->global_done, __ATOMIC_RELAXED) &&
	       (!is_store || __atomic_load_n(&watch->is_written, __ATOMIC_RELAXED));
}

/*
 * Whether a watch wants to know of an access to the line, or that takes long to find out. Without the lock, which threads that
 * come to one line all the time would take from one another; a watch that begins or ends meanwhile may be missed.
 */
static bool is_wanted(
	const struct bucket *bucket, const struct vcpu *vcpu, uint64_t line, bool is_store)
{
	uint32_t at = __atomic_load_n(&bucket->first, __ATOMIC_RELAXED);
	for (unsigned steps = 0; at && steps < LOCK_FREE_STEPS; steps++) {
		const struct watch *watch = &watches[at - 1];
		if (__atomic_load_n(&watch->line, __ATOMIC_RELAXED) == line &&
			!has_seen(watch, vcpu, is_store))
			return true;
		at = __atomic_load_n(&watch->next, __ATOMIC_RELAXED);
	}
	return at != 0;
}

void reuse_access(struct vcpu *vcpu, const struct place *place, uint64_t line, uint64_t clock,
	bool is_store, bool again)
{
	uint32_t hash = reuse_hash(line);
	struct bucket *bucket = bucket_of(hash);
	if (shared.select_bits < SELECT_FIRST_BITS && vcpu->slot->accesses > YOUNG_ACCESSES)
		grow_up();
	if (!again && is_selected(hash))
		touch(vcpu, place, line);
	if (!is_wanted(bucket, vcpu, line, is_store))
		return;
	lock_bucket(bucket);
	for (uint32_t *link = &bucket->first; *link;) {
		struct watch *watch = &watches[*link - 1];
		/* Accesses of a block come group by group (groups.h): some before who was sampled. */
		bool is_line = watch->line == line &&
			       (watch->thread != vcpu->thread || watch->clock <= clock);
		bool is_over =
			is_line && again && is_store && store_again(watch, vcpu, place, clock);
		if (is_line && !again)
			is_over = meet(watch, vcpu, place, clock, is_store);
		if (is_over)
			remove_watch(bucket, link);
		else
			link = &watch->next;
	}
	unlock_bucket(bucket);
}

void reuse_end(struct vcpu *vcpu)
{
	pages_end(vcpu);
	sharing_end(vcpu);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		if (!buckets[i].first)
			continue;
		lock_bucket(&buckets[i]);
		for (uint32_t *link = &buckets[i].first; *link;) {
			struct watch *watch = &watches[*link - 1];
			bool own = watch->thread == vcpu->thread;
			if (own && watch->global_done) {
				remove_watch(&buckets[i], link);
				continue;
			}
			if (own)
				watch->thread = NULL; /* another thread may still reuse it */
			link = &watch->next;
		}
		unlock_bucket(&buckets[i]);
	}
}

void reuse_add(struct thread *thread, struct sum *sum, uint32_t code, enum raw_scope scope,
	unsigned bin, double weight)
{
	reuse_table_add(&thread->reuse, sum, code, scope, bin, weight);
}

/* Lines that others would have written meanwhile count as written where that is known to happen. */
static void settle_taken(struct thread *thread, bool is_end)
{
	struct reuse_table taken = thread->taken;
	thread->taken = (struct reuse_table){ 0 };
	for (uint32_t i = 0; taken.entries && i < 1u << taken.bits; i++) {
		const struct reuse_entry *entry = &taken.entries[i];
		if (!entry->key)
			continue;
		uint32_t code = reuse_table_code(entry->key);
		unsigned bin = (entry->key - 1) & 255;
		enum raw_scope scope = (entry->key - 1) >> 8 & 3;
		bool is_met = sharing_is_met(code, scope == taken_within);
		if (is_met || is_end)
			reuse_table_add(&thread->reuse, entry->sum, code, RAW_PRIVATE,
				is_met ? RAW_REUSE_INFINITE : bin, entry->count);
		else
			reuse_table_add(&thread->taken, entry->sum, code, scope, bin, entry->count);
	}
	free(taken.entries);
}

void reuse_write(struct thread *thread, bool is_end)
{
	struct reuse_table *table = &thread->reuse;
	settle_taken(thread, is_end);
	for (uint32_t i = 0; table->entries && i < 1u << table->bits; i++) {
		const struct reuse_entry *entry = &table->entries[i];
		if (!entry->key)
			continue;
		uint64_t key = entry->key - 1;
		struct raw_reuse reuse = { .stretch = entry->sum->stretch,
			.thread = thread->number,
			.code = reuse_table_code(entry->key),
			.scope = key >> 8 & 3,
			.bin = key & 255,
			.samples = entry->samples,
			.count = entry->count };
		out_record(RAW_REUSE, &reuse, sizeof(reuse), NULL, 0);
	}
	free(table->entries);
	*table = (struct reuse_table){ 0 };
}

double reuse_writers(void)
{
	return shared.written > 0 ? shared.writers / shared.written : 0;
}

void reuse_quality(uint64_t *ret_samples, double *ret_rate)
{
	*ret_samples = shared.samples;
	*ret_rate = shared.samples ? shared.weights / (double)shared.samples : 0;
}
