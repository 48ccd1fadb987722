/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the parts of the engine share. A thread's life:
 *
 *	                     op that waits               wake()
 *	   +-----> RUNNING ----------------> WAITING -----------> [WAKING] --+
 *	   |          | slice over                                           |
 *	   +-------- READY <-------------------------------------------------+
 *	 gets a core
 *
 * RUNNING: it has a core (or there are as many as threads); it computes until its timer rings, or stands
 * in `runnable` to be continued in this instant. What it does between two computations takes no time.
 *
 * An operation is one function, called when the thread comes to it and again each time it was woken
 * while waiting for it, because what it waited for may be gone: as with a futex, a lock that was given
 * back belongs to whoever asks first, and who was woken for it waits again if that was another.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "sim/dist.h"
#include "sim/pending.h"
#include "sim/sim.h"

#include <stddef.h>

/* Simulated time ends before sums of two times overflow: 146 years. */
#define TIME_MAX_NS (UINT64_C(1) << 62)

enum {
	OP_DONE = 0,
	OP_WAITS = 1, /* or computes, or has exited: the engine turns to another thread */
};

enum thread_state {
	THREAD_NEW,
	THREAD_RUNNING,
	THREAD_READY,
	THREAD_WAITING,
	THREAD_WAKING, /* between a wake-up and being runnable */
	THREAD_EXITED,
};

/* Threads in order of arrival, linked through `next` and `previous`; 0: none. */
struct waiters {
	uint32_t head, tail;
};

struct sim_thread {
	uint64_t since_ns; /* of the state */
	double work_left; /* ns at speed 1, of the computation that it is at */
	uint64_t segment_ns; /* since when it computes at the present speed */
	uint64_t cpu_ns; /* on a core */
	struct sim_op op;
	struct sim_result result;
	uint64_t asked_ns; /* when it came to the operation that it waits for */
	uint64_t woken_ns;
	uint64_t virtual_ns, deadline_ns, protected_ns; /* fair: see fair.c */
	uint64_t ran_until_ns; /* when it last had a cpu */
	int64_t lag_ns; /* of one that sleeps */
	uint32_t queue; /* of which cpu, if it stands in one */
	bool is_kept; /* it sleeps, and stands there yet, for its debt */
	double switch_left; /* ns, of a context switch that it has not done yet */
	uint64_t instant_ns; /* time of its last operation */
	uint32_t instant_ops; /* operations at that time */
	uint32_t tid, timer, waker;
	uint32_t cpu, last_cpu; /* that it has; that it had, or is woken on. SIM_NONE: none */
	uint32_t affinity; /* index of its set of cores */
	uint32_t next, previous;
	struct waiters joiners;
	uint64_t sleeps_ns; /* from when on it is asleep, if it still waits */
	uint64_t requests_left; /* of a disk operation */
	uint32_t read_holds; /* read-write locks that it reads */
	uint8_t state; /* enum thread_state */
	uint8_t stage; /* of an operation with several */
	uint8_t wait_what; /* and wait_number: what it waits for, as in its events */
	bool is_dozing; /* until sleeps_ns it is in the call in which it goes to sleep, and does not spin */
	bool is_late; /* it waited: for the flags of PASS */
	bool has_timed_out;
	bool is_computing; /* or spinning: since segment_ns, until end_ns or its slice ends */
	bool is_spinning;
	bool is_listed; /* in the list of the spin lock that it waits for */
	bool is_between; /* its operation is over, and it has not been asked for the next */
	bool must_yield; /* a thread that was woken takes its core when its operation is over */
	uint64_t end_ns;
	uint64_t wait_number;
	uint32_t start, parent;
	/* Since the start, but for the state that it is in. */
	uint64_t ran_ns, ready_ns, waited_ns;
	double work_ns;
	char *name;
};

/* What all objects have: a name and what is counted. */
struct object {
	char *name;
	uint64_t uses, waits, waited_ns, held_ns, refused;
	uint64_t length, max_length, length_ns; /* now; greatest; when it changed */
	uint64_t spin_ns; /* see sim_set_spinning() */
	unsigned __int128 area; /* length times ns */
};

