/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers for one processor: the share of each bin that misses in each of its caches, then sums over rows. */
#include "uarch/cache_sets.h"
#include "uarch/statstack.h"
#include "uarch/statstack_parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* The share of each bin of distances that misses. */
struct bin_misses {
	float at[REUSE_BINS];
};

/* Lines of a page: where a kernel places pages, who walks in steps of pages comes to any of their places. */
enum { PAGE_BITS = 6, PAGE_SETS = 1 << PAGE_BITS };
static_assert(PAGE_SETS == PROFILE_PAGE_BYTES / PROFILE_LINE_BYTES, "lines of a page");

/* A level as the threads see it. */
struct level {
	bool is_shared, is_unified;
	bool is_invaded; /* others bring lines, too */
	double foreign; /* share of the other threads that use another one of its kind */
	double lifetime_ns;
	struct cache_sets cache;
	struct cache_sets
		parts[PAGE_BITS + 1]; /* one in 2^k of the sets, by k: see walk_misses() */
	const struct lines_curve *curve; /* of one class's data, as the next two */
	struct bin_misses data, fetch;
};

struct scratch {
	struct level levels[PROCESSOR_LEVELS_MAX];
	unsigned level_count;
	struct cache_sets instruction;
	struct bin_misses fetch;
	/* All private caches together, in which a line that was written may still be. */
	struct cache_sets holders;
	struct bin_misses held;
	bool has_others;
	struct cache_sets tlbs[STATSTACK_TLBS];
	struct bin_misses untranslated[STATSTACK_TLBS];
	unsigned tlb_count;
	struct cache_sets targets[STATSTACK_TARGETS];
	unsigned target_levels;
	bool has_kernel; /* which writes a page before the program touches it */
};

int statstack_answer_init(struct statstack_answer *answer, const struct statstack *statstack)
{
	*answer = (struct statstack_answer){
		.classes = calloc(statstack->class_count + 1, sizeof(*answer->classes)),
		.codes = calloc(statstack->code_count + 1, sizeof(*answer->codes)),
		.access_ns = calloc(statstack->class_count + 1, sizeof(*answer->access_ns)),
		.scratch = calloc(1, sizeof(struct scratch)),
	};
	if (answer->classes && answer->codes && answer->access_ns && answer->scratch)
		return 0;
	statstack_answer_release(answer);
	return -ENOMEM;
}

void statstack_answer_release(struct statstack_answer *answer)
{
	free(answer->classes);
	free(answer->codes);
	free(answer->access_ns);
	free(answer->scratch);
	*answer = (struct statstack_answer){ 0 };
}

static double cache_lines(const struct cache *cache)
{
	uint64_t lines = cache->bytes / PROFILE_LINE_BYTES;
	return (double)lines;
}

/*
 * One that some of the threads share is seen in distances of all threads' accesses, too: where each has lines of its
 * own, those of the others count for nothing there, as if it were larger in proportion.
 */
static void level_init(
	struct level *level, const struct cache *cache, double threads, double common)
{
	double sharers = cache->shared_by > 1 ? cache->shared_by : 1;
	if (sharers > threads)
		sharers = threads;
	double others = 1 + (1 - common) * (threads / sharers - 1);
	level->is_shared = sharers > 1;
	level->lifetime_ns = cache->lifetime_ns;
	level->foreign = threads > 1 ? (threads - sharers) / (threads - 1) : 0;
	cache_sets_init(&level->cache, cache_lines(cache) * (level->is_shared ? others : 1),
		cache->ways, cache->replacement == REPLACEMENT_LRU);
}

static void scratch_init(struct scratch *scratch, const struct processor *processor,
	const struct statstack *statstack)
{
	double threads = statstack->threads;
	double private_lines = 0;
	scratch->level_count = processor->level_count < PROCESSOR_LEVELS_MAX
				       ? processor->level_count
				       : PROCESSOR_LEVELS_MAX;
	for (unsigned i = 0; i < scratch->level_count; i++) {
		const struct cache *cache = &processor->levels[i];
		level_init(&scratch->levels[i], cache, threads, statstack->common);
		scratch->levels[i].is_unified = i > 0;
		if (i == 0 || cache->shared_by <= 1)
			private_lines = cache_lines(cache);
	}
	cache_sets_init(&scratch->instruction, cache_lines(&processor->instruction),
		processor->instruction.ways, true);
	const struct tlb *tlb = &processor->tlb;
	scratch->tlb_count = !tlb->entries || !statstack->has_pages ? 0
			     : tlb->second_entries                  ? 2
								    : 1;
	cache_sets_init(&scratch->tlbs[0], tlb->entries, tlb->ways, true);
	cache_sets_init(&scratch->tlbs[1], tlb->second_entries, tlb->second_ways, true);
	const struct targets *targets = &processor->targets;
	scratch->target_levels = !targets->entries ? 0 : targets->second_entries ? 2 : 1;
	cache_sets_init(&scratch->targets[0], targets->entries, 0, true);
	cache_sets_init(&scratch->targets[1], targets->second_entries, 0, true);
	scratch->has_kernel = processor->fault_ns > 0 && statstack->has_pages;
	scratch->has_others = threads > 1;
	cache_sets_init(&scratch->holders, private_lines * threads, 0, true);
}

