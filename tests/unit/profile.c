/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The profile in memory: bins of reuse distances, classes by thread and stretch. */
#include "cmocka_all.h"
#include "preload/profile_page.h"
#include "uarch/profile.h"

#include <errno.h>

static void bins_are_ascending_and_hold_their_distances(void **state)
{
	(void)state;
	for (unsigned bin = 0; bin + 2 < REUSE_BINS; bin++) {
		uint64_t least = reuse_bin_least(bin), next = reuse_bin_least(bin + 1);
		assert_true(least < next);
		assert_int_equal(reuse_bin(least), bin);
		assert_int_equal(reuse_bin(next - 1), bin);
	}
	assert_int_equal(reuse_bin(0), 0);
	assert_int_equal(reuse_bin(UINT64_MAX), REUSE_INFINITE - 1);
}

static void a_bin_is_at_most_a_quarter_wide(void **state)
{
	(void)state;
	for (unsigned bin = REUSE_EXACT; bin + 2 < REUSE_BINS; bin++) {
		uint64_t least = reuse_bin_least(bin);
		assert_true(reuse_bin_least(bin + 1) - least <= least / 4);
	}
}

static void a_class_is_found_by_thread_and_stretch(void **state)
{
	(void)state;
	struct profile_class classes[] = {
		{ .thread = 0, .stretch = 0 },
		{ .thread = 0, .stretch = 7 },
		{ .thread = 2, .stretch = 3 },
	};
	struct profile profile = { .classes = classes, .class_count = 3 };
	for (ptrdiff_t i = 0; i < 3; i++)
		assert_int_equal(
			profile_find_class(&profile, classes[i].thread, classes[i].stretch), i);
	assert_int_equal(profile_find_class(&profile, 1, 7), -ENOENT);
	assert_int_equal(profile_find_class(&profile, 2, 4), -ENOENT);
}

static void stretches_differ_by_kind_what_and_site(void **state)
{
	(void)state;
	uint64_t of[] = { profile_stretch(3, 1, 0x401000), profile_stretch(3, 2, 0x401000),
		profile_stretch(4, 1, 0x401000), profile_stretch(3, 1, 0x401001) };
	for (size_t i = 0; i < 4; i++) {
		assert_true(of[i] != PROFILE_START && of[i] != PROFILE_NOT_COUNTED);
		for (size_t k = 0; k < i; k++)
			assert_true(of[i] != of[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins_are_ascending_and_hold_their_distances),
		cmocka_unit_test(a_bin_is_at_most_a_quarter_wide),
		cmocka_unit_test(a_class_is_found_by_thread_and_stretch),
		cmocka_unit_test(stretches_differ_by_kind_what_and_site),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
