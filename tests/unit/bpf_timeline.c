/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel tells as a timeline: which files a process has mapped, by this one's own maps. */
#include "cmocka_all.h"

#include "base/clock.h"
#include "record/bpf_timeline.h"

#include <fcntl.h>
#include <sys/mman.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_that_comes_after_a_reading_is_found),
	};
	return cmocka_run_group_tests_name("bpf_timeline", tests, NULL, NULL);
}