static void misses_fill(
	struct bin_misses *misses, const struct cache_sets *cache, const struct lines_curve *curve)
{
	unsigned count = 0;
	while (count < REUSE_INFINITE && curve->at[count] < cache->sure)
		count++;
	cache_sets_misses(cache, curve->population, curve->at, count, misses->at);
	for (; count < REUSE_BINS; count++)
		misses->at[count] = 1;
}

/*
 * Where others bring lines, too, `ages` lifetimes of a line for each access, those fall into the sets like the program's own. Half of the
 * lines that are left alone are gone when a set of A ways has got A - 1/3 of them (the median of a gamma distribution).
 */
static void misses_fill_beside(struct bin_misses *misses, const struct cache_sets *cache,
	const struct lines_curve *curve, double ages)
{
	double foreign = ages * (cache->lines - (cache->sets > 1 ? cache->sets / 3 : 0));
	for (unsigned bin = 0; bin < REUSE_INFINITE; bin++) {
		double from = foreign * reuse_edge(bin), to = foreign * reuse_edge(bin + 1);
		const double at[] = { curve->at[bin] + from, curve->at[bin + 1] + to };
		misses->at[bin] = 1;
		if (at[0] < cache->sure)
			cache_sets_misses(cache, curve->population + to, at, 1, &misses->at[bin]);
	}
	misses->at[REUSE_INFINITE] = 1;
}

/* The same where any line makes room: what is left alone is gone by and by. */
static void misses_fill_wearing(struct bin_misses *misses, const struct cache_sets *cache,
	const struct lines_curve *curve, double ages)
{
	double low = cache_sets_miss_worn(cache, curve->at[0], ages * reuse_edge(0));
	for (unsigned bin = 0; bin < REUSE_INFINITE; bin++) {
		double high =
			cache_sets_miss_worn(cache, curve->at[bin + 1], ages * reuse_edge(bin + 1));
		misses->at[bin] = (float)((low + high) / 2);
		low = high;
	}
	misses->at[REUSE_INFINITE] = 1;
}

/* Lifetimes of a line from one access to the next; `access_ns`: between accesses of a thread; 0: not known. */
static double ages_of(const struct level *level, double access_ns, double threads)
{
	if (level->lifetime_ns <= 0)
		return 0;
	return access_ns / level->lifetime_ns / (level->is_shared ? threads : 1);
}

static void level_misses(
	struct level *level, const struct class_reuse *class, double access_ns, double threads)
{
	const struct lines_curve *curves = class->curves;
	enum curve_kind data = level->is_shared    ? CURVE_DATA_GLOBAL
			       : level->is_unified ? CURVE_DATA_PRIVATE
						   : CURVE_DATA;
	level->curve = &curves[data];
	double ages = ages_of(level, access_ns, threads);
	level->is_invaded = ages > 0;
	if (level->is_invaded && !level->cache.is_lru)
		misses_fill_wearing(&level->data, &level->cache, level->curve, ages);
	else if (level->is_invaded)
		misses_fill_beside(&level->data, &level->cache, level->curve, ages);
	else
		misses_fill(&level->data, &level->cache, level->curve);
	misses_fill(&level->fetch, &level->cache,
		&curves[level->is_shared ? CURVE_FETCH_GLOBAL : CURVE_FETCH_PRIVATE]);
}

static double sum_bins(const double *share, const struct bin_misses *misses)
{
	double sum = 0;
	for (unsigned bin = 0; bin < REUSE_BINS; bin++)
		sum += share[bin] * (double)misses->at[bin];
	return sum;
}

