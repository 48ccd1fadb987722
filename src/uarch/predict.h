/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long a profiled program takes on a processor: RPPM.
 *
 *	struct rppm *rppm;			once for a profile
 *	rppm_new(&profile, &opts, &rppm, err);
 *	struct event_sink sink = rppm_sink(rppm);
 *	... the profile's timeline is fed to the sink, which it finishes ...
 *	rppm_run(rppm, &(struct predict_run){ .processor = &p }, &prediction, err);
 *
 * First how long an instruction of each class takes (equation 1 of De Pestel, Van den Steen, Akram, Eeckhout,
 * "RPPM", ISPASS 2019: caches by StatStack, the core by its micro-traces), then who waits for whom (Algorithm 2:
 * the replay of the timeline, replay/replay.h). Memory that all cores share: a stated extension, see
 * docs/models/rppm.md.
 */
#ifndef UARCH_PREDICT_H
#define UARCH_PREDICT_H

#include "base/cleanup.h"
#include "replay/replay.h"
#include "sim/sim.h"
#include "trace/sink.h"
#include "uarch/core.h"
#include "uarch/energy.h"
#include "uarch/processor.h"
#include "uarch/profile.h"

enum { PREDICT_MICRO_DEFAULT = 64000 };

struct meaning;
struct rppm;

struct predict_opts {
	const struct meaning *meaning; /* of the same events; borrowed. NULL: see replay.h */
	size_t micro_instructions; /* of micro-traces that stand for the program; 0: PREDICT_MICRO_DEFAULT */
};

/* Borrows the profile. 0, -EINVAL (it has no timeline or class), -ENOMEM. */
int rppm_new(const struct profile *profile, const struct predict_opts *opts, struct rppm **ret,
	struct err *err);
void rppm_free(struct rppm *rppm);
CLEANUP_DEFINE(rppm, rppm_free)

/* Borrows the rppm; once. */
struct event_sink rppm_sink(struct rppm *rppm);

/* After -EDEADLK, as replay_stuck(): a predictor without those meanings may come through. */
bool rppm_stuck(const struct rppm *rppm, size_t n, uint32_t *ret_meaning);
/* Also after -EDEADLK, as replay_settle(). */
bool rppm_settle(struct rppm *rppm);

/* Of the timeline, after the sink was finished: times are the profiler's, CPU times are instructions. */
void rppm_facts(const struct rppm *rppm, struct replay_facts *ret);

/* What cycles went to. The first are those of enum core_component. */
enum {
	PREDICT_SYNC = CORE_COMPONENTS, /* waiting for others or for a core, and what locks cost */
	PREDICT_PARTS,
};
const char *predict_part_name(unsigned part);

/* A class on a processor. */
struct predicted_class {
	double cpi; /* cycles per instruction */
	double stack[CORE_COMPONENTS]; /* sums to cpi */
	double mispredicted; /* of a conditional branch */
	double beyond[PROCESSOR_LEVELS_MAX]; /* of an access to data: odds of statstack.h */
	double uops; /* per instruction */
	double memory_lines; /* per instruction, to and from memory, written back ones too */
	double queue_cycles; /* on top of memory's latency, for each line: others use it too */
	bool is_own; /* from its own micro-traces; else what classes like it take */
};

struct predicted_thread {
	uint32_t pid, tid;
	uint64_t instructions;
	double stack[PREDICT_PARTS]; /* cycles per instruction of this thread; sum over its life */
	double cpi;
	struct replay_time time;
};

struct prediction {
	uint64_t ns;
	uint32_t cores;
	struct predicted_class *classes; /* as the profile's */
	size_t class_count;
	struct predicted_thread *threads; /* as replay_thread() */
	size_t thread_count;
	double stack[PREDICT_PARTS]; /* cycles per instruction, all threads */
	double instructions;
	bool has_pages; /* the profile has reuse distances of pages */
	double unmatched; /* of them: of stretches of no class */
	double own_share; /* of instructions, that classes with micro-traces of their own have */
	double memory_bytes; /* to and from memory */
	/* Of as many cores as there are threads: others can be off. All 0: no power model. */
	struct energy energy;
	/* Section II-C: only the first thread's active time; the longest active time of any. */
	uint64_t main_ns, crit_ns;
};
void prediction_release(struct prediction *prediction);

struct predict_run {
	const struct processor *processor; /* borrowed, as all here */
	uint32_t cores; /* 0: the processor's */
	uint64_t seed; /* of what is drawn: any is as good as another */
	const struct event_sink *sink; /* the predicted timeline; NULL: none */
};

/*
 * May be called any number of times; one thread at a time. *ret is released by prediction_release(). 0; -EINVAL,
 * -ERANGE (longer than 39 hours), -EDEADLK, -ENOMEM, what the sink returned.
 */
int rppm_run(
	struct rppm *rppm, const struct predict_run *run, struct prediction *ret, struct err *err);

/* What the kernel takes on it to switch and wake threads, and where it puts them. */
struct sim_kernel processor_kernel(const struct processor *processor);

#endif
