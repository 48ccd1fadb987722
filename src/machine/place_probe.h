/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a thread runs that is woken while the core that it had is at work and another one idles. Linux looks for an idle core
 * among those that share a cache, unless these were busy of late (sim/idle_scan.h).
 */
#ifndef MACHINE_PLACE_PROBE_H
#define MACHINE_PLACE_PROBE_H

/* Share of such threads that wait for the core that they had: 0 .. 1; 0 too where there is one processor. Takes 0.2 s. */
double place_probe_measure(void);

/* How long two threads that compute on one core share it, ns, the middle of ten; 0.1 s where it is longer; 0: not known. Takes half a second. */
double part_probe_measure(void);

#endif
