/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pages.h"

#include "hash.h"
#include "reuse.h"

enum {
	PAGE_LINES_BITS = 6,
	ONE_IN_BITS = 2, /* of the samples of lines, one in four */
};

static uint64_t filter_bit(uint64_t page, unsigned *ret_word)
{
	uint32_t bit = hash_bits(page, PAGES_FILTER_BITS);
	*ret_word = bit >> 6;
	return UINT64_C(1) << (bit & 63);
}

static void remake_filter(struct page_state *pages)
{
	for (unsigned i = 0; i < PAGES_FILTER_WORDS; i++)
		pages->filter[i] = 0;
	for (uint32_t i = 0; i < pages->count; i++) {
		unsigned word;
		uint64_t bit = filter_bit(pages->watches[i].page, &word);
		pages->filter[word] |= bit;
	}
}

static void remove_watch(struct page_state *pages, uint32_t at)
{
	reuse_unwatch_page(pages->watches[at].page << PAGE_LINES_BITS);
	pages->watches[at] = pages->watches[--pages->count];
}

/* As thin_out() of reuse.c. */
static void thin_out(struct thread *thread)
{
	struct page_state *pages = &thread->pages;
	for (uint32_t i = 0; i < pages->count;) {
		if (thread_random(thread, RANDOM_PAGES) >> 63) {
			remove_watch(pages, i);
			continue;
		}
		pages->watches[i++].weight *= 2;
	}
	pages->thinning_bits++;
	remake_filter(pages);
}

void pages_sample(
	struct vcpu *vcpu, const struct place *place, uint64_t line, uint64_t clock, double weight)
{
	struct thread *thread = vcpu->thread;
	struct page_state *pages = &thread->pages;
	unsigned bits = ONE_IN_BITS + pages->thinning_bits;
	if (thread_random(thread, RANDOM_PAGES) >> (64 - bits))
		return;
	if (pages->count == PAGES_WATCHES)
		thin_out(thread);
	if (pages->count == PAGES_WATCHES)
		return;
	unsigned word;
	uint64_t page = line >> PAGE_LINES_BITS, bit = filter_bit(page, &word);
	pages->watches[pages->count++] = (struct page_watch){ .page = page,
		.clock = clock,
		.sum = vcpu->sum,
		.code = place->code,
		.weight = weight * (double)(1u << bits) };
	pages->filter[word] |= bit;
	reuse_watch_page(line);
}

void pages_access(struct vcpu *vcpu, const struct place *place, uint64_t line, uint64_t clock)
{
	struct page_state *pages = &vcpu->thread->pages;
	uint64_t page = line >> PAGE_LINES_BITS;
	unsigned word;
	uint64_t bit = filter_bit(page, &word);
	if (!(pages->filter[word] & bit))
		return;
	for (uint32_t i = 0; i < pages->count;) {
		const struct page_watch *watch = &pages->watches[i];
		if (watch->page != page) {
			i++;
			continue;
		}
		uint64_t distance = clock > watch->clock ? clock - watch->clock - 1 : 0;
		reuse_add(vcpu->thread, vcpu->sum, place->code, RAW_PAGE, raw_reuse_bin(distance),
			watch->weight);
		remove_watch(pages, i);
		remake_filter(pages);
	}
}

void pages_write(struct vcpu *vcpu)
{
	const struct page_state *pages = &vcpu->thread->pages;
	for (uint32_t i = 0; i < pages->count; i++)
		reuse_add(vcpu->thread, pages->watches[i].sum, pages->watches[i].code, RAW_PAGE,
			RAW_REUSE_INFINITE, pages->watches[i].weight);
}

void pages_end(struct vcpu *vcpu)
{
	pages_write(vcpu);
	while (vcpu->thread->pages.count > 0)
		remove_watch(&vcpu->thread->pages, vcpu->thread->pages.count - 1);
	remake_filter(&vcpu->thread->pages);
}
