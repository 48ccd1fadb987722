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
 * shortly after: only instructions are taken to meet as many as this says that have met one, or came to a line that another
 * instruction met one on in the same kind of stretch (a store a few instructions after the load hardly ever sees one itself,
 * and what a lock protects is a stretch of its own). What was met by coming from another stretch says nothing of accesses within
 * one: the first of a critical section finds what the last holder wrote, those behind it do not.
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

/* The thread went so many instructions from one store to the line to its next. */
void sharing_gap(const struct vcpu *vcpu, uint64_t line, uint64_t instructions);

/* While a thread executes so many instructions: the odds that another one writes the line, and how many do on average; 0: not known. */
struct sharing_odds {
	double written, writers;
};
struct sharing_odds sharing_odds(const struct vcpu *vcpu, uint64_t line, uint64_t instructions);

/* Whether other threads come to the line, too. */
bool sharing_is_shared(const struct vcpu *vcpu, uint64_t line);

/*
 * An instruction came that shortly to a line again, in a stretch of that kind, and another thread had written it meanwhile or not;
 * whether it ever met such a line. `is_within`: in the stretch of the access before, or coming from another one.
 */
void sharing_meet(uint32_t code, uint64_t stretch, uint64_t line, bool is_within, bool is_written);
bool sharing_is_met(uint32_t code, bool is_within);

/* The thread ends. */
void sharing_end(const struct vcpu *vcpu);

/* In the child of a fork. */
void sharing_forked(void);

#endif
