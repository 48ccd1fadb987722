/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How recorders inside the target turn the processor's counter into ns: measured for each run. */
#ifndef RECORD_RUN_CLOCK_H
#define RECORD_RUN_CLOCK_H

#include "preload/trace_record.h"

#include <stdbool.h>

/*
 * Fills the clock_ fields of a header; takes 20 ms. They stay 0 (clock_gettime() then) when the
 * counter does not run at one constant rate on all cores, for all that the kernel and a hypervisor say, or cannot be read.
 */
void run_clock_measure(struct trace_header *header);

/* Whether the kernel's own time is a counter that runs at one rate, the same on all cores. */
bool run_clock_is_steady(void);

#endif
