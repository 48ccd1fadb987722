/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runs of a measurement, one after the other, each kept as soon as it is over. */
#include "measure_session.h"

#include "base/cleanup.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "collect/where_run.h"
#include "machine/busy.h"
#include "machine/core_watch.h"
#include "scaling/runs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum {
	BUSY_WATCH_MS = 250,
	LOOKS_LEAST = 100, /* half a second of two cores: fewer tell no share */
};

void session_release(struct session *session)
{
	measurement_free(session->measurement);
	journal_release(&session->journal);
	schedule_release(&session->schedule);
	summary_release(&session->summary);
}

static void clear_progress(const struct session *session)
{
	if (session->shows_progress)
		fputs("\r\033[K", stderr);
}

static void show_progress(const struct session *session, const struct schedule_run *run)
{
	if (!session->shows_progress)
		return;
	double left_s = schedule_left_s(&session->schedule);
	fprintf(stderr, "\r\033[K[%zu/%zu] %u threads", session->schedule.next + 1,
		session->schedule.count, run->threads);
	if (!isnan(left_s))
		fprintf(stderr, ", %.0f s left", left_s);
	fflush(stderr);
}

/* Said now and kept in the file: a "note" is about the figures, and a forecast repeats it; a "caveat" about what is not there. */
static int keep_remark(struct session *session, const char *kind, const char *text, struct err *err)
{
	clear_progress(session);
	fprintf(stderr, "corecast: note: %s\n", text);
	return journal_comment(&session->journal, err, "%s: %s", kind, text);
}

static int remark(struct session *session, const char *text, struct err *err)
{
	return keep_remark(session, "note", text, err);
}

static int remark_oversubscription(struct session *session, struct err *err)
{
	const struct session_opts *opts = session->opts;
	uint32_t usable = opts->machine->usable;
	if (opts->counts[opts->count_count - 1] <= usable)
		return 0;
	char text[160];
	(void)snprintf(text, sizeof text,
		"oversubscribed above %u threads: only %u %s usable here, so those rows show "
		"waiting for a core, not scaling",
		usable, usable, usable == 1 ? "core is" : "cores are"); /* fits */
	return remark(session, text, err);
}

static int remark_busy(struct session *session, struct err *err)
{
	const struct machine *machine = session->opts->machine;
	uint32_t online = machine->limits.online;
	double busy = busy_measure(BUSY_WATCH_MS, online);
	/* A quarter of a core is more than this command and an idle system use. */
	if (isnan(busy) || online - busy > machine->usable - 0.25)
		return 0;
	char text[160];
	(void)snprintf(text, sizeof text,
		"the machine is busy: other work keeps %.1f of %u cores, and the figures will "
		"include it",
		busy, online); /* fits */
	return remark(session, text, err);
}

static int remark_shared(struct session *session, const struct core_watch *watch, struct err *err)
{
	struct core_sharing seen = core_watch_seen(watch);
	if (seen.looks < LOOKS_LEAST || seen.shared < CORE_SHARING_NOTABLE)
		return 0;
	char text[240];
	(void)snprintf(text, sizeof text,
		"cores were shared %.0f%% of the time: something else used their other hardware "
		"threads, which this machine does not show; on average they gave %.0f%% of their "
		"width",
		seen.shared * 100, seen.width / seen.most_width * 100); /* fits */
	return remark(session, text, err);
}

/* Caveats that are new since the last call. */
static int remark_caveats(struct session *session, struct err *err)
{
	for (size_t i = 0; i < MEASUREMENT_CAVEATS; i++) {
		const char *caveat = measurement_caveat(session->measurement, i);
		if (!*caveat || session->has_said[i])
			continue;
		session->has_said[i] = true;
		int status = keep_remark(session, "caveat", caveat, err);
		if (status < 0)
			return status;
	}
	return 0;
}

static int remark_all(struct session *session, struct err *err)
{
	int status = journal_comment(
		&session->journal, err, "cores: %u", session->opts->machine->usable);
	if (status == 0)
		status = remark_oversubscription(session, err);
	if (status == 0)
		status = remark_busy(session, err);
	if (status == 0)
		status = remark_caveats(session, err);
	return status;
}

