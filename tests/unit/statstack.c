/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Miss ratios from reuse distances against caches that are simulated access by access, on streams whose
 * character is known. Each within three points; most are within one (STATSTACK_SHOW=1 prints them).
 */
#include "cmocka_all.h"
#include "base/rng.h"
#include "bench/refsim/exact_reuse.h"
#include "bench/refsim/refcache.h"
#include "uarch/cache_sets.h"
#include "uarch/statstack.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KIB = 1024, LINE = PROFILE_LINE_BYTES };

/* 32 KiB in 8 ways and 256 KiB in 8 for each core, 2 MiB in 16 for all. */
static const struct processor machine = {
	.cores = 4,
	.instruction = { .bytes = 32 * KIB, .ways = 8, .shared_by = 1 },
	.levels = { { .bytes = 32 * KIB, .ways = 8, .shared_by = 1 },
		{ .bytes = 256 * KIB, .ways = 8, .shared_by = 1 },
		{ .bytes = 2048 * KIB, .ways = 16, .shared_by = 4 } },
	.level_count = 3,
};

/* A stream of accesses goes to the exact profile and through the simulated caches. */
struct stream {
	const struct processor *processor;
	struct exact_reuse *reuse;
	struct refcache *caches;
	struct profile profile;
	struct statstack *statstack;
	struct statstack_answer answer;
	uint32_t threads;
	double tolerance;
	struct micro_op *
		ops; /* of one in TRACED times TRACE accesses so many are kept, as micro-traces of class 0 */
	size_t accesses;
};

enum { TRACE = 300, TRACED = 20, TRACES_MAX = 2000 };

static void begin(struct stream *stream, uint32_t threads, uint32_t classes, uint32_t codes)
{
	if (!stream->processor)
		stream->processor = &machine;
	stream->threads = threads;
	if (stream->tolerance <= 0)
		stream->tolerance = 0.03;
	assert_int_equal(exact_reuse_new(threads, classes, codes, &stream->reuse), 0);
	assert_int_equal(refcache_new(stream->processor, threads, &stream->caches, NULL), 0);
}

static struct refcache_found touch(
	struct stream *stream, uint32_t thread, uint32_t code, uint64_t address, bool is_write)
{
	assert_int_equal(exact_reuse_access(stream->reuse, thread, code, address, is_write), 0);
	size_t at = stream->accesses / TRACE;
	if (stream->ops && at % TRACED == 0 && at / TRACED < TRACES_MAX)
		stream->ops[at / TRACED * TRACE + stream->accesses % TRACE] =
			(struct micro_op){ .address = address, .code = code };
	stream->accesses++;
	return refcache_access(
		stream->caches, thread, address, is_write ? REFCACHE_WRITE : REFCACHE_READ);
}

/* The profile's from now on. */
static void give_traces(struct stream *stream)
{
	struct profile *profile = &stream->profile;
	profile->micro_count = stream->accesses / TRACE / TRACED;
	profile->micro_count =
		profile->micro_count < TRACES_MAX ? profile->micro_count : TRACES_MAX;
	profile->micro = calloc(profile->micro_count + 1, sizeof(*profile->micro));
	assert_non_null(profile->micro);
	profile->micro_ops = stream->ops;
	for (size_t i = 0; i < profile->micro_count; i++)
		profile->micro[i] = (struct micro_trace){
			.count = TRACE, .ops = &stream->ops[i * TRACE], .weight = TRACE * TRACED
		};
}

static void answer(struct stream *stream)
{
	struct err err;
	assert_int_equal(exact_reuse_profile(stream->reuse, &stream->profile), 0);
	if (stream->ops)
		give_traces(stream);
	assert_int_equal(statstack_new(&stream->profile, &stream->statstack, &err), 0);
	assert_int_equal(statstack_answer_init(&stream->answer, stream->statstack), 0);
	statstack_ask(stream->statstack, stream->processor, &stream->answer);
}

static void end(struct stream *stream)
{
	statstack_answer_release(&stream->answer);
	statstack_free(stream->statstack);
	profile_release(&stream->profile);
	refcache_free(stream->caches);
	exact_reuse_free(stream->reuse);
}

static void assert_near(double is, double should, double within, const char *what)
{
	if (fabs(is - should) > within)
		fail_msg("%s: %.4f instead of %.4f", what, is, should);
}

