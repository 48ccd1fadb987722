/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of hardware events to perf_event_open's codes, by libpfm4. */
#ifndef COLLECT_EVENT_CODE_H
#define COLLECT_EVENT_CODE_H

#include "collect/event_set.h"

#include <linux/perf_event.h>

/*
 * Fills type and config of *ret for an event on this processor: by libpfm4's name where libpfm4 is
 * in this build and knows the name, else by the code in the set.
 * 0, or -EOPNOTSUPP: libpfm4 does not know the name and the set has no code.
 */
int event_code(const struct event_spec *event, struct perf_event_attr *ret);

/*
 * The code that libpfm4 gives to a name, with its PMU before "::" also of a processor that is not
 * this one. 0, -ENOENT (no such name), -EOPNOTSUPP (this build has no libpfm4, or libpfm4 no such
 * PMU).
 */
int event_code_by_name(const char *name, struct perf_event_attr *ret);

#endif
