/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/alteration.h"

#include "base/cleanup.h"
#include "base/readfile.h"
#include "collect/tree.h"
#include "preload/tune_page.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* As in sched_setattr(2): the kernel's header for it and the C library's <sched.h> exclude one another. */
struct sched_attributes {
	uint32_t size, sched_policy;
	uint64_t sched_flags;
	int32_t sched_nice;
	uint32_t sched_priority;
	uint64_t sched_runtime, sched_deadline, sched_period;
	uint32_t sched_util_min, sched_util_max;
};

int task_start_ticks(pid_t pid, pid_t tid, uint64_t *ret)
{
	char path[64], line[1024];
	if (tid)
		(void)snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid); /* fits */
	else
		(void)snprintf(path, sizeof path, "/proc/%d/stat", pid); /* fits */
	if (readfile_line("", path, line, sizeof line) < 0)
		return -ESRCH;
	/* "PID (name) STATE ...", field 22 of proc(5); the name may contain anything. */
	const char *after_name = strrchr(line, ')');
	unsigned long long ticks;
	if (!after_name || sscanf(after_name + 1,
				   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
				   "%*d %*d %*d %*d %llu",
				   &ticks) != 1)
		return -ESRCH;
	*ret = ticks;
	return 0;
}

static uint64_t now_ticks(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_BOOTTIME, &now); /* cannot fail */
	uint64_t per_s = (uint64_t)sysconf(_SC_CLK_TCK);
	return (uint64_t)now.tv_sec * per_s + (uint64_t)now.tv_nsec * per_s / 1000000000;
}

static int begin(enum alteration_kind kind, pid_t pid, pid_t tid, struct alteration *ret)
{
	*ret = (struct alteration){
		.kind = kind, .pid = pid, .tid = tid, .made_ticks = now_ticks()
	};
	return task_start_ticks(pid, tid, &ret->start_ticks);
}

static int get_attr(pid_t tid, struct sched_attributes *ret)
{
	memset(ret, 0, sizeof *ret);
	return syscall(SYS_sched_getattr, tid, ret, sizeof *ret, 0) < 0 ? -errno : 0;
}

static int set_attr(pid_t tid, struct sched_attributes *attr)
{
	attr->size = sizeof *attr;
	return syscall(SYS_sched_setattr, tid, attr, 0) < 0 ? -errno : 0;
}

/* Of what the scheduler knows of a thread, which is also told. */
static int begin_scheduled(enum alteration_kind kind, pid_t pid, pid_t tid,
	struct sched_attributes *ret_attr, struct alteration *ret)
{
	int code = begin(kind, pid, tid, ret);
	if (code == 0)
		code = get_attr(tid, ret_attr);
	if (code == 0)
		ret->policy = ret_attr->sched_policy;
	return code;
}

/* What a thread that it starts gets; who may set it may not always unset it: sched(7). */
static int set_private(const struct alteration *a, bool is_private)
{
	struct sched_attributes attr = { .sched_policy = a->policy,
		.sched_flags =
			SCHED_FLAG_KEEP_PARAMS | (is_private ? SCHED_FLAG_RESET_ON_FORK : 0) };
	return set_attr(a->tid, &attr);
}

int alteration_of_nice(pid_t pid, pid_t tid, int value, struct alteration *ret)
{
	struct sched_attributes attr;
	int code = begin_scheduled(ALTERATION_NICE, pid, tid, &attr, ret);
	if (code < 0)
		return code;
	if (attr.sched_policy != SCHED_NORMAL && attr.sched_policy != SCHED_BATCH)
		return -EOPNOTSUPP;
	ret->value_before = attr.sched_nice;
	ret->value = value;
	/* The kernel would give a new thread 0 in the place of a value below it. */
	ret->is_private = value < 0 && attr.sched_nice == 0 && geteuid() == 0 &&
			  !(attr.sched_flags & SCHED_FLAG_RESET_ON_FORK);
	return ret->value == ret->value_before ? -EALREADY : 0;
}

