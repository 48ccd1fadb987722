/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machine files and profiles by what people call them. */
#ifndef CMD_MACHINES_H
#define CMD_MACHINES_H

#include "uarch/processor.h"
#include "uarch/profile.h"

#include <stddef.h>

/* The whole file, freed by the caller. 0, a negative errno, -EFBIG beyond `most`. */
int file_read(const char *path, size_t most, char **ret, size_t *ret_length, struct err *err);

/*
 * A name as "base" is of a file that comes with corecast, one with a '/' or ending in .yaml is the user's own. *ret is
 * released by processor_release(). 0; else a negative errno.
 */
int machine_load(const char *name, struct processor *ret, struct err *err);

/* *ret is released by profile_release(). 0; else a negative errno. */
int profile_load(const char *path, struct profile *ret, struct err *err);

#endif
