/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of records (profile_raw.h). Records of all threads go through one buffer, under one lock. What cannot be
 * written is counted, never an error of the guest.
 */
#ifndef PLUGIN_OUT_H
#define PLUGIN_OUT_H

#include "profile_raw.h"

#include <stdbool.h>
#include <stddef.h>

/* Creates `path`, with its header. 0 or a negative errno. */
int out_open(const char *path, const char *backend);

/* Appends a record: head, then body (may be NULL). */
void out_record(enum raw_kind kind, const void *head, size_t head_bytes, const void *body,
	size_t body_bytes);

/* Hands to the kernel what is buffered. */
void out_flush(void);

/* Nothing more is written, and what is buffered is forgotten: in the child of a fork. */
void out_abandon(void);

/* A record could not be made. */
void out_count_lost(void);

/* Records that could not be written. */
uint64_t out_lost(void);

#endif
