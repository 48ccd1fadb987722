/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/runtimes.h"

#include "base/mem.h"
#include "base/path.h"

#include <stddef.h>
#include <string.h>

/* By starts of file names, the longer ones first. */
static const struct runtime {
	const char *name;
	bool spins;
} runtimes[] = {
	{ "ld-linux", false },
	{ "libc.so", false },
	{ "libc++", false },
	{ "libcorecast-", false },
	{ "libgcc_s", false },
	{ "libgomp.so", true },
	{ "libgomp", false },
	{ "libiomp5.so", true },
	{ "libomp.so", true },
	{ "libomp", false },
	{ "libpthread", false },
	{ "libstdc++", false },
	{ "libtbb.so", true },
	{ "libtbb", false },
};

/* NULL: it is none. */
static const struct runtime *find(const char *path)
{
	const char *name = path_file_name(path);
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (strncmp(name, runtimes[i].name, strlen(runtimes[i].name)) == 0)
			return &runtimes[i];
	return NULL;
}

bool runtime_is(const char *path)
{
	return find(path) != NULL;
}

bool runtime_spins(const char *path)
{
	const struct runtime *found = find(path);
	return found && found->spins;
}

const char *runtime_lock(const char *symbol)
{
	return strcmp(symbol, "_PyRuntime") == 0 ? "Python's GIL" : NULL;
}
