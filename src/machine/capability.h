/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this process may do: capabilities(7). */
#ifndef MACHINE_CAPABILITY_H
#define MACHINE_CAPABILITY_H

#include <stdbool.h>

/* Whether the capability (CAP_... of linux/capability.h) is effective, by /proc below `root`. */
bool capability_has(const char *root, int capability);

#endif
