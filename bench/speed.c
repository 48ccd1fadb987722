/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speed and memory of forecasting: one run of the command on a curve of 12 points to 64 threads,
 * start-up included, and 1,000 curves of 12 points in one process, for each method.
 */
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/rng.h"
#include "scaling/forecast.h"

#include <fcntl.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POINTS = 12, TARGET = 64, CURVES = 1000, RUNS = 21, SEED = 1 };

extern char **environ;

static double now_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A curve that saturates somewhere, with one per cent of noise. */
static void draw(struct rng *rng, struct curve_point points[POINTS])
{
	double contention = 0.1 * rng_uniform(rng), crosstalk = 0.002 * rng_uniform(rng);
	for (uint32_t n = 1; n <= POINTS; n++) {
		double time = (1 + contention * (n - 1) + crosstalk * n * (n - 1)) / n;
		points[n - 1] = (struct curve_point){ .threads = n,
			.repeats = 1,
			.value = time * (1 + 0.01 * rng_normal(rng)),
			.spread = NAN,
			.rss_bytes = NAN };
	}
}

static int run_once(const char *command, const char *file, double *ret_wall_s, long *ret_rss_kib)
{
	char *arguments[] = { (char *)(uintptr_t)command, (char[]){ "forecast" },
		(char *)(uintptr_t)file, (char[]){ "--to" }, (char[]){ "64" }, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;
	struct rusage usage;
	(void)posix_spawn_file_actions_init(&actions); /* fails without memory only */
	(void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	double start = now_s();
	int code = posix_spawn(&pid, command, &actions, NULL, arguments, environ);
	(void)posix_spawn_file_actions_destroy(&actions); /* cannot fail */
	if (code != 0 || wait4(pid, &status, 0, &usage) < 0 || status != 0)
		return -1;
	*ret_wall_s = now_s() - start;
	*ret_rss_kib = usage.ru_maxrss;
	return 0;
}

static int time_command(const char *command)
{
	char path[] = "/tmp/corecast-speed-XXXXXX";
	int fd = mkstemp(path);
	AUTO_FILE FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	struct curve_point points[POINTS];
	struct rng rng;
	double walls[RUNS];
	long rss_kib = 0;
	if (!file)
		return -1;
	rng_init(&rng, SEED);
	draw(&rng, points);
	fputs("threads,time\n", file);
	for (int i = 0; i < POINTS; i++)
		fprintf(file, "%u,%.9g\n", points[i].threads, points[i].value);
	int code = fflush(file);
	for (int i = 0; i < RUNS && code == 0; i++)
		code = run_once(command, path, &walls[i], &rss_kib);
	(void)unlink(path); /* a temporary file */
	if (code != 0)
		return -1;
	gsl_sort(walls, 1, RUNS);
	printf("one command, auto: median %.1f ms, worst %.1f ms of %d; peak memory %.1f MB\n",
		1e3 * gsl_stats_median_from_sorted_data(walls, 1, RUNS), 1e3 * walls[RUNS - 1],
		RUNS, (double)rss_kib / 1024);
	return 0;
}

static void time_method(const struct forecast_method *method)
{
	struct rng rng;
	rng_init(&rng, SEED);
	int refused = 0;
	double start = now_s();
	for (int i = 0; i < CURVES; i++) {
		struct curve_point points[POINTS];
		draw(&rng, points);
		struct curve curve = {
			.metric = METRIC_TIME, .points = points, .point_count = POINTS
		};
		struct forecast_opts opts = { .target = TARGET };
		AUTO(forecast) struct forecast *f = NULL;
		refused += forecast_run(&curve, method, &opts, &f, NULL) < 0;
	}
	printf("%d curves, %-7s %8.3f s, %d refused\n", CURVES, method->name, now_s() - start,
		refused);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("Usage: speed CORECAST\n", stderr);
		return 2;
	}
	if (time_command(argv[1]) < 0) {
		fprintf(stderr, "speed: '%s forecast' does not run\n", argv[1]);
		return 1;
	}
	for (const struct forecast_method *const *m = forecast_methods; *m; m++)
		if (!(*m)->needs_stalls)
			time_method(*m);
	return 0;
}
