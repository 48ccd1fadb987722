/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which object a function was given, in the words of the program's source: the pointer that it was called
 * with is followed back through the machine code of its callers (code_steps.h), from instruction to
 * instruction, until debug information knows what it points into (pointee.h).
 */
#ifndef CODE_PASSED_H
#define CODE_PASSED_H

#include "code/pointee.h"

struct function_table;

/* A call on a stack; addresses as libdwfl counts. */
struct passed_call {
	struct code_file file;
	const struct function_table *functions;
	uint64_t bias; /* less than that by so much are those of `functions` */
	uint64_t site; /* where it returns to */
};

/*
 * The first argument of the C library's function that was called by the calls, innermost first, if its name
 * begins with one of `functions` (ended by NULL): "pool.lock"; NULL: not known. The caller frees it.
 */
char *passed_name(const struct passed_call *calls, size_t count, const char *const *functions);

/* The function of another file that the call goes to, as the linker calls it; NULL: not known. Borrowed. */
const char *passed_callee(const struct passed_call *call);

#endif
