/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which processors a run with n threads may use: first one hardware thread of each core of the
 * first socket (the fast cores before the slow ones where they differ), then of the next sockets,
 * and second hardware threads of cores only when all cores are taken. The program is bound to the
 * set of the first n as a whole; which of its threads runs where stays the kernel's affair.
 */
#ifndef MACHINE_PIN_H
#define MACHINE_PIN_H

#include "base/cleanup.h"
#include "base/err.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pin {
	hwloc_topology_t topology;
	unsigned *processors; /* operating system numbers, in the order of use */
	size_t processor_count;
};

/*
 * Reads the topology and this process's affinity mask. 0, -EIO (no topology here), -ENOMEM. Free
 * *ret with pin_free().
 */
int pin_new(struct pin **ret, struct err *err);
/* The same within the cores that the threads of a running process may use. */
int pin_new_of(pid_t pid, struct pin **ret, struct err *err);
void pin_free(struct pin *pin);

/* Binds a process to the first `threads` processors, to all when there are fewer. */
int pin_process(const struct pin *pin, pid_t pid, uint32_t threads, struct err *err);

/* Binds the calling thread to one processor, by the operating system's number; false: it may not use that. */
bool pin_self(int cpu);

/* The processors of a topology within `allowed`, in the order of use. The caller frees *ret. */
int pin_order(
	hwloc_topology_t topology, hwloc_const_cpuset_t allowed, unsigned **ret, size_t *ret_count);

CLEANUP_DEFINE(pin, pin_free)

#endif
