/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A new raw trace file: whoever records makes one, then recorders fill its chunks as
 * preload/trace_record.h says.
 */
#ifndef TRACE_CREATE_H
#define TRACE_CREATE_H

#include "base/err.h"
#include "preload/trace_record.h"

#include <stdbool.h>

struct trace_create_opts {
	uint32_t sources; /* enum trace_source */
	uint64_t bytes_max; /* of the raw file; 0: 16 GiB */
	uint32_t cores, cores_online; /* of the recorded machine, as struct trace_quality tells */
	struct trace_wakes wakes; /* of that machine, too */
	struct trace_others others; /* as in the header, if it is known already */
	struct trace_own own; /* of the recording that this is a copy of */
	uint32_t budget_ppm, burst_pairs,
		gap_pairs; /* as in the header; 0: everything is recorded */
	bool tells_files; /* as in the header */
	bool is_simulated; /* times begin at 0, not now */
};

/* A header as a recording begins. */
void trace_header_init(struct trace_header *header, const struct trace_create_opts *opts);

/* Writes it to an empty file. 0 or -errno. */
int trace_header_write(
	int fd, const char *name, const struct trace_header *header, struct err *err);

#endif
