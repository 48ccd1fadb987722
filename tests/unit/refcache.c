/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reference simulator's caches, on sequences whose outcome is known. */
#include "cmocka_all.h"
#include "bench/refsim/refcache.h"

enum { LINE = 64, MEMORY = 2 };

/* Two levels: 4 lines of 2 ways for each core, 16 lines of 16 ways for all. */
static struct processor small(uint32_t cores)
{
	return (struct processor){
		.level_count = 2,
		.instruction = { .bytes = 4 * LINE, .ways = 2, .shared_by = 1 },
		.levels = { { .bytes = 4 * LINE, .ways = 2, .shared_by = 1 },
			{ .bytes = 16 * LINE, .ways = 16, .shared_by = cores } },
	};
}

static uint32_t level_of(struct refcache *caches, uint32_t core, uint64_t line, bool is_write)
{
	return refcache_access(caches, core, line * LINE, is_write ? REFCACHE_WRITE : REFCACHE_READ)
		.level;
}

static void least_recently_used_leaves_first(void **state)
{
	(void)state;
	AUTO(refcache) struct refcache *caches = NULL;
	struct processor processor = small(1);
	assert_int_equal(refcache_new(&processor, 1, &caches, NULL), 0);
	/* Lines 0, 2, 4 share a set of two ways. */
	assert_int_equal(level_of(caches, 0, 0, false), MEMORY);
	assert_int_equal(level_of(caches, 0, 2, false), MEMORY);
	assert_int_equal(level_of(caches, 0, 0, false), 0);
	assert_int_equal(level_of(caches, 0, 4, false), MEMORY); /* 2 goes */
	assert_int_equal(level_of(caches, 0, 0, false), 0);
	assert_int_equal(level_of(caches, 0, 2, false), 1);
	assert_int_equal(level_of(caches, 0, 4, false), 1);
	struct refcache_counts counts = refcache_data(caches, 0);
	assert_int_equal(counts.accesses, 7);
	assert_int_equal(counts.found[MEMORY], 3);
}

static void a_cyclic_walk_over_one_line_too_many_never_hits(void **state)
{
	(void)state;
	AUTO(refcache) struct refcache *caches = NULL;
	struct processor processor = small(1);
	assert_int_equal(refcache_new(&processor, 1, &caches, NULL), 0);
	for (int round = 0; round < 5; round++)
		for (uint64_t line = 0; line < 17; line++)
			assert_int_equal(level_of(caches, 0, line, false), MEMORY);
}

static void a_write_takes_the_line_from_others(void **state)
{
	(void)state;
	AUTO(refcache) struct refcache *caches = NULL;
	struct processor processor = small(2);
	assert_int_equal(refcache_new(&processor, 2, &caches, NULL), 0);
	level_of(caches, 0, 0, true);
	assert_int_equal(level_of(caches, 0, 0, true), 0);
	struct refcache_found found = refcache_access(caches, 1, 0, REFCACHE_READ);
	assert_int_equal(found.level, 1);
	assert_true(found.is_transfer);
	assert_int_equal(level_of(caches, 0, 0, false), 0); /* shared by both */
	assert_int_equal(level_of(caches, 1, 0, false), 0);
	assert_true(refcache_access(caches, 1, 0, REFCACHE_WRITE).is_upgrade);
	assert_false(refcache_access(caches, 1, 0, REFCACHE_WRITE).is_upgrade);
	found = refcache_access(caches, 0, 0, REFCACHE_READ);
	assert_int_equal(found.level, 1);
	assert_true(found.is_transfer);
}

static void another_word_of_a_line_is_the_same_line(void **state)
{
	(void)state;
	AUTO(refcache) struct refcache *caches = NULL;
	struct processor processor = small(2);
	assert_int_equal(refcache_new(&processor, 2, &caches, NULL), 0);
	refcache_access(caches, 0, 0, REFCACHE_WRITE);
	refcache_access(caches, 1, 8, REFCACHE_WRITE);
	assert_true(refcache_access(caches, 0, 0, REFCACHE_WRITE).is_transfer);
}

static void what_was_written_goes_back_once(void **state)
{
	(void)state;
	AUTO(refcache) struct refcache *caches = NULL;
	struct processor processor = small(1);
	assert_int_equal(refcache_new(&processor, 1, &caches, NULL), 0);
	level_of(caches, 0, 0, true);
	for (uint64_t line = 1; line < 100; line++)
		level_of(caches, 0, line, false);
	assert_int_equal(refcache_data(caches, 0).writes_back, 1);
}

static void code_has_a_first_level_of_its_own(void **state)
{
	(void)state;
	AUTO(refcache) struct refcache *caches = NULL;
	struct processor processor = small(1);
	assert_int_equal(refcache_new(&processor, 1, &caches, NULL), 0);
	assert_int_equal(refcache_access(caches, 0, 0, REFCACHE_FETCH).level, MEMORY);
	assert_int_equal(refcache_access(caches, 0, 0, REFCACHE_FETCH).level, 0);
	assert_int_equal(level_of(caches, 0, 0, false), 1);
	assert_int_equal(refcache_fetches(caches, 0).accesses, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(least_recently_used_leaves_first),
		cmocka_unit_test(a_cyclic_walk_over_one_line_too_many_never_hits),
		cmocka_unit_test(a_write_takes_the_line_from_others),
		cmocka_unit_test(another_word_of_a_line_is_the_same_line),
		cmocka_unit_test(what_was_written_goes_back_once),
		cmocka_unit_test(code_has_a_first_level_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
