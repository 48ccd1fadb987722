/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/address_space.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "code/vdso.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GENERATIONS_MAX = 64 }; /* a bound on walking up from child to parent */

void address_spaces_release(struct address_spaces *spaces)
{
	for (size_t i = 0; i < spaces->module_count; i++)
		free(spaces->modules[i]);
	free(spaces->modules);
	free(spaces->parents);
	free(spaces->mappings);
	*spaces = (struct address_spaces){ 0 };
}

static int find_module(struct address_spaces *spaces, const char *path, uint32_t *ret)
{
	for (size_t i = 0; i < spaces->module_count; i++)
		if (strcmp(spaces->modules[i], path) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	if (mem_grow(&spaces->modules, &spaces->module_capacity, spaces->module_count + 1,
		    sizeof(spaces->modules[0])) < 0)
		return -ENOMEM;
	char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	*ret = (uint32_t)spaces->module_count;
	spaces->modules[spaces->module_count++] = copy;
	return 0;
}

int address_spaces_map(
	struct address_spaces *spaces, const struct mapping *mapping, const char *path)
{
	struct mapping added = *mapping;
	if (find_module(spaces, path, &added.module) < 0 ||
		mem_grow(&spaces->mappings, &spaces->capacity, spaces->count + 1,
			sizeof(spaces->mappings[0])) < 0)
		return -ENOMEM;
	spaces->mappings[spaces->count++] = added;
	return 0;
}

bool mapping_parse(const char *line, struct mapping *ret, char path[static 4096])
{
	struct mapping mapping = { 0 };
	char execute;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %*s %*s %4095[^\n]",
		    &mapping.start, &mapping.end, &execute, &mapping.offset, path) != 5 ||
		execute != 'x' || (path[0] != '/' && !vdso_is(path)))
		return false;
	*ret = mapping;
	return true;
}

int address_spaces_read(struct address_spaces *spaces, uint32_t pid)
{
	char name[64], path[4096];
	(void)snprintf(name, sizeof name, "/proc/%" PRIu32 "/maps", pid); /* fits */
	AUTO_FILE FILE *file = readfile_open("", name);
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	while (file && getline(&line, &size, file) > 0) {
		struct mapping mapping;
		if (!mapping_parse(line, &mapping, path) || path[0] != '/')
			continue;
		mapping.pid = pid;
		if (address_spaces_map(spaces, &mapping, path) < 0)
			return -ENOMEM;
	}
	return 0;
}

int address_spaces_fork(struct address_spaces *spaces, uint32_t parent, uint32_t child)
{
	if (mem_grow(&spaces->parents, &spaces->parent_capacity, spaces->parent_count + 1,
		    sizeof(spaces->parents[0])) < 0)
		return -ENOMEM;
	spaces->parents[spaces->parent_count++] = (struct parent){ child, parent };
	return 0;
}

static const struct mapping *find_own(
	const struct address_spaces *spaces, uint32_t pid, uint64_t address)
{
	for (size_t i = spaces->count; i-- > 0;) {
		const struct mapping *mapping = &spaces->mappings[i];
		if (mapping->pid == pid && address >= mapping->start && address < mapping->end)
			return mapping;
	}
	return NULL;
}

static uint32_t find_parent(const struct address_spaces *spaces, uint32_t pid)
{
	for (size_t i = spaces->parent_count; i-- > 0;)
		if (spaces->parents[i].child == pid)
			return spaces->parents[i].pid;
	return 0;
}

const struct mapping *address_spaces_find(
	const struct address_spaces *spaces, uint32_t pid, uint64_t address)
{
	for (int i = 0; pid != 0 && i < GENERATIONS_MAX; i++) {
		const struct mapping *found = find_own(spaces, pid, address);
		if (found)
			return found;
		pid = find_parent(spaces, pid);
	}
	return NULL;
}