static double sum_rows(
	const struct reuse_row *rows, uint32_t count, const struct bin_misses *misses)
{
	double sum = 0;
	for (uint32_t i = 0; i < count; i++)
		sum += (double)rows[i].share * (double)misses->at[rows[i].bin];
	return sum;
}

/* `returning`: lines written by another thread since; `held`: the share of them still in its caches. */
static void take_transfers(
	struct statstack_odds *odds, const struct scratch *scratch, double returning, double held)
{
	unsigned first_shared = 0;
	while (first_shared < scratch->level_count &&
		(first_shared == 0 || !scratch->levels[first_shared].is_shared))
		first_shared++;
	double beyond_private = odds->beyond[first_shared - 1];
	odds->transfer = returning * held < beyond_private ? returning * held : beyond_private;
	if (first_shared == scratch->level_count)
		first_shared--; /* what comes from another core's last level does not come from memory */
	for (unsigned i = first_shared; i < scratch->level_count; i++)
		if (odds->beyond[i] > beyond_private - odds->transfer)
			odds->beyond[i] = beyond_private - odds->transfer;
}

/* Of a shared level: lines that another thread has had since, where that uses another cache of this level. */
static double with_foreign(const struct level *level, double beyond, double returning)
{
	if (!level->is_shared || returning <= 0)
		return beyond;
	double sum = beyond + returning * level->foreign;
	return sum < 1 ? sum : 1;
}

/* Of a line that came with its page, which was touched last so far away. The class may have no line of its own so far. */
static double misses_after(const struct level *level, unsigned bin)
{
	return level->curve->at[bin] >= level->cache.lines ? 1 : (double)level->data.at[bin];
}

/* Over the finite distances between touches of a page. */
static double misses_of_pages(const struct level *level, const struct reuse_row *rows,
	uint32_t count, const struct class_reuse *class)
{
	double sum = 0;
	for (uint32_t i = 0; i < count; i++)
		if (rows[i].bin < REUSE_INFINITE)
			sum += (double)rows[i].share * misses_after(level, rows[i].bin);
	for (unsigned bin = 0; count == 0 && bin < REUSE_INFINITE; bin++)
		sum += class->share[PROFILE_PAGE][bin] * misses_after(level, bin);
	return sum;
}

/*
 * Of the program's first touches of lines, those that miss this level no more than the page's other lines do: the kernel has
 * just written the page that is touched for the first time, and else it is there since that was so. `pages`: rows of
 * distances between touches of a page.
 */
static double written_by_kernel(const struct scratch *scratch, const struct level *level,
	double first_touches, const struct reuse_row *pages, uint32_t count,
	const struct class_reuse *class)
{
	return scratch->has_kernel && first_touches > 0
		       ? first_touches * (1 - misses_of_pages(level, pages, count, class))
		       : 0;
}

/* What goes beyond a level has gone beyond those before. */
static void keep_order(double *beyond, unsigned count)
{
	for (unsigned i = 1; i < count; i++)
		if (beyond[i] > beyond[i - 1])
			beyond[i] = beyond[i - 1];
}

/* Of an instruction none of whose accesses was watched for its page, as of its class. A single TLB is both levels. */
static void ask_tlbs(struct statstack_odds *ret, const struct scratch *scratch,
	const struct reuse_row *rows, uint32_t count, const struct class_reuse *class)
{
	for (unsigned i = 0; i < scratch->tlb_count; i++)
		ret->untranslated[i] =
			count > 0 ? sum_rows(rows, count, &scratch->untranslated[i])
				  : sum_bins(class->share[PROFILE_PAGE], &scratch->untranslated[i]);
	if (scratch->tlb_count == 1 || ret->untranslated[1] > ret->untranslated[0])
		ret->untranslated[1] = ret->untranslated[0];
}

/*
 * Of the sets a walk by steps of 2^k lines uses one in 2^k, and its own lines fall into these alone: evenly, or, where the kernel's
 * pages are in between, as in a cache of as many sets. Others' lines, and its own of before it came to these sets, fall into any.
 */
