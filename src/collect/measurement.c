/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: launch, then turn what the watchers saw into a record. */
#include "collect/measurement.h"

#include "collect/argv.h"
#include "collect/capture.h"
#include "collect/extract.h"
#include "machine/pin.h"
#include "collect/sched_wait.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	TAIL_LINES = 10,
	/* Writing so much into a file takes about a tenth of a second. */
	MUCH_OUTPUT_BYTES = 100000000,
};

struct measurement {
	const struct measurement_opts *opts;
	char *path; /* the program's file */
	struct capture capture;
	struct extractor throughput;
	bool has_throughput;
	struct stalls *stalls;
	struct sched_wait *wait;
	struct pin *pin; /* NULL: the kernel places the program */
	uint32_t threads; /* of the current run, for the hooks */
	char much_output[200]; /* a caveat, once it is one */
};

static int open_capture(struct measurement *m, struct err *err)
{
	enum capture_keep keep[CAPTURE_STREAMS];
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		keep[i] = m->has_throughput || stalls_read_stream(m->stalls, i) ? CAPTURE_WHOLE
										: CAPTURE_TAIL;
	if (m->opts->discards_stdout) {
		if (stalls_read_stream(m->stalls, CAPTURE_STDOUT))
			return err_set(err, -EINVAL,
				"a plugin reads the program's standard output, which --stdout null "
				"discards");
		keep[CAPTURE_STDOUT] = CAPTURE_NOTHING;
	}
	return capture_init(&m->capture, keep[CAPTURE_STDOUT], keep[CAPTURE_STDERR], err);
}

int measurement_new(const struct measurement_opts *opts, struct measurement **ret, struct err *err)
{
	AUTO(measurement) struct measurement *m = calloc(1, sizeof *m);
	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	m->opts = opts;
	m->capture = (struct capture){ .fds = { -1, -1 } };
	int status = argv_find_program(opts->program[0], &m->path, err);
	if (status < 0)
		return status;
	if (opts->throughput_regex) {
		status = extractor_init(&m->throughput, opts->throughput_regex, REDUCE_LAST, err);
		if (status < 0)
			return err_prefix(err, status, "--throughput-regex");
		m->has_throughput = true;
	}
	struct stalls_opts stalls = opts->stalls;
	stalls.sync_program = opts->watches_sync ? m->path : NULL;
	status = stalls_new(&stalls, &m->stalls, err);
	if (status == 0 && opts->is_pinned)
		status = pin_new(&m->pin, err);
	if (status < 0)
		return status;
	m->wait = sched_wait_new(SCHED_WAIT_EXACT);
	if (!m->wait)
		return err_set(err, -ENOMEM, "out of memory");
	status = open_capture(m, err);
	if (status < 0)
		return status;
	*ret = TAKE(m);
	return 0;
}

void measurement_free(struct measurement *m)
{
	if (!m)
		return;
	if (m->has_throughput)
		extractor_release(&m->throughput);
	capture_release(&m->capture);
	stalls_free(m->stalls);
	sched_wait_free(m->wait);
	pin_free(m->pin);
	free(m->path);
	free(m);
}

const struct stalls *measurement_stalls(const struct measurement *m)
{
	return m->stalls;
}

const char *measurement_caveat(const struct measurement *m, size_t index)
{
	if (index < STALLS_CAVEATS)
		return stalls_caveat(m->stalls, index);
	if (index == STALLS_CAVEATS)
		return sched_wait_caveat(m->wait);
	return m->much_output;
}

void measurement_tail(const struct measurement *m, struct strbuf *out)
{
	capture_add_tail(&m->capture, TAIL_LINES, "    ", out);
}

/* How the program ended, as an `enum measured`; the reason in err. */
static int judge_ending(
	const struct launch_result *launch, const struct measurement_opts *opts, struct err *err)
{
	switch (launch->ending) {
	case LAUNCH_EXITED:
		if (launch->status == 0)
			return MEASURED;
		(void)err_set(err, -EIO, "exit status %d", launch->status); /* the text is wanted */
		return MEASURED_FAILURE;
	case LAUNCH_SIGNALLED:
		(void)err_set(err, -EIO, "killed by signal %d (%s)", launch->status,
			strsignal(launch->status)); /* as above */
		return MEASURED_FAILURE;
	case LAUNCH_TIMED_OUT:
		(void)err_set(err, -EIO, "no end after %g s: stopped (--timeout)",
			opts->timeout_s); /* as above */
		return MEASURED_FAILURE;
	case LAUNCH_CANCELLED:
		break;
	}
	return MEASURED_CANCELLED;
}

