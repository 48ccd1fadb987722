/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traces that are cut or changed anywhere: the reader never fails, takes what is intact before the
 * damage, keeps the order of time and tells what it lost.
 */
#include "trace_fixture.h"

#include "base/rng.h"

#include <stddef.h>

/* Two lanes and several chunks, so that damage has something behind it. */
enum { EVENTS = 4000, THREADS = 2, FLIPS = 1000 };
enum { ROWS = (TRACE_CHUNK_BYTES - TRACE_HEAD_BYTES) / TRACE_RECORD_BYTES };

/* Where chunks of a raw one stand: what each lane was filling last comes before those that it has filled. */
enum { UNFILLED = TRACE_HEADER_BYTES, FILLED = TRACE_HEADER_BYTES + THREADS * TRACE_CHUNK_BYTES };

struct image {
	uint8_t *bytes;
	size_t size;
};

static void image_release(struct image *image)
{
	free(image->bytes);
}

/* The bytes of a trace whose event i has time, and value, 1000 + i. */
static void make_image(enum ending ending, struct image *ret)
{
	struct trace_path path;
	struct stat info;
	AUTO_FREE struct event *events = calloc(EVENTS, sizeof *events);
	trace_path_init(&path);
	for (size_t i = 0; i < EVENTS; i++)
		events[i] = (struct event){ .time_ns = 1000 + i,
			.cpu_ns = 1 + i / THREADS,
			.pid = 1,
			.tid = 1 + (uint32_t)(i % THREADS),
			.kind = EVENT_TICK,
			.value = 1000 + i };
	write_trace(path.text, events, EVENTS, ending);
	AUTO_FILE FILE *file = fopen(path.text, "re");
	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &info), 0);
	ret->size = (size_t)info.st_size;
	ret->bytes = malloc(ret->size);
	assert_int_equal(fread(ret->bytes, 1, ret->size, file), ret->size);
	trace_path_release(&path);
}

struct outcome {
	int open_code;
	size_t intact; /* events that are as they were written */
	size_t first_missing; /* the first event that is not, EVENTS if none */
	struct trace_quality quality;
};

static int file_of(const uint8_t *bytes, size_t size)
{
	char name[] = "/tmp/corecast-test-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);
	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	return fd;
}

static bool is_intact(const struct event *event)
{
	uint64_t i = event->value - 1000;
	return event->kind == EVENT_TICK && i < EVENTS && event->time_ns == 1000 + i &&
	       event->tid == 1 + i % THREADS && event->pid == 1;
}

static struct outcome read_image(const uint8_t *bytes, size_t size)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	static uint8_t seen[EVENTS];
	struct outcome outcome = { 0 };
	struct err err = { "" };
	struct event event;
	uint64_t last_ns = 0, recorded = 0;
	int code;
	memset(seen, 0, sizeof seen);
	outcome.open_code = trace_reader_open_fd(file_of(bytes, size), "image", &reader, &err);
	if (outcome.open_code < 0) {
		assert_non_null(strstr(err.text, "image"));
		return outcome;
	}
	while ((code = trace_reader_next(reader, &event, &err)) > 0) {
		assert_true(event.time_ns >= last_ns);
		last_ns = event.time_ns;
		recorded += event.kind != EVENT_LOST;
		if (!is_intact(&event))
			continue;
		assert_false(seen[event.value - 1000]);
		seen[event.value - 1000] = 1;
		outcome.intact++;
	}
	outcome.quality = *trace_reader_quality(reader);
	assert_int_equal(code, outcome.quality.torn_chunks > 0 && recorded == 0 ? -EBADMSG : 0);
	while (outcome.first_missing < EVENTS && seen[outcome.first_missing])
		outcome.first_missing++;
	return outcome;
}

static void a_whole_image_has_everything(void **state)
{
	(void)state;
	for (enum ending ending = LEFT_RAW; ending <= CLOSED; ending++) {
		AUTO_RELEASE(image) struct image image = { 0 };
		make_image(ending, &image);
		struct outcome outcome = read_image(image.bytes, image.size);
		assert_int_equal(outcome.intact, EVENTS);
		assert_int_equal(outcome.quality.lost, 0);
	}
}

/* Rows of a lane that stand before the cut, of both lanes. */
static size_t rows_before(const struct image *image, size_t cut)
{
	size_t rows = 0;
	for (size_t at = TRACE_HEADER_BYTES; at + TRACE_HEAD_BYTES <= cut;
		at += TRACE_CHUNK_BYTES) {
		struct trace_chunk head;
		memcpy(&head, image->bytes + at, sizeof head);
		size_t room = (cut - at - TRACE_HEAD_BYTES) / TRACE_RECORD_BYTES;
		size_t used = head.used / TRACE_RECORD_BYTES;
		rows += used < room ? used : room;
	}
	return rows;
}

