/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/profiler.h"

#include "base/cleanup.h"
#include "base/datadir.h"
#include "base/mem.h"
#include "base/tempfile.h"
#include "record/foreground.h"
#include "code/preloadable.h"
#include "record/profiler_backend.h"
#include "record/profiler_progress.h"
#include "record/run_header.h"
#include "code/static_program.h"
#include "preload/profile_page.h"
#include "preload/trace_record.h"
#include "trace/close.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void profiler_result_release(struct profiler_result *result)
{
	if (result->raw)
		(void)munmap(result->raw, result->raw_bytes); /* was mapped so */
	free(result->timeline);
	*result = (struct profiler_result){ 0 };
}

int profiler_check(const struct profiler_opts *opts, const char **ret_backend, struct err *err)
{
	const struct profiler_backend *backend = NULL;
#ifndef __x86_64__
	return err_set(err, -EOPNOTSUPP, "only programs for x86-64 can be profiled, on x86-64");
#endif
	char program[PATH_MAX];
	int code = preloadable_find(opts->argv[0], program, err);
	if (code == 0)
		code = static_program_is(program) ? static_program_check(program, err)
						  : preloadable_check_program(program, err);
	if (code == 0)
		code = profiler_choose(opts, &backend, NULL, err);
	if (code == 0 && ret_backend)
		*ret_backend = backend->name;
	return code;
}

/* Files that have no name. Others open them as /proc/PID/fd/N, as long as this process lives. */

static int open_named(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return fd >= 0 ? fd : err_set(err, -errno, "cannot make '%s': %s", path, strerror(errno));
}

static int name_of(int fd, char **ret, struct err *err)
{
	if (asprintf(ret, "/proc/%d/fd/%d", (int)getpid(), fd) >= 0)
		return 0;
	*ret = NULL;
	return err_set(err, -ENOMEM, "out of memory");
}

static void parts_release(struct profiler_parts *parts)
{
	const int fds[] = { parts->raw, parts->trace, parts->page };
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]); /* what was in it has been read */
	for (size_t i = 0; i < ARRAY_SIZE(parts->assignments); i++)
		free(parts->assignments[i]);
	free(parts->raw_name);
	free(parts->trace_name);
	free(parts->page_name);
	free(parts->plugin);
	free(parts->library);
	for (size_t i = 0; i < parts->string_count; i++)
		free(parts->strings[i]);
	free(parts->argv);
	for (size_t i = 0; i < ARRAY_SIZE(parts->stream); i++)
		if (parts->stream[i] >= 0)
			(void)close(parts->stream[i]); /* ends what waits for it */
}

static int make_page(int fd, struct err *err)
{
	const uint32_t version = PROFILE_PAGE_VERSION;
	if (ftruncate(fd, sizeof(struct profile_page)) == 0 &&
		pwrite(fd, &version, sizeof version, offsetof(struct profile_page, version)) ==
			(ssize_t)sizeof version)
		return 0;
	return err_set(err, -errno, "cannot make the page of the profiler: %s", strerror(errno));
}

static int make_files(
	const struct profiler_opts *opts, struct profiler_parts *parts, struct err *err)
{
	parts->raw = opts->instructions ? open_named(opts->instructions, err)
					: tempfile_open(NULL, "corecast", NULL, err);
	if (parts->raw < 0)
		return parts->raw;
	parts->trace = tempfile_open(NULL, "corecast", NULL, err);
	if (parts->trace < 0)
		return parts->trace;
	parts->page = memfd_create("corecast-profile", MFD_CLOEXEC);
	if (parts->page < 0)
		return err_set(
			err, -errno, "cannot make the page of the profiler: %s", strerror(errno));
	int code = name_of(parts->raw, &parts->raw_name, err);
	if (code == 0)
		code = name_of(parts->trace, &parts->trace_name, err);
	if (code == 0)
		code = name_of(parts->page, &parts->page_name, err);
	const struct trace_create_opts how = { .bytes_max = opts->trace_bytes_max };
	if (code == 0)
		code = run_header_write(parts->trace, "the timeline", &how, err);
	return code < 0 ? code : make_page(parts->page, err);
}

