/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starting and watching one program. The child blocks on a pipe until the hooks have set up what
 * they watch; a second pipe, closed by exec, carries the errno of an exec that failed.
 */
#include "collect/launch.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a program that must stop may take to do so by itself after SIGTERM. */
enum { GRACE_MS = 500 };

struct child {
	pid_t pid;
	int pidfd;
	int go_fd; /* closing it lets the child exec */
	int exec_fd; /* end of file: exec worked; else the errno */
	struct tree spared; /* children of ours that are not the program's */
};

/* Not async-signal-safe, but the process that forked has one thread. */
static void set_environment(const struct launch_opts *opts)
{
	for (size_t i = 0; i < opts->environment_count; i++)
		(void)putenv((char *)opts->environment[i]); /* without memory less is set */
}

static int redirect(const struct launch_opts *opts)
{
	int null_fd = open("/dev/null", O_RDONLY);
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0)
		return -errno;
	if (null_fd != STDIN_FILENO)
		(void)close(null_fd); /* read only */
	if (dup2(opts->stdout_fd, STDOUT_FILENO) < 0 || dup2(opts->stderr_fd, STDERR_FILENO) < 0)
		return -errno;
	return 0;
}

/* In the child: never returns. */
__attribute__((noreturn)) static void child_exec(
	const struct launch_opts *opts, pid_t parent, int go_fd, int exec_fd)
{
	/* If we are killed, so is the program. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* best effort */
	if (getppid() != parent)
		_exit(127);
	/* A session of its own: Ctrl-C reaches us, and we decide; no terminal to wait for. */
	(void)setsid(); /* cannot fail: a new process leads no group */
	sigset_t none;
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
	(void)signal(SIGPIPE, SIG_DFL); /* cannot fail */
	char byte;
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	int status = redirect(opts);
	if (status == 0) {
		set_environment(opts);
		execv(opts->path, opts->argv);
		status = -errno;
	}
	(void)!write(exec_fd, &status, sizeof status); /* the parent is gone if this fails */
	_exit(127);
}

static int child_start(struct child *child, const struct launch_opts *opts, struct err *err)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_set(err, -errno, "cannot become a subreaper: %s", strerror(errno));
	int status = tree_read(&child->spared, getpid());
	if (status < 0)
		return err_set(err, status, "cannot read /proc: %s", strerror(-status));
	AUTO_FD int go_read = -1;
	AUTO_FD int exec_write = -1;
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	go_read = fds[0];
	child->go_fd = fds[1];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	child->exec_fd = fds[0];
	exec_write = fds[1];

	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0)
		return err_set(err, -errno, "cannot start a process: %s", strerror(errno));
	if (pid == 0) {
		(void)close(child->go_fd); /* else its read would never end */
		child_exec(opts, parent, go_read, exec_write);
	}
	child->pid = pid;
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (child->pidfd < 0)
		return err_set(err, -errno, "cannot watch the program: %s (needs Linux 5.3)",
			strerror(errno));
	return 0;
}

/* Whatever happened: no child is left, no descriptor open. Returns how many had to be killed. */
static size_t child_finish(struct child *child)
{
	if (child->pid > 0) { /* not reaped: the launch failed before its end */
		(void)kill(child->pid, SIGKILL); /* may have ended already */
		(void)waitpid(child->pid, NULL, 0); /* as above */
	}
	size_t killed = child->pidfd >= 0 ? tree_kill(&child->spared) : 0;
	cleanup_fd(&child->go_fd);
	cleanup_fd(&child->exec_fd);
	cleanup_fd(&child->pidfd);
	tree_release(&child->spared);
	*child = (struct child){ .pidfd = -1, .go_fd = -1, .exec_fd = -1 };
	return killed;
}

static void child_release(struct child *child)
{
	(void)child_finish(child); /* the count matters only to a run that succeeded */
}

static int run_start_hooks(const struct launch_opts *opts, pid_t pid, struct err *err)
{
	for (size_t i = 0; i < opts->hook_count; i++) {
		const struct launch_hooks *hooks = &opts->hooks[i];
		int status = hooks->at_start ? hooks->at_start(hooks->context, pid, err) : 0;
		if (status < 0)
			return status;
	}
	return 0;
}

static void run_hooks(const struct launch_opts *opts, pid_t pid, bool at_end)
{
	for (size_t i = 0; i < opts->hook_count; i++) {
		const struct launch_hooks *hooks = &opts->hooks[i];
		void (*hook)(void *, pid_t) = at_end ? hooks->at_end : hooks->at_tick;
		if (hook)
			hook(hooks->context, pid);
	}
}

