/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The live account from what threads tell in shared memory: the test writes as the preload library does. */
#include "cmocka_all.h"

#include "record/preload_watch.h"
#include "preload/live_page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t MS = 1000000;

struct fixture {
	struct preload_watch *watch;
	struct live_file *file;
	struct bpf_snapshot snapshot;
	uint64_t begin_ns; /* a second ago: what is told of then is over */
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct err err;
	assert_non_null(f);
	if (preload_watch_new(&f->watch, &err) < 0) {
		print_message("%s\n", err.text);
		free(f);
		*state = NULL;
		return 0;
	}
	int fd = open(preload_watch_path(f->watch), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	f->file = mmap(NULL, sizeof *f->file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(f->file != MAP_FAILED);
	(void)close(fd);
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	f->begin_ns = (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec - 1000 * MS;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	if (!f)
		return 0;
	(void)munmap(f->file, sizeof *f->file);
	bpf_snapshot_release(&f->snapshot);
	AUTO_FREE char *path = strdup(preload_watch_path(f->watch));
	preload_watch_free(f->watch);
	free(f);
	return path && access(path, F_OK) < 0 ? 0 : -1; /* nothing is left */
}

static struct fixture *fixture_of(void **state)
{
	if (!*state)
		skip(); /* without the library */
	return *state;
}

static void begin_lane(struct fixture *f, uint32_t lane, pid_t pid, uint32_t tid)
{
	f->file->lanes[lane] = (struct live_lane){ .owner = (uint64_t)pid << 32 | tid };
	if (f->file->header.lanes <= lane)
		f->file->header.lanes = lane + 1;
}

static void tell(struct fixture *f, uint32_t lane, double ms, bool is_active)
{
	struct live_lane *l = &f->file->lanes[lane];
	uint64_t time_ns = f->begin_ns + (uint64_t)(ms * (double)MS);
	l->changes[l->count++ % LIVE_CHANGES] = time_ns << 1 | is_active;
}

static const struct watch_thread *find(const struct fixture *f, uint32_t tid)
{
	for (size_t i = 0; i < f->snapshot.count; i++)
		if (f->snapshot.threads[i].tid == tid)
			return &f->snapshot.threads[i];
	return NULL;
}

static void read_account(struct fixture *f)
{
	assert_int_equal(preload_watch_read(f->watch, &f->snapshot, NULL), 0);
}

static void time_is_shared_among_those_who_are_active(void **state)
{
	struct fixture *f = fixture_of(state);
	begin_lane(f, 0, getpid(), 101);
	begin_lane(f, 1, getpid(), 102);
	tell(f, 0, 0, true);
	tell(f, 1, 0, true);
	tell(f, 1, 10, false);
	tell(f, 1, 30, true);
	tell(f, 0, 40, false);
	tell(f, 1, 40, false);
	read_account(f);
	assert_int_equal(f->snapshot.count, 2);
	const struct watch_thread *first = find(f, 101), *second = find(f, 102);
	assert_int_equal(first->criticality >> WATCH_FRACTION_BITS, 30 * MS);
	assert_int_equal(second->criticality >> WATCH_FRACTION_BITS, 10 * MS);
	assert_int_equal(first->active_ns, 40 * MS);
	assert_int_equal(second->active_ns, 20 * MS);
	assert_int_equal(second->waits, 2);
	const struct watch_total *t = &f->snapshot.total;
	assert_int_equal((t->now_ns - t->start_ns - t->idle_ns) << WATCH_FRACTION_BITS,
		first->criticality + second->criticality + t->remainder);
}

static void who_is_active_now_is_seen_at_a_glance(void **state)
{
	struct fixture *f = fixture_of(state);
	struct bpf_glance glance;
	begin_lane(f, 0, getpid(), 101);
	begin_lane(f, 1, getpid(), 102);
	tell(f, 0, 0, true);
	tell(f, 1, 0, true);
	assert_int_equal(preload_watch_glance(f->watch, 102, &glance, NULL), 0);
	assert_true(glance.active == 2 && glance.only == 0 && glance.is_active);
	tell(f, 1, 5, false);
	assert_int_equal(preload_watch_glance(f->watch, 102, &glance, NULL), 0);
	assert_true(glance.active == 1 && glance.only == 101 && !glance.is_active);
}

static void what_is_told_late_is_taken_as_now(void **state)
{
	struct fixture *f = fixture_of(state);
	begin_lane(f, 0, getpid(), 101);
	tell(f, 0, 0, true);
	read_account(f);
	uint64_t before = find(f, 101)->criticality;
	tell(f, 0, 20, false); /* long past: it had been taken for active since */
	read_account(f);
	assert_int_equal(find(f, 101)->criticality, before);
	assert_false(find(f, 101)->is_active);
}

static void a_lane_is_free_again_when_its_thread_has_ended(void **state)
{
	struct fixture *f = fixture_of(state);
	begin_lane(f, 0, getpid(), 101);
	tell(f, 0, 0, true);
	tell(f, 0, 10, false);
	f->file->lanes[0].has_ended = 1;
	read_account(f);
	assert_true(find(f, 101)->has_ended);
	assert_int_equal(f->file->lanes[0].owner, 0);
	read_account(f);
	assert_null(find(f, 101));
	begin_lane(f, 0, getpid(), 103);
	tell(f, 0, 20, true);
	read_account(f);
	assert_true(find(f, 103)->is_active);
}

static void threads_of_a_killed_process_have_ended(void **state)
{
	struct fixture *f = fixture_of(state);
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	begin_lane(f, 0, child, (uint32_t)child);
	tell(f, 0, 0, true);
	read_account(f);
	assert_true(find(f, (uint32_t)child)->has_ended);
	assert_int_equal(f->snapshot.total.active, 0);
}

static void what_was_overwritten_is_counted(void **state)
{
	struct fixture *f = fixture_of(state);
	begin_lane(f, 0, getpid(), 101);
	for (int i = 0; i < 2 * LIVE_CHANGES; i++)
		tell(f, 0, i * 0.1, i % 2 == 0);
	tell(f, 0, 500, true);
	read_account(f);
	assert_in_range(f->snapshot.losses[WATCH_LOST_EVENT], LIVE_CHANGES, LIVE_CHANGES + 2);
	assert_true(find(f, 101)->is_active);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			time_is_shared_among_those_who_are_active, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			who_is_active_now_is_seen_at_a_glance, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_told_late_is_taken_as_now, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_lane_is_free_again_when_its_thread_has_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			threads_of_a_killed_process_have_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_overwritten_is_counted, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
