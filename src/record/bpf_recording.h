/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel tells of a program, into a sink, while it runs: a thread of ours takes the events out
 * of the kernel's buffer many times a second.
 */
#ifndef RECORD_BPF_RECORDING_H
#define RECORD_BPF_RECORDING_H

#include "record/bpf_timeline.h"
#include "record/bpf_watch.h"
#include "collect/periodic.h"
#include "record/recorder.h"

/* { 0 } is none. */
struct bpf_recording {
	struct bpf_watch *watch; /* NULL: not started */
	struct bpf_timeline timeline;
	struct periodic reader;
};

void bpf_recording_release(struct bpf_recording *recording);

/* From here on everything is recorded. opts->argv: the process has yet to become that program. */
int bpf_recording_start(struct bpf_recording *recording, const struct record_opts *opts, pid_t pid,
	struct event_sink sink, struct err *err);

/*
 * Nobody changes anything any more: what is left in the buffer, then the end of the sink. Once; how
 * many events were lost is added to *ret_lost. 0 or what the sink returns.
 */
int bpf_recording_finish(struct bpf_recording *recording, uint64_t *ret_lost, struct err *err);

/* Processes that were seen. */
uint32_t bpf_recording_processes(const struct bpf_recording *recording);

#endif
