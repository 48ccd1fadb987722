/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What it takes to start a process and see its end: of `true`, which has the C library only, and of the calling program, which
 * has more. Takes some 0.2 s.
 */
#ifndef MACHINE_START_PROBE_H
#define MACHINE_START_PROBE_H

/* Medians, ns. 0: not known, as where there is no `true`, or this program has as few libraries. */
struct start_probe {
	double exec_ns; /* without libraries */
	double library_ns; /* for each, the loader among them */
};

/* `program`: the caller's file, which says its version when it is asked for --version. */
struct start_probe start_probe_measure(const char *program);

#endif
