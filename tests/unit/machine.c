/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collect/machine and collect/cpu_limits, over recorded folders and hwloc's synthetic machines. */
#include "cmocka_all.h"

#include "base/rng.h"
#include "machine/core_watch.h"
#include "machine/core_width.h"
#include "machine/cpu_limits.h"
#include "machine/machine.h"
#include "machine/succession.h"

#include <hwloc.h>
#include <math.h>
#include <string.h>

static void the_quota_of_a_group_above_counts(void **state)
{
	(void)state;
	struct cpu_limits limits;
	cpu_limits_read(TEST_DATA "/container-v2", &limits);
	assert_int_equal(limits.online, 64);
	assert_true(limits.quota == 2.5);
	assert_string_equal(limits.quota_file, "/sys/fs/cgroup/cpu.max");
	assert_int_equal(limits.cpuset, 16);
	assert_int_equal(cpu_limits_usable(&limits), 2);
}

static void another_process_has_its_own_group(void **state)
{
	(void)state;
	struct cpu_limits limits;
	cpu_limits_read_process(TEST_DATA "/container-v2", 4711, &limits);
	assert_true(limits.quota == 1);
	assert_string_equal(limits.quota_file, "/sys/fs/cgroup/small/cpu.max");
	assert_int_equal(limits.cpuset, 16);
	assert_int_equal(cpu_limits_usable(&limits), 1);
}

static void version_1_groups_are_read(void **state)
{
	(void)state;
	struct cpu_limits limits;
	cpu_limits_read(TEST_DATA "/cgroup-v1", &limits);
	assert_true(limits.quota == 12);
	assert_string_equal(limits.quota_file, "/sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us");
	assert_int_equal(limits.cpuset, 8);
	assert_int_equal(cpu_limits_usable(&limits), 8);
}

static void an_empty_folder_yields_one_processor(void **state)
{
	(void)state;
	struct cpu_limits limits;
	cpu_limits_read("/nonexistent", &limits);
	assert_int_equal(limits.online, 0);
	assert_true(limits.quota == 0);
	assert_string_equal(limits.quota_file, "");
	assert_int_equal(cpu_limits_usable(&limits), 1);
}

static void less_than_one_processor_is_one(void **state)
{
	(void)state;
	assert_int_equal(cpu_limits_usable(&(struct cpu_limits){ .online = 8, .quota = 0.2 }), 1);
	assert_int_equal(cpu_limits_usable(&(struct cpu_limits){ .online = 8, .affinity = 3 }), 3);
}

static void an_x86_processor_is_named(void **state)
{
	(void)state;
	struct machine_cpu cpu;
	machine_cpu_read(TEST_DATA "/cgroup-v1", &cpu);
	assert_string_equal(cpu.vendor, "AuthenticAMD");
	assert_string_equal(cpu.name, "AMD EPYC 7413 24-Core Processor");
	assert_int_equal(cpu.family, 25);
	assert_int_equal(cpu.model, 1);
	assert_true(cpu.has_cpufreq);
	assert_true(cpu.max_hz == 3.4e9);
	assert_false(cpu.is_virtual);
}

static void an_arm_core_is_named(void **state)
{
	(void)state;
	struct machine_cpu cpu;
	machine_cpu_read(TEST_DATA "/neoverse", &cpu);
	assert_string_equal(cpu.vendor, "Arm");
	assert_string_equal(cpu.name, "Arm Neoverse V1");
	assert_int_equal(cpu.part, 0xd40);
	assert_false(cpu.has_cpufreq);
	assert_true(cpu.max_hz == 0);
}

