/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a recording: a raw trace file becomes a closed one, chunk by chunk compressed, which
 * appears whole or not at all.
 */
#ifndef TRACE_CLOSE_H
#define TRACE_CLOSE_H

#include "base/err.h"

#include <stdint.h>

struct trace_closed {
	uint64_t records; /* rows: a name takes several */
	uint64_t raw_bytes; /* of the rows and heads */
	uint64_t bytes; /* of the closed file */
};

/*
 * Writes the closed form of the file at raw_path to `path`, which may be the same. end_ns: when
 * recording ended, 0: as the raw file says. The raw file is only read, and stays where it is unless
 * `path` is the same; so after a failure (disk full) it is still there and readable.
 * 0, -EINVAL (not a trace), -ENOSPC and other -errno.
 */
int trace_close(const char *raw_path, const char *path, uint64_t end_ns, struct trace_closed *ret,
	struct err *err);

#endif
