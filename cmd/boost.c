/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast boost: gives the most critical thread of a running program more speed, slice by slice. */
#include "alongside.h"
#include "base/plural.h"
#include "boost_session.h"
#include "command.h"

#include "machine/bpf_check.h"
#include "code/preloadable.h"
#include "steer/rate.h"
#include "report/json.h"
#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double ALTERNATE_MIN_S = 0.02, ALTERNATE_S = 0.5;
static const double SLICE_MIN_MS = 1, SLICE_MAX_MS = 10000, DURATION_MAX_S = 1e9, RATIO_MAX = 1e6;
enum { NICE_STEPS = 20, NICE_STEPS_MAX = 39, ROWS_FOR_PEOPLE = 10 };

struct values {
	const char *set, *policy, *metric, *via;
	uint32_t pid, nice;
	double duration_s, slice_ms, alpha, beta;
	double alternate_s; /* NAN: not asked for */
	bool is_dry, is_verbose, is_guarded, json;
};

#define FIELD(name) offsetof(struct values, name)

static const struct option_spec options[] = {
	{ 's', "set", "nice|frequency|clamp",
		"what makes a thread faster (default: nice; corecast doctor tells which exist)",
		OPTION_STRING, FIELD(set) },
	{ 'p', "pid", "PID", "a program that runs already", OPTION_U32, FIELD(pid), 1, INT32_MAX },
	{ 'd', "duration", "S", "with -p: end after S seconds (default: when the program ends)",
		OPTION_DOUBLE, FIELD(duration_s) },
	{ 0, "via", "auto|bpf|preload",
		"who tells which threads wait: the kernel, or the preload library, without "
		"privilege (default: auto)",
		OPTION_STRING, FIELD(via) },
	{ 0, "policy", "resume|dynamic",
		"the choice stands for its slice, or ends when the thread is scheduled out, as "
		"published (default: resume)",
		OPTION_STRING, FIELD(policy) },
	{ 0, "slice", "MS", "milliseconds between choices (default: 10)", OPTION_DOUBLE,
		FIELD(slice_ms) },
	{ 0, "alpha", "RATIO", "to the least critical thread, from which one is critical (1.2)",
		OPTION_DOUBLE, FIELD(alpha) },
	{ 0, "beta", "RATIO", "to the most critical, below which it is let go (0.8)", OPTION_DOUBLE,
		FIELD(beta) },
	{ 0, "nice", "STEPS", "with nice: how far below the thread's own value (default: 20)",
		OPTION_U32, FIELD(nice), 1, NICE_STEPS_MAX },
	{ 0, "alternate", "S",
		"with and without it in turn, S seconds each; tells the gain and its interval",
		OPTION_DOUBLE, FIELD(alternate_s) },
	{ 0, "guard", NULL, "the same, and off while it is shown to cost, on while it pays",
		OPTION_FLAG, FIELD(is_guarded) },
	{ 'm', "metric", "METRIC",
		"for these two: what is to be fast, as of corecast tune (default: ticks)",
		OPTION_STRING, FIELD(metric) },
	{ 0, "dry-run", NULL, "change nothing; tell what would be done", OPTION_FLAG,
		FIELD(is_dry) },
	{ 0, "verbose", NULL, "a line on standard error for each change", OPTION_FLAG,
		FIELD(is_verbose) },
	{ 0, "json", NULL, "print the result as JSON on standard output, at the end", OPTION_FLAG,
		FIELD(json) },
	{ 0 },
};

static json_t *to_json(const struct values *v, const struct boost_session_result *r,
	const struct boost_trial *trial)
{
	json_t *threads = json_array();
	for (size_t i = 0; i < r->tally_count; i++) {
		const struct boost_tally *t = &r->tallies[i];
		threads = json_push(threads,
			json_pack("{s:o, s:o, s:o, s:o, s:I}", "tid",
				t->tid ? json_integer(t->tid) : json_null(), "name",
				json_text(t->name), "critical_s", json_number(t->held_s), "fast_s",
				json_number(t->fast_s), "times", (json_int_t)t->times));
	}
	return json_pack("{s:i, s:s, s:s, s:s, s:b, s:o, s:I, s:I, s:I, s:o, s:o, s:I, s:o, s:o}",
		"version", 1, "policy", v->policy, "via", v->via, "set", v->set, "is_dry_run",
		v->is_dry, "seconds", json_number(r->seconds), "slices", (json_int_t)r->slices,
		"late_slices", (json_int_t)r->late, "changes", (json_int_t)r->changes, "fast_s",
		json_number(r->fast_s), "energy_j", json_number(r->joules), "lost_threads",
		(json_int_t)r->lost_threads, "trial", trial ? boost_trial_json(trial) : json_null(),
		"threads", threads);
}