/* Each thread's accesses beyond each level, over all of its classes, as simulated; and transfers. */
static void compare(const struct stream *stream, const char *name)
{
	for (uint32_t thread = 0; thread < stream->threads; thread++) {
		struct refcache_counts counts = refcache_data(stream->caches, thread);
		double beyond[PROCESSOR_LEVELS_MAX] = { 0 }, transfer = 0, accesses = 0;
		for (size_t i = 0; i < stream->profile.class_count; i++) {
			const struct profile_class *class = &stream->profile.classes[i];
			if (class->thread != thread)
				continue;
			double weight = (double)(class->loads + class->stores);
			const struct statstack_odds *odds = &stream->answer.classes[i].access;
			for (unsigned l = 0; l < stream->processor->level_count; l++)
				beyond[l] += weight * odds->beyond[l];
			transfer += weight * odds->transfer;
			accesses += weight;
		}
		uint64_t hits = 0;
		for (unsigned l = 0; l < stream->processor->level_count; l++) {
			char what[100];
			(void)snprintf(
				what, sizeof(what), "%s, thread %u, level %u", name, thread, l);
			hits += counts.found[l];
			double simulated = 1 - (double)hits / (double)counts.accesses;
			if (getenv("STATSTACK_SHOW"))
				print_message("%s: %.4f simulated %.4f\n", what,
					beyond[l] / accesses, simulated);
			assert_near(beyond[l] / accesses, simulated, stream->tolerance, what);
		}
		if (getenv("STATSTACK_SHOW"))
			print_message("%s transfers: %.4f simulated %.4f\n", name,
				transfer / accesses,
				(double)counts.transfers / (double)counts.accesses);
		assert_near(transfer / accesses, (double)counts.transfers / (double)counts.accesses,
			0.03, name);
	}
}

static void a_loop_misses_where_it_does_not_fit(void **state)
{
	(void)state;
	static const unsigned lines[] = { 300, 1000, 6000, 60000 };
	for (size_t size = 0; size < 4; size++) {
		struct stream stream = { 0 };
		begin(&stream, 1, 1, 1);
		exact_reuse_enter(stream.reuse, 0, 0);
		for (unsigned i = 0; i < 60 * lines[size]; i++)
			touch(&stream, 0, 0, (uint64_t)(i % lines[size]) * LINE, false);
		answer(&stream);
		compare(&stream, "loop");
		end(&stream);
	}
}

static void random_accesses_hit_as_much_as_fits(void **state)
{
	(void)state;
	static const unsigned lines[] = { 600, 2000, 20000, 50000 };
	for (size_t size = 0; size < 4; size++) {
		struct stream stream = { 0 };
		struct rng rng;
		rng_init(&rng, size);
		begin(&stream, 1, 1, 1);
		exact_reuse_enter(stream.reuse, 0, 0);
		for (unsigned i = 0; i < 300000; i++)
			touch(&stream, 0, 0, rng_below(&rng, lines[size]) * LINE, false);
		answer(&stream);
		compare(&stream, "random");
		double first = 1 - 512.0 / lines[size];
		assert_near(stream.answer.classes[0].access.beyond[0], first > 0 ? first : 0, 0.02,
			"closed form");
		end(&stream);
	}
}

/*
 * With N lines at random the next access to one is later than after r others with the probability e^(-r / N). An LRU cache
 * of C lines, of which others replace half of those left alone within L accesses, keeps a line for the T accesses in
 * which N (1 - e^(-T / N)) of the program and C T / L of others have come.
 */