static void walk_misses(struct level *level, const struct walk *walk, unsigned k, bool has_kernel,
	struct bin_misses *ret)
{
	const struct cache_sets *cache = &level->cache;
	bool is_random = !cache->is_lru || (has_kernel && cache->sets > PAGE_SETS);
	unsigned bits = is_random && k > PAGE_BITS ? PAGE_BITS : k;
	double sets = cache->sets / (double)(UINT64_C(1) << bits);
	if (sets < 1)
		sets = 1;
	double own[REUSE_BINS], rest[REUSE_BINS];
	for (unsigned bin = 0; bin < REUSE_BINS; bin++) {
		double all = level->curve->at[bin];
		own[bin] =
			walk->lines[bin] < walk->together[k] ? walk->lines[bin] : walk->together[k];
		if (own[bin] > all)
			own[bin] = all;
		rest[bin] = all - own[bin];
	}
	ret->at[REUSE_INFINITE] = 1;
	if (!is_random) {
		cache_sets_misses_walking(
			cache, level->curve->population, sets, own, rest, REUSE_INFINITE, ret->at);
		return;
	}
	struct lines_curve curve = { .population = cache->lines * REUSE_BINS };
	cache_sets_init(&level->parts[bits], sets * cache->ways, cache->ways, cache->is_lru);
	for (unsigned bin = 0; bin < REUSE_BINS; bin++)
		curve.at[bin] = own[bin] + rest[bin] * sets / cache->sets;
	misses_fill(ret, &level->parts[bits], &curve);
}

/* Of an instruction's accesses, those that miss a private level. */
static double misses_of_code(const struct statstack *statstack, struct level *level,
	bool has_kernel, const struct code_reuse *code, const struct reuse_row *rows)
{
	if (code->walk == 0 || level->cache.sets <= 1 || level->is_invaded)
		return sum_rows(rows, code->private_rows, &level->data);
	const struct walk *walk = &statstack->walks[code->walk - 1];
	struct bin_misses sum = { 0 };
	for (unsigned k = 0; k < WALK_KINDS; k++) {
		const double close = walk->share[WALK_CLOSE][k], far = walk->share[WALK_FAR][k];
		if (close <= 0 && far <= 0)
			continue;
		struct bin_misses misses = level->data;
		if (k > 0)
			walk_misses(level, walk, k, has_kernel, &misses);
		for (unsigned bin = 0; bin < REUSE_BINS; bin++)
			sum.at[bin] += (float)(walk->lines[bin] < WALK_NEAR ? close : far) *
				       misses.at[bin];
	}
	return sum_rows(rows, code->private_rows, &sum);
}

static void ask_code(const struct statstack *statstack, struct statstack_odds *ret,
	struct scratch *scratch, const struct class_reuse *class, const struct code_reuse *code,
	const struct reuse_row *rows)
{
	*ret = (struct statstack_odds){ 0 };
	const struct reuse_row *global = rows + code->private_rows;
	double returning = code->infinite_private - code->infinite_global;
	for (unsigned i = 0; i < scratch->level_count; i++) {
		struct level *level = &scratch->levels[i];
		if (!level->is_shared)
			ret->beyond[i] =
				misses_of_code(statstack, level, scratch->has_kernel, code, rows);
		else
			ret->beyond[i] = with_foreign(level,
				sum_rows(global, code->global_rows, &level->data), returning);
		ret->beyond[i] -= written_by_kernel(scratch, level, code->infinite_global,
			global + code->global_rows, code->page_rows, class);
		if (ret->beyond[i] < 0)
			ret->beyond[i] = 0;
	}
	keep_order(ret->beyond, scratch->level_count);
	ask_tlbs(ret, scratch, global + code->global_rows, code->page_rows, class);
	double again = 1 - code->infinite_global;
	if (!scratch->has_others || scratch->level_count == 0 || returning <= 0 || again <= 0)
		return;
	double gone = sum_rows(global, code->global_rows, &scratch->held) - code->infinite_global;
	take_transfers(ret, scratch, returning * class->written, 1 - gone / again);
}

static void add_odds(struct statstack_odds *sum, const struct statstack_odds *odds, double weight)
{
	for (unsigned i = 0; i < PROCESSOR_LEVELS_MAX; i++)
		sum->beyond[i] += weight * odds->beyond[i];
	sum->transfer += weight * odds->transfer;
	for (unsigned i = 0; i < STATSTACK_TLBS; i++)
		sum->untranslated[i] += weight * odds->untranslated[i];
}

static void scale_odds(struct statstack_odds *odds, double factor)
{
	for (unsigned i = 0; i < PROCESSOR_LEVELS_MAX; i++)
		odds->beyond[i] = odds->beyond[i] * factor < 1 ? odds->beyond[i] * factor : 1;
	odds->transfer = odds->transfer * factor < 1 ? odds->transfer * factor : 1;
	for (unsigned i = 0; i < STATSTACK_TLBS; i++)
		odds->untranslated[i] =
			odds->untranslated[i] * factor < 1 ? odds->untranslated[i] * factor : 1;
}

