/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the threads of a static program do to one another. Nothing can be preloaded into it, so the preload library's own
 * code (preload/trace.h) is a part of the plugin, too, and records here: each thread of the guest is one of the emulator's.
 * All but events_attach() and events_birth() are about the calling thread.
 */
#ifndef PLUGIN_EVENTS_H
#define PLUGIN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct events_program {
	const char *path, *timeline, *page; /* files */
	uint64_t bias, end; /* where it is in memory */
};

/* A function that is watched. NULL: none of that name is. */
const struct events_function *events_function(const char *name);

/* The program's first thread begins. `program` stays. */
bool events_attach(const struct events_program *program);

struct events_birth {
	uint64_t time_ns;
	uint32_t parent;
};

/* The calling thread creates another. */
struct events_birth events_birth(void);
void events_thread_start(struct events_birth birth);
void events_thread_end(void);
void events_process_end(void);

/* Of the page. */
uint32_t events_slot(void);

/*
 * It calls the function. `memory`: address 0 of the guest; `site`: where the call returns to; false: its return is
 * not awaited. `mode`: whether the thread is in another such call, of which this is a part, is the caller's to know.
 */
bool events_enter(const struct events_function *function, const uint64_t arguments[4],
	const char *memory, uint64_t site);
void events_return(uint64_t result);

#endif
