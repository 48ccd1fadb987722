/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a new thread runs, as the C library has written it down for it: the recorder in the kernel reads it there. Where that is
 * no header says; a thread of our own shows it, for all programs with the same C library.
 */
#ifndef RECORD_START_ROUTINE_H
#define RECORD_START_ROUTINE_H

#include "code/address_space.h"

#include <stdint.h>

/* From a thread's pointer (pthread_self()) to its start routine, behind which its argument is. 0: not found. */
int32_t start_routine_offset(void);

/*
 * What the program gave the thread to run: of a std::thread what is in libstdc++'s object for it, if that is still there. 0 if
 * the routine is no code of a file, or that of our library.
 */
uint64_t start_routine_find(
	const struct address_spaces *spaces, uint32_t pid, uint64_t routine, uint64_t argument);

#endif
