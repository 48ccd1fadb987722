/* SPDX-License-Identifier: GPL-3.0-or-later */
/* However a watcher ends, nothing of it stays in the kernel. */
#include "bpf_watching.h"
#include "cmocka_all.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { IDS_MAX = 64 };

/* The kernel's ids of the programs that a process holds. */
static size_t program_ids(pid_t pid, uint32_t ret[IDS_MAX])
{
	char path[300];
	(void)snprintf(path, sizeof path, "/proc/%d/fdinfo", (int)pid);
	DIR *folder = opendir(path);
	assert_non_null(folder);
	size_t count = 0;
	for (struct dirent *entry; (entry = readdir(folder));) {
		(void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)pid, entry->d_name);
		AUTO_FILE FILE *file = fopen(path, "re");
		char line[128];
		while (file && count < IDS_MAX && fgets(line, sizeof line, file))
			count += sscanf(line, "prog_id: %u", &ret[count]) == 1;
	}
	(void)closedir(folder);
	return count;
}

static bool is_loaded(uint32_t id)
{
	AUTO_FD int fd = bpf_prog_get_fd_by_id(id);
	return fd >= 0;
}

/* The kernel frees programs some time after they are closed. */
static void assert_unloaded(const uint32_t *ids, size_t count)
{
	assert_true(count > 0);
	for (size_t i = 0; i < count; i++) {
		for (int tries = 0; tries < 1000 && is_loaded(ids[i]); tries++)
			(void)nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		assert_false(is_loaded(ids[i]));
	}
}

static void a_freed_watch_leaves_nothing_in_the_kernel(void **state)
{
	(void)state;
	skip_without_bpf();
	struct bpf_watch *watch = open_watch(&(struct bpf_watch_opts){ .pid = getpid() });
	uint32_t ids[IDS_MAX];
	size_t count = program_ids(getpid(), ids);
	bpf_watch_free(watch);
	assert_unloaded(ids, count);
}

static void a_killed_watcher_leaves_nothing_in_the_kernel(void **state)
{
	(void)state;
	skip_without_bpf();
	int ready[2];
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)open_watch(&(struct bpf_watch_opts){ .pid = getpid() });
		(void)!write(ready[1], "x", 1);
		for (;;)
			(void)pause();
	}
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	uint32_t ids[IDS_MAX];
	size_t count = program_ids(pid, ids);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_unloaded(ids, count);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_freed_watch_leaves_nothing_in_the_kernel),
		cmocka_unit_test(a_killed_watcher_leaves_nothing_in_the_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
