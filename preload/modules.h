/* SPDX-License-Identifier: MIT */
/* The ELF files of the process, recorded so that a reader can tell which code an address is. */
#ifndef PRELOAD_MODULES_H
#define PRELOAD_MODULES_H

#include <stdint.h>

/* Records, by modules_put(), those loaded since the last time. */
void modules_note(void);

/* In the child of a fork: records all known ones again, for they are names of a process. */
void modules_repeat(void);

/* By trace.c: `bias` is what to take off an address, `end` lies behind the last one. */
void modules_put(uint64_t bias, uint64_t end, const char *path);

#endif