static void lines_with_a_lifetime_are_gone_after_it(void **state)
{
	(void)state;
	enum { LINES = 20000, LIFETIME = 10000, CAPACITY = 2048 * KIB / LINE };
	double kept = 0;
	while (LINES * (1 - exp(-kept / LINES)) + CAPACITY * kept / LIFETIME < CAPACITY)
		kept++;
	struct processor processor = machine;
	struct stream stream = { .processor = &processor };
	struct rng rng;
	rng_init(&rng, 1);
	begin(&stream, 1, 1, 1);
	exact_reuse_enter(stream.reuse, 0, 0);
	for (unsigned i = 0; i < 300000; i++)
		touch(&stream, 0, 0, rng_below(&rng, LINES) * LINE, false);
	answer(&stream);
	const double *beyond = stream.answer.classes[0].access.beyond;
	double before = beyond[2];
	processor.levels[2].lifetime_ns = 3 * LIFETIME;
	statstack_ask(stream.statstack, stream.processor, &stream.answer);
	assert_true(beyond[2] == before); /* how fast the program is, is not known */
	stream.answer.access_ns[0] = 3;
	statstack_ask(stream.statstack, stream.processor, &stream.answer);
	assert_near(beyond[2], exp(-kept / LINES), 0.03, "lifetime");
	/* Where any line makes room it is the mean over distances r, of the chance e^(-r / N) / N each. */
	struct cache_sets cache = { 0 };
	cache_sets_init(&cache, CAPACITY, processor.levels[2].ways, false);
	double missed = 0;
	for (unsigned r = 0; r < 30 * LINES; r++)
		missed += exp(-(double)r / LINES) / LINES *
			  cache_sets_miss_worn(&cache, LINES * (1 - exp(-(double)r / LINES)),
				  (double)r / LIFETIME);
	processor.levels[2].replacement = REPLACEMENT_RANDOM;
	statstack_ask(stream.statstack, stream.processor, &stream.answer);
	assert_near(beyond[2], missed, 0.03, "a lifetime without LRU");
	processor.levels[2].replacement = REPLACEMENT_LRU;
	/* Nobody who comes as seldom is felt, and all is gone where they are fast. */
	processor.levels[2].lifetime_ns = 3e6 * LIFETIME;
	statstack_ask(stream.statstack, stream.processor, &stream.answer);
	assert_near(beyond[2], before, 0.001, "a long lifetime");
	processor.levels[2].lifetime_ns = 3e-3 * LIFETIME;
	statstack_ask(stream.statstack, stream.processor, &stream.answer);
	assert_near(beyond[2], beyond[1], 0.001, "a short lifetime");
	end(&stream);
}

/* A naive product of matrices: one operand by rows, one by columns; three instructions. */
static void a_matrix_product_by_instruction(void **state)
{
	(void)state;
	enum { N = 165 }; /* columns go through all sets */
	struct stream stream = { 0 };
	uint64_t missed[3] = { 0 }, made[3] = { 0 };
	begin(&stream, 1, 1, 3);
	exact_reuse_enter(stream.reuse, 0, 0);
	for (unsigned i = 0; i < N; i++)
		for (unsigned j = 0; j < N; j++)
			for (unsigned k = 0; k <= N; k++) {
				uint32_t code = k == N ? 2 : k % 2;
				uint64_t at = code == 2   ? 2 * N * N + i * N + j
					      : code == 0 ? i * N + k
							  : N * N + (uint64_t)k * N + j;
				made[code]++;
				missed[code] +=
					touch(&stream, 0, code, at * 8, code == 2).level > 0;
			}
	answer(&stream);
	compare(&stream, "product");
	for (uint32_t code = 0; code < 3; code++) {
		ptrdiff_t at = statstack_find(stream.statstack, 0, code);
		assert_true(at >= 0);
		assert_near(stream.answer.codes[at].beyond[0],
			(double)missed[code] / (double)made[code], 0.04, "of one instruction");
	}
	assert_int_equal(statstack_find(stream.statstack, 0, 3), -ENOENT);
	end(&stream);
}

/* A matrix is copied column by column; its rows are `row` numbers apart. */
static void walk_columns(unsigned side, unsigned row, double tolerance, const char *name)
{
	enum { ROUNDS = 3, TO = 1 << 24 };
	struct stream stream = { .tolerance = tolerance,
		.ops = calloc((size_t)TRACE * TRACES_MAX, sizeof(*stream.ops)) };
	assert_non_null(stream.ops);
	begin(&stream, 1, 1, 2);
	exact_reuse_enter(stream.reuse, 0, 0);
	for (unsigned i = 0; i < ROUNDS * side; i++)
		for (unsigned k = 0; k < side; k++) {
			(void)touch(&stream, 0, 0, ((uint64_t)k * row + i % side) * 8, false);
			(void)touch(
				&stream, 0, 1, TO + ((uint64_t)(i % side) * side + k) * 8, true);
		}
	answer(&stream);
	compare(&stream, name);
	end(&stream);
}

/* All lines of a column are in one or two sets of the first level, and in few of the second. */
static void columns_of_rows_a_power_of_two_apart_use_few_sets(void **state)
{
	(void)state;
	walk_columns(256, 256, 0.01, "256 rows");
	walk_columns(400, 512, 0.02, "400 rows");
	walk_columns(256, 264, 0.03, "256 rows that are spread");
}

