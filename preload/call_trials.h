/* SPDX-License-Identifier: MIT */
/*
 * System calls that do next to nothing. What they take in an emulator and beside it tells what the emulator adds to each of
 * them: the preload library makes them as the program begins (profiled.h), the profiler's plugin once more outside.
 */
#ifndef PRELOAD_CALL_TRIALS_H
#define PRELOAD_CALL_TRIALS_H

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	CALL_TRIALS = 12, /* of each: their median counts */
};

/* Makes the call, with up to four arguments. */
typedef long (*call_trial)(long number, long a, long b, long c, long d);

/* Between two calls a program uses its own data: the kernel and the emulator do not find theirs in the first level. */
static inline void call_trials_compute(void)
{
	enum { FIRST_LEVEL = 32768, LINE = 64 };
	static volatile char data[FIRST_LEVEL];
	for (int i = 0; i < FIRST_LEVEL; i += LINE)
		data[i]++;
}

static inline long try_call(call_trial make, long number, long a, long b, long c, long d)
{
	call_trials_compute();
	return make(number, a, b, c, d);
}

static inline void call_trials_once(call_trial call)
{
	static const char path[] = "/dev/null";
	char bytes[256];
	struct stat about;
	struct iovec part = { bytes, 1 };
	long fd = try_call(call, SYS_openat, AT_FDCWD, (intptr_t)path, O_RDWR | O_CLOEXEC, 0);
	struct pollfd ready = { .fd = (int)fd, .events = POLLIN };
	(void)try_call(call, SYS_read, fd, (intptr_t)bytes, 1, 0);
	(void)try_call(call, SYS_write, fd, (intptr_t)path, 1, 0);
	(void)try_call(call, SYS_pread64, fd, (intptr_t)bytes, 1, 0);
	(void)try_call(call, SYS_pwrite64, fd, (intptr_t)path, 1, 0);
	(void)try_call(call, SYS_readv, fd, (intptr_t)&part, 1, 0);
	(void)try_call(call, SYS_writev, fd, (intptr_t)&part, 1, 0);
	(void)try_call(call, SYS_lseek, fd, 0, SEEK_CUR, 0);
	(void)try_call(call, SYS_fcntl, fd, F_GETFL, 0, 0);
	(void)try_call(call, SYS_fstat, fd, (intptr_t)&about, 0, 0);
	(void)try_call(call, SYS_newfstatat, AT_FDCWD, (intptr_t)path, (intptr_t)&about, 0);
	(void)try_call(
		call, SYS_readlinkat, AT_FDCWD, (intptr_t)path, (intptr_t)bytes, sizeof(bytes));
	(void)try_call(call, SYS_faccessat, AT_FDCWD, (intptr_t)path, R_OK, 0);
	(void)try_call(call, SYS_getdents64, fd, (intptr_t)bytes, sizeof(bytes), 0);
	(void)try_call(call, SYS_sendto, fd, (intptr_t)path, 1, 0); /* it is no socket */
	(void)try_call(call, SYS_recvfrom, fd, (intptr_t)bytes, 1, 0);
#ifdef SYS_poll
	(void)try_call(call, SYS_poll, (intptr_t)&ready, 1, 0, 0);
#endif
#ifdef SYS_stat
	(void)try_call(call, SYS_close,
		try_call(call, SYS_open, (intptr_t)path, O_RDWR | O_CLOEXEC, 0, 0), 0, 0, 0);
	(void)try_call(call, SYS_stat, (intptr_t)path, (intptr_t)&about, 0, 0);
	(void)try_call(call, SYS_lstat, (intptr_t)path, (intptr_t)&about, 0, 0);
	(void)try_call(call, SYS_readlink, (intptr_t)path, (intptr_t)bytes, sizeof(bytes), 0);
	(void)try_call(call, SYS_access, (intptr_t)path, R_OK, 0, 0);
#endif
	(void)try_call(call, SYS_close, fd, 0, 0, 0);
	(void)try_call(call, SYS_getppid, 0, 0, 0, 0);
}

static inline void call_trials(call_trial make)
{
	for (int i = 0; i < CALL_TRIALS; i++)
		call_trials_once(make);
}

#endif
