/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Static programs: functions of the C library that threads synchronise with are found by name in the program's symbol table,
 * and a callback at their first block and at the block that they return to makes events of them (events.h). What is between
 * is not counted, as with the preload library.
 *
 * Arguments and results are in the guest's registers, which this version of the plugin interface does not tell. The
 * emulator's code has the address of the guest's state in rbp, with the 16 registers at its begin, written back
 * whenever a block begins. That is so in QEMU 7.2; the arguments of system calls, which are told, are compared with it.
 */
#ifndef PLUGIN_CALLS_H
#define PLUGIN_CALLS_H

#include "thread.h"

/* The plugin's options; borrowed. 0; -1: it is no program. */
int calls_watch(const char *program);
int calls_timeline(const char *path);
void calls_page(const char *path);

bool calls_are_watched(void);

/* A block that is translated. */
void calls_translate(struct qemu_plugin_tb *tb);

/* The calling thread creates another; begins, and has this slot; is between a watched function's blocks. */
struct events_birth calls_birth(void);
uint64_t calls_thread_start(struct vcpu *vcpu);
void calls_look(struct vcpu *vcpu, const struct block *block);
void calls_syscall(struct vcpu *vcpu, int64_t number, uint64_t a1, uint64_t a2);

/* In the child of a fork. */
void calls_forked(void);

#endif
