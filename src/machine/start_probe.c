/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/start_probe.h"

#include "base/order.h"
#include "machine/speed_clock.h"

#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
	STARTS = 25,
	PLAIN_LIBRARIES = 2, /* of `true`: the C library and the loader */
	OTHERS = 2, /* objects that are none: the program itself and the kernel's */
	MORE = 4, /* libraries, so that the difference tells */
};

/* From the start to the end, ns; 0: it could not be started, or failed. */
static double run(const char *path, char *const argv[])
{
	pid_t pid;
	int status = -1;
	posix_spawn_file_actions_t actions;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return 0;
	(void)posix_spawn_file_actions_addopen(
		&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0); /* only memory can fail */
	double began_ns = speed_now_ns();
	if (posix_spawnp(&pid, path, &actions, NULL, argv, environ) == 0)
		while (waitpid(pid, &status, 0) < 0)
			continue;
	double ns = speed_now_ns() - began_ns;
	(void)posix_spawn_file_actions_destroy(&actions); /* it was initialised */
	return status == 0 ? ns : 0;
}

/* The middle of the runs; 0: one failed. */
static double middle(double runs_ns[STARTS])
{
	order_doubles(runs_ns, STARTS);
	return runs_ns[0] > 0 ? runs_ns[STARTS / 2] : 0;
}

static int count_object(struct dl_phdr_info *info, size_t size, void *context)
{
	int *count = context;
	(void)info;
	(void)size;
	++*count;
	return 0;
}

struct start_probe start_probe_measure(const char *program)
{
	int objects = 0;
	char *const plain[] = { (char[]){ "true" }, NULL };
	char *const ours[] = { (char[]){ "corecast" }, (char[]){ "--version" }, NULL };
	(void)dl_iterate_phdr(count_object, &objects); /* the last result of that */
	int more = objects - OTHERS - PLAIN_LIBRARIES;
	/* By turns: what else the machine does meets both alike. */
	double plain_runs_ns[STARTS], ours_runs_ns[STARTS];
	for (int i = 0; i < STARTS; i++) {
		plain_runs_ns[i] = run("true", plain);
		ours_runs_ns[i] = more < MORE ? 0 : run(program, ours);
	}
	double plain_ns = middle(plain_runs_ns), ours_ns = middle(ours_runs_ns);
	if (plain_ns == 0)
		return (struct start_probe){ 0 };
	double library_ns = ours_ns > plain_ns ? (ours_ns - plain_ns) / more : 0;
	double exec_ns = plain_ns - PLAIN_LIBRARIES * library_ns;
	return (struct start_probe){ .exec_ns = exec_ns > 0 ? exec_ns : 0,
		.library_ns = library_ns };
}
