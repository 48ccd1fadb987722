/* SPDX-License-Identifier: MIT */
/* Waits added up by kind and call site, in the file of record.h: for `measure --sync-stalls`. */
#ifndef PRELOAD_AGGREGATE_H
#define PRELOAD_AGGREGATE_H

#include "sink.h"

/* Maps the file; true if it can be written to. */
bool aggregate_attach(const char *path);

/* The process ends: so do the waits of its other threads. */
void aggregate_detach(void);

void aggregate_wait_begin(struct wait *wait, uint32_t kind, const void *object, const void *caller);
void aggregate_wait_end(struct wait *wait);
void aggregate_wait_discard(struct wait *wait);
void aggregate_task_begin(struct task *task);
void aggregate_task_end(struct task *task);
void aggregate_wait_add(uint32_t kind, uint64_t waits, uint64_t wait_ns, const void *caller);
void aggregate_try_failed(uint32_t kind, const void *object, const void *caller);
void aggregate_try_succeeded(const void *object);

#endif
