/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/counters.h"

#include "base/mem.h"
#include "collect/event_code.h"
#include "base/readfile.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct counters {
	const struct event_set *set;
	const struct counter_source *source;
	size_t count;
	struct perf_event_attr *attrs; /* one for each event */
	int *fds; /* -1: not open */
	bool is_attached;
	bool user_only;
};

size_t counters_count(const struct counters *counters)
{
	return counters->count;
}

bool counters_user_only(const struct counters *counters)
{
	return counters->user_only;
}

static int source_open(const struct counter_source *source, const struct perf_event_attr *attr,
	pid_t pid, int group)
{
	return source->open(source->context, attr, pid, group);
}

static void detach(struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++) {
		if (counters->fds[i] >= 0)
			counters->source->close(counters->source->context, counters->fds[i]);
		counters->fds[i] = -1;
	}
	counters->is_attached = false;
}

void counters_free(struct counters *counters)
{
	if (!counters)
		return;
	if (counters->fds)
		detach(counters);
	free(counters->attrs);
	free(counters->fds);
	free(counters);
}

/* Opens an event on the calling process for a moment: 0, or why it cannot be. */
static int try_open(const struct counter_source *source, const struct perf_event_attr *attr)
{
	int fd = source_open(source, attr, 0, -1);
	if (fd < 0)
		return fd;
	source->close(source->context, fd);
	return 0;
}

