/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can be counted: the stall events of this processor family, and the kernel's own events. */
#include "doctor/doctor_checks.h"

#include "base/datadir.h"
#include "base/strbuf.h"
#include "base/readfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The names of the events that can (or cannot) be opened one by one, with commas. */
static uint32_t list_events(const struct event_set *set, const struct counter_source *source,
	bool want_there, struct strbuf *names)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < set->events_count; i++) {
		struct event_spec alone = set->events[i];
		alone.minus_count = 0;
		const struct event_set single = {
			.name = set->name,
			.events = &alone,
			.events_count = 1,
		};
		AUTO(counters) struct counters *counters = NULL;
		bool is_there = counters_new(&single, source, &counters, NULL) == 0;
		if (is_there != want_there)
			continue;
		strbuf_addf(names, "%s%s", found++ > 0 ? ", " : "", alone.name);
	}
	return found;
}

static void say_lost(struct doctor_finding *finding)
{
	DOCTOR_SAY(finding->lost, "stall categories of the hardware in RUNS.csv");
	DOCTOR_SAY(finding->instead, "software stalls (measure --sync-stalls) and the time curve");
}

/* `wanted`: the highest perf_event_paranoid that allows it. Below it, a container's filter forbids. */
static void say_how_to_allow(
	const struct doctor_place *place, int wanted, struct doctor_finding *finding)
{
	double paranoid = 0;
	int r = readfile_number(place->root, "/proc/sys/kernel/perf_event_paranoid", &paranoid);
	if (r == 0 && paranoid <= wanted)
		DOCTOR_SAY(finding->command, "start the container with --cap-add=PERFMON");
	else
		DOCTOR_SAY(finding->command, "sudo sysctl kernel.perf_event_paranoid=%d", wanted);
}

static void report_unusable(const struct doctor_place *place, const struct event_set *set, int code,
	const struct err *err, struct doctor_finding *finding)
{
	AUTO_RELEASE(strbuf) struct strbuf names = { 0 };
	uint32_t there = 0;
	finding->status = DOCTOR_MISSING;
	say_lost(finding);
	switch (code) {
	case -EACCES:
		DOCTOR_SAY(finding->summary, "%s: forbidden to this user", set->name);
		say_how_to_allow(place, 2, finding);
		break;
	case -ENODEV:
		DOCTOR_SAY(finding->summary, "%s: 0 of %u stall events (no counters)", set->name,
			set->events_count);
		DOCTOR_SAY(finding->command, "%s",
			place->machine->cpu.is_virtual
				? "on the host: qemu -cpu host,pmu=on; cloud: a bare-metal size"
				: "a kernel with CONFIG_PERF_EVENTS and this processor's driver");
		break;
	case -EOPNOTSUPP:
		there = list_events(set, place->source, true, &names);
		DOCTOR_SAY(finding->summary, "%u of %u stall events of %s", there,
			set->events_count, set->name);
		DOCTOR_SAY(finding->command, "docs/formats/event-set.md: a set for this machine");
		break;
	default:
		DOCTOR_SAY(finding->summary, "%s: cannot be counted", set->name);
		DOCTOR_SAY(
			finding->command, "%s", code == -EMFILE ? "ulimit -n 1024" : "free memory");
		break;
	}
	DOCTOR_SAY(finding->detail, "%s%s%s", err->text, there > 0 ? "; there: " : "",
		there > 0 && names.text ? names.text : "");
}