/* Few lines, which are far apart in few sets, again and again, then many side by side: the former stay. */
static void who_goes_around_among_a_few_lines_is_not_far_away(void **state)
{
	(void)state;
	enum { FEW = 4, MANY = 400, ROUNDS = 100, TURNS = 400, APART = 64 };
	struct stream stream = { .tolerance = 0.02,
		.ops = calloc((size_t)TRACE * TRACES_MAX, sizeof(*stream.ops)) };
	assert_non_null(stream.ops);
	begin(&stream, 1, 1, 2);
	exact_reuse_enter(stream.reuse, 0, 0);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < TURNS * FEW; i++)
			(void)touch(&stream, 0, 0, i % FEW * APART * LINE, false);
		for (uint64_t i = 0; i < 2 * MANY; i++)
			(void)touch(&stream, 0, 0, i % MANY * LINE, false);
	}
	answer(&stream);
	compare(&stream, "few lines, then many");
	end(&stream);
}

/* A long stretch fills a table; then short stretches of two kinds alternate, one in the first level, one all over. */
static void stretches_are_filled_by_what_runs_between(void **state)
{
	(void)state;
	enum { LINES = 3000 };
	struct stream stream = { 0 };
	struct rng rng;
	rng_init(&rng, 1);
	begin(&stream, 1, 3, 1);
	exact_reuse_enter(stream.reuse, 0, 0);
	for (unsigned i = 0; i < 300000; i++)
		touch(&stream, 0, 0, UINT64_C(1) << 30 | (i * 8), true);
	for (unsigned round = 0; round < 1000; round++) {
		exact_reuse_enter(stream.reuse, 0, 1);
		for (unsigned i = 0; i < 200; i++)
			touch(&stream, 0, 0, rng_below(&rng, 100) * LINE, false);
		exact_reuse_enter(stream.reuse, 0, 2);
		for (unsigned i = 0; i < 300; i++)
			touch(&stream, 0, 0, (1000 + rng_below(&rng, LINES)) * LINE, false);
	}
	answer(&stream);
	compare(&stream, "stretches");
	end(&stream);
}

static void threads_share_the_last_level(void **state)
{
	(void)state;
	for (int is_same = 0; is_same < 2; is_same++) {
		struct stream stream = { 0 };
		struct rng rng;
		rng_init(&rng, 3);
		begin(&stream, 2, 2, 1);
		for (uint32_t thread = 0; thread < 2; thread++)
			exact_reuse_enter(stream.reuse, thread, thread);
		for (unsigned i = 0; i < 800000; i++) {
			uint64_t line = rng_below(&rng, 30000);
			uint32_t thread = i % 2;
			touch(&stream, thread, 0, (line + (is_same ? 0 : thread * 100000)) * LINE,
				false);
		}
		answer(&stream);
		compare(&stream, is_same ? "the same lines" : "lines of their own");
		end(&stream);
	}
}

/* Four threads on two clusters: half of the lines are everybody's, half each one's own. */
static void clusters_share_a_level(void **state)
{
	(void)state;
	struct processor clusters = machine;
	struct rng rng;
	rng_init(&rng, 5);
	clusters.levels[1].shared_by = 2;
	for (int common = 0; common <= 2; common++) {
		/* Where half is common it is 6.7 points off. */
		struct stream stream = { .processor = &clusters, .tolerance = 0.075 };
		begin(&stream, 4, 4, 1);
		for (uint32_t thread = 0; thread < 4; thread++)
			exact_reuse_enter(stream.reuse, thread, thread);
		for (unsigned i = 0; i < 600000; i++) {
			uint32_t thread = i % 4;
			bool is_common = (int)rng_below(&rng, 2) < common;
			uint64_t line =
				rng_below(&rng, 3000) + (is_common ? 0 : 10000 * (thread + 1));
			touch(&stream, thread, 0, line * LINE, false);
		}
		answer(&stream);
		compare(&stream, "clusters");
		end(&stream);
	}
}

