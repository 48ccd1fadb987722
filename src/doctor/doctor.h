/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What this machine and this build can measure: one finding per ability. For what is missing or
 * limited, a finding says what is lost, what corecast uses in its place, and the command that
 * gives it. Nothing that is missing is a failure.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include "base/cleanup.h"
#include "base/err.h"
#include "machine/machine.h"

#include <stdbool.h>
#include <stddef.h>

enum doctor_status {
	DOCTOR_OK, /* there, and usable by this user */
	DOCTOR_LIMITED, /* there in part */
	DOCTOR_MISSING,
};

enum {
	DOCTOR_TEXT_BYTES = 2 * CPU_LIMITS_FILE_BYTES + 64, /* room for two file names */
	DOCTOR_ITEMS_MAX = 16,
};

struct doctor_finding {
	const char *name; /* short and stable: "cores", "hardware events" */
	const char *purpose; /* what corecast needs it for */
	enum doctor_status status;
	char summary[DOCTOR_TEXT_BYTES]; /* what was found, in a few words */
	char detail[DOCTOR_TEXT_BYTES]; /* the figures behind it, or "" */
	char lost[DOCTOR_TEXT_BYTES]; /* what cannot be done; "" when the status is DOCTOR_OK */
	char instead[DOCTOR_TEXT_BYTES]; /* what corecast uses in its place, or "" */
	char command[DOCTOR_TEXT_BYTES]; /* a command, or what to change, that gives it; or "" */
};

struct doctor {
	struct machine machine;
	struct doctor_finding findings[DOCTOR_ITEMS_MAX];
	size_t count;
};

struct counter_source;

/* What to examine. */
struct doctor_opts {
	const char *root; /* "" for the machine itself; tests give a folder with recorded files */
	const struct counter_source *source; /* &counter_source_kernel */
	bool has_charts; /* this build's pages can draw: the report room knows */
};

/*
 * Examines the machine and the build. Needs no privilege; opens nothing for longer than a moment.
 * 0, or -ENOMEM; the caller frees *ret with doctor_free().
 */
int doctor_new(const struct doctor_opts *opts, struct doctor **ret, struct err *err);
void doctor_free(struct doctor *doctor);
CLEANUP_DEFINE(doctor, doctor_free)

/* "ok", "limited" or "missing". */
const char *doctor_status_name(enum doctor_status status);

#endif
