/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descendants from /proc/PID/stat: pairs of process and parent, then those whose chain of parents
 * leads to the root.
 */
#include "collect/tree.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "collect/sched_wait.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct family {
	pid_t pid;
	pid_t parent;
};

void tree_release(struct tree *tree)
{
	free(tree->pids);
	*tree = (struct tree){ 0 };
}

/* The parent of a living (not yet zombie) process; 0 if there is none. */
static pid_t living_parent(pid_t pid)
{
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid); /* fits */
	AUTO_FILE FILE *f = fopen(path, "re");
	char line[512];
	if (!f || !fgets(line, sizeof line, f))
		return 0;
	/* "PID (name) STATE PPID ...": the name may contain anything, so look for the last ')'.
	   proc(5) numbers the fields: 3 is the state, 4 the parent, 20 the number of threads. */
	const char *after_name = strrchr(line, ')');
	char state;
	int parent, threads;
	if (!after_name ||
		sscanf(after_name + 1,
			" %c %d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %d",
			&state, &parent, &threads) != 3)
		return 0;
	/* A first thread that has ended before the others shows as a zombie too. */
	bool has_ended = state == 'Z' && threads <= 1;
	return has_ended ? 0 : parent;
}

static int read_families(struct family **ret, size_t *ret_count)
{
	DIR *proc = opendir("/proc");
	if (!proc)
		return -errno;
	AUTO_FREE struct family *all = NULL;
	size_t count = 0, capacity = 0;
	int status = 0;
	const struct dirent *entry;
	while (status == 0 && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid_t pid = (pid_t)atol(entry->d_name);
		pid_t parent = living_parent(pid);
		if (parent == 0)
			continue;
		status = mem_grow(&all, &capacity, count + 1, sizeof *all);
		if (status == 0)
			all[count++] = (struct family){ pid, parent };
	}
	(void)closedir(proc); /* read only */
	if (status < 0)
		return status;
	*ret = TAKE(all);
	*ret_count = count;
	return 0;
}

static bool contains(const struct tree *tree, pid_t pid)
{
	for (size_t i = 0; tree && i < tree->count; i++)
		if (tree->pids[i] == pid)
			return true;
	return false;
}

static int append(struct tree *tree, pid_t pid)
{
	int status = mem_grow(&tree->pids, &tree->capacity, tree->count + 1, sizeof *tree->pids);
	if (status == 0)
		tree->pids[tree->count++] = pid;
	return status;
}

int tree_read(struct tree *tree, pid_t root)
{
	AUTO_FREE struct family *all = NULL;
	size_t all_count = 0;
	int status = read_families(&all, &all_count);
	if (status < 0)
		return status;
	tree->count = 0;
	/* Breadth first: the children of the root, then those of each process found. */
	for (size_t at = 0; at <= tree->count; at++) {
		pid_t parent = at == 0 ? root : tree->pids[at - 1];
		for (size_t i = 0; i < all_count; i++)
			if (all[i].parent == parent && append(tree, all[i].pid) < 0)
				return -ENOMEM;
	}
	return 0;
}

static void add_busy(pid_t pid, struct tree_busy *busy)
{
	clockid_t clock;
	struct timespec used;
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return; /* gone */
	busy->run_ns += (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	busy->wait_ns += sched_wait_living_ns(pid);
}

int tree_busy(pid_t root, struct tree_busy *ret)
{
	AUTO_RELEASE(tree) struct tree tree = { 0 };
	int code = tree_read(&tree, root);
	if (code < 0)
		return code;
	*ret = (struct tree_busy){ 0 };
	add_busy(root, ret);
	for (size_t i = 0; i < tree.count; i++)
		add_busy(tree.pids[i], ret);
	return 0;
}

/* Signals what is not spared; returns how many processes that were. */
static size_t signal_all(const struct tree *spared, int signal_number)
{
	AUTO_RELEASE(tree) struct tree tree = { 0 };
	if (tree_read(&tree, getpid()) < 0)
		return 0;
	size_t signalled = 0;
	for (size_t i = 0; i < tree.count; i++)
		if (!contains(spared, tree.pids[i]) && kill(tree.pids[i], signal_number) == 0)
			signalled++;
	return signalled;
}

void tree_signal(const struct tree *spared, int signal_number)
{
	(void)signal_all(spared, signal_number); /* nothing to do about those that are gone */
}

static void reap_ended(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

size_t tree_kill(const struct tree *spared)
{
	size_t total = 0;
	/* Killing can make new orphans and a process may fork meanwhile: again until none is left.
	   A process in an uninterruptible wait dies later; it must not hold us for ever. */
	for (int round = 0; round < 200; round++) {
		size_t killed = signal_all(spared, SIGKILL);
		reap_ended();
		if (killed == 0)
			break;
		if (killed > total)
			total = killed;
		(void)nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL); /* 5 ms */
	}
	reap_ended();
	return total;
}
