/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Profiles of what a backend writes and of the timeline, and their files. */
#include "cmocka_all.h"

#include "profile_fixture.h"
#include "uarch/profile_store.h"

#include <errno.h>

enum { LOCK_SITE = 0x1000, UNLOCK_SITE = 0x2000 };

static uint64_t after_lock(void)
{
	return profile_stretch(EVENT_PASS, WHAT_MUTEX, LOCK_SITE);
}

static uint64_t after_unlock(void)
{
	return profile_stretch(EVENT_RELEASE, WHAT_MUTEX, UNLOCK_SITE);
}

static int import(const struct strbuf *raw, const void *timeline, size_t timeline_bytes,
	struct profile *ret, struct err *err)
{
	const struct profile_bytes a = { raw->text, raw->length };
	const struct profile_bytes b = { timeline, timeline_bytes };
	return profile_import(&a, &b, ret, err);
}

/* Two threads; the second one's records come first, and in parts. */
static void make_raw(struct strbuf *raw)
{
	const struct raw_code codes[] = { { .address = 64, .class = CODE_ALU },
		{ .address = 68, .class = CODE_MOVE, .flags = CODE_LOAD, .data_bytes = 8 } };
	const struct raw_reuse reuse[] = {
		{ after_lock(), 7, 1, PROFILE_PRIVATE, 4, 2, 2000 },
		{ PROFILE_START, 3, UINT32_MAX, PROFILE_FETCH, 1, 1, 10 },
		{ after_lock(), 7, 1, PROFILE_PRIVATE, 4, 1, 1000 },
		{ 12345, 7, 1, PROFILE_PRIVATE, 4, 5, 1000 }, /* of no class */
	};
	struct {
		struct raw_micro head;
		struct raw_op ops[2];
	} micro = { { after_lock(), 7, 2, 100 }, { { 0, 0, 1 }, { 0xabc, 1, 0 } } };
	const struct raw_branches branches = { after_lock(), 7, 2, 10, 4, 3, 1 };
	const struct raw_quality quality = { .writers = 1.5,
		.reuse_rate = 1000,
		.micro_period = 5,
		.micro_traces = 1,
		.unpaced = 42 };
	raw_begin(raw);
	for (int i = 0; i < 2; i++)
		raw_add(raw, RAW_CODE, &codes[i], sizeof codes[i]);
	raw_count(raw, 7, after_lock(), 300, CODE_ALU);
	raw_count(raw, 7, after_unlock(), 50, CODE_ALU);
	raw_count(raw, 3, PROFILE_START, 1000, CODE_MOVE);
	raw_count(raw, 7, after_lock(), 200, CODE_MOVE);
	raw_add(raw, RAW_REUSE, reuse, sizeof reuse);
	raw_add(raw, RAW_MICRO, &micro, sizeof micro);
	raw_add(raw, RAW_BRANCHES, &branches, sizeof branches);
	raw_add(raw, RAW_BRANCHES, &branches, sizeof branches);
	raw_thread(raw, 7, 8, 550);
	raw_thread(raw, 3, 5, 1000);
	raw_add(raw, RAW_QUALITY, &quality, sizeof quality);
	const struct raw_asks asks = { 64 };
	raw_add(raw, RAW_ASKS, &asks, sizeof asks);
	raw_add(raw, (enum raw_kind)99, "what a newer backend writes", 27);
	raw_add(raw, RAW_END, NULL, 0);
	assert_int_equal(strbuf_failed(raw), 0);
}

static void parts_add_up(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf raw = { 0 };
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	struct err err = { "" };
	make_raw(&raw);
	assert_int_equal(import(&raw, NULL, 0, &profile, &err), 0);
	assert_false(profile.quality.is_partial);
	assert_false(profile.quality.has_timeline);
	assert_string_equal(profile.quality.backend, "by hand");
	assert_int_equal(profile.ask_count, 1);
	assert_int_equal(profile.asks[0], 64);
	assert_int_equal(profile.thread_count, 2);
	assert_int_equal(profile.threads[0].tid, 5); /* by the backend's number */
	assert_int_equal(profile.threads[1].tid, 8);
	assert_int_equal(profile.class_count, 3);
	ptrdiff_t class = profile_find_class(&profile, 1, after_lock());
	assert_true(class > 0);
	assert_int_equal(profile.classes[class].instructions, 500);
	assert_int_equal(profile.classes[class].mix[CODE_ALU], 300);
	assert_int_equal(profile.classes[class].mix[CODE_MOVE], 200);
	const struct profile_branches *branches = &profile.classes[class].branches[2];
	assert_float_equal(branches->executions, 20, 0);
	assert_float_equal(branches->entropy, 0.4, 1e-12);
	assert_float_equal(branches->floor_entropy, 0.3, 1e-12);
	assert_float_equal(branches->missed, 0.1, 1e-12);
}

