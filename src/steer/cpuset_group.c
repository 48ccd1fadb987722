/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/cpuset_group.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "machine/cgroup.h"
#include "base/readfile.h"
#include "collect/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int write_in(const char *folder, const char *name, const char *text)
{
	char path[ALTERATION_PATH_BYTES + 32];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name); /* fits */
	AUTO_FD int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t length = (ssize_t)strlen(text), written = write(fd, text, (size_t)length);
	return written == length ? 0 : written < 0 ? -errno : -EIO;
}

/* Whether the first line of a file, words between blanks, has this one. */
static bool has_word(const char *folder, const char *name, const char *word)
{
	char path[ALTERATION_PATH_BYTES + 32], line[256];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name); /* fits */
	if (readfile_line("", path, line, sizeof line) < 0)
		return false;
	char *rest = line;
	for (char *w; (w = strtok_r(rest, " ", &rest));)
		if (strcmp(w, word) == 0)
			return true;
	return false;
}

static int find_folder(
	const char *root, pid_t pid, char ret[ALTERATION_PATH_BYTES], bool *ret_is_v2)
{
	struct cgroup group;
	int code = cgroup_find(root, pid, "cpuset", &group);
	if (code < 0)
		code = cgroup_find(root, pid, "", &group);
	if (code < 0)
		return code;
	*ret_is_v2 = group.is_v2;
	int n = snprintf(ret, ALTERATION_PATH_BYTES, "%s%s%s", root, group.mount_point, group.path);
	return n < ALTERATION_PATH_BYTES ? 0 : -ENAMETOOLONG;
}

int cpuset_group_find(struct cpuset_group *group, const char *root, pid_t pid, struct err *err)
{
	*group = (struct cpuset_group){ .root = root };
	int code = find_folder(root, pid, group->parent, &group->is_v2);
	if (code < 0)
		return err_set(err, -EOPNOTSUPP,
			"no control group with a cpuset: %s (--set affinity)",
			code == -ENAMETOOLONG ? "its name is too long"
					      : "this system mounts none here");
	if (group->is_v2 && !has_word(group->parent, "cgroup.controllers", "cpuset"))
		return err_set(err, -EOPNOTSUPP,
			"'%s' has no cpuset: 'systemd-run -p Delegate=cpuset', or --set affinity",
			group->parent);
	if (access(group->parent, W_OK) < 0)
		return err_set(err, -EPERM,
			"no group can be made in '%s': as root, in a delegated group "
			"('systemd-run --user -p Delegate=cpuset'), or --set affinity",
			group->parent);
	return 0;
}

static int add_list(struct strbuf *list, const unsigned *processors, size_t count)
{
	for (size_t i = 0; i < count; i++)
		strbuf_addf(list, "%s%u", i > 0 ? "," : "", processors[i]);
	return strbuf_failed(list);
}

int cpuset_group_set(
	const struct cpuset_group *group, const unsigned *processors, size_t count, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf list = { 0 };
	int code = add_list(&list, processors, count);
	if (code == 0)
		code = write_in(group->path, "cpuset.cpus", list.text ? list.text : "");
	return code == 0 ? 0
			 : err_set(err, code, "cannot set the processors of '%s': %s", group->path,
				   strerror(-code));
}

/* Version 1 takes no process before both are set. */
static int copy_memory(const struct cpuset_group *group)
{
	char path[ALTERATION_PATH_BYTES + 32], nodes[256];
	(void)snprintf(path, sizeof path, "%s/cpuset.mems", group->parent); /* fits */
	int code = readfile_line("", path, nodes, sizeof nodes);
	return code < 0 ? code : write_in(group->path, "cpuset.mems", nodes);
}

/* Among threads version 2 lets groups be made beside processes; switched on is taken back. */
static int switch_on(const struct cpuset_group *group, struct undo *undo)
{
	int code = write_in(group->path, "cgroup.type", "threaded");
	if (code < 0 || has_word(group->parent, "cgroup.subtree_control", "cpuset"))
		return code;
	struct alteration on = {
		.kind = ALTERATION_FILE, .text = "+cpuset", .text_before = "-cpuset"
	};
	int n = snprintf(on.path, sizeof on.path, "%s/cgroup.subtree_control", group->parent);
	code = n < (int)sizeof on.path ? undo_make(undo, &on) : -ENAMETOOLONG;
	return code < 0 ? code : 0;
}

static int make_group(struct cpuset_group *group, pid_t pid, struct undo *undo, struct err *err)
{
	struct alteration alteration;
	int n = snprintf(
		group->path, sizeof group->path, "%s/corecast-%d", group->parent, (int)pid);
	int code = n < (int)sizeof group->path ? alteration_of_group(group->path, &alteration)
					       : -ENAMETOOLONG;
	if (code == 0)
		code = undo_make(undo, &alteration);
	if (code >= 0)
		code = group->is_v2 ? switch_on(group, undo) : copy_memory(group);
	return code >= 0 ? 0
			 : err_set(err, code, "cannot make a control group in '%s': %s",
				   group->parent, strerror(-code));
}

static int move(const struct cpuset_group *group, pid_t pid, struct err *err)
{
	char folder[ALTERATION_PATH_BYTES], number[16];
	bool is_v2;
	if (find_folder(group->root, pid, folder, &is_v2) < 0 || strcmp(folder, group->path) == 0)
		return 0; /* gone, or there already */
	if (strcmp(folder, group->parent) != 0)
		return err_set(err, -EBUSY,
			"the program's process %d is in a control group of its own, '%s': --set "
			"affinity",
			(int)pid, folder);
	(void)snprintf(number, sizeof number, "%d", (int)pid); /* fits */
	int code = write_in(group->path, "cgroup.procs", number);
	return code == 0 || code == -ESRCH
		       ? 0
		       : err_set(err, code, "cannot move process %d into '%s': %s", (int)pid,
				 group->path, strerror(-code));
}

int cpuset_group_enter(struct cpuset_group *group, pid_t pid, const unsigned *processors,
	size_t count, struct undo *undo, struct err *err)
{
	int code = make_group(group, pid, undo, err);
	if (code == 0)
		code = cpuset_group_set(group, processors, count, err);
	if (code == 0)
		code = move(group, pid, err);
	if (code < 0)
		return code;
	/* What is started from now on is in it; what was started before is looked for now. */
	AUTO_RELEASE(tree) struct tree tree = { 0 };
	code = tree_read(&tree, pid);
	if (code < 0)
		return err_set(
			err, code, "cannot read the program's processes: %s", strerror(-code));
	for (size_t i = 0; code == 0 && i < tree.count; i++)
		code = move(group, tree.pids[i], err);
	return code;
}
