/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile of what a profiler's backend wrote (plugin/profile_raw.h) and of the timeline that the preload
 * library recorded meanwhile. Counts that come in parts are added up, classes get the event that begins
 * them from the timeline.
 */
#ifndef UARCH_PROFILE_IMPORT_H
#define UARCH_PROFILE_IMPORT_H

#include "uarch/profile.h"

struct profile_bytes {
	const void *bytes; /* borrowed */
	size_t count;
};

/*
 * `raw`: a raw file, also one that a killed run left; `timeline`: a closed trace file, whose bytes are
 * copied into the profile; NULL bytes: there is none, and quality.has_timeline is false. What is left to
 * the caller: quality.native_s, profiled_s. Released by profile_release(), also after a failure.
 * 0; -EINVAL (not such a file, another version, a record that cannot be: err says at which byte), -ENOMEM.
 */
int profile_import(const struct profile_bytes *raw, const struct profile_bytes *timeline,
	struct profile *ret, struct err *err);

struct raw_code;
/* An instruction as a backend describes it. */
struct code profile_code(const struct raw_code *raw);

#endif
