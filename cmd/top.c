/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast top: which threads of a running program are critical, again and again. */
#include "command.h"
#include "terminal.h"
#include "top_print.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/readfile.h"
#include "base/stop.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

enum { ROWS_WITHOUT_TERMINAL = 20, LINES_AROUND_ROWS = 7 };

struct values {
	uint32_t pid, count;
	double interval_s;
	const char *active;
	bool json;
};

#define FIELD(name) offsetof(struct values, name)
static const struct option_spec options[] = {
	{ 'p', "pid", "PID", "the program to watch", OPTION_U32, FIELD(pid), 1, INT32_MAX },
	{ 'd', "delay", "S", "seconds from one picture to the next (default 1)", OPTION_DOUBLE,
		FIELD(interval_s) },
	{ 'n', "count", "N", "end after N pictures", OPTION_U32, FIELD(count), 1 },
	{ 0, "active", "runnable|on-cpu",
		"which threads count as active: also those that wait for a core, or only those "
		"that have one (default runnable)",
		OPTION_STRING, FIELD(active) },
	{ 0, "json", NULL, "one JSON object for each picture, on a line of its own", OPTION_FLAG,
		FIELD(json) },
	{ 0 },
};

struct top {
	const struct values *values;
	char program[64];
	struct bpf_watch *watch;
	struct bpf_snapshot snapshot;
	struct live live;
	struct live_rows rows;
	int pid_fd, signal_fd;
	bool has_screen;
	bool has_keys;
	struct termios keys; /* as they were */
};

static void top_release(struct top *top)
{
	if (top->has_keys)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &top->keys); /* best effort */
	bpf_watch_free(top->watch);
	bpf_snapshot_release(&top->snapshot);
	live_release(&top->live);
	live_rows_release(&top->rows);
	cleanup_fd(&top->pid_fd);
	cleanup_fd(&top->signal_fd);
}

/* Single keys, unseen, if someone sits there. */
static void open_keys(struct top *top)
{
	if (!top->has_screen || !isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &top->keys) < 0)
		return;
	struct termios raw = top->keys;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	top->has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static int top_open(struct top *top, struct err *err)
{
	const struct values *values = top->values;
	char path[64], name[32] = "?";
	(void)snprintf(path, sizeof path, "/proc/%u/comm", values->pid); /* fits */
	(void)readfile_line("", path, name, sizeof name); /* gone: the next call says so */
	(void)snprintf(top->program, sizeof top->program, "%s (%u)", name, values->pid);
	const struct bpf_watch_opts opts = {
		.pid = (pid_t)values->pid,
		.is_on_cpu = strcmp(values->active, "on-cpu") == 0,
	};
	int status = bpf_watch_open(&opts, &top->watch, err);
	if (status < 0)
		return status;
	top->pid_fd = (int)syscall(SYS_pidfd_open, (pid_t)values->pid, 0);
	if (top->pid_fd < 0)
		return err_set(err, -errno, "cannot watch process %u: %s", values->pid,
			errno == EINVAL ? "that is a thread, not a process" : strerror(errno));
	top->signal_fd = stop_open(err);
	if (top->signal_fd < 0)
		return top->signal_fd;
	top->has_screen = !values->json && isatty(STDOUT_FILENO);
	open_keys(top);
	return 0;
}

enum pause_end { PAUSE_OVER, PAUSE_ASKED_TO_STOP, PAUSE_PROGRAM_ENDED };

