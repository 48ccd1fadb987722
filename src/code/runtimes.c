/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/runtimes.h"

#include "base/mem.h"
#include "base/path.h"

#include <stddef.h>
#include <string.h>

/* Starts of file names. */
static const char *const runtimes[] = {
	"ld-linux",
	"libc.so",
	"libc++",
	"libcorecast-",
	"libgcc_s",
	"libgomp",
	"libomp",
	"libpthread",
	"libstdc++",
	"libtbb",
};

bool runtime_is(const char *path)
{
	const char *name = path_file_name(path);
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (strncmp(name, runtimes[i], strlen(runtimes[i])) == 0)
			return true;
	return false;
}
