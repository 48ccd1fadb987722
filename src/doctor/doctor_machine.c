/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the machine offers: cores, limits on them, waiting times, clocks, energy. */
#include "base/plural.h"
#include "doctor/doctor_checks.h"

#include "base/readfile.h"
#include "machine/core_watch.h"
#include "machine/rapl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Half a minute of a neighbour's work is easily missed, but doctor shall answer at once. */
static const struct timespec WATCHED = { .tv_nsec = 300000000 };

/* A forecast needs four counts, so fewer cores make each further count share a core. */
enum { CORES_FOR_A_CURVE = 4 };

void doctor_check_cores(const struct doctor_place *place, struct doctor_finding *finding)
{
	const struct machine *machine = place->machine;
	const struct machine_topology *t = &machine->topology;
	if (t->cores > 0)
		DOCTOR_SAY(finding->summary, "%u usable; %u socket%s, %u core%s, %s",
			machine->usable, t->sockets, plural(t->sockets), t->cores, plural(t->cores),
			machine_shows_smt(t) ? "SMT" : "no SMT");
	else
		DOCTOR_SAY(finding->summary, "%u usable; the arrangement of cores is not told",
			machine->usable);

	char clock[32] = "";
	if (machine->cpu.max_hz > 0)
		DOCTOR_SAY(clock, ", %.2f GHz", machine->cpu.max_hz / 1e9);
	DOCTOR_SAY(finding->detail,
		"%s%s%s; %u hardware thread%s; L1d %.0f KiB, L2 %.0f KiB for %u core%s, "
		"L3 %.0f MiB for %u core%s",
		*machine->cpu.name ? machine->cpu.name : "processor not told", clock,
		machine->cpu.is_virtual ? ", virtual" : "", t->threads, plural(t->threads),
		(double)t->l1d_bytes / 1024, (double)t->l2_bytes / 1024, t->l2_cores,
		plural(t->l2_cores), (double)t->l3_bytes / (1024.0 * 1024), t->l3_cores,
		plural(t->l3_cores));
	if (machine->usable >= CORES_FOR_A_CURVE)
		return;
	finding->status = DOCTOR_LIMITED;
	DOCTOR_SAY(finding->lost, "thread counts above %u share cores: not a program's scaling",
		machine->usable);
	DOCTOR_SAY(finding->instead, "measure records them and warns");
	DOCTOR_SAY(finding->command, "corecast measure on a larger machine; forecast anywhere");
}

/* What is tightest, in processors, as exactly as it is set. */
static double exact_limit(const struct cpu_limits *limits)
{
	double limit = limits->online;
	if (limits->quota > 0)
		limit = fmin(limit, limits->quota);
	if (limits->cpuset > 0)
		limit = fmin(limit, limits->cpuset);
	if (limits->affinity > 0)
		limit = fmin(limit, limits->affinity);
	return limit;
}

/* The command that widens what is tightest; a mask follows its cpuset. */
static void say_how_to_widen(const struct cpu_limits *limits, struct doctor_finding *finding)
{
	double limit = exact_limit(limits);
	if (limits->quota == limit)
		DOCTOR_SAY(finding->command, "echo %s | sudo tee %s",
			strstr(limits->quota_file, "cfs_quota") ? "-1" : "max", limits->quota_file);
	else if (limits->cpuset == limit) /* the folder's cpuset.cpus can be written */
		DOCTOR_SAY(finding->command, "echo 0-%u | sudo tee %.*s/cpuset.cpus",
			limits->online - 1,
			(int)(strrchr(limits->cpuset_file, '/') - limits->cpuset_file),
			limits->cpuset_file);
	else
		DOCTOR_SAY(finding->command, "taskset -pc 0-%u $$", limits->online - 1);
}

void doctor_check_limits(const struct doctor_place *place, struct doctor_finding *finding)
{
	const struct cpu_limits *limits = &place->machine->limits;
	char quota[64] = "no CPU quota", cpuset[64] = "no cpuset";
	if (limits->quota > 0)
		DOCTOR_SAY(quota, "quota of %.4g CPUs", limits->quota);
	if (limits->cpuset > 0)
		DOCTOR_SAY(cpuset, "cpuset of %u", limits->cpuset);
	if (limits->affinity > 0)
		DOCTOR_SAY(finding->summary, "%s, %s, affinity to %u of %u", quota, cpuset,
			limits->affinity, limits->online);
	else
		DOCTOR_SAY(finding->summary, "%s, %s", quota, cpuset);
	DOCTOR_SAY(finding->detail, "%s%s%s", limits->quota_file,
		*limits->quota_file && *limits->cpuset_file ? ", " : "", limits->cpuset_file);

	double limit = exact_limit(limits);
	if (limit >= limits->online)
		return;
	finding->status = DOCTOR_LIMITED;
	DOCTOR_SAY(finding->lost, "%.3g of %u CPUs", limits->online - limit, limits->online);
	DOCTOR_SAY(finding->instead, "%u counts as all cores", place->machine->usable);
	say_how_to_widen(limits, finding);
}

