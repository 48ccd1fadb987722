/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/runtimes.h"

#include "base/mem.h"
#include "base/path.h"

#include <stddef.h>
#include <string.h>

/* By starts of file names, the longer ones first. */
static const struct runtime {
	const char *name;
	bool spins, parks;
} runtimes[] = {
	{ "ld-linux" },
	{ "libc.so" },
	{ "libc++" },
	{ "libcorecast-" },
	{ "libgcc_s" },
	{ "libgomp.so", .spins = true },
	{ "libgomp" },
	{ "libiomp5.so", .spins = true },
	{ "libjvm.so", .parks = true },
	{ "libomp.so", .spins = true },
	{ "libomp" },
	{ "libpthread" },
	{ "libstdc++" },
	{ "libtbb.so", .spins = true },
	{ "libtbb" },
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

bool runtime_parks(const char *path)
{
	const struct runtime *found = find(path);
	return found && found->parks;
}

const char *runtime_lock(const char *symbol)
{
	return strcmp(symbol, "_PyRuntime") == 0 ? "Python's GIL" : NULL;
}
