/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/actuator.h"

#include "base/strbuf.h"
#include "steer/cpuset_group.h"
#include "machine/pin.h"
#include "collect/tree.h"
#include "steer/tune_share.h"
#include "steer/undo.h"
#include "preload/tune_page.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>

static const char COMMAND[] = "command:", COUNT[] = "{n}";

struct actuator {
	struct tune_share *share; /* of openmp and pool; else NULL */
	struct pin *pin; /* of affinity and cpuset; else NULL */
	bool is_cpuset;
	struct cpuset_group group; /* of cpuset */
	struct undo *undo; /* once begun */
	char *command; /* else NULL */
};

bool actuator_needs_page(const char *spec)
{
	return strcmp(spec, "openmp") == 0 || strcmp(spec, "pool") == 0;
}

void actuator_free(struct actuator *actuator)
{
	if (!actuator)
		return;
	undo_close(actuator->undo);
	pin_free(actuator->pin);
	free(actuator->command);
	free(actuator);
}

int actuator_new(const char *spec, pid_t pid, struct tune_share *share, struct actuator **ret,
	struct err *err)
{
	AUTO(actuator) struct actuator *actuator = calloc(1, sizeof *actuator);
	if (!actuator)
		return err_set(err, -ENOMEM, "out of memory");
	if (actuator_needs_page(spec)) {
		actuator->share = share;
	} else if (strcmp(spec, "affinity") == 0 || strcmp(spec, "cpuset") == 0) {
		int code = pin_new_of(pid, &actuator->pin, err);
		actuator->is_cpuset = strcmp(spec, "cpuset") == 0;
		if (code == 0 && actuator->is_cpuset)
			code = cpuset_group_find(&actuator->group, "", pid, err);
		if (code < 0)
			return code == -ESRCH ? err_set(err, code, "there is no process %d", pid)
					      : code;
	} else if (strncmp(spec, COMMAND, strlen(COMMAND)) == 0) {
		if (!strstr(spec, COUNT))
			return err_set(err, -EINVAL, "'%s' has no {n} for the thread count", spec);
		actuator->command = strdup(spec + strlen(COMMAND));
		if (!actuator->command)
			return err_set(err, -ENOMEM, "out of memory");
	} else {
		return err_set(err, -EINVAL,
			"no actuator '%s': openmp, pool, affinity, cpuset, command:COMMAND {n}",
			spec);
	}
	*ret = TAKE(actuator);
	return 0;
}

uint32_t actuator_max(const struct actuator *actuator)
{
	return actuator->pin ? (uint32_t)actuator->pin->processor_count : 0;
}

/* Writes the cores of a process down, or of a thread that has cores of its own. */
static int note(struct actuator *actuator, const struct alteration *alteration, struct err *err)
{
	int code = undo_make(actuator->undo, alteration);
	if (code >= 0)
		return 0;
	return err_set(err, code, "cannot write down what process %d has: %s", alteration->pid,
		code == -ENOSPC ? "it has too many processes and threads with cores of their own"
				: strerror(-code));
}

/* Threads that the program has bound itself. */
static int note_threads(
	struct actuator *actuator, const struct alteration *process, struct err *err)
{
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/task", process->pid); /* fits */
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int code = 0;
	while (code == 0 && folder && (entry = readdir(folder))) {
		struct alteration thread;
		pid_t tid = (pid_t)atoi(entry->d_name);
		if (tid > 0 && alteration_of_cores(process->pid, tid, &thread) == 0 &&
			memcmp(thread.mask_before, process->mask_before,
				sizeof thread.mask_before) != 0)
			code = note(actuator, &thread, err);
	}
	if (folder)
		(void)closedir(folder); /* read only */
	return code;
}

static int note_process(struct actuator *actuator, pid_t pid, bool is_root, struct err *err)
{
	struct alteration process;
	if (alteration_of_cores(pid, 0, &process) < 0)
		return 0; /* gone */
	process.is_of_tree = is_root;
	int code = note_threads(actuator, &process, err);
	return code < 0 ? code : note(actuator, &process, err);
}

/*
 * Reverted is what was written last first: the program and all that it will have started, then the processes
 * that are there now and had cores of their own, each before its threads.
 */
