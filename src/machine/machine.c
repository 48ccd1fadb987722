/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine/machine.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/readfile.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

enum { ARM_IMPLEMENTER = 0x41 };

/* Part numbers of Arm's server cores: their technical reference manuals, register MIDR_EL1. */
static const struct {
	uint32_t part;
	const char *name;
} arm_parts[] = {
	{ 0xd0c, "Arm Neoverse N1" },
	{ 0xd40, "Arm Neoverse V1" },
	{ 0xd49, "Arm Neoverse N2" },
	{ 0xd4f, "Arm Neoverse V2" },
};

static void set_arm_vendor(uint32_t implementer, struct machine_cpu *cpu)
{
	if (implementer == ARM_IMPLEMENTER)
		snprintf(cpu->vendor, sizeof cpu->vendor, "Arm");
	else
		snprintf(cpu->vendor, sizeof cpu->vendor, "%#x", implementer);
}

/* One "key : value" line of /proc/cpuinfo. */
static void take_cpuinfo(const char *key, const char *value, struct machine_cpu *cpu)
{
	if (strcmp(key, "vendor_id") == 0)
		snprintf(cpu->vendor, sizeof cpu->vendor, "%s", value);
	else if (strcmp(key, "model name") == 0)
		snprintf(cpu->name, sizeof cpu->name, "%s", value);
	else if (strcmp(key, "cpu family") == 0)
		(void)number_parse_u32(value, &cpu->family); /* stays 0, as for all below */
	else if (strcmp(key, "model") == 0)
		(void)number_parse_u32(value, &cpu->model);
	else if (strcmp(key, "stepping") == 0)
		(void)number_parse_u32(value, &cpu->stepping);
	else if (strcmp(key, "flags") == 0)
		cpu->is_virtual = strstr(value, " hypervisor") != NULL;
	else if (strcmp(key, "cpu MHz") == 0 && number_parse_double(value, &cpu->max_hz) == 0)
		cpu->max_hz *= 1e6;
	else if (strcmp(key, "CPU implementer") == 0)
		set_arm_vendor((uint32_t)strtoul(value, NULL, 0), cpu);
	else if (strcmp(key, "CPU part") == 0)
		cpu->part = (uint32_t)strtoul(value, NULL, 0);
}

/* The first processor of /proc/cpuinfo stands for all. */
static void read_cpuinfo(const char *root, struct machine_cpu *cpu)
{
	AUTO_FILE FILE *file = readfile_open(root, "/proc/cpuinfo");
	if (!file)
		return;
	AUTO_FREE char *line = NULL;
	size_t capacity = 0;
	while (getline(&line, &capacity, file) > 1) {
		line[strcspn(line, "\n")] = '\0';
		char *colon = strchr(line, ':');
		if (!colon)
			continue;
		size_t length = (size_t)(colon - line);
		while (length > 0 && (line[length - 1] == '\t' || line[length - 1] == ' '))
			length--;
		line[length] = '\0';
		take_cpuinfo(line, colon[1] == ' ' ? colon + 2 : colon + 1, cpu);
	}
}

void machine_cpu_read(const char *root, struct machine_cpu *ret)
{
	*ret = (struct machine_cpu){ 0 };
	read_cpuinfo(root, ret);
	for (size_t i = 0; i < ARRAY_SIZE(arm_parts); i++)
		if (strcmp(ret->vendor, "Arm") == 0 && arm_parts[i].part == ret->part)
			snprintf(ret->name, sizeof ret->name, "%s", arm_parts[i].name);
	double khz = 0;
	const char *file = "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq";
	if (readfile_number(root, file, &khz) == 0 && khz > 0) {
		ret->max_hz = khz * 1e3;
		ret->has_cpufreq = true;
	}
}

static uint32_t count(hwloc_topology_t topology, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(topology, type);
	return n > 0 ? (uint32_t)n : 0;
}

/* Size of the first cache of a level, and how many cores share it. */
static void read_cache(
	hwloc_topology_t topology, hwloc_obj_type_t type, uint64_t *ret_bytes, uint32_t *ret_cores)
{
	hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
	if (!cache)
		return;
	*ret_bytes = cache->attr->cache.size;
	int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, cache->cpuset, HWLOC_OBJ_CORE);
	*ret_cores = cores > 0 ? (uint32_t)cores : 0;
}

void machine_topology_read(struct hwloc_topology *topology, struct machine_topology *ret)
{
	uint32_t l1i_cores, l1d_cores;
	*ret = (struct machine_topology){
		.sockets = count(topology, HWLOC_OBJ_PACKAGE),
		.numa_nodes = count(topology, HWLOC_OBJ_NUMANODE),
		.cores = count(topology, HWLOC_OBJ_CORE),
		.threads = count(topology, HWLOC_OBJ_PU),
	};
	read_cache(topology, HWLOC_OBJ_L1ICACHE, &ret->l1i_bytes, &l1i_cores);
	read_cache(topology, HWLOC_OBJ_L1CACHE, &ret->l1d_bytes, &l1d_cores);
	read_cache(topology, HWLOC_OBJ_L2CACHE, &ret->l2_bytes, &ret->l2_cores);
	read_cache(topology, HWLOC_OBJ_L3CACHE, &ret->l3_bytes, &ret->l3_cores);
}

static int read_topology(struct machine_topology *ret, struct err *err)
{
	hwloc_topology_t topology = NULL;
	if (hwloc_topology_init(&topology) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	/* The whole machine: what this process may use of it is in struct cpu_limits. */
	(void)hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	(void)hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
	int r = hwloc_topology_load(topology);
	if (r == 0)
		machine_topology_read(topology, ret);
	hwloc_topology_destroy(topology);
	if (r < 0)
		return err_set(
			err, -EIO, "hwloc cannot describe this machine; see what 'lstopo' says");
	return 0;
}

bool machine_shows_smt(const struct machine_topology *topology)
{
	return topology->cores > 0 && topology->threads > topology->cores;
}

int machine_read(const char *root, struct machine *ret, struct err *err)
{
	struct machine machine = { 0 };
	int r = read_topology(&machine.topology, err);
	if (r < 0)
		return r;
	machine_cpu_read(root, &machine.cpu);
	cpu_limits_read(root, &machine.limits);
	machine.usable = cpu_limits_usable(&machine.limits);
	*ret = machine;
	return 0;
}
