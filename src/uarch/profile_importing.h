/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a backend wrote, record by record (profile_import.c), until it is sorted and added up
 * (profile_settle.c).
 */
#ifndef UARCH_PROFILE_IMPORTING_H
#define UARCH_PROFILE_IMPORTING_H

#include "base/map.h"
#include "plugin/profile_raw.h"
#include "uarch/profile.h"

struct numbered {
	uint32_t number; /* the backend's */
	struct profile_thread thread;
	bool is_told; /* by a RAW_THREAD */
};

struct pending_reuse {
	uint64_t stretch;
	struct profile_reuse reuse; /* class: the backend's number of the thread */
};

struct pending_micro {
	uint64_t stretch, class_at;
	uint32_t thread, count;
	size_t first; /* in the profile's micro_ops */
};

struct importing {
	const unsigned char *bytes;
	size_t count;
	struct profile *profile;
	struct numbered *threads;
	size_t thread_count, thread_capacity;
	size_t class_capacity, code_capacity, op_capacity, ask_capacity;
	struct pending_reuse *reuse;
	size_t reuse_count, reuse_capacity;
	struct pending_micro *micro;
	size_t micro_count, micro_capacity;
	struct raw_branches *branches;
	size_t branches_count, branches_capacity;
	struct map thread_numbers;
	uint64_t micro_lost; /* of more than a profile may have */
	bool is_ended;
};

/* Fills the profile. -ENOMEM. */
int profile_settle(struct importing *importing, struct err *err);

#endif
