/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of processors is a sort by (sibling, socket, speed, place). */
#include "machine/pin.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct place {
	unsigned processor; /* operating system's number */
	unsigned sibling; /* 0: the first usable hardware thread of its core */
	unsigned socket;
	int slowness; /* 0: the fastest kind of core */
	unsigned index; /* hwloc's logical order, which follows the hardware */
};

static int by_use(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->sibling != y->sibling)
		return x->sibling < y->sibling ? -1 : 1;
	if (x->socket != y->socket)
		return x->socket < y->socket ? -1 : 1;
	if (x->slowness != y->slowness)
		return x->slowness < y->slowness ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* How many usable hardware threads of the same core come before this one. */
static unsigned sibling_number(
	hwloc_topology_t topology, hwloc_const_cpuset_t allowed, hwloc_obj_t pu)
{
	hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
	if (!core)
		return 0;
	unsigned before = 0;
	unsigned id;
	hwloc_bitmap_foreach_begin(id, core->cpuset)
	{
		hwloc_obj_t other = hwloc_get_pu_obj_by_os_index(topology, id);
		if (other && other->logical_index < pu->logical_index &&
			hwloc_bitmap_isset(allowed, id))
			before++;
	}
	hwloc_bitmap_foreach_end();
	return before;
}

/* hwloc ranks kinds of cores from the slowest; equal or unknown cores are all of one rank. */
static int slowness(hwloc_topology_t topology, hwloc_obj_t pu)
{
	int kinds = hwloc_cpukinds_get_nr(topology, 0);
	int kind = hwloc_cpukinds_get_by_cpuset(topology, pu->cpuset, 0);
	return kinds > 0 && kind >= 0 ? kinds - 1 - kind : 0;
}

int pin_order(
	hwloc_topology_t topology, hwloc_const_cpuset_t allowed, unsigned **ret, size_t *ret_count)
{
	int total = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
	size_t room = total > 0 ? (size_t)total : 1;
	AUTO_FREE struct place *places = calloc(room, sizeof *places);
	AUTO_FREE unsigned *order = calloc(room, sizeof *order);
	if (!places || !order)
		return -ENOMEM;
	size_t count = 0;
	hwloc_obj_t pu = NULL;
	while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu))) {
		if (!hwloc_bitmap_isset(allowed, pu->os_index))
			continue;
		hwloc_obj_t socket =
			hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, pu);
		places[count++] = (struct place){ .processor = pu->os_index,
			.sibling = sibling_number(topology, allowed, pu),
			.socket = socket ? socket->logical_index : 0,
			.slowness = slowness(topology, pu),
			.index = pu->logical_index };
	}
	qsort(places, count, sizeof *places, by_use);
	for (size_t i = 0; i < count; i++)
		order[i] = places[i].processor;
	*ret = TAKE(order);
	*ret_count = count;
	return 0;
}

static int read_order(struct pin *pin, pid_t pid)
{
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	if (!allowed)
		return -ENOMEM;
	int got = pid ? hwloc_get_proc_cpubind(pin->topology, pid, allowed, 0)
		      : hwloc_get_cpubind(pin->topology, allowed, HWLOC_CPUBIND_PROCESS);
	int status = got < 0 ? -errno : 0;
	if (pid && status == -EINVAL) /* hwloc's word for one that is gone */
		status = -ESRCH;
	if (status == 0)
		status = pin_order(pin->topology, allowed, &pin->processors, &pin->processor_count);
	hwloc_bitmap_free(allowed);
	if (status == 0 && pin->processor_count == 0)
		status = -EIO;
	return status;
}

int pin_new(struct pin **ret, struct err *err)
{
	return pin_new_of(0, ret, err);
}

int pin_new_of(pid_t pid, struct pin **ret, struct err *err)
{
	AUTO(pin) struct pin *pin = calloc(1, sizeof *pin);
	if (!pin)
		return err_set(err, -ENOMEM, "out of memory");
	if (hwloc_topology_init(&pin->topology) < 0) {
		pin->topology = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (hwloc_topology_load(pin->topology) < 0)
		return err_set(err, -EIO,
			"hwloc cannot read this machine's topology: measure with --pin none");
	int status = read_order(pin, pid);
	if (status < 0)
		return err_set(err, status,
			"cannot find the processors to pin to: %s (measure with --pin none)",
			strerror(-status));
	*ret = TAKE(pin);
	return 0;
}

void pin_free(struct pin *pin)
{
	if (!pin)
		return;
	if (pin->topology)
		hwloc_topology_destroy(pin->topology);
	free(pin->processors);
	free(pin);
}

int pin_process(const struct pin *pin, pid_t pid, uint32_t threads, struct err *err)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	if (!set)
		return err_set(err, -ENOMEM, "out of memory");
	int status = 0;
	for (size_t i = 0; status == 0 && i < threads && i < pin->processor_count; i++)
		status = hwloc_bitmap_set(set, pin->processors[i]) < 0 ? -ENOMEM : 0;
	if (status == 0 && hwloc_set_proc_cpubind(pin->topology, pid, set, 0) < 0)
		status = -errno;
	hwloc_bitmap_free(set);
	if (status < 0)
		return err_set(err, status,
			"cannot pin the program to %u processors: %s (measure with --pin none)",
			threads, strerror(-status));
	return 0;
}

bool pin_self(int cpu)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof one, &one) == 0;
}
