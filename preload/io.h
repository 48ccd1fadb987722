/* SPDX-License-Identifier: MIT */
/* What stdio.c tells of descriptors: as the calls of io.c do. */
#ifndef PRELOAD_IO_H
#define PRELOAD_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* So many bytes came from it, or its end (0); below 0: nothing did. While a trace is written. */
void io_was_read(int fd, ssize_t bytes, const void *caller);

/* A descriptor that is being closed. */
struct io_closing {
	uint32_t connection;
	bool is_told;
};

/* While a trace is written. Before it can be another's, what is known of it is forgotten; then, when it is closed, that is told. */
struct io_closing io_closes(int fd, const void *caller);
void io_closed(int fd, struct io_closing closing, const void *caller);

#endif
