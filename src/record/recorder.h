/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ways to record a program's timeline into a trace file. Each is a const struct; recorder_find()
 * chooses by name, or the first that can record this program here.
 */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include "base/err.h"
#include "trace/close.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct record_opts {
	char *const *argv; /* the program to run; NULL: attach to pid */
	pid_t pid;
	double duration_s; /* of an attached recording; 0: until the process ends */
	const char *path; /* of the trace */
	uint64_t bytes_max; /* of the raw file */
	/* Of the preload recorder: as in struct trace_header; 0: it records everything. */
	uint32_t budget_ppm, burst_pairs, gap_pairs;
	bool has_disk; /* requests to disks, too */
	uint32_t samples_hz; /* of each running thread's stack; 0: none */
	bool needs_samples; /* else it is recorded without where they are not possible */
};

struct record_result {
	int status; /* of the program, as waitpid() gives it */
	double wall_s; /* recorded */
	struct trace_closed closed;
	uint64_t lost; /* events */
	uint64_t samples, samples_lost;
	struct err no_samples; /* why there are none, or not all; empty if there are */
	uint32_t processes;
	int is_full; /* the size limit, or the end of the disk */
};

struct recorder {
	const char *name; /* as --via takes it */
	/* Whether it can record this: 0, or a negative errno and what to do. */
	int (*check)(const struct record_opts *opts, struct err *err);
	/* 0 when there is a closed trace at opts->path, however the program ended. */
	int (*run)(const struct record_opts *opts, struct record_result *ret, struct err *err);
};

extern const struct recorder recorder_preload, recorder_bpf, recorder_both;

/*
 * By name, or "auto". -EINVAL: no such recorder; else why the one that was asked for, or the first,
 * cannot record.
 */
int recorder_find(const char *name, const struct record_opts *opts, const struct recorder **ret,
	struct err *err);

#endif
