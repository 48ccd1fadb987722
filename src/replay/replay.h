/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A recorded run, played again on other cores, or with a part of it made faster or left out.
 *
 *	struct replay_opts opts = { .cores = 2 };
 *	AUTO(replay) struct replay *replay = NULL;
 *	replay_new(&opts, &replay, err);
 *	struct event_sink sink = replay_sink(replay);
 *	... a source feeds the sink and finishes it ...
 *	replay_run(replay, &(struct replay_run){ .cores = 16, .sink = &events }, &ns, err);
 *
 * From the events of each thread come its operations with the CPU time before each; the engine (sim.h)
 * plays them. What is kept of the recording is what each thread does and computes, but for pieces of
 * work that threads take from a common supply; who gets these, who gets a lock first, who waits and how
 * long, is decided anew. Method and limits: docs/models/replay.md, after De
 * Pestel, Van den Steen, Akram, Eeckhout, "RPPM", ISPASS 2019, section III-B, and Tarvo and Reiss,
 * "Using Computer Simulation to Predict the Performance of Multithreaded Programs", ICPE 2012.
 *
 * Memory: 40 bytes for each operation of the recording.
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "base/cleanup.h"
#include "sim/sim.h"
#include "trace/reader.h"
#include "trace/sink.h"

#include <stdbool.h>
#include <stddef.h>

enum { REPLAY_CORES_MAX = 1024, REPLAY_CHANGES_MAX = 10000 };

/* How many times as fast work can be made; several changes together are taken as the least, at least. */
#define REPLAY_FACTOR_LEAST 1e-4
#define REPLAY_FACTOR_MOST 1e6

struct meaning;
struct sim;
struct replay;

struct replay_opts {
	uint32_t cores; /* that the recorded run could use; 0: unknown, then as many as it needed */
	struct trace_wakes wakes; /* of the recorded machine, where the events do not tell */
	struct trace_others others; /* what others took of its cores meanwhile */
	const struct meaning
		*meaning; /* of the same events; borrowed. NULL: conditions in recorded order */
	/* What reports call a thread (WHAT_THREAD, by its tid) or an object, borrowed until the next call; NULL: as the recording
	   does. Asked where a deadlock is told. May be NULL. */
	const char *(*name)(void *context, uint32_t pid, uint8_t what, uint64_t number);
	void *name_context;
	/*
	 * Not NULL: the events' CPU times count work (a profile's instructions) that takes no certain time.
	 * Which kind of stretch of its thread's work begins with this event: what run.duration() is told. What
	 * the recorded run says of its machine (facts: available, wake_ns, block_ns) does not matter then.
	 */
	uint16_t (*stretch)(void *context, const struct event *event);
	void *stretch_context;
};

/* 0 or -ENOMEM. */
int replay_new(const struct replay_opts *opts, struct replay **ret, struct err *err);
void replay_free(struct replay *replay);
CLEANUP_DEFINE(replay, replay_free)

/* Borrows the replay; once. Its finish() fails with -EINVAL when there is nothing to replay,
   -ERANGE when it is longer than 39 hours. */
struct event_sink replay_sink(struct replay *replay);

/* What the recording says, after the sink was finished. */
struct replay_facts {
	uint64_t measured_ns; /* from the first event to the end of the last thread */
	uint32_t cores; /* as told, or as found */
	bool has_cores; /* told, or seen in the events */
	bool has_cpu_times; /* else times between events stand for them */
	double available; /* share of the cores that the run got when it could have used them */
	/* With a core to spare; when it wanted all; when it wanted twice as many or more. The latter two
	   hold for the recorded cores only. */
	double available_spare, available_full, available_crowded;
	double others; /* cores that other programs have in turns; 0: as much slower are the cores, as above */
	bool wakes_in_place; /* as in struct sim_options: the way that reproduces the recording better */
	uint64_t wake_ns; /* from a wake-up to running again, on a free core: median */
	uint64_t
		wake_cost_ns; /* CPU time that it costs to wake a thread that has to wake up a core; 0: not told apart */
	uint64_t block_ns; /* CPU time that a wait costs who waits: lower quartile */
	size_t threads, operations;
	uint64_t
		in_turns; /* locks, semaphores, barriers that are played otherwise: see replay_settle() */
	size_t supplies; /* places from where threads take pieces of work: see supply.c */
	uint64_t dealt; /* such pieces, which go to whoever asks first */
	uint64_t
		shared_rounds; /* of work that threads seem to share out while they do it: see pool.c */
	uint64_t polls; /* loops of pauses that end when others have come to rest: see polls.c */
	uint64_t
		tickers; /* threads that do something from time to time until they are joined: see tickers.c */
	uint64_t conditions,
		by_order; /* waits for conditions; those replayed in the recorded order */
	uint64_t unended; /* waits that had not ended when the recording did */
	uint64_t lost; /* events that were not recorded */
	uint64_t left_out; /* free locks, by the recorder's budget: they are computing here */
};
void replay_facts(const struct replay *replay, struct replay_facts *ret);

/* What a change is about. */
enum replay_target_kind {
	REPLAY_THREAD, /* number: tid */
	REPLAY_LOCK, /* what, number: address; the time that a thread holds it */
	REPLAY_SITE, /* number: address; the code that leads up to the call there */
	REPLAY_REGION, /* number: id; between its marks */
};

