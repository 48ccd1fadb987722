/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Built without Open MPI: mpirun would start the same work several times, and is told so. */
#include "simulate_tasks.h"

#include <errno.h>
#include <stdlib.h>

/* mpirun sets it, whatever the program is. */
bool mpi_is_used(void)
{
	const char *size = getenv("OMPI_COMM_WORLD_SIZE");
	return size && atoi(size) > 1;
}

int mpi_share(struct tasks *tasks, struct err *err)
{
	(void)tasks;
	return err_set(err, -EOPNOTSUPP,
		"this corecast was built without Open MPI: install libopenmpi-dev, then meson "
		"configure build -Dmpi=enabled and ninja -C build");
}
