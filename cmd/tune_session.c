/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune_session.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/plural.h"
#include "collect/sync_stalls.h"
#include "collect/tree.h"
#include "steer/actuator.h"
#include "machine/cpu_limits.h"
#include "steer/rate.h"
#include "steer/tune_share.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Of the work: what may be spent on looking whether other counts are still worse. */
static const double LOOK = 0.02;

/*
 * An interval is measured in so many parts, as what is bad should be left early. A part has units of work enough that one more
 * or less hardly matters (units.h), and is not so short that waking up late matters.
 */
enum { PARTS = 8 };
static const double PART_MIN_S = 0.01;

/* Of an interval: so often it looks when a unit of work ends, where there are few of them. */
static const double LOOK_SHARE = 0.01, LOOK_MIN_S = 0.001;

/*
 * Where nobody gave a bound and threads may be more than cores, a program that is best with as many threads as cores and leaves a
 * quarter of them idle is tried with more: so many as would fill the cores, if all of them did as those do.
 */
static const double BUSY = 0.75;
enum { WIDEST = 16 }; /* times the cores */

/* So many intervals without anything to go by are told: the program may run for days. */
enum { SILENT = 10 };

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
	uint32_t cores; /* that may be used; 0: the bound was given, or cannot be above */
	struct tree_busy
		busy; /* of the program, when the interval that is measured began; 0: not known */
	double busy_s; /* the clock then */
	/* Programs size their arrays by omp_get_max_threads(): that is the bound, so that no region has more. */
	char openmp_max[sizeof "OMP_NUM_THREADS=4294967295"];
	double start_s;
	double begin_s; /* of the part that is measured */
	bool has_told_nothing;
};

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

static int begin_search(struct tune_session *session, struct err *err)
{
	const struct tuner_opts opts = {
		.space = { .min = session->opts.min, .max = session->opts.max },
		.policy = session->opts.policy,
		.look = LOOK,
	};
	tuner_free(session->tuner);
	session->tuner = NULL;
	return tuner_new(&opts, &session->tuner, &session->decision, err);
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
		code = tune_share_new(PRELOAD_TUNES, &session->share, err);
	if (code == 0)
		code = rate_new(opts->metric, tune_share_page(session->share), &session->rate, err);
	if (code == 0)
		code = actuator_new(
			opts->actuator, opts->pid, session->share, &session->actuator, err);
	if (code < 0)
		return code;
	uint32_t most = actuator_max(session->actuator);
	if (session->opts.max == 0) {
		session->opts.max = usable_cores(opts->pid);
		session->cores = most ? 0 : session->opts.max;
	}
	if (most && session->opts.max > most)
		return err_set(err, -EINVAL, "--max %u: this program may use %u cores",
			session->opts.max, most);
	if (strcmp(opts->actuator, "openmp") == 0)
		(void)snprintf(session->openmp_max, sizeof session->openmp_max,
			"OMP_NUM_THREADS=%u", session->opts.max); /* has room for any */
	if (session->opts.max < opts->min)
		return err_set(err, -EINVAL,
			"--min %u: this program may use %u cores, so --max is needed, too",
			opts->min, session->opts.max);
	if (session->share)
		tune_share_tell(session->share, session->opts.max);
	code = begin_search(session, err);
	if (code < 0)
		return code;
	*ret = TAKE(session);
	return 0;
}

size_t tune_session_environment(const struct tune_session *session, const char **ret)
{
	size_t count = session->share ? tune_share_environment(session->share, ret) : 0;
	if (session->openmp_max[0])
		ret[count++] = session->openmp_max;
	return count;
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
	double end = clock_now_s(CLOCK_MONOTONIC) + seconds;
	for (;;) {
		double left = end - clock_now_s(CLOCK_MONOTONIC);
		if (left <= 0)
			return true;
		struct pollfd stop = { .fd = stop_fd, .events = POLLIN };
		if (poll(&stop, 1, (int)(1000 * left) + 1) > 0)
			return false;
	}
}

