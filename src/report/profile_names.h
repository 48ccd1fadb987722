/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names for the addresses in a profile, by the files that the program was made of: functions and lines, variables. */
#ifndef REPORT_PROFILE_NAMES_H
#define REPORT_PROFILE_NAMES_H

#include "base/err.h"
#include "report/criticality.h"
#include "uarch/profile.h"

/* Sets profile->names and quality.asking from its timeline; nothing without one. 0 or -errno. */
int profile_names_find(struct profile *profile, const struct code_finder *finder, struct err *err);

#endif
