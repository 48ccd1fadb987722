/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that stand for several: repetitions of earlier ones of their chunk, and what is none; waits with their ends. */
#include "trace_fixture.h"

#include "base/mem.h"
#include "trace/expand.h"

enum { ROWS = (TRACE_CHUNK_BYTES - TRACE_HEAD_BYTES) / TRACE_RECORD_BYTES }; /* none is left over */

static const struct trace_record pass = { .time_ns = 1000,
	.cpu_ns = 400,
	.object = 0x77,
	.site = 0x400100,
	.value = 25,
	.tid = 5,
	.kind = TRACE_PASS,
	.what = TRACE_RWLOCK,
	.flags = TRACE_SHARED | TRACE_HELD };

static struct trace_record again(uint32_t tid, uint64_t first, uint64_t second)
{
	struct trace_again_record row = {
		.words = { first, second }, .tid = tid, .kind = TRACE_AGAIN
	};
	struct trace_record ret;
	memcpy(&ret, &row, sizeof ret);
	return ret;
}

static size_t expand(const struct trace_record *rows, size_t row_count, struct trace_record *ret,
	uint64_t expected_lost)
{
	uint64_t lost = 0;
	size_t count = rows_expand(rows, row_count, ret, &lost);
	assert_int_equal(lost, expected_lost);
	return count;
}

static void a_repeated_row_is_that_row_later(void **state)
{
	(void)state;
	struct trace_record ret[3 * TRACE_AGAINS];
	const struct trace_record rows[] = { pass,
		again(5, trace_again_held(trace_again(0, 75), 7), trace_again(0, 0)) };
	assert_int_equal(expand(rows, 2, ret, 0), 3);
	assert_memory_equal(&ret[0], &pass, sizeof pass);
	/* Behind the release, which was at 1025. */
	struct trace_record expected = pass;
	expected.time_ns = 1100;
	expected.cpu_ns = 500;
	expected.value = 7;
	assert_memory_equal(&ret[1], &expected, sizeof expected);
	expected.time_ns = 1107;
	expected.cpu_ns = 507;
	expected.value = 0;
	expected.flags = TRACE_SHARED;
	assert_memory_equal(&ret[2], &expected, sizeof expected);
}

static void an_unknown_cpu_time_stays_unknown(void **state)
{
	(void)state;
	struct trace_record ret[2 * TRACE_AGAINS], first = pass;
	first.cpu_ns = 0;
	const struct trace_record rows[] = { first, again(5, trace_again(0, 75), 0) };
	assert_int_equal(expand(rows, 2, ret, 0), 2);
	assert_int_equal(ret[1].cpu_ns, 0);
}

static void the_largest_numbers_fit(void **state)
{
	(void)state;
	static struct trace_record rows[ROWS], ret[ROWS * TRACE_AGAINS];
	for (size_t i = 0; i < ROWS - 1; i++)
		rows[i] = pass;
	uint64_t word = trace_again(ROWS - 2, TRACE_AGAIN_AFTER_MAX);
	rows[ROWS - 1] = again(5, trace_again_held(word, TRACE_AGAIN_HELD_MAX), 0);
	rows[ROWS - 2].object = 0x78;
	assert_int_equal(expand(rows, ROWS, ret, 0), ROWS);
	assert_int_equal(ret[ROWS - 1].object, 0x78);
	assert_int_equal(ret[ROWS - 1].value, TRACE_AGAIN_HELD_MAX);
	assert_int_equal(ret[ROWS - 1].time_ns, 1025 + TRACE_AGAIN_AFTER_MAX);
}

static void what_cannot_be_repeated_is_left_out_and_counted(void **state)
{
	(void)state;
	struct trace_record ret[3 * TRACE_AGAINS], wait = pass, waited = pass;
	wait.kind = TRACE_WAIT;
	waited.flags = TRACE_WAITED;
	const struct {
		struct trace_record first, second;
	} cases[] = {
		{ wait, again(5, trace_again(0, 1), 0) },
		{ waited, again(5, trace_again(0, 1), 0) },
		{ pass, again(6, trace_again(0, 1), 0) }, /* another thread's */
		{ pass, again(5, trace_again(1, 1), 0) }, /* itself */
		{ pass, again(5, trace_again(2, 1), 0) }, /* a later one */
		{ pass, again(5, 75, 0) }, /* none */
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct trace_record rows[] = { cases[i].first, cases[i].second, pass };
		assert_int_equal(expand(rows, 3, ret, 1), 2);
		assert_memory_equal(&ret[1], &pass, sizeof pass);
	}
}

