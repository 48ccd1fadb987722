/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine: simulated threads on simulated cores.
 *
 * The engine asks a thread for its next operation and plays it; who answers is a plug (`struct
 * sim_program`): a recorded trace (src/replay), a probabilistic call graph (model/graph), a
 * profile's epochs. What happens is emitted as `struct event`, as by a real run, so that the account
 * of criticality, bottle graphs and exports read simulated runs unchanged.
 *
 *	plug --next()--> engine --ready--> scheduler --> cores
 *	                   |  \--waiting--> mutex, barrier, queue, disk, ... --woken--> scheduler
 *	                   \--> struct event --> sink
 *
 * Time is in whole nanoseconds and ties are broken by the order in which things were scheduled:
 * the same plug, seed and options give the same events on any machine. A core of speed 1 does one
 * nanosecond of work in one nanosecond.
 *
 * Objects are made before sim_run() or from within next(), and live as long as the simulation. Each
 * kind is numbered from 0 in the order of making, and from 1 in events.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "trace/sink.h"

struct sim;

enum { SIM_NONE = UINT32_MAX };
enum { SIM_BACKGROUND = 1 };

enum sim_op_kind {
	SIM_COMPUTE, /* amount: ns of work at speed 1 */
	SIM_LOCK, /* mutex */
	SIM_UNLOCK,
	SIM_TRY_LOCK, /* result -EBUSY if it is held */
	SIM_SPIN_LOCK, /* as a mutex, but a waiting thread keeps its core */
	SIM_SPIN_UNLOCK,
	SIM_READ_LOCK, /* read-write lock; as glibc's: readers first unless made otherwise */
	SIM_WRITE_LOCK,
	SIM_RW_UNLOCK,
	SIM_BARRIER,
	SIM_COND_WAIT, /* condition; other: the mutex, which the thread holds. amount: timeout, 0: none;
	                  result -ETIMEDOUT */
	SIM_SIGNAL,
	SIM_BROADCAST,
	SIM_SEM_WAIT,
	SIM_SEM_POST, /* amount: how many, 0 is 1 */
	SIM_PUT, /* queue; item. Waits while a bounded queue is full */
	SIM_GET, /* queue; the result's item. Waits while it is empty; -EPIPE: closed and empty */
	SIM_TRY_PUT, /* -EAGAIN: full */
	SIM_TRY_GET, /* -EAGAIN: empty */
	SIM_CLOSE, /* queue: nothing more is put; getters that wait are told */
	SIM_DISK, /* disk; class; amount: device requests, one after the other, 0: all in the page
	             cache; other: SIM_BACKGROUND: all at once, and nobody waits for them (read-ahead,
	             write-back) */
	SIM_SLEEP, /* amount: ns */
	SIM_SPAWN, /* other: what the plug calls the new thread's program (its `start`); result: tid */
	SIM_JOIN, /* object: tid */
	SIM_EXIT,
	SIM_TAKE, /* one of a limit (descriptors, connections, threads); result -EMFILE: none left */
	SIM_GIVE,
	SIM_REQUEST_BEGIN, /* item: the request's number */
	SIM_REQUEST_END, /* item; amount: 0 served, else an error */
	SIM_REGION_BEGIN, /* object: the plug's id of a name */
	SIM_REGION_END,
	SIM_TICK, /* amount: units of work done */
	SIM_YIELD, /* to the back of the ready threads */
	SIM_STOP, /* ends the simulation */
	SIM_OP_KINDS,
};

/* What a thread does next. */
struct sim_op {
	enum sim_op_kind kind;
	uint32_t object; /* number of the mutex, queue, disk, ... */
	uint32_t other; /* by kind */
	uint32_t class; /* SIM_DISK: class of its requests */
	uint64_t amount; /* by kind */
	uint64_t item; /* SIM_PUT, SIM_REQUEST_* */
	uint64_t
		spin_ns; /* of who waits, if that is longer than the object's: see sim_set_spinning() */
	uint64_t site; /* goes into the events: call site of the operation, 0 if none */
};

/* How the thread's last operation ended. */
struct sim_result {
	int status; /* 0, or a negative errno as said above */
	uint64_t item; /* SIM_GET, SIM_TRY_GET: the item; SIM_SPAWN: tid */
	bool has_waited;
	uint64_t waited_ns; /* from asking to having it, waiting for a core included */
};

/*
 * The plug. next() is called once for each operation of a thread, in simulated time; `last` is that of
 * the thread's previous operation (at the first call: status 0, item: `other` of the SIM_SPAWN that
 * started it, which the parent has seen the result of before). It may make objects and draw from its own
 * generators. *ret is the thread's previous operation as it was given (at first its kind is SIM_OP_KINDS),
 * of which the fields that the new one does not use may stay. 0, or a negative errno, which ends the simulation and is returned by sim_run().
 */
