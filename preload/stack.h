/* SPDX-License-Identifier: MIT */
/* Who called: return addresses, and the ELF file that each belongs to. */
#ifndef PRELOAD_STACK_H
#define PRELOAD_STACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Fills `ret` with the caller's return address and those of the frames above it, at most `max`;
 * returns their number, at least 1. Only the caller when the stack cannot be unwound.
 */
size_t stack_unwind(const void *caller, const void **ret, size_t max);

/* A call that has not returned: where its function is, and the stack that it takes. */
struct stack_frame {
	const void *site; /* where the call inside it returns to */
	uintptr_t begin, end; /* end: its canonical frame address */
};

/* Frames from the caller's on, at most `max`; returns their number, 0 when the stack cannot be unwound. */
size_t stack_frames(const void *caller, struct stack_frame *ret, size_t max);

/* Yields the load bias and path (borrowed) of the file around an address; NULL if in no file. */
const char *stack_module(const void *address, uintptr_t *ret_bias);

#endif
