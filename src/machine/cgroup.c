/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/cgroup.h"

#include "base/cleanup.h"
#include "base/readfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True if the comma-separated list holds the word. */
static bool list_has(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

/* The process's path in the hierarchy of a controller ("" names version 2's), as the kernel says. */
static int path_of(const char *root, pid_t pid, const char *controller, char ret[CGROUP_PATH_BYTES])
{
	char name[64] = "/proc/self/cgroup";
	if (pid)
		(void)snprintf(name, sizeof name, "/proc/%d/cgroup", pid); /* fits */
	AUTO_FILE FILE *file = readfile_open(root, name);
	if (!file)
		return -errno;
	AUTO_FREE char *line = NULL;
	size_t capacity = 0;
	while (getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		controllers++;
		bool is_own = *controller ? list_has(controllers, controller) : !*controllers;
		if (is_own) {
			snprintf(ret, CGROUP_PATH_BYTES, "%s", path);
			return 0;
		}
	}
	return -ENOENT;
}

/*
 * Finds the mount of the hierarchy: a line of mountinfo is
 * "id parent major:minor root mount_point options [fields...] - type source super_options".
 */
static int find_mount(
	const char *root, const char *controller, char ret_mount_root[], char ret_mount_point[])
{
	AUTO_FILE FILE *file = readfile_open(root, "/proc/self/mountinfo");
	if (!file)
		return -errno;
	AUTO_FREE char *line = NULL;
	size_t capacity = 0;
	while (getline(&line, &capacity, file) > 0) {
		char type[64], super_options[1024];
		char *tail = strstr(line, " - ");
		if (!tail || sscanf(tail, " - %63s %*s %1023s", type, super_options) != 2)
			continue;
		bool is_it = *controller ? strcmp(type, "cgroup") == 0 &&
						   list_has(super_options, controller)
					 : strcmp(type, "cgroup2") == 0;
		if (is_it && sscanf(line, "%*s %*s %*s %511s %511s", ret_mount_root,
				     ret_mount_point) == 2)
			return 0;
	}
	return -ENOENT;
}

int cgroup_find(const char *root, pid_t pid, const char *controller, struct cgroup *ret)
{
	char path[CGROUP_PATH_BYTES], mount_root[CGROUP_PATH_BYTES];
	struct cgroup group = { .is_v2 = !*controller };
	int r = path_of(root, pid, controller, path);
	if (r < 0)
		return r;
	r = find_mount(root, controller, mount_root, group.mount_point);
	if (r < 0)
		return r;
	size_t length = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
	bool is_below = strncmp(path, mount_root, length) == 0 &&
			(path[length] == '/' || path[length] == '\0');
	/* A path outside of the mount (another namespace's "/..") is seen from its top only. */
	if (is_below && strcmp(path + length, "/") != 0 && !strstr(path, "/.."))
		snprintf(group.path, sizeof group.path, "%s", path + length);
	*ret = group;
	return 0;
}