struct lock { /* mutex, spin lock */
	struct object object;
	uint64_t held_since_ns;
	uint32_t owner; /* tid; 0: free */
	bool hands_over; /* to the first that waits; else it is free for whoever asks first */
	bool is_contended; /* mutex: who gives it back wakes one that waits */
	struct waiters waiters;
};

struct rwlock {
	struct object object;
	uint64_t held_since_ns;
	uint32_t writer, readers, writers_pending;
	uint32_t next_writer; /* waits for the readers to leave, and has it then; 0 */
	bool writers_first;
	bool is_contended; /* who writes next wakes another writer behind it, as a mutex's owner */
	struct waiters waiting_readers, waiting_writers;
};

struct barrier {
	struct object object;
	uint32_t threads, arrived;
	uint32_t refills; /* first queue that is filled again when it opens; SIM_NONE */
	struct waiters waiters;
};

struct cond {
	struct object object;
	struct waiters waiters;
};

/* Of what may be lent: see sim_set_lending(). */
struct lender {
	uint64_t taken, lent;
	uint32_t of;
	bool lends;
};

struct sem {
	struct object object;
	struct lender lender;
	uint64_t value;
	struct waiters waiters;
};

struct queue_item {
	uint64_t item, since_ns;
};

struct queue {
	struct object object;
	struct queue_item *items; /* a ring */
	size_t ring_capacity, first, count;
	uint64_t capacity; /* 0: unbounded */
	struct waiters getters, putters;
	uint32_t held_source; /* first source that waits for room; SIM_NONE */
	uint64_t refill; /* to so many items, when a barrier opens */
	uint32_t next_refill; /* the next queue that the same barrier fills; SIM_NONE */
	struct lender lender;
	bool is_closed;
};

struct limit {
	struct object object;
	uint64_t count, used;
	struct lender lender;
};

/* A device request: of a thread that waits for it, or of nobody. */
struct disk_request {
	uint64_t since_ns;
	uint64_t service_ns; /* in a batch: its own part */
	uint32_t class, tid;
};

struct disk {
	struct object object;
	struct sim_dist *service;
	uint32_t class_count, parallelism, busy;
	enum sim_disk_order order;
	uint64_t latency_ns;
	uint32_t first_timer; /* of `parallelism` timers */
	struct disk_request *serving; /* one for each of the device's places */
	size_t batch_count; /* requests in the queue that end together */
	uint64_t batch_end_ns;
	struct disk_request *queue;
	size_t queue_first, queue_count, queue_capacity; /* a ring */
	uint32_t *free_places;
};

struct source {
	struct object object;
	struct sim_source_options options;
	uint32_t first_timer; /* one; closed: one for each client */
	uint64_t made;
	uint64_t *held; /* requests that wait for room: a ring */
	uint32_t held_first, held_count, held_capacity;
	uint32_t next_held; /* source that waits for room in the same queue */
	bool is_dry; /* makes no more requests */
};

struct request {
	uint64_t number; /* 0: free place */
	uint64_t begin_ns;
	uint32_t source, client;
};

struct cpu {
	uint32_t thread; /* 0: idle */
	uint32_t last; /* that ran last */
	uint32_t core;
	bool is_taken; /* by others: neither idle nor a thread's */
	double speed; /* now: of its core, divided among busy siblings */
	uint64_t slice_end_ns;
	struct pending ready; /* fair: who waits for it, by deadline */
	int64_t virtual_sum; /* of those: virtual time less the base */
	uint64_t virtual_base, balance_ns, brief_ns;
	uint64_t waited_since_ns; /* since when somebody waits */
	uint32_t kept; /* of those in `ready`: sleepers with debts */
	uint32_t
		refused; /* at so many ticks, one behind the other, idle cpus found nobody here that they would take */
	uint64_t busy_since_ns, busy_ns, idle_since_ns;
	uint64_t awake_ns; /* that it idles before it is halted: halt_start_ns */
	uint64_t idle_mean_ns; /* fair: of late, how long it idles */
	uint32_t *sets; /* of cores that it is in: indices of affinities */
	size_t set_count, set_capacity;
};

