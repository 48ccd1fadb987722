/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mpi_share.h"

#include <mpi.h>

/* A count of MPI is an int. */
enum { PIECE_BYTES = 1 << 28 };

/* Bit by bit: what nobody else has written stays the same bytes. */
static void unite(int rank, unsigned char *memory, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
		size_t left = bytes - at;
		int piece = left < PIECE_BYTES ? (int)left : PIECE_BYTES;
		(void)MPI_Reduce(rank == 0 ? MPI_IN_PLACE : memory + at,
			rank == 0 ? memory + at : NULL, piece, MPI_BYTE, MPI_BOR, 0,
			MPI_COMM_WORLD); /* errors are fatal, which is MPI's default */
	}
}

__attribute__((visibility("default"))) mpi_share_function corecast_mpi_share;

int corecast_mpi_share(size_t count, void (*play)(void *context, size_t task), void *context,
	void *memory, size_t bytes)
{
	int rank, size;
	(void)MPI_Init(NULL, NULL); /* as above */
	(void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	(void)MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (size_t task = (size_t)rank; task < count; task += (size_t)size)
		play(context, task);
	unite(rank, memory, bytes);
	(void)MPI_Finalize();
	return rank;
}
