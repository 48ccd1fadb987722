/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast this machine is, measured: what a machine file (docs/formats/machine.md) says of it. Some seconds of
 * work; the least of several tries is taken where others on the machine can only make it longer. While others use the
 * processors all but the levels of memory, which take many rounds anyway, is done again, up to three times, and of each
 * figure the best is taken. What could not be measured is 0.
 */
#ifndef MACHINE_MACHINE_SPEED_H
#define MACHINE_MACHINE_SPEED_H

#include "base/err.h"
#include "machine/call_probe.h"
#include "machine/fetch_speed.h"
#include "machine/front_speed.h"
#include "machine/machine.h"
#include "machine/memory_speed.h"
#include "machine/pair_speed.h"
#include "machine/set_speed.h"
#include "machine/start_probe.h"
#include "machine/wake_probe.h"

#include <stdbool.h>

struct machine_speed {
	double hz; /* of a core at work: by a chain of multiplications whose latency in cycles is known */
	double interrupted; /* share of the time that it has something else to do, for less than a scheduler's turn: 0 .. 1 */
	double interruption_ns; /* how long each time, in the mean; 0: it has not */
	struct memory_speed memory;
	struct front_speed front;
	struct fetch_speed fetch;
	double locked_miss_ns; /* locked_speed.h */
	struct set_speed sets;
	struct pair_speed pair; /* 0: there is one processor alone */
	double switch_ns; /* wake_probe.h: of a hand-over between two threads of one processor */
	double wake_ns, wake_cost_ns,
		doze_ns; /* wake_probe.h: until a thread that slept runs, what that costs its waker, how long one has to wait to sleep */
	double in_place, part_ns; /* place_probe.h */
	struct call_probe call;
	struct start_probe start; /* not of a round */
	struct interrupt_probe interrupt;
	double wake_spread; /* of single wake-ups, as a share: their standard deviation, from moment to moment and within one */
	struct halt_probe halt;
	double others; /* processors that other work kept busy meanwhile; 0 where the system does not say */
	double shared; /* how often the hidden other hardware threads of the cores were at work (core_watch.h): 0 .. 1 */
	double sibling_busy; /* core_sharing.taken, all the time: 0 where hardware threads are not hidden */
	double sibling_spell_ns; /* its spell_ns */
};

/* Others took so much that figures may be theirs. */
bool machine_speed_is_disturbed(const struct machine_speed *speed);

/* Two cores were near one another at one look, and far apart at another: pair.transfer_ns is that of the middle one. */
bool machine_speed_cores_move(const struct machine_speed *speed);

/*
 * Of 1 to MACHINE_ROUNDS measurements of one machine, each figure where it was measured: what is the core's own, which others only make
 * slower, the best; what programs get beside others, the middle. What is not of a round is the first one's.
 */
enum { MACHINE_ROUNDS = 3 };
struct machine_speed machine_speed_settle(const struct machine_speed *rounds, unsigned count);

/* Some 20 s: MACHINE_ROUNDS of them. 0 or -ENOMEM. A thread that cannot be made only leaves out what it was for. */
int machine_speed_measure(
	const struct machine *machine, struct machine_speed *ret, struct err *err);

#endif