static void a_raw_file_cut_anywhere_keeps_what_is_before(void **state)
{
	(void)state;
	AUTO_RELEASE(image) struct image image = { 0 };
	make_image(LEFT_RAW, &image);
	for (size_t cut = 0; cut < image.size; cut += cut < TRACE_HEADER_BYTES + 500 ? 1 : 401) {
		struct outcome outcome = read_image(image.bytes, cut);
		assert_int_equal(outcome.open_code, cut < TRACE_HEADER_BYTES ? -EINVAL : 0);
		if (outcome.open_code == 0)
			assert_int_equal(outcome.intact, rows_before(&image, cut));
	}
}

static void a_closed_file_cut_anywhere_keeps_whole_chunks(void **state)
{
	(void)state;
	AUTO_RELEASE(image) struct image image = { 0 };
	make_image(CLOSED, &image);
	size_t last = 0;
	for (size_t cut = 0; cut < image.size; cut++) {
		struct outcome outcome = read_image(image.bytes, cut);
		assert_int_equal(outcome.open_code, cut < TRACE_HEADER_BYTES ? -EINVAL : 0);
		assert_true(outcome.intact >= last);
		assert_true(cut < TRACE_HEADER_BYTES + TRACE_HEAD_BYTES ||
			    outcome.quality.torn_chunks || outcome.quality.lost ||
			    outcome.intact == ROWS || outcome.intact == 2 * ROWS ||
			    outcome.intact > 2 * ROWS);
		last = outcome.intact;
	}
	assert_true(last >= 2 * ROWS);
}

/*
 * One bit changes one row of a raw chunk, which may then look as if the row before it stood in the
 * wrong place; or it hides one chunk.
 */
static void a_bit_changed_anywhere_in_a_raw_file_costs_little(void **state)
{
	(void)state;
	AUTO_RELEASE(image) struct image image = { 0 };
	struct rng rng;
	rng_init(&rng, 11);
	make_image(LEFT_RAW, &image);
	for (int flip = 0; flip < FLIPS; flip++) {
		size_t at = TRACE_HEADER_BYTES +
			    (size_t)rng_below(&rng, image.size - TRACE_HEADER_BYTES);
		bool is_head = (at - TRACE_HEADER_BYTES) % TRACE_CHUNK_BYTES < TRACE_HEAD_BYTES;
		uint8_t bit = (uint8_t)(1u << rng_below(&rng, 8));
		image.bytes[at] ^= bit;
		struct outcome outcome = read_image(image.bytes, image.size);
		assert_int_equal(outcome.open_code, 0);
		assert_true(outcome.intact >= (is_head ? EVENTS - ROWS : EVENTS - 2));
		image.bytes[at] ^= bit;
	}
}

static void a_changed_head_hides_its_chunk_and_is_told(void **state)
{
	(void)state;
	static const size_t fields[] = { offsetof(struct trace_chunk, number),
		offsetof(struct trace_chunk, lane), offsetof(struct trace_chunk, seq),
		offsetof(struct trace_chunk, pid), offsetof(struct trace_chunk, tid),
		offsetof(struct trace_chunk, first_ns), offsetof(struct trace_chunk, check),
		offsetof(struct trace_chunk, stored), offsetof(struct trace_chunk, magic) };
	AUTO_RELEASE(image) struct image image = { 0 };
	make_image(LEFT_RAW, &image);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint8_t *byte = image.bytes + FILLED + fields[i];
		*byte ^= 4;
		struct outcome outcome = read_image(image.bytes, image.size);
		assert_int_equal(outcome.intact, EVENTS - ROWS);
		assert_int_equal(outcome.quality.torn_chunks, 1);
		assert_int_equal(outcome.quality.lost, ROWS);
		*byte ^= 4;
	}
}

static void a_bit_changed_anywhere_in_a_closed_file_is_told(void **state)
{
	(void)state;
	AUTO_RELEASE(image) struct image image = { 0 };
	make_image(CLOSED, &image);
	for (size_t at = TRACE_HEADER_BYTES; at < image.size; at++) {
		image.bytes[at] ^= 16;
		struct outcome outcome = read_image(image.bytes, image.size);
		assert_int_equal(outcome.open_code, 0);
		assert_true(outcome.intact >= EVENTS - ROWS);
		assert_true(outcome.intact == EVENTS || outcome.quality.torn_chunks == 1);
		assert_true(outcome.intact == EVENTS || outcome.quality.lost > 0);
		image.bytes[at] ^= 16;
	}
}

static void a_changed_header_is_refused_or_harmless(void **state)
{
	(void)state;
	for (enum ending ending = LEFT_RAW; ending <= CLOSED; ending++) {
		AUTO_RELEASE(image) struct image image = { 0 };
		make_image(ending, &image);
		for (size_t at = 0; at < sizeof(struct trace_header) / 16; at++)
			for (unsigned bit = 0; bit < 8; bit++) {
				image.bytes[at] ^= (uint8_t)(1u << bit);
				(void)read_image(image.bytes, image.size);
				image.bytes[at] ^= (uint8_t)(1u << bit);
			}
	}
}