static int note_all(struct actuator *actuator, pid_t pid, struct err *err)
{
	AUTO_RELEASE(tree) struct tree tree = { 0 };
	int code = tree_read(&tree, pid);
	if (code < 0)
		return err_set(
			err, code, "cannot read the program's processes: %s", strerror(-code));
	for (size_t i = tree.count; code == 0 && i-- > 0;)
		code = note_process(actuator, tree.pids[i], false, err);
	return code < 0 ? code : note_process(actuator, pid, true, err);
}

/* Before Linux 6.2 a cpuset that changes also takes from threads the cores that they had chosen themselves. */
static int begin_cores(struct actuator *actuator, pid_t pid, struct err *err)
{
	int code = note_all(actuator, pid, err);
	if (code < 0 || !actuator->is_cpuset)
		return code;
	code = cpuset_group_find(&actuator->group, "", pid, err);
	return code < 0 ? code
			: cpuset_group_enter(&actuator->group, pid, actuator->pin->processors,
				  actuator->pin->processor_count, actuator->undo, err);
}

int actuator_begin(struct actuator *actuator, pid_t pid, struct err *err)
{
	struct alteration page;
	if (!actuator->pin && !actuator->share)
		return 0;
	int code = undo_open(NULL, pid, &actuator->undo, err);
	if (code < 0 || actuator->pin)
		return code < 0 ? code : begin_cores(actuator, pid, err);
	code = alteration_of_page(tune_share_path(actuator->share), &page);
	return code < 0 ? err_set(err, code, "the folder of TMPDIR has too long a name")
			: note(actuator, &page, err);
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static int set_cores(const struct pin *pin, pid_t pid, uint32_t threads, struct err *err)
{
	int code = pin_process(pin, pid, threads, err);
	if (code == -EPERM)
		return err_set(err, code,
			"not allowed to set the cores of process %d: as its owner, or as root",
			pid);
	return code;
}

static int set_affinity(const struct pin *pin, pid_t pid, uint32_t threads, struct err *err)
{
	AUTO_RELEASE(tree) struct tree tree = { 0 };
	int code = tree_read(&tree, pid);
	if (code < 0)
		return err_set(
			err, code, "cannot read the program's processes: %s", strerror(-code));
	code = set_cores(pin, pid, threads, err);
	for (size_t i = 0; code == 0 && i < tree.count; i++) {
		code = set_cores(pin, tree.pids[i], threads, err);
		if (code < 0 && is_gone(tree.pids[i]))
			code = 0;
	}
	return is_gone(pid) ? 0 : code;
}

static int set_cpuset(const struct actuator *actuator, pid_t pid, uint32_t threads, struct err *err)
{
	const struct pin *pin = actuator->pin;
	size_t count = threads < pin->processor_count ? threads : pin->processor_count;
	int code = cpuset_group_set(&actuator->group, pin->processors, count, err);
	return is_gone(pid) ? 0 : code;
}

static int run_command(const char *command, uint32_t threads, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf line = { 0 };
	const char *rest = command;
	for (const char *at; (at = strstr(rest, COUNT)); rest = at + strlen(COUNT)) {
		strbuf_add_bytes(&line, rest, (size_t)(at - rest));
		strbuf_addf(&line, "%u", threads);
	}
	strbuf_add(&line, rest);
	if (strbuf_failed(&line) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	FILE *out = popen(line.text, "we");
	int status = out ? pclose(out) : -1;
	if (status != 0)
		return err_set(err, -EIO, "'%s' failed", line.text);
	return 0;
}

static void set_page(struct tune_page *page, uint32_t threads)
{
	__atomic_store_n(&page->threads, threads, __ATOMIC_RELAXED);
	(void)syscall(SYS_futex, &page->threads, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); /* or later */
}

int actuator_set(struct actuator *actuator, pid_t pid, uint32_t threads, struct err *err)
{
	if (actuator->share)
		set_page(tune_share_page(actuator->share), threads);
	if (actuator->is_cpuset)
		return set_cpuset(actuator, pid, threads, err);
	if (actuator->pin)
		return set_affinity(actuator->pin, pid, threads, err);
	return actuator->command ? run_command(actuator->command, threads, err) : 0;
}

bool actuator_restores(const struct actuator *actuator)
{
	return !actuator->command;
}

void actuator_restore(struct actuator *actuator)
{
	undo_close(actuator->undo);
	actuator->undo = NULL;
}
