/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast tune: finds and holds the best thread count of a program while it runs. */
#include "alongside.h"
#include "command.h"
#include "tune_session.h"

#include "base/plural.h"
#include "steer/actuator.h"
#include "code/preloadable.h"
#include "steer/rate.h"
#include "report/json.h"
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double INTERVAL_S = 1, SETTLE_SHARE = 0.1;
static const double INTERVAL_MIN_S = 0.01, INTERVAL_MAX_S = 86400, DURATION_MAX_S = 1e9;

struct values {
	const char *metric, *set, *policy, *log;
	uint32_t min, max, pid;
	double interval_s, duration_s;
	bool json;
	bool is_default_set; /* nobody named an actuator */
};

#define FIELD(name) offsetof(struct values, name)

static const struct option_spec options[] = {
	{ 'm', "metric", "METRIC",
		"what is to be fast: regions or iterations (of OpenMP), ticks (corecast_tick), "
		"uprobe:FILE:FUNCTION, usdt:FILE:PROVIDER:NAME, print:REGEX, count:REGEX, "
		"switches, syscalls, command:COMMAND (default: regions)",
		OPTION_STRING, FIELD(metric) },
	{ 's', "set", "HOW",
		"openmp, pool, affinity, cpuset or command:COMMAND with {n} (default: openmp for "
		"regions, iterations and ticks, else affinity)",
		OPTION_STRING, FIELD(set) },
	{ 'p', "pid", "PID", "tune a program that runs already", OPTION_U32, FIELD(pid), 1,
		INT32_MAX },
	{ 'd', "duration", "S", "with -p: end after S seconds (default: when the program ends)",
		OPTION_DOUBLE, FIELD(duration_s) },
	{ 'i', "interval", "S", "measure so long before each decision (default: 1)", OPTION_DOUBLE,
		FIELD(interval_s) },
	{ 0, "min", "N", "no fewer threads (default: 1)", OPTION_U32, FIELD(min), 1 },
	{ 0, "max", "N",
		"no more threads (default: the cores that may be used, or more if those stay idle)",
		OPTION_U32, FIELD(max), 1 },
	{ 0, "policy", "process|opresca|binsearch", "who chooses (default: process)", OPTION_STRING,
		FIELD(policy) },
	{ 0, "log", "FILE", "write each interval as a line of CSV", OPTION_OUTPUT, FIELD(log) },
	{ 0, "json", NULL, "print the result as JSON on standard output, at the end", OPTION_FLAG,
		FIELD(json) },
	{ 0 },
};

static int begin_session(void *context, pid_t pid, struct err *err)
{
	return tune_session_begin(context, pid, err);
}

static int run_session(void *context, pid_t pid, int stop_fd, struct err *err)
{
	return tune_session_run(context, pid, stop_fd, err);
}

static int run_alongside(struct tune_session *session, const struct values *v, char **program,
	int *ret_status, struct err *err)
{
	struct alongside alongside = {
		.doing = "tuning", .begin = begin_session, .run = run_session, .context = session
	};
	alongside.stdout_fd = tune_session_output(session);
	alongside.environment_count = tune_session_environment(session, alongside.environment);
	return program ? alongside_program(&alongside, program, ret_status, err)
		       : alongside_process(&alongside, (pid_t)v->pid, v->duration_s, err);
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
		json_text(v->metric), "set", json_text(r->actuator), "threads",
		(json_int_t)r->last.held, "is_held", r->last.state == TUNER_HOLDING, "steps",
		(json_int_t)r->last.steps, "intervals", (json_int_t)r->intervals, "restarts",
		(json_int_t)r->restarts, "measured", measured);
}

static void print_text(const struct tune_session_result *r)
{
	fprintf(stderr,
		"corecast: %s %u thread%s after %u interval%s (%u of search); the workload "
		"changed %u time%s\n",
		r->last.state == TUNER_HOLDING ? "held" : "still searching at", r->last.held,
		plural(r->last.held), r->intervals, plural(r->intervals), r->last.steps,
		r->restarts, plural(r->restarts));
	for (size_t i = 0; i < r->total_count; i++)
		fprintf(stderr, "corecast: %6u thread%-1s  %6u interval%-1s  %12.6g/s\n",
			r->totals[i].threads, plural(r->totals[i].threads), r->totals[i].intervals,
			plural(r->totals[i].intervals), r->totals[i].work / r->totals[i].seconds);
}

static int print_result(const struct values *v, struct tune_session *session, struct err *err)
{
	struct tune_session_result r = tune_session_result(session);
	if (actuator_needs_page(r.actuator) && !tune_session_is_tunable(session))
		return err_set(err, -ENODATA, "%s: nothing was tuned",
			strcmp(v->set, "pool") == 0
				? "no worker asked corecast_pool_wait() of corecast/pool.h"
				: "no parallel region of OpenMP ran twice that leaves its number "
				  "of threads "
				  "to the runtime and can do with another (-s affinity sets "
				  "cores)");
	if (r.intervals == 0 && r.nothing)
		return err_set(err, -ENODATA, "%s: nothing was tuned", r.nothing);
	if (r.intervals == 0)
		return err_set(err, -ENODATA,
			"no interval of %g s was measured before the end: -i S, for shorter ones",
			v->interval_s);
	if (!v->json) {
		print_text(&r);
		return 0;
	}
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	json_add(&out, to_json(v, &r));
	return report_save(&out, "-", err);
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
		.may_set_cores = v->is_default_set,
		.pid = program ? 0 : (pid_t)v->pid,
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
		code = run_alongside(session, v, program, &status, &err);
	if (code == 0)
		code = print_result(v, session, &err);
	return command_end(code < 0 ? &err : NULL, program, status);
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
	status = command_program_or_pid(command, &operands, v.pid);
	if (status != 0)
		return status;
	bool has_program = operands.program != NULL;
	v.is_default_set = !v.set && rate_needs_page(v.metric);
	if (!v.set)
		v.set = rate_needs_page(v.metric) ? "openmp" : "affinity";
	if (!has_program && (rate_needs_page(v.metric) || rate_needs_output(v.metric) ||
				    actuator_needs_page(v.set)))
		return command_usage_error(command,
			"-p: a program that runs already can be tuned by "
			"--metric uprobe, usdt, switches, syscalls or command, and --set "
			"affinity, cpuset or command");
	if (!tune_policy_by_name(v.policy))
		return command_usage_error(command, "--policy: there is no '%s'", v.policy);
	if (v.max != 0 && v.max < v.min)
		return command_usage_error(command, "--min: more than --max");
	if (v.interval_s < INTERVAL_MIN_S || v.interval_s > INTERVAL_MAX_S || v.duration_s < 0 ||
		v.duration_s > DURATION_MAX_S)
		return command_usage_error(
			command, "-i, -d: seconds; an interval has 0.01 to 86400");
	return tune(&v, operands.program);
}

extern const struct command cmd_tune;
const struct command cmd_tune = {
	.name = "tune",
	.summary = "find and hold the best thread count while a program runs",
	.usage = "[-m METRIC] [-s HOW] [options] (-- PROGRAM... | -p PID)",
	.options = options,
	.run = run,
};
