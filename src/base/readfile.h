/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One-line files of /proc and /sys, below a root folder that tests can choose. */
#ifndef BASE_READFILE_H
#define BASE_READFILE_H

#include <stddef.h>
#include <stdio.h>

/* Opens root/path for reading; NULL if that fails. `path` starts with a slash. */
FILE *readfile_open(const char *root, const char *path);

/*
 * The first line without its newline, cut at size - 1 bytes. 0, or a negative errno: -ENOENT when
 * there is no such file, -EACCES when it may not be read. *ret is untouched on failure.
 */
int readfile_line(const char *root, const char *path, char *ret, size_t size);

/* A number on the first line. As above, and -EINVAL when it is not one. */
int readfile_number(const char *root, const char *path, double *ret);

#endif