static void samples_belong_to_classes(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf raw = { 0 };
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	struct err err = { "" };
	make_raw(&raw);
	assert_int_equal(import(&raw, NULL, 0, &profile, &err), 0);
	ptrdiff_t class = profile_find_class(&profile, 1, after_lock());
	assert_int_equal(profile.reuse_count, 2);
	assert_int_equal(profile.reuse[0].code, PROFILE_NO_CODE); /* of the first thread's class */
	assert_int_equal(profile.reuse[1].class, class);
	assert_int_equal(profile.reuse[1].samples, 3);
	assert_float_equal(profile.reuse[1].count, 3000, 0);
	assert_int_equal(profile.quality.lost, 5); /* samples of no class */
	assert_int_equal(profile.micro_count, 1);
	assert_int_equal(profile.micro[0].class, class);
	assert_float_equal(profile.micro[0].weight, 500, 1e-9); /* it stands for the whole class */
	assert_int_equal(profile.micro[0].ops[1].address, 0xabc);
	assert_int_equal(profile.micro[0].ops[0].taken, 1);
}

/* 100 instructions of one class, traces at 10 and 50: halfway is 30. */
static void a_trace_stands_for_what_is_nearest(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf raw = { 0 };
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	struct err err = { "" };
	const struct raw_code code = { .class = CODE_ALU };
	struct {
		struct raw_micro head;
		struct raw_op op;
	} micro = { { .count = 1 }, { 0 } };
	raw_begin(&raw);
	raw_add(&raw, RAW_CODE, &code, sizeof code);
	raw_count(&raw, 0, PROFILE_START, 100, CODE_ALU);
	micro.head.class_at = 50;
	raw_add(&raw, RAW_MICRO, &micro, sizeof micro);
	micro.head.class_at = 10;
	raw_add(&raw, RAW_MICRO, &micro, sizeof micro);
	assert_int_equal(import(&raw, NULL, 0, &profile, &err), 0);
	assert_int_equal(profile.micro_count, 2);
	assert_float_equal(profile.micro[0].weight, 30, 1e-9);
	assert_float_equal(profile.micro[1].weight, 70, 1e-9);
}

/* 2,000 threads, of which two in three lock. */
static void thousands_of_threads_are_counted_with_those_like_them(void **state)
{
	(void)state;
	enum { THREADS = 2000 };
	AUTO_RELEASE(strbuf) struct strbuf raw = { 0 };
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	struct err err = { "" };
	raw_begin(&raw);
	for (uint32_t i = 0; i < THREADS; i++) {
		raw_count(&raw, i, PROFILE_START, 10, CODE_ALU);
		if (i % 3 > 0)
			raw_count(&raw, i, after_lock(), i, CODE_MOVE);
		raw_thread(&raw, i, i + 1, 10);
	}
	assert_int_equal(import(&raw, NULL, 0, &profile, &err), 0);
	assert_int_equal(profile.thread_count, THREADS);
	assert_int_equal(profile.class_count, 3);
	ptrdiff_t class = profile_find_class(&profile, 1999, after_lock());
	assert_int_equal(profile.classes[class].thread, 1);
	uint64_t sum = 0;
	for (uint32_t i = 0; i < THREADS; i++)
		sum += i % 3 > 0 ? i : 0;
	assert_int_equal(profile.classes[class].instructions, sum);
	assert_int_equal(profile.classes[class].system_ns, 10 * sum);
	assert_int_equal(profile_find_class(&profile, 1998, after_lock()), -ENOENT);
	AUTO_RELEASE(profile) struct profile again = { 0 };
	AUTO_FREE void *bytes = NULL;
	size_t count = 0;
	assert_int_equal(profile_write(&profile, &bytes, &count, &err), 0);
	assert_int_equal(profile_read(bytes, count, "a.ccp", &again, &err), 0);
	assert_memory_equal(again.threads, profile.threads, THREADS * sizeof *profile.threads);
}

