/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/favour.h"

#include "base/readfile.h"
#include "machine/capability.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NICE_LOWEST = -20, NICE_STEPS = 40, CLAMP_FULL = 1024 };

/* What RLIMIT_NICE allows without privilege, as 20 - nice; 0: nothing. */
static int nice_limit(const char *root)
{
	AUTO_FILE FILE *file = readfile_open(root, "/proc/self/limits");
	char line[256];
	int limit = 0;
	while (file && fgets(line, sizeof line, file))
		if (strncmp(line, "Max nice priority", 17) == 0)
			limit = strstr(line + 17, "unlimited") ? NICE_STEPS : atoi(line + 17);
	return limit;
}

int favour_nice_lowest(const char *root)
{
	if (capability_has(root, CAP_SYS_NICE))
		return NICE_LOWEST;
	int lowest = 20 - nice_limit(root);
	return lowest < NICE_LOWEST ? NICE_LOWEST : lowest;
}

static int check_nice(const char *root, char reason[FAVOUR_REASON_BYTES])
{
	if (favour_nice_lowest(root) < 0)
		return 0;
	(void)snprintf(reason, FAVOUR_REASON_BYTES,
		"for root only (or CAP_SYS_NICE, or RLIMIT_NICE of %d: ulimit -e %d)", NICE_STEPS,
		NICE_STEPS);
	return -EPERM;
}

static int nice_alteration(
	const struct favour_opts *opts, pid_t pid, pid_t tid, struct alteration *ret)
{
	int lowest = opts->nice_lowest ? opts->nice_lowest : NICE_LOWEST;
	int code = alteration_of_nice(pid, tid, NICE_LOWEST, ret);
	if (code < 0)
		return code;
	int before = ret->value_before, value = before - opts->nice_steps;
	value = value < lowest ? lowest : value;
	return alteration_of_nice(pid, tid, value < before ? value : before, ret);
}

static int check_frequency(const char *root, char reason[FAVOUR_REASON_BYTES])
{
	char text[ALTERATION_TEXT_BYTES];
	static const char file[] = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq";
	int code = readfile_line(root, file, text, sizeof text);
	if (code < 0) {
		(void)snprintf(reason, FAVOUR_REASON_BYTES, "this kernel or guest has no cpufreq");
		return -EOPNOTSUPP;
	}
	char path[4096];
	(void)snprintf(path, sizeof path, "%s%s", root, file); /* cut: not writable */
	if (access(path, W_OK) == 0)
		return 0;
	(void)snprintf(reason, FAVOUR_REASON_BYTES, "cpufreq can be set by root only");
	return -EPERM;
}

/* Field 39 of proc(5): the processor that it was on last. */
static int processor_of(const char *root, pid_t pid, pid_t tid)
{
	char path[64], line[1024];
	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid); /* fits */
	if (readfile_line(root, path, line, sizeof line) < 0)
		return -ESRCH;
	char *rest = strrchr(line, ')');
	const char *word = NULL;
	for (int field = 2; rest && field < 39; field++)
		word = strtok_r(field == 2 ? rest + 1 : NULL, " ", &rest);
	return word ? atoi(word) : -ESRCH;
}

/* The core's clock does not fall below its highest. */
static int frequency_alteration(
	const struct favour_opts *opts, pid_t pid, pid_t tid, struct alteration *ret)
{
	char file[ALTERATION_PATH_BYTES], highest[ALTERATION_TEXT_BYTES];
	int processor = processor_of(opts->root, pid, tid);
	if (processor < 0)
		return processor;
	(void)snprintf(file, sizeof file, /* fits */
		"/sys/devices/system/cpu/cpu%d/cpufreq/scaling_max_freq", processor);
	int code = readfile_line(opts->root, file, highest, sizeof highest);
	if (code < 0)
		return code;
	int n = snprintf(file, sizeof file,
		"%s/sys/devices/system/cpu/cpu%d/cpufreq/scaling_min_freq", opts->root, processor);
	return n < (int)sizeof file ? alteration_of_file(file, highest, ret) : -ENAMETOOLONG;
}

static int check_clamp(const char *root, char reason[FAVOUR_REASON_BYTES])
{
	double most;
	if (readfile_number(root, "/proc/sys/kernel/sched_util_clamp_min", &most) < 0) {
		(void)snprintf(reason, FAVOUR_REASON_BYTES,
			"this kernel has no utilisation clamp (CONFIG_UCLAMP_TASK)");
		return -EOPNOTSUPP;
	}
	if (capability_has(root, CAP_SYS_NICE))
		return 0;
	(void)snprintf(reason, FAVOUR_REASON_BYTES, "for root only (or CAP_SYS_NICE)");
	return -EPERM;
}

static int clamp_alteration(
	const struct favour_opts *opts, pid_t pid, pid_t tid, struct alteration *ret)
{
	(void)opts;
	return alteration_of_clamp(pid, tid, CLAMP_FULL, ret);
}

static const struct favour_method method_nice = {
	.name = "nice", .check = check_nice, .alteration = nice_alteration, .is_weight = true
};
static const struct favour_method method_frequency = { .name = "frequency",
	.check = check_frequency,
	.alteration = frequency_alteration,
	.follows = true };
static const struct favour_method method_clamp = {
	.name = "clamp", .check = check_clamp, .alteration = clamp_alteration
};

const struct favour_method *const favour_methods[] = { &method_nice, &method_frequency,
	&method_clamp, NULL };

const struct favour_method *favour_method_by_name(const char *name)
{
	for (const struct favour_method *const *m = favour_methods; *m; m++)
		if (strcmp((*m)->name, name) == 0)
			return *m;
	return NULL;
}

static void let_go(struct favour *favour)
{
	if (favour->tid && favour->has_change)
		undo_revert(favour->undo, favour->change);
	favour->tid = 0;
	favour->has_change = false;
}

/* Follows the one that is favoured already: true if nothing is left to do. */
static bool is_there_still(const struct favour *favour, const struct alteration *wanted, int code)
{
	return code == -EALREADY && strcmp(wanted->path, favour->last.path) == 0;
}

int favour_set(struct favour *favour, pid_t pid, pid_t tid, struct err *err)
{
	struct alteration wanted = { 0 };
	bool is_same = tid == favour->tid;
	if (is_same && (tid == 0 || !favour->method->follows))
		return 0;
	if (!is_same)
		let_go(favour);
	if (tid == 0)
		return 0;
	int code = favour->method->alteration(&favour->opts, pid, tid, &wanted);
	if (is_same && is_there_still(favour, &wanted, code))
		return 0;
	let_go(favour);
	bool is_needed = code == 0;
	if (is_needed)
		code = undo_make(favour->undo, &wanted);
	if (code == -ESRCH || code == -EOPNOTSUPP)
		return 0;
	if (code < 0 && code != -EALREADY)
		return err_set(err, code, "cannot make thread %d faster by %s: %s", tid,
			favour->method->name, strerror(-code));
	favour->last = wanted;
	favour->tid = tid;
	favour->has_change = is_needed;
	favour->change = is_needed ? code : 0;
	return 0;
}
