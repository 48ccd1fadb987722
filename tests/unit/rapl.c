/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters of energy, in a folder as a machine with two packages has them. */
#include "cmocka_all.h"

#include "machine/rapl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[32];

static void put(unsigned domain, const char *name, const char *text)
{
	char path[128];
	(void)snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:%u", root, domain);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(path, 0755);
		*slash = '/';
	}
	(void)mkdir(path, 0755);
	strcat(path, "/");
	strcat(path, name);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file, "%s\n", text);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof root, "/tmp/rapl-XXXXXX");
	assert_non_null(mkdtemp(root));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	char command[64];
	(void)snprintf(command, sizeof command, "rm -r %s", root);
	return system(command);
}

static void packages_add_up_and_wrap(void **state)
{
	(void)state;
	static const char *const names[] = { "package-0", "psys", "package-1" };
	for (unsigned i = 0; i < 3; i++) {
		put(i, "name", names[i]);
		put(i, "max_energy_range_uj", "262143328850");
		put(i, "energy_uj", "1000000");
	}
	put(2, "energy_uj", "262143000000");
	struct err err;
	AUTO(rapl) struct rapl *rapl = NULL;
	assert_int_equal(rapl_new(root, &rapl, &err), 0);
	assert_int_equal(rapl_packages(rapl), 2);
	double joules;
	assert_int_equal(rapl_read(rapl, &joules), 0);
	assert_true(joules == 0);
	put(0, "energy_uj", "3500000");
	put(1, "energy_uj", "9000000"); /* has the packages in it: not counted twice */
	put(2, "energy_uj", "671150");
	assert_int_equal(rapl_read(rapl, &joules), 0);
	assert_true(fabs(joules - 3.5) < 1e-9);
	assert_int_equal(rapl_read(rapl, &joules), 0);
	assert_true(fabs(joules - 3.5) < 1e-9);
}

static void a_machine_without_says_so(void **state)
{
	(void)state;
	struct err err;
	struct rapl *rapl = NULL;
	assert_int_equal(rapl_new(root, &rapl, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "no energy counters"));
	put(0, "name", "psys");
	put(0, "energy_uj", "1");
	assert_int_equal(rapl_new(root, &rapl, &err), -EOPNOTSUPP);
}

static void who_may_not_read_them_is_told_the_command(void **state)
{
	(void)state;
	struct err err;
	struct rapl *rapl = NULL;
	if (geteuid() == 0)
		skip(); /* root reads everything */
	put(0, "name", "package-0");
	put(0, "energy_uj", "1");
	char path[128];
	(void)snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:0/energy_uj", root);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(rapl_new(root, &rapl, &err), -EACCES);
	assert_non_null(strstr(err.text, "chmod a+r"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(packages_add_up_and_wrap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_machine_without_says_so, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			who_may_not_read_them_is_told_the_command, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