/* What a count did so far; NULL: no memory. */
static struct tune_total *total_of(struct tune_session *session, uint32_t threads)
{
	size_t at = session->total_count;
	while (at > 0 && session->totals[at - 1].threads > threads)
		at--;
	if (at > 0 && session->totals[at - 1].threads == threads)
		return &session->totals[at - 1];
	if (mem_grow(&session->totals, &session->total_capacity, session->total_count + 1,
		    sizeof *session->totals) < 0)
		return NULL;
	memmove(&session->totals[at + 1], &session->totals[at],
		(session->total_count - at) * sizeof *session->totals);
	session->totals[at] = (struct tune_total){ .threads = threads };
	session->total_count++;
	return &session->totals[at];
}

static const char *state_name(enum tuner_state state)
{
	return state == TUNER_HOLDING ? "holding" : "searching";
}

static void tell(const struct tune_session *session, const struct tuner_decision *before)
{
	const struct tuner_decision *d = &session->decision;
	double at = clock_now_s(CLOCK_MONOTONIC) - session->start_s;
	if (session->opts.log)
		fprintf(session->opts.log, "%.3f,%u,%.6g,%s,%d\n", at, before->threads,
			d->performance, state_name(before->state), d->has_restarted);
	if (session->opts.messages && (d->threads != before->threads || d->held != before->held ||
					      d->state != before->state || d->has_restarted))
		fprintf(session->opts.messages,
			"corecast: %7.1f s  %u thread%s: %.6g/s; %s%s %u: %s\n", at,
			before->threads, plural(before->threads), d->performance,
			d->has_restarted ? "the workload changed; " : "",
			d->is_look                  ? "looking at"
			: d->state == TUNER_HOLDING ? "holding"
						    : "trying",
			d->threads, d->why);
}

/* Of an interval that begins with the highest count, what it will be compared with. */
static void begin_busy(struct tune_session *session, pid_t pid)
{
	session->busy = (struct tree_busy){ 0 };
	if (session->cores && session->decision.threads == session->opts.max &&
		tree_busy(pid, &session->busy) < 0)
		session->busy = (struct tree_busy){ 0 }; /* it is not widened now */
	session->busy_s = clock_now_s(CLOCK_MONOTONIC);
}

/* Share of the cores that the program has used since, or has waited for while others had them; NAN: not known. */
static double busy_of(const struct tune_session *session, pid_t pid)
{
	const struct tree_busy *before = &session->busy;
	struct tree_busy now;
	double seconds = clock_now_s(CLOCK_MONOTONIC) - session->busy_s;
	if (before->run_ns == 0 || seconds <= 0 || tree_busy(pid, &now) < 0 ||
		now.run_ns < before->run_ns)
		return NAN;
	uint64_t waited_ns = now.wait_ns > before->wait_ns ? now.wait_ns - before->wait_ns : 0;
	return 1e-9 * (double)(now.run_ns - before->run_ns + waited_ns) / seconds / session->cores;
}

/* Once: the threads of the program's regions know their numbers, by which they may find their place in arrays. */
static void tell_bounded(struct tune_session *session, double busy)
{
	session->cores = 0;
	if (session->opts.messages)
		fprintf(session->opts.messages,
			"corecast: %7.1f s  %.0f%% of the cores are idle, but the program may have "
			"room for %u thread%s only: --max N, for more\n",
			clock_now_s(CLOCK_MONOTONIC) - session->start_s, 100 * (1 - busy),
			session->opts.max, plural(session->opts.max));
}

/* Behind an interval: the highest count is the best, and the cores are idle all the same. */
static int widen(struct tune_session *session, pid_t pid, struct err *err)
{
	const struct tuner_decision *d = &session->decision;
	double busy = busy_of(session, pid);
	uint32_t most = WIDEST * session->cores, max = session->opts.max;
	if (!(busy < BUSY) || d->state != TUNER_HOLDING || d->held != max || max >= most)
		return 0;
	if (session->openmp_max[0] && tune_share_is_bounded(session->share)) {
		tell_bounded(session, busy);
		return 0;
	}
	session->opts.max = max < busy * most ? (uint32_t)ceil(max / busy) : most;
	int code = tuner_widen(session->tuner, session->opts.max, &session->decision, err);
	if (code == 0 && session->opts.messages)
		fprintf(session->opts.messages,
			"corecast: %7.1f s  %.0f%% of the cores are idle: up to %u threads; %s "
			"%u\n",
			clock_now_s(CLOCK_MONOTONIC) - session->start_s, 100 * (1 - busy),
			session->opts.max, d->state == TUNER_HOLDING ? "holding" : "trying",
			d->threads);
	return code;
}

