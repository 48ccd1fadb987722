/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the builder share. */
#ifndef BUILDER_PARTS_H
#define BUILDER_PARTS_H

#include "builder/arrivals.h"
#include "builder/build.h"
#include "builder/class.h"
#include "builder/course.h"
#include "builder/cut.h"
#include "builder/disk.h"
#include "builder/graph.h"
#include "builder/limiters.h"
#include "builder/limits.h"
#include "builder/made_locks.h"
#include "builder/pipes.h"
#include "builder/polls.h"
#include "builder/pool.h"
#include "builder/replies.h"
#include "builder/requests.h"
#include "builder/semaphores.h"
#include "builder/shutdown.h"
#include "builder/signals.h"
#include "builder/steps.h"
#include "builder/tasks.h"
#include "builder/teams.h"
#include "builder/tickers.h"

struct build_pace {
	uint32_t group; /* that begins requests at times of its own; BUILD_NONE: none */
	uint32_t parameter;
};

enum { BUILD_DEALT = 16 };

/* A queue of tickets for the turns of a loop in each round (rounds.c). */
struct build_dealt {
	uint8_t op; /* of the loop's states */
	uint64_t site;
	uint32_t barrier, queue; /* object of the trace, of the model */
};

enum { BUILD_EACH = 16 };

/* CPU time of each item of a batch, before what a thread does once with all of them (batch.c). */
struct build_each {
	uint64_t site;
	uint32_t object;
	uint8_t op;
	double item_ns;
};

/* Work before an arrival at a barrier that threads take piece by piece in each round (deal.c). */
struct build_deal {
	bool is_life; /* until threads with that routine exit */
	uint64_t routine, site;
	uint32_t object;
	double piece_ns, pieces; /* of a round, of all threads */
};

struct build {
	struct build_opts opts;
	struct build_trace trace;
	struct meaning *meaning;
	struct wakes_found woken; /* what wake-ups took */
	struct build_channels channels;
	struct build_groups groups;
	struct build_requests requests;
	struct build_disk disk;
	struct build_graph *graphs; /* one for each group */
	struct model *model;
	uint32_t *objects; /* of the model, for each of the trace; BUILD_NONE: not yet */
	struct build_pool *pools; /* one for each group */
	uint64_t guessed_splits; /* loops whose work was taken to be shared without evidence */
	uint64_t guessed_shares; /* fragments, likewise */
	uint64_t
		guessed_pieces; /* fragments of which each thread was taken to do a piece, one behind the other */
	double taken; /* share of the time on cores that others had */
	double taken_of_run; /* that time, in parts of the run's length */
	uint64_t tries; /* locks that were left out: taken to be tries */
	bool has_limit; /* of descriptors: it was reached */
	struct {
		struct build_dealt items[BUILD_DEALT];
		size_t count;
	} dealt;
	struct {
		struct build_each items[BUILD_EACH];
		size_t count;
	} each;
	struct {
		struct build_deal items[BUILD_EACH];
		size_t count;
	} deals;
	struct build_pace pace;
	struct build_limiters limiters;
	double lock_cost_ns, event_cost_ns,
		cost_factor; /* taken off each step, then all scaled; 0: nothing was */
	double cost_share; /* of the CPU time, all that */
};

/* dist.c: distributions from what was seen. All return 0 or -ENOMEM. */
int build_dist(struct model *model, double *values, size_t count, struct model_dist *ret);
int build_counts(
	struct model *model, const uint64_t *values, size_t count, struct model_count *ret);

