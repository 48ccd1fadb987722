/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Differences between snapshots, without any kernel. */
#include "cmocka_all.h"

#include "record/live.h"

#include <stdio.h>
#include <string.h>

#define MS 1000000ull
#define CRITICAL(ms) (((uint64_t)(ms)*MS) << WATCH_FRACTION_BITS)

static struct watch_thread thread(uint32_t tid, const char *name, uint64_t critical_ms)
{
	struct watch_thread thread = {
		.tid = tid,
		.pid = UINT32_MAX, /* there is no such process, so that names stay */
		.criticality = CRITICAL(critical_ms),
		.active_ns = 2 * critical_ms * MS,
	};
	(void)snprintf(thread.name, sizeof thread.name, "%s", name);
	return thread;
}

static void update(struct live *live, struct watch_thread *threads, size_t count, uint64_t now_ms)
{
	struct bpf_snapshot snapshot = {
		.total = { .start_ns = 1000 * MS, .now_ns = (1000 + now_ms) * MS },
		.threads = threads,
		.count = count,
	};
	assert_int_equal(live_update(live, &snapshot), 0);
}

static void assert_near(double value, double expected)
{
	assert_true(value > expected - 1e-9 && value < expected + 1e-9);
}

static void an_interval_is_the_difference_of_two_snapshots(void **state)
{
	(void)state;
	AUTO_RELEASE(live) struct live live = { 0 };
	AUTO_RELEASE(live_rows) struct live_rows rows = { 0 };
	struct watch_thread threads[] = { thread(7, "b", 30), thread(5, "a", 70) };
	update(&live, threads, 2, 100);
	assert_near(live.elapsed_s, 0.1);
	assert_near(live.parallelism, 2);
	threads[0].criticality = CRITICAL(90);
	threads[1].criticality = CRITICAL(110);
	update(&live, threads, 2, 200);
	assert_int_equal(live_list(&live, 0, &rows), 0);
	assert_int_equal(rows.count, 2);
	assert_string_equal(rows.items[0].name, "b");
	assert_near(rows.items[0].criticality_s, 0.06);
	assert_near(rows.items[0].total_s, 0.09);
	assert_near(rows.items[1].criticality_s, 0.04);
	assert_near(live.watched_s, 0.2);
}

static void ended_threads_are_one_row_for_each_name(void **state)
{
	(void)state;
	AUTO_RELEASE(live) struct live live = { 0 };
	AUTO_RELEASE(live_rows) struct live_rows rows = { 0 };
	for (uint32_t i = 0; i < 1000; i++) {
		struct watch_thread ended = thread(100 + i, "worker", 2);
		ended.has_ended = 1;
		update(&live, &ended, 1, 2 * (i + 1));
	}
	update(&live, NULL, 0, 3000);
	assert_int_equal(live_list(&live, 10, &rows), 0);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.items[0].count, 1000);
	assert_int_equal(rows.items[0].tid, 0);
	assert_near(rows.items[0].total_s, 2);
	assert_near(rows.items[0].criticality_s, 0);
}

static void names_without_end_take_no_more_rows(void **state)
{
	(void)state;
	AUTO_RELEASE(live) struct live live = { 0 };
	char name[WATCH_NAME_BYTES];
	for (uint32_t i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof name, "job %u", i);
		struct watch_thread ended = thread(100 + i, name, 1);
		ended.has_ended = 1;
		update(&live, &ended, 1, i + 1);
	}
	assert_int_equal(live.ended.count, LIVE_NAMES_MAX);
	assert_string_equal(live.ended.items[LIVE_NAMES_MAX - 1].name, "(other names)");
	assert_int_equal(live.ended.items[LIVE_NAMES_MAX - 1].count, 200 - LIVE_NAMES_MAX + 1);
}

static void a_tid_that_is_used_again_is_another_thread(void **state)
{
	(void)state;
	AUTO_RELEASE(live) struct live live = { 0 };
	struct watch_thread old = thread(9, "old", 500), fresh = thread(9, "fresh", 20);
	update(&live, &old, 1, 500);
	update(&live, &fresh, 1, 600);
	assert_int_equal(live.threads.count, 1);
	assert_near(live.threads.items[0].criticality_s, 0.02);

	struct watch_thread slow = thread(9, "slow", 30);
	slow.active_ns = 0;
	update(&live, &slow, 1, 700);
	assert_near(live.threads.items[0].criticality_s, 0.03);
	assert_near(live.threads.items[0].active_s, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_is_the_difference_of_two_snapshots),
		cmocka_unit_test(ended_threads_are_one_row_for_each_name),
		cmocka_unit_test(names_without_end_take_no_more_rows),
		cmocka_unit_test(a_tid_that_is_used_again_is_another_thread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
