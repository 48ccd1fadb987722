/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's farewell for every thread that ends (taskstats, a generic netlink family): how long
 * it waited for a core in its whole life. This is the only source that misses no thread, however
 * short its life, and it costs the measured program nothing: messages queue in a socket buffer that
 * is emptied a few times a second. It needs CAP_NET_ADMIN in the first namespaces and Linux 5.18.
 */
#ifndef COLLECT_TASKSTATS_H
#define COLLECT_TASKSTATS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One thread that has ended, on the whole machine. */
struct taskstats_task {
	pid_t process; /* thread group */
	pid_t parent; /* of the process, when the thread ended */
	uint64_t wait_ns; /* for a core */
	uint64_t rss_bytes; /* peak of the process; 0: not told */
};

struct taskstats_sum {
	double wait_s; /* of all threads */
	double rss_bytes; /* of the largest process; NAN: not told */
};

struct taskstats_socket {
	int fd;
	struct taskstats_task *tasks;
	size_t task_count, task_capacity;
	bool has_lost; /* messages were lost since taskstats_clear(): no sum is true */
};

/* 0, or a negative errno: -EPERM without privilege, -ENOENT without the family. Release always. */
int taskstats_open(struct taskstats_socket *socket, struct err *err);
void taskstats_release(struct taskstats_socket *socket);

/* Reads what has arrived, without waiting. */
void taskstats_drain(struct taskstats_socket *socket);

/* Forgets all tasks, also those not yet read. */
void taskstats_clear(struct taskstats_socket *socket);

/*
 * Over the threads of `root` and of all its descendants, among the tasks seen. `adopter`: the
 * subreaper to which orphans of the tree fall. Sorts the tasks. 0; -ENODATA, and *ret untouched, if
 * messages were lost or none was of the tree.
 */
int taskstats_sum_tree(
	struct taskstats_socket *socket, pid_t root, pid_t adopter, struct taskstats_sum *ret);

/* Adds the tasks of one netlink message of `size` bytes; what is not understood is skipped. */
void taskstats_parse(struct taskstats_socket *socket, const void *message, size_t size);

#endif
