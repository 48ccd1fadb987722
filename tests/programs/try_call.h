/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a call returns, and what it leaves in errno, as a line of text. */
#ifndef TESTS_PROGRAMS_TRY_CALL_H
#define TESTS_PROGRAMS_TRY_CALL_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BEFORE = ENOTNAM }; /* no call sets this */

/* The result of a call, and errno behind it. */
#define TRY(call)                                                                                  \
	do {                                                                                       \
		errno = BEFORE;                                                                    \
		long result_ = (long)(call);                                                       \
		int after_ = errno;                                                                \
		printf("%s = %ld, %s\n", #call, result_,                                           \
			after_ == BEFORE ? "as before" : strerrorname_np(after_));                 \
	} while (0)

#endif
