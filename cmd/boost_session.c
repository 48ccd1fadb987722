/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "boost_session.h"

#include "base/clock.h"
#include "base/mem.h"
#include "record/live.h"
#include "record/preload_watch.h"
#include "base/readfile.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Records of threads in the kernel: a reading walks over all of them, every slice. */
enum { THREADS_MAX = 16384 };

/* How fast it reacts to threads that come and go: a look costs two system calls. */
static const double GLANCE_S = 0.001;

/* While it is off: records of ended threads are taken, counters of energy do not wrap unseen. */
static const double LOOK_S = 1;

struct boost_session {
	struct boost_session_opts opts;
	struct bpf_watch *watch; /* or: */
	struct preload_watch *preload;
	struct bpf_snapshot snapshot;
	struct live live;
	struct undo *undo; /* NULL: dry, or not begun */
	struct favour favour;
	struct rapl *rapl; /* NULL: no energy here */
	bool is_off; /* by the trial */
	double looked_s;
	struct boost_thread *threads; /* of the last slice */
	size_t thread_count, thread_capacity;
	struct boost_state state;
	uint32_t fast; /* who was chosen to be fast, whether that was possible or not */
	struct boost_tally tallies[BOOST_TALLIES_MAX];
	size_t tally_count;
	uint64_t slices, changes, late;
	double start_s, last_s, fast_s;
};

int boost_session_new(
	const struct boost_session_opts *opts, struct boost_session **ret, struct err *err)
{
	AUTO(boost_session) struct boost_session *session = calloc(1, sizeof *session);
	if (!session)
		return err_set(err, -ENOMEM, "out of memory");
	session->opts = *opts;
	session->state = (struct boost_state){ BOOST_NONE, BOOST_NONE };
	session->fast = BOOST_NONE;
	int code = opts->is_by_preload ? preload_watch_new(&session->preload, err) : 0;
	if (code < 0)
		return code;
	*ret = TAKE(session);
	return 0;
}

size_t boost_session_environment(const struct boost_session *session, const char **ret)
{
	return session->preload ? preload_watch_environment(session->preload, ret) : 0;
}

void boost_session_free(struct boost_session *session)
{
	if (!session)
		return;
	undo_close(session->undo);
	bpf_watch_free(session->watch);
	preload_watch_free(session->preload);
	rapl_free(session->rapl);
	bpf_snapshot_release(&session->snapshot);
	live_release(&session->live);
	free(session->threads);
	free(session);
}

/* From here on what is changed is taken back; so is the file that is shared. */
static int begin_changes(struct boost_session *session, pid_t pid, struct err *err)
{
	struct alteration page;
	int code = undo_open(NULL, pid, &session->undo, err);
	if (code < 0)
		return code;
	session->favour = (struct favour){ .method = session->opts.method,
		.opts = { .root = "",
			.nice_steps = session->opts.nice_steps,
			.nice_lowest = favour_nice_lowest("") },
		.undo = session->undo };
	if (session->preload &&
		alteration_of_page(preload_watch_path(session->preload), &page) == 0)
		(void)undo_make(session->undo, &page); /* there is room for one */
	return 0;
}

int boost_session_begin(void *context, pid_t pid, struct err *err)
{
	struct boost_session *session = context;
	const struct bpf_watch_opts watch = { .pid = pid, .threads_max = THREADS_MAX };
	char reason[FAVOUR_REASON_BYTES];
	int code = session->opts.is_dry ? 0 : session->opts.method->check("", reason);
	if (code < 0)
		return err_set(err, code,
			"cannot make a thread faster by %s: %s (--dry-run shows what it would do)",
			session->opts.method->name, reason);
	if (!session->preload)
		code = bpf_watch_open(&watch, &session->watch, err);
	(void)rapl_new("", &session->rapl, NULL); /* without it, no energy is told */
	return code < 0 || session->opts.is_dry ? code : begin_changes(session, pid, err);
}

static const struct boost_thread *find_thread(const struct boost_session *session, uint32_t tid)
{
	for (size_t i = 0; i < session->thread_count; i++)
		if (session->threads[i].id == tid)
			return &session->threads[i];
	return NULL;
}

static pid_t process_of(const struct boost_session *session, uint32_t tid)
{
	for (size_t i = 0; i < session->live.threads.count; i++)
		if (session->live.threads.items[i].tid == tid)
			return (pid_t)session->live.threads.items[i].pid;
	return 0; /* younger than the last slice */
}

/* A thread is given its name after it has started; of one that has ended the last stays. */
static void read_name(struct boost_tally *tally)
{
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%u/comm", tally->tid); /* fits; of threads too */
	if (tally->tid)
		(void)readfile_line("", path, tally->name, sizeof tally->name);
}

