/* SPDX-License-Identifier: MIT */
/* The ELF files of the process, recorded so that a reader can tell which code an address is. */
#ifndef PRELOAD_MODULES_H
#define PRELOAD_MODULES_H

#include <stdbool.h>
#include <stdint.h>

enum { MODULE_PATH_BYTES = 1024 }; /* cut when longer */

struct module {
	uint64_t bias, end;
	uint64_t code, code_end; /* the part that is executed */
	char path[MODULE_PATH_BYTES];
	bool is_kept; /* unloaded, and its place is empty */
};

/* Records, by modules_put(), those loaded since the last time. */
void modules_note(void);

/* In the child of a fork: records all known ones again, for they are names of a process. */
void modules_repeat(void);

/* By trace.c: `bias` is what to take off an address, `end` lies behind the last one. */
void modules_put(uint64_t bias, uint64_t end, const char *path);

/* The recorded file that an address lies in; NULL: none is known. Stays as it is. */
const struct module *module_of(uint64_t address);

static inline bool module_has_code(const struct module *module, uint64_t address)
{
	return address >= module->code && address < module->code_end;
}

#endif
