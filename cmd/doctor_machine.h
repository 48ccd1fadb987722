/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine file of this machine: what can be measured is, the rest is that of the nearest known core. */
#ifndef CMD_DOCTOR_MACHINE_H
#define CMD_DOCTOR_MACHINE_H

#include "machine/machine.h"

/* "-" is stdout. Says on stderr what was measured and what was taken from where. 0 or a negative errno. */
int doctor_measure_machine(const struct machine *machine, const char *path, struct err *err);

#endif
