/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stopwatch [-w] FILE PROGRAM ARGS...: runs the program, and writes its wall and processor seconds to FILE.
 * Inside a recording it measures the program alone, not what the recorder does before and after.
 * -w: behind them how fast the cores were meanwhile (machine/core_watch.h), in additions a ns: the mean, and the most.
 */
#include "machine/core_watch.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now_s(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
	AUTO(core_watch) struct core_watch *watch = NULL;
	if (argc > 1 && strcmp(argv[1], "-w") == 0) {
		watch = core_watch_new();
		argv++;
		argc--;
	}
	if (argc < 3) {
		fputs("usage: stopwatch [-w] FILE PROGRAM ARGS...\n", stderr);
		return 2;
	}
	pid_t pid = 0;
	int status = -1;
	struct rusage used;
	double start_s = now_s();
	int r = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ);
	if (r != 0 || wait4(pid, &status, 0, &used) != pid) {
		fprintf(stderr, "stopwatch: cannot run '%s': %s\n", argv[2], strerror(r));
		return 1;
	}
	double wall_s = now_s() - start_s;
	struct core_sharing seen = core_watch_seen(watch);
	FILE *out = fopen(argv[1], "w");
	if (!out ||
		fprintf(out, "%.6f %.6f", wall_s, seconds(used.ru_utime) + seconds(used.ru_stime)) <
			0 ||
		(watch && fprintf(out, " %.3f %.3f", seen.width * seen.hz * 1e-9,
				  seen.most_width * seen.most_hz * 1e-9) < 0) ||
		fputc('\n', out) == EOF || fclose(out) != 0) {
		fprintf(stderr, "stopwatch: cannot write '%s'\n", argv[1]);
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
