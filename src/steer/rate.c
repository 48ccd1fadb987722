/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/rate.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "steer/printed.h"
#include "base/readfile.h"
#include "collect/tree.h"
#include "steer/units.h"
#include "steer/uprobe.h"
#include "preload/tune_page.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum rate_kind { RATE_PAGE, RATE_EVENT, RATE_COMMAND, RATE_PRINTED, RATE_LINES };

enum { LINE_BYTES = 4096 };

struct rate {
	enum rate_kind kind;
	const char *unseen; /* said where it has counted nothing */
	const uint64_t *told; /* of RATE_PAGE: what the program adds up */
	struct perf_event_attr
		*events; /* of RATE_EVENT; several places may have the same static probe */
	size_t event_count;
	int *fds; /* of each event: one for each thread that was there, or for each cpu */
	size_t fd_count, fd_capacity;
	char *text; /* file of a uprobe, or the command; owned */
	struct printed *printed;
	struct units units; /* of what counts */
	uint64_t first_count, last_ns;
	bool was_asked, was_positive; /* of RATE_COMMAND */
	bool is_idle,
		was_late; /* of RATE_PRINTED: nothing for an interval; and so the first number behind that was passed over */
};

static const char PRINT[] = "print:", LINES[] = "count:";

/* Counts of the page that we share with the program. */
static const struct page_metric {
	const char *name;
	size_t place; /* of a uint64_t */
	const char *unseen;
} page_metrics[] = {
	{ "regions", offsetof(struct tune_page, regions),
		"no parallel region of OpenMP has ended" },
	{ "iterations", offsetof(struct tune_page, iterations),
		"no loop of OpenMP was seen (GCC's runtime shows schedule(dynamic) and guided)" },
	{ "ticks", offsetof(struct tune_page, ticks), "the program never called corecast_tick()" },
};

static const struct page_metric *find_page_metric(const char *spec)
{
	for (size_t i = 0; i < ARRAY_SIZE(page_metrics); i++)
		if (strcmp(spec, page_metrics[i].name) == 0)
			return &page_metrics[i];
	return NULL;
}

bool rate_needs_page(const char *spec)
{
	return find_page_metric(spec) != NULL;
}

bool rate_needs_output(const char *spec)
{
	return strncmp(spec, PRINT, strlen(PRINT)) == 0 || strncmp(spec, LINES, strlen(LINES)) == 0;
}

bool rate_counts(const struct rate *rate)
{
	return rate->kind != RATE_COMMAND && rate->kind != RATE_PRINTED;
}

int rate_output(const struct rate *rate)
{
	return rate->printed ? printed_fd(rate->printed) : 0;
}

void rate_free(struct rate *rate)
{
	if (!rate)
		return;
	for (size_t i = 0; i < rate->fd_count; i++)
		(void)close(rate->fds[i]); /* nothing was written */
	free(rate->fds);
	free(rate->events);
	free(rate->text);
	printed_free(rate->printed);
	free(rate);
}