struct sim_program {
	void *context;
	int (*next)(void *context, struct sim *sim, uint32_t tid, const struct sim_result *last,
		struct sim_op *ret, struct err *err);
	/* May be NULL. A request that a source made has ended, or was refused (status) by a full queue
	   or an exhausted limit. */
	void (*request_ended)(
		void *context, uint64_t request, uint64_t begin_ns, uint64_t end_ns, int status);
	/* May be NULL. What a thread (WHAT_THREAD, by its tid) or an object that was made without a name is called,
	   asked when an error is told; borrowed until the next call. NULL: it has none. */
	const char *(*name)(void *context, uint8_t what, uint32_t number);
};

enum sim_scheduler {
	SIM_FAIR, /* Linux's since 6.6: a queue for each core, virtual deadlines, migration; see fair.c */
	SIM_ROUND_ROBIN, /* one queue, quanta drawn from a distribution (Tarvo and Reiss, 4.1.2) */
};

/* A distribution of nonnegative times, in ns. Sampling takes no function of libm: same bytes anywhere. */
struct sim_dist {
	enum sim_dist_kind {
		SIM_FIXED, /* a */
		SIM_UNIFORM, /* a to b */
		SIM_EXPONENTIAL, /* mean a */
		SIM_EMPIRICAL, /* values: ascending quantiles at equal probability, interpolated */
		SIM_ERLANG, /* mean a, b stages */
	} kind;
	double a, b;
	const double *values; /* borrowed */
	uint32_t value_count;
};

/* What the scheduler's decisions take, and where it puts threads: 0 is no time, unless said otherwise. */
struct sim_kernel {
	/* Fair: a thread that is woken goes to the core that it had, idle or not, as where no cores share a cache;
	   else to an idle one if there is any. */
	bool wakes_in_place;
	/* The same, with Linux's slice: so many cores share a cache, of which a thread that is woken looks for an idle one unless they are too
	   busy: see idle_scan.h. 0: it always looks. */
	uint32_t cache_cores;
	/* Fair, with Linux's slice: an idle core leaves a thread that ran so recently where its data are, until a tick. 0: 0.5 ms, Linux's. */
	uint64_t hot_ns;
	/*
	 * The same: how long threads share a core beside an idle one, in the middle, until a tick passes one on: Linux may try at several in vain. 0: until
	 * the first.
	 */
	uint64_t part_ns;
	/*
	 * Fair, with Linux's slice: how long it is in the mean, exponentially distributed, until one of the kernel's threads runs on a
	 * cpu for a moment, behind which its thread goes on only if it is the next. 0: there are none.
	 */
	uint64_t brief_ns;
	uint64_t switch_ns; /* cost of a context switch, to the core */
	uint64_t yield_switch_ns; /* of one by SIM_YIELD; 0: as any other */
	/* From a wake-up to running, where a core idles that has to wake up first; a switch is part of it. Fixed, a 0: no time. */
	struct sim_dist wake;
	uint64_t
		doze_ns; /* who is woken so soon after it began to wait was not asleep yet: neither */
	uint64_t
		wake_cost_ns; /* CPU time that it costs the thread that wakes one which has to wake up a core */
	/* CPU time that it costs the thread that wakes one which was not asleep yet; that one goes on when it would have slept, behind
	   its own call. 0: at once, and nothing (the work has it). */
	uint64_t doze_cost_ns;
	/* The same: what is given back so soon after it was asked for was not seen taken: the other core kept its line for so long. */
	uint64_t hold_ns;
	/* Of a core that has idled for longer, 0: never, which is asleep itself: instead of `wake` and wake_cost_ns. */
	uint64_t halt_ns, halted_wake_ns, halted_wake_cost_ns;
	/* Such a core learns: woken within halt_ns it stays awake for so long the next time, then twice as long each time, up to halt_ns;
	   woken later, not at all. 0: it always stays awake for halt_ns. */
	uint64_t halt_start_ns;
	/* Fair: a thread is woken from one core that takes another one from the thread that runs there: what that core loses before the
	   woken thread runs, and what the thread that woke it does. */
	uint64_t interrupt_ns, interrupt_cost_ns;
	/* CPU time that it costs the thread that wakes one which then waits for a core that others have. */
	uint64_t queued_cost_ns;
};