static void the_text_of_a_name_repeats_nothing(void **state)
{
	(void)state;
	struct trace_record ret[3 * TRACE_AGAINS];
	const struct trace_record name = { .time_ns = 1,
		.site = TRACE_RECORD_BYTES - 1,
		.tid = 5,
		.kind = TRACE_NAME,
		.what = TRACE_PROGRAM };
	const struct trace_record rows[] = { pass, name, again(5, trace_again(0, 1), 0) };
	assert_int_equal(expand(rows, 3, ret, 0), 3);
	assert_memory_equal(ret, rows, sizeof rows);
}

static void a_wait_that_ended_in_its_row_is_a_wait_and_a_pass(void **state)
{
	(void)state;
	struct trace_record ret[2 * TRACE_AGAINS];
	const struct trace_record wait = { .time_ns = 1000,
		.cpu_ns = 400,
		.object = 7,
		.site = 0x400100,
		.value = TRACE_IO_POLL,
		.tid = 5,
		.kind = TRACE_WAIT,
		.what = TRACE_IO };
	struct trace_record rows[] = { wait, again(5, trace_again(0, 1), 0) };
	rows[0].flags = TRACE_BOTH;
	rows[0].value = trace_both(TRACE_IO_POLL, UINT32_MAX, TRACE_BOTH_CPU_MAX);
	assert_int_equal(expand(rows, 2, ret, 1), 2); /* a wait is not repeated */
	assert_memory_equal(&ret[0], &wait, sizeof wait);
	struct trace_record expected = wait;
	expected.kind = TRACE_PASS;
	expected.flags = TRACE_WAITED;
	expected.time_ns = 1000 + (uint64_t)UINT32_MAX;
	expected.cpu_ns = 400 + TRACE_BOTH_CPU_MAX;
	expected.value = 0;
	assert_memory_equal(&ret[1], &expected, sizeof expected);
}

static void what_comes_after_such_a_wait_is_counted_from_its_end(void **state)
{
	(void)state;
	struct trace_record ret[3 * TRACE_AGAINS], ended = pass;
	ended.time_ns = 2000;
	ended.kind = TRACE_WAIT;
	ended.what = TRACE_IO;
	ended.flags = TRACE_BOTH;
	ended.value = trace_both(TRACE_IO_SOCKET, 300, 20);
	const struct trace_record rows[] = { pass, ended, again(5, trace_again(0, 5), 0) };
	assert_int_equal(expand(rows, 3, ret, 0), 4);
	assert_int_equal(ret[1].value, TRACE_IO_SOCKET);
	assert_int_equal(ret[3].time_ns, 2305);
	assert_int_equal(ret[3].cpu_ns, 425);
}

/* A lock and its release in a profile, where CPU times are instructions. */
static void a_lock_that_was_given_back_in_its_row_is_two_rows(void **state)
{
	(void)state;
	static const struct {
		uint64_t took_ns, cpu_ns;
		int64_t sites;
		bool fits;
	} cases[] = { { 0, 0, 0, true }, { 300, 20, -0x40, true },
		{ TRACE_TAKEN_NS_MAX, TRACE_TAKEN_CPU_MAX, TRACE_TAKEN_SITE_MAX, true },
		{ TRACE_TAKEN_NS_MAX, TRACE_TAKEN_CPU_MAX, -TRACE_TAKEN_SITE_MAX, true },
		{ TRACE_TAKEN_NS_MAX + 1, 0, 0, false }, { 0, TRACE_TAKEN_CPU_MAX + 1, 0, false },
		{ 0, 0, TRACE_TAKEN_SITE_MAX + 1, false },
		{ 0, 0, -TRACE_TAKEN_SITE_MAX - 1, false } };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trace_record ret[TRACE_AGAINS], row = pass;
		assert_int_equal(
			trace_can_be_taken(cases[i].took_ns, cases[i].cpu_ns, cases[i].sites),
			cases[i].fits);
		if (!cases[i].fits)
			continue;
		row.flags = TRACE_BOTH | TRACE_TRIED;
		row.value = trace_taken(cases[i].took_ns, cases[i].cpu_ns, cases[i].sites);
		assert_int_equal(expand(&row, 1, ret, 0), 2);
		struct trace_record expected = pass;
		expected.value = 0;
		expected.flags = TRACE_TRIED;
		assert_memory_equal(&ret[0], &expected, sizeof expected);
		expected.kind = TRACE_RELEASE;
		expected.flags = 0;
		expected.time_ns += cases[i].took_ns;
		expected.cpu_ns += cases[i].cpu_ns;
		expected.site += (uint64_t)cases[i].sites;
		assert_memory_equal(&ret[1], &expected, sizeof expected);
	}
}

