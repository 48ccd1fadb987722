/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel tells as a timeline: which files a process has mapped, by this one's own maps. */
#include "cmocka_all.h"

#include "base/clock.h"
#include "record/bpf_timeline.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 4096 };

struct seen {
	uint64_t address; /* looked for */
	unsigned modules; /* that have it */
};

static int look(void *context, const struct event *event, struct err *err)
{
	struct seen *seen = context;
	(void)err;
	if (event->kind == EVENT_NAME && event->what == WHAT_MODULE &&
		event->object <= seen->address && seen->address < event->value)
		seen->modules++;
	return 0;
}

/* Code of a file at a new address, as of a library that is loaded. */
static void *load(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	void *code = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(code != MAP_FAILED);
	close(fd);
	return code;
}

/* When it is read that a process executes a program, that may have loaded no library yet; then it blocks in one, and no more. */
static void code_that_comes_after_a_reading_is_found(void **state)
{
	(void)state;
	struct seen seen = { 0 };
	struct bpf_timeline timeline = { .sink = { .context = &seen, .event = look } };
	struct watch_event event = { .kind = WATCH_EXEC,
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.other = (uint32_t)getpid(),
		.time_ns = clock_now_ns(CLOCK_MONOTONIC) };
	assert_int_equal(bpf_timeline_take(&timeline, &event), 0);
	char *code = load();
	seen.address = event.site = (uintptr_t)code + 64;
	event.kind = WATCH_BLOCK;
	assert_int_equal(bpf_timeline_take(&timeline, &event),
		0); /* from before the reading: it has seen all of then */
	assert_int_equal(seen.modules, 0);
	event.time_ns = clock_now_ns(CLOCK_MONOTONIC);
	assert_int_equal(bpf_timeline_take(&timeline, &event), 0);
	assert_int_equal(seen.modules, 1);
	assert_int_equal(bpf_timeline_take(&timeline, &event), 0);
	assert_int_equal(seen.modules, 1);
	assert_int_equal(munmap(code, BYTES), 0);
	bpf_timeline_release(&timeline);
}

static int look_at_wait(void *context, const struct event *event, struct err *err)
{
	struct event *last = context;
	(void)err;
	if (event->kind == EVENT_WAIT)
		*last = *event;
	return 0;
}

/* Each thread may have opened the file by itself. */
static void locks_of_files_are_one_object_whatever_the_descriptor(void **state)
{
	(void)state;
	struct event last = { 0 };
	struct bpf_timeline timeline = { .sink = { .context = &last, .event = look_at_wait } };
	for (uint32_t i = 0; i < 2; i++) {
		struct watch_event event = {
			.kind = WATCH_START, .pid = 0x7ffffff0, .tid = 0x7ffffff0 + i
		};
		assert_int_equal(bpf_timeline_take(&timeline, &event), 0);
		event.kind = WATCH_BLOCK;
		event.syscall = SYS_flock;
		event.object = 5 + i;
		assert_int_equal(bpf_timeline_take(&timeline, &event), 0);
		assert_int_equal(last.tid, 0x7ffffff0 + i);
		assert_int_equal(last.what, WHAT_FUTEX);
		assert_int_equal(last.object, 1);
	}
	bpf_timeline_release(&timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_that_comes_after_a_reading_is_found),
		cmocka_unit_test(locks_of_files_are_one_object_whatever_the_descriptor),
	};
	return cmocka_run_group_tests_name("bpf_timeline", tests, NULL, NULL);
}
