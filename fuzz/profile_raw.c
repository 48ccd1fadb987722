/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a profiler's backend writes, and the timeline beside it: the input's first four bytes are the length of
 * the one, which follows, then comes the other. What is imported can be stored and is the same then.
 */
#include "fuzz.h"

#include "base/cleanup.h"
#include "uarch/profile_import.h"
#include "uarch/profile_store.h"

#include <string.h>

static void check_stored(const struct profile *profile)
{
	AUTO_RELEASE(profile) struct profile again = { 0 };
	AUTO_FREE void *bytes = NULL;
	size_t count = 0;
	struct err err = { "" };
	fuzz_check(profile_write(profile, &bytes, &count, &err) == 0);
	fuzz_check(profile_read(bytes, count, "written", &again, &err) == 0);
	fuzz_check(again.class_count == profile->class_count);
	fuzz_check(again.reuse_count == profile->reuse_count);
	fuzz_check(again.micro_op_count <= profile->micro_op_count);
	fuzz_check(again.timeline_bytes == profile->timeline_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	struct err err = { "" };
	uint32_t length = 0;
	if (size < sizeof length)
		return 0;
	memcpy(&length, data, sizeof length);
	data += sizeof length;
	size -= sizeof length;
	if (length > size)
		length = (uint32_t)size;
	const struct profile_bytes raw = { data, length };
	const struct profile_bytes timeline = { size > length ? data + length : NULL,
		size - length };
	if (profile_import(&raw, &timeline, &profile, &err) < 0)
		fuzz_check(err.text[0] != '\0');
	else
		check_stored(&profile);
	return 0;
}
