/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces that are whole: what is written is what is read, in order of time. */
#include "trace_fixture.h"

#include "base/rng.h"
#include "trace/tournament.h"

#include <errno.h>
#include <unistd.h>

static const struct event two_threads[] = {
	{ .time_ns = 0, .pid = 1, .tid = 1, .kind = EVENT_THREAD_START, .object = 0x10 },
	{ .time_ns = 0, .pid = 1, .tid = 2, .kind = EVENT_THREAD_START, .value = 1 },
	{ .time_ns = 5,
		.pid = 1,
		.tid = 1,
		.kind = EVENT_NAME,
		.what = WHAT_MUTEX,
		.object = 0x99,
		.text = "a lock whose name needs more than one row of the file, I hope" },
	{ .time_ns = 10,
		.cpu_ns = 9,
		.pid = 1,
		.tid = 1,
		.kind = EVENT_PASS,
		.what = WHAT_MUTEX,
		.object = 0x99,
		.site = 0x400123 },
	{ .time_ns = 20,
		.cpu_ns = 18,
		.pid = 1,
		.tid = 2,
		.kind = EVENT_WAIT,
		.what = WHAT_MUTEX,
		.object = 0x99,
		.site = 0x400123 },
	{ .time_ns = 30,
		.cpu_ns = 28,
		.pid = 1,
		.tid = 1,
		.kind = EVENT_RELEASE,
		.what = WHAT_MUTEX,
		.object = 0x99 },
	{ .time_ns = 31,
		.pid = 1,
		.tid = 2,
		.kind = EVENT_WOKEN,
		.what = WHAT_MUTEX,
		.object = 0x99,
		.value = 1 },
	{ .time_ns = 40,
		.cpu_ns = 19,
		.pid = 1,
		.tid = 2,
		.kind = EVENT_PASS,
		.what = WHAT_MUTEX,
		.flags = EVENT_WAITED,
		.object = 0x99,
		.woken_ns = 31,
		.value = 1 },
	{ .time_ns = 50, .pid = 1, .tid = 1, .kind = EVENT_THREAD_EXIT },
	{ .time_ns = 60, .pid = 1, .tid = 2, .kind = EVENT_THREAD_EXIT },
};

static void assert_same_events(const struct event_list *list, const struct event *events, size_t n)
{
	assert_int_equal(list->count, n);
	for (size_t i = 0; i < n; i++) {
		struct event expected = events[i];
		expected.text = NULL;
		assert_memory_equal(&list->items[i], &expected, sizeof expected);
	}
}

static void raw_and_closed_files_hold_what_was_written(void **state)
{
	(void)state;
	for (enum ending ending = LEFT_RAW; ending <= CLOSED; ending++) {
		struct trace_path path;
		AUTO_RELEASE(event_list) struct event_list list;
		trace_path_init(&path);
		write_trace(path.text, two_threads, ARRAY_SIZE(two_threads), ending);
		read_trace(path.text, &list);
		assert_same_events(&list, two_threads, ARRAY_SIZE(two_threads));
		assert_int_equal(list.quality.is_closed, ending == CLOSED);
		assert_int_equal(list.quality.lost, 0);
		assert_int_equal(list.quality.torn_chunks, 0);
		assert_int_equal(list.quality.threads, 2);
		assert_int_equal(list.quality.processes, 1);
		assert_int_equal(list.quality.end_ns, 60);
		trace_path_release(&path);
	}
}

static void names_keep_their_text_up_to_the_limit(void **state)
{
	(void)state;
	struct trace_path path;
	trace_path_init(&path);
	static char texts[3][5000];
	memset(texts[1], 'x', 47);
	memset(texts[2], 'y', sizeof texts[2] - 1);
	struct event events[3];
	for (size_t i = 0; i < 3; i++)
		events[i] = (struct event){ .time_ns = i,
			.pid = 1,
			.tid = 1,
			.kind = EVENT_NAME,
			.what = WHAT_THREAD,
			.object = 1,
			.text = texts[i] };
	write_trace(path.text, events, 3, CLOSED);
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	assert_int_equal(trace_reader_open(path.text, &reader, NULL), 0);
	texts[2][TRACE_NAME_BYTES - 1] = '\0'; /* cut */
	for (size_t i = 0; i < 3; i++) {
		struct event event;
		assert_int_equal(trace_reader_next(reader, &event, NULL), 1);
		assert_string_equal(event.text, texts[i]);
		assert_int_equal(event.site, 0);
	}
	trace_path_release(&path);
}

