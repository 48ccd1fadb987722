/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/profile.h"

#include "plugin/profile_raw.h"

#include <errno.h>
#include <stdlib.h>

/* The table of the profilers' file. */
static_assert(PROFILE_HISTORIES == (int)RAW_HISTORIES, "each has a record");
static_assert(PROFILE_OUTCOMES == (int)RAW_OUTCOMES, "before jumps");
static_assert(REUSE_BINS == (int)RAW_REUSE_BINS && REUSE_EXACT == (int)RAW_REUSE_EXACT, "");
static_assert(CODE_CLASSES <= (int)RAW_MIX, "each has a count");

const struct profile_history profile_histories[PROFILE_HISTORIES] = RAW_HISTORY_TABLE;

unsigned reuse_bin(uint64_t distance)
{
	return raw_reuse_bin(distance);
}

uint64_t reuse_bin_least(unsigned bin)
{
	if (bin < REUSE_EXACT)
		return bin;
	if (bin >= REUSE_INFINITE)
		return UINT64_MAX;
	unsigned octave = RAW_REUSE_FIRST_OCTAVE + (bin - REUSE_EXACT) / RAW_REUSE_PARTS;
	unsigned part = (bin - REUSE_EXACT) % RAW_REUSE_PARTS;
	return (uint64_t)(RAW_REUSE_PARTS + part) << (octave - RAW_REUSE_PART_BITS);
}

const char *code_class_name(enum code_class class)
{
	static const char *const names[CODE_CLASSES] = {
		[CODE_MOVE] = "move",
		[CODE_NOP] = "nop",
		[CODE_ALU] = "alu",
		[CODE_SHIFT] = "shift",
		[CODE_MULTIPLY] = "multiply",
		[CODE_DIVIDE] = "divide",
		[CODE_FP_ADD] = "fp_add",
		[CODE_FP_MULTIPLY] = "fp_multiply",
		[CODE_FP_FMA] = "fp_fma",
		[CODE_FP_DIVIDE] = "fp_divide",
		[CODE_VECTOR] = "vector",
		[CODE_SHUFFLE] = "shuffle",
		[CODE_BRANCH] = "branch",
		[CODE_JUMP] = "jump",
		[CODE_ATOMIC] = "atomic",
		[CODE_FENCE] = "fence",
		[CODE_STRING] = "string",
		[CODE_SYSTEM] = "system",
		[CODE_OTHER] = "other",
		[CODE_CONVERT] = "convert",
		[CODE_FP_DIVIDE_SINGLE] = "fp_divide_single",
		[CODE_DIVIDE_LONG] = "divide_long",
		[CODE_FP_ROOT] = "fp_root",
		[CODE_FP_ROOT_SINGLE] = "fp_root_single",
		[CODE_STRING_WORDS] = "string_words",
		[CODE_LEA] = "lea",
		[CODE_SELECT] = "select",
		[CODE_BIT_COUNT] = "bit_count",
		[CODE_CROSS] = "cross",
		[CODE_CONDITION] = "condition",
	};
	return class < CODE_CLASSES ? names[class] : "unknown";
}

void profile_release(struct profile *profile)
{
	free(profile->command);
	free(profile->threads);
	free(profile->classes);
	free(profile->codes);
	free(profile->reuse);
	free(profile->micro);
	free(profile->micro_ops);
	free(profile->timeline);
	for (size_t i = 0; i < profile->name_count; i++) {
		free(profile->names[i].name);
		free(profile->names[i].file);
	}
	free(profile->names);
	free(profile->asks);
	*profile = (struct profile){ 0 };
}

ptrdiff_t profile_find_class(const struct profile *profile, uint32_t thread, uint64_t stretch)
{
	if (profile->threads && thread < profile->thread_count &&
		profile->threads[thread].counted_with > 0)
		thread = profile->threads[thread].counted_with - 1;
	size_t low = 0, high = profile->class_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct profile_class *class = &profile->classes[middle];
		if (class->thread == thread && class->stretch == stretch)
			return (ptrdiff_t)middle;
		bool is_before = class->thread < thread ||
				 (class->thread == thread && class->stretch < stretch);
		if (is_before)
			low = middle + 1;
		else
			high = middle;
	}
	return -ENOENT;
}
