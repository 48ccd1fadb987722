/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the preload library costs. Every figure is the median over rounds, in each of which the
 * plain and the preloaded program run one after the other, in turn first and second.
 *
 *	overhead [ROUNDS]			ns per uncontended pair of calls
 *	overhead ROUNDS -- PROGRAM ARGS...	seconds of a whole program
 *
 * With CORECAST_BENCH=record the library records a trace; else it adds waits up.
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/order.h"
#include "record/run_clock.h"
#include "collect/sync_stalls.h"
#include "trace/create.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

enum {
	ROUNDS = 11,
	ROUNDS_MAX = 1001,
	PAIRS = 5000000,
	ENVIRONMENT_MAX = 1024,
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;

static void pair_mutex(void)
{
	(void)pthread_mutex_lock(&mutex); /* free: cannot fail, as the others below */
	(void)pthread_mutex_unlock(&mutex);
}

static void pair_read(void)
{
	(void)pthread_rwlock_rdlock(&rwlock);
	(void)pthread_rwlock_unlock(&rwlock);
}

static void pair_spin(void)
{
	(void)pthread_spin_lock(&spin);
	(void)pthread_spin_unlock(&spin);
}

static void pair_sem(void)
{
	(void)sem_post(&sem);
	(void)sem_wait(&sem);
}

static const struct {
	const char *name;
	void (*run)(void);
} pairs[] = {
	{ "mutex", pair_mutex },
	{ "rwlock", pair_read },
	{ "spin", pair_spin },
	{ "sem", pair_sem },
};

static double now_s(clockid_t clock)
{
	struct timespec now;
	(void)clock_gettime(clock, &now); /* cannot fail on Linux */
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The part that is measured, in a process of its own: prints ns of processor time per pair. */
static int run_pairs(const char *name)
{
	(void)pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE); /* cannot fail on Linux */
	(void)sem_init(&sem, 0, 0); /* as above */
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (strcmp(name, pairs[i].name) != 0)
			continue;
		double start_s = now_s(CLOCK_PROCESS_CPUTIME_ID);
		for (int pair = 0; pair < PAIRS; pair++)
			pairs[i].run();
		printf("%.3f\n", (now_s(CLOCK_PROCESS_CPUTIME_ID) - start_s) * 1e9 / PAIRS);
	}
	return 0;
}

/* Of one run. */
struct cost {
	double wall_s;
	double cpu_s; /* of the program and its children */
	double printed; /* the number that it printed first; 0 if none */
};

static double printed_number(int fd)
{
	char rest[1 << 16];
	double number = 0;
	AUTO_FILE FILE *out = fdopen(fd, "r");
	if (!out) {
		close(fd);
		return 0;
	}
	(void)!fscanf(out, "%lf", &number); /* most programs print none */
	while (fread(rest, 1, sizeof(rest), out) > 0)
		continue;
	return number;
}