static void assert_refused(const void *bytes, size_t size, const char *text)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	struct err err = { "" };
	assert_int_equal(
		trace_reader_open_fd(file_of(bytes, size), "image", &reader, &err), -EINVAL);
	assert_null(reader);
	if (!strstr(err.text, text))
		fail_msg("'%s' does not say '%s'", err.text, text);
}

static void what_is_no_trace_is_refused_in_words(void **state)
{
	(void)state;
	AUTO_RELEASE(image) struct image image = { 0 };
	struct trace_header *header;
	make_image(LEFT_RAW, &image);
	header = (struct trace_header *)(void *)image.bytes;
	assert_refused("", 0, "is empty");
	assert_refused("\x7f"
		       "ELF",
		4, "not a trace");
	assert_refused(image.bytes, 100, "cut within its first 4096 bytes");
	header->version = TRACE_VERSION + 1;
	assert_refused(image.bytes, image.size, "version 8; this corecast reads up to 7");
	header->version = TRACE_VERSION;
	header->record_bytes = 56;
	assert_refused(image.bytes, image.size, "header of 'image' is damaged");
	int ends[2];
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(trace_reader_open_fd(ends[0], "image", &reader, NULL), -ESPIPE);
	close(ends[1]);
}

/* What a process was writing when it was killed. */
static void a_row_behind_the_last_one_is_counted_as_lost(void **state)
{
	(void)state;
	AUTO_RELEASE(image) struct image image = { 0 };
	struct trace_chunk head;
	make_image(LEFT_RAW, &image);
	memcpy(&head, image.bytes + UNFILLED, sizeof head);
	image.bytes[UNFILLED + TRACE_HEAD_BYTES + head.used + 5] = 1;
	struct outcome outcome = read_image(image.bytes, image.size);
	assert_int_equal(outcome.intact, EVENTS);
	assert_int_equal(outcome.quality.lost, 1);
}

static void closing_a_damaged_file_keeps_the_account_of_it(void **state)
{
	(void)state;
	AUTO_RELEASE(image) struct image image = { 0 };
	struct trace_path path;
	struct trace_closed closed;
	AUTO_RELEASE(event_list) struct event_list list;
	trace_path_init(&path);
	make_image(LEFT_RAW, &image);
	image.bytes[FILLED + offsetof(struct trace_chunk, lane)] ^= 1;
	AUTO_FILE FILE *file = fopen(path.text, "we");
	assert_int_equal(fwrite(image.bytes, 1, image.size, file), image.size);
	assert_int_equal(fflush(file), 0);
	assert_int_equal(trace_close(path.text, path.text, 9999, &closed, NULL), 0);
	assert_int_equal(closed.records, EVENTS - ROWS);
	assert_true(closed.bytes < closed.raw_bytes / 2);
	read_trace(path.text, &list);
	assert_true(list.quality.is_closed);
	assert_int_equal(list.quality.end_ns, 9999);
	assert_int_equal(list.quality.torn_chunks, 1);
	assert_int_equal(list.quality.lost, ROWS);
	trace_path_release(&path);
}

static void a_full_disk_leaves_the_raw_file(void **state)
{
	(void)state;
	struct trace_path path;
	AUTO_RELEASE(event_list) struct event_list list;
	static const struct event event = { .time_ns = 1, .pid = 1, .tid = 1, .kind = EVENT_TICK };
	struct err err = { "" };
	trace_path_init(&path);
	write_trace(path.text, &event, 1, LEFT_RAW);
	assert_int_equal(trace_close(path.text, "/dev/full", 0, NULL, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "/dev/full"));
	read_trace(path.text, &list);
	assert_int_equal(list.count, 1);
	trace_path_release(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_image_has_everything),
		cmocka_unit_test(a_raw_file_cut_anywhere_keeps_what_is_before),
		cmocka_unit_test(a_closed_file_cut_anywhere_keeps_whole_chunks),
		cmocka_unit_test(a_bit_changed_anywhere_in_a_raw_file_costs_little),
		cmocka_unit_test(a_changed_head_hides_its_chunk_and_is_told),
		cmocka_unit_test(a_bit_changed_anywhere_in_a_closed_file_is_told),
		cmocka_unit_test(a_changed_header_is_refused_or_harmless),
		cmocka_unit_test(what_is_no_trace_is_refused_in_words),
		cmocka_unit_test(a_row_behind_the_last_one_is_counted_as_lost),
		cmocka_unit_test(closing_a_damaged_file_keeps_the_account_of_it),
		cmocka_unit_test(a_full_disk_leaves_the_raw_file),
	};
	return cmocka_run_group_tests_name("trace_damage", tests, NULL, NULL);
}