static void a_synthetic_machine_is_described(void **state)
{
	(void)state;
	hwloc_topology_t topology;
	assert_int_equal(hwloc_topology_init(&topology), 0);
	assert_int_equal(hwloc_topology_set_synthetic(topology,
				 "pack:2 numa:1 l3:2(size=33554432) core:4 l2:1(size=524288) pu:2"),
		0);
	assert_int_equal(hwloc_topology_load(topology), 0);
	struct machine_topology found;
	machine_topology_read(topology, &found);
	hwloc_topology_destroy(topology);
	assert_int_equal(found.sockets, 2);
	assert_int_equal(found.numa_nodes, 2);
	assert_int_equal(found.cores, 16);
	assert_int_equal(found.threads, 32);
	assert_int_equal(found.l3_bytes, 33554432);
	assert_int_equal(found.l3_cores, 4);
	assert_int_equal(found.l1d_bytes, 0);
}

static void this_machine_has_a_processor_to_use(void **state)
{
	(void)state;
	struct machine machine;
	assert_int_equal(machine_read("", &machine, NULL), 0);
	assert_in_range(machine.usable, 1, machine.topology.threads);
	assert_true(machine.limits.affinity >= machine.usable);
}

static void a_core_tells_its_width_and_clock(void **state)
{
	(void)state;
	struct core_look look = core_look();
	if (look.hz == 0)
		skip();
	assert_true(look.hz > 1e8 && look.hz < 1e10);
	assert_true(look.width > 0.1 && look.width < 16);
}

static void watched_cores_are_seen(void **state)
{
	(void)state;
	if (core_look().hz == 0)
		skip();
	AUTO(core_watch) struct core_watch *watch = core_watch_new();
	assert_non_null(watch);
	struct core_sharing seen = { 0 };
	while (seen.looks == 0)
		seen = core_watch_seen(watch);
	assert_true(seen.width > 0 && seen.hz > 0);
	assert_true(seen.shared >= 0 && seen.shared <= 1);
	assert_true(seen.taken >= 0 && seen.taken <= 1);
}

/* There for 30 ms in the mean and not for 60, with something of its own in each look: seen each 10 ms. */
static void looks_tell_how_long_others_stay(void **state)
{
	(void)state;
	enum { LOOKS = 20000 };
	struct rng rng;
	struct succession seen = { 0 }, chance = { 0 };
	bool is_there = false;
	rng_init(&rng, 1);
	for (int i = 0; i < LOOKS; i++) {
		for (int k = 0; k < 100; k++) /* tenths of a millisecond */
			if (rng_uniform(&rng) < (is_there ? 0.1 / 30 : 0.1 / 60))
				is_there = !is_there;
		succession_add(&seen, is_there ? 5 : 9);
		succession_add(&chance, 5 + rng_uniform(&rng));
	}
	double alike = succession_resemblance(&seen);
	double spell_ns = succession_spell_ns(alike, 10e6, 1 / 3.);
	assert_true(spell_ns > 27e6 && spell_ns < 33e6);
	assert_true(succession_spell_ns(succession_resemblance(&chance), 10e6, 1 / 3.) == 0);
	assert_true(succession_spell_ns(alike, 10e6, 0) == 0);
	assert_true(succession_spell_ns(alike, 10e6, 1) == 0);
	assert_true(isfinite(succession_spell_ns(1, 10e6, 0.5)));
	struct succession none = { 0 };
	assert_true(succession_resemblance(&none) == 0);
}

static void without_a_watch_nothing_is_seen(void **state)
{
	(void)state;
	assert_int_equal(core_watch_seen(NULL).looks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_quota_of_a_group_above_counts),
		cmocka_unit_test(another_process_has_its_own_group),
		cmocka_unit_test(version_1_groups_are_read),
		cmocka_unit_test(an_empty_folder_yields_one_processor),
		cmocka_unit_test(less_than_one_processor_is_one),
		cmocka_unit_test(an_x86_processor_is_named),
		cmocka_unit_test(an_arm_core_is_named),
		cmocka_unit_test(a_synthetic_machine_is_described),
		cmocka_unit_test(this_machine_has_a_processor_to_use),
		cmocka_unit_test(a_core_tells_its_width_and_clock),
		cmocka_unit_test(watched_cores_are_seen),
		cmocka_unit_test(looks_tell_how_long_others_stay),
		cmocka_unit_test(without_a_watch_nothing_is_seen),
	};
	return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