/* As the preload library records it: nobody tells the wake-up but the thread itself. */
static void a_pass_that_waited_tells_when_it_was_woken(void **state)
{
	(void)state;
	static const struct event events[] = {
		{ .time_ns = 10,
			.pid = 1,
			.tid = 1,
			.kind = EVENT_WAIT,
			.what = WHAT_BARRIER,
			.object = 7 },
		{ .time_ns = 20,
			.pid = 1,
			.tid = 2,
			.kind = EVENT_WAIT,
			.what = WHAT_BARRIER,
			.object = 7 },
		{ .time_ns = 90,
			.pid = 1,
			.tid = 1,
			.kind = EVENT_PASS,
			.what = WHAT_BARRIER,
			.object = 7,
			.flags = EVENT_WAITED,
			.woken_ns = 50,
			.value = 3 },
		{ .time_ns = 95,
			.pid = 1,
			.tid = 2,
			.kind = EVENT_PASS,
			.what = WHAT_BARRIER,
			.object = 7,
			.flags = EVENT_WAITED,
			.woken_ns = 15 },
	};
	struct trace_path path;
	AUTO_RELEASE(event_list) struct event_list list;
	trace_path_init(&path);
	write_trace(path.text, events, ARRAY_SIZE(events), LEFT_RAW);
	read_trace(path.text, &list);
	assert_int_equal(list.count, 6);
	const uint64_t times[] = { 10, 20, 20, 50, 90, 95 };
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(list.items[i].time_ns, times[i]);
	/* Woken before it waited: that is, at once. */
	assert_int_equal(list.items[2].kind, EVENT_WOKEN);
	assert_int_equal(list.items[2].tid, 2);
	assert_int_equal(list.items[5].woken_ns, 20);
	assert_int_equal(list.items[3].kind, EVENT_WOKEN);
	assert_int_equal(list.items[3].tid, 1);
	assert_int_equal(list.items[3].what, WHAT_BARRIER);
	assert_int_equal(list.items[3].object, 7);
	assert_int_equal(list.items[3].value, 3);
	assert_int_equal(list.items[4].woken_ns, 50);
	trace_path_release(&path);
}

static void a_thread_starts_when_it_was_created(void **state)
{
	(void)state;
	assert_int_equal(trace_since_ns(1000, trace_since(1000, 900, 77)), 900);
	assert_int_equal(trace_since_tid(trace_since(1000, 900, 77)), 77);
	assert_int_equal(trace_since_ns(1000, trace_since(1000, 0, 77)), 0);
	assert_int_equal(trace_since_ns(1000, trace_since(1000, 1000, 77)), 1000);
	assert_int_equal(
		trace_since_tid(trace_since(1000, 1, TRACE_TID_MAX - 1)), TRACE_TID_MAX - 1);
	/* 73 minutes at most. */
	uint64_t day_ns = 86400000000000;
	assert_int_equal(trace_since_ns(day_ns, trace_since(day_ns, 1, 7)),
		day_ns - (1ull << TRACE_SINCE_BITS) + 2);
	assert_int_equal(trace_since_tid(trace_since(day_ns, 1, 7)), 7);
}

/* The first row of a raw file, to be changed. */
static void change_first_row(const char *path, uint16_t flags, uint64_t value)
{
	struct trace_record row;
	const off_t offset = TRACE_HEADER_BYTES + TRACE_HEAD_BYTES;
	AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &row, sizeof row, offset), sizeof row);
	row.flags = flags;
	row.value = value;
	assert_int_equal(pwrite(fd, &row, sizeof row, offset), sizeof row);
}

