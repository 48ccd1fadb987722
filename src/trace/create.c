/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/create.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_BYTES_MAX (16ull << 30)

static uint32_t chunks_in(uint64_t bytes_max)
{
	uint64_t bytes = bytes_max ? bytes_max : DEFAULT_BYTES_MAX;
	uint64_t chunks =
		bytes > TRACE_HEADER_BYTES ? (bytes - TRACE_HEADER_BYTES) / TRACE_CHUNK_BYTES : 0;
	return chunks < UINT32_MAX / 2 ? (uint32_t)chunks : UINT32_MAX / 2;
}

void trace_header_init(struct trace_header *header, const struct trace_create_opts *opts)
{
	*header = (struct trace_header){
		.magic = TRACE_MAGIC,
		.version = TRACE_VERSION,
		.header_bytes = TRACE_HEADER_BYTES,
		.record_bytes = TRACE_RECORD_BYTES,
		.chunk_bytes = TRACE_CHUNK_BYTES,
		.chunks_max = chunks_in(opts->bytes_max),
		.state = TRACE_RECORDING,
		.sources = opts->sources,
		.cores = opts->cores,
		.cores_online = opts->cores_online,
		.wakes = opts->wakes,
		.others = opts->others,
		.own = opts->own,
		.budget_ppm = opts->budget_ppm,
		.burst_pairs = opts->burst_pairs,
		.gap_pairs = opts->gap_pairs,
		.tells_files = opts->tells_files,
		.start_ns = opts->is_simulated ? 0 : clock_now_ns(CLOCK_MONOTONIC),
		.start_unix_ns = opts->is_simulated ? 0 : clock_now_ns(CLOCK_REALTIME),
	};
}

int trace_header_write(int fd, const char *name, const struct trace_header *header, struct err *err)
{
	ssize_t n = pwrite(fd, header, sizeof *header, 0);
	if (n == (ssize_t)sizeof *header)
		return 0;
	int code = n < 0 ? -errno : -ENOSPC;
	return err_set(err, code, "cannot write '%s': %s", name, strerror(-code));
}