/* Waits, but ends early when the program does, or when someone asks for it. */
static enum pause_end pause_for(const struct top *top, double seconds)
{
	struct pollfd fds[] = {
		{ .fd = top->pid_fd, .events = POLLIN },
		{ .fd = top->signal_fd, .events = POLLIN },
		{ .fd = top->has_keys ? STDIN_FILENO : -1, .events = POLLIN },
	};
	double end_s = clock_now_s(CLOCK_MONOTONIC) + seconds;
	for (;;) {
		double left_s = end_s - clock_now_s(CLOCK_MONOTONIC);
		if (left_s <= 0)
			return PAUSE_OVER;
		int ready = poll(fds, ARRAY_SIZE(fds), (int)ceil(left_s * 1e3));
		char key = 0;
		if (ready <= 0)
			continue;
		if (fds[1].revents)
			return PAUSE_ASKED_TO_STOP;
		if (fds[2].revents && (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q'))
			return PAUSE_ASKED_TO_STOP;
		if (fds[0].revents)
			return PAUSE_PROGRAM_ENDED;
	}
}

static size_t row_count(const struct top *top)
{
	struct winsize size;
	if (!top->has_screen || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
		return ROWS_WITHOUT_TERMINAL;
	return size.ws_row > LINES_AROUND_ROWS + 3 ? size.ws_row - LINES_AROUND_ROWS : 3;
}

static int show(struct top *top, struct err *err)
{
	int status = bpf_watch_read(top->watch, &top->snapshot, err);
	if (status < 0)
		return status;
	size_t rows = row_count(top);
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	if (live_update(&top->live, &top->snapshot) < 0 ||
		live_list(&top->live, top->values->json ? SIZE_MAX : rows, &top->rows) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	const struct top_view view = {
		.program = top->program, .live = &top->live, .rows = &top->rows, .row_max = rows
	};
	struct text_style style = terminal_style(stdout);
	if (top->values->json)
		top_add_json(&out, &view);
	else
		top_add_text(&out, &view, &style);
	if (strbuf_failed(&out) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (top->has_screen)
		printf("\033[H\033[J%s\nq ends\n", out.text);
	else
		printf("%s%s", out.text, top->values->json ? "" : "\n");
	if (fflush(stdout) != 0)
		return err_set(err, -EIO, "cannot write standard output");
	return 0;
}

static int watch(struct top *top, struct err *err)
{
	for (uint32_t shown = 0; top->values->count == 0 || shown < top->values->count; shown++) {
		enum pause_end end = pause_for(top, top->values->interval_s);
		if (end == PAUSE_ASKED_TO_STOP)
			return 0;
		if (end == PAUSE_PROGRAM_ENDED)
			bpf_watch_stop(top->watch);
		int status = show(top, err);
		if (status < 0)
			return status;
		if (end == PAUSE_PROGRAM_ENDED) {
			fprintf(stderr, "corecast: %s has ended\n", top->program);
			return 0;
		}
	}
	return 0;
}

static int check_values(
	const struct command *command, const struct values *values, const struct operands *operands)
{
	if (operands->count > 0 || operands->program)
		return command_usage_error(
			command, "takes no program: give the number of one that runs, -p PID");
	if (values->pid == 0 || values->pid > INT32_MAX)
		return command_usage_error(command, "-p: the number of a process that runs");
	if (!(values->interval_s >= 0.05 && values->interval_s <= 60))
		return command_usage_error(command, "-d: seconds from 0.05 to 60");
	if (strcmp(values->active, "runnable") != 0 && strcmp(values->active, "on-cpu") != 0)
		return command_usage_error(command, "--active: runnable or on-cpu");
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values values = { .interval_s = 1, .active = "runnable" };
	struct operands operands;
	int status = 0;
	if (!options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = check_values(command, &values, &operands);
	if (status != 0)
		return status;
	struct err err;
	AUTO_RELEASE(top)
	struct top top = { .values = &values, .pid_fd = -1, .signal_fd = -1 };
	if (top_open(&top, &err) < 0 || watch(&top, &err) < 0)
		return command_failure(&err);
	return 0;
}

extern const struct command cmd_top;
const struct command cmd_top = {
	.name = "top",
	.summary = "which threads of a running program are critical, live",
	.usage = "-p PID [options]",
	.options = options,
	.run = run,
};