/* One writes a ring of 200 lines, the other reads it; beside it each works on its own. */
static void written_lines_come_from_the_other_core(void **state)
{
	(void)state;
	struct stream stream = { 0 };
	struct rng rng;
	rng_init(&rng, 4);
	begin(&stream, 2, 2, 2);
	for (uint32_t thread = 0; thread < 2; thread++)
		exact_reuse_enter(stream.reuse, thread, thread);
	for (unsigned i = 0; i < 400000; i++) {
		uint32_t thread = i % 2;
		touch(&stream, thread, 0, (i / 2 % 200) * LINE, thread == 0);
		for (unsigned own = 0; own < 4; own++)
			touch(&stream, thread, 1,
				(1000 * (thread + 1) + rng_below(&rng, 400)) * LINE, own == 0);
	}
	answer(&stream);
	compare(&stream, "ring");
	assert_true(stream.answer.classes[1].access.transfer > 0.15);
	/* Where each core has a last level of its own, too: not from memory. */
	struct processor apart = *stream.processor;
	apart.levels[2].shared_by = 1;
	double transfer = stream.answer.classes[1].access.transfer;
	statstack_ask(stream.statstack, &apart, &stream.answer);
	const struct statstack_odds *odds = &stream.answer.classes[1].access;
	assert_near(odds->transfer, transfer, 0.01, "transfers between last levels");
	assert_near(odds->beyond[2], 0, 0.01, "what is in another core's last level");
	end(&stream);
}

static void code_that_does_not_fit_misses(void **state)
{
	(void)state;
	struct stream stream = { 0 };
	begin(&stream, 1, 1, 1);
	exact_reuse_enter(stream.reuse, 0, 0);
	for (unsigned round = 0; round < 100; round++)
		for (uint64_t at = 0; at < 100 * KIB; at += 4) {
			assert_int_equal(exact_reuse_fetch(stream.reuse, 0, at), 0);
			if (at % LINE == 0)
				(void)refcache_access(stream.caches, 0, at, REFCACHE_FETCH);
		}
	answer(&stream);
	struct refcache_counts counts = refcache_fetches(stream.caches, 0);
	double first = 1 - (double)counts.found[0] / (double)counts.accesses;
	double second = first - (double)counts.found[1] / (double)counts.accesses;
	assert_near(stream.answer.classes[0].fetch_beyond[0], first, 0.02, "first level");
	assert_near(stream.answer.classes[0].fetch_beyond[1], second, 0.02, "second level");
	end(&stream);
}

/* One thread whose one class executes one instruction. */
static struct profile one_instruction(struct profile_thread *thread, struct profile_class *class,
	struct code *code, struct profile_reuse *rows, size_t row_count)
{
	return (struct profile){ .threads = thread,
		.thread_count = 1,
		.classes = class,
		.class_count = 1,
		.codes = code,
		.code_count = 1,
		.reuse = rows,
		.reuse_count = row_count };
}

/* N pages at random: of E entries, 1 - E / N are not there. */
static void pages_at_random_are_translated_as_far_as_there_are_entries(void **state)
{
	(void)state;
	enum { PAGES = 1024, ACCESSES = 1 << 20 };
	struct profile_thread thread = { .tid = 1 };
	struct profile_class class = {
		.stretches = 1, .instructions = ACCESSES, .loads = ACCESSES, .first_touches = PAGES
	};
	struct code code = { .flags = CODE_LOAD };
	struct profile_reuse rows[REUSE_BINS] = { { .samples = ACCESSES, .count = ACCESSES } };
	size_t count = 1;
	for (unsigned bin = 0; bin + 1 < REUSE_INFINITE; bin++) {
		double share = pow(1 - 1.0 / PAGES, (double)reuse_bin_least(bin)) -
			       pow(1 - 1.0 / PAGES, (double)reuse_bin_least(bin + 1));
		if (share * ACCESSES >= 1)
			rows[count++] = (struct profile_reuse){ .scope = PROFILE_PAGE,
				.bin = (uint16_t)bin,
				.samples = 100,
				.count = share * ACCESSES };
	}
	struct profile profile = one_instruction(&thread, &class, &code, rows, count);
	struct processor processor = machine;
	processor.tlb = (struct tlb){ .entries = 64, .second_entries = 512, .second_ways = 8 };
	AUTO(statstack) struct statstack *statstack = NULL;
	AUTO_RELEASE(statstack_answer) struct statstack_answer answer = { 0 };
	struct err err;
	assert_int_equal(statstack_new(&profile, &statstack, &err), 0);
	assert_true(statstack_has_pages(statstack));
	assert_int_equal(statstack_answer_init(&answer, statstack), 0);
	statstack_ask(statstack, &processor, &answer);
	const double *untranslated = answer.classes[0].access.untranslated;
	assert_near(untranslated[0], 1 - 64.0 / PAGES, 0.01, "first level");
	assert_near(untranslated[1], 1 - 512.0 / PAGES, 0.02, "second level");
	processor.tlb.second_entries = 0;
	statstack_ask(statstack, &processor, &answer);
	assert_true(untranslated[1] == untranslated[0]);
	statstack_ask(statstack, &machine, &answer);
	assert_true(untranslated[0] == 0); /* no TLB */
}

