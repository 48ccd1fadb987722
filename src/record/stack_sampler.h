/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the threads of a program run and who called it: the kernel notes their call stacks from time to
 * time while they run (processor time, no hardware counter needed), and here they become events of
 * the timeline, EVENT_SAMPLE, each stack of callers named once.
 *
 *	stack_sampler_new(pid, hz, false, &sampler, err)	stopped before its exec
 *	stack_sampler_drain(sampler, false, &sink, err)		many times a second
 *	... the program has ended ...
 *	stack_sampler_drain(sampler, true, &sink, err)
 */
#ifndef RECORD_STACK_SAMPLER_H
#define RECORD_STACK_SAMPLER_H

#include "base/cleanup.h"
#include "trace/sink.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stack_sampler; /* opaque */

/*
 * `hz` samples of each second that a thread runs, of all threads of the process and of all that it has started (this
 * only as root) and starts. is_running: from now on; else from its exec on. 0; as sampler_explain().
 */
int stack_sampler_new(
	pid_t pid, uint32_t hz, bool is_running, struct stack_sampler **ret, struct err *err);
void stack_sampler_free(struct stack_sampler *sampler);
CLEANUP_DEFINE(stack_sampler, stack_sampler_free)

/*
 * What the kernel has noted, in order of time: but for the last few ms, which another processor may
 * still add to, unless this is the last time. 0, -ENOMEM, or what the sink returns.
 */
int stack_sampler_drain(struct stack_sampler *sampler, bool is_last, const struct event_sink *sink,
	struct err *err);

/* Samples that the sink was given. */
uint64_t stack_sampler_count(const struct stack_sampler *sampler);

/* Samples that the kernel had no room for, and times at which it held back for its own sake. */
uint64_t stack_sampler_lost(const struct stack_sampler *sampler);

#endif
