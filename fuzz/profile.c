/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Profile files: what is read can be used without a further check, and written again. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "uarch/profile_store.h"

#include <string.h>

static void check(const struct profile *profile)
{
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		fuzz_check(class->thread < profile->thread_count);
		fuzz_check(
			profile_find_class(profile, class->thread, class->stretch) == (ptrdiff_t)i);
	}
	for (size_t i = 0; i < profile->reuse_count; i++) {
		const struct profile_reuse *reuse = &profile->reuse[i];
		fuzz_check(reuse->class < profile->class_count && reuse->bin < REUSE_BINS);
		fuzz_check(reuse->code < profile->code_count || reuse->code == PROFILE_NO_CODE);
		fuzz_check(reuse->scope < PROFILE_SCOPES && reuse->count >= 0);
	}
	for (size_t i = 0; i < profile->micro_count; i++) {
		const struct micro_trace *micro = &profile->micro[i];
		fuzz_check(micro->class < profile->class_count && micro->count > 0);
		for (uint32_t j = 0; j < micro->count; j++)
			fuzz_check(micro->ops[j].code < profile->code_count);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	struct err err = { "" };
	if (profile_read(data, size, "input", &profile, &err) < 0) {
		fuzz_check(err.text[0] != '\0' && profile.threads == NULL);
		return 0;
	}
	check(&profile);
	return 0;
}
