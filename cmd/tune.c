/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast tune: finds and holds the best thread count of a program while it runs. */
#include "command.h"
#include "tune_session.h"

#include "base/mem.h"
#include "collect/actuator.h"
#include "collect/foreground.h"
#include "collect/preloadable.h"
#include "collect/rate.h"
#include "report/json.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

static const double INTERVAL_S = 1, SETTLE_SHARE = 0.1;
static const double INTERVAL_MIN_S = 0.01, INTERVAL_MAX_S = 86400, DURATION_MAX_S = 1e9;

struct values {
	const char *metric, *set, *policy, *log;
	uint32_t min, max, pid;
	double interval_s, duration_s;
	bool json;
};

#define FIELD(name) offsetof(struct values, name)

static const struct option_spec options[] = {
	{ 'm', "metric", "METRIC",
		"what is to be fast: regions (of OpenMP), ticks (corecast_tick), "
		"uprobe:FILE:FUNCTION, switches, command:COMMAND (default: regions)",
		OPTION_STRING, FIELD(metric) },
	{ 's', "set", "HOW",
		"openmp, affinity or command:COMMAND with {n} (default: openmp for regions and "
		"ticks, else affinity)",
		OPTION_STRING, FIELD(set) },
	{ 'p', "pid", "PID", "tune a program that runs already", OPTION_U32, FIELD(pid) },
	{ 'd', "duration", "S", "with -p: end after S seconds (default: when the program ends)",
		OPTION_DOUBLE, FIELD(duration_s) },
	{ 'i', "interval", "S", "measure so long before each decision (default: 1)", OPTION_DOUBLE,
		FIELD(interval_s) },
	{ 0, "min", "N", "no fewer threads (default: 1)", OPTION_U32, FIELD(min) },
	{ 0, "max", "N", "no more threads (default: the cores that may be used)", OPTION_U32,
		FIELD(max) },
	{ 0, "policy", "process|opresca|binsearch", "who chooses (default: process)", OPTION_STRING,
		FIELD(policy) },
	{ 0, "log", "FILE", "write each interval as a line of CSV", OPTION_STRING, FIELD(log) },
	{ 0, "json", NULL, "print the result as JSON on standard output, at the end", OPTION_FLAG,
		FIELD(json) },
	{ 0 },
};

/* Beside the program, which has this command's terminal and main thread. */
struct controller {
	struct tune_session *session;
	pthread_t thread;
	pid_t pid;
	int stop_fd;
	bool is_running;
	int code;
	struct err err;
};

static void *control(void *context)
{
	struct controller *c = context;
	c->code = tune_session_run(c->session, c->pid, c->stop_fd, &c->err);
	if (c->code < 0) /* at once: the program may run for days */
		fprintf(stderr, "corecast: tuning has ended, the program goes on: %s\n",
			c->err.text);
	return NULL;
}

static int begin(void *context, pid_t pid, struct err *err)
{
	struct controller *c = context;
	c->pid = pid;
	int code = pthread_create(&c->thread, NULL, control, c);
	c->is_running = code == 0;
	return code == 0 ? 0 : err_set(err, -code, "cannot start a thread: %s", strerror(code));
}

static int run_program(
	struct tune_session *session, char **program, int *ret_status, struct err *err)
{
	AUTO_FD int stop_fd = eventfd(0, EFD_CLOEXEC);
	if (stop_fd < 0)
		return err_set(err, -errno, "cannot make an eventfd: %s", strerror(errno));
	struct controller c = { .session = session, .stop_fd = stop_fd };
	struct foreground_opts how = { .argv = program, .at_start = begin, .context = &c };
	how.environment_count = tune_session_environment(session, how.environment);
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

static int open_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -1 : signalfd(-1, &set, SFD_CLOEXEC);
}

static int open_timer(double seconds)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct itimerspec at = { .it_value = { .tv_sec = (time_t)seconds,
					 .tv_nsec = (long)(1e9 * fmod(seconds, 1)) } };
	if (fd >= 0 && seconds > 0)
		(void)timerfd_settime(fd, 0, &at, NULL); /* in range: options were checked */
	return fd;
}

/* A process that runs already: until it ends, the duration is over, or somebody stops us. */
static int run_attached(struct tune_session *session, const struct values *v, struct err *err)
{
	AUTO_FD int process = (int)syscall(SYS_pidfd_open, (pid_t)v->pid, 0);
	if (process < 0)
		return err_set(err, -errno, "cannot watch process %u: %s", v->pid,
			errno == EINVAL ? "that is a thread, not a process" : strerror(errno));
	AUTO_FD int signals = open_signals();
	AUTO_FD int timer = open_timer(v->duration_s);
	AUTO_FD int any = epoll_create1(EPOLL_CLOEXEC); /* is readable when one of them is */
	int fds[] = { process, signals, timer };
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		struct epoll_event event = { .events = EPOLLIN };
		if (fds[i] < 0 || epoll_ctl(any, EPOLL_CTL_ADD, fds[i], &event) < 0)
			return err_set(err, -errno, "cannot wait for the end: %s", strerror(errno));
	}
	return tune_session_run(session, (pid_t)v->pid, any, err);
}