/* Each access is the first to a line; `page_distance`: since the last to another line of its page. */
static void first_touches_find_what_the_kernel_has_left(void **state)
{
	(void)state;
	enum { LINES = 1 << 20, NEAR = 0, FAR = 200000 };
	static const struct {
		double fault_ns;
		uint64_t page_distance;
		double beyond[3];
	} cases[] = {
		{ 0, NEAR, { 1, 1, 1 } }, /* nobody says what the kernel does */
		{ 1000, NEAR, { 0, 0, 0 } }, /* page by page */
		{ 1000, 2000, { 1, 0, 0 } }, /* what a second level of 4096 lines still has */
		{ 1000, FAR, { 1, 1, 1 } }, /* out of all of them since */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile_thread thread = { .tid = 1 };
		struct profile_class class = { .stretches = 1,
			.instructions = LINES,
			.stores = LINES,
			.first_touches = LINES,
			.first_touches_global = LINES };
		struct code code = { .flags = CODE_STORE };
		struct profile_reuse rows[] = {
			{ .scope = PROFILE_PRIVATE,
				.bin = REUSE_INFINITE,
				.samples = 100,
				.count = LINES },
			{ .scope = PROFILE_GLOBAL,
				.bin = REUSE_INFINITE,
				.samples = 100,
				.count = LINES },
			{ .scope = PROFILE_PAGE,
				.bin = (uint16_t)reuse_bin(cases[i].page_distance),
				.samples = 100,
				.count = LINES },
		};
		struct profile profile =
			one_instruction(&thread, &class, &code, rows, sizeof rows / sizeof *rows);
		struct processor processor = machine;
		processor.fault_ns = cases[i].fault_ns;
		AUTO(statstack) struct statstack *statstack = NULL;
		AUTO_RELEASE(statstack_answer) struct statstack_answer answer = { 0 };
		struct err err;
		assert_int_equal(statstack_new(&profile, &statstack, &err), 0);
		assert_int_equal(statstack_answer_init(&answer, statstack), 0);
		statstack_ask(statstack, &processor, &answer);
		for (int level = 0; level < 3; level++)
			assert_near(answer.classes[0].access.beyond[level], cases[i].beyond[level],
				0.01, "first touches");
	}
}

static void rows_of_what_is_not_there_are_refused(void **state)
{
	(void)state;
	struct profile_thread thread = { .tid = 1 };
	struct profile_class class = { .loads = 10 };
	struct code code = { .flags = CODE_LOAD };
	const struct profile_reuse wrong[] = { { .class = 1, .count = 1 },
		{ .code = 1, .count = 1 }, { .scope = PROFILE_SCOPES, .count = 1 },
		{ .bin = REUSE_BINS, .count = 1 }, { .count = -1 } };
	for (size_t i = 0; i < 5; i++) {
		struct profile_reuse row = wrong[i];
		struct profile profile = one_instruction(&thread, &class, &code, &row, 1);
		struct statstack *statstack = NULL;
		struct err err;
		assert_int_equal(statstack_new(&profile, &statstack, &err), -EINVAL);
		assert_non_null(strstr(err.text, "row 0"));
		assert_null(statstack);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_at_random_are_translated_as_far_as_there_are_entries),
		cmocka_unit_test(first_touches_find_what_the_kernel_has_left),
		cmocka_unit_test(a_loop_misses_where_it_does_not_fit),
		cmocka_unit_test(random_accesses_hit_as_much_as_fits),
		cmocka_unit_test(lines_with_a_lifetime_are_gone_after_it),
		cmocka_unit_test(a_matrix_product_by_instruction),
		cmocka_unit_test(columns_of_rows_a_power_of_two_apart_use_few_sets),
		cmocka_unit_test(who_goes_around_among_a_few_lines_is_not_far_away),
		cmocka_unit_test(stretches_are_filled_by_what_runs_between),
		cmocka_unit_test(threads_share_the_last_level),
		cmocka_unit_test(clusters_share_a_level),
		cmocka_unit_test(written_lines_come_from_the_other_core),
		cmocka_unit_test(code_that_does_not_fit_misses),
		cmocka_unit_test(rows_of_what_is_not_there_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
