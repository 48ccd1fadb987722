/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records from within: the preload library writes the trace file itself. Here that file is made,
 * the program started with the library, and the file closed when the program has ended. `both` has
 * the kernel tell about the same threads, into the same file (trace/joint.h).
 */
#include "record/foreground.h"
#include "code/preloadable.h"
#include "machine/bpf_check.h"
#include "record/bpf_recording.h"
#include "record/record_samples.h"
#include "record/recorder.h"
#include "record/run_header.h"
#include "record/run_others.h"
#include "collect/sync_stalls.h"

#include "base/datadir.h"
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int check_started(const struct record_opts *opts, struct err *err)
{
	if (!opts->argv)
		return err_set(err, -EOPNOTSUPP,
			"the preload library cannot get into a process that runs already: record "
			"it by --via bpf, or start the program anew");
	return preloadable_check(opts->argv[0], err);
}

static int check(const struct record_opts *opts, struct err *err)
{
	int code = check_started(opts, err);
	if (code == 0 && opts->has_disk)
		return err_set(err, -EOPNOTSUPP, "only the kernel sees requests to disks (--disk)");
	return code;
}

static int check_both(const struct record_opts *opts, struct err *err)
{
	int code = check_started(opts, err);
	return code < 0 ? code : bpf_check(err);
}

static int create(const struct record_opts *opts, struct err *err)
{
	const struct trace_create_opts how = {
		.bytes_max = opts->bytes_max,
		.budget_ppm = opts->budget_ppm,
		.burst_pairs = opts->burst_pairs,
		.gap_pairs = opts->gap_pairs,
		.tells_files = opts->has_disk,
	};
	AUTO_FD int fd = open(opts->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_set(err, -errno, "cannot create '%s': %s", opts->path, strerror(errno));
	int code = run_header_write(fd, opts->path, &how, err);
	if (code < 0)
		(void)unlink(opts->path); /* the disk is full: at worst it stays empty */
	return code;
}

/* What the target wrote into the header. */
static int read_header(const char *path, struct trace_header *ret, struct err *err)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, ret, sizeof *ret, 0) != (ssize_t)sizeof *ret)
		return err_set(err, -EIO, "cannot read '%s' again", path);
	return 0;
}

struct recording {
	const struct record_opts *opts;
	struct record_samples *samples;
	struct bpf_recording kernel; /* none, or beside the library */
	struct trace_writer *writer; /* the kernel's part of the file */
	bool has_kernel;
	struct run_others others;
	struct record_result result;
};

static void recording_release(struct recording *recording)
{
	record_samples_free(recording->samples);
	bpf_recording_release(&recording->kernel);
	trace_writer_free(recording->writer);
}

static int begin_kernel(struct recording *recording, pid_t pid, struct err *err)
{
	int code = trace_writer_join(
		recording->opts->path, TRACE_BY_BPF, true, &recording->writer, err);
	return code < 0 ? code
			: bpf_recording_start(&recording->kernel, recording->opts, pid,
				  trace_writer_sink(recording->writer), err);
}

/* Before the program is there. */
static int begin(void *context, pid_t pid, struct err *err)
{
	struct recording *recording = context;
	int code = recording->has_kernel ? begin_kernel(recording, pid, err) : 0;
	if (code == 0)
		code = record_samples_start(
			recording->opts, pid, &recording->samples, &recording->result, err);
	if (code == 0)
		run_others_begin(&recording->others, 0);
	return code;
}

static int finish(struct recording *recording, const struct foreground_result *ran,
	struct record_result *ret, struct err *err)
{
	const struct record_opts *opts = recording->opts;
	struct record_result *result = &recording->result;
	run_others_write(&recording->others, opts->path);
	record_samples_stop(recording->samples, result);
	if (recording->has_kernel) {
		int status = bpf_recording_finish(&recording->kernel, &result->lost, err);
		if (status < 0)
			return status;
	}
	struct trace_header header;
	int code = read_header(opts->path, &header, err);
	if (code < 0)
		return code;
	if (header.processes == 0) {
		(void)unlink(opts->path); /* an empty trace tells nothing */
		if (WIFSIGNALED(ran->status))
			return err_set(err, -ENODATA,
				"nothing was recorded: '%s' was ended by signal %d (%s) before it "
				"had loaded the library",
				opts->argv[0], WTERMSIG(ran->status),
				strsignal(WTERMSIG(ran->status)));
		return err_set(err, -ENODATA,
			"nothing was recorded: '%s' never loaded the library; record it by --via "
			"bpf",
			opts->argv[0]);
	}
	result->status = ran->status;
	result->wall_s = (double)(ran->end_ns - ran->start_ns) * 1e-9;
	result->lost += header.events_lost;
	result->processes = header.processes;
	result->is_full = header.is_full != 0;
	code = trace_close(opts->path, opts->path, ran->end_ns, &result->closed, err);
	if (code == 0)
		*ret = *result;
	return code;
}

static int record(
	const struct record_opts *opts, bool has_kernel, struct record_result *ret, struct err *err)
{
	AUTO_RELEASE(sync_env) struct sync_env env = { 0 };
	int code = create(opts, err);
	if (code < 0)
		return code;
	code = sync_env_make(PRELOAD_RECORDS, TRACE_PATH_VARIABLE, opts->path, &env, err);
	if (code < 0) {
		(void)unlink(opts->path); /* nothing can be recorded */
		return code;
	}
	AUTO_RELEASE(recording)
	struct recording recording = { .opts = opts, .has_kernel = has_kernel };
	struct foreground_opts how = {
		.argv = opts->argv,
		.at_start = begin,
		.context = &recording,
		.environment_count = SYNC_ENV_ASSIGNMENTS,
	};
	for (size_t i = 0; i < SYNC_ENV_ASSIGNMENTS; i++)
		how.environment[i] = env.assignments[i];
	struct foreground_result ran;
	code = foreground_run(&how, &ran, err);
	if (code < 0) {
		(void)unlink(opts->path); /* nothing was recorded */
		return code;
	}
	return finish(&recording, &ran, ret, err);
}

static int run(const struct record_opts *opts, struct record_result *ret, struct err *err)
{
	return record(opts, false, ret, err);
}

static int run_both(const struct record_opts *opts, struct record_result *ret, struct err *err)
{
	return record(opts, true, ret, err);
}

const struct recorder recorder_preload = {
	.name = "preload",
	.check = check,
	.run = run,
};

const struct recorder recorder_both = {
	.name = "both",
	.check = check_both,
	.run = run_both,
};
