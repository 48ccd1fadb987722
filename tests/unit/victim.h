/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process that waits, and a folder of its own under /tmp: for what is changed of others, and taken back. */
#ifndef TESTS_VICTIM_H
#define TESTS_VICTIM_H

#include "cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct victim {
	char folder[32];
	pid_t pid;
};

/* The name ends with XXXXXX. */
static inline void victim_begin(struct victim *victim, const char *name)
{
	(void)snprintf(victim->folder, sizeof victim->folder, "/tmp/%s", name); /* fits */
	assert_non_null(mkdtemp(victim->folder));
	victim->pid = fork();
	if (victim->pid == 0)
		for (;;)
			(void)pause();
	assert_true(victim->pid > 0);
}

/* The folder is the test's to remove. */
static inline void victim_end(struct victim *victim)
{
	(void)kill(victim->pid, SIGKILL);
	(void)waitpid(victim->pid, NULL, 0);
}

#endif