static void a_lock_held_shortly_is_one_row_and_two_events(void **state)
{
	(void)state;
	static const struct event events[] = {
		{ .time_ns = 10,
			.cpu_ns = 3,
			.pid = 1,
			.tid = 1,
			.kind = EVENT_PASS,
			.what = WHAT_MUTEX,
			.object = 7,
			.site = 9 },
		{ .time_ns = 50, .cpu_ns = 43, .pid = 1, .tid = 1, .kind = EVENT_TICK },
	};
	/* How long it was held, and when it seems released: not after what the thread did next. */
	static const uint64_t held[][2] = { { 5, 15 }, { 40, 50 }, { 1000, 50 } };
	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		struct trace_path path;
		AUTO_RELEASE(event_list) struct event_list list;
		trace_path_init(&path);
		write_trace(path.text, events, ARRAY_SIZE(events), LEFT_RAW);
		change_first_row(path.text, TRACE_HELD, held[i][0]);
		read_trace(path.text, &list);
		assert_int_equal(list.count, 3);
		assert_int_equal(list.items[0].kind, EVENT_PASS);
		assert_int_equal(list.items[0].flags, 0);
		assert_int_equal(list.items[0].value, 0);
		assert_int_equal(list.items[1].kind, EVENT_RELEASE);
		assert_int_equal(list.items[1].time_ns, held[i][1]);
		assert_int_equal(list.items[1].cpu_ns, held[i][1] - 7);
		assert_int_equal(list.items[1].object, 7);
		assert_int_equal(list.items[2].kind, EVENT_TICK);
		trace_path_release(&path);
	}
}

static void events_of_many_threads_come_in_order_of_time(void **state)
{
	(void)state;
	enum { THREADS = 200, EVENTS = 60000 };
	struct trace_path path;
	AUTO_RELEASE(event_list) struct event_list list;
	AUTO_FREE struct event *events = calloc(EVENTS, sizeof *events);
	struct rng rng;
	rng_init(&rng, 3);
	trace_path_init(&path);
	for (size_t i = 0; i < EVENTS; i++)
		events[i] = (struct event){ .time_ns = i / 3,
			.pid = 1 + (uint32_t)(i % 2),
			.tid = 1 + (uint32_t)rng_below(&rng, THREADS) * 2 + (uint32_t)(i % 2),
			.kind = EVENT_TICK,
			.value = i };
	write_trace(path.text, events, EVENTS, CLOSED);
	read_trace(path.text, &list);
	assert_int_equal(list.count, EVENTS);
	uint64_t sum = 0;
	for (size_t i = 0; i < EVENTS; i++) {
		const struct event *event = &list.items[i];
		assert_memory_equal(event, &events[event->value], sizeof *event);
		sum += event->value;
		if (i == 0)
			continue;
		assert_true(event[-1].time_ns <= event->time_ns);
		assert_true(event[-1].time_ns < event->time_ns || event[-1].tid < event->tid ||
			    (event[-1].tid == event->tid && event[-1].value < event->value));
	}
	assert_int_equal(sum, (uint64_t)EVENTS * (EVENTS - 1) / 2);
	assert_int_equal(list.quality.processes, 2);
	assert_int_equal(list.quality.threads, 2 * THREADS);
	trace_path_release(&path);
}

/* One after the other they need one lane, and no more memory than one of them. */
static void a_million_short_threads_are_read(void **state)
{
	(void)state;
	enum { THREADS = 1000000 };
	struct trace_path path;
	struct stat info;
	trace_path_init(&path);
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	struct trace_writer_opts opts = { .create.is_simulated = true };
	assert_int_equal(trace_writer_new(path.text, &opts, &writer, NULL), 0);
	struct event_sink sink = trace_writer_sink(writer);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct event event = { .time_ns = 10ull * i,
			.pid = 1,
			.tid = 2 + i % 30000,
			.kind = EVENT_THREAD_START,
			.value = 1 };
		assert_int_equal(sink_event(&sink, &event, NULL), 0);
		event.time_ns += 5;
		event.kind = EVENT_THREAD_EXIT;
		assert_int_equal(sink_event(&sink, &event, NULL), 0);
	}
	assert_int_equal(sink_finish(&sink, 10 * THREADS, NULL), 0);
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	struct event event;
	size_t count = 0;
	assert_int_equal(trace_reader_open(path.text, &reader, NULL), 0);
	while (trace_reader_next(reader, &event, NULL) > 0)
		count++;
	assert_int_equal(count, 2 * THREADS);
	assert_int_equal(trace_reader_quality(reader)->threads, THREADS);
	assert_int_equal(stat(path.text, &info), 0);
	assert_true(info.st_size < 16 * THREADS);
	trace_path_release(&path);
}