static int add_event(struct rate *rate, struct err *err)
{
	rate->kind = RATE_EVENT;
	rate->events = calloc(1, sizeof *rate->events);
	rate->event_count = 1;
	return rate->events ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* Two of them belong to a name of C++. */
static char *last_single_colon(char *text)
{
	for (char *at = text + strlen(text); at > text; at--)
		if (*at == ':' && at[1] != ':' && at[-1] != ':')
			return at;
	return NULL;
}

/* FILE:FUNCTION, where FILE may contain colons, and FUNCTION those of C++. */
static int parse_uprobe(struct rate *rate, const char *spec, struct err *err)
{
	rate->text = strdup(spec);
	if (!rate->text)
		return err_set(err, -ENOMEM, "out of memory");
	char *colon = last_single_colon(rate->text);
	if (!colon || colon[1] == '\0')
		return err_set(err, -EINVAL, "'uprobe:%s': uprobe:FILE:FUNCTION is needed", spec);
	*colon++ = '\0';
	rate->kind = RATE_EVENT;
	return uprobe_events(rate->text, colon, &rate->events, &rate->event_count, err);
}

/* FILE:PROVIDER:NAME, where FILE may contain colons. */
static int parse_usdt(struct rate *rate, const char *spec, struct err *err)
{
	rate->text = strdup(spec);
	if (!rate->text)
		return err_set(err, -ENOMEM, "out of memory");
	char *name = strrchr(rate->text, ':');
	if (name)
		*name++ = '\0';
	char *provider = name ? strrchr(rate->text, ':') : NULL;
	if (!name || !provider || provider == rate->text || provider[1] == '\0' || *name == '\0')
		return err_set(err, -EINVAL, "'usdt:%s': usdt:FILE:PROVIDER:NAME is needed", spec);
	*provider++ = '\0';
	rate->kind = RATE_EVENT;
	return usdt_events(rate->text, provider, name, &rate->events, &rate->event_count, err);
}

static int parse_switches(struct rate *rate, const char *spec, struct err *err)
{
	(void)spec;
	int code = add_event(rate, err);
	if (code == 0)
		*rate->events = (struct perf_event_attr){ .size = sizeof *rate->events,
			.type = PERF_TYPE_SOFTWARE,
			.config = PERF_COUNT_SW_CONTEXT_SWITCHES };
	return code;
}

/* The tracepoint's number, where its file system is mounted. */
static int parse_syscalls(struct rate *rate, const char *spec, struct err *err)
{
	static const char *const files[] = {
		"/sys/kernel/tracing/events/raw_syscalls/sys_enter/id",
		"/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id",
	};
	(void)spec;
	double id = 0;
	int code = -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(files) && code == -ENOENT; i++)
		code = readfile_number("", files[i], &id);
	if (code < 0)
		return err_set(err, code == -ENOENT ? -EOPNOTSUPP : code,
			"system calls cannot be counted: %s",
			code != -ENOENT  ? "as root they can"
			: geteuid() == 0 ? "mount -t tracefs nodev /sys/kernel/tracing"
					 : "that is for root, with tracefs mounted");
	code = add_event(rate, err);
	if (code == 0)
		*rate->events = (struct perf_event_attr){ .size = sizeof *rate->events,
			.type = PERF_TYPE_TRACEPOINT,
			.config = (uint64_t)id };
	return code;
}

