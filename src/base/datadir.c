/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every place is tried by looking for the file itself, so a half-installed tree still works. */
#include "base/datadir.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the executable's folder, in order; the last two are set by meson.build. */
static const char *const places[] = {
	".",
	"..",
	"../..",
	CORECAST_DATA_FROM_BIN,
	CORECAST_LIB_FROM_BIN,
};

/* 0, -ENOENT if there is no such file, -ENOMEM. */
static int try_place(const char *base, const char *place, const char *relative, char **ret_path)
{
	AUTO_FREE char *path = NULL;
	int n = place[0] == '/' ? asprintf(&path, "%s/%s", place, relative)
				: asprintf(&path, "%s/%s/%s", base, place, relative);
	if (n < 0) {
		path = NULL;
		return -ENOMEM;
	}
	char *real = realpath(path, NULL);
	if (!real)
		return errno == ENOMEM ? -ENOMEM : -ENOENT;
	*ret_path = real;
	return 0;
}

/* The folder of the running executable, without a slash at its end. */
static int executable_folder(char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	char *slash = strrchr(ret, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

int datadir_find(const char *relative, char **ret_path, struct err *err)
{
	const char *own = getenv("CORECAST_DATADIR");
	int r = own && *own ? try_place(own, ".", relative, ret_path) : -ENOENT;
	char folder[PATH_MAX] = "";
	if (r == -ENOENT && executable_folder(folder) == 0)
		for (size_t i = 0; i < ARRAY_SIZE(places) && r == -ENOENT; i++)
			r = try_place(folder, places[i], relative, ret_path);
	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	if (r < 0)
		return err_set(err, -ENOENT,
			"cannot find '%s' beside the executable (%s); set CORECAST_DATADIR to the "
			"folder that holds it",
			relative, *folder ? folder : "/proc/self/exe cannot be read");
	return 0;
}