static void a_size_limit_ends_recording_and_is_told(void **state)
{
	(void)state;
	enum { EVENTS = 5000, ROWS = (TRACE_CHUNK_BYTES - TRACE_HEAD_BYTES) / TRACE_RECORD_BYTES };
	struct trace_path path;
	AUTO_RELEASE(event_list) struct event_list list;
	trace_path_init(&path);
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	struct trace_writer_opts opts = { .create = { .is_simulated = true,
						  .bytes_max = TRACE_HEADER_BYTES +
							       2 * TRACE_CHUNK_BYTES },
		.is_recording = true };
	assert_int_equal(trace_writer_new(path.text, &opts, &writer, NULL), 0);
	struct event_sink sink = trace_writer_sink(writer);
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct event event = { .time_ns = i, .pid = 1, .tid = 1, .kind = EVENT_TICK };
		assert_int_equal(sink_event(&sink, &event, NULL), 0);
	}
	assert_int_equal(sink_finish(&sink, EVENTS, NULL), 0);
	assert_true(trace_writer_is_full(writer));
	assert_int_equal(trace_writer_lost(writer), EVENTS - 2 * ROWS);
	read_trace(path.text, &list);
	assert_true(list.quality.is_full);
	assert_int_equal(list.quality.lost, EVENTS - 2 * ROWS);
	assert_int_equal(list.count, 2 * ROWS + 1);
	assert_int_equal(list.items[2 * ROWS].kind, EVENT_LOST);
	assert_int_equal(list.items[2 * ROWS].value, EVENTS - 2 * ROWS);
	trace_path_release(&path);
}

static void what_is_no_recording_is_whole_or_not_there(void **state)
{
	(void)state;
	struct trace_path path;
	struct err err = { "" };
	trace_path_init(&path);
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	struct trace_writer_opts opts = { .create = { .is_simulated = true,
						  .bytes_max = TRACE_HEADER_BYTES } };
	assert_int_equal(trace_writer_new(path.text, &opts, &writer, NULL), 0);
	struct event_sink sink = trace_writer_sink(writer);
	struct event event = { .pid = 1, .tid = 1, .kind = EVENT_TICK };
	assert_int_equal(sink_event(&sink, &event, NULL), 0);
	assert_int_equal(sink_finish(&sink, 1, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "no room"));
	trace_writer_free(TAKE(writer));
	assert_int_not_equal(access(path.text, F_OK), 0);
	trace_path_release(&path);
}

static void refused_with(const struct event *event, const char *text)
{
	struct trace_path path;
	struct err err = { "" };
	trace_path_init(&path);
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	struct trace_writer_opts opts = { .create.is_simulated = true };
	assert_int_equal(trace_writer_new(path.text, &opts, &writer, NULL), 0);
	struct event_sink sink = trace_writer_sink(writer);
	struct event first = { .time_ns = 100, .pid = 1, .tid = 5, .kind = EVENT_TICK };
	assert_int_equal(sink_event(&sink, &first, NULL), 0);
	assert_int_equal(sink_event(&sink, event, &err), -EINVAL);
	assert_non_null(strstr(err.text, text));
	trace_writer_free(TAKE(writer));
	trace_path_release(&path); /* and no file is left */
}

static void the_writer_refuses_what_a_file_cannot_hold(void **state)
{
	(void)state;
	refused_with(&(struct event){ .time_ns = 99, .pid = 1, .tid = 5, .kind = EVENT_TICK },
		"thread 5 at 99 ns comes after one at 100 ns");
	refused_with(&(struct event){ .time_ns = 200, .pid = 1, .kind = EVENT_TICK }, "thread 0");
	refused_with(&(struct event){ .time_ns = 200, .pid = 1, .tid = 5, .kind = 99 }, "kind 99");
	refused_with(&(struct event){ .time_ns = 200, .pid = 1, .tid = 5, .kind = EVENT_NAME },
		"cannot hold");
}

