/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of one run, in TMPDIR or else /tmp. Whoever makes one removes it. */
#ifndef BASE_TEMPFILE_H
#define BASE_TEMPFILE_H

#include "base/err.h"

#include <stddef.h>

/*
 * An empty file "FOLDER/NAME-XXXXXX" that only this user can open, to read and write; `folder` NULL: TMPDIR.
 * Its descriptor, or a negative errno. The caller unlinks and frees *ret_path; NULL: it has no name.
 */
int tempfile_open(const char *folder, const char *name, char **ret_path, struct err *err);

/* The same of so many zero bytes, mapped to be shared with others who open it. 0 or a negative errno. */
int tempfile_map(const char *folder, const char *name, size_t bytes, void **ret, char **ret_path,
	struct err *err);

#endif