static void what_a_kill_leaves_is_partial(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf raw = { 0 };
	struct err err = { "" };
	make_raw(&raw);
	size_t whole = raw.length;
	for (raw.length = 0; raw.length < whole; raw.length++) {
		AUTO_RELEASE(profile) struct profile profile = { 0 };
		int code = import(&raw, NULL, 0, &profile, &err);
		assert_int_equal(code, raw.length < sizeof(struct raw_header) ? -EINVAL : 0);
		if (code == 0)
			assert_true(profile.quality.is_partial);
	}
	raw.length = whole;
}

static void what_cannot_be_is_refused_with_its_place(void **state)
{
	(void)state;
	static const struct raw_reuse no_bin = { .bin = REUSE_BINS };
	static const struct raw_code no_class = { .class = CODE_CLASSES };
	static const struct raw_micro too_few = { .count = 3 };
	static const struct raw_branches below_zero = { .executions = -1 };
	const struct {
		enum raw_kind kind;
		const void *payload;
		size_t bytes;
	} bad[] = {
		{ RAW_REUSE, &no_bin, sizeof no_bin },
		{ RAW_REUSE, &no_bin, sizeof no_bin - 8 },
		{ RAW_CODE, &no_class, sizeof no_class },
		{ RAW_MICRO, &too_few, sizeof too_few },
		{ RAW_BRANCHES, &below_zero, sizeof below_zero },
		{ RAW_COUNTS, "", 0 },
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		AUTO_RELEASE(strbuf) struct strbuf raw = { 0 };
		AUTO_RELEASE(profile) struct profile profile = { 0 };
		struct err err = { "" };
		raw_begin(&raw);
		raw_add(&raw, bad[i].kind, bad[i].payload, bad[i].bytes);
		assert_int_equal(import(&raw, NULL, 0, &profile, &err), -EINVAL);
		assert_non_null(strstr(err.text, "at byte 48"));
	}
}

/* Thread 8 of process 1 locks, unlocks and ends; its number is given to another, which is not in the profile. */
static void *make_timeline(size_t *ret_bytes)
{
	static const struct event events[] = {
		{ .time_ns = 1, .cpu_ns = 1, .pid = 1, .tid = 5, .kind = EVENT_THREAD_START },
		{ .time_ns = 2, .cpu_ns = 1, .pid = 1, .tid = 8, .kind = EVENT_THREAD_START },
		{ .time_ns = 3,
			.cpu_ns = 1,
			.pid = 1,
			.tid = 8,
			.kind = EVENT_WAIT,
			.what = WHAT_MUTEX,
			.object = 9,
			.site = LOCK_SITE },
		{ .time_ns = 9,
			.cpu_ns = 1,
			.pid = 1,
			.tid = 8,
			.kind = EVENT_PASS,
			.what = WHAT_MUTEX,
			.object = 9,
			.site = LOCK_SITE,
			.flags = EVENT_WAITED },
		{ .time_ns = 10,
			.cpu_ns = 501,
			.pid = 1,
			.tid = 8,
			.kind = EVENT_RELEASE,
			.what = WHAT_MUTEX,
			.object = 9,
			.site = UNLOCK_SITE },
		{ .time_ns = 11, .cpu_ns = 551, .pid = 1, .tid = 8, .kind = EVENT_THREAD_EXIT },
		{ .time_ns = 12, .cpu_ns = 1, .pid = 1, .tid = 8, .kind = EVENT_THREAD_START },
		{ .time_ns = 13, .cpu_ns = 90, .pid = 1, .tid = 8, .kind = EVENT_THREAD_EXIT },
		{ .time_ns = 14, .cpu_ns = 1001, .pid = 1, .tid = 5, .kind = EVENT_THREAD_EXIT },
	};
	return timeline_of(events, sizeof events / sizeof events[0], ret_bytes);
}