/* What the file holds already is not measured again, but shown with the rest. */
static int take_rows(struct session *session, struct err *err)
{
	const char *path = session->journal.path;
	AUTO_FILE FILE *in = fopen(path, "re");
	if (!in)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	AUTO(runs) struct runs *runs = NULL;
	int status = runs_read(in, path, NULL, &runs, err);
	if (status < 0)
		return err_prefix(err, status, "cannot resume");
	for (size_t i = 0; i < runs->row_count; i++) {
		const struct runs_row *row = &runs->rows[i];
		(void)schedule_remove(
			&session->schedule, row->threads, row->repeat); /* may not be asked for */
		struct summary_run run = { .threads = row->threads,
			.value = row->value,
			.cpu_s = NAN,
			.wait_for_core_s = NAN,
			.rss_bytes = row->rss_bytes };
		if (summary_add(&session->summary, &run) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int open_journal(struct session *session, bool *ret_has_rows, struct err *err)
{
	const struct machine *machine = session->opts->machine;
	char text[256], system_text[256] = "unknown system";
	(void)snprintf(text, sizeof text, "%s, %u usable of %u cores",
		*machine->cpu.name ? machine->cpu.name : "unknown processor", machine->usable,
		machine->limits.online); /* fits */
	struct utsname system;
	if (uname(&system) == 0)
		(void)snprintf(system_text, sizeof system_text, "%s %s %s", system.sysname,
			system.release, system.machine); /* fits */
	struct journal_subject subject = {
		.command = session->summary.command,
		.settings = session->opts->settings,
		.machine = text,
		.system = system_text,
		.has_throughput = session->summary.has_throughput,
	};
	const struct stalls *stalls = measurement_stalls(session->measurement);
	subject.stall_names = stalls_names(stalls, &subject.stall_count);
	subject.stall_unit = stalls_unit(stalls);
	return journal_open(&session->journal, session->summary.path, session->opts->mode, &subject,
		ret_has_rows, err);
}

int session_open(struct session *session, const struct session_opts *opts,
	const struct measurement_opts *measurement, struct err *err)
{
	session->opts = opts;
	int status = measurement_new(measurement, &session->measurement, err);
	if (status < 0)
		return status;
	if (opts->where) {
		status = where_run_check(session->measurement, opts->where, err);
		if (status < 0)
			return status;
	}
	if (schedule_init(&session->schedule, opts->counts, opts->count_count, opts->repeats) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	bool has_rows = false;
	status = open_journal(session, &has_rows, err);
	if (status == 0 && has_rows)
		status = take_rows(session, err);
	if (status < 0)
		return status;
	struct rng rng;
	rng_init(&rng, opts->seed);
	schedule_shuffle(&session->schedule, &rng);
	if (schedule_current(&session->schedule))
		return remark_all(session, err);
	fprintf(stderr, "corecast: all these runs are in '%s' already\n", session->summary.path);
	return 0;
}

static void report_failure(
	struct session *session, const struct schedule_run *run, const struct err *reason)
{
	AUTO_RELEASE(strbuf) struct strbuf tail = { 0 };
	measurement_tail(session->measurement, &tail);
	clear_progress(session);
	fprintf(stderr, "corecast: the program failed at %u %s (repeat %u): %s\n%s", run->threads,
		run->threads == 1 ? "thread" : "threads", run->repeat, reason->text,
		tail.text ? tail.text : "    (it printed nothing)\n");
	session->summary.failed++;
}

static int keep_failure(struct session *session, const struct schedule_run *run, struct err *err)
{
	struct err reason = *err;
	report_failure(session, run, &reason);
	return journal_comment(&session->journal, err, "failed: threads=%u repeat=%u: %s",
		run->threads, run->repeat, reason.text);
}

static int keep_left_behind(
	struct session *session, const struct launch_result *launch, struct err *err)
{
	if (launch->left_behind == 0)
		return 0;
	char text[160];
	(void)snprintf(text, sizeof text,
		"the program ended and left %zu %s running: stopped, and not in the figures",
		launch->left_behind, launch->left_behind == 1 ? "process" : "processes"); /* fits */
	return remark(session, text, err);
}

static int keep_record(struct session *session, const struct record *record, struct err *err)
{
	int status = journal_append(&session->journal, record, err);
	if (status < 0)
		return status;
	struct summary_run run = { .threads = record->threads,
		.value = session->summary.has_throughput ? record->throughput : record->wall_s,
		.cpu_s = record->user_s + record->system_s,
		.wait_for_core_s = record->wait_for_core_s,
		.rss_bytes = record->rss_bytes };
	if (summary_add(&session->summary, &run) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* Makes the schedule's current run. An `enum measured`, or a negative errno. */
static int make_run(struct session *session, struct err *err)
{
	const struct schedule_run *run = schedule_current(&session->schedule);
	struct record record;
	struct launch_result launch;
	int outcome = measurement_run(
		session->measurement, run->threads, run->repeat, &record, &launch, err);
	if (outcome < 0 || outcome == MEASURED_CANCELLED)
		return outcome;
	int status = outcome == MEASURED ? keep_record(session, &record, err)
					 : keep_failure(session, run, err);
	if (status == 0)
		status = keep_left_behind(session, &launch, err);
	schedule_advance(&session->schedule, launch.wall_s);
	return status < 0 ? status : outcome;
}

/* With most threads, once, for caches and files. Not counted; an `enum measured` or an errno. */
static int warm_up(struct session *session, struct err *err)
{
	struct record record;
	struct launch_result launch;
	if (session->shows_progress)
		fputs("\r\033[Kwarming up", stderr);
	const struct session_opts *opts = session->opts;
	int outcome = measurement_run(session->measurement, opts->counts[opts->count_count - 1], 0,
		&record, &launch, err);
	clear_progress(session);
	if (outcome == MEASURED_FAILURE)
		fprintf(stderr, "corecast: the warm-up run failed: %s\n", err->text);
	return outcome;
}

/* An `enum measured` or an errno. */
static int find_where(struct session *session, struct err *err)
{
	const struct session_opts *opts = session->opts;
	uint32_t threads = opts->counts[opts->count_count - 1];
	if (session->shows_progress)
		fprintf(stderr, "\r\033[Klooking for the code behind %s", opts->where);
	int outcome =
		where_run(session->measurement, opts->where, threads, &session->summary.where, err);
	clear_progress(session);
	if (outcome == MEASURED_FAILURE) {
		fprintf(stderr, "corecast: the run for --where failed: %s\n", err->text);
		session->summary.failed++;
	}
	return outcome;
}

static int make_runs(struct session *session, struct err *err)
{
	int outcome = MEASURED;
	if (session->opts->warms_up && schedule_current(&session->schedule))
		outcome = warm_up(session, err);
	while (outcome >= 0 && outcome != MEASURED_CANCELLED) {
		const struct schedule_run *run = schedule_current(&session->schedule);
		if (!run)
			break;
		show_progress(session, run);
		outcome = make_run(session, err);
	}
	clear_progress(session);
	session->summary.missing = session->schedule.count - session->schedule.next;
	return outcome;
}

int session_run(struct session *session, struct err *err)
{
	AUTO(core_watch) struct core_watch *watch = NULL;
	if (!machine_shows_smt(&session->opts->machine->topology))
		watch = core_watch_new();
	int outcome = make_runs(session, err);
	if (outcome >= 0 && outcome != MEASURED_CANCELLED && session->opts->where)
		outcome = find_where(session, err);
	if (outcome < 0)
		return outcome;
	int status = remark_caveats(session, err);
	if (status == 0)
		status = remark_shared(session, watch, err);
	if (status < 0)
		return status;
	return outcome == MEASURED_CANCELLED ? outcome : MEASURED;
}
