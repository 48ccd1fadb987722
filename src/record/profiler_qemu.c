/* SPDX-License-Identifier: GPL-3.0-or-later */
/* QEMU in user mode: guest threads run in parallel. */
#include "base/cleanup.h"
#include "base/datadir.h"
#include "base/mem.h"
#include "code/preloadable.h"
#include "record/profiler_backend.h"
#include "code/static_program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char emulator_name[] = "qemu-x86_64";

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

static int check(struct err *err)
{
	AUTO_FREE char *emulator = NULL;
	AUTO_FREE char *plugin = NULL;
	int code = profiler_find_emulator(&emulator, err);
	return code < 0 ? code : profiler_find_plugin(&plugin, err);
}

/*
 * qemu-x86_64 -cpu max,... -plugin ... -0 NAME -E A=B -E ... PATH ARGS
 * Without fast string instructions, which the emulator does byte by byte, the C library sets and copies memory with
 * vectors.
 */
static int begin(const struct profiler_opts *opts, struct profiler_parts *parts, char *program,
	struct err *err)
{
	static char cpu[] = "-cpu", max[] = "max,-erms,-fsrm", plugin[] = "-plugin", set[] = "-E",
		    name[] = "-0";
	AUTO_FREE char *found = NULL;
	int code = profiler_find_emulator(&found, err);
	if (code < 0)
		return code;
	char *emulator = profiler_format(parts, "%s", found);
	bool is_static = static_program_is(program);
	if (is_static && strchr(program, ','))
		return err_set(
			err, -EINVAL, "'%s': a static program's path may have no comma", program);
	char *option = profiler_format(parts, "%s,out=%s,page=%s,pace=on%s%s%s%s%s", parts->plugin,
		parts->raw_name, parts->page_name, opts->instructions ? ",trace=on" : "",
		is_static ? ",program=" : "", is_static ? program : "",
		is_static ? ",timeline=" : "", is_static ? parts->trace_name : "");
	if (!emulator || !option)
		return err_set(err, -ENOMEM, "out of memory");
	char *head[7 + 2 * ARRAY_SIZE(parts->assignments)] = { emulator, cpu, max, plugin, option,
		name, opts->argv[0] };
	size_t at = 7;
	for (size_t i = 0; i < ARRAY_SIZE(parts->assignments); i++) {
		head[at++] = set;
		head[at++] = parts->assignments[i];
	}
	return profiler_make_argv(parts, head, at, program, opts->argv, err);
}

const struct profiler_backend profiler_qemu = { .name = "qemu", .check = check, .begin = begin };