/* Lets the child go and learns whether exec worked. */
static int child_go(struct child *child, const struct launch_opts *opts, struct err *err)
{
	cleanup_fd(&child->go_fd);
	child->go_fd = -1;
	int status = 0;
	ssize_t got;
	do
		got = read(child->exec_fd, &status, sizeof status);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof status)
		return 0;
	return err_set(err, status, "cannot run '%s': %s", opts->path, strerror(-status));
}

/* True once the child has ended, false after `milliseconds` (-1: for ever). */
static bool wait_end(const struct child *child, int milliseconds)
{
	struct pollfd fd = { .fd = child->pidfd, .events = POLLIN };
	int ready;
	do
		ready = poll(&fd, 1, milliseconds);
	while (ready < 0 && errno == EINTR);
	return ready > 0;
}

static bool has_tick(const struct launch_opts *opts)
{
	for (size_t i = 0; i < opts->hook_count; i++)
		if (opts->hooks[i].at_tick)
			return true;
	return false;
}

/* Watches until the program ends, its time is up, or we are asked to stop. */
static enum launch_ending watch(
	const struct child *child, const struct launch_opts *opts, double start_s)
{
	struct pollfd fds[] = {
		{ .fd = child->pidfd, .events = POLLIN },
		{ .fd = opts->cancel_fd, .events = POLLIN }, /* poll ignores -1 */
	};
	bool ticks = has_tick(opts);
	for (;;) {
		int wait_ms = ticks ? LAUNCH_TICK_MS : -1;
		if (opts->timeout_s > 0) {
			double left_ms =
				(start_s + opts->timeout_s - clock_now_s(CLOCK_MONOTONIC)) * 1e3;
			if (left_ms <= 0)
				return LAUNCH_TIMED_OUT;
			if (wait_ms < 0 || left_ms < wait_ms)
				wait_ms = left_ms < 1e6 ? (int)left_ms + 1 : 1000000;
		}
		int ready = poll(fds, 2, wait_ms);
		if (fds[0].revents && ready > 0)
			return LAUNCH_EXITED;
		if (fds[1].revents && ready > 0)
			return LAUNCH_CANCELLED;
		if (ready == 0)
			run_hooks(opts, child->pid, false);
	}
}

static void stop_tree(const struct child *child)
{
	tree_signal(&child->spared, SIGTERM);
	tree_signal(&child->spared, SIGCONT); /* a stopped program could not react */
	if (wait_end(child, GRACE_MS))
		return;
	tree_signal(&child->spared, SIGKILL);
	(void)wait_end(child, -1); /* SIGKILL cannot be refused */
}

static double timeval_s(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static int child_reap(struct child *child, struct launch_result *result, struct err *err)
{
	int status;
	struct rusage usage;
	pid_t reaped;
	do
		reaped = wait4(child->pid, &status, 0, &usage);
	while (reaped < 0 && errno == EINTR);
	if (reaped < 0)
		return err_set(err, -errno, "cannot wait for the program: %s", strerror(errno));
	child->pid = 0;
	result->user_s = timeval_s(usage.ru_utime);
	result->system_s = timeval_s(usage.ru_stime);
	result->rss_bytes = (double)usage.ru_maxrss * 1024;
	result->voluntary_switches = (uint64_t)usage.ru_nvcsw;
	result->involuntary_switches = (uint64_t)usage.ru_nivcsw;
	if (result->ending != LAUNCH_EXITED)
		return 0;
	if (WIFSIGNALED(status)) {
		result->ending = LAUNCH_SIGNALLED;
		result->status = WTERMSIG(status);
	} else {
		result->status = WEXITSTATUS(status);
	}
	return 0;
}

int launch_run(const struct launch_opts *opts, struct launch_result *ret, struct err *err)
{
	AUTO_RELEASE(child) struct child child = { .pidfd = -1, .go_fd = -1, .exec_fd = -1 };
	int status = child_start(&child, opts, err);
	if (status < 0)
		return status;
	status = run_start_hooks(opts, child.pid, err);
	if (status < 0)
		return status;

	struct launch_result result = { 0 };
	double start_s = clock_now_s(CLOCK_MONOTONIC);
	status = child_go(&child, opts, err);
	if (status < 0)
		return status;
	result.ending = watch(&child, opts, start_s);
	result.wall_s = clock_now_s(CLOCK_MONOTONIC) - start_s;
	if (result.ending != LAUNCH_EXITED)
		stop_tree(&child);
	run_hooks(opts, child.pid, true);
	status = child_reap(&child, &result, err);
	if (status < 0)
		return status;
	result.left_behind = child_finish(&child);
	*ret = result;
	return 0;
}