/* /proc/PID/schedstat is "running waiting slices"; a kernel that does not count says "0 0 0". */
void doctor_check_waiting(const struct doctor_place *place, struct doctor_finding *finding)
{
	char line[128] = "";
	unsigned long long running, waiting, slices = 0;
	int r = readfile_line(place->root, "/proc/self/schedstat", line, sizeof line);
	if (r == 0 && sscanf(line, "%llu %llu %llu", &running, &waiting, &slices) == 3 &&
		slices > 0) {
		DOCTOR_SAY(finding->summary, "time in run queues is counted (schedstat)");
		return;
	}
	finding->status = DOCTOR_MISSING;
	DOCTOR_SAY(finding->summary, "%s",
		r < 0 ? "this kernel has no /proc/PID/schedstat" : "schedstat is switched off");
	DOCTOR_SAY(finding->lost, "time that threads wait for a core");
	DOCTOR_SAY(finding->instead, "involuntary context switches");
	DOCTOR_SAY(finding->command, "%s",
		r < 0 ? "a kernel with CONFIG_SCHED_INFO (Debian's has it)"
		      : "sudo sysctl kernel.task_delayacct=1");
}

void doctor_check_sharing(const struct doctor_place *place, struct doctor_finding *finding)
{
	if (machine_shows_smt(&place->machine->topology)) {
		DOCTOR_SAY(finding->summary, "cores show their hardware threads");
		return;
	}
	AUTO(core_watch) struct core_watch *watch = core_watch_new();
	(void)nanosleep(&WATCHED, NULL); /* cut short by a signal: it watched less */
	struct core_sharing seen = core_watch_seen(watch);
	if (seen.looks == 0) {
		DOCTOR_SAY(finding->summary, "cannot be told of this processor");
		return;
	}
	DOCTOR_SAY(finding->detail, "%.2f of %.2f independent additions a cycle at %.2f GHz",
		seen.width, seen.most_width, seen.hz / 1e9);
	if (seen.shared < CORE_SHARING_NOTABLE) {
		DOCTOR_SAY(finding->summary, "cores were ours alone just now, at %.2f GHz",
			seen.hz / 1e9);
		return;
	}
	finding->status = DOCTOR_LIMITED;
	DOCTOR_SAY(finding->summary, "hidden threads busy for others %.0f%% just now",
		seen.shared * 100);
	DOCTOR_SAY(finding->lost, "up to half of a core, in a part of the runs");
	DOCTOR_SAY(finding->instead, "repeats (measure -r 5); measure notes how often");
	DOCTOR_SAY(finding->command, "a dedicated host, or another hour");
}

void doctor_check_frequency(const struct doctor_place *place, struct doctor_finding *finding)
{
	static const char folder[] = "/sys/devices/system/cpu/cpu0/cpufreq";
	char file[128], governor[32] = "";
	DOCTOR_SAY(file, "%s/scaling_governor", folder);
	if (readfile_line(place->root, file, governor, sizeof governor) < 0) {
		finding->status = DOCTOR_MISSING;
		DOCTOR_SAY(finding->summary, "cpufreq is not there");
		DOCTOR_SAY(finding->lost, "clock changes between runs go unseen");
		DOCTOR_SAY(finding->instead, "repeats (measure -r 5) and their spread");
		DOCTOR_SAY(finding->command, "%s",
			place->machine->cpu.is_virtual
				? "run on the host: a guest cannot see its clock"
				: "sudo modprobe acpi-cpufreq");
		return;
	}
	DOCTOR_SAY(finding->summary, "governor %s, up to %.2f GHz", governor,
		place->machine->cpu.max_hz / 1e9);
	if (strcmp(governor, "performance") == 0)
		return;
	finding->status = DOCTOR_LIMITED;
	DOCTOR_SAY(finding->lost, "a steady clock: short runs may see it ramp up");
	DOCTOR_SAY(finding->instead, "a warm-up run and repeats");
	DOCTOR_SAY(finding->command, "sudo cpupower frequency-set -g performance");
}

void doctor_check_energy(const struct doctor_place *place, struct doctor_finding *finding)
{
	AUTO(rapl) struct rapl *rapl = NULL;
	int code = rapl_new(place->root, &rapl, NULL);
	DOCTOR_SAY(finding->detail, "corecast boost: energy with and without it");
	if (code == 0) {
		size_t packages = rapl_packages(rapl);
		DOCTOR_SAY(finding->summary, "RAPL of %zu package%s, through powercap", packages,
			plural(packages));
		return;
	}
	bool is_forbidden = code == -EACCES;
	finding->status = is_forbidden ? DOCTOR_LIMITED : DOCTOR_MISSING;
	DOCTOR_SAY(
		finding->summary, "%s", is_forbidden ? "RAPL, for root only" : "no RAPL counters");
	DOCTOR_SAY(finding->lost, "energy of a run");
	DOCTOR_SAY(finding->instead, "time only; a machine file's power model");
	if (is_forbidden)
		DOCTOR_SAY(finding->command,
			"sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj");
	else if (place->machine->cpu.is_virtual)
		DOCTOR_SAY(finding->command, "run on the host: guests have no RAPL");
	else
		DOCTOR_SAY(finding->command, "sudo modprobe intel_rapl_msr");
}
