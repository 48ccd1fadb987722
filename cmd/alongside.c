/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "alongside.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/stop.h"
#include "record/foreground.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

/* Beside the program, which has this command's terminal and main thread. */
struct companion {
	const struct alongside *alongside;
	pthread_t thread;
	pid_t pid;
	int stop_fd;
	bool is_running;
	int code;
	struct err err;
};

static void *accompany(void *context)
{
	struct companion *c = context;
	const struct alongside *a = c->alongside;
	c->code = a->run(a->context, c->pid, c->stop_fd, &c->err);
	if (c->code < 0) /* at once: the program may run for days */
		fprintf(stderr, "corecast: %s has ended, the program goes on: %s\n", a->doing,
			c->err.text);
	return NULL;
}

static int begin(void *context, pid_t pid, struct err *err)
{
	struct companion *c = context;
	c->pid = pid;
	int code = c->alongside->begin(c->alongside->context, pid, err);
	if (code < 0)
		return code;
	code = pthread_create(&c->thread, NULL, accompany, c);
	c->is_running = code == 0;
	return code == 0 ? 0 : err_set(err, -code, "cannot start a thread: %s", strerror(code));
}

int alongside_program(
	const struct alongside *alongside, char **program, int *ret_status, struct err *err)
{
	AUTO_FD int stop_fd = eventfd(0, EFD_CLOEXEC);
	if (stop_fd < 0)
		return err_set(err, -errno, "cannot make an eventfd: %s", strerror(errno));
	struct companion c = { .alongside = alongside, .stop_fd = stop_fd };
	struct foreground_opts how = { .argv = program,
		.environment_count = alongside->environment_count,
		.stdout_fd = alongside->stdout_fd,
		.at_start = begin,
		.context = &c };
	memcpy(how.environment, alongside->environment, sizeof how.environment);
	struct foreground_result ran;
	int code = foreground_run(&how, &ran, err);
	if (c.is_running) {
		(void)eventfd_write(stop_fd, 1); /* room for one is there */
		(void)pthread_join(c.thread, NULL); /* it is joinable */
	}
	if (code < 0)
		return code;
	*ret_status = ran.status;
	if (c.code < 0)
		*err = c.err;
	return c.code;
}

static void start_timer(int fd, double seconds)
{
	struct itimerspec at = { .it_value = { .tv_sec = (time_t)seconds,
					 .tv_nsec = (long)(1e9 * fmod(seconds, 1)) } };
	if (seconds > 0)
		(void)timerfd_settime(fd, 0, &at, NULL); /* in range: options were checked */
}

int alongside_process(const struct alongside *alongside, pid_t pid, double seconds, struct err *err)
{
	AUTO_FD int process = (int)syscall(SYS_pidfd_open, pid, 0);
	if (process < 0)
		return err_set(err, -errno, "cannot watch process %d: %s", pid,
			errno == EINVAL ? "that is a thread, not a process" : strerror(errno));
	AUTO_FD int signals = stop_open(err);
	if (signals < 0)
		return signals;
	AUTO_FD int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	AUTO_FD int any = epoll_create1(EPOLL_CLOEXEC); /* is readable when one of them is */
	int fds[] = { process, signals, timer };
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		struct epoll_event event = { .events = EPOLLIN };
		if (fds[i] < 0 || epoll_ctl(any, EPOLL_CTL_ADD, fds[i], &event) < 0)
			return err_set(err, -errno, "cannot wait for the end: %s", strerror(errno));
	}
	int code = alongside->begin(alongside->context, pid, err);
	if (code < 0)
		return code;
	start_timer(timer, seconds); /* to begin may take as long as a short duration */
	return alongside->run(alongside->context, pid, any, err);
}