static void classes_get_their_events_from_the_timeline(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf raw = { 0 };
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	struct err err = { "" };
	size_t bytes = 0;
	make_raw(&raw);
	AUTO_FREE void *timeline = make_timeline(&bytes);
	assert_int_equal(import(&raw, timeline, bytes, &profile, &err), 0);
	assert_true(profile.quality.has_timeline);
	assert_memory_equal(profile.timeline, timeline, bytes);
	const struct profile_class *class =
		&profile.classes[profile_find_class(&profile, 1, after_lock())];
	assert_int_equal(class->kind, EVENT_PASS);
	assert_int_equal(class->what, WHAT_MUTEX);
	assert_int_equal(class->site, LOCK_SITE);
	assert_int_equal(class->stretches, 1);
	class = &profile.classes[profile_find_class(&profile, 1, after_unlock())];
	assert_int_equal(class->kind, EVENT_RELEASE);
	assert_int_equal(class->site, UNLOCK_SITE);
	assert_int_equal(profile.quality.unmatched, 1); /* of the thread that nobody counted */
}

static void assert_same(const struct profile *a, const struct profile *b)
{
	assert_string_equal(a->command, b->command);
	assert_memory_equal(&a->quality, &b->quality, sizeof a->quality);
	assert_int_equal(a->thread_count, b->thread_count);
	assert_memory_equal(a->threads, b->threads, a->thread_count * sizeof *a->threads);
	assert_int_equal(a->class_count, b->class_count);
	assert_memory_equal(a->classes, b->classes, a->class_count * sizeof *a->classes);
	assert_int_equal(a->code_count, b->code_count);
	assert_memory_equal(a->codes, b->codes, a->code_count * sizeof *a->codes);
	assert_int_equal(a->reuse_count, b->reuse_count);
	assert_memory_equal(a->reuse, b->reuse, a->reuse_count * sizeof *a->reuse);
	assert_int_equal(a->micro_count, b->micro_count);
	for (size_t i = 0; i < a->micro_count; i++) {
		assert_int_equal(a->micro[i].class, b->micro[i].class);
		assert_int_equal(a->micro[i].count, b->micro[i].count);
		assert_float_equal(a->micro[i].weight, b->micro[i].weight, 0);
		assert_memory_equal(a->micro[i].ops, b->micro[i].ops,
			a->micro[i].count * sizeof *a->micro[i].ops);
	}
	assert_int_equal(a->timeline_bytes, b->timeline_bytes);
	assert_memory_equal(a->timeline, b->timeline, a->timeline_bytes);
}

static void make_profile(struct profile *ret)
{
	AUTO_RELEASE(strbuf) struct strbuf raw = { 0 };
	struct err err = { "" };
	size_t bytes = 0;
	make_raw(&raw);
	AUTO_FREE void *timeline = make_timeline(&bytes);
	assert_int_equal(import(&raw, timeline, bytes, ret, &err), 0);
	ret->command = strdup("./app 'it''s'");
	ret->quality.profiled_s = 1.25;
	strcpy(ret->quality.asking, "libapp.so");
	ret->quality.asking_share = 0.75;
}

static void a_file_holds_all_of_a_profile(void **state)
{
	(void)state;
	AUTO_RELEASE(profile) struct profile before = { 0 }, after = { 0 };
	AUTO_FREE void *bytes = NULL;
	AUTO_FREE void *again = NULL;
	size_t count = 0, count_again = 0;
	struct err err = { "" };
	make_profile(&before);
	assert_int_equal(profile_write(&before, &bytes, &count, &err), 0);
	assert_true(profile_is_file(bytes, count));
	assert_int_equal(profile_read(bytes, count, "a.ccp", &after, &err), 0);
	assert_same(&before, &after);
	assert_true(before.quality.writers == 1.5 && after.quality.writers == 1.5);
	assert_int_equal(after.quality.unpaced, 42);
	assert_int_equal(profile_write(&after, &again, &count_again, &err), 0);
	assert_int_equal(count, count_again);
	assert_memory_equal(bytes, again, count);
}

/* Written as by another version: the row of `meta` has the number behind its key. */
static void set_version(unsigned char *bytes, size_t count, unsigned char version)
{
	static const unsigned char row[] = { 'v', 'e', 'r', 's', 'i', 'o', 'n', PROFILE_VERSION };
	unsigned char *found = memmem(bytes, count, row, sizeof row);
	assert_non_null(found);
	found[sizeof row - 1] = version;
}