static json_t *to_json(const struct values *v, const struct tune_session_result *r)
{
	json_t *measured = json_array();
	for (size_t i = 0; i < r->total_count; i++) {
		const struct tune_total *t = &r->totals[i];
		measured = json_push(
			measured, json_pack("{s:I, s:I, s:o}", "threads", (json_int_t)t->threads,
					  "intervals", (json_int_t)t->intervals, "rate_per_s",
					  json_number(t->work / t->seconds)));
	}
	return json_pack("{s:i, s:o, s:o, s:I, s:b, s:I, s:I, s:I, s:o}", "version", 1, "metric",
		json_text(v->metric), "set", json_text(v->set), "threads",
		(json_int_t)r->last.threads, "is_held", r->last.state == TUNER_HOLDING, "steps",
		(json_int_t)r->last.steps, "intervals", (json_int_t)r->intervals, "restarts",
		(json_int_t)r->restarts, "measured", measured);
}

static void print_text(const struct tune_session_result *r)
{
	fprintf(stderr,
		"corecast: %s %u threads after %u intervals (%u of search); the workload "
		"changed %u times\n",
		r->last.state == TUNER_HOLDING ? "held" : "still searching at", r->last.threads,
		r->intervals, r->last.steps, r->restarts);
	for (size_t i = 0; i < r->total_count; i++)
		fprintf(stderr, "corecast: %6u threads  %6u intervals  %12.6g/s\n",
			r->totals[i].threads, r->totals[i].intervals,
			r->totals[i].work / r->totals[i].seconds);
}

static int print_result(const struct values *v, const struct tune_session *session, struct err *err)
{
	struct tune_session_result r = tune_session_result(session);
	if (r.intervals == 0)
		return err_set(err, -ENODATA,
			"it ended before the first interval of %g s did: -i S", v->interval_s);
	if (strcmp(v->set, "openmp") == 0 && tune_session_tunable(session) == 0)
		return err_set(err, -ENODATA,
			"no parallel region of OpenMP (libgomp) left its number "
			"of threads to the runtime: nothing was tuned");
	if (!v->json) {
		print_text(&r);
		return 0;
	}
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	json_add(&out, to_json(v, &r));
	if (strbuf_failed(&out) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	fputs(out.text, stdout);
	return 0;
}

static int tune(const struct values *v, char **program)
{
	struct err err;
	AUTO_FILE FILE *log = v->log ? fopen(v->log, "we") : NULL;
	if (v->log && !log) {
		(void)err_set(&err, -errno, "cannot create '%s': %s", v->log, strerror(errno));
		return command_failure(&err); /* printed there */
	}
	if (log)
		setlinebuf(log); /* who looks at it while the program runs sees all intervals */
	const struct tune_session_opts opts = {
		.metric = v->metric,
		.actuator = v->set,
		.min = v->min,
		.max = v->max,
		.interval_s = v->interval_s,
		.settle_s = SETTLE_SHARE * v->interval_s,
		.policy = tune_policy_by_name(v->policy),
		.log = log,
		.messages = stderr,
	};
	AUTO(tune_session) struct tune_session *session = NULL;
	int status = 0;
	int code = program ? preloadable_check(program[0], &err) : 0;
	if (code < 0 && !rate_needs_page(v->metric) && !actuator_needs_page(v->set))
		code = 0; /* nothing is put into it; whether it starts is seen when it does */
	if (code == 0)
		code = tune_session_new(&opts, &session, &err);
	if (code == 0)
		code = program ? run_program(session, program, &status, &err)
			       : run_attached(session, v, &err);
	if (code == 0)
		code = print_result(v, session, &err);
	if (code < 0)
		return command_failure(&err);
	return program ? command_program_status(program[0], status) : EXIT_SUCCESS;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = {
		.metric = "regions", .policy = "process", .min = 1, .interval_s = INTERVAL_S
	};
	struct operands operands;
	int status = 0;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	if (operands.count > 0)
		return command_usage_error(
			command, "'%s': the program goes behind --", operands.items[0]);
	bool has_program = operands.program && operands.program[0];
	if (has_program == (v.pid != 0) || v.pid > INT32_MAX)
		return command_usage_error(
			command, "needs a program: either -- PROGRAM ARGS..., or -p PID");
	if (!v.set)
		v.set = rate_needs_page(v.metric) ? "openmp" : "affinity";
	if (!has_program && (rate_needs_page(v.metric) || actuator_needs_page(v.set)))
		return command_usage_error(command,
			"-p: a program that runs already can be tuned by "
			"--metric uprobe, switches or command, and --set "
			"affinity or command");
	if (!tune_policy_by_name(v.policy))
		return command_usage_error(command, "--policy: there is no '%s'", v.policy);
	if (v.min < 1 || (v.max != 0 && v.max < v.min))
		return command_usage_error(command, "--min, --max: 1 at least, and in this order");
	if (v.interval_s < INTERVAL_MIN_S || v.interval_s > INTERVAL_MAX_S || v.duration_s < 0 ||
		v.duration_s > DURATION_MAX_S)
		return command_usage_error(
			command, "-i, -d: seconds; an interval has 0.01 to 86400");
	return tune(&v, has_program ? operands.program : NULL);
}

extern const struct command cmd_tune;
const struct command cmd_tune = {
	.name = "tune",
	.summary = "find and hold the best thread count while a program runs",
	.usage = "[-m METRIC] [-s HOW] [options] (-- PROGRAM... | -p PID)",
	.options = options,
	.run = run,
};
