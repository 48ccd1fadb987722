/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "simulate_tasks.h"

#include "base/cleanup.h"
#include "collect/cpu_limits.h"
#include "model/sample.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 1024 };
static const size_t SHARED_BYTES_MAX = (size_t)8 << 30;

/* At the begin of the shared memory; the runs and the rows follow. */
struct head {
	atomic_size_t next, done;
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

size_t tasks_count(const struct tasks *tasks)
{
	return grid_size(tasks->grid) * tasks->replications;
}

void tasks_play(const struct tasks *tasks, size_t number)
{
	struct simulated_run *run = &tasks->results.runs[number];
	AUTO_FREE double *parameters =
		calloc(tasks->model->parameter_count + 1, sizeof *parameters);
	struct err err = { "out of memory" };
	int code = -ENOMEM;
	if (parameters) {
		grid_setting(tasks->grid, tasks->model, number / tasks->replications, parameters);
		const struct sample_options options = {
			.model = tasks->model,
			.parameters = parameters,
			.seed = tasks->seed + number % tasks->replications,
			.requests = tasks->requests,
			.duration_s = tasks->duration_s,
		};
		code = sample_run(
			&options, tasks->results.rows + number * sample_size(tasks->model), &err);
	}
	if (code < 0)
		snprintf(run->text, sizeof run->text, "%.*s", (int)sizeof run->text - 1, err.text);
	run->code = code;
}

/* The shared memory: all runs not done yet. Pages that nobody writes cost nothing. */
static int share(struct tasks *tasks, struct err *err)
{
	size_t count = tasks_count(tasks), rows, bytes;
	if (__builtin_mul_overflow(count, sample_size(tasks->model) * sizeof(double), &rows) ||
		__builtin_add_overflow(
			rows, sizeof(struct head) + count * sizeof(struct simulated_run), &bytes) ||
		bytes > SHARED_BYTES_MAX)
		return err_set(err, -E2BIG, "the results of %zu replications do not fit in %zu GiB",
			count, SHARED_BYTES_MAX >> 30);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return err_set(err, -errno, "no memory for the results: %s", strerror(errno));
	tasks->shared = memory;
	tasks->shared_bytes = bytes;
	tasks->results.replications = tasks->replications;
	tasks->results.rows = (double *)(void *)((struct head *)memory + 1);
	tasks->results.runs = (struct simulated_run *)(void *)((char *)tasks->results.rows + rows);
	for (size_t i = 0; i < count; i++)
		tasks->results.runs[i].code = -EINTR;
	return 0;
}

void tasks_release(struct tasks *tasks)
{
	if (tasks->shared)
		(void)munmap(tasks->shared, tasks->shared_bytes); /* it was mapped by us */
	tasks->shared = NULL;
}

static void work(const struct tasks *tasks)
{
	struct head *head = tasks->shared;
	size_t count = tasks_count(tasks), number;
	while ((number = atomic_fetch_add(&head->next, 1)) < count) {
		tasks_play(tasks, number);
		atomic_fetch_add(&head->done, 1);
	}
}

static void show_progress(const struct tasks *tasks)
{
	struct head *head = tasks->shared;
	size_t done = atomic_load(&head->done), count = tasks_count(tasks);
	if (tasks->shows_progress)
		fprintf(stderr, "\rsimulated %zu of %zu replications (%zu%%) ", done, count,
			100 * done / count);
}

static void clear_progress(const struct tasks *tasks)
{
	if (tasks->shows_progress)
		fprintf(stderr, "\r%*s\r", 70, "");
}

/* Waits for all children; those that are left after an interruption are ended. -ECHILD: one crashed. */
static int wait_for(const struct tasks *tasks, pid_t *children, uint32_t count)
{
	uint32_t alive = count;
	int code = 0;
	bool is_told = false;
	for (unsigned rounds = 0; alive > 0; rounds++) {
		if (is_interrupted && !is_told) {
			for (uint32_t i = 0; i < count; i++)
				if (children[i] > 0)
					(void)kill(children[i], SIGKILL); /* it may have ended */
			is_told = true;
		}
		for (uint32_t i = 0; i < count; i++) {
			int status;
			if (children[i] <= 0 || waitpid(children[i], &status, WNOHANG) <= 0)
				continue;
			children[i] = 0;
			alive--;
			if (!is_told && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
				code = -ECHILD;
		}
		/* Short runs end at once; long ones are looked at 20 times a second. */
		long sleep_ns = rounds < 50 ? 1000000 : 50000000;
		if (alive > 0)
			(void)nanosleep(&(struct timespec){ .tv_nsec = sleep_ns }, NULL);
		if (rounds % 4 == 3 && rounds > 50)
			show_progress(tasks);
	}
	return code;
}

static int fork_all(struct tasks *tasks, uint32_t jobs, struct err *err)
{
	pid_t children[JOBS_MAX];
	uint32_t count = 0;
	(void)fflush(NULL); /* or children would write what is buffered again */
	for (; count < jobs && !is_interrupted; count++) {
		children[count] = fork();
		if (children[count] < 0)
			break;
		if (children[count] == 0) {
			(void)signal(SIGINT, SIG_IGN); /* the parent decides */
			work(tasks);
			_exit(0);
		}
	}
	int failure = count == 0 && !is_interrupted ? -errno : 0;
	int code = wait_for(tasks, children, count);
	clear_progress(tasks);
	if (failure < 0)
		return err_set(err, failure, "cannot make a process: %s", strerror(-failure));
	if (code < 0)
		return err_set(err, code,
			"a process that simulated was killed (out of memory?); try fewer --jobs");
	return 0;
}

static uint32_t choose_jobs(const struct tasks *tasks)
{
	struct cpu_limits limits = { 0 };
	uint32_t jobs = tasks->jobs;
	if (jobs == 0) {
		cpu_limits_read("", &limits);
		jobs = cpu_limits_usable(&limits);
	}
	size_t count = tasks_count(tasks);
	jobs = jobs < JOBS_MAX ? jobs : JOBS_MAX;
	return jobs < count ? jobs : (uint32_t)count;
}

int tasks_run(struct tasks *tasks, struct err *err)
{
	int code = share(tasks, err);
	if (code < 0)
		return code;
	if (mpi_is_used())
		return mpi_share(tasks, err);
	struct sigaction on_interrupt = { .sa_handler = interrupt }, saved_int, saved_term;
	(void)sigaction(SIGINT, &on_interrupt, &saved_int); /* these arguments are valid */
	(void)sigaction(SIGTERM, &on_interrupt, &saved_term);
	code = fork_all(tasks, choose_jobs(tasks), err);
	(void)sigaction(SIGINT, &saved_int, NULL);
	(void)sigaction(SIGTERM, &saved_term, NULL);
	tasks->was_interrupted = is_interrupted;
	return code;
}