static void versions_that_nobody_reads_are_refused_by_number(void **state)
{
	(void)state;
	const struct {
		unsigned char version;
		const char *text;
	} refused[] = { { PROFILE_VERSION_OLDEST - 1,
				"of version 1, and this corecast reads 2 to 4" },
		{ PROFILE_VERSION + 1, "of version 5, and this corecast reads 2 to 4" } };
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		AUTO_RELEASE(profile) struct profile profile = { 0 }, read = { 0 };
		AUTO_FREE void *bytes = NULL;
		size_t count = 0;
		struct err err = { "" };
		make_profile(&profile);
		assert_int_equal(profile_write(&profile, &bytes, &count, &err), 0);
		set_version(bytes, count, refused[i].version);
		assert_int_equal(profile_read(bytes, count, "a.ccp", &read, &err), -EINVAL);
		assert_non_null(strstr(err.text, "'a.ccp'"));
		assert_non_null(strstr(err.text, refused[i].text));
	}
}

/* It has no history of 12 outcomes, and what came behind that has other numbers. */
static void a_profile_of_version_3_is_read(void **state)
{
	(void)state;
	AUTO_RELEASE(profile) struct profile profile = { 0 }, read = { 0 };
	AUTO_FREE void *bytes = NULL;
	size_t count = 0;
	struct err err = { "" };
	make_profile(&profile);
	struct profile_branches *branches = profile.classes[0].branches;
	memset(branches, 0, sizeof profile.classes[0].branches);
	branches[RAW_NEAR] = (struct profile_branches){ .executions = 100, .missed = 0.25 };
	branches[RAW_FAR] = (struct profile_branches){ .executions = 100, .missed = 0.75 };
	branches[RAW_CHOICE - 1] = (struct profile_branches){ .executions = 100, .missed = 0.125 };
	assert_int_equal(profile_write(&profile, &bytes, &count, &err), 0);
	set_version(bytes, count, 3);
	if (profile_read(bytes, count, "a.ccp", &read, &err) != 0)
		fail_msg("%s", err.text);
	branches = read.classes[0].branches;
	assert_true(branches[RAW_NEAR].missed == 0.25 && branches[RAW_FAR].missed == 0.75);
	assert_true(branches[RAW_MIDDLE].missed == 0.5);
	assert_true(
		branches[RAW_CHOICE].missed == 0.125 && branches[RAW_NEAR_CHOICE].missed == 0.125);
}

/* Each byte of the file's first pages, which hold the schema; then cuts of the file. */
static void damaged_files_are_refused_or_read(void **state)
{
	(void)state;
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	AUTO_FREE unsigned char *bytes = NULL;
	size_t count = 0;
	struct err err = { "" };
	make_profile(&profile);
	assert_int_equal(profile_write(&profile, (void **)&bytes, &count, &err), 0);
	size_t refused = 0;
	for (size_t i = 0; i < count; i += i < 8192 ? 7 : 613) {
		AUTO_RELEASE(profile) struct profile read = { 0 };
		bytes[i] ^= 0x55;
		err.text[0] = '\0';
		int code = profile_read(bytes, count, "a.ccp", &read, &err);
		bytes[i] ^= 0x55;
		refused += code < 0;
		if (code < 0)
			assert_non_null(strstr(err.text, "a.ccp"));
	}
	assert_true(refused > 10);
	for (size_t cut = 0; cut < count; cut += 1024) {
		AUTO_RELEASE(profile) struct profile read = { 0 };
		assert_true(profile_read(bytes, cut, "a.ccp", &read, &err) < 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_add_up),
		cmocka_unit_test(samples_belong_to_classes),
		cmocka_unit_test(a_trace_stands_for_what_is_nearest),
		cmocka_unit_test(thousands_of_threads_are_counted_with_those_like_them),
		cmocka_unit_test(what_a_kill_leaves_is_partial),
		cmocka_unit_test(what_cannot_be_is_refused_with_its_place),
		cmocka_unit_test(classes_get_their_events_from_the_timeline),
		cmocka_unit_test(a_file_holds_all_of_a_profile),
		cmocka_unit_test(versions_that_nobody_reads_are_refused_by_number),
		cmocka_unit_test(a_profile_of_version_3_is_read),
		cmocka_unit_test(damaged_files_are_refused_or_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
