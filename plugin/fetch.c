/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fetch.h"

#include "reuse.h"

#include <string.h>

enum {
	GAP_LEAST = 20,
	SAMPLES_THREAD = 5000,
	SAMPLES_CLASS = 500,
	NO_CODE = 0xfffffff,
};

uint64_t fetch_filters[VCPUS][BLOCK_FILTER_ALL + 1];

static void set_filter(struct vcpu *vcpu, uint64_t line)
{
	uint64_t *filter = fetch_filters[vcpu->index], bit = UINT64_C(1) << (line % 64);
	filter[line / 64 % BLOCK_FILTER_WORDS] |= bit;
	if (line % 64 < BLOCK_MORE_LINES)
		filter[(line / 64 - 1) % BLOCK_FILTER_WORDS] |= bit;
}

/* The filter knows lines but for their upper bits, so it is made anew from those that are left. */
static void remake_filter(struct vcpu *vcpu)
{
	uint64_t *filter = fetch_filters[vcpu->index];
	memset(filter, 0, sizeof(fetch_filters[0]));
	filter[BLOCK_FILTER_ALL] = UINT64_MAX;
	for (uint32_t i = 0; i < vcpu->thread->fetch.count; i++)
		set_filter(vcpu, vcpu->thread->fetch.watches[i].line);
}

static void draw(struct vcpu *vcpu, uint64_t clock)
{
	struct sum *sum = vcpu->sum;
	double of_thread = (double)clock / SAMPLES_THREAD;
	double of_class = (double)(sum->fetches + (clock - vcpu->counted_fetches)) / SAMPLES_CLASS;
	double gap = of_thread < of_class ? of_thread : of_class;
	gap = (gap > GAP_LEAST ? gap : GAP_LEAST) * vcpu->thread->fetch.thinning;
	sum->fetch_weight = gap;
	vcpu->next_fetch = clock + thread_gap(vcpu->thread, RANDOM_FETCHES, gap);
}

void fetch_enter(struct vcpu *vcpu)
{
	if (vcpu->thread->fetch.thinning == 0) {
		vcpu->thread->fetch.thinning = 1;
		remake_filter(vcpu);
	}
	if (vcpu->sum->fetch_weight == 0)
		draw(vcpu, vcpu->fetches);
	else
		vcpu->next_fetch = vcpu->fetches + vcpu->sum->fetch_in;
}

void fetch_leave(struct vcpu *vcpu)
{
	if (vcpu->sum)
		vcpu->sum->fetch_in =
			vcpu->next_fetch > vcpu->fetches ? vcpu->next_fetch - vcpu->fetches : 0;
	vcpu->next_fetch = UINT64_MAX;
}

/* As thin_out() of reuse.c. */
static void thin_out(struct vcpu *vcpu)
{
	struct fetch_state *fetch = &vcpu->thread->fetch;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < fetch->count; i++) {
		if (thread_random(vcpu->thread, RANDOM_FETCHES) >> 63)
			continue;
		fetch->watches[kept] = fetch->watches[i];
		fetch->watches[kept++].weight *= 2;
	}
	fetch->count = kept;
	fetch->thinning *= 2;
	remake_filter(vcpu);
}

static void meet(struct vcpu *vcpu, uint64_t line, uint64_t clock)
{
	struct fetch_state *fetch = &vcpu->thread->fetch;
	for (uint32_t i = 0; i < fetch->count;) {
		struct fetch_watch *watch = &fetch->watches[i];
		if (watch->line != line) {
			i++;
			continue;
		}
		reuse_add(vcpu->thread, vcpu->sum, NO_CODE, RAW_FETCH,
			raw_reuse_bin(clock - watch->clock - 1), watch->weight);
		*watch = fetch->watches[--fetch->count];
		remake_filter(vcpu);
	}
}

/* The thread fetches a line as its fetch number `clock`. */
static void look_at_line(struct vcpu *vcpu, uint64_t line, uint64_t clock)
{
	struct fetch_state *fetch = &vcpu->thread->fetch;
	if (!vcpu->sum)
		return;
	meet(vcpu, line, clock);
	if (clock < vcpu->next_fetch)
		return;
	double weight = vcpu->sum->fetch_weight;
	if (fetch->count == FETCH_WATCHES)
		thin_out(vcpu);
	draw(vcpu, clock);
	if (fetch->count == FETCH_WATCHES)
		return;
	fetch->watches[fetch->count++] = (struct fetch_watch){ line, clock, weight };
	set_filter(vcpu, line);
}

/* The first execution of a block whose lines no block before had. */
static void fetch_first(struct vcpu *vcpu, struct block *block)
{
	uint32_t lines = __atomic_exchange_n(&block->new_lines, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&block->line_word, block_filter_word(block), __ATOMIC_RELAXED);
	if (lines && vcpu->sum)
		reuse_add(vcpu->thread, vcpu->sum, NO_CODE, RAW_FETCH, RAW_REUSE_INFINITE, lines);
}

void fetch_block(struct vcpu *vcpu, uint64_t last_line, struct block *block)
{
	uint64_t changes = fetch_changes(last_line, block);
	if (changes > 0 && block->new_lines)
		fetch_first(vcpu, block);
	vcpu->fetches += changes;
	if (!fetch_special(fetch_filters[vcpu->index], block, changes) &&
		vcpu->fetches <= vcpu->next_fetch)
		return;
	for (uint64_t left = changes; left > 0; left--)
		look_at_line(vcpu, block->last_line - left + 1, vcpu->fetches - left);
}