static int parse_command(struct rate *rate, const char *spec, struct err *err)
{
	rate->kind = RATE_COMMAND;
	rate->text = strdup(spec);
	return rate->text ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int parse_print(struct rate *rate, const char *spec, struct err *err)
{
	rate->kind = RATE_PRINTED;
	return printed_new(spec, REDUCE_AVERAGE, &rate->printed, err);
}

static int parse_lines(struct rate *rate, const char *spec, struct err *err)
{
	rate->kind = RATE_LINES;
	return printed_new(spec, REDUCE_COUNT, &rate->printed, err);
}

static void use_page(struct rate *rate, const struct page_metric *metric, struct tune_page *page)
{
	rate->kind = RATE_PAGE;
	rate->unseen = metric->unseen;
	rate->told = (const uint64_t *)(const void *)((const char *)page + metric->place);
	page->wants_iterations = rate->told == &page->iterations;
}

static int parse(struct rate *rate, const char *spec, struct err *err)
{
	static const struct {
		const char *name; /* with a colon: something has to follow */
		int (*parse)(struct rate *rate, const char *spec, struct err *err);
		const char *unseen;
	} metrics[] = {
		{ "uprobe:", parse_uprobe, "the function was never called" },
		{ "usdt:", parse_usdt, "the probe was never passed" },
		{ PRINT, parse_print, NULL },
		{ LINES, parse_lines, NULL },
		{ "switches", parse_switches, "there was no context switch" },
		{ "syscalls", parse_syscalls, "there was no system call" },
		{ "command:", parse_command, "no number that the command printed was above 0" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		size_t length = strlen(metrics[i].name);
		bool has_more = metrics[i].name[length - 1] == ':';
		if (has_more ? strncmp(spec, metrics[i].name, length) != 0 || !spec[length]
			     : strcmp(spec, metrics[i].name) != 0)
			continue;
		rate->unseen = metrics[i].unseen;
		return metrics[i].parse(rate, has_more ? spec + length : spec, err);
	}
	return err_set(err, -EINVAL,
		"no metric '%s': regions, iterations, ticks, uprobe:FILE:FUNCTION, "
		"usdt:FILE:PROVIDER:NAME, "
		"print:REGEX, count:REGEX, switches, syscalls, command:COMMAND",
		spec);
}

int rate_new(const char *spec, struct tune_page *page, struct rate **ret, struct err *err)
{
	AUTO(rate) struct rate *rate = calloc(1, sizeof *rate);
	if (!rate)
		return err_set(err, -ENOMEM, "out of memory");
	const struct page_metric *told = find_page_metric(spec);
	int code = told ? 0 : parse(rate, spec, err);
	if (code < 0)
		return code;
	if (told)
		use_page(rate, told, page);
	*ret = TAKE(rate);
	return 0;
}

static int count(const struct rate *rate, uint64_t *ret)
{
	*ret = 0;
	if (rate->kind == RATE_PAGE)
		*ret = __atomic_load_n(rate->told, __ATOMIC_RELAXED);
	else if (rate->kind == RATE_LINES)
		*ret = printed_lines(rate->printed);
	for (size_t i = 0; i < rate->fd_count; i++) {
		uint64_t one;
		if (read(rate->fds[i], &one, sizeof one) != sizeof one)
			return -EIO;
		*ret += one;
	}
	return 0;
}

static int open_event(struct rate *rate, struct perf_event_attr *event, pid_t tid, int cpu)
{
	if (mem_grow(&rate->fds, &rate->fd_capacity, rate->fd_count + 1, sizeof *rate->fds) < 0)
		return -ENOMEM;
	long fd = syscall(SYS_perf_event_open, event, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	rate->fds[rate->fd_count++] = (int)fd;
	return 0;
}

/* An event counts one thread and what that starts from now on: so one for each that is there. */
static int open_threads(struct rate *rate, struct perf_event_attr *event, pid_t pid)
{
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/task", pid); /* fits */
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int code = 0;
	while (code == 0 && folder && (entry = readdir(folder))) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		code = tid > 0 ? open_event(rate, event, tid, -1) : 0;
		if (code == -ESRCH)
			code = 0;
	}
	if (folder)
		(void)closedir(folder); /* read only */
	return code;
}

static int open_program(struct rate *rate, struct perf_event_attr *event, pid_t pid)
{
	AUTO_RELEASE(tree) struct tree tree = { 0 };
	event->inherit = 1;
	int code = tree_read(&tree, pid);
	if (code == 0)
		code = open_threads(rate, event, pid);
	for (size_t i = 0; code == 0 && i < tree.count; i++)
		code = open_threads(rate, event, tree.pids[i]);
	return code;
}

/*
 * A uprobe must not be inherited: the kernel would read its path in the new thread's memory, and the thread
 * would not be made. So it counts on every cpu, whoever calls.
 */
static int open_everywhere(struct rate *rate, struct perf_event_attr *event)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int code = 0;
	for (int cpu = 0; cpu < cpus && code == 0; cpu++) {
		code = open_event(rate, event, -1, cpu);
		if (code == -ENODEV)
			code = 0; /* this one is off */
	}
	return code;
}

static int open_events(struct rate *rate, pid_t pid)
{
	bool is_uprobe = rate->text != NULL;
	int code = 0;
	for (size_t i = 0; i < rate->event_count && code == 0; i++)
		code = is_uprobe ? open_everywhere(rate, &rate->events[i])
				 : open_program(rate, &rate->events[i], pid);
	return code;
}

int rate_start(struct rate *rate, pid_t pid, struct err *err)
{
	int code = rate->kind == RATE_EVENT ? open_events(rate, pid) : 0;
	if (code < 0)
		return err_set(err, code, "cannot count this metric: %s%s", strerror(-code),
			code == -EACCES || code == -EPERM ? " (as root it can)" : "");
	rate->last_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (rate->printed)
		return printed_start(rate->printed, err);
	if (rate_counts(rate) && count(rate, &rate->first_count) < 0)
		return err_set(err, -EIO, "the metric's count cannot be read");
	units_begin(&rate->units, rate->last_ns, rate->first_count);
	return 0;
}

/* The last word of the output that is a number. */
static int run_command(const char *command, double *ret, struct err *err)
{
	FILE *out = popen(command, "re"); /* what it means to run a shell command */
	if (!out)
		return err_set(err, -errno, "cannot run '%s': %s", command, strerror(errno));
	char line[LINE_BYTES];
	bool is_found = false;
	while (fgets(line, sizeof line, out)) {
		char *rest = line;
		for (char *word; (word = strtok_r(rest, " \t\n,;=:", &rest));)
			if (number_parse_printed(word, ret) == 0)
				is_found = true;
	}
	int status = pclose(out);
	if (!is_found || status != 0)
		return err_set(err, -EINVAL, "'%s' %s", command,
			status != 0 ? "failed" : "printed no number");
	return 0;
}

static int ask_command(struct rate *rate, double *ret_per_s, struct err *err)
{
	int code = run_command(rate->text, ret_per_s, err);
	rate->was_asked = true;
	rate->was_positive |= code == 0 && *ret_per_s > 0;
	return code;
}

/*
 * A number may be of the time before: of what was printed when nothing had been for long, or of what was begun before
 * rate_begin(), only the time is used, from which on the next is.
 */
static int read_printed(struct rate *rate, bool is_whole, double *ret_per_s, struct err *err)
{
	int code = printed_mean(rate->printed, ret_per_s, err);
	if (code == -EAGAIN)
		rate->is_idle |= is_whole;
	if (code < 0)
		return code;
	bool is_late = rate->is_idle && !rate->was_late;
	rate->is_idle = false;
	rate->was_late = is_late;
	if (is_late)
		rate->last_ns = clock_now_ns(CLOCK_MONOTONIC);
	return is_late ? -EAGAIN : 0;
}

static int begin_units(struct rate *rate, struct err *err)
{
	uint64_t now_count;
	if (count(rate, &now_count) < 0)
		return err_set(err, -EIO, "the metric's count cannot be read");
	units_begin(&rate->units, clock_now_ns(CLOCK_MONOTONIC), now_count);
	return 0;
}

int rate_begin(struct rate *rate, struct err *err)
{
	double ignored;
	if (rate_counts(rate))
		return begin_units(rate, err);
	int code = rate->kind == RATE_COMMAND ? ask_command(rate, &ignored, err)
					      : printed_mean(rate->printed, &ignored, err);
	rate->last_ns = clock_now_ns(CLOCK_MONOTONIC);
	rate->is_idle = code == -EAGAIN;
	rate->was_late = false;
	return code == -EAGAIN ? 0 : code;
}

bool rate_wants_looks(const struct rate *rate)
{
	return rate_counts(rate) && units_are_few(&rate->units);
}

void rate_look(struct rate *rate)
{
	uint64_t now_count;
	if (rate_counts(rate) && count(rate, &now_count) == 0)
		units_see(&rate->units, clock_now_ns(CLOCK_MONOTONIC), now_count);
}

static int read_units(
	struct rate *rate, bool is_whole, double *ret_per_s, double *ret_s, struct err *err)
{
	uint64_t now_count, now_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (count(rate, &now_count) < 0)
		return err_set(err, -EIO, "the metric's count cannot be read");
	units_see(&rate->units, now_ns, now_count);
	return units_rate(&rate->units, now_ns, is_whole, ret_per_s, ret_s) ? 0 : -EAGAIN;
}

int rate_read(struct rate *rate, bool is_whole, double *ret_per_s, double *ret_s, struct err *err)
{
	if (rate_counts(rate))
		return read_units(rate, is_whole, ret_per_s, ret_s, err);
	int code = rate->kind == RATE_COMMAND ? ask_command(rate, ret_per_s, err)
					      : read_printed(rate, is_whole, ret_per_s, err);
	uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
	if (code == 0) {
		*ret_s = 1e-9 * (double)(now_ns - rate->last_ns);
		rate->last_ns = now_ns;
	}
	return code;
}

void rate_end(struct rate *rate)
{
	if (rate->printed)
		printed_end(rate->printed);
}

const char *rate_nothing(const struct rate *rate)
{
	uint64_t now_count = 0;
	if (rate->printed)
		return printed_nothing(rate->printed);
	if (rate->kind == RATE_COMMAND)
		return rate->was_asked && !rate->was_positive ? rate->unseen : NULL;
	bool is_known = count(rate, &now_count) == 0;
	return is_known && now_count == rate->first_count ? rate->unseen : NULL;
}