static void print_text(const struct values *v, const struct boost_session_result *r)
{
	fprintf(stderr,
		"corecast: %.3f s, %llu slices, %llu change%s%s; a thread %s faster for %.0f%%\n",
		r->seconds, (unsigned long long)r->slices, (unsigned long long)r->changes,
		plural(r->changes), v->is_dry ? " (none made)" : "", v->is_dry ? "would be" : "was",
		r->seconds > 0 ? 100 * r->fast_s / r->seconds : 0);
	for (size_t i = 0; i < r->tally_count && i < ROWS_FOR_PEOPLE; i++)
		fprintf(stderr, "corecast: %-15s %7u  critical %8.3f s  faster %8.3f s %5ux\n",
			r->tallies[i].name, r->tallies[i].tid, r->tallies[i].held_s,
			r->tallies[i].fast_s, r->tallies[i].times);
	if (r->tally_count > ROWS_FOR_PEOPLE)
		fprintf(stderr, "corecast: and %zu more\n", r->tally_count - ROWS_FOR_PEOPLE);
	if (!isnan(r->joules) && r->seconds > 0)
		fprintf(stderr, "corecast: the processors took %.1f J, %.1f W\n", r->joules,
			r->joules / r->seconds);
	if (r->lost_threads > 0)
		fprintf(stderr, "corecast: %llu threads were not seen: too many at a time\n",
			(unsigned long long)r->lost_threads);
}

static int print_result(const struct values *v, struct boost_session *session,
	struct boost_trial *trial, struct err *err)
{
	struct boost_session_result r = boost_session_result(session);
	if (!r.has_seen)
		return err_set(err, -ENODATA,
			"nothing was seen: the program never loaded the library (--via bpf)");
	if (!v->json) {
		print_text(v, &r);
		if (trial)
			boost_trial_print(trial, stderr);
		else if (!v->is_dry)
			fputs("corecast: what it gained was not measured: --alternate 0.5 -m "
			      "METRIC does\n",
				stderr);
		return 0;
	}
	AUTO_RELEASE(strbuf) struct strbuf out = { 0 };
	json_add(&out, to_json(v, &r, trial));
	return report_save(&out, "-", err);
}

static int run_alongside(struct boost_session *session, const struct boost_trial *trial,
	const struct values *v, char **program, int *ret_status, struct err *err)
{
	struct alongside alongside = { .doing = "boosting",
		.begin = boost_session_begin,
		.run = boost_session_run,
		.context = session };
	size_t count = boost_session_environment(session, alongside.environment);
	if (trial) {
		count += boost_trial_environment(trial, alongside.environment + count);
		alongside.stdout_fd = boost_trial_output(trial);
	}
	alongside.environment_count = count;
	return program ? alongside_program(&alongside, program, ret_status, err)
		       : alongside_process(&alongside, (pid_t)v->pid, v->duration_s, err);
}

static bool has_trial(const struct values *v)
{
	return !isnan(v->alternate_s);
}

static int new_trial(
	const struct values *v, char **program, struct boost_trial **ret, struct err *err)
{
	const struct boost_trial_opts opts = {
		.metric = v->metric, .slice_s = v->alternate_s, .is_guarded = v->is_guarded
	};
	int code = program && rate_needs_page(v->metric) ? preloadable_check(program[0], err) : 0;
	return code < 0 ? code : boost_trial_new(&opts, ret, err);
}

/* Who keeps the account: the kernel where it can. */
static int choose_source(struct values *v, char **program, struct err *err)
{
	int code = strcmp(v->via, "preload") == 0 ? 0 : bpf_check(err);
	if (code < 0 && strcmp(v->via, "auto") == 0 && program) {
		fputs("corecast: no BPF here (corecast doctor): the preload library tells who "
		      "waits\n",
			stderr);
		v->via = "preload";
	}
	if (strcmp(v->via, "preload") == 0)
		return preloadable_check(program[0], err);
	v->via = "bpf";
	return code;
}