int alteration_of_clamp(pid_t pid, pid_t tid, int value, struct alteration *ret)
{
	struct sched_attributes attr;
	int code = begin_scheduled(ALTERATION_CLAMP, pid, tid, &attr, ret);
	if (code < 0)
		return code;
	ret->value_before = (int32_t)attr.sched_util_min;
	ret->value = value;
	return ret->value == ret->value_before ? -EALREADY : 0;
}

int alteration_of_cores(pid_t pid, pid_t tid, struct alteration *ret)
{
	int code = begin(ALTERATION_CORES, pid, tid, ret);
	if (code < 0)
		return code;
	if (sched_getaffinity(tid ? tid : pid, sizeof ret->mask_before,
		    (cpu_set_t *)(void *)ret->mask_before) < 0)
		return -errno;
	return 0;
}

int alteration_of_file(const char *path, const char *text, struct alteration *ret)
{
	*ret = (struct alteration){ .kind = ALTERATION_FILE };
	if (strlen(path) >= sizeof ret->path || strlen(text) >= sizeof ret->text)
		return -ENAMETOOLONG;
	memcpy(ret->path, path, strlen(path) + 1);
	memcpy(ret->text, text, strlen(text) + 1);
	int code = readfile_line("", path, ret->text_before, sizeof ret->text_before);
	if (code < 0)
		return code;
	return strcmp(ret->text, ret->text_before) == 0 ? -EALREADY : 0;
}

static int with_path(enum alteration_kind kind, const char *path, struct alteration *ret)
{
	*ret = (struct alteration){ .kind = kind };
	if (strlen(path) >= sizeof ret->path)
		return -ENAMETOOLONG;
	memcpy(ret->path, path, strlen(path) + 1);
	return 0;
}

int alteration_of_group(const char *path, struct alteration *ret)
{
	return with_path(ALTERATION_GROUP, path, ret);
}

int alteration_of_page(const char *path, struct alteration *ret)
{
	return with_path(ALTERATION_PAGE, path, ret);
}

/* Who waits looks again by itself. */
static void revert_page(const struct alteration *a)
{
	AUTO_FD int fd = open(a->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	uint32_t any = 0;
	if (fd < 0)
		return; /* removed already */
	(void)!pwrite(fd, &any, sizeof any, offsetof(struct tune_page, threads)); /* best effort */
	(void)unlink(a->path); /* as above */
}

static int set_nice(pid_t tid, int value)
{
	return setpriority(PRIO_PROCESS, (id_t)tid, value) < 0 ? -errno : 0;
}

static int set_clamp(pid_t tid, int value)
{
	struct sched_attributes attr = { .sched_flags =
						 SCHED_FLAG_KEEP_ALL | SCHED_FLAG_UTIL_CLAMP_MIN,
		.sched_util_min = (uint32_t)value };
	return set_attr(tid, &attr);
}

static int set_value(enum alteration_kind kind, pid_t tid, int value)
{
	return kind == ALTERATION_NICE ? set_nice(tid, value) : set_clamp(tid, value);
}

static int write_file(const char *path, const char *text)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t length = (ssize_t)strlen(text), written = write(fd, text, (size_t)length);
	return written == length ? 0 : written < 0 ? -errno : -EIO;
}

int alteration_make(const struct alteration *a)
{
	if (a->kind == ALTERATION_GROUP)
		return mkdir(a->path, 0755) < 0 && errno != EEXIST ? -errno : 0;
	if (a->kind == ALTERATION_FILE)
		return write_file(a->path, a->text);
	if (a->kind != ALTERATION_NICE && a->kind != ALTERATION_CLAMP)
		return 0;
	int code = a->is_private ? set_private(a, true) : 0;
	return code < 0 ? code : set_value(a->kind, a->tid, a->value);
}

/* Calls `act` for each thread of a process. */
static void each_thread(const struct alteration *a, pid_t pid,
	void (*act)(const struct alteration *a, pid_t pid, pid_t tid))
{
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/task", pid); /* fits */
	DIR *folder = opendir(path);
	const struct dirent *entry;
	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			act(a, pid, (pid_t)strtol(entry->d_name, NULL, 10));
	if (folder)
		(void)closedir(folder); /* read only */
}