static struct boost_tally *tally_of(struct boost_session *session, uint32_t tid)
{
	for (size_t i = 0; i < session->tally_count; i++)
		if (session->tallies[i].tid == tid)
			return &session->tallies[i];
	if (session->tally_count == BOOST_TALLIES_MAX)
		return &session->tallies[BOOST_TALLIES_MAX - 1];
	struct boost_tally *tally = &session->tallies[session->tally_count++];
	if (session->tally_count == BOOST_TALLIES_MAX) {
		*tally = (struct boost_tally){ .name = "(others)" };
		return tally;
	}
	*tally = (struct boost_tally){ .tid = tid, .name = "(ended)" };
	read_name(tally);
	return tally;
}

/* What has passed since the last look is theirs who were chosen then. */
static void account_time(struct boost_session *session)
{
	double now = clock_now_s(CLOCK_MONOTONIC), passed = now - session->last_s;
	session->last_s = now;
	if (session->state.held != BOOST_NONE)
		tally_of(session, session->state.held)->held_s += passed;
	if (session->fast == BOOST_NONE)
		return;
	tally_of(session, session->fast)->fast_s += passed;
	session->fast_s += passed;
}

static void tell(const struct boost_session *session, const struct boost_tally *tally)
{
	double all = 0, at = session->last_s - session->start_s;
	const char *is = session->opts.is_dry ? "would be" : "is";
	FILE *out = session->opts.messages;
	if (!tally) {
		fprintf(out, "corecast: %8.3f s  nobody %s faster\n", at, is);
		return;
	}
	for (size_t i = 0; i < session->thread_count; i++)
		all += (double)session->threads[i].criticality;
	const struct boost_thread *thread = find_thread(session, session->fast);
	fprintf(out, "corecast: %8.3f s  %s (%u) %s faster: ", at, tally->name, session->fast, is);
	if (thread && all > 0 && session->fast == session->state.held)
		fprintf(out, "%.0f%% of the criticality\n",
			100 * (double)thread->criticality / all);
	else
		fputs("alone\n", out);
}

/* Makes what the policy wants so. */
static int act(struct boost_session *session, struct err *err)
{
	uint32_t wanted = session->state.fast;
	bool is_change = wanted != session->fast;
	int code = 0;
	if (!session->opts.is_dry && (is_change || session->opts.method->follows)) {
		pid_t pid = wanted == BOOST_NONE ? 0 : process_of(session, wanted);
		code = favour_set(&session->favour, pid, pid ? (pid_t)wanted : 0, err);
	}
	if (code < 0 || !is_change)
		return code;
	session->fast = wanted;
	session->changes++;
	struct boost_tally *tally = wanted == BOOST_NONE ? NULL : tally_of(session, wanted);
	if (tally) {
		tally->times++;
		read_name(tally);
	}
	if (session->opts.messages)
		tell(session, tally);
	return 0;
}

static uint32_t or_none(uint32_t tid)
{
	return tid ? tid : (uint32_t)BOOST_NONE;
}

/* Of a weight, resume's reactions are no difference: who waits has none, who is alone needs none. */
static bool needs_glances(const struct boost_session *session)
{
	return !session->opts.method->is_weight || session->opts.policy != &boost_policy_resume;
}

static int react(struct boost_session *session, struct err *err)
{
	struct bpf_glance glance = { .is_active = true };
	uint32_t held = session->state.held, asked = held == BOOST_NONE ? 0 : held;
	int code = 0;
	if (needs_glances(session))
		code = session->preload
			       ? preload_watch_glance(session->preload, asked, &glance, err)
			       : bpf_watch_glance(session->watch, asked, &glance, err);
	if (code < 0)
		return code;
	const struct boost_view view = { .only = or_none(glance.only),
		.is_held_active = held != BOOST_NONE && glance.is_active };
	session->opts.policy->change(&view, &session->state);
	return act(session, err);
}

/* What the threads did since the last look. */
static int look(struct boost_session *session, struct err *err)
{
	double joules;
	int code = session->preload ? preload_watch_read(session->preload, &session->snapshot, err)
				    : bpf_watch_read(session->watch, &session->snapshot, err);
	if (code < 0)
		return code;
	if (session->rapl && session->last_s - session->looked_s >= LOOK_S)
		(void)rapl_read(session->rapl, &joules); /* it is read again in the end */
	session->looked_s = session->last_s;
	return live_update(&session->live, &session->snapshot) < 0
		       ? err_set(err, -ENOMEM, "out of memory")
		       : 0;
}

