/* SPDX-License-Identifier: MIT */
/*
 * A thread of a program that an emulator runs and profiles (profile_page.h): which stretch it is in.
 *
 *	enter()                      leave()
 *	counted ---------> not counted ---------> counted, into the stretch that the last event
 *	   ^                   ^  |               began; after a WAIT: not counted until its PASS
 *	   |  profiled_pause() |  |
 *	   +-------------------+  |
 *	   +----------------------+  profiled_resume()
 *
 * Interposers that try the C library's function first pause before it, so that a lock costs the
 * thread nothing here: models know what it costs on their processors.
 */
#ifndef PRELOAD_PROFILED_H
#define PRELOAD_PROFILED_H

#include "profile_page.h"

#include <stdbool.h>
#include <stddef.h>

#define PROFILED_HIDDEN __attribute__((visibility("hidden")))

/* NULL: the program is not profiled. */
extern PROFILED_HIDDEN struct profile_page *profiled_page;

/* Maps the page; true if it is one. */
bool profiled_attach(const char *path);

/* Has the emulator find out what it adds to system calls, before the program begins. */
void profiled_try_calls(void);

/* A slot for the calling thread, of which the emulator is told; NULL: not profiled. */
struct profile_slot *profiled_claim(uint32_t tid);

/* The calling thread has it no longer. */
void profiled_give_back(struct profile_slot *slot);

void profiled_pause_slowly(void);
void profiled_resume_slowly(void);

/* The calling thread executes what is not the program's work. */
static inline void profiled_pause(void)
{
	if (__builtin_expect(profiled_page != NULL, 0))
		profiled_pause_slowly();
}

/* It goes on with what it did before, if nothing has been recorded since. */
static inline void profiled_resume(void)
{
	if (__builtin_expect(profiled_page != NULL, 0))
		profiled_resume_slowly();
}

#endif
