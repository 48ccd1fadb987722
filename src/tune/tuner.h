/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller as a state machine: the performance of the last interval goes in, the thread count
 * of the next one comes out. It knows no clock and changes nothing itself. An interval may come in parts: then it
 * ends as soon as its count is clearly better or worse than the best one (interval.h), so that what is bad is left early.
 *
 *	             measured                       nothing promises more
 *	start --> SEARCHING <--> policy chooses ------------------------> HOLDING
 *	              ^                                                      |
 *	              '-------- a change of the stable performance ----------'
 *
 * While it holds, every interval refines what it knows of the count it holds, and the policy is asked again: where
 * noise had flattered that count, another one is held, or the search goes on. A test for a change point (change.h)
 * watches: a workload that changed starts the search over, from the count that is held. Now and then, if asked to, it
 * looks at the count that was not measured for longest; the same test says whether that has changed. It begins with that behind
 * each search: if the workload grew meanwhile, the counts that were measured first are known too low.
 *
 * What is known of a count from the intervals in which the change was seen may be of both workloads. Before another
 * count is held, such a one is measured once more.
 */
#ifndef TUNE_TUNER_H
#define TUNE_TUNER_H

#include "base/cleanup.h"
#include "base/err.h"
#include "tune/policy.h"

enum tuner_state { TUNER_SEARCHING, TUNER_HOLDING };

struct tuner_opts {
	struct tune_space space; /* max is required; min 0 is 1 */
	const struct tune_policy *policy; /* NULL: the default */
	double false_alarm; /* chance, per held interval, to see a change where there is none; 0: 1e-4 */
	/* Share of the work that may be spent, while a count is held, on looking whether others are still
	   worse: a change that leaves the held count's performance as it was shows only there; and as much on
	   counts that were never measured, where a gap promises something (gap.h). 0: none. */
	double look;
	uint64_t seed;
};

enum { TUNER_WHY_BYTES = 160 };

struct tuner_decision {
	uint32_t threads; /* for the next interval, or the next part of this one */
	bool is_decided; /* an interval has ended; else it goes on */
	double performance; /* of that interval */
	enum tuner_state state;
	bool has_restarted; /* this interval showed that the workload changed */
	bool is_look; /* for one interval, or two; `held` goes on then unless something has changed */
	uint32_t held; /* else the same as threads */
	uint32_t steps; /* intervals of this search so far */
	char why[TUNER_WHY_BYTES]; /* why this count, for a person */
};

struct tuner;

/* 0, -EINVAL (bounds, no room for them), -ENOMEM. *ret_first is the first count to run. */
int tuner_new(const struct tuner_opts *opts, struct tuner **ret, struct tuner_decision *ret_first,
	struct err *err);

/*
 * The part of an interval that ran with the last decision's count had this performance (a rate, more is better)
 * and this share of a whole interval (1: all of it). What is not positive and finite says nothing: the same count
 * runs again. 0 or -ENOMEM.
 */
int tuner_measured(struct tuner *tuner, double performance, double share,
	struct tuner_decision *ret, struct err *err);

/* From now on up to so many counts may be chosen, more than before. 0, -EINVAL or -ENOMEM. */
int tuner_widen(struct tuner *tuner, uint32_t max, struct tuner_decision *ret, struct err *err);

/* What is known since the workload last changed. Borrowed until the next call. */
struct tune_set tuner_measurements(const struct tuner *tuner);

void tuner_free(struct tuner *tuner);

CLEANUP_DEFINE(tuner, tuner_free)

#endif
