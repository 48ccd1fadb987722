/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checks of doctor.c: each fills the finding whose name and purpose are already set. */
#ifndef DOCTOR_DOCTOR_CHECKS_H
#define DOCTOR_DOCTOR_CHECKS_H

#include "collect/counters.h"
#include "doctor/doctor.h"

/* What a check looks at. */
struct doctor_place {
	const char *root;
	const struct counter_source *source;
	bool has_charts;
	const struct machine *machine;
};

typedef void doctor_check(const struct doctor_place *place, struct doctor_finding *finding);

/* doctor_machine.c */
doctor_check doctor_check_cores, doctor_check_limits, doctor_check_sharing, doctor_check_frequency,
	doctor_check_energy, doctor_check_waiting;

/* doctor_events.c */
doctor_check doctor_check_hardware_events, doctor_check_software_events;

/* doctor_kernel.c */
doctor_check doctor_check_bpf, doctor_check_boost, doctor_check_profiling, doctor_check_build;

/* snprintf into one of the finding's texts. */
#define DOCTOR_SAY(field, ...) ((void)snprintf((field), sizeof(field), __VA_ARGS__))

#endif