/* From standard output, or from standard error if there is nothing in that. */
static int read_throughput(const struct measurement *m, double *ret, struct err *err)
{
	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		int matches = extractor_read(&m->throughput, m->capture.fds[i], ret, err);
		if (matches < 0)
			return MEASURED_FAILURE;
		if (matches > 0 && *ret > 0)
			return MEASURED;
		if (matches > 0) {
			(void)err_set(err, -EINVAL, "a throughput of %g is not above zero", *ret);
			return MEASURED_FAILURE;
		}
	}
	(void)err_set(err, -EINVAL, "its output has no match of --throughput-regex '%s'",
		m->opts->throughput_regex);
	return MEASURED_FAILURE;
}

static void trim_output(void *context, pid_t pid)
{
	(void)pid;
	const struct measurement *m = context;
	capture_trim(&m->capture);
}

static int pin_program(void *context, pid_t pid, struct err *err)
{
	const struct measurement *m = context;
	return pin_process(m->pin, pid, m->threads, err);
}

static void add_hooks(
	struct measurement *m, const struct launch_hooks *extra, struct launch_opts *launch)
{
	launch->hooks[launch->hook_count++] =
		(struct launch_hooks){ .at_tick = trim_output, .context = m };
	launch->hooks[launch->hook_count++] = sched_wait_hooks(m->wait);
	if (m->pin)
		launch->hooks[launch->hook_count++] =
			(struct launch_hooks){ .at_start = pin_program, .context = m };
	if (extra)
		launch->hooks[launch->hook_count++] = *extra;
}

int measurement_launch(struct measurement *m, uint32_t threads, const struct launch_hooks *extra,
	struct launch_result *ret, struct err *err)
{
	AUTO(argv) char **argv = NULL;
	AUTO_FREE char *variable = NULL;
	if (argv_expand(m->opts->program, threads, &argv) < 0 ||
		asprintf(&variable, "%s=%u", m->opts->count_variable, threads) < 0) {
		variable = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	m->threads = threads;
	struct launch_opts launch = {
		.argv = argv,
		.path = m->path,
		.environment = { variable },
		.environment_count = 1,
		.stdout_fd = m->capture.fds[CAPTURE_STDOUT],
		.stderr_fd = m->capture.fds[CAPTURE_STDERR],
		.timeout_s = m->opts->timeout_s,
		.cancel_fd = m->opts->cancel_fd,
	};
	add_hooks(m, extra, &launch);
	int status = capture_reset(&m->capture, err);
	if (status == 0)
		status = stalls_prepare(m->stalls, &launch, err);
	struct launch_result result;
	if (status == 0)
		status = launch_run(&launch, &result, err);
	if (status < 0)
		return status;
	if (ret)
		*ret = result;
	return judge_ending(&result, m->opts, err);
}

static void judge_output(struct measurement *m)
{
	double bytes = capture_written_bytes(&m->capture, CAPTURE_STDOUT);
	if (bytes < MUCH_OUTPUT_BYTES || *m->much_output)
		return;
	(void)snprintf(m->much_output, sizeof m->much_output,
		"the program wrote %.0f MB to standard output, into a file: that takes time; "
		"--stdout null discards it",
		bytes / 1e6); /* fits */
}

int measurement_run(struct measurement *m, uint32_t threads, uint32_t repeat,
	struct record *ret_record, struct launch_result *ret_launch, struct err *err)
{
	struct launch_result launch;
	struct timespec start;
	(void)clock_gettime(CLOCK_REALTIME, &start); /* cannot fail on Linux */
	int status = measurement_launch(m, threads, NULL, &launch, err);
	if (status < 0)
		return status;
	judge_output(m);
	double rss_bytes = sched_wait_rss_bytes(m->wait);
	struct record record = {
		.threads = threads,
		.repeat = repeat,
		.wall_s = launch.wall_s,
		.throughput = NAN,
		.user_s = launch.user_s,
		.system_s = launch.system_s,
		.rss_bytes = isnan(rss_bytes) ? launch.rss_bytes : rss_bytes,
		.voluntary_switches = (double)launch.voluntary_switches,
		.involuntary_switches = (double)launch.involuntary_switches,
		.wait_for_core_s = sched_wait_s(m->wait),
	};
	if (status == MEASURED && m->has_throughput)
		status = read_throughput(m, &record.throughput, err);
	if (status == MEASURED) {
		int code = stalls_read(m->stalls, &m->capture, threads, start, &record.stalls, err);
		if (code < 0)
			status = code == -ECANCELED ? MEASURED_CANCELLED : MEASURED_FAILURE;
	}
	*ret_record = record;
	*ret_launch = launch;
	return status;
}
