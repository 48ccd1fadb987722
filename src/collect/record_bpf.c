/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records from the kernel: any program, also one that runs already. A thread of ours takes the
 * events out of the kernel's buffer many times a second and writes the trace file.
 */
#include "collect/recorder.h"

#include "base/mem.h"
#include "collect/bpf_check.h"
#include "collect/bpf_timeline.h"
#include "collect/bpf_watch.h"
#include "collect/cpu_limits.h"
#include "collect/foreground.h"
#include "collect/record_samples.h"
#include "trace/writer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* 170,000 events wait in the buffer between two readings, 8 million a second. */
enum { BUFFER_BYTES = 16 << 20, READ_MS = 20 };

struct recording {
	const struct record_opts *opts;
	struct record_samples *samples;
	struct record_result result;
	struct bpf_watch *watch;
	struct bpf_timeline timeline;
	struct trace_writer *writer;
	pthread_t reader;
	bool has_reader;
	bool has_run; /* there is something in the file */
	bool is_over; /* atomic: the reader shall end */
	int status; /* the reader's; after it has ended */
};

static void recording_stop(struct recording *recording)
{
	if (!recording->has_reader)
		return;
	__atomic_store_n(&recording->is_over, true, __ATOMIC_RELEASE);
	(void)pthread_join(recording->reader, NULL); /* it was started, and is not joined twice */
	recording->has_reader = false;
}

static void recording_release(struct recording *recording)
{
	recording_stop(recording);
	record_samples_free(recording->samples);
	bpf_watch_free(recording->watch);
	bpf_timeline_release(&recording->timeline);
	trace_writer_free(recording->writer);
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail on Linux */
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int drain(struct recording *recording)
{
	bpf_timeline_pause(&recording->timeline);
	return bpf_watch_drain(recording->watch, bpf_timeline_take, &recording->timeline);
}

static void *read_events(void *context)
{
	struct recording *recording = context;
	const struct timespec pause = { .tv_nsec = READ_MS * 1000000 };
	while (recording->status == 0 && !__atomic_load_n(&recording->is_over, __ATOMIC_ACQUIRE)) {
		recording->status = drain(recording);
		(void)nanosleep(&pause, NULL); /* shorter is no harm */
	}
	return NULL;
}

/* From here on everything is recorded. */
static int begin(void *context, pid_t pid, struct err *err)
{
	struct recording *recording = context;
	const struct bpf_watch_opts opts = {
		.pid = pid, .has_disk = recording->opts->has_disk, .event_bytes = BUFFER_BYTES
	};
	int status = bpf_watch_open(&opts, &recording->watch, err);
	if (status < 0)
		return status;
	/* Signals are for the thread that waits for the program. */
	sigset_t all, before;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail */
	status = -pthread_create(&recording->reader, NULL, read_events, recording);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* cannot fail */
	if (status < 0)
		return err_set(err, status, "cannot start a thread: %s", strerror(-status));
	recording->has_reader = true;
	return record_samples_start(
		recording->opts, pid, &recording->samples, &recording->result, err);
}

/* Nobody changes anything any more: what is left in the buffer, then the end of the file. */
static int finish(struct recording *recording, uint64_t start_ns, uint64_t end_ns,
	struct record_result *ret, struct err *err)
{
	recording->has_run = true;
	bpf_watch_stop(recording->watch);
	recording_stop(recording);
	record_samples_stop(recording->samples, ret);
	uint64_t losses[WATCH_LOSSES];
	bpf_watch_losses(recording->watch, losses);
	uint64_t lost = losses[WATCH_LOST_EVENT] + losses[WATCH_LOST_THREAD];
	int status = recording->status;
	if (status == 0)
		status = drain(recording);
	uint64_t now_ns = monotonic_ns(); /* later than all that was told */
	if (status == 0)
		status = bpf_timeline_finish(&recording->timeline, now_ns, lost);
	if (status < 0)
		return err_set(err, status, "%s", recording->timeline.err.text);
	ret->wall_s = (double)(end_ns - start_ns) * 1e-9;
	ret->lost = lost + trace_writer_lost(recording->writer);
	ret->processes = (uint32_t)recording->timeline.processes.count;
	ret->is_full = trace_writer_is_full(recording->writer);
	ret->closed = *trace_writer_closed(recording->writer);
	return 0;
}

static int open_signals(struct err *err)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	int fd = sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -1 : signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? err_set(err, -errno, "cannot catch signals: %s", strerror(errno)) : fd;
}

/* Until the process ends, the time is over, or someone asks us to stop. */
static int attend(const struct record_opts *opts, struct err *err)
{
	AUTO_FD int signals = open_signals(err);
	if (signals < 0)
		return signals;
	AUTO_FD int process = (int)syscall(SYS_pidfd_open, opts->pid, 0);
	if (process < 0)
		return err_set(err, -errno, "cannot watch process %d: %s", (int)opts->pid,
			strerror(errno));
	struct pollfd fds[] = { { .fd = process, .events = POLLIN },
		{ .fd = signals, .events = POLLIN } };
	uint64_t end_ns = monotonic_ns() + (uint64_t)(opts->duration_s * 1e9);
	for (;;) {
		uint64_t now_ns = monotonic_ns();
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
	int status = begin(recording, opts->pid, err);
	if (status < 0)
		return status;
	uint64_t start_ns = monotonic_ns();
	status = attend(opts, err);
	return status < 0 ? status : finish(recording, start_ns, monotonic_ns(), ret, err);
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
			.cores_online = limits.online },
		.is_recording = true,
	};
	int status = trace_writer_new(opts->path, &how, &recording.writer, err);
	if (status < 0)
		return status;
	recording.timeline.is_before_exec = opts->argv != NULL;
	recording.timeline.sink = trace_writer_sink(recording.writer);
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
	(void)opts;
	return bpf_check(err);
}

const struct recorder recorder_bpf = {
	.name = "bpf",
	.check = check,
	.run = run,
};
