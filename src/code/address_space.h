/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which file is mapped where in which process, as the kernel tells it while a program runs. */
#ifndef CODE_ADDRESS_SPACE_H
#define CODE_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
	uint32_t pid;
	uint32_t module; /* index into modules */
	uint64_t start, end;
	uint64_t offset; /* of `start` in the file */
};

struct parent {
	uint32_t child, pid;
};

/* { 0 } is empty. */
struct address_spaces {
	struct mapping *mappings; /* oldest first */
	size_t count, capacity;
	struct parent *parents;
	size_t parent_count, parent_capacity;
	char **modules; /* paths, each once */
	size_t module_count, module_capacity;
};

void address_spaces_release(struct address_spaces *spaces);

/* 0 or -ENOMEM. The path is copied; mapping->module is set here. */
int address_spaces_map(
	struct address_spaces *spaces, const struct mapping *mapping, const char *path);

/*
 * The code of files that a process has mapped now, as /proc tells it; nothing of one that has ended. 0 or -ENOMEM.
 */
int address_spaces_read(struct address_spaces *spaces, uint32_t pid);

/* A line of /proc/PID/maps, if it is code: of a file, or of the kernel's vDSO. `ret->module` stays 0. */
bool mapping_parse(const char *line, struct mapping *ret, char path[static 4096]);

/* The child has a copy of what its parent has mapped. 0 or -ENOMEM. */
int address_spaces_fork(struct address_spaces *spaces, uint32_t parent, uint32_t child);

/* The newest mapping of an address; NULL if none is known. Borrowed until the next change. */
const struct mapping *address_spaces_find(
	const struct address_spaces *spaces, uint32_t pid, uint64_t address);

#endif