/* A formula as a value that belongs to the model. */
int build_formula(struct model *model, struct model_value *ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * A number that a person can set, named after the thing that it belongs to (NULL: only one of its kind) and what of it is
 * set, as "jobs_capacity"; numbered if that is taken. 0 or -ENOMEM.
 */
int build_add_parameter(struct model *model, const char *of, const char *what, double value,
	const char *note, uint32_t *ret);

/* objects.c: makes the model's objects of all that the steps use. */
int build_objects(struct build *build);

/* objects.c: gives threads without a name that of their start routine. 0 or -ENOMEM. */
int build_name_threads(struct build *build);

/* The file that an address is in; NULL: none that is known. */
const struct build_module *build_find_module(
	const struct build_trace *trace, uint32_t pid, uint64_t address);

/* "worker.c:12", "function+0x3", "program+0x4bc7", "0x55..."; the caller frees. NULL: out of memory. */
char *build_place_name(const struct build *build, uint32_t pid, uint64_t site);

/* own.c: an instance of a queue (of the trace) for each thread of the only group that gets from it; if several do, one. 0 or -ENOMEM. */
int build_own_instances(struct build *build, uint32_t queue, struct model_object *ret);

/* share.c: CPU time of a group of threads. */
struct build_work {
	double program_s; /* of all groups */
	double group_ns;
	double once_ns; /* in what each thread does once */
};
struct build_work build_work_of(const struct build *build, uint32_t group);

/*
 * What `recorded` threads did in equal parts, as a formula of how many there are: as much in all, or, with the parameter `own_work`,
 * as much for each, which one run cannot tell. The caller frees *ret. 0 or -ENOMEM.
 */
int build_common_work(
	struct build *build, double whole, const char *threads, double recorded, char **ret);

/* Lets the CPU time of a state change with the size of its pool, if it is a share of common work. 0 or -ENOMEM. */
int build_share(struct build *build, const struct build_work *work, uint32_t group,
	const struct build_state *state, struct model_dist *cpu);

/* Whether a loop's turns are rounds that all threads make together: they meet at a barrier in half of them, or more. */
bool build_is_rounds(const struct build_trace *trace, const struct build_graph *graph,
	const struct build_state *state, const struct build_law *law);

/* steady.c: how much CPU times differ between the halves of the run, of all CPU time. */
double build_unsteadiness(const struct build *build);
/* Half of the 95% confidence interval of all CPU time, relative to it: CPU times of the same code vary. */
double build_uncertainty(const struct build *build);

/* drift.c: how much more or less was asked for later in the run, relative to the time before; 0: no more than by chance. */
double build_drift_of_turns(
	const struct build *build); /* time for each item or request, of all such time */
/* How much that time goes up and down in the course of the run, as a standard deviation relative to its mean; 0: as by chance. */
double build_phases_of_turns(const struct build *build);
double build_drift_of_arrivals(const struct build *build);
/* Whether intervals between arrivals depend on one another, so that drawing them one by one loses their bursts. */
bool build_come_in_bursts(const struct build *build);

/* pace.c: who begins requests by itself, and how often as a parameter; after the graphs. 0 or -ENOMEM. */
int build_pace_find(struct build *build);
/* Lets a sleep of a group be shorter the more often it is to begin requests. 0 or -ENOMEM. */
int build_pace_set(struct build *build, uint32_t group, struct model_dist *sleep);
/* Lets the sleep of a group that stands for a limit be shorter the higher that is, a parameter. 0 or -ENOMEM. */
int build_limiter_set(struct build *build, uint32_t group, struct model_fragment *fragment);

/* cores.c: sets `taken`. From the steps as recorded, before they change. 0 or -ENOMEM. */
int build_taken(struct build *build);

/* order.c: leaves out locks that must have been tries. After the classes are known. 0 or -ENOMEM. */
int build_leave_out_tries(struct build *build);

/* took.c: takes the recorder's cost off all CPU times, if it is known. */
void build_take_off(struct build *build);

/* rounds.c: the queue of tickets for what a state does from one opening of a barrier to the next, whichever group does it; MODEL_NONE: none yet. */
uint32_t build_find_dealt(
	const struct build *build, const struct build_state *state, uint32_t barrier);
void build_add_dealt(
	struct build *build, const struct build_state *like, uint32_t barrier, uint32_t queue);

/* lead.c: what one of several threads does alone before a barrier becomes a step's lead. Before the groups are found. */
void build_leads_find(struct build_trace *trace, const struct build_arrivals *all);

/* level.c: rounds of different sizes, of which only the sum counts, get the same. After the deals, which are no arrivals' any more. */
void build_rounds_level(const struct build_arrivals *all);

/* deal.c: what threads took of a round's work, unseen, becomes pieces. Before the groups are found; after the leads. */
void build_deals_find(struct build *build, const struct build_arrivals *all);

/* batch.c: CPU time that grows with the items of a batch becomes that of each item. Before the groups are found. 0 or -ENOMEM. */
int build_batches_find(struct build *build);

/* notes.c: adds the model's notes, when all else is made. 0 or -ENOMEM. */
int build_add_notes(struct build *build);

/* emit.c: fills the model's group. */
int build_emit_group(struct build *build, uint32_t group);

#endif
