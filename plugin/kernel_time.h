/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time that the kernel spends in a thread's system calls: what an emulator in user mode does not see as instructions.
 * Its thread makes the same calls, so that its CPU time in them is theirs without it, and what the emulator adds: of that
 * the guest's recorder makes trials first (preload/call_trials.h). What each takes at least is a machine file's
 * (threads.call). A call in which the thread slept is not counted: the timeline has it as a wait. Calls on memory, threads
 * and signals are not either: the emulator does other work in these.
 */
#ifndef PLUGIN_KERNEL_TIME_H
#define PLUGIN_KERNEL_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

struct kernel_call {
	uint64_t cpu_ns, sleeps; /* of the thread, when it began */
	int64_t number; /* -1: none is open */
};

/* The calls in between are trials. The end makes the same ones without the emulator: it may make and close descriptors. */
void kernel_trials_begin(void);
void kernel_trials_end(void);

/* is_program: else the recorder makes it. */
void kernel_call_begin(struct thread *thread, int64_t number, bool is_program);

/*
 * Adds what it took beyond a call that does nothing to the stretch that the thread was counted into last (it is not while the
 * recorder sees to a call), and returns it; 0 of a call that is not counted.
 */
uint64_t kernel_call_end(struct thread *thread, int64_t number);

#endif