/* See idle_scan.h. */
struct idle_scan {
	uint32_t cores; /* that share a cache; 0: woken threads always look */
	bool is_off;
	double utilization; /* 0 to 1, the past being forgotten by half in 32 ms, at_ns */
	uint64_t at_ns, busy_ns; /* all cores' until then */
};

/* Threads that may use the same cores wait for one together. */
struct affinity {
	uint64_t *cpus; /* bits; NULL: all */
	struct pending ready; /* round robin: in order */
};

/* What an event is about: its fields of these names. Objects are numbered from 1 in events. */
struct subject {
	uint64_t object, value;
	uint8_t what;
	uint16_t flags;
};

enum timer_kind { TIMER_THREAD, TIMER_SOURCE, TIMER_DISK, TIMER_TICK, TIMER_OTHERS };

/* One of the others that have cores in turns. */
struct taker {
	double share; /* of a core */
	uint64_t had_ns, since_ns;
	uint32_t cpu, last; /* that it has, SIM_NONE: it rests; had last */
	uint32_t timer; /* always set */
};

struct tick {
	uint64_t period_ns;
	int (*call)(void *context, struct sim *sim); /* NULL: there is none */
	void *context;
	uint32_t timer;
};

struct timer {
	uint32_t kind; /* enum timer_kind */
	uint32_t owner; /* tid, source, or disk */
	uint32_t part; /* client, place of the device */
};

/* A growing array of objects of one kind. */
#define TABLE(type)                                                                                \
	struct {                                                                                   \
		struct type *all;                                                                  \
		size_t count, capacity;                                                            \
	}

struct sim {
	uint64_t now_ns;
	struct pending events;
	struct pending_index timer_places;
	uint64_t order;
	struct timer *timers;
	size_t timer_count, timer_capacity;
	struct tick tick;
	struct taker *takers;
	uint32_t taker_count;

	struct sim_thread *threads; /* by tid - 1 */
	size_t thread_count, thread_capacity;
	uint32_t alive;
	uint32_t *runnable; /* a ring of tids, to be continued in this instant */
	size_t runnable_capacity, runnable_first, runnable_count;

	struct cpu *cpus;
	uint32_t cpu_count; /* 0: as many as threads */
	uint32_t siblings; /* cpus of a core */
	bool is_uniform; /* all cpus are as fast as one another, always */
	double *core_speed;
	uint64_t *idle, *waited_for; /* bits of cpus; waited_for: those with a queue */
	uint64_t tick_ns; /* fair: when slices may end; 0: at any time */
	struct idle_scan idle_scan;
	uint32_t part_ticks; /* behind so many that find its core shared a thread is passed on */
	uint32_t idle_count, waking; /* idle cpus; threads on their way to one */
	uint32_t queued; /* fair: threads in queues */
	TABLE(affinity) affinities;
	struct pending_index ready_places; /* by tid */

	TABLE(lock) mutexes, spins;
	TABLE(rwlock) rwlocks;
	TABLE(barrier) barriers;
	TABLE(cond) conds;
	TABLE(sem) sems;
	TABLE(queue) queues;
	TABLE(limit) limits;
	TABLE(disk) disks;
	TABLE(source) sources;
	struct request *requests; /* open ones, hashed by number */
	size_t request_capacity, request_count;
	uint64_t request_made;
	uint32_t sources_alive;

	struct sim_options options;
	struct sim_program program;
	struct rng rng;
	uint64_t event_count, switches;
	uint32_t lone_arrivals; /* of requests, since a thread last did anything */
	uint32_t instant_events; /* at the present time */
	uint32_t executing; /* tid of the thread whose operations are played; 0 */
	struct err *err; /* of sim_run() */
	int failed; /* of the sink, or where nothing can be returned */
	bool is_running, is_stopped;
};

static inline struct sim_thread *thread_of(struct sim *sim, uint32_t tid)
{
	return &sim->threads[tid - 1];
}