/* A machine without counters answers ENOENT to every code, also to the cycles that all others have. */
static bool has_hardware_counters(const struct counter_source *source)
{
	const struct perf_event_attr cycles = {
		.size = sizeof cycles,
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int r = try_open(source, &cycles);
	return r != -ENOENT && r != -ENODEV && r != -EOPNOTSUPP;
}

static int report_forbidden(int code, struct err *err)
{
	double paranoid = NAN;
	(void)readfile_number("", "/proc/sys/kernel/perf_event_paranoid", &paranoid); /* NaN then */
	if (paranoid > 2)
		return err_set(err, -EACCES,
			"counting is forbidden: kernel.perf_event_paranoid is %g; allow it with "
			"'sudo sysctl kernel.perf_event_paranoid=2'",
			paranoid);
	return err_set(err, -EACCES,
		"counting is forbidden (%s); allow it with 'sudo sysctl "
		"kernel.perf_event_paranoid=1', or start the container with --cap-add=PERFMON",
		strerror(-code));
}

static int report_open(
	const struct counters *counters, size_t index, int code, pid_t pid, struct err *err)
{
	const struct event_spec *event = &counters->set->events[index];
	switch (code) {
	case -EACCES:
	case -EPERM:
		return report_forbidden(code, err);
	case -ENOSYS:
		return err_set(err, -ENODEV,
			"this kernel has no perf_event_open: no events can be counted");
	case -ESRCH:
		return err_set(err, code, "cannot count process %ld: it has ended", (long)pid);
	case -EMFILE:
		return err_set(err, code, "too many open files to count events: raise 'ulimit -n'");
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
	case -EOPNOTSUPP:
	case -EINVAL:
		if (event->type == EVENT_RAW && !has_hardware_counters(counters->source))
			return err_set(err, -ENODEV,
				"this machine has no hardware counters (a virtual machine without "
				"them?)");
		return err_set(err, -EOPNOTSUPP,
			"event '%s' (%s, code %#llx) is not on this processor", event->name,
			event->event ? event->event : "no name",
			(unsigned long long)counters->attrs[index].config);
	default:
		return err_set(
			err, code, "cannot count event '%s': %s", event->name, strerror(-code));
	}
}

static int resolve(struct counters *counters, struct err *err)
{
	for (size_t i = 0; i < counters->count; i++) {
		struct perf_event_attr *attr = &counters->attrs[i];
		*attr = (struct perf_event_attr){
			.size = sizeof *attr,
			.disabled = 1,
			.inherit = 1,
			.enable_on_exec = 1,
			.read_format =
				PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		};
		const struct event_spec *event = &counters->set->events[i];
		int r = event_code(event, attr);
		if (r < 0)
			return err_set(err, r,
				"event '%s': libpfm4 does not know '%s' on this processor and the "
				"event set gives no code",
				event->name, event->event);
	}
	return 0;
}

/* Without the right to count the kernel's part too, every event counts the user's part only. */
static void ask_for_kernel(struct counters *counters)
{
	int r = try_open(counters->source, &counters->attrs[0]);
	counters->user_only = r == -EACCES || r == -EPERM;
	for (size_t i = 0; i < counters->count && counters->user_only; i++)
		counters->attrs[i].exclude_kernel = 1;
}

static int try_all(const struct counters *counters, struct err *err)
{
	for (size_t i = 0; i < counters->count; i++) {
		int r = try_open(counters->source, &counters->attrs[i]);
		if (r < 0)
			return report_open(counters, i, r, 0, err);
	}
	return 0;
}

int counters_new(const struct event_set *set, const struct counter_source *source,
	struct counters **ret, struct err *err)
{
	if (set->events_count == 0)
		return err_set(err, -EINVAL, "%s: no events to count: %s", set->name,
			set->note ? set->note : "the set is empty");
	AUTO(counters) struct counters *counters = calloc(1, sizeof *counters);
	if (!counters)
		return err_set(err, -ENOMEM, "out of memory");
	counters->set = set;
	counters->source = source;
	counters->attrs = calloc(set->events_count, sizeof *counters->attrs);
	counters->fds = malloc(set->events_count * sizeof *counters->fds);
	if (!counters->attrs || !counters->fds)
		return err_set(err, -ENOMEM, "out of memory");
	counters->count = set->events_count;
	for (size_t i = 0; i < counters->count; i++)
		counters->fds[i] = -1;

	int r = resolve(counters, err);
	if (r < 0)
		return r;
	ask_for_kernel(counters);
	r = try_all(counters, err);
	if (r < 0)
		return r;
	*ret = TAKE(counters);
	return 0;
}

int counters_attach(struct counters *counters, pid_t pid, struct err *err)
{
	detach(counters);
	for (size_t i = 0; i < counters->count; i++) {
		int fd = source_open(counters->source, &counters->attrs[i], pid, -1);
		if (fd < 0) {
			detach(counters);
			return report_open(counters, i, fd, pid, err);
		}
		counters->fds[i] = fd;
	}
	counters->is_attached = true;
	return 0;
}

/* The whole run's count from the part of it that had a counter; NaN when none of it had. */
static double scaled(const struct counter_reading *reading)
{
	if (reading->running_ns == 0)
		return reading->enabled_ns == 0 ? 0 : NAN;
	double scale = (double)reading->enabled_ns / (double)reading->running_ns;
	return (double)reading->value * scale;
}

static double running_share(const struct counter_reading *reading)
{
	if (reading->enabled_ns == 0)
		return 1; /* never wanted a counter: the program did not get to exec */
	return (double)reading->running_ns / (double)reading->enabled_ns;
}

/* The event's own share of what it counts: less the events that are nested in it. */
static double without_nested(const struct event_set *set, const double *raw, size_t index)
{
	const struct event_spec *event = &set->events[index];
	double value = raw[index];
	for (uint32_t i = 0; i < event->minus_count; i++)
		value -= raw[event_set_find(set, event->minus[i])];
	/* Scaled values have noise, so that a difference near zero can come out below it. */
	return event->minus_count > 0 && value < 0 ? 0 : value;
}

int counters_read(
	struct counters *counters, double *ret_values, double *ret_running_share, struct err *err)
{
	if (!counters->is_attached)
		return err_set(err, -EINVAL, "counters are not attached to a process");
	AUTO_FREE double *raw = calloc(2 * counters->count, sizeof *raw);
	if (!raw)
		return err_set(err, -ENOMEM, "out of memory");
	double *shares = raw + counters->count;
	for (size_t i = 0; i < counters->count; i++) {
		struct counter_reading reading;
		int r = counters->source->read(
			counters->source->context, counters->fds[i], &reading);
		if (r < 0)
			return err_set(err, r, "cannot read event '%s': %s",
				counters->set->events[i].name, strerror(-r));
		raw[i] = scaled(&reading);
		shares[i] = running_share(&reading);
	}
	for (size_t i = 0; i < counters->count; i++)
		ret_values[i] = without_nested(counters->set, raw, i);
	if (ret_running_share)
		memcpy(ret_running_share, shares, counters->count * sizeof *shares);
	detach(counters);
	return 0;
}

int counters_at_once(const struct counters *counters)
{
	const struct counter_source *source = counters->source;
	AUTO_FREE int *fds = malloc(counters->count * sizeof *fds);
	if (!fds)
		return -ENOMEM;
	size_t open = 0;
	int r = 0;
	/* The kernel refuses a group that its counters cannot hold at the same time. */
	for (; open < counters->count; open++) {
		r = source_open(source, &counters->attrs[open], 0, open == 0 ? -1 : fds[0]);
		if (r < 0)
			break;
		fds[open] = r;
	}
	for (size_t i = open; i > 0; i--)
		source->close(source->context, fds[i - 1]);
	return open > 0 ? (int)open : r;
}

const struct event_set *event_set_software(void)
{
	static struct event_spec events[] = {
		{ "task_clock", NULL, PERF_COUNT_SW_TASK_CLOCK, EVENT_SOFTWARE, NULL, 0, "ns",
			"Time that all threads were running." },
		{ "context_switches", NULL, PERF_COUNT_SW_CONTEXT_SWITCHES, EVENT_SOFTWARE, NULL, 0,
			"count", "How often a thread was taken off its core." },
		{ "cpu_migrations", NULL, PERF_COUNT_SW_CPU_MIGRATIONS, EVENT_SOFTWARE, NULL, 0,
			"count", "How often a thread came back on another core." },
		{ "page_faults", NULL, PERF_COUNT_SW_PAGE_FAULTS, EVENT_SOFTWARE, NULL, 0, "count",
			"How often a page was not mapped." },
	};
	static const struct event_set set = {
		.name = "software events",
		.source = "perf_event_open(2)",
		.events = events,
		.events_count = ARRAY_SIZE(events),
	};
	return &set;
}
