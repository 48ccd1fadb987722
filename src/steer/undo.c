/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/undo.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static const char SUFFIX[] = ".undo";
static const uint64_t MAGIC = 0x6f646e7563630001; /* with the layout's version */
enum { WATCHDOG_TRIES = 100, WATCHDOG_PAUSE_MS = 10 };

struct undo_head {
	uint64_t magic;
	int32_t owner; /* our process */
	uint32_t unused;
};

struct undo_file {
	struct undo_head head;
	struct alteration changes[UNDO_CHANGES_MAX]; /* kind is set last and cleared last */
};

struct undo {
	char *path;
	int fd; /* locked */
	int pipe_fd; /* its end is what the watchdog waits for */
	pid_t watchdog;
	struct undo_file *file;
};

static int default_folder(char **ret)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int n = runtime && *runtime == '/' ? asprintf(ret, "%s/corecast", runtime)
		: geteuid() == 0           ? asprintf(ret, "/run/corecast")
					   : asprintf(ret, "/tmp/corecast-%u", geteuid());
	return n < 0 ? -ENOMEM : 0;
}

/* What lies in it is done to processes: it must be ours alone. */
static int make_folder(const char *folder, struct err *err)
{
	struct stat status;
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno,
			"cannot create '%s', where changes are written down: %s", folder,
			strerror(errno));
	if (lstat(folder, &status) < 0)
		return err_set(err, -errno, "cannot look at '%s': %s", folder, strerror(errno));
	if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 022) != 0)
		return err_set(err, -EPERM,
			"'%s', where changes are written down, can be written by others: remove it",
			folder);
	return 0;
}

static int get_folder(const char *folder, char **ret, struct err *err)
{
	AUTO_FREE char *name = NULL;
	int code = 0;
	if (folder)
		name = strdup(folder);
	else
		code = default_folder(&name);
	if (code < 0 || !name)
		return err_set(err, -ENOMEM, "out of memory");
	code = make_folder(name, err);
	if (code < 0)
		return code;
	*ret = TAKE(name);
	return 0;
}

static void revert_all(struct undo_file *file)
{
	for (size_t i = UNDO_CHANGES_MAX; i-- > 0;) {
		struct alteration *change = &file->changes[i];
		if (__atomic_load_n(&change->kind, __ATOMIC_ACQUIRE) == ALTERATION_NONE)
			continue;
		alteration_revert(change);
		__atomic_store_n(&change->kind, ALTERATION_NONE, __ATOMIC_RELEASE);
	}
}

static void *map_file(int fd)
{
	void *mapped =
		mmap(NULL, sizeof(struct undo_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return mapped == MAP_FAILED ? NULL : mapped;
}

/* What a file that nobody else has locked still holds. */
static void revert_left(int fd)
{
	struct stat status;
	if (fstat(fd, &status) < 0 || status.st_size != (off_t)sizeof(struct undo_file))
		return;
	struct undo_file *file = map_file(fd);
	if (!file)
		return;
	if (file->head.magic == MAGIC)
		revert_all(file);
	(void)munmap(file, sizeof *file); /* cannot fail */
}

/* If somebody was killed and this was theirs, it is done and gone. */
static void recover_file(const char *path)
{
	AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat status;
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &status) < 0)
		return;
	if (status.st_nlink == 0)
		return; /* its owner has just removed it */
	revert_left(fd);
	(void)unlink(path); /* at worst the next one finds nothing left to do */
}

/* What cannot be reverted here is no reason not to begin. */
static void recover_folder(const char *folder)
{
	DIR *files = opendir(folder);
	if (!files)
		return;
	const struct dirent *entry;
	while ((entry = readdir(files))) {
		const char *dot = strrchr(entry->d_name, '.');
		char path[4096];
		if (dot && strcmp(dot, SUFFIX) == 0 &&
			snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) <
				(int)sizeof path)
			recover_file(path);
	}
	(void)closedir(files); /* read only */
}

/* Who holds the lock; 0 if that cannot be seen. */
static pid_t read_owner(int fd)
{
	struct undo_head head;
	ssize_t got = pread(fd, &head, sizeof head, 0);
	return got == (ssize_t)sizeof head && head.magic == MAGIC ? head.owner : 0;
}

/* 0; -EAGAIN: once more; -EBUSY: another has it. */
static int try_lock(const char *path, int *ret_fd, pid_t *ret_owner)
{
	AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat ours, named;
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int code = errno == EWOULDBLOCK ? -EBUSY : -errno;
		*ret_owner = read_owner(fd);
		bool is_dying = *ret_owner > 0 && kill(*ret_owner, 0) < 0 && errno == ESRCH;
		return is_dying ? -EAGAIN : code; /* its watchdog is at work */
	}
	if (fstat(fd, &ours) < 0 || stat(path, &named) < 0 || ours.st_ino != named.st_ino)
		return -EAGAIN; /* it was removed meanwhile */
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static int lock_file(struct undo *undo, pid_t pid, struct err *err)
{
	const struct timespec pause = { .tv_nsec = WATCHDOG_PAUSE_MS * 1000000L };
	pid_t owner = 0;
	int code = -EAGAIN;
	for (int i = 0; i < WATCHDOG_TRIES && code == -EAGAIN; i++) {
		if (i > 0)
			(void)nanosleep(&pause, NULL); /* shorter is no harm */
		code = try_lock(undo->path, &undo->fd, &owner);
	}
	if (code == -EBUSY || code == -EAGAIN)
		return err_set(err, -EBUSY,
			"process %d is under the control of another corecast already (process %d): "
			"end that first",
			pid, owner);
	if (code < 0)
		return err_set(err, code, "cannot lock '%s': %s", undo->path, strerror(-code));
	return 0;
}

