/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One change to a running program or to the machine, with what was there before. It holds nothing but values,
 * so that it can lie in a file and be reverted by another process than the one that made it (undo.h).
 *
 * A process or thread is its number and the time when it started: numbers are given out again. What somebody
 * else has changed since is left as it is.
 */
#ifndef STEER_ALTERATION_H
#define STEER_ALTERATION_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	ALTERATION_MASK_WORDS = 128, /* 8192 processors, the kernel's most */
	ALTERATION_PATH_BYTES = 256,
	ALTERATION_TEXT_BYTES = 64,
};

enum alteration_kind {
	ALTERATION_NONE,
	ALTERATION_NICE, /* of a thread */
	ALTERATION_CLAMP, /* least utilisation that the kernel assumes of a thread, 0 to 1024 */
	ALTERATION_CORES, /* of a thread, or of all threads of a process; set by the caller */
	ALTERATION_FILE, /* the text of a file of /sys */
	ALTERATION_GROUP, /* a control group that is made; its threads go back to the one above */
	ALTERATION_PAGE, /* the count in a page that a program shares with us (preload/tune_page.h) */
};

struct alteration {
	uint32_t kind;
	int32_t pid, tid; /* tid 0: all threads of the process */
	int32_t value, value_before; /* NICE, CLAMP */
	uint32_t policy; /* NICE, CLAMP: the thread's scheduling policy */
	uint64_t start_ticks; /* when the thread, or the process, started; since boot */
	uint64_t made_ticks; /* at or before the change */
	/* NICE, CLAMP: threads that it starts do not inherit the change; else those that did are found later. */
	bool is_private;
	bool is_of_tree; /* CORES: of all descendants too */
	uint64_t mask_before[ALTERATION_MASK_WORDS];
	char path[ALTERATION_PATH_BYTES];
	char text[ALTERATION_TEXT_BYTES], text_before[ALTERATION_TEXT_BYTES];
};

/*
 * These look at what is there and fill *ret; nothing is changed yet. 0; -ESRCH: the thread, or the process, is
 * gone; -EOPNOTSUPP: a thread whose policy knows no nice value; -EALREADY: nothing would change; -errno.
 */
int alteration_of_nice(pid_t pid, pid_t tid, int value, struct alteration *ret);
int alteration_of_clamp(pid_t pid, pid_t tid, int value, struct alteration *ret);
int alteration_of_cores(pid_t pid, pid_t tid, struct alteration *ret);
int alteration_of_file(const char *path, const char *text, struct alteration *ret);
/* The folder of a control group, which may be left of somebody who was killed. */
int alteration_of_group(const char *path, struct alteration *ret);
/* Reverted: the program chooses again, and the page's file is gone. */
int alteration_of_page(const char *path, struct alteration *ret);

/* Makes it. 0; -ESRCH, -EPERM, -EACCES, -errno: nothing is changed. CORES, PAGE: nothing to do. */
int alteration_make(const struct alteration *alteration);

/* Takes it back, also from those who inherited it. Of who is gone there is nothing to take back. */
void alteration_revert(const struct alteration *alteration);

/* When a thread (tid 0: a process) started, in clock ticks since boot. 0 or -ESRCH. */
int task_start_ticks(pid_t pid, pid_t tid, uint64_t *ret);

#endif
