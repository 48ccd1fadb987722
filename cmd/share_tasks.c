/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "share_tasks.h"

#include "machine/cpu_limits.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 1024 };
static const size_t SHARED_BYTES_MAX = (size_t)8 << 30;

/* At the begin of the shared memory, on lines of its own. */
struct head {
	_Alignas(64) atomic_size_t next, done;
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

int share_tasks_prepare(struct share_tasks *tasks, struct err *err)
{
	size_t bytes;
	if (__builtin_add_overflow(tasks->bytes, sizeof(struct head), &bytes) ||
		bytes > SHARED_BYTES_MAX)
		return err_set(err, -E2BIG, "the results of %zu %s do not fit in %zu GiB",
			tasks->count, tasks->noun, SHARED_BYTES_MAX >> 30);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return err_set(err, -errno, "no memory for the results: %s", strerror(errno));
	tasks->mapped = memory;
	tasks->mapped_bytes = bytes;
	tasks->memory = (struct head *)memory + 1;
	return 0;
}

void share_tasks_release(struct share_tasks *tasks)
{
	if (tasks->mapped)
		(void)munmap(tasks->mapped, tasks->mapped_bytes); /* it was mapped by us */
	tasks->mapped = NULL;
}

static void work(const struct share_tasks *tasks)
{
	struct head *head = tasks->mapped;
	size_t number;
	while ((number = atomic_fetch_add(&head->next, 1)) < tasks->count) {
		tasks->play(tasks->context, number);
		atomic_fetch_add(&head->done, 1);
	}
}

static void show_progress(const struct share_tasks *tasks)
{
	struct head *head = tasks->mapped;
	size_t done = atomic_load(&head->done);
	if (tasks->shows_progress)
		fprintf(stderr, "\r%s %zu of %zu %s (%zu%%) ", tasks->verb, done, tasks->count,
			tasks->noun, 100 * done / tasks->count);
}

static void clear_progress(const struct share_tasks *tasks)
{
	if (tasks->shows_progress)
		fprintf(stderr, "\r%*s\r", 70, "");
}

/* Waits for all children; those that are left after an interruption are ended. -ECHILD: one crashed. */
static int wait_for(const struct share_tasks *tasks, pid_t *children, uint32_t count)
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

static int fork_all(struct share_tasks *tasks, uint32_t jobs, struct err *err)
{
	pid_t children[JOBS_MAX];
	uint32_t count = 0;
	pid_t parent = getpid();
	(void)fflush(NULL); /* or children would write what is buffered again */
	for (; count < jobs && !is_interrupted; count++) {
		children[count] = fork();
		if (children[count] < 0)
			break;
		if (children[count] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
			if (getppid() != parent)
				_exit(1);
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
			"a process that worked for this one was killed (out of memory?); try fewer "
			"--jobs");
	return 0;
}

static uint32_t choose_jobs(const struct share_tasks *tasks)
{
	struct cpu_limits limits = { 0 };
	uint32_t jobs = tasks->jobs;
	if (jobs == 0) {
		cpu_limits_read("", &limits);
		jobs = cpu_limits_usable(&limits);
	}
	jobs = jobs < JOBS_MAX ? jobs : JOBS_MAX;
	return jobs < tasks->count ? jobs : (uint32_t)tasks->count;
}

int share_tasks_run(struct share_tasks *tasks, struct err *err)
{
	if (mpi_is_used() && !tasks->is_local)
		return mpi_share(tasks, err);
	struct sigaction on_interrupt = { .sa_handler = interrupt }, saved_int, saved_term;
	(void)sigaction(SIGINT, &on_interrupt, &saved_int); /* these arguments are valid */
	(void)sigaction(SIGTERM, &on_interrupt, &saved_term);
	int code = fork_all(tasks, choose_jobs(tasks), err);
	(void)sigaction(SIGINT, &saved_int, NULL);
	(void)sigaction(SIGTERM, &saved_term, NULL);
	tasks->was_interrupted = is_interrupted;
	return code;
}