struct replay_target {
	enum replay_target_kind kind;
	uint8_t what;
	uint32_t pid;
	uint64_t number;
};

struct replay_change {
	struct replay_target target;
	double factor; /* the CPU time there takes 1/factor; 0: the lock is not taken at all */
	uint64_t cores[REPLAY_CORES_MAX / 64]; /* bits of those that a thread may use; all 0: any */
};

/* What became of a thread. */
struct replay_time {
	uint32_t pid, tid;
	uint64_t ran_ns, ready_ns, waited_ns; /* on a core; waiting for one; for others */
	uint64_t operation_ns; /* of ran_ns: what operations cost by themselves */
};

struct replay_run {
	uint32_t cores; /* 1 to REPLAY_CORES_MAX; 0: as recorded */
	uint64_t
		seed; /* 0: as recorded; else stretches a little longer or shorter, and what is not known guessed */
	const struct replay_change *changes; /* borrowed */
	size_t change_count;
	const struct event_sink *sink; /* the simulated timeline; NULL: none. Borrowed */
	/* Called with the engine before it runs, for who steers it; then all speeds are the caller's:
	   they begin at facts.available_spare and are not changed. NULL: none. */
	int (*begin)(void *context, struct sim *sim);
	void *begin_context;
	/*
	 * With opts.stretch: the time that a core of speed 1 needs for *work of such a stretch, or for a part of
	 * it: *work becomes what is left, for which it is asked again when that time has passed. Called in order
	 * of simulated time.
	 */
	uint64_t (*duration)(void *context, uint32_t thread, uint16_t stretch, uint64_t *work);
	/*
	 * Also with opts.stretch; NULL: nobody asks. What the thread does next is what thread `list` did in the recording, after
	 * so much work: a piece of work that was dealt to it, or its own again.
	 */
	void (*moves)(void *context, uint32_t thread, uint32_t list, uint64_t work);
	void *duration_context; /* of both */
	/* Also with opts.stretch: what acquiring, releasing, posting and signalling cost by themselves, and sched_yield() where nobody
	   waits for the core; the rest of what waiting takes, and hot_ns, where it takes over Linux's slices (0: an idle core
	   takes who waits at once). Of the machine that it is played on. */
	double operation_ns; /* parts of a ns add up */
	uint64_t yield_ns;
	bool locks_overlap; /* taking and giving back goes on beside the work before it, where the lock's line is near */
	struct sim_kernel kernel;
	uint64_t
		transfer_ns; /* what acquiring costs more when another thread was the last to do so */
	double transfer_spread; /* of that, what is another time each time, exponentially distributed, in the mean: 0 .. 1 */
	struct replay_time *
		times; /* NULL, or room for facts.threads of them, in the order of replay_thread() */
};

/*
 * Plays it. *ret_ns is how long it took. 0; -EINVAL (a change that cannot be made: err says which),
 * -EDEADLK (err says who waits for whom), -ENOMEM, what the sink returned. May be called any number of
 * times.
 */
int replay_run(
	struct replay *replay, const struct replay_run *run, uint64_t *ret_ns, struct err *err);

/*
 * After -EDEADLK: the n-th of the conditions that threads waited for by a meaning (its index, see
 * meaning.h); false: no more. A replay without those meanings (meaning_forget()) may come through.
 */
bool replay_stuck(const struct replay *replay, size_t n, uint32_t *ret_meaning);

/*
 * After -EDEADLK with no such condition: loops of pauses take as long as they did, where one of them never ended; work is
 * not dealt anew any more; then, locks and semaphores for which threads waited then are taken in the recorded
 * order from now on, and barriers are none. False: all of them were already.
 */
bool replay_settle(struct replay *replay);

/* The n-th thread, as duration() calls it; false: no more. */
bool replay_thread(const struct replay *replay, uint32_t n, uint32_t *ret_pid, uint32_t *ret_tid);

/* Of a replay as it was recorded: its time over the measured one, less 1. */
double replay_error(const struct replay *replay, uint64_t replayed_ns);

/*
 * What a prediction may be off by, in nine of ten cases: the span of its replications, wider by the replay's own
 * error, and the more the further the time is from that of the replay without a change.
 */
struct replay_spread {
	double error; /* replay_error() */
	uint64_t replayed_ns, predicted_ns;
	uint64_t least_ns, most_ns; /* of the replications */
};
void replay_interval(
	const struct replay_spread *spread, uint64_t *ret_low_ns, uint64_t *ret_high_ns);

/* Not what is no lock, or a futex: who held it is not known. A semaphore is one if those who post it had taken it. */
bool replay_can_speed_up(const struct replay *replay, const struct replay_target *target);

/* Nor can locks be left out that guard a condition. */
bool replay_can_leave_out(const struct replay *replay, const struct replay_target *target);

/* The n-th region with its name (borrowed; NULL: none), and the n-th call site; false: no more. */
bool replay_region(
	const struct replay *replay, size_t n, struct replay_target *ret, const char **ret_name);
bool replay_site(const struct replay *replay, size_t n, struct replay_target *ret);

#endif
