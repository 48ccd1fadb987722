/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of one rank of mpirun, by the module of mpi_share.h, if this build has it. */
#include "mpi_share.h"
#include "share_tasks.h"

#include "base/cleanup.h"
#include "base/datadir.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* mpirun sets it, whatever the program is. */
bool mpi_is_used(void)
{
	const char *size = getenv("OMPI_COMM_WORLD_SIZE");
	return size && atoi(size) > 1;
}

/* Never closed: Open MPI's threads and exit handlers are in it. */
static mpi_share_function *open_module(struct err *err)
{
	AUTO_FREE char *path = NULL;
	if (datadir_find(MPI_SHARE_FILE, &path, err) < 0) {
		(void)err_set(err, -EOPNOTSUPP,
			"mpirun started this, and this corecast was built without Open MPI: "
			"install "
			"libopenmpi-dev, then: meson configure build -Dmpi=enabled; ninja -C "
			"build");
		return NULL;
	}
	/* Global: Open MPI opens its own components, which look for its symbols. */
	void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	void *symbol = module ? dlsym(module, MPI_SHARE_SYMBOL) : NULL;
	if (!symbol)
		(void)err_set(err, -EOPNOTSUPP, "cannot use Open MPI: %s", dlerror());
	mpi_share_function *function = NULL;
	memcpy(&function, &symbol, sizeof function);
	return function;
}

int mpi_share(struct share_tasks *tasks, struct err *err)
{
	mpi_share_function *share = open_module(err);
	if (!share)
		return -EOPNOTSUPP;
	tasks->is_silent =
		share(tasks->count, tasks->play, tasks->context, tasks->memory, tasks->bytes) > 0;
	return 0;
}