/* Most of its regions do their work with as many threads as they ask for only: what can be set is their cores. */
static int set_cores_instead(struct tune_session *session, pid_t pid, struct err *err)
{
	AUTO(actuator) struct actuator *cores = NULL;
	int code = actuator_new("affinity", pid, NULL, &cores, err);
	if (code < 0)
		return code == -ESRCH ? 0 : code; /* it has just ended */
	actuator_restore(session->actuator); /* they have what they ask for again */
	actuator_free(session->actuator);
	session->actuator = TAKE(cores);
	session->opts.actuator = "affinity";
	session->opts.may_set_cores = false;
	session->cores = 0;
	if (session->opts.max > actuator_max(session->actuator))
		session->opts.max = actuator_max(session->actuator);
	if (session->opts.min > session->opts.max)
		session->opts.min = session->opts.max;
	session->total_count = 0;
	code = actuator_begin(session->actuator, pid, err);
	if (code == 0)
		code = begin_search(session, err);
	if (code == 0 && session->opts.messages)
		fprintf(session->opts.messages,
			"corecast: %7.1f s  the program's regions need as many threads as they ask "
			"for: from here on it is given 1 to %u cores; trying %u\n",
			clock_now_s(CLOCK_MONOTONIC) - session->start_s, session->opts.max,
			session->decision.threads);
	return code;
}

/* What a part of an interval says. */
struct part {
	double rate, seconds;
	double share; /* of an interval: all of it, if that is over, though units began and ended within it */
};

/* A part of an interval has ended. */
static int step(struct tune_session *session, pid_t pid, const struct part *part, bool *ret_changed,
	struct err *err)
{
	struct tuner_decision before = session->decision;
	struct tune_total *total = total_of(session, before.threads);
	if (!total)
		return err_set(err, -ENOMEM, "out of memory");
	total->seconds += part->seconds;
	total->work += part->rate * part->seconds;
	int code = tuner_measured(session->tuner, part->rate, part->share, &session->decision, err);
	if (code < 0 || !session->decision.is_decided)
		return code;
	total->intervals++;
	session->intervals++;
	session->restarts += session->decision.has_restarted;
	tell(session, &before);
	bool has_cores = session->opts.may_set_cores && tune_share_is_kept(session->share);
	if (has_cores)
		code = set_cores_instead(session, pid, err);
	else
		code = widen(session, pid, err);
	if (code < 0)
		return code;
	begin_busy(session, pid);
	*ret_changed = session->decision.threads != before.threads || has_cores;
	/* A new thread of the program has its creator's cores, not those that were set later. */
	return actuator_set(session->actuator, pid, session->decision.threads, err);
}

/* What has been done up to this moment does not count; nor does the next number that the program prints, if none came yet. */
static int begin_part(struct tune_session *session, struct err *err)
{
	int code = rate_begin(session->rate, err);
	session->begin_s = clock_now_s(CLOCK_MONOTONIC);
	return code;
}

/* As sleep_for(), with looks at the metric where it wants them. */
static bool sleep_part(struct tune_session *session, double seconds, int stop_fd)
{
	double end = clock_now_s(CLOCK_MONOTONIC) + seconds;
	double step = fmax(LOOK_SHARE * session->opts.interval_s, LOOK_MIN_S);
	for (double left = seconds; left > 0; left = end - clock_now_s(CLOCK_MONOTONIC)) {
		bool looks = rate_wants_looks(session->rate);
		if (!sleep_for(looks ? fmin(step, left) : left, stop_fd))
			return false;
		rate_look(session->rate);
	}
	return true;
}