/* A file whose only chunk is full of repetitions, the last of which a kill cut short. */
static size_t write_file(const char *path)
{
	static struct {
		struct trace_header header;
		struct trace_chunk head;
		struct trace_record rows[ROWS];
	} file;
	const struct trace_create_opts opts = { .sources = TRACE_BY_PRELOAD, .is_simulated = true };
	trace_header_init(&file.header, &opts);
	file.header.chunks_taken = file.header.lanes_taken = 1;
	file.head = (struct trace_chunk){ .magic = TRACE_CHUNK_MAGIC,
		.pid = 3,
		.tid = 5,
		.used = sizeof file.rows,
		.first_ns = 1000 };
	file.head.check = trace_chunk_check(&file.head);
	file.rows[0] = pass;
	size_t count = 1;
	for (size_t row = 1; row < ROWS; row++) {
		struct trace_again_record again = { .tid = 5, .kind = TRACE_AGAIN };
		size_t words = row < ROWS - 1 ? TRACE_AGAINS : 2;
		for (size_t i = 0; i < words; i++)
			again.words[i] = trace_again_held(trace_again(0, row), i);
		memcpy(&file.rows[row], &again, sizeof again);
		count += words;
	}
	AUTO_FILE FILE *out = fopen(path, "we");
	assert_non_null(out);
	assert_int_equal(fwrite(&file, sizeof file, 1, out), 1);
	return count;
}

static void a_closed_file_tells_the_same_as_the_raw_one(void **state)
{
	(void)state;
	struct trace_path path;
	AUTO_RELEASE(event_list) struct event_list raw, closed;
	trace_path_init(&path);
	size_t count = write_file(path.text);
	read_trace(path.text, &raw);
	assert_int_equal(raw.quality.lost, 0);
	assert_int_equal(raw.count, 2 * count); /* acquired and released */
	for (size_t i = 0; i < raw.count; i++) {
		assert_int_equal(raw.items[i].kind, i % 2 ? EVENT_RELEASE : EVENT_PASS);
		assert_int_equal(raw.items[i].time_ns - raw.items[i].cpu_ns, 600);
	}
	struct trace_closed sizes;
	assert_int_equal(trace_close(path.text, path.text, 0, &sizes, NULL), 0);
	assert_int_equal(sizes.records, count);
	assert_true(sizes.raw_bytes < 10 * count + 2 * TRACE_HEADER_BYTES);
	read_trace(path.text, &closed);
	assert_true(closed.quality.is_closed);
	assert_int_equal(closed.quality.lost, 0);
	assert_int_equal(closed.count, raw.count);
	assert_memory_equal(closed.items, raw.items, raw.count * sizeof *raw.items);
	trace_path_release(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_repeated_row_is_that_row_later),
		cmocka_unit_test(an_unknown_cpu_time_stays_unknown),
		cmocka_unit_test(the_largest_numbers_fit),
		cmocka_unit_test(what_cannot_be_repeated_is_left_out_and_counted),
		cmocka_unit_test(the_text_of_a_name_repeats_nothing),
		cmocka_unit_test(a_wait_that_ended_in_its_row_is_a_wait_and_a_pass),
		cmocka_unit_test(a_lock_that_was_given_back_in_its_row_is_two_rows),
		cmocka_unit_test(what_comes_after_such_a_wait_is_counted_from_its_end),
		cmocka_unit_test(a_closed_file_tells_the_same_as_the_raw_one),
	};
	return cmocka_run_group_tests_name("trace_again", tests, NULL, NULL);
}
