/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profile file (.ccp): a SQLite database, docs/formats/profile.md. Made and read in memory: who has
 * the bytes puts them where they belong.
 */
#ifndef UARCH_PROFILE_STORE_H
#define UARCH_PROFILE_STORE_H

#include "uarch/profile.h"

/* The file's bytes; the caller frees *ret_bytes. -ENOMEM, -EFBIG, or a failure of SQLite as -EIO. */
int profile_write(
	const struct profile *profile, void **ret_bytes, size_t *ret_count, struct err *err);

/*
 * `name` is for messages. *ret is released by profile_release(), untouched on failure. -EINVAL (not a profile, damaged,
 * a newer version: err says what), -ENOMEM.
 */
int profile_read(
	const void *bytes, size_t count, const char *name, struct profile *ret, struct err *err);

/* Whether a file that begins so may be a profile: it is a SQLite database. */
bool profile_is_file(const void *bytes, size_t count);

#endif
