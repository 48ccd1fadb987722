/* SPDX-License-Identifier: MIT */
/* The table of call sites in the shared file. Nothing here allocates, locks or waits. */
#ifndef PRELOAD_SITES_H
#define PRELOAD_SITES_H

#include "record.h"

/* Learns the program's own path; once, before the first sites_find(). */
void sites_init(void);

/* Index of the site with this kind and the callers that the stack shows now. */
uint32_t sites_find(struct sync_file *file, enum sync_kind kind, const void *caller);

void sites_add(struct sync_file *file, uint32_t site, uint64_t waits, uint64_t wait_ns);

#endif