static void each_descendant(
	const struct alteration *a, void (*act)(const struct alteration *a, pid_t pid, pid_t tid))
{
	AUTO_RELEASE(tree) struct tree tree = { 0 };
	if (tree_read(&tree, a->pid) < 0)
		return; /* without memory or /proc there is nobody to be found */
	for (size_t i = 0; i < tree.count; i++)
		each_thread(a, tree.pids[i], act);
}

static int value_of(enum alteration_kind kind, pid_t tid, int *ret)
{
	struct sched_attributes attr;
	int code = get_attr(tid, &attr);
	if (code == 0)
		*ret = kind == ALTERATION_NICE ? attr.sched_nice : (int)attr.sched_util_min;
	return code;
}

/* A thread that was started by a changed one meanwhile. */
static void revert_inherited(const struct alteration *a, pid_t pid, pid_t tid)
{
	int value;
	uint64_t ticks;
	if (tid != a->tid && value_of(a->kind, tid, &value) == 0 && value == a->value &&
		task_start_ticks(pid, tid, &ticks) == 0 && ticks >= a->made_ticks)
		(void)set_value(a->kind, tid, a->value_before); /* it may have ended */
}

static void revert_value(const struct alteration *a)
{
	int value;
	uint64_t ticks;
	bool is_there = task_start_ticks(a->pid, a->tid, &ticks) == 0 && ticks == a->start_ticks;
	if (is_there && value_of(a->kind, a->tid, &value) == 0 && value == a->value)
		(void)set_value(a->kind, a->tid, a->value_before); /* it may have ended */
	if (is_there && a->is_private)
		(void)set_private(a, false); /* as above */
	if (a->is_private)
		return;
	each_thread(a, a->pid, revert_inherited);
	each_descendant(a, revert_inherited);
}

static void revert_cores_of(const struct alteration *a, pid_t pid, pid_t tid)
{
	(void)pid;
	(void)sched_setaffinity(tid, sizeof a->mask_before, /* it may have ended */
		(const cpu_set_t *)(const void *)a->mask_before);
}

static void revert_cores(const struct alteration *a)
{
	uint64_t ticks;
	if (task_start_ticks(a->pid, a->tid, &ticks) < 0 || ticks != a->start_ticks)
		return;
	if (a->tid)
		revert_cores_of(a, a->pid, a->tid);
	else
		each_thread(a, a->pid, revert_cores_of);
	if (a->is_of_tree)
		each_descendant(a, revert_cores_of);
}

/* One thread for each write is what the kernel takes. How many were moved. */
static size_t empty_group(const char *group, const char *above, const char *list)
{
	char from[ALTERATION_PATH_BYTES + 32], to[ALTERATION_PATH_BYTES + 32], line[32];
	size_t moved = 0;
	(void)snprintf(from, sizeof from, "%s/%s", group, list); /* fits, as the next */
	(void)snprintf(to, sizeof to, "%s/%s", above, list);
	AUTO_FILE FILE *file = readfile_open("", from);
	while (file && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		moved += write_file(to, line) == 0; /* it may have ended */
	}
	return moved;
}

/* Threads are started while we look, in the group: until there are none. */
static void revert_group(const struct alteration *a)
{
	enum { PASSES = 100 };
	char above[ALTERATION_PATH_BYTES];
	memcpy(above, a->path, sizeof above);
	char *slash = strrchr(above, '/');
	if (!slash)
		return;
	*slash = '\0';
	for (int i = 0; i < PASSES; i++)
		if (empty_group(a->path, above, "tasks") +
				empty_group(a->path, above, "cgroup.threads") ==
			0)
			break;
	(void)rmdir(a->path); /* nobody is left to hear of it */
}

void alteration_revert(const struct alteration *a)
{
	if (a->kind == ALTERATION_FILE)
		(void)write_file(a->path, a->text_before); /* nobody is left to hear of it */
	else if (a->kind == ALTERATION_PAGE)
		revert_page(a);
	else if (a->kind == ALTERATION_GROUP)
		revert_group(a);
	else if (a->kind == ALTERATION_CORES)
		revert_cores(a);
	else if (a->kind != ALTERATION_NONE)
		revert_value(a);
}
