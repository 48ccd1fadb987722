/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stretch (preload/profile_page.h) that a virtual cpu counts into: whoever samples is told when it changes. */
#ifndef PLUGIN_STRETCH_H
#define PLUGIN_STRETCH_H

#include "thread.h"

/* Instructions. Before a lane of 16 bits overflows: a block adds 512 at most. */
enum { STRETCH_ATTEND_EVERY = 32000 };

/* Settles what was counted; the virtual cpu is in none after. */
void stretch_leave(struct vcpu *vcpu);

/* Leaves the stretch that it is in for another; PROFILE_NOT_COUNTED, or no memory: VCPU_OFF. */
void stretch_enter(struct vcpu *vcpu, uint64_t stretch);

/* Sets when the thread is to be attended to again. */
void stretch_plan(struct vcpu *vcpu);

#endif
