/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profiled process and its threads: how they begin, which page they share with the recorder inside the program, what is
 * written when they end.
 */
#ifndef PLUGIN_GUEST_H
#define PLUGIN_GUEST_H

#include "thread.h"

/* This process is the one that is profiled: what forks off is not. */
void guest_begin(void);

/* The page of preload/profile_page.h. 0 or -1. */
int guest_map_page(const char *path);

/* Whether code is of the recorder inside the program, which is not the program. */
bool guest_is_recorder(uint64_t address);

/* A virtual cpu that will run a thread. */
void guest_add_vcpu(unsigned index);

/* Makes the thread that the virtual cpu runs from now on. Without memory it is run, not counted. */
void guest_start_thread(struct vcpu *vcpu);

/* The recorder tells which slot of the page the thread has; PROFILE_SLOTS: its own again. */
void guest_prctl(struct vcpu *vcpu, uint64_t slot);

void guest_end_thread(struct vcpu *vcpu);

/* A fork has returned 0: the child is not profiled, but its threads' clocks go on. */
void guest_forked(unsigned index);

/* Whether the process has one thread. */
bool guest_is_one_thread(void);

/* The process becomes another program, whose recorder may be elsewhere. */
void guest_begin_again(void);

/* How well was sampled until now. */
void guest_write_quality(void);

/* Writes what is left, and that this is all. */
void guest_end(void);

#endif
