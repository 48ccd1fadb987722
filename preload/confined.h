/* SPDX-License-Identifier: MIT */
/*
 * Programs that forbid themselves system calls (seccomp) or the processor's counter: from then on what this library
 * does could kill them. Recording then ends there, for the process: its behaviour comes first.
 */
#ifndef PRELOAD_CONFINED_H
#define PRELOAD_CONFINED_H

/* Before the program's call of prctl(operation, arguments[0], ...). Keeps errno. */
void confined_by_prctl(int operation, const unsigned long arguments[2]);

/* Before its call of seccomp(operation, flags, arguments). Keeps errno. */
void confined_by_seccomp(unsigned long operation, const void *arguments);

#endif