static int boost(struct values *v, char **program)
{
	struct err err;
	AUTO(boost_trial) struct boost_trial *trial = NULL;
	int status = 0, code = choose_source(v, program, &err);
	if (code == 0 && has_trial(v))
		code = new_trial(v, program, &trial, &err);
	const struct boost_session_opts opts = {
		.policy = boost_policy_by_name(v->policy),
		.settings = { .alpha = v->alpha, .beta = v->beta },
		.method = favour_method_by_name(v->set),
		.nice_steps = (int)v->nice,
		.slice_s = 1e-3 * v->slice_ms,
		.is_by_preload = strcmp(v->via, "preload") == 0,
		.is_dry = v->is_dry,
		.trial = trial,
		.messages = v->is_verbose ? stderr : NULL,
	};
	AUTO(boost_session) struct boost_session *session = NULL;
	if (code == 0)
		code = boost_session_new(&opts, &session, &err);
	if (code == 0)
		code = run_alongside(session, trial, v, program, &status, &err);
	if (code == 0)
		code = print_result(v, session, trial, &err);
	return command_end(code < 0 ? &err : NULL, program, status);
}

static int check_via(const struct command *command, const struct values *v, bool has_program)
{
	bool is_preload = strcmp(v->via, "preload") == 0;
	if (!is_preload && strcmp(v->via, "bpf") != 0 && strcmp(v->via, "auto") != 0)
		return command_usage_error(command, "--via: there is no '%s'", v->via);
	if (is_preload && !has_program)
		return command_usage_error(command,
			"-p: the preload library cannot get into a program that runs already");
	return 0;
}

static int check_trial(const struct command *command, const struct values *v, bool has_program)
{
	if (!has_trial(v))
		return 0;
	if (!(v->alternate_s >= ALTERNATE_MIN_S && v->alternate_s <= DURATION_MAX_S))
		return command_usage_error(command, "--alternate: 0.02 seconds at least");
	if (!has_program && (rate_needs_page(v->metric) || rate_needs_output(v->metric)))
		return command_usage_error(command,
			"-p: of a program that runs already, --metric uprobe, usdt, switches, "
			"syscalls or command can be measured");
	if (v->is_dry)
		return command_usage_error(
			command, "--dry-run: changes nothing, so that nothing can be compared");
	return 0;
}

static int check_values(const struct command *command, const struct values *v)
{
	const struct boost_policy *policy = boost_policy_by_name(v->policy);
	if (!policy)
		return command_usage_error(command, "--policy: there is no '%s'", v->policy);
	if (policy->needs_bottlenecks)
		return command_usage_error(command,
			"--policy %s: a program that runs does not tell who holds what; it can be "
			"simulated (bench/boost)",
			v->policy);
	if (!favour_method_by_name(v->set))
		return command_usage_error(command, "--set: there is no '%s'", v->set);
	if (v->slice_ms < SLICE_MIN_MS || v->slice_ms > SLICE_MAX_MS)
		return command_usage_error(command, "--slice: milliseconds from 1 to 10000");
	if (v->alpha < 0 || v->alpha > RATIO_MAX || v->beta < 0 || v->beta > 1)
		return command_usage_error(
			command, "--alpha, --beta: ratios above 0, the second at most 1");
	if (v->duration_s < 0 || v->duration_s > DURATION_MAX_S)
		return command_usage_error(command, "-d: seconds");
	return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct values v = { .set = "nice",
		.policy = "resume",
		.metric = "ticks",
		.via = "auto",
		.slice_ms = 10,
		.alternate_s = NAN,
		.nice = NICE_STEPS };
	struct operands operands;
	int status = 0;
	if (!options_parse(command, argc, argv, &v, &operands, &status))
		return status;
	status = command_program_or_pid(command, &operands, v.pid);
	if (status != 0)
		return status;
	bool has_program = operands.program != NULL;
	if (v.is_guarded && !has_trial(&v))
		v.alternate_s = ALTERNATE_S;
	status = check_values(command, &v);
	if (status == 0)
		status = check_via(command, &v, has_program);
	if (status == 0)
		status = check_trial(command, &v, has_program);
	return status != 0 ? status : boost(&v, operands.program);
}

extern const struct command cmd_boost;
const struct command cmd_boost = {
	.name = "boost",
	.summary = "give the most critical thread more speed while a program runs",
	.usage = "[options] (-- PROGRAM... | -p PID)",
	.options = options,
	.run = run,
};
