/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What this machine is: its processor, how its cores are arranged, and how much of it this process
 * may use. A value that the machine does not tell (a virtual machine, a container without /sys) is
 * 0 or "": never a guess.
 */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "base/err.h"
#include "machine/cpu_limits.h"

#include <stdbool.h>
#include <stdint.h>

/* Which processor, in the words that event sets match: /proc/cpuinfo's. */
struct machine_cpu {
	char vendor[32]; /* x86: "GenuineIntel", "AuthenticAMD"; Arm: "Arm" or "0x" and hex digits
			    of another implementer */
	char name[96]; /* the processor's own name, or a known one for an Arm part */
	uint32_t family, model, stepping; /* x86; 0 on Arm */
	uint32_t part; /* Arm: the part number of MIDR (0xd0c is Neoverse N1); 0 on x86 */
	double max_hz; /* the highest clock of cpufreq; else the clock in /proc/cpuinfo */
	bool has_cpufreq; /* max_hz is cpufreq's */
	bool is_virtual; /* runs under a hypervisor (x86: the hypervisor flag) */
};

/* How the processor is arranged: the machine's own, not only the part that this process may use. */
struct machine_topology {
	uint32_t sockets, numa_nodes, cores;
	uint32_t threads; /* hardware threads; above `cores` there is SMT */
	uint64_t l1i_bytes, l1d_bytes, l2_bytes,
		l3_bytes; /* one cache of each; 0: none, or not told */
	uint32_t l2_cores, l3_cores; /* cores that share one such cache */
};

struct machine {
	struct machine_cpu cpu;
	struct machine_topology topology;
	struct cpu_limits limits;
	uint32_t usable; /* cpu_limits_usable(): what "all cores" means here */
};

/*
 * Everything, below the folder `root` ("" for the machine itself; a recorded tree in tests). The
 * topology is hwloc's and always the running machine's, unless the environment variable
 * HWLOC_FSROOT or HWLOC_XMLFILE says otherwise.
 * 0, or -ENOMEM, -EIO (hwloc cannot describe this machine): *ret is then untouched.
 */
int machine_read(const char *root, struct machine *ret, struct err *err);

/*
 * Whether cores show more than one hardware thread. Where they do, a program's own threads may share a core, and a
 * thread that finds its core narrow does not tell of a neighbour (core_watch.h). False where the topology is not told.
 */
bool machine_shows_smt(const struct machine_topology *topology);

/* Parts of machine_read(), for tests. */
void machine_cpu_read(const char *root, struct machine_cpu *ret);

struct hwloc_topology;
void machine_topology_read(struct hwloc_topology *topology, struct machine_topology *ret);

#endif
