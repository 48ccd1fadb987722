/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/actuator.h"

#include "base/strbuf.h"
#include "collect/pin.h"
#include "collect/tree.h"
#include "preload/tune_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <signal.h>

static const char COMMAND[] = "command:", COUNT[] = "{n}";

struct actuator {
	struct tune_page *page; /* of openmp; else NULL */
	struct pin *pin; /* of affinity; else NULL */
	char *command; /* else NULL */
};

bool actuator_needs_page(const char *spec)
{
	return strcmp(spec, "openmp") == 0;
}

void actuator_free(struct actuator *actuator)
{
	if (!actuator)
		return;
	pin_free(actuator->pin);
	free(actuator->command);
	free(actuator);
}

int actuator_new(const char *spec, struct tune_page *page, struct actuator **ret, struct err *err)
{
	AUTO(actuator) struct actuator *actuator = calloc(1, sizeof *actuator);
	if (!actuator)
		return err_set(err, -ENOMEM, "out of memory");
	if (strcmp(spec, "openmp") == 0) {
		actuator->page = page;
	} else if (strcmp(spec, "affinity") == 0) {
		int code = pin_new(&actuator->pin, err);
		if (code < 0)
			return code;
	} else if (strncmp(spec, COMMAND, strlen(COMMAND)) == 0) {
		if (!strstr(spec, COUNT))
			return err_set(err, -EINVAL, "'%s' has no {n} for the thread count", spec);
		actuator->command = strdup(spec + strlen(COMMAND));
		if (!actuator->command)
			return err_set(err, -ENOMEM, "out of memory");
	} else {
		return err_set(err, -EINVAL,
			"no actuator '%s': openmp, affinity, command:COMMAND {n}", spec);
	}
	*ret = TAKE(actuator);
	return 0;
}

uint32_t actuator_max(const struct actuator *actuator)
{
	return actuator->pin ? (uint32_t)actuator->pin->processor_count : 0;
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static int set_affinity(const struct pin *pin, pid_t pid, uint32_t threads, struct err *err)
{
	AUTO_RELEASE(tree) struct tree tree = { 0 };
	int code = tree_read(&tree, pid);
	if (code < 0)
		return err_set(
			err, code, "cannot read the program's processes: %s", strerror(-code));
	code = pin_process(pin, pid, threads, err);
	for (size_t i = 0; code == 0 && i < tree.count; i++) {
		code = pin_process(pin, tree.pids[i], threads, err);
		if (code < 0 && is_gone(tree.pids[i]))
			code = 0;
	}
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

int actuator_set(struct actuator *actuator, pid_t pid, uint32_t threads, struct err *err)
{
	if (actuator->page)
		__atomic_store_n(&actuator->page->threads, threads, __ATOMIC_RELAXED);
	if (actuator->pin)
		return set_affinity(actuator->pin, pid, threads, err);
	return actuator->command ? run_command(actuator->command, threads, err) : 0;
}

void actuator_restore(struct actuator *actuator, pid_t pid)
{
	if (!actuator->command)
		(void)actuator_set(actuator, pid, /* nobody is left to hear of a failure */
			actuator->pin ? actuator_max(actuator) : 0, NULL);
}