/* Threads that wait must not seem to work, so OpenMP runtimes are asked to sleep. */
static int make_environment(struct profiler_parts *parts, struct err *err)
{
	const char *others = getenv("LD_PRELOAD");
	bool has_others = others && *others;
	const struct {
		const char *name, *before, *value;
	} wanted[] = {
		{ "LD_PRELOAD", has_others ? others : "", parts->library },
		{ TRACE_PATH_VARIABLE, "", parts->trace_name },
		{ PROFILE_PAGE_ENVIRONMENT, "", parts->page_name },
		{ "OMP_WAIT_POLICY", "", "passive" },
		{ "GOMP_SPINCOUNT", "", "0" },
		{ "KMP_BLOCKTIME", "", "0" },
	};
	static_assert(ARRAY_SIZE(wanted) == sizeof parts->assignments / sizeof(char *), "all");
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (asprintf(&parts->assignments[i], "%s=%s%s%s", wanted[i].name, wanted[i].before,
			    *wanted[i].before ? ":" : "", wanted[i].value) < 0) {
			parts->assignments[i] = NULL;
			return err_set(err, -ENOMEM, "out of memory");
		}
	return 0;
}

static int prepare(const struct profiler_opts *opts, const struct profiler_backend *backend,
	struct profiler_parts *parts, char program[PATH_MAX], struct err *err)
{
	int code = profiler_find_plugin(&parts->plugin, err);
	if (code == 0)
		code = datadir_find("preload/libcorecast-sync.so", &parts->library, err);
	if (code < 0)
		return code;
	if (strpbrk(parts->library, " :,") || strchr(parts->plugin, ','))
		return err_set(err, -EINVAL,
			"the profiler cannot work from '%s': move corecast to a path without "
			"spaces, colons and commas",
			parts->library);
	code = preloadable_find(opts->argv[0], program, err);
	if (code == 0)
		code = make_files(opts, parts, err);
	if (code == 0)
		code = make_environment(parts, err);
	return code < 0 ? code : backend->begin(opts, parts, program, err);
}

/* What the run left. */

static int take_raw(
	const struct profiler_parts *parts, struct profiler_result *result, struct err *err)
{
	struct stat info;
	if (fstat(parts->raw, &info) < 0)
		return err_set(
			err, -errno, "cannot read what the profiler wrote: %s", strerror(errno));
	if (info.st_size == 0 && WIFSIGNALED(result->status))
		return err_set(err, -ENODATA, "nothing was counted: signal %d (%s) ended it before",
			WTERMSIG(result->status), strsignal(WTERMSIG(result->status)));
	if (info.st_size == 0)
		return err_set(err, -ENODATA,
			"nothing was counted: the first 'qemu-x86_64' in PATH may be without "
			"plugins (Debian's qemu-user has them, qemu-user-static has not)");
	void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, parts->raw, 0);
	if (map == MAP_FAILED)
		return err_set(
			err, -errno, "cannot read what the profiler wrote: %s", strerror(errno));
	result->raw = map;
	result->raw_bytes = (size_t)info.st_size;
	return 0;
}

static int read_all(int fd, void **ret, size_t *ret_bytes, struct err *err)
{
	struct stat info;
	if (fstat(fd, &info) < 0)
		return err_set(err, -errno, "cannot read the timeline: %s", strerror(errno));
	size_t bytes = (size_t)info.st_size, done = 0;
	AUTO_FREE char *buffer = malloc(bytes ? bytes : 1);
	if (!buffer)
		return err_set(err, -ENOMEM, "out of memory: the timeline has %zu bytes", bytes);
	while (done < bytes) {
		ssize_t n = pread(fd, buffer + done, bytes - done, (off_t)done);
		if (n <= 0)
			return err_set(err, -EIO, "cannot read the timeline: %s",
				n < 0 ? strerror(errno) : "it is cut");
		done += (size_t)n;
	}
	*ret = TAKE(buffer);
	*ret_bytes = bytes;
	return 0;
}

/* The closed form is a file beside the raw one for a moment. */
static int take_timeline(const struct profiler_parts *parts, uint64_t end_ns,
	struct profiler_result *result, struct err *err)
{
	struct trace_header header;
	if (pread(parts->trace, &header, sizeof header, 0) != (ssize_t)sizeof header)
		return err_set(err, -EIO, "cannot read the timeline again");
	result->processes = header.processes;
	result->is_timeline_full = header.is_full != 0;
	if (header.processes == 0)
		return 0; /* it never loaded the library */
	AUTO_FREE char *path = NULL;
	AUTO_FD int empty = tempfile_open(NULL, "corecast", &path, err);
	if (empty < 0)
		return empty;
	int code = trace_close(parts->trace_name, path, end_ns, NULL, err);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)unlink(path); /* at worst it stays */
	if (code < 0)
		return code;
	if (fd < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	return read_all(fd, &result->timeline, &result->timeline_bytes, err);
}

