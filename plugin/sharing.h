/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether other threads write a line between two accesses of a thread that are close to one another. What is seen of that
 * depends on how the emulator's threads happen to run: of threads that take turns on too few cores each writes a
 * thousand times before the next one comes, of threads with a core each the line would go to and fro all the time.
 * How often each thread writes a line does not depend on it: sampled accesses tell. Threads go at one pace (pace.h), so
 * that it is known how many writes m the others make while a thread executes so many instructions; taken to come at
 * random, at least one of them comes with 1 - exp(-m).
 *
 * That holds where nothing keeps the others away meanwhile, as a lock does. Then none of their writes is ever seen so
 * shortly after: only instructions that have met one are taken to meet as many as this says.
 */
#ifndef PLUGIN_SHARING_H
#define PLUGIN_SHARING_H

#include "thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Instructions: threads are as far apart as that, so that what is seen says nothing of shorter stretches. */
enum { SHARING_SHORT = 20000 };

/* A sampled access of the thread, which stands for so many; and a store that goes on with the sampled load of a line. */
void sharing_sample(const struct vcpu *vcpu, uint64_t line, bool is_store, double weight);
void sharing_store(const struct vcpu *vcpu, uint64_t line, double weight);

/* The odds that another thread writes the line while this one executes so many instructions; 0: not known. */
double sharing_odds(const struct vcpu *vcpu, uint64_t line, uint64_t instructions);

/* An instruction met a line that another thread had written that shortly before; whether it ever did. */
void sharing_meet(uint32_t code);
bool sharing_is_met(uint32_t code);

/* The thread ends. */
void sharing_end(const struct vcpu *vcpu);

/* In the child of a fork. */
void sharing_forked(void);

#endif
