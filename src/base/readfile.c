/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/readfile.h"

#include "base/cleanup.h"
#include "base/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

FILE *readfile_open(const char *root, const char *path)
{
	AUTO_FREE char *full = NULL;
	if (asprintf(&full, "%s%s", root, path) < 0) {
		full = NULL;
		errno = ENOMEM;
		return NULL;
	}
	return fopen(full, "re");
}

int readfile_line(const char *root, const char *path, char *ret, size_t size)
{
	AUTO_FILE FILE *file = readfile_open(root, path);
	if (!file)
		return -errno;
	AUTO_FREE char *line = NULL;
	size_t capacity = 0;
	errno = 0;
	if (getline(&line, &capacity, file) < 0) {
		if (ferror(file))
			return errno ? -errno : -EIO;
		ret[0] = '\0';
		return 0;
	}
	line[strcspn(line, "\n")] = '\0';
	snprintf(ret, size, "%s", line);
	return 0;
}

int readfile_number(const char *root, const char *path, double *ret)
{
	char line[64];
	int r = readfile_line(root, path, line, sizeof line);
	return r < 0 ? r : number_parse_double(line, ret);
}
