/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "doctor/doctor.h"

#include "base/mem.h"
#include "doctor/doctor_checks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static const struct {
	const char *name;
	const char *purpose;
	doctor_check *run;
} checks[] = {
	{ "cores", "thread counts that can be measured", doctor_check_cores },
	{ "limits", "how much of the machine this process may use", doctor_check_limits },
	{ "hardware events", "stalled cycles by category", doctor_check_hardware_events },
	{ "software events", "counts and samples without hardware counters",
		doctor_check_software_events },
	{ "waiting", "tells waiting for a core from waiting for a lock", doctor_check_waiting },
	{ "sharing", "tells a neighbour's work from poor scaling", doctor_check_sharing },
	{ "frequency", "tells a lower clock from poor scaling", doctor_check_frequency },
	{ "energy", "joules beside seconds", doctor_check_energy },
	{ "BPF", "recording the scheduler without touching the program", doctor_check_bpf },
	{ "boost", "makes one thread faster than the others", doctor_check_boost },
	{ "profiling", "predicting processors that are not here", doctor_check_profiling },
	{ "build", "optional parts of this build", doctor_check_build },
};

int doctor_new(const struct doctor_opts *opts, struct doctor **ret, struct err *err)
{
	static_assert(ARRAY_SIZE(checks) <= DOCTOR_ITEMS_MAX, "room for every finding");
	AUTO(doctor) struct doctor *doctor = calloc(1, sizeof *doctor);
	if (!doctor)
		return err_set(err, -ENOMEM, "out of memory");
	/* A machine that cannot be described has zeros, which the checks report as not known. */
	if (machine_read(opts->root, &doctor->machine, err) == -ENOMEM)
		return -ENOMEM;
	const struct doctor_place place = {
		.root = opts->root,
		.source = opts->source,
		.has_charts = opts->has_charts,
		.machine = &doctor->machine,
	};
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct doctor_finding *finding = &doctor->findings[doctor->count++];
		finding->name = checks[i].name;
		finding->purpose = checks[i].purpose;
		checks[i].run(&place, finding);
	}
	*ret = TAKE(doctor);
	return 0;
}

void doctor_free(struct doctor *doctor)
{
	free(doctor);
}

const char *doctor_status_name(enum doctor_status status)
{
	switch (status) {
	case DOCTOR_OK:
		return "ok";
	case DOCTOR_LIMITED:
		return "limited";
	case DOCTOR_MISSING:
		break;
	}
	return "missing";
}