/* Who had it until we came may have been killed while we waited for the lock. */
static int make_file(struct undo *undo, struct err *err)
{
	revert_left(undo->fd);
	if (ftruncate(undo->fd, 0) == 0 && ftruncate(undo->fd, sizeof(struct undo_file)) == 0)
		undo->file = map_file(undo->fd);
	if (!undo->file)
		return err_set(err, -errno, "cannot map '%s': %s", undo->path, strerror(errno));
	undo->file->head = (struct undo_head){ .magic = MAGIC, .owner = getpid() };
	return 0;
}

/* Nothing of what we have open may stay open here: others wait for its end. */
static void close_others(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;
	if (low > 0)
		(void)close_range(0, (unsigned)low - 1, 0); /* what is not there is no harm */
	if (high > low + 1)
		(void)close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	(void)close_range((unsigned)high + 1, ~0U, 0);
}

__attribute__((noreturn)) static void watch(struct undo *undo, int pipe_fd)
{
	sigset_t all;
	char byte;
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL); /* cannot fail */
	(void)setsid(); /* keys that interrupt are not for us */
	(void)prctl(PR_SET_NAME, "corecast-undo"); /* only a name */
	close_others(pipe_fd, undo->fd);
	while (read(pipe_fd, &byte, 1) < 0 && errno == EINTR)
		continue;
	revert_all(undo->file);
	(void)unlink(undo->path); /* at worst the next one finds it empty */
	_exit(0);
}

static int start_watchdog(struct undo *undo, struct err *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	undo->pipe_fd = ends[1];
	undo->watchdog = fork();
	if (undo->watchdog == 0)
		watch(undo, ends[0]);
	int code = -errno;
	(void)close(ends[0]); /* the watchdog's */
	if (undo->watchdog > 0)
		return 0;
	undo->watchdog = 0;
	return err_set(err, code, "cannot start a process: %s", strerror(-code));
}

int undo_open(const char *folder, pid_t pid, struct undo **ret, struct err *err)
{
	AUTO_FREE char *name = NULL;
	uint64_t ticks;
	if (task_start_ticks(pid, 0, &ticks) < 0)
		return err_set(err, -ESRCH, "there is no process %d", pid);
	int code = get_folder(folder, &name, err);
	if (code < 0)
		return code;
	recover_folder(name);
	AUTO(undo) struct undo *undo = calloc(1, sizeof *undo);
	if (!undo)
		return err_set(err, -ENOMEM, "out of memory");
	undo->fd = undo->pipe_fd = -1;
	if (asprintf(&undo->path, "%s/%d-%llu%s", name, pid, (unsigned long long)ticks, SUFFIX) <
		0) {
		undo->path = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	code = lock_file(undo, pid, err);
	if (code == 0)
		code = make_file(undo, err);
	if (code == 0)
		code = start_watchdog(undo, err);
	if (code < 0)
		return code;
	*ret = TAKE(undo);
	return 0;
}

int undo_make(struct undo *undo, const struct alteration *alteration)
{
	for (int i = 0; i < UNDO_CHANGES_MAX; i++) {
		struct alteration *place = &undo->file->changes[i];
		if (place->kind != ALTERATION_NONE)
			continue;
		struct alteration copy = *alteration;
		copy.kind = ALTERATION_NONE;
		*place = copy;
		__atomic_store_n(&place->kind, alteration->kind, __ATOMIC_RELEASE);
		int code = alteration_make(place);
		if (code < 0) {
			alteration_revert(place); /* of two steps one may have been made */
			__atomic_store_n(&place->kind, ALTERATION_NONE, __ATOMIC_RELEASE);
		}
		return code < 0 ? code : i;
	}
	return -ENOSPC;
}

void undo_revert(struct undo *undo, int change)
{
	struct alteration *place = &undo->file->changes[change];
	alteration_revert(place);
	__atomic_store_n(&place->kind, ALTERATION_NONE, __ATOMIC_RELEASE);
}

/* The watchdog does it, so that there is one way; if somebody killed it, we do. */
static void finish(struct undo *undo)
{
	int status = -1;
	cleanup_fd(&undo->pipe_fd);
	while (undo->watchdog > 0 && waitpid(undo->watchdog, &status, 0) < 0 && errno == EINTR)
		continue;
	if (undo->watchdog > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (undo->file)
		revert_all(undo->file);
	if (undo->fd >= 0)
		(void)unlink(undo->path); /* as there */
}

void undo_close(struct undo *undo)
{
	if (!undo)
		return;
	finish(undo);
	if (undo->file)
		(void)munmap(undo->file, sizeof *undo->file); /* cannot fail */
	cleanup_fd(&undo->fd);
	free(undo->path);
	free(undo);
}
