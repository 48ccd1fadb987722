/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fair scheduler's decisions: see fair.c. What follows from them is done in schedule.c. */
#ifndef SIM_FAIR_H
#define SIM_FAIR_H

#include "sim/engine.h"

/* The cpu whose queue a thread joins when none is idle that it may use. */
uint32_t fair_choose_queue(struct sim *sim, const struct sim_thread *thread, bool is_new);
/* Its virtual time and deadline as it comes to a cpu, to run there or to wait. */
void fair_arrive(struct sim *sim, struct sim_thread *thread, uint32_t number, bool is_new);
/* It gives its cpu back, to sleep or because it has exited. 0 or -ENOMEM. */
int fair_leave(struct sim *sim, struct sim_thread *thread);
/* A sleeper that was kept in a queue is woken: it waits there. 0 or -ENOMEM. */
int fair_wake_kept(struct sim *sim, struct sim_thread *thread);
bool fair_is_waited_for(const struct sim *sim, uint32_t number);

int fair_enqueue(struct sim *sim, struct sim_thread *thread, uint32_t number); /* 0 or -ENOMEM */
void fair_dequeue(struct sim *sim, struct sim_thread *thread);
/* Takes the next thread for a cpu that is left, from its queue; from another one. 0: there is none. */
uint32_t fair_take(struct sim *sim, uint32_t number);
uint32_t fair_steal(struct sim *sim, uint32_t number);

/* A cpu that idled has a thread: how long that lasts says whether it looks for one the next time. */
void fair_end_idle(const struct sim *sim, struct cpu *cpu);

/* At a tick: an idle cpu takes one from the queue of a busy one. 0: there is none for it. */
uint32_t fair_pass_on(struct sim *sim, uint32_t from, uint32_t to);

/* A thread gets its cpu; has had it until the end that was set: whether it must make room. */
void fair_begin_slice(struct sim *sim, struct sim_thread *thread);
bool fair_ends_slice(struct sim *sim, struct sim_thread *thread);
/* Whether a thread that was woken and waits takes its cpu from the one that has it. */
bool fair_preempts(struct sim *sim, const struct sim_thread *woken);

/* It lets the others go first. */
void fair_yield(const struct sim *sim, struct sim_thread *thread);

#endif