static void report_usable(const struct event_set *set, const struct counters *counters,
	struct doctor_finding *finding)
{
	AUTO_RELEASE(strbuf) struct strbuf names = { 0 };
	for (uint32_t i = 0; i < set->events_count; i++)
		strbuf_addf(&names, "%s%s", i > 0 ? ", " : "", set->events[i].name);
	int at_once = counters_at_once(counters);
	DOCTOR_SAY(finding->summary, "%s: %u stall events, %d at once%s", set->name,
		set->events_count, at_once, counters_user_only(counters) ? ", user part" : "");
	DOCTOR_SAY(finding->detail, "%s", names.text ? names.text : "");
	if (counters_user_only(counters)) {
		finding->status = DOCTOR_LIMITED;
		DOCTOR_SAY(finding->lost, "stalls inside the kernel");
		DOCTOR_SAY(finding->instead, "the program's own part");
		DOCTOR_SAY(finding->command, "sudo sysctl kernel.perf_event_paranoid=1");
	} else if (at_once < (int)set->events_count) {
		finding->status = DOCTOR_LIMITED;
		DOCTOR_SAY(finding->lost, "exact counts of runs below a second");
		DOCTOR_SAY(finding->instead, "events take turns and are scaled up");
		DOCTOR_SAY(
			finding->command, "sudo sysctl kernel.nmi_watchdog=0 (frees one counter)");
	}
}

/* The set of this processor; false with the finding filled if there is none. */
static bool find_set(
	const struct doctor_place *place, struct event_set **ret, struct doctor_finding *finding)
{
	AUTO_FREE char *folder = NULL;
	struct err err = { 0 };
	int r = datadir_find("events", &folder, &err);
	if (r == 0)
		r = event_set_for_cpu(folder, &place->machine->cpu, ret, &err);
	if (r == 0 && (*ret)->events_count > 0)
		return true;
	finding->status = DOCTOR_MISSING;
	say_lost(finding);
	if (r == 0) {
		DOCTOR_SAY(finding->summary, "%s has no fine-grain stall events", (*ret)->name);
		DOCTOR_SAY(finding->detail, "%s", (*ret)->note);
		DOCTOR_SAY(finding->command, "measure on another processor");
		return false;
	}
	DOCTOR_SAY(finding->summary, "%s",
		r == -ENODEV ? "no event set for this processor" : "the event sets cannot be read");
	DOCTOR_SAY(finding->detail, "%s", err.text);
	DOCTOR_SAY(finding->command, "%s",
		r == -ENODEV ? "docs/formats/event-set.md tells how to add one"
			     : "CORECAST_DATADIR=FOLDER, the one that holds events/");
	return false;
}

void doctor_check_hardware_events(const struct doctor_place *place, struct doctor_finding *finding)
{
	AUTO(event_set) struct event_set *set = NULL;
	if (!find_set(place, &set, finding))
		return;
	AUTO(counters) struct counters *counters = NULL;
	struct err err = { 0 };
	int r = counters_new(set, place->source, &counters, &err);
	if (r < 0)
		report_unusable(place, set, r, &err, finding);
	else
		report_usable(set, counters, finding);
}

void doctor_check_software_events(const struct doctor_place *place, struct doctor_finding *finding)
{
	AUTO(counters) struct counters *counters = NULL;
	struct err err = { 0 };
	int r = counters_new(event_set_software(), place->source, &counters, &err);
	if (r == 0 && !counters_user_only(counters)) {
		DOCTOR_SAY(finding->summary, "task clock, switches, migrations, faults");
		return;
	}
	if (r == 0) {
		finding->status = DOCTOR_LIMITED;
		DOCTOR_SAY(finding->summary, "task clock, faults; not what happens in the kernel");
		DOCTOR_SAY(finding->lost, "context switches and migrations as events");
		DOCTOR_SAY(finding->instead, "getrusage and /proc");
		DOCTOR_SAY(finding->command, "sudo sysctl kernel.perf_event_paranoid=1");
		return;
	}
	finding->status = DOCTOR_MISSING;
	DOCTOR_SAY(finding->summary, "%s",
		r == -EACCES ? "forbidden to this user" : "this kernel has none");
	DOCTOR_SAY(finding->detail, "%s", err.text);
	DOCTOR_SAY(finding->lost, "counts and samples where there are no hardware counters");
	DOCTOR_SAY(finding->instead, "getrusage and /proc");
	if (r == -EACCES)
		say_how_to_allow(place, 2, finding);
	else
		DOCTOR_SAY(finding->command, "a kernel with CONFIG_PERF_EVENTS (Debian's has it)");
}
