/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A control group with a cpuset: what is written where, in folders as both versions have them. */
#include "victim.h"

#include "steer/cpuset_group.h"
#include "base/readfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct fixture {
	struct victim victim; /* its folder is the root of the file system */
	char group[64]; /* below the mount point, of the victim's group's child */
};

static const unsigned processors[] = { 2, 3, 7 };

static void put(const struct fixture *f, const char *path, const char *text)
{
	char name[256];
	(void)snprintf(name, sizeof name, "%s%s", f->victim.folder, path);
	for (char *slash = name + strlen(f->victim.folder) + 1; (slash = strchr(slash, '/'));
		slash++) {
		*slash = '\0';
		(void)mkdir(name, 0755);
		*slash = '/';
	}
	FILE *file = fopen(name, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void expect(const struct fixture *f, const char *path, const char *text)
{
	char line[256] = "";
	assert_int_equal(readfile_line(f->victim.folder, path, line, sizeof line), 0);
	assert_string_equal(line, text);
}

static void expect_victim(const struct fixture *f, const char *path)
{
	char text[16];
	(void)snprintf(text, sizeof text, "%d", f->victim.pid);
	expect(f, path, text);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	assert_non_null(f);
	victim_begin(&f->victim, "cpuset-XXXXXX");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[64];
	victim_end(&f->victim);
	(void)snprintf(command, sizeof command, "rm -r %s", f->victim.folder);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

/* A hierarchy at /cg in which the victim is in /app, and the folder that mkdir() would fill. */
static void make_hierarchy(struct fixture *f, const char *controller, const char *mount)
{
	char path[64], line[64];
	(void)snprintf(path, sizeof path, "/proc/%d/cgroup", f->victim.pid);
	(void)snprintf(line, sizeof line, "3:%s:/app\n", controller);
	put(f, path, *controller ? line : "0::/app\n");
	put(f, "/proc/self/mountinfo", mount);
	(void)snprintf(f->group, sizeof f->group, "/cg/app/corecast-%d", f->victim.pid);
}

static void put_in_group(const struct fixture *f, const char *name, const char *text)
{
	char path[128];
	(void)snprintf(path, sizeof path, "%s/%s", f->group, name);
	put(f, path, text);
}

static void expect_in_group(const struct fixture *f, const char *name, const char *text)
{
	char path[128];
	(void)snprintf(path, sizeof path, "%s/%s", f->group, name);
	expect(f, path, text);
}

static struct undo *open_undo(const struct fixture *f)
{
	char folder[64];
	struct undo *undo = NULL;
	(void)snprintf(folder, sizeof folder, "%s/undo", f->victim.folder);
	assert_int_equal(undo_open(folder, f->victim.pid, &undo, NULL), 0);
	return undo;
}

static void version_1_is_given_memory_and_processors_before_the_program(void **state)
{
	struct fixture *f = *state;
	struct cpuset_group group;
	struct err err;
	char procs[128], number[16];
	make_hierarchy(f, "cpuset", "9 8 0:7 / /cg rw - cgroup cgroup rw,cpuset\n");
	put(f, "/cg/app/cpuset.mems", "0-1\n");
	put(f, "/cg/app/tasks", "");
	put_in_group(f, "cpuset.mems", "");
	put_in_group(f, "cpuset.cpus", "");
	put_in_group(f, "cgroup.procs", "");
	assert_int_equal(cpuset_group_find(&group, f->victim.folder, f->victim.pid, &err), 0);
	assert_false(group.is_v2);
	struct undo *undo = open_undo(f);
	assert_int_equal(cpuset_group_enter(&group, f->victim.pid, processors, 3, undo, &err), 0);
	expect_in_group(f, "cpuset.mems", "0-1");
	expect_in_group(f, "cpuset.cpus", "2,3,7");
	(void)snprintf(procs, sizeof procs, "%s/cgroup.procs", f->group);
	expect_victim(f, procs);
	assert_int_equal(cpuset_group_set(&group, processors, 1, &err), 0);
	expect_in_group(f, "cpuset.cpus", "2");
	/* In the end threads go back to where they were. */
	(void)snprintf(number, sizeof number, "%d\n", f->victim.pid);
	put_in_group(f, "tasks", number);
	undo_close(undo);
	expect_victim(f, "/cg/app/tasks");
}

static void version_2_is_switched_on_and_off(void **state)
{
	struct fixture *f = *state;
	struct cpuset_group group;
	struct err err;
	char number[16];
	make_hierarchy(f, "", "9 8 0:7 / /cg rw - cgroup2 cgroup2 rw\n");
	put(f, "/cg/app/cgroup.controllers", "cpuset cpu memory\n");
	put(f, "/cg/app/cgroup.subtree_control", "\n");
	put(f, "/cg/app/cgroup.threads", "");
	put_in_group(f, "cgroup.type", "domain\n");
	put_in_group(f, "cpuset.cpus", "");
	put_in_group(f, "cgroup.procs", "");
	assert_int_equal(cpuset_group_find(&group, f->victim.folder, f->victim.pid, &err), 0);
	assert_true(group.is_v2);
	struct undo *undo = open_undo(f);
	assert_int_equal(cpuset_group_enter(&group, f->victim.pid, processors, 2, undo, &err), 0);
	expect_in_group(f, "cgroup.type", "threaded");
	expect_in_group(f, "cpuset.cpus", "2,3");
	expect(f, "/cg/app/cgroup.subtree_control", "+cpuset");
	(void)snprintf(number, sizeof number, "%d\n", f->victim.pid);
	put_in_group(f, "cgroup.threads", number);
	undo_close(undo);
	expect(f, "/cg/app/cgroup.subtree_control", "-cpuset");
	expect_victim(f, "/cg/app/cgroup.threads");
}

static void a_process_in_another_group_is_not_torn_out(void **state)
{
	struct fixture *f = *state;
	struct cpuset_group group;
	struct err err;
	char path[64];
	make_hierarchy(f, "cpuset", "9 8 0:7 / /cg rw - cgroup cgroup rw,cpuset\n");
	put(f, "/cg/app/cpuset.mems", "0\n");
	put_in_group(f, "cpuset.mems", "");
	put_in_group(f, "cpuset.cpus", "");
	put_in_group(f, "cgroup.procs", "");
	assert_int_equal(cpuset_group_find(&group, f->victim.folder, f->victim.pid, &err), 0);
	(void)snprintf(path, sizeof path, "/proc/%d/cgroup", f->victim.pid);
	put(f, path, "3:cpuset:/app/worker\n");
	struct undo *undo = open_undo(f);
	assert_int_equal(
		cpuset_group_enter(&group, f->victim.pid, processors, 1, undo, &err), -EBUSY);
	assert_non_null(strstr(err.text, "/cg/app/worker"));
	undo_close(undo);
}

static void a_group_without_a_cpuset_says_what_to_do(void **state)
{
	struct fixture *f = *state;
	struct cpuset_group group;
	struct err err;
	make_hierarchy(f, "", "9 8 0:7 / /cg rw - cgroup2 cgroup2 rw\n");
	put(f, "/cg/app/cgroup.controllers", "cpu memory\n");
	assert_int_equal(
		cpuset_group_find(&group, f->victim.folder, f->victim.pid, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "Delegate=cpuset"));
	make_hierarchy(f, "", "");
	assert_int_equal(
		cpuset_group_find(&group, f->victim.folder, f->victim.pid, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "mounts none"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			version_1_is_given_memory_and_processors_before_the_program, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			version_2_is_switched_on_and_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_process_in_another_group_is_not_torn_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_group_without_a_cpuset_says_what_to_do, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