static int end_slice(struct boost_session *session, struct err *err)
{
	int code = look(session, err);
	if (code < 0)
		return code;
	const struct live_rows *rows = &session->live.threads;
	if (mem_grow(&session->threads, &session->thread_capacity, rows->count,
		    sizeof *session->threads) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < rows->count; i++)
		session->threads[i] = (struct boost_thread){ .id = rows->items[i].tid,
			.criticality = (uint64_t)llround(1e9 * rows->items[i].criticality_s),
			.is_active = rows->items[i].is_active };
	session->thread_count = rows->count;
	session->slices++;
	const struct boost_view view = { .threads = session->threads,
		.thread_count = session->thread_count,
		.only = BOOST_NONE };
	session->opts.policy->slice(&session->opts.settings, &view, &session->state);
	return 0;
}

/* Switched off, nobody is fast and nobody looks. */
static int follow_trial(struct boost_session *session, struct err *err)
{
	bool is_on = true;
	int code = session->opts.trial
			   ? boost_trial_poll(session->opts.trial, session->last_s, &is_on, err)
			   : 0;
	if (code < 0 || is_on != session->is_off)
		return code;
	session->is_off = !is_on;
	session->state = (struct boost_state){ BOOST_NONE, BOOST_NONE };
	return session->is_off ? act(session, err) : look(session, err);
}

static int pass(struct boost_session *session, bool is_over, struct err *err)
{
	int code = follow_trial(session, err);
	if (code < 0)
		return code;
	if (session->is_off)
		return session->last_s - session->looked_s < LOOK_S ? 0 : look(session, err);
	if (is_over)
		code = end_slice(session, err);
	return code < 0 ? code : react(session, err);
}

/* False: stop_fd became readable. */
static bool sleep_until(double end, int stop_fd)
{
	for (;;) {
		double left = end - clock_now_s(CLOCK_MONOTONIC);
		if (left <= 0)
			return true;
		struct pollfd stop = { .fd = stop_fd, .events = POLLIN };
		struct timespec pause = { .tv_sec = (time_t)left,
			.tv_nsec = (long)(1e9 * fmod(left, 1)) };
		if (ppoll(&stop, 1, &pause, NULL) > 0)
			return false;
	}
}

static int run(struct boost_session *session, int stop_fd, struct err *err)
{
	double slice_s = session->opts.slice_s, next = session->start_s + slice_s;
	double glance_s = needs_glances(session) ? GLANCE_S : slice_s;
	int code = 0;
	for (;;) {
		double until = session->is_off
				       ? next
				       : fmin(clock_now_s(CLOCK_MONOTONIC) + glance_s, next);
		if (code < 0 || !sleep_until(until, stop_fd))
			break;
		account_time(session);
		bool is_over = session->last_s >= next;
		if (is_over) {
			uint64_t behind = (uint64_t)((session->last_s - next) / slice_s);
			session->late += behind;
			next += slice_s * (double)(behind + 1);
		}
		code = pass(session, is_over, err);
	}
	account_time(session);
	return code;
}

int boost_session_run(void *context, pid_t pid, int stop_fd, struct err *err)
{
	struct boost_session *session = context;
	/* Of this thread: who chooses must not wait for those that it chooses. Without privilege it may. */
	(void)setpriority(PRIO_PROCESS, 0, PRIO_MIN);
	session->start_s = session->last_s = session->looked_s = clock_now_s(CLOCK_MONOTONIC);
	int code = 0;
	if (session->opts.trial)
		code = boost_trial_start(
			session->opts.trial, pid, session->start_s, session->rapl, err);
	if (code == 0)
		code = run(session, stop_fd, err);
	undo_close(session->undo);
	session->undo = NULL;
	return code;
}

static int compare_tallies(const void *a, const void *b)
{
	const struct boost_tally *left = a, *right = b;
	if (left->held_s != right->held_s)
		return left->held_s < right->held_s ? 1 : -1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

struct boost_session_result boost_session_result(struct boost_session *session)
{
	double joules;
	bool has_energy = session->rapl && rapl_read(session->rapl, &joules) == 0;
	if (session->tally_count > 1)
		qsort(session->tallies, session->tally_count, sizeof *session->tallies,
			compare_tallies);
	return (struct boost_session_result){ .seconds = session->last_s - session->start_s,
		.slices = session->slices,
		.changes = session->changes,
		.late = session->late,
		.fast_s = session->fast_s,
		.joules = has_energy ? joules : NAN,
		.has_seen = !session->preload || preload_watch_has_seen(session->preload),
		.lost_threads = session->live.lost_threads,
		.tallies = session->tallies,
		.tally_count = session->tally_count };
}
