/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/profiler_backend.h"

#include "base/mem.h"
#include "code/preloadable.h"
#include "code/static_program.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct profiler_backend *const backends[] = { &profiler_qemu, &profiler_valgrind };

static int choose_best(const struct profiler_opts *opts, const struct profiler_backend **ret,
	const char **ret_why, struct err *err)
{
	char program[PATH_MAX];
	int code = preloadable_find(opts->argv[0], program, err);
	if (code < 0)
		return code;
	*ret = &profiler_qemu;
	if (static_program_is(program)) {
		*ret_why = "it is statically linked";
	} else if (profiler_qemu.check(NULL) < 0 && profiler_valgrind.check(NULL) == 0) {
		*ret = &profiler_valgrind;
		*ret_why = "QEMU is not there";
	} else {
		*ret_why = "its threads run in parallel there";
	}
	return (*ret)->check(err);
}

int profiler_choose(const struct profiler_opts *opts, const struct profiler_backend **ret,
	const char **ret_why, struct err *err)
{
	const char *why = "asked for";
	if (strcmp(opts->backend, "auto") == 0) {
		int code = choose_best(opts, ret, &why, err);
		if (code == 0 && ret_why)
			*ret_why = why;
		return code;
	}
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++) {
		if (strcmp(opts->backend, backends[i]->name) != 0)
			continue;
		*ret = backends[i];
		if (ret_why)
			*ret_why = why;
		return backends[i]->check(err);
	}
	return err_set(
		err, -EINVAL, "no profiler's backend '%s': auto, qemu, valgrind", opts->backend);
}

char *profiler_format(struct profiler_parts *parts, const char *format, ...)
{
	va_list arguments;
	char *text;
	if (parts->string_count == ARRAY_SIZE(parts->strings))
		return NULL;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return NULL;
	parts->strings[parts->string_count++] = text;
	return text;
}

int profiler_make_argv(struct profiler_parts *parts, char *const *head, size_t head_count,
	char *program, char *const *argv, struct err *err)
{
	size_t count = 0;
	while (argv[count])
		count++;
	parts->argv = calloc(head_count + count + 1, sizeof *parts->argv);
	if (!parts->argv)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(parts->argv, head, head_count * sizeof *head);
	parts->argv[head_count] = program;
	memcpy(parts->argv + head_count + 1, argv + 1, (count - 1) * sizeof *argv);
	return 0;
}