/* sim.c */
int timer_new(struct sim *sim, enum timer_kind kind, uint32_t owner, uint32_t part, uint32_t *ret);
static inline int timer_set(struct sim *sim, uint32_t timer, uint64_t time_ns)
{
	if (time_ns > TIME_MAX_NS)
		time_ns = TIME_MAX_NS;
	return pending_set(&sim->events, &sim->timer_places, timer, time_ns, sim->order++);
}
static inline void timer_stop(struct sim *sim, uint32_t timer)
{
	pending_remove(&sim->events, &sim->timer_places, timer);
}
void runnable_add(struct sim *sim, uint32_t tid);
int thread_new(struct sim *sim, const char *name, uint32_t parent, uint32_t start, uint32_t *ret);
int thread_begin(struct sim *sim, struct sim_thread *thread); /* its life */
void thread_set_state(struct sim *sim, struct sim_thread *thread, enum thread_state state);

/* ops.c: plays one operation, from its begin or after a wake-up. OP_DONE, OP_WAITS or an error. */
int op_play(struct sim *sim, struct sim_thread *thread);

/*
 * wait.c: an operation begins to wait, in `list` (may be NULL); the thread gives its core back. Returns
 * OP_WAITS or an error, to be returned by the operation.
 */
int wait_begin(struct sim *sim, struct sim_thread *thread, struct waiters *list,
	struct object *object, const struct subject *subject);
/* The operation has what it asked for. */
void pass(struct sim *sim, struct sim_thread *thread, struct object *object,
	const struct subject *subject);
/* A thread that waits (and is in no list any more) becomes runnable. waker: tid, 0: none. */
int wake(struct sim *sim, uint32_t tid, uint32_t waker);
int wake_now(struct sim *sim, struct sim_thread *thread); /* after the kernel's wake */
int wake_first(struct sim *sim, struct waiters *list, uint32_t waker);
int wake_all(struct sim *sim, struct waiters *list, uint32_t waker);
void waiters_add(struct sim *sim, struct waiters *list, uint32_t tid);
void waiters_remove(struct sim *sim, struct waiters *list, uint32_t tid);

/* A thread's operation that waits for a time: it sleeps, or waits for a condition so long only. */
int op_timer(struct sim *sim, struct sim_thread *thread);

/* cores.c, schedule.c */
int cores_new(struct sim *sim, struct err *err);
void cores_free(struct sim *sim);
int cores_affinity(struct sim *sim, const uint64_t *cores, uint32_t *ret);
int cores_enter(struct sim *sim, struct sim_thread *thread); /* runnable, wants a core */
/* Whether a thread that is woken has to wake a core up first; else it waits, or takes a busy one. */
bool cores_wakes_up(const struct sim *sim, const struct sim_thread *thread);
/* One that does is sent to that core. Whether it is halted, from which it learns (halt_start_ns). */
bool cores_send(struct sim *sim, struct sim_thread *thread);
int cores_leave(struct sim *sim, struct sim_thread *thread); /* gives it back, to wait or exit */
int cores_yield(struct sim *sim, struct sim_thread *thread); /* OP_DONE: it may stay */
/* Work done since it began to compute at the present speed. */
double cores_work_done(const struct sim *sim, const struct sim_thread *thread);
int cores_begin(struct sim *sim, struct sim_thread *thread, uint64_t work_ns);
int cores_compute(struct sim *sim, struct sim_thread *thread); /* begins or goes on; OP_... */
int cores_timer(struct sim *sim, struct sim_thread *thread); /* OP_DONE: its computation is over */
void cores_stop(struct sim *sim, struct sim_thread *thread); /* it does not compute any more */
/* Others have a cpu from now on: 0, -EBUSY (not in this instant), -ENOMEM; and have it no more. */
int cores_take(struct sim *sim, uint32_t number);
int cores_return(struct sim *sim, uint32_t number);
/* Fair, at a tick: idle cpus take threads that wait for this one. 0 or -ENOMEM. */
int cores_help(struct sim *sim, uint32_t from);

/* others.c */
int others_start(struct sim *sim);
int others_timer(struct sim *sim, uint32_t taker);

