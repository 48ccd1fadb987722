/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of a function, and passes of a static probe (USDT), counted by the kernel (uprobes; as root). */
#ifndef STEER_UPROBE_H
#define STEER_UPROBE_H

#include "base/err.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Events that count calls of a function of an ELF file: one for each that has the name, as the linker writes it or as people
 * do (C++ without parameters: all that differ in those). `path` is borrowed until they are opened, *ret the caller's to
 * free. 0, -ENOENT (no such function), -errno (cannot be read), -EOPNOTSUPP (a build without elfutils, a kernel without uprobes).
 */
int uprobe_events(const char *path, const char *function, struct perf_event_attr **ret,
	size_t *ret_count, struct err *err);

/*
 * The same for a static probe: one event for each place that has it. Where the program asks whether anybody
 * listens (a semaphore), the kernel says yes as long as the event is open.
 * 0, -ENOENT (no such probe), -errno, -EOPNOTSUPP (no elfutils; a semaphore, and a kernel that knows none).
 */
int usdt_events(const char *path, const char *provider, const char *name,
	struct perf_event_attr **ret, size_t *ret_count, struct err *err);

#endif
