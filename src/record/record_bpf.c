/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records from the kernel: any program, also one that runs already. A thread of ours takes the
 * events out of the kernel's buffer many times a second and writes the trace file.
 */
#include "record/recorder.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "code/preloadable.h"
#include "machine/bpf_check.h"
#include "record/bpf_recording.h"
#include "machine/cpu_limits.h"
#include "record/foreground.h"
#include "record/record_samples.h"
#include "record/run_header.h"
#include "record/run_others.h"
#include "trace/writer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct recording {
	const struct record_opts *opts;
	struct record_samples *samples;
	struct record_result result;
	struct bpf_recording kernel;
	struct trace_writer *writer;
	struct run_others others;
	bool has_run; /* there is something in the file */
};

static void recording_release(struct recording *recording)
{
	record_samples_free(recording->samples);
	bpf_recording_release(&recording->kernel);
	trace_writer_free(recording->writer);
}

static int begin(void *context, pid_t pid, struct err *err)
{
	struct recording *recording = context;
	int status = bpf_recording_start(&recording->kernel, recording->opts, pid,
		trace_writer_sink(recording->writer), err);
	if (status == 0)
		status = record_samples_start(
			recording->opts, pid, &recording->samples, &recording->result, err);
	if (status == 0)
		run_others_begin(&recording->others, recording->opts->pid);
	return status;
}

/* Samples have to be in the file before it is closed. */
static int finish(struct recording *recording, uint64_t start_ns, uint64_t end_ns,
	struct record_result *ret, struct err *err)
{
	const struct trace_others others = run_others_end(&recording->others);
	recording->has_run = true;
	trace_writer_set_others(recording->writer, &others);
	record_samples_stop(recording->samples, ret);
	int status = bpf_recording_finish(&recording->kernel, &ret->lost, err);
	if (status < 0)
		return status;
	ret->wall_s = (double)(end_ns - start_ns) * 1e-9;
	ret->lost += trace_writer_lost(recording->writer);
	ret->processes = bpf_recording_processes(&recording->kernel);
	ret->is_full = trace_writer_is_full(recording->writer);
	ret->closed = *trace_writer_closed(recording->writer);
	return 0;
}

/* Until the process ends, the time is over, or someone asks us to stop. */
static int attend(const struct record_opts *opts, int signals, struct err *err)
{
	AUTO_FD int process = (int)syscall(SYS_pidfd_open, opts->pid, 0);
	if (process < 0)
		return err_set(err, -errno, "cannot watch process %d: %s", (int)opts->pid,
			strerror(errno));
	struct pollfd fds[] = { { .fd = process, .events = POLLIN },
		{ .fd = signals, .events = POLLIN } };
	uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)(opts->duration_s * 1e9);
	for (;;) {
		uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
		if (opts->duration_s > 0 && now_ns >= end_ns)
			return 0;
		uint64_t left_ms = (end_ns - now_ns) / 1000000 + 1;
		int wait_ms = opts->duration_s <= 0 ? -1 : left_ms < 60000 ? (int)left_ms : 60000;
		if (poll(fds, ARRAY_SIZE(fds), wait_ms) > 0)
			return 0;
	}
}

static int run_attached(struct recording *recording, const struct record_opts *opts,
	struct record_result *ret, struct err *err)
{
	/* Who stops us while we begin gets a file, too. */
	AUTO_FD int signals = stop_open(err);
	if (signals < 0)
		return signals;
	int status = begin(recording, opts->pid, err);
	if (status < 0)
		return status;
	uint64_t start_ns = clock_now_ns(CLOCK_MONOTONIC);
	status = attend(opts, signals, err);
	return status < 0 ? status
			  : finish(recording, start_ns, clock_now_ns(CLOCK_MONOTONIC), ret, err);
}

static int run_started(struct recording *recording, const struct record_opts *opts,
	struct record_result *ret, struct err *err)
{
	const struct foreground_opts how = {
		.argv = opts->argv, .at_start = begin, .context = recording
	};
	struct foreground_result ran;
	int status = foreground_run(&how, &ran, err);
	if (status < 0)
		return status;
	ret->status = ran.status;
	return finish(recording, ran.start_ns, ran.end_ns, ret, err);
}

/* Of a process that runs already its own mask counts, not ours. */
static struct cpu_limits limits_of(const struct record_opts *opts)
{
	struct cpu_limits limits;
	cpu_limits_read("", &limits);
	if (!opts->argv)
		limits.affinity = cpu_limits_affinity(opts->pid);
	return limits;
}

static int run(const struct record_opts *opts, struct record_result *ret, struct err *err)
{
	AUTO_RELEASE(recording) struct recording recording = { .opts = opts };
	const struct cpu_limits limits = limits_of(opts);
	const struct trace_writer_opts how = {
		.create = { .sources = TRACE_BY_BPF,
			.bytes_max = opts->bytes_max,
			.cores = cpu_limits_usable(&limits),
			.cores_online = limits.online,
			.wakes = run_wakes_measure() },
		.is_recording = true,
	};
	int status = trace_writer_new(opts->path, &how, &recording.writer, err);
	if (status < 0)
		return status;
	status = opts->argv ? run_started(&recording, opts, &recording.result, err)
			    : run_attached(&recording, opts, &recording.result, err);
	if (status < 0 && !recording.has_run)
		(void)unlink(opts->path); /* no program, no events */
	if (status == 0)
		*ret = recording.result;
	return status;
}

static int check(const struct record_opts *opts, struct err *err)
{
	char path[PATH_MAX];
	int code = opts->argv ? preloadable_find(opts->argv[0], path, err) : 0;
	return code < 0 ? code : bpf_check(err);
}

const struct recorder recorder_bpf = {
	.name = "bpf",
	.check = check,
	.run = run,
};
