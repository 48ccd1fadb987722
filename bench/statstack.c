/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * statstack FILE...: miss ratios of data caches of five sizes, as CSV. Of a full trace (full_trace.h): as simulated,
 * access by access with exact LRU and coherence, and as StatStack has them from all of its reuse distances; of a profile:
 * as StatStack has them from what was sampled. bench/statstack, the script, makes these and compares.
 *
 *	from,level,kib,accesses,beyond	from: exact, unsampled, profile; those that go beyond the level, of all
 *
 * An instruction that reads and writes a line accesses it once.
 */
#include "base/mem.h"
#include "bench/refsim/exact_reuse.h"
#include "bench/refsim/refcache.h"
#include "interleave.h"
#include "measured.h"
#include "uarch/statstack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZES = 5, LEVELS = 3, KIB = 1024 };

/* From less than the smallest of today to the kernels' whole data. */
static const uint32_t sizes_kib[SIZES][LEVELS] = {
	{ 4, 32, 256 },
	{ 8, 64, 512 },
	{ 16, 128, 1024 },
	{ 32, 256, 2048 },
	{ 64, 512, 4096 },
};

static struct processor processor_of(const uint32_t kib[LEVELS], uint32_t cores)
{
	struct processor processor = { .cores = cores,
		.level_count = LEVELS,
		.instruction = { .bytes = 32 * KIB, .ways = 8, .shared_by = 1 } };
	for (int level = 0; level < LEVELS; level++)
		processor.levels[level] = (struct cache){ .bytes = (uint64_t)kib[level] * KIB,
			.ways = level < LEVELS - 1 ? 8 : 16,
			.shared_by = level < LEVELS - 1 ? 1 : cores };
	return processor;
}

static void print_rows(
	const char *from, const uint32_t kib[LEVELS], double accesses, const double beyond[LEVELS])
{
	for (int level = 0; level < LEVELS; level++)
		printf("%s,L%d,%u,%.0f,%.0f\n", from, level + 1, kib[level], accesses,
			beyond[level]);
}

static double accesses_of(const struct profile *profile, size_t class)
{
	double accesses = 0;
	for (size_t i = 0; i < profile->reuse_count; i++)
		if (profile->reuse[i].class == class && profile->reuse[i].scope == PROFILE_PRIVATE)
			accesses += profile->reuse[i].count;
	return accesses;
}

static void ask(const struct statstack *statstack, const struct profile *profile,
	struct statstack_answer *answer, uint32_t cores, const char *from)
{
	for (int size = 0; size < SIZES; size++) {
		struct processor processor = processor_of(sizes_kib[size], cores);
		double accesses = 0, beyond[LEVELS] = { 0 };
		statstack_ask(statstack, &processor, answer);
		for (size_t i = 0; i < profile->class_count; i++) {
			double of_class = accesses_of(profile, i);
			accesses += of_class;
			for (int level = 0; level < LEVELS; level++)
				beyond[level] += of_class * answer->classes[i].access.beyond[level];
		}
		print_rows(from, sizes_kib[size], accesses, beyond);
	}
}

static int ask_all(const struct profile *profile, uint32_t cores, const char *from, struct err *err)
{
	AUTO(statstack) struct statstack *statstack = NULL;
	AUTO_RELEASE(statstack_answer) struct statstack_answer answer = { 0 };
	int status = statstack_new(profile, &statstack, err);
	if (status == 0)
		status = statstack_answer_init(&answer, statstack);
	if (status < 0)
		return status;
	ask(statstack, profile, &answer, cores, from);
	return 0;
}

/* What a trace goes through. */
struct sinks {
	struct exact_reuse *reuse;
	struct refcache *caches[SIZES];
	uint32_t threads;
};

static void sinks_release(struct sinks *sinks)
{
	exact_reuse_free(sinks->reuse);
	for (int size = 0; size < SIZES; size++)
		refcache_free(sinks->caches[size]);
}

static int sinks_init(struct sinks *sinks, uint32_t threads, uint32_t codes, struct err *err)
{
	sinks->threads = threads;
	int status = exact_reuse_new(threads, threads, codes, &sinks->reuse);
	for (int size = 0; size < SIZES && status == 0; size++) {
		struct processor processor = processor_of(sizes_kib[size], threads);
		status = refcache_new(&processor, threads, &sinks->caches[size], err);
	}
	for (uint32_t i = 0; i < threads && status == 0; i++)
		exact_reuse_enter(sinks->reuse, i, i);
	return status;
}

static int access_line(
	struct sinks *sinks, uint32_t thread, uint32_t code, uint64_t address, bool is_write)
{
	for (int size = 0; size < SIZES; size++)
		(void)refcache_access(sinks->caches[size], thread, address,
			is_write ? REFCACHE_WRITE : REFCACHE_READ);
	return exact_reuse_access(sinks->reuse, thread, code, address, is_write);
}

static int play_block(struct sinks *sinks, const struct full_trace_cursor *cursor, uint32_t thread,
	const struct code *codes)
{
	int status = 0;
	size_t extra = 0;
	for (size_t i = 0; i < cursor->count && status == 0; i++) {
		const struct micro_op *op = &cursor->ops[i];
		bool is_write = codes[op->code].flags & CODE_STORE;
		if (op->address)
			status = access_line(sinks, thread, op->code, op->address, is_write);
		for (; extra < cursor->extra_count && cursor->extra[extra].op == i && status == 0;
			extra++)
			status = access_line(
				sinks, thread, op->code, cursor->extra[extra].address, is_write);
	}
	return status;
}

static void print_exact(const struct sinks *sinks)
{
	for (int size = 0; size < SIZES; size++) {
		double accesses = 0, found[LEVELS] = { 0 };
		for (uint32_t thread = 0; thread < sinks->threads; thread++) {
			struct refcache_counts counts = refcache_data(sinks->caches[size], thread);
			accesses += (double)counts.accesses;
			for (int level = 0; level < LEVELS; level++)
				found[level] += (double)counts.found[level];
		}
		double inside = 0, beyond[LEVELS];
		for (int level = 0; level < LEVELS; level++) {
			inside += found[level];
			beyond[level] = accesses - inside;
		}
		print_rows("exact", sizes_kib[size], accesses, beyond);
	}
}

static int do_trace(const struct full_trace *trace, struct err *err)
{
	AUTO(interleave) struct interleave *interleave = NULL;
	AUTO_RELEASE(sinks) struct sinks sinks = { 0 };
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	size_t code_count = 0;
	const struct code *codes = full_trace_codes(trace, &code_count);
	uint32_t threads = (uint32_t)full_trace_threads(trace), thread = 0;
	int status = sinks_init(&sinks, threads, (uint32_t)code_count, err);
	if (status == 0)
		status = interleave_new(trace, &interleave);
	const struct full_trace_cursor *cursor = NULL;
	while (status == 0 && (cursor = interleave_next(interleave, &thread)) != NULL)
		status = play_block(&sinks, cursor, thread, codes);
	if (status == 0)
		status = exact_reuse_profile(sinks.reuse, &profile);
	if (status < 0)
		return status;
	print_exact(&sinks);
	return ask_all(&profile, threads, "unsampled", err);
}

static int do_profile(const struct profile *profile, struct err *err)
{
	return ask_all(profile, (uint32_t)profile->thread_count, "profile", err);
}

int main(int argc, char **argv)
{
	return measured_each(
		argc, argv, &(struct measured_readers){ "statstack", do_trace, do_profile });
}
