/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/profiler.h"

#include "base/cleanup.h"
#include "base/datadir.h"
#include "base/mem.h"
#include "collect/cpu_limits.h"
#include "collect/foreground.h"
#include "collect/preloadable.h"
#include "collect/run_clock.h"
#include "preload/profile_page.h"
#include "preload/trace_record.h"
#include "trace/close.h"
#include "trace/create.h"

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

static const char emulator_name[] = "qemu-x86_64";

void profiler_result_release(struct profiler_result *result)
{
	if (result->raw)
		(void)munmap(result->raw, result->raw_bytes); /* was mapped so */
	free(result->timeline);
	*result = (struct profiler_result){ 0 };
}

/* What is needed. */

int profiler_find_emulator(char **ret, struct err *err)
{
	char path[PATH_MAX];
	if (preloadable_find(emulator_name, path, NULL) < 0)
		return err_set(err, -ENOENT,
			"profiling runs the program in an emulator, and there is no '%s': sudo "
			"apt-get install qemu-user",
			emulator_name);
	*ret = strdup(path);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int profiler_find_plugin(char **ret, struct err *err)
{
	int code = datadir_find("plugin/libcorecast-profile.so", ret, NULL);
	return code == 0 ? 0
			 : err_set(err, code,
				   "this corecast was built without the profiler's plugin: sudo "
				   "apt-get install libzydis-dev, then build it again");
}

int profiler_check(const struct profiler_opts *opts, const char **ret_backend, struct err *err)
{
	AUTO_FREE char *emulator = NULL;
	AUTO_FREE char *plugin = NULL;
	if (strcmp(opts->backend, "auto") != 0 && strcmp(opts->backend, "qemu") != 0)
		return err_set(
			err, -EINVAL, "no profiler's backend '%s': auto, qemu", opts->backend);
#ifndef __x86_64__
	return err_set(err, -EOPNOTSUPP, "only programs for x86-64 can be profiled, on x86-64");
#endif
	int code = preloadable_check_program(opts->argv[0], err);
	if (code < 0)
		return code;
	code = profiler_find_emulator(&emulator, err);
	if (code == 0)
		code = profiler_find_plugin(&plugin, err);
	if (code == 0 && ret_backend)
		*ret_backend = "qemu";
	return code;
}

/* Files that have no name. Others open them as /proc/PID/fd/N, as long as this process lives. */

static int open_nameless(struct err *err)
{
	const char *folder = getenv("TMPDIR");
	AUTO_FREE char *path = NULL;
	if (asprintf(&path, "%s/corecast-XXXXXX", folder && *folder ? folder : "/tmp") < 0) {
		path = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot make '%s': %s", path, strerror(errno));
	(void)unlink(path); /* at worst it keeps its name */
	return fd;
}

static int name_of(int fd, char **ret, struct err *err)
{
	if (asprintf(ret, "/proc/%d/fd/%d", (int)getpid(), fd) >= 0)
		return 0;
	*ret = NULL;
	return err_set(err, -ENOMEM, "out of memory");
}

struct parts {
	int raw, trace, page; /* descriptors */
	char *raw_name, *trace_name, *page_name;
	char *emulator, *plugin, *library;
	char *assignments[6]; /* of the guest's environment */
	char *plugin_option;
	char **argv;
};

static void parts_release(struct parts *parts)
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
	free(parts->emulator);
	free(parts->plugin);
	free(parts->library);
	free(parts->plugin_option);
	free(parts->argv);
}

static int make_trace(int fd, uint64_t bytes_max, struct err *err)
{
	struct cpu_limits limits;
	cpu_limits_read("", &limits);
	const struct trace_create_opts how = {
		.sources = TRACE_BY_PRELOAD,
		.cores = cpu_limits_usable(&limits),
		.cores_online = limits.online,
		.bytes_max = bytes_max,
	};
	struct trace_header header;
	trace_header_init(&header, &how);
	run_clock_measure(&header);
	return trace_header_write(fd, "the timeline", &header, err);
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

static int make_files(const struct profiler_opts *opts, struct parts *parts, struct err *err)
{
	parts->raw = open_nameless(err);
	if (parts->raw < 0)
		return parts->raw;
	parts->trace = open_nameless(err);
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
	if (code == 0)
		code = make_trace(parts->trace, opts->trace_bytes_max, err);
	return code < 0 ? code : make_page(parts->page, err);
}

/* Threads that wait must not seem to work, so OpenMP runtimes are asked to sleep. */
static int make_environment(struct parts *parts, struct err *err)
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

/* qemu-x86_64 -cpu max -plugin ... -0 NAME -E A=B -E ... PATH ARGS */
static int make_argv(
	const struct profiler_opts *opts, struct parts *parts, char *program, struct err *err)
{
	static char cpu[] = "-cpu", max[] = "max", plugin[] = "-plugin", set[] = "-E",
		    name[] = "-0";
	size_t count = 0, at = 0;
	while (opts->argv[count])
		count++;
	parts->argv = calloc(count + 8 + 2 * ARRAY_SIZE(parts->assignments), sizeof *parts->argv);
	if (asprintf(&parts->plugin_option, "%s,out=%s,page=%s", parts->plugin, parts->raw_name,
		    parts->page_name) < 0)
		parts->plugin_option = NULL;
	if (!parts->argv || !parts->plugin_option)
		return err_set(err, -ENOMEM, "out of memory");
	char *const head[] = { parts->emulator, cpu, max, plugin, parts->plugin_option, name,
		opts->argv[0] };
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		parts->argv[at++] = head[i];
	for (size_t i = 0; i < ARRAY_SIZE(parts->assignments); i++) {
		parts->argv[at++] = set;
		parts->argv[at++] = parts->assignments[i];
	}
	parts->argv[at++] = program;
	for (size_t i = 1; i < count; i++)
		parts->argv[at++] = opts->argv[i];
	return 0;
}

static int prepare(const struct profiler_opts *opts, struct parts *parts, char program[PATH_MAX],
	struct err *err)
{
	int code = profiler_find_emulator(&parts->emulator, err);
	if (code == 0)
		code = profiler_find_plugin(&parts->plugin, err);
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
	return code < 0 ? code : make_argv(opts, parts, program, err);
}

/* What the run left. */

static int take_raw(const struct parts *parts, struct profiler_result *result, struct err *err)
{
	struct stat info;
	if (fstat(parts->raw, &info) < 0)
		return err_set(
			err, -errno, "cannot read what the profiler wrote: %s", strerror(errno));
	if (info.st_size == 0)
		return err_set(err, -ENODATA,
			"the emulator counted nothing: '%s' may be without plugins (Debian's "
			"qemu-user has them, qemu-user-static has not)",
			parts->emulator);
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
static int take_timeline(
	const struct parts *parts, uint64_t end_ns, struct profiler_result *result, struct err *err)
{
	struct trace_header header;
	if (pread(parts->trace, &header, sizeof header, 0) != (ssize_t)sizeof header)
		return err_set(err, -EIO, "cannot read the timeline again");
	result->processes = header.processes;
	result->is_timeline_full = header.is_full != 0;
	if (header.processes == 0)
		return 0; /* it never loaded the library */
	const char *folder = getenv("TMPDIR");
	AUTO_FREE char *path = NULL;
	if (asprintf(&path, "%s/corecast-XXXXXX", folder && *folder ? folder : "/tmp") < 0) {
		path = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	AUTO_FD int empty = mkostemp(path, O_CLOEXEC);
	if (empty < 0)
		return err_set(err, -errno, "cannot make '%s': %s", path, strerror(errno));
	int code = trace_close(parts->trace_name, path, end_ns, NULL, err);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)unlink(path); /* at worst it stays */
	if (code < 0)
		return code;
	if (fd < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	return read_all(fd, &result->timeline, &result->timeline_bytes, err);
}

static int take_page(const struct parts *parts, struct profiler_result *result, struct err *err)
{
	if (pread(parts->page, &result->threads_without_slot, sizeof result->threads_without_slot,
		    offsetof(struct profile_page, overflow)) ==
		(ssize_t)sizeof result->threads_without_slot)
		return 0;
	return err_set(err, -EIO, "cannot read the profiler's page");
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
	if (!WIFEXITED(ran.status) || WEXITSTATUS(ran.status) != 0)
		return err_set(err, -ECHILD, "'%s' failed when it was run plainly", opts->argv[0]);
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
	AUTO_RELEASE(parts) struct parts parts = { .raw = -1, .trace = -1, .page = -1 };
	AUTO_RELEASE(profiler_result) struct profiler_result result = { 0 };
	char program[PATH_MAX]; /* part of the emulator's arguments */
	int code = profiler_check(opts, &result.backend, err);
	if (code == 0)
		code = prepare(opts, &parts, program, err);
	if (code == 0 && opts->is_run_plainly)
		code = run_plainly(opts, &result.native_s, err);
	if (code < 0)
		return code;
	struct foreground_result ran;
	const struct foreground_opts how = { .argv = parts.argv };
	code = foreground_run(&how, &ran, err);
	if (code < 0)
		return code;
	result.status = ran.status;
	result.profiled_s = seconds(&ran);
	code = check_ending(opts, ran.status, err);
	if (code == 0)
		code = take_raw(&parts, &result, err);
	if (code == 0)
		code = take_timeline(&parts, ran.end_ns, &result, err);
	if (code == 0)
		code = take_page(&parts, &result, err);
	if (code < 0)
		return code;
	*ret = result;
	result = (struct profiler_result){ 0 };
	return 0;
}
