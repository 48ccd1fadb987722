/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who called whom on a stack, by the tables that compilers put beside code for exceptions (.eh_frame), which also
 * programs without frame pointers, debug information or symbols have. x86-64, with libdw; elsewhere nothing is found.
 */
#ifndef CODE_UNWIND_H
#define CODE_UNWIND_H

#include "base/cleanup.h"
#include "code/address_space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwinder; /* opaque: the files that were opened, and what is known of their code */

/* Of a stopped thread: its registers, and the bytes of its stack from `sp` on. */
struct stack_image {
	uint64_t pc, sp, fp;
	const unsigned char *bytes;
	size_t size;
};

/* Whether unwinder_callers() can find anything in this build, on this processor. */
bool unwinder_is_able(void);

/* 0 or -ENOMEM. */
int unwinder_new(struct unwinder **ret);
void unwinder_free(struct unwinder *unwinder);
CLEANUP_DEFINE(unwinder, unwinder_free)

/*
 * Return addresses, innermost first, at most `max`; how many. They end where the stack does, where its image does, and at
 * code without a table.
 */
size_t unwinder_callers(struct unwinder *unwinder, const struct address_spaces *spaces,
	uint32_t pid, const struct stack_image *image, uint64_t *ret, size_t max);

#endif
