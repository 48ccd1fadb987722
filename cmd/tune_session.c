/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune_session.h"

#include "base/mem.h"
#include "steer/actuator.h"
#include "machine/cpu_limits.h"
#include "steer/rate.h"
#include "steer/tune_share.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of the work: what may be spent on looking whether other counts are still worse. */
static const double LOOK = 0.02;

struct tune_session {
	struct tune_session_opts opts;
	struct tune_share *share; /* NULL: nothing is shared with the program */
	struct rate *rate;
	struct actuator *actuator;
	struct tuner *tuner;
	struct tuner_decision decision;
	struct tune_total *totals;
	size_t total_count, total_capacity;
	uint32_t intervals, restarts;
	double start_s;
};

static double clock_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void tune_session_free(struct tune_session *session)
{
	if (!session)
		return;
	rate_free(session->rate);
	actuator_free(session->actuator);
	tuner_free(session->tuner);
	tune_share_free(session->share);
	free(session->totals);
	free(session);
}

static uint32_t usable_cores(pid_t pid)
{
	struct cpu_limits limits;
	cpu_limits_read_process("", pid, &limits);
	return cpu_limits_usable(&limits);
}

int tune_session_new(
	const struct tune_session_opts *opts, struct tune_session **ret, struct err *err)
{
	AUTO(tune_session) struct tune_session *session = calloc(1, sizeof *session);
	if (!session)
		return err_set(err, -ENOMEM, "out of memory");
	session->opts = *opts;
	int code = 0;
	if (rate_needs_page(opts->metric) || actuator_needs_page(opts->actuator))
		code = tune_share_new(&session->share, err);
	if (code == 0)
		code = rate_new(opts->metric, tune_share_page(session->share), &session->rate, err);
	if (code == 0)
		code = actuator_new(
			opts->actuator, opts->pid, session->share, &session->actuator, err);
	if (code < 0)
		return code;
	uint32_t most = actuator_max(session->actuator);
	if (session->opts.max == 0)
		session->opts.max = usable_cores(opts->pid);
	if (most && session->opts.max > most)
		return err_set(err, -EINVAL, "--max %u: this program may use %u cores",
			session->opts.max, most);
	struct tuner_opts inner = { .space = { .min = opts->min, .max = session->opts.max },
		.policy = opts->policy,
		.look = LOOK };
	code = tuner_new(&inner, &session->tuner, &session->decision, err);
	if (code < 0)
		return code;
	*ret = TAKE(session);
	return 0;
}

size_t tune_session_environment(const struct tune_session *session, const char **ret)
{
	return session->share ? tune_share_environment(session->share, ret) : 0;
}

int tune_session_output(const struct tune_session *session)
{
	return rate_output(session->rate);
}

int tune_session_begin(struct tune_session *session, pid_t pid, struct err *err)
{
	int code = actuator_begin(session->actuator, pid, err);
	return code < 0 || !session->share
		       ? code
		       : actuator_set(session->actuator, pid, session->decision.threads, err);
}

/* False: stop_fd became readable. */
static bool sleep_for(double seconds, int stop_fd)
{
	double end = clock_s() + seconds;
	for (;;) {
		double left = end - clock_s();
		if (left <= 0)
			return true;
		struct pollfd stop = { .fd = stop_fd, .events = POLLIN };
		if (poll(&stop, 1, (int)(1000 * left) + 1) > 0)
			return false;
	}
}

static int add_total(struct tune_session *session, uint32_t threads, double rate, struct err *err)
{
	size_t at = session->total_count;
	while (at > 0 && session->totals[at - 1].threads >= threads)
		at--;
	if (at == session->total_count || session->totals[at].threads != threads) {
		if (mem_grow(&session->totals, &session->total_capacity, session->total_count + 1,
			    sizeof *session->totals) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		memmove(&session->totals[at + 1], &session->totals[at],
			(session->total_count - at) * sizeof *session->totals);
		session->totals[at] = (struct tune_total){ .threads = threads };
		session->total_count++;
	}
	session->totals[at].intervals++;
	session->totals[at].seconds += session->opts.interval_s;
	session->totals[at].work += rate * session->opts.interval_s;
	return 0;
}

static const char *state_name(enum tuner_state state)
{
	return state == TUNER_HOLDING ? "holding" : "searching";
}

static void tell(
	const struct tune_session *session, const struct tuner_decision *before, double rate)
{
	const struct tuner_decision *d = &session->decision;
	double at = clock_s() - session->start_s;
	if (session->opts.log)
		fprintf(session->opts.log, "%.3f,%u,%.6g,%s,%d\n", at, before->threads, rate,
			state_name(before->state), d->has_restarted);
	if (session->opts.messages &&
		(d->threads != before->threads || d->state != before->state || d->has_restarted))
		fprintf(session->opts.messages,
			"corecast: %7.1f s  %u threads: %.6g/s; %s%s %u: %s\n", at, before->threads,
			rate, d->has_restarted ? "the workload changed; " : "",
			d->is_look                  ? "looking at"
			: d->state == TUNER_HOLDING ? "holding"
						    : "trying",
			d->threads, d->why);
}

/* One interval has ended with this rate. */
static int step(
	struct tune_session *session, pid_t pid, double rate, bool *ret_changed, struct err *err)
{
	struct tuner_decision before = session->decision;
	int code = add_total(session, before.threads, rate, err);
	if (code == 0)
		code = tuner_measured(session->tuner, rate, &session->decision, err);
	if (code < 0)
		return code;
	session->intervals++;
	session->restarts += session->decision.has_restarted;
	tell(session, &before, rate);
	*ret_changed = session->decision.threads != before.threads;
	/* A new thread of the program has its creator's cores, not those that were set later. */
	return actuator_set(session->actuator, pid, session->decision.threads, err);
}

static int run(struct tune_session *session, pid_t pid, int stop_fd, struct err *err)
{
	int code = rate_start(session->rate, pid, err);
	if (code == 0)
		code = actuator_set(session->actuator, pid, session->decision.threads, err);
	bool has_changed = true;
	/* A program starts slowly: its first interval says little of a count. */
	double settle_s = session->opts.pid ? session->opts.settle_s : session->opts.interval_s;
	while (code == 0) {
		double rate;
		if (has_changed) {
			if (!sleep_for(settle_s, stop_fd))
				break;
			settle_s = session->opts.settle_s;
			code = rate_read(session->rate, &rate, err);
			code = code == -EAGAIN ? 0 : code;
		}
		has_changed = false;
		if (code < 0 || !sleep_for(session->opts.interval_s, stop_fd))
			break;
		code = rate_read(session->rate, &rate, err);
		if (code == 0)
			code = step(session, pid, rate, &has_changed, err);
		else if (code == -EAGAIN)
			code = 0; /* the interval goes on */
	}
	return code;
}

int tune_session_run(struct tune_session *session, pid_t pid, int stop_fd, struct err *err)
{
	session->start_s = clock_s();
	if (session->opts.log)
		fputs("seconds,threads,rate_per_s,state,has_restarted\n", session->opts.log);
	int code = run(session, pid, stop_fd, err);
	actuator_restore(session->actuator);
	return code;
}

struct tune_session_result tune_session_result(const struct tune_session *session)
{
	return (struct tune_session_result){
		.last = session->decision,
		.totals = session->totals,
		.total_count = session->total_count,
		.intervals = session->intervals,
		.restarts = session->restarts,
		.max = session->opts.max,
	};
}

uint64_t tune_session_tunable(const struct tune_session *session)
{
	return session->share ? tune_share_regions(session->share) : 0;
}
