/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths of files. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <string.h>

/* The file without its folders: a part of `path`. */
static inline const char *path_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

#endif
