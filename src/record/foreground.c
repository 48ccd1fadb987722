/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/foreground.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* They would end us before the program has ended. */
static const int forwarded[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

struct signals {
	sigset_t waited_for, before;
	sigset_t
		of_child; /* as before, but what is passed on arrives also where our caller takes it by a descriptor */
};

static void signals_take(struct signals *signals)
{
	sigemptyset(&signals->waited_for);
	sigaddset(&signals->waited_for, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		sigaddset(&signals->waited_for, forwarded[i]);
	(void)sigprocmask(SIG_BLOCK, &signals->waited_for, &signals->before); /* cannot fail */
	signals->of_child = signals->before;
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		sigdelset(&signals->of_child, forwarded[i]);
}

static void signals_release(struct signals *signals)
{
	struct timespec none = { 0 };
	while (sigtimedwait(&signals->waited_for, NULL, &none) > 0)
		continue; /* those for the program that has ended */
	(void)sigprocmask(SIG_SETMASK, &signals->before, NULL); /* cannot fail */
}

/* In the child: never returns. Becomes the program once go_fd is at its end. */
__attribute__((noreturn)) static void child_exec(
	const struct foreground_opts *opts, const struct signals *signals, int go_fd, int exec_fd)
{
	char byte;
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		continue;
	if (opts->ends_with_us)
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* cannot fail */
	if (opts->stdout_fd > 0)
		(void)dup2(opts->stdout_fd, STDOUT_FILENO); /* it is open */
	for (size_t i = 0; i < opts->environment_count; i++)
		(void)putenv((char *)opts->environment[i]); /* without memory less is set */
	(void)sigprocmask(SIG_SETMASK, &signals->of_child, NULL); /* cannot fail */
	execvp(opts->argv[0], opts->argv);
	int status = -errno;
	(void)!write(exec_fd, &status, sizeof status); /* the parent is gone if this fails */
	_exit(127);
}

/*
 * Keys that interrupt reach the program from the terminal, without us; what another process sends
 * to us alone is passed on.
 */
static void attend(const struct foreground_opts *opts, pid_t pid, const struct signals *signals,
	struct foreground_result *result)
{
	static const struct timespec tick = { .tv_nsec = FOREGROUND_TICK_NS };
	for (;;) {
		siginfo_t info;
		int number =
			sigtimedwait(&signals->waited_for, &info, opts->at_tick ? &tick : NULL);
		if (opts->at_tick && number < 0 && errno == EAGAIN)
			opts->at_tick(
				opts->context, clock_now_ns(CLOCK_MONOTONIC) - result->start_ns);
		if (number == SIGINT || number == SIGTERM || number == SIGHUP)
			result->stop_signal = number;
		if (number > 0 && number != SIGCHLD && info.si_code <= 0)
			(void)kill(pid, number); /* it may have ended */
		if (waitpid(pid, &result->status, WNOHANG) == pid)
			return;
	}
}

static int child_start(const struct foreground_opts *opts, const struct signals *signals,
	pid_t *ret_pid, int *ret_go, int *ret_exec, struct err *err)
{
	int go[2];
	int exec[2];
	if (pipe2(go, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	AUTO_FD int go_read = go[0];
	*ret_go = go[1];
	if (pipe2(exec, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	*ret_exec = exec[0];
	AUTO_FD int exec_write = exec[1];
	*ret_pid = fork();
	if (*ret_pid < 0)
		return err_set(err, -errno, "cannot start a process: %s", strerror(errno));
	if (*ret_pid == 0) {
		(void)close(go[1]); /* else its read would never end */
		child_exec(opts, signals, go_read, exec_write);
	}
	return 0;
}

static int run(const struct foreground_opts *opts, const struct signals *signals,
	struct foreground_result *ret, struct err *err)
{
	AUTO_FD int go = -1;
	AUTO_FD int exec = -1;
	pid_t pid = 0;
	int code = child_start(opts, signals, &pid, &go, &exec, err);
	if (code < 0)
		return code;
	code = opts->at_start ? opts->at_start(opts->context, pid, err) : 0;
	if (code < 0) {
		(void)kill(pid, SIGKILL); /* it waits for us, unreaped */
		(void)waitpid(pid, NULL, 0); /* as above */
		return code;
	}
	struct foreground_result result = { .start_ns = clock_now_ns(CLOCK_MONOTONIC) };
	(void)close(go); /* what the child waits for */
	go = -1;
	ssize_t got = read(exec, &code, sizeof code);
	attend(opts, pid, signals, &result);
	result.end_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (got == (ssize_t)sizeof code)
		return err_set(err, code, "cannot run '%s': %s", opts->argv[0], strerror(-code));
	*ret = result;
	return 0;
}

int foreground_run(
	const struct foreground_opts *opts, struct foreground_result *ret, struct err *err)
{
	AUTO_RELEASE(signals) struct signals signals;
	signals_take(&signals);
	return run(opts, &signals, ret, err);
}
