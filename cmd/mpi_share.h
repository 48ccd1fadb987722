/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tasks shared out among the ranks of mpirun. A module of its own, opened when mpirun has started the
 * command: Open MPI and its thirty libraries would make every start of it slow.
 */
#ifndef CMD_MPI_SHARE_H
#define CMD_MPI_SHARE_H

#include <stddef.h>

/*
 * Rank r plays the tasks r, r + size, ...; then the `bytes` at `memory`, in which each task has its own place
 * and all others are 0, are united at rank 0. Returns the rank. A failure of MPI ends all ranks.
 */
typedef int mpi_share_function(size_t count, void (*play)(void *context, size_t task),
	void *context, void *memory, size_t bytes);

#define MPI_SHARE_SYMBOL "corecast_mpi_share"
#define MPI_SHARE_FILE "cmd/libcorecast-mpi.so"

#endif