static int run_once(char *const argv[], const struct sync_env *env, struct cost *ret)
{
	char *environment[ENVIRONMENT_MAX];
	size_t count = 0;
	for (size_t i = 0; env && i < ARRAY_SIZE(env->assignments); i++)
		environment[count++] = env->assignments[i];
	for (char **e = environ; *e && count < ENVIRONMENT_MAX - 1; e++)
		environment[count++] = *e;
	environment[count] = NULL;

	int ends[2];
	posix_spawn_file_actions_t actions;
	if (pipe2(ends, O_CLOEXEC) < 0 || posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	(void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1); /* else nothing is read */
	double start_s = now_s(CLOCK_MONOTONIC);
	pid_t pid = 0;
	int r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environment);
	(void)posix_spawn_file_actions_destroy(&actions); /* frees only */
	close(ends[1]);
	double printed = printed_number(ends[0]);
	int status = -1;
	struct rusage used;
	if (r != 0 || wait4(pid, &status, 0, &used) != pid || status != 0)
		return -1;
	*ret = (struct cost){
		.wall_s = now_s(CLOCK_MONOTONIC) - start_s,
		.cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			 (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6,
		.printed = printed,
	};
	return 0;
}

/* How the library is loaded, and what it writes. */
struct setup {
	struct sync_env env;
	int trace_fd; /* -1: it adds waits up */
};

static void setup_release(struct setup *setup)
{
	sync_env_release(&setup->env);
}

struct comparison {
	struct cost plain, preloaded; /* medians */
};

static struct cost median_cost(const struct cost *costs, size_t count)
{
	double wall[ROUNDS_MAX];
	double cpu[ROUNDS_MAX];
	double printed[ROUNDS_MAX];
	for (size_t i = 0; i < count; i++) {
		wall[i] = costs[i].wall_s;
		cpu[i] = costs[i].cpu_s;
		printed[i] = costs[i].printed;
	}
	return (struct cost){ order_median(wall, count), order_median(cpu, count),
		order_median(printed, count) };
}

/* Empties the trace, so that each run writes it anew. Without a trace nothing is done. */
static int renew_trace(int trace_fd)
{
	if (trace_fd < 0)
		return 0;
	const struct trace_create_opts how = { .sources = TRACE_BY_PRELOAD };
	struct trace_header header;
	trace_header_init(&header, &how);
	run_clock_measure(&header);
	if (ftruncate(trace_fd, 0) < 0)
		return -1;
	return trace_header_write(trace_fd, "trace", &header, NULL);
}

static int compare_runs(
	char *const argv[], const struct setup *setup, size_t rounds, struct comparison *ret)
{
	struct cost costs[2][ROUNDS_MAX] = { 0 };
	for (size_t i = 0; i < 2 * rounds; i++) {
		size_t is_preloaded = (i + i / 2) % 2; /* 0 1, 1 0, 0 1, ... */
		const struct sync_env *env = is_preloaded ? &setup->env : NULL;
		if (renew_trace(setup->trace_fd) < 0 ||
			run_once(argv, env, &costs[is_preloaded][i / 2]) < 0) {
			fprintf(stderr, "overhead: %s failed\n", argv[0]);
			return -1;
		}
	}
	ret->plain = median_cost(costs[0], rounds);
	ret->preloaded = median_cost(costs[1], rounds);
	return 0;
}

static int print_pairs(char *self, const struct setup *setup, size_t rounds)
{
	printf("%-13s %10s %10s %10s   (median of %zu)\n", "ns per pair", "plain", "preloaded",
		"added", rounds);
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		char *argv[] = { self, (char *)"--pairs", (char *)pairs[i].name, NULL };
		struct comparison found;
		if (compare_runs(argv, setup, rounds, &found) < 0)
			return EXIT_FAILURE;
		printf("%-13s %10.1f %10.1f %10.1f\n", pairs[i].name, found.plain.printed,
			found.preloaded.printed, found.preloaded.printed - found.plain.printed);
	}
	return EXIT_SUCCESS;
}

static void print_ratio(const char *name, const char *what, double plain, double preloaded)
{
	printf("%-8s %4s %9.3fs %9.3fs %9.1f%%\n", name, what, plain, preloaded,
		100 * (preloaded / plain - 1));
}

static int print_program(char *const argv[], const struct setup *setup, size_t rounds)
{
	struct comparison found;
	if (compare_runs(argv, setup, rounds, &found) < 0)
		return EXIT_FAILURE;
	print_ratio(argv[0], "wall", found.plain.wall_s, found.preloaded.wall_s);
	print_ratio(argv[0], "cpu", found.plain.cpu_s, found.preloaded.cpu_s);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--pairs") == 0)
		return run_pairs(argv[2]);
	uint32_t rounds = ROUNDS;
	if (argc > 1 &&
		(number_parse_u32(argv[1], &rounds) < 0 || rounds == 0 || rounds > ROUNDS_MAX)) {
		fprintf(stderr, "usage: overhead [ROUNDS [-- PROGRAM ARGS...]]\n");
		return 2;
	}
	char file[] = "/tmp/overhead.XXXXXX";
	AUTO_FD int fd = mkstemp(file);
	if (fd < 0) {
		perror("overhead: cannot make a file in /tmp");
		return EXIT_FAILURE;
	}
	struct err err = { 0 };
	AUTO_RELEASE(setup) struct setup setup = { .trace_fd = -1 };
	bool has_program = argc > 3 && strcmp(argv[2], "--") == 0;
	const char *what = getenv("CORECAST_BENCH");
	bool records = what && strcmp(what, "record") == 0;
	if (records)
		setup.trace_fd = fd;
	int code =
		records ? sync_env_make(
				  PRELOAD_RECORDS, TRACE_PATH_VARIABLE, file, &setup.env, &err)
			: sync_stalls_prepare(has_program ? argv[3] : NULL, file, &setup.env, &err);
	if (code < 0) {
		fprintf(stderr, "overhead: %s\n", err.text);
		return EXIT_FAILURE;
	}
	int status = has_program ? print_program(argv + 3, &setup, rounds)
				 : print_pairs((char *)"/proc/self/exe", &setup, rounds);
	unlink(file);
	return status;
}