static void a_recording_can_be_read_before_its_end(void **state)
{
	(void)state;
	struct trace_path path;
	trace_path_init(&path);
	AUTO(trace_writer) struct trace_writer *writer = NULL;
	struct trace_writer_opts opts = { .is_recording = true };
	assert_int_equal(trace_writer_new(path.text, &opts, &writer, NULL), 0);
	struct event_sink sink = trace_writer_sink(writer);
	for (uint32_t i = 0; i < 10; i++) {
		struct event event = { .time_ns = 1 + i, .pid = 1, .tid = 1, .kind = EVENT_TICK };
		assert_int_equal(sink_event(&sink, &event, NULL), 0);
		AUTO_RELEASE(event_list) struct event_list list;
		read_trace(path.text, &list);
		assert_int_equal(list.count, i + 1);
		assert_false(list.quality.is_ended);
	}
	trace_writer_free(TAKE(writer));
	trace_path_release(&path);
}

static void real_looking_events_take_few_bytes(void **state)
{
	(void)state;
	enum { EVENTS = 100000 };
	struct trace_path path;
	struct stat info;
	struct rng rng;
	AUTO_FREE struct event *events = calloc(EVENTS, sizeof *events);
	rng_init(&rng, 9);
	trace_path_init(&path);
	uint64_t now_ns = 7000000000000;
	for (size_t i = 0; i < EVENTS; i++) {
		now_ns += 100 + rng_below(&rng, 10000);
		events[i] = (struct event){ .time_ns = now_ns,
			.cpu_ns = now_ns - 6999999999000,
			.pid = 812,
			.tid = 812 + (uint32_t)rng_below(&rng, 4),
			.kind = i % 2 ? EVENT_RELEASE : EVENT_PASS,
			.what = WHAT_MUTEX,
			.object = 0x7ffe12345000 + 40 * rng_below(&rng, 20),
			.site = 0x55d412345000 + 16 * rng_below(&rng, 20) };
	}
	write_trace(path.text, events, EVENTS, CLOSED);
	assert_int_equal(stat(path.text, &info), 0);
	assert_true(info.st_size < 8 * EVENTS);
	trace_path_release(&path);
}

/* As many places as take part at once, however many come one after another. */
static void a_tournament_finds_the_least_of_those_who_take_part(void **state)
{
	(void)state;
	enum { STEPS = 4000, STREAMS = 37 };
	struct tournament tournament = { 0 };
	uint32_t places[STREAMS];
	tournament_key keys[STREAMS], least;
	struct rng rng;
	rng_init(&rng, 1);
	assert_true(tournament_least(&tournament) == TOURNAMENT_NONE);
	for (size_t i = 0; i < STREAMS; i++)
		keys[i] = TOURNAMENT_NONE;
	for (size_t step = 0; step < STEPS; step++) {
		size_t i = rng_below(&rng, STREAMS);
		tournament_key key = (tournament_key)rng_below(&rng, 1000) << 64 | i;
		if (keys[i] == TOURNAMENT_NONE) {
			assert_int_equal(tournament_add(&tournament, key, &places[i]), 0);
		} else if (rng_below(&rng, 4) == 0) {
			key = TOURNAMENT_NONE;
			tournament_remove(&tournament, places[i]);
		} else {
			tournament_set(&tournament, places[i], key);
		}
		keys[i] = least = key;
		for (size_t j = 0; j < STREAMS; j++)
			least = keys[j] < least ? keys[j] : least;
		assert_true(tournament_least(&tournament) == least);
	}
	assert_int_equal(tournament.place_count, 64);
	tournament_release(&tournament);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw_and_closed_files_hold_what_was_written),
		cmocka_unit_test(names_keep_their_text_up_to_the_limit),
		cmocka_unit_test(a_pass_that_waited_tells_when_it_was_woken),
		cmocka_unit_test(a_thread_starts_when_it_was_created),
		cmocka_unit_test(a_lock_held_shortly_is_one_row_and_two_events),
		cmocka_unit_test(events_of_many_threads_come_in_order_of_time),
		cmocka_unit_test(a_tournament_finds_the_least_of_those_who_take_part),
		cmocka_unit_test(a_million_short_threads_are_read),
		cmocka_unit_test(a_size_limit_ends_recording_and_is_told),
		cmocka_unit_test(what_is_no_recording_is_whole_or_not_there),
		cmocka_unit_test(the_writer_refuses_what_a_file_cannot_hold),
		cmocka_unit_test(a_recording_can_be_read_before_its_end),
		cmocka_unit_test(real_looking_events_take_few_bytes),
	};
	return cmocka_run_group_tests_name("trace_file", tests, NULL, NULL);
}