/* The rate since the last one. 0; -EAGAIN: the part goes on. */
static int read_part(struct tune_session *session, struct part *ret, struct err *err)
{
	double now = clock_now_s(CLOCK_MONOTONIC);
	bool is_whole = now - session->begin_s >= session->opts.interval_s;
	int code = rate_read(session->rate, is_whole, &ret->rate, &ret->seconds, err);
	if (code < 0)
		return code;
	session->begin_s = now;
	ret->share = is_whole ? 1 : ret->seconds / session->opts.interval_s;
	return 0;
}

/* Once, when nothing was counted for long. */
static void tell_nothing(struct tune_session *session)
{
	double passed = clock_now_s(CLOCK_MONOTONIC) - session->start_s;
	if (session->has_told_nothing || session->intervals > 0 || !session->opts.messages ||
		passed < SILENT * session->opts.interval_s)
		return;
	session->has_told_nothing = true;
	const char *nothing = rate_nothing(session->rate);
	if (nothing)
		fprintf(session->opts.messages, "corecast: %7.1f s  nothing is tuned so far: %s\n",
			passed, nothing);
}

static int run(struct tune_session *session, pid_t pid, int stop_fd, struct err *err)
{
	int code = rate_start(session->rate, pid, err);
	if (code == 0)
		code = actuator_set(session->actuator, pid, session->decision.threads, err);
	bool has_changed = true;
	/* A program starts slowly: its first interval says little of a count. */
	double settle_s = session->opts.pid ? session->opts.settle_s : session->opts.interval_s;
	double part_s = rate_counts(session->rate)
				? fmax(session->opts.interval_s / PARTS, PART_MIN_S)
				: session->opts.interval_s;
	while (code == 0) {
		struct part part;
		if (has_changed) {
			if (!sleep_for(settle_s, stop_fd))
				break;
			settle_s = session->opts.settle_s;
			code = begin_part(session, err);
		}
		has_changed = false;
		if (code < 0 || !sleep_part(session, part_s, stop_fd))
			break;
		code = read_part(session, &part, err);
		if (code == 0)
			code = step(session, pid, &part, &has_changed, err);
		else if (code == -EAGAIN)
			code = 0;
		tell_nothing(session);
	}
	return code;
}

/* A program that cannot be given back what it had goes on with the best count that is known, not with one that is just tried. */
static int leave_best(struct tune_session *session, pid_t pid, struct err *err)
{
	const struct tuner_decision *d = &session->decision;
	struct tune_set set = tuner_measurements(session->tuner);
	const struct tune_point *best =
		d->state == TUNER_HOLDING ? tune_set_find(&set, d->held) : tune_set_best(&set);
	bool goes_on = session->opts.pid && kill(pid, 0) == 0;
	if (!goes_on || !best || actuator_restores(session->actuator))
		return 0;
	if (session->opts.messages)
		fprintf(session->opts.messages, "corecast: process %d goes on with %u thread%s\n",
			pid, best->threads, plural(best->threads));
	return best->threads == d->threads
		       ? 0
		       : actuator_set(session->actuator, pid, best->threads, err);
}

int tune_session_run(struct tune_session *session, pid_t pid, int stop_fd, struct err *err)
{
	session->start_s = clock_now_s(CLOCK_MONOTONIC);
	if (session->opts.log)
		fputs("seconds,threads,rate_per_s,state,has_restarted\n", session->opts.log);
	int code = run(session, pid, stop_fd, err);
	if (code == 0)
		code = leave_best(session, pid, err);
	actuator_restore(session->actuator);
	return code;
}

struct tune_session_result tune_session_result(struct tune_session *session)
{
	rate_end(session->rate);
	return (struct tune_session_result){
		.actuator = session->opts.actuator,
		.last = session->decision,
		.totals = session->totals,
		.total_count = session->total_count,
		.intervals = session->intervals,
		.restarts = session->restarts,
		.max = session->opts.max,
		.nothing = rate_nothing(session->rate),
	};
}

bool tune_session_is_tunable(const struct tune_session *session)
{
	return session->share && tune_share_is_tunable(session->share);
}