/* Of a class without rows of its own: from its share of the thread's. */
static void ask_without_codes(
	struct statstack_odds *ret, const struct scratch *scratch, const struct class_reuse *class)
{
	for (unsigned i = 0; i < scratch->level_count; i++) {
		const struct level *level = &scratch->levels[i];
		double returning = class->share[PROFILE_PRIVATE][REUSE_INFINITE] -
				   class->share[PROFILE_GLOBAL][REUSE_INFINITE];
		ret->beyond[i] =
			!level->is_shared
				? sum_bins(class->share[PROFILE_PRIVATE], &level->data)
				: with_foreign(level,
					  sum_bins(class->share[PROFILE_GLOBAL], &level->data),
					  returning);
		ret->beyond[i] -= written_by_kernel(scratch, level,
			class->share[PROFILE_GLOBAL][REUSE_INFINITE], NULL, 0, class);
		if (ret->beyond[i] < 0)
			ret->beyond[i] = 0;
	}
	keep_order(ret->beyond, scratch->level_count);
	ask_tlbs(ret, scratch, NULL, 0, class);
}

static void ask_fetch(
	double *beyond, const struct scratch *scratch, const struct class_reuse *class)
{
	const double *share = class->share[PROFILE_FETCH];
	for (unsigned i = 0; i < PROCESSOR_LEVELS_MAX; i++)
		beyond[i] = 0;
	beyond[0] = sum_bins(share, &scratch->fetch);
	for (unsigned i = 1; i < scratch->level_count; i++)
		beyond[i] = sum_bins(share, &scratch->levels[i].fetch);
	keep_order(beyond, scratch->level_count);
}

/* A target is as far away as its line of instructions. */
static void ask_targets(
	double *beyond, const struct scratch *scratch, const struct class_reuse *class)
{
	for (unsigned i = 0; i < scratch->target_levels; i++) {
		struct bin_misses misses;
		misses_fill(&misses, &scratch->targets[i], &class->curves[CURVE_FETCH]);
		beyond[i] = sum_bins(class->share[PROFILE_FETCH], &misses);
	}
	keep_order(beyond, scratch->target_levels);
}

static void ask_class(const struct statstack *statstack, struct scratch *scratch,
	const struct class_reuse *class, struct statstack_answer *answer)
{
	struct statstack_class *ret = &answer->classes[class - statstack->classes];
	double access_ns = answer->access_ns[class - statstack->classes];
	*ret = (struct statstack_class){ 0 };
	for (unsigned i = 0; i < scratch->level_count; i++)
		level_misses(&scratch->levels[i], class, access_ns, statstack->threads);
	misses_fill(&scratch->fetch, &scratch->instruction, &class->curves[CURVE_FETCH]);
	for (unsigned i = 0; i < scratch->tlb_count; i++)
		misses_fill(
			&scratch->untranslated[i], &scratch->tlbs[i], &class->curves[CURVE_PAGES]);
	if (scratch->has_others)
		misses_fill(&scratch->held, &scratch->holders, &class->curves[CURVE_DATA_GLOBAL]);
	ask_fetch(ret->fetch_beyond, scratch, class);
	ask_targets(ret->targets_beyond, scratch, class);
	double accesses = 0, loads = 0;
	for (size_t i = class->first_code; i < class->first_code + class->code_count; i++) {
		const struct code_reuse *code = &statstack->codes[i];
		struct statstack_odds *odds = &answer->codes[i];
		ask_code(statstack, odds, scratch, class, code, &statstack->rows[code->first_row]);
		add_odds(&ret->access, odds, code->accesses);
		accesses += code->accesses;
		if (!code->is_load)
			continue;
		add_odds(&ret->load, odds, code->accesses);
		loads += code->accesses;
	}
	if (accesses > 0)
		scale_odds(&ret->access, 1 / accesses);
	else
		ask_without_codes(&ret->access, scratch, class);
	if (loads > 0)
		scale_odds(&ret->load, 1 / loads);
	else
		ret->load = ret->access;
}

void statstack_ask(const struct statstack *statstack, const struct processor *processor,
	struct statstack_answer *answer)
{
	struct scratch *scratch = answer->scratch;
	scratch_init(scratch, processor, statstack);
	for (size_t i = 0; i < statstack->class_count; i++)
		ask_class(statstack, scratch, &statstack->classes[i], answer);
}