struct sim_options {
	uint64_t seed;
	uint32_t cores; /* 0: as many as threads, none ever waits for one */
	const double *speed; /* one for each core; NULL: all 1. Borrowed */
	uint32_t
		threads_per_core; /* SMT: `cores` physical cores of so many; 0 is 1. EVENT_RUN counts
	                              them from 0: core * threads_per_core + thread */
	double smt_factor; /* speed of each of two busy siblings, of the core's; 0 is 0.6 */
	enum sim_scheduler scheduler;
	struct sim_dist
		quantum; /* round robin; a 0 is 100 ms fixed. Fair: a is the slice; 0: Linux's, by the
	                    number of cores, which ends with a tick of 4 ms */
	struct sim_kernel kernel;
	double others; /* fair: so many cores other programs have, in turns: see others.c. 0: none */
	uint64_t stop_ns; /* simulated time at which it ends; 0: when all threads have exited */
	uint64_t event_limit; /* -E2BIG beyond; 0: none */
	const struct event_sink *sink; /* NULL: none. Borrowed */
};

/* A disk: a queue of the I/O scheduler before a device. */
struct sim_disk_options {
	uint32_t parallelism; /* requests that the device serves at once; 0 is 1 */
	const struct sim_dist *service; /* one for each class; copied */
	uint32_t class_count;
	enum sim_disk_order {
		SIM_DISK_FIFO,
		SIM_DISK_RANDOM, /* any of the queue, as blocks are not known (Tarvo and Reiss, 4.1.3) */
		SIM_DISK_BATCH, /* they end together, when all that came meanwhile have been served, too:
		                   after the sum of their times (by the parallelism) */
	} order;
	uint64_t
		latency_ns; /* from the end of a request until its thread is told: shared with nobody */
};
enum { SIM_DISK_PARALLELISM_MAX = 65536 };

/* Where requests come from: numbered items, put into a queue. */
struct sim_source_options {
	enum sim_source_kind {
		SIM_POISSON, /* interval.a: mean, ns */
		SIM_INTERVALS, /* drawn from `interval` */
		SIM_CLOSED, /* `population` clients, each thinks for a draw of `interval`, then asks and waits for
		               its request's end */
		SIM_ARRIVALS, /* at times[], ns, ascending; borrowed */
		SIM_BATCH, /* `limit` at time 0 */
	} kind;
	struct sim_dist interval;
	uint64_t way_ns; /* SIM_CLOSED: longer than that a client is away, each time */
	uint32_t population;
	const uint64_t *times;
	uint64_t limit; /* of requests; 0: none */
	uint32_t queue; /* where they go */
	uint32_t
		queues; /* that one and those after it, in turn; of a client always the same; 0: 1 */
	uint32_t resource; /* limit of which each takes one until its end, SIM_NONE: none */
	bool does_wait_for_room; /* a full queue holds the source back instead of refusing */
};

enum sim_object_kind {
	SIM_MUTEX,
	SIM_SPIN,
	SIM_RWLOCK,
	SIM_BARRIERS,
	SIM_COND,
	SIM_SEM,
	SIM_QUEUE,
	SIM_LIMIT,
	SIM_DISKS,
	SIM_SOURCES,
};

/* All: 0 or -EINVAL, -ENOMEM; *ret is the object's number. Names are copied, may be NULL. */
int sim_new(const struct sim_options *options, const struct sim_program *program, struct sim **ret,
	struct err *err);
void sim_free(struct sim *sim);
int sim_add_mutex(struct sim *sim, const char *name, uint32_t *ret);
int sim_add_spin(struct sim *sim, const char *name, uint32_t *ret);
int sim_add_rwlock(struct sim *sim, const char *name, bool writers_first, uint32_t *ret);
int sim_add_barrier(struct sim *sim, const char *name, uint32_t threads, uint32_t *ret);
int sim_add_cond(struct sim *sim, const char *name, uint32_t *ret);
int sim_add_sem(struct sim *sim, const char *name, uint64_t value, uint32_t *ret);
int sim_add_queue(
	struct sim *sim, const char *name, uint64_t capacity, uint32_t *ret); /* 0: unbounded */
int sim_add_limit(struct sim *sim, const char *name, uint64_t count, uint32_t *ret);
int sim_add_disk(
	struct sim *sim, const char *name, const struct sim_disk_options *options, uint32_t *ret);
int sim_add_source(
	struct sim *sim, const char *name, const struct sim_source_options *options, uint32_t *ret);

/*
 * From now on a mutex or spin lock that is given back belongs at once to who has waited longest (priority
 * inheritance, ticket and MCS locks); without this it is free for whoever asks first, as glibc's.
 */
int sim_set_handover(struct sim *sim, enum sim_object_kind kind, uint32_t object);

/*
 * From now on who waits for this mutex, barrier or semaphore is not asleep before so long, if that is longer than
 * options.doze_ns: it spins first. The core is free meanwhile: only for who has cores enough for all its threads. -EINVAL: there is no such object.
 */
