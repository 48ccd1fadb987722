/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Energy as the processors count it themselves (RAPL, through the kernel's powercap): the sum of their packages. Cores
 * and memory controllers are part of them where the hardware says so; the rest of the machine is not. The counters
 * are the machine's: other work is in them.
 */
#ifndef MACHINE_RAPL_H
#define MACHINE_RAPL_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stddef.h>

struct rapl; /* opaque */

/*
 * `root` "": the machine itself; tests give a folder with files of /sys. 0; -EOPNOTSUPP: no such counters here;
 * -EACCES: this user may not read them; -ENOMEM.
 */
int rapl_new(const char *root, struct rapl **ret, struct err *err);
void rapl_free(struct rapl *rapl);
CLEANUP_DEFINE(rapl, rapl_free)

size_t rapl_packages(const struct rapl *rapl);

/*
 * Joules since rapl_new(). Call it at least once for each time that a counter may wrap: an hour at 70 W. 0 or -errno.
 */
int rapl_read(struct rapl *rapl, double *ret_j);

#endif
