/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of programs whose threads hand one another work through pipes. */
#include "build_script.h"

enum { PIPE = 200, ITEM_BYTES = 8, ITEMS = 40, WRITING = 50, READING = 60, POLLING = 70 };

static void passed(struct script *s, uint32_t tid, enum event_kind kind, uint64_t bytes)
{
	send(s, (struct event){ .tid = tid,
			.kind = (uint8_t)kind,
			.what = WHAT_QUEUE,
			.object = PIPE,
			.site = kind == EVENT_PASS ? READING : WRITING,
			.value = bytes });
}

static void read_item(
	struct script *s, uint32_t tid, bool has_waited, uint64_t bytes, enum event_io io)
{
	if (has_waited) {
		uint64_t site = io == EVENT_IO_POLL ? POLLING : READING;
		send(s, (struct event){ .tid = tid,
				.kind = EVENT_WAIT,
				.what = WHAT_IO,
				.object = 5,
				.site = site,
				.value = io });
		s->now_ns += 20000;
		op(s, tid, EVENT_PASS, WHAT_IO, 5, site);
	}
	passed(s, tid, EVENT_PASS, bytes);
}

/* Main writes items and closes the pipe; two workers read one each time, and wait for each second one. */
static struct model *hand_out(uint64_t bytes_of_a_read, enum event_io io)
{
	struct script s = begin(2);
	for (uint64_t i = 0; i < ITEMS; i++) {
		work(&s, MAIN, 3000);
		passed(&s, MAIN, EVENT_RELEASE, ITEM_BYTES);
		read_item(&s, 1 + (uint32_t)i % 2, i % 4 < 2, i == 3 ? bytes_of_a_read : ITEM_BYTES,
			io);
		work(&s, 1 + (uint32_t)i % 2, 9000);
	}
	passed(&s, MAIN, EVENT_RELEASE, 0);
	for (uint32_t i = 1; i <= 2; i++)
		read_item(&s, i, true, 0, io);
	return finish(&s, 2);
}

static void check_queue(enum event_io io)
{
	AUTO(model) struct model *model = hand_out(ITEM_BYTES, io);
	assert_int_not_equal(model_find_parameter(model, "workers"), MODEL_NONE);
	assert_non_null(fragment_of(model, 0, MODEL_PUT));
	assert_non_null(fragment_of(model, 0, MODEL_CLOSE));
	assert_non_null(fragment_of(model, 1, MODEL_GET));
	assert_null(fragment_of(model, 1, MODEL_SLEEP)); /* the waits are the queue's */
	struct model_fit fit;
	assert_int_equal(model_fit_run(model, &fit), 0);
	assert_true(fit.is_known);
}

static void what_is_read_one_by_one_is_a_queue(void **state)
{
	(void)state;
	check_queue(EVENT_IO_PIPE);
}

static void so_is_what_is_polled_for_and_then_read(void **state)
{
	(void)state;
	check_queue(EVENT_IO_POLL);
}

static void what_is_read_in_pieces_of_any_size_is_none(void **state)
{
	(void)state;
	AUTO(model) struct model *model = hand_out(ITEM_BYTES - 3, EVENT_IO_PIPE);
	assert_null(fragment_of(model, 0, MODEL_PUT));
	assert_null(fragment_of(model, 1, MODEL_GET));
	assert_non_null(fragment_of(model, 1, MODEL_SLEEP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_one_by_one_is_a_queue),
		cmocka_unit_test(so_is_what_is_polled_for_and_then_read),
		cmocka_unit_test(what_is_read_in_pieces_of_any_size_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