static int take_page(
	const struct profiler_parts *parts, struct profiler_result *result, struct err *err)
{
	if (pread(parts->page, &result->threads_without_slot, sizeof result->threads_without_slot,
		    offsetof(struct profile_page, overflow)) ==
		(ssize_t)sizeof result->threads_without_slot)
		return 0;
	return err_set(err, -EIO, "cannot read the profiler's page");
}

static int run_watched(const struct profiler_opts *opts, const struct profiler_parts *parts,
	struct foreground_result *ret, struct err *err)
{
	AUTO_RELEASE(profiler_progress)
	struct profiler_progress progress = { .show = opts->show_progress };
	profiler_progress_watch(&progress, parts->page);
	const struct foreground_opts how = {
		.argv = parts->argv,
		.at_tick = progress.page ? profiler_progress_tick : NULL,
		.context = &progress,
		.ends_with_us = true, /* nobody would read what it writes */
	};
	return foreground_run(&how, ret, err);
}

static double seconds(const struct foreground_result *ran)
{
	return (double)(ran->end_ns - ran->start_ns) * 1e-9;
}

static int run_plainly(const struct profiler_opts *opts, double *ret_s, struct err *err)
{
	struct foreground_result ran;
	const struct foreground_opts how = { .argv = opts->argv };
	int code = foreground_run(&how, &ran, err);
	if (code < 0)
		return code;
	if (WIFSIGNALED(ran.status))
		return err_set(err, -ECHILD,
			"'%s' was ended by signal %d (%s) when it was run plainly", opts->argv[0],
			WTERMSIG(ran.status), strsignal(WTERMSIG(ran.status)));
	if (WEXITSTATUS(ran.status) != 0)
		return err_set(err, -ECHILD, "'%s' exited with status %d when it was run plainly",
			opts->argv[0], WEXITSTATUS(ran.status));
	*ret_s = seconds(&ran);
	return 0;
}

/* Nothing in the emulated processor's own words is known of what it lacks: it ends the program. */
static int check_ending(const struct profiler_opts *opts, int status, struct err *err)
{
	bool is_illegal = WIFSIGNALED(status) && WTERMSIG(status) == SIGILL;
	if (!is_illegal)
		return 0;
	return err_set(err, -EOPNOTSUPP,
		"'%s' uses an instruction that the emulator has not, most likely AVX-512, which no "
		"backend can run: rebuild it with -march=x86-64-v3, or for a processor without "
		"AVX-512",
		opts->argv[0]);
}

int profiler_run(const struct profiler_opts *opts, struct profiler_result *ret, struct err *err)
{
	AUTO_RELEASE(parts)
	struct profiler_parts parts = { .raw = -1, .trace = -1, .page = -1, .stream = { -1, -1 } };
	const struct profiler_backend *backend = NULL;
	AUTO_RELEASE(profiler_result) struct profiler_result result = { 0 };
	char program[PATH_MAX]; /* part of the emulator's arguments */
	int code = profiler_check(opts, &result.backend, err);
	if (code == 0)
		code = profiler_choose(opts, &backend, &result.why, err);
	if (code == 0)
		code = prepare(opts, backend, &parts, program, err);
	if (code == 0 && opts->is_run_plainly)
		code = run_plainly(opts, &result.native_s, err);
	if (code < 0)
		return code;
	struct foreground_result ran;
	code = run_watched(opts, &parts, &ran, err);
	if (code < 0)
		return code;
	result.status = ran.status;
	result.stop_signal = ran.stop_signal;
	result.profiled_s = seconds(&ran);
	code = backend && backend->end ? backend->end(&parts, err) : 0;
	if (code == 0)
		code = check_ending(opts, ran.status, err);
	if (code == 0)
		code = take_raw(&parts, &result, err);
	if (code == 0)
		code = take_timeline(&parts, ran.end_ns, &result, err);
	if (code == 0)
		code = take_page(&parts, &result, err);
	if (code < 0)
		return ran.stop_signal ? -ECANCELED : code;
	*ret = result;
	result = (struct profiler_result){ 0 };
	return 0;
}