/* locks.c, sync.c, queues.c, disk.c, sources.c: operations */
int op_lock(struct sim *sim, struct sim_thread *thread);
int op_try_lock(struct sim *sim, struct sim_thread *thread);
int op_unlock(struct sim *sim, struct sim_thread *thread);
int op_spin_lock(struct sim *sim, struct sim_thread *thread);
int op_spin_unlock(struct sim *sim, struct sim_thread *thread);
int op_read_lock(struct sim *sim, struct sim_thread *thread);
int op_write_lock(struct sim *sim, struct sim_thread *thread);
int op_rw_unlock(struct sim *sim, struct sim_thread *thread);
int op_barrier(struct sim *sim, struct sim_thread *thread);
int op_cond_wait(struct sim *sim, struct sim_thread *thread);
int cond_timer(struct sim *sim, struct sim_thread *thread);
int op_signal(struct sim *sim, struct sim_thread *thread);
int op_broadcast(struct sim *sim, struct sim_thread *thread);
int op_sem_wait(struct sim *sim, struct sim_thread *thread);
int op_sem_post(struct sim *sim, struct sim_thread *thread);
int op_join(struct sim *sim, struct sim_thread *thread);
int op_put(struct sim *sim, struct sim_thread *thread);
int op_get(struct sim *sim, struct sim_thread *thread);
int op_close(struct sim *sim, struct sim_thread *thread);
int op_take(struct sim *sim, struct sim_thread *thread);
int op_give(struct sim *sim, struct sim_thread *thread);
int op_disk(struct sim *sim, struct sim_thread *thread);
/* The thread hears of the end of a request. */
int disk_told(struct sim *sim, struct sim_thread *thread);
int op_request_begin(struct sim *sim, struct sim_thread *thread);
int op_request_end(struct sim *sim, struct sim_thread *thread);

/* Mutexes, for conditions: takes it if it is free; gives it back. */
bool mutex_take(struct sim *sim, struct sim_thread *thread, struct lock *mutex);
int mutex_give_back(struct sim *sim, struct sim_thread *thread, uint32_t number, uint16_t flags);

/* A spinning thread loses its core, or has what it spins for. */
void spin_suspend(struct sim *sim, struct sim_thread *thread);

int disk_timer(struct sim *sim, uint32_t disk, uint32_t place);
int sources_start(struct sim *sim);
int source_start(struct sim *sim, uint32_t source);
int source_timer(struct sim *sim, uint32_t source, uint32_t client);
int source_has_room(struct sim *sim, struct queue *queue); /* wakes one that was held back */
/* 0, -EAGAIN: full, -EPIPE: closed, -ENOMEM. */
/* 0 or -ENOMEM. */
int queue_refill(struct sim *sim, struct queue *queue, uint32_t waker);
int queue_put(struct sim *sim, struct queue *queue, uint64_t item, uint32_t waker);
void queue_drop_first(struct sim *sim, struct queue *queue);
int lend(struct sim *sim); /* lend.c: 1: somebody can go on, 0: nobody can */
bool lender_lends(const struct sim *sim, struct lender *lender); /* one more, if it may */
bool limit_take(struct sim *sim, struct limit *limit);

/* emit.c: nothing without a sink. */
void emit_event(struct sim *sim, const struct sim_thread *thread, uint8_t kind,
	const struct subject *subject);
static inline void emit(struct sim *sim, const struct sim_thread *thread, uint8_t kind,
	const struct subject *subject)
{
	if (sim->options.sink)
		emit_event(sim, thread, kind, subject);
}
void emit_name(struct sim *sim, uint8_t what, uint64_t object, const char *name);
int emit_names(struct sim *sim); /* of all objects, at the start */

/* deadlock.c */
/* A thread is about to wait for a lock that `owner` holds: -EDEADLK if that closes a circle. */
int deadlock_check(
	struct sim *sim, struct sim_thread *thread, const struct subject *subject, uint32_t owner);
int deadlock_explain(struct sim *sim); /* -EDEADLK */
/* It gives back a lock that it does not hold. */
int lock_error(struct sim *sim, const struct sim_thread *thread, uint8_t what, uint32_t number,
	uint32_t owner);
int op_error(struct sim *sim, const struct sim_thread *thread, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* stats.c */
void object_set_length(struct sim *sim, struct object *object, uint64_t length);

#endif