int sim_set_spinning(struct sim *sim, enum sim_object_kind kind, uint32_t object, uint64_t spin_ns);

/* How many threads wait for an item of a queue; 0: none, or there is no such queue. */
uint32_t sim_waiting_for(struct sim *sim, uint32_t queue);

/*
 * When nothing else can happen, who waits for an item of this queue or for this semaphore is lent one (an item with number 0), and
 * who waits for room in the queue gets that of its oldest item: for threads whose ways are drawn, so that what they put is not
 * what they get to the last one. Who gives back to such a limit what nobody has taken goes on, likewise. At most once for each thread and as often as was really taken; few are once for each thread and one of
 * `of` that were taken; 0: any number, which are few.
 * -EINVAL: there is no such queue, semaphore or limit.
 */
enum { SIM_LENT_OF = 20 };
int sim_set_lending(struct sim *sim, enum sim_object_kind kind, uint32_t object, uint32_t of);

/*
 * Whenever the barrier opens the queue is filled up to so many items with number 0, or emptied to as many: the pieces of
 * what threads do from there to the next time. -EINVAL: there is no such queue or barrier, or the queue has one already.
 */
int sim_set_refill(struct sim *sim, uint32_t queue, uint32_t barrier, uint64_t items);

/* How often more than few were lent: then the simulated threads do not do what those of a program would that gets on by itself. */
uint64_t sim_lent_beyond_few(const struct sim *sim);

/*
 * A thread that exists at time 0; tids count from 1. `affinity`: cores that it may use, bit by bit (a core
 * with all its hardware threads); NULL: all; -EINVAL: none of them is there.
 */
int sim_add_thread(struct sim *sim, const char *name, const uint64_t *affinity, uint32_t *ret_tid);

/* Changes a core's speed from now on (also from within next() or an event's sink). */
int sim_set_speed(struct sim *sim, uint32_t core, double speed);

/* The same for affinity, which may be changed from within next(), not from a sink. */
int sim_set_affinity(struct sim *sim, uint32_t tid, const uint64_t *cores);

/*
 * Calls tick() after each period_ns of simulated time, while there is something else to come: for who
 * steers the simulation by the clock. Before sim_run(), once. -EINVAL, -ENOMEM; what tick() returns
 * below 0 ends the simulation.
 */
int sim_add_tick(struct sim *sim, uint64_t period_ns, int (*tick)(void *context, struct sim *sim),
	void *context);
/* The simulated time, ns. */
uint64_t sim_now(const struct sim *sim);

/* The generator from which the engine draws, of options.seed; borrowed. */
struct rng *sim_rng(struct sim *sim);

/* One value of a distribution: ns of work, sleep or service. */
uint64_t sim_draw(const struct sim_dist *dist, struct rng *rng);

/* Of an empirical distribution, the time that the share `at` (0 to 1) of draws is below. */
uint64_t sim_quantile(const struct sim_dist *dist, double at);

/*
 * Plays until all threads have exited, SIM_STOP, stop_ns, or until sources have run dry and nothing is
 * left to do; then it finishes the sink. 0; -EDEADLK (err says who waits for whom), -EPERM, -EINVAL (an
 * operation that makes no sense), -ELOOP (no time passes), -E2BIG, -ENOMEM, what next() or the sink
 * returned. Once for each simulation.
 */
int sim_run(struct sim *sim, struct err *err);

/* Since the start; 0 of what is not there. */
struct sim_thread_stats {
	uint64_t ran_ns, work_ns, ready_ns,
		waited_ns; /* on a core; work done; waiting for a core; blocked */
};
struct sim_object_stats {
	uint64_t uses,
		waits; /* acquisitions, arrivals, puts, device requests, requests of a source;
	                         those that waited */
	uint64_t waited_ns; /* summed over threads; disk: in its queue; of waits that are over */
	uint64_t
		held_ns; /* lock: held; disk: service; queue: stays of items; of those that are over */
	double length_ns; /* integral of mean_length over time */
	double mean_length; /* time average of those in it: queue: items; lock, disk: waiting and served;
	                       limit: taken */
	uint64_t max_length, refused;
};
void sim_thread_stats(const struct sim *sim, uint32_t tid, struct sim_thread_stats *ret);
void sim_object_stats(const struct sim *sim, enum sim_object_kind kind, uint32_t object,
	struct sim_object_stats *ret);
/* Time in which it had a thread, summed over its hardware threads. */
uint64_t sim_core_busy_ns(const struct sim *sim, uint32_t core);
/* Things that happened at a time of their own: ends of computing, sleep and service, arrivals, ... */
uint64_t sim_event_count(const struct sim *sim);
/* Context switches that cost `switch_ns`. */
uint64_t sim_switch_count(const struct sim *sim);

#endif
