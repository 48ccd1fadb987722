/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes a model (model.h) from the recording of one run (docs/models/graph.md).
 *
 *	AUTO(build) struct build *build = NULL;
 *	build_new(&opts, &build);
 *	struct event_sink sink = build_sink(build);
 *	... events, in order of time ...; finish
 *	build_model(build, &model, err);
 *
 * Method: A. Tarvo, S. Reiss, "Using Computer Simulation to Predict the Performance of Multithreaded
 * Programs", ICPE 2012, sections 3 to 5, where people find the fragments, locks and queues. Here
 * fragments lie between two recorded operations, threads are grouped (group.h), conditions get
 * their meaning (meaning.h), and branches their laws (graph.h).
 */
#ifndef BUILDER_BUILD_H
#define BUILDER_BUILD_H

#include "base/cleanup.h"
#include "model/model.h"
#include "trace/reader.h"
#include "trace/sink.h"

/* Where an address of a program file lies; texts are borrowed until the next call. */
struct build_place {
	const char *symbol; /* NULL: unknown */
	uint64_t offset;
	const char *file; /* NULL: unknown */
	uint32_t line;
};

/* What conditions are made of. */
enum build_conds {
	BUILD_BY_MEANING,
	/*
	 * Without one at which everybody who came to get something had to wait, as if what is counted there was counted, and
	 * mostly found, without the mutex (an atomic counter of idle threads): its waits and signals are only the rest of that.
	 */
	BUILD_WITHOUT_SLOW_PATH,
	BUILD_BY_CALLS, /* of those without a meaning, signals that mostly nobody waits for are heard by who does (told.h) */
	BUILD_BY_SIGNALS, /* they have no meaning: who waits for one waits for the signals of others (told.h) */
	BUILD_AS_RECORDED, /* by meaning; and threads that meet at barriers decide in the recorded order (sequence.c) */
	BUILD_IN_ORDER, /* by meaning; and where threads are in an order of rounds that repeats itself says what comes (period.h) */
};

struct build_opts {
	const char *name; /* of the model; borrowed until build_free() */
	uint32_t cores; /* that the run had; 0: not known */
	struct trace_wakes wakes; /* of the recorded machine, where the events do not tell */
	struct trace_others others; /* what others had of its cores; of no length: not known */
	double took_s; /* that the same run takes without a recorder; 0: not known */
	struct trace_own own; /* where it is not: what recording took */
	enum build_conds conds;
	uint32_t slow_path; /* that is left out: from 0, below build_slow_paths() */
	bool is_forced; /* a model also of a recording in which locks were not seen: waits at them sleep */
	/* May be NULL: then code and objects have numbers. */
	struct build_place (*find)(void *context, const char *module, uint64_t address);
	void *context;
};

struct build;

/* 0 or -ENOMEM. */
int build_new(const struct build_opts *opts, struct build **ret);
void build_free(struct build *build);
CLEANUP_DEFINE(build, build_free)

/* Borrows the builder. event(): -ENOMEM. */
struct event_sink build_sink(struct build *build);

/*
 * After the finish, once. The caller frees *ret, which passes model_check(). -ENODATA: there is nothing
 * to build from (no threads, or, unless forced, a recording from the kernel, which does not see locks); -ENOMEM.
 */
int build_model(struct build *build, struct model **ret, struct err *err);

/* Afterwards: conditions of the kind that BUILD_WITHOUT_SLOW_PATH leaves out. */
uint32_t build_slow_paths(const struct build *build);

/* Whether threads go through rounds in an order that BUILD_IN_ORDER would tell them by. */
bool build_has_order(const struct build *build);

#endif
