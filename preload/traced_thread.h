/* SPDX-License-Identifier: MIT */
/*
 * A thread that is traced, and how it writes a row. Between enter() and leave() the thread is in
 * this library: what a signal handler does meanwhile is lost, and counted. A thread:
 *
 *	        first event                     last destructor, exit
 *	FRESH -------------> RECORDING --------------------------------> GONE
 *	  ^                      |
 *	  +------ fork: child ---+
 */
#ifndef PRELOAD_TRACED_THREAD_H
#define PRELOAD_TRACED_THREAD_H

#include "budget.h"
#include "callers.h"
#include "lane.h"
#include "plain_mutex.h"
#include "profiled.h"
#include "real.h"
#include "trace.h"
#include "wakes.h"

enum {
	ROW = TRACE_RECORD_BYTES,
	/* Lost events between two attempts to find room, and between two reports of their number. */
	LOST_BATCH = 1024,
	/* Below this a condition wait's second wait, for the mutex, is not told apart. */
	RELOCK_NS = 1000,
	/* Input and output that blocked for less is not a wait. */
	BLOCKED_NS = 20000,
	/* Of polls, which do nothing but wait: a switch to another thread and back takes longer. */
	POLLED_NS = 2000,
	/* Locks and places of calls that a thread has in turn; two bytes of its stack each. */
	KNOWN_BITS = 9,
	KNOWN_ROWS = 1 << KNOWN_BITS,
	/* Above an interrupt that a virtual machine's host serves meanwhile, below useful work. */
	TRY_GAP_CPU_NS = 50000,
};

enum thread_state {
	THREAD_FRESH,
	THREAD_RECORDING,
	THREAD_GONE,
};

/* A loop of trylock, while it lasts. */
enum try_state {
	TRY_NONE,
	TRY_ONCE,
	TRY_WAITS,
};

/* Where a thread stood before a row that it may take back. */
struct before {
	uint64_t last_ns, lead_ns, cpu_ns, stretch;
	struct trace_again_record *again;
};

/*
 * What recording takes, found out at one of some dozens of events: from enter() to leave(), and what came before it. A reading of
 * the clock lies before enter() as a rule, and one within the sample: that is as long.
 */
struct own_cost {
	uint32_t turn; /* events until the next sample */
	uint32_t stands_for; /* events */
	uint64_t start_ns; /* of the sample */
	uint64_t before_ns; /* that the same event took outside of enter() and leave() */
	bool is_lock; /* the event */
	uint64_t random;
};

struct thread {
	struct budget budget;
	struct lane lane;
	struct cpu_clock cpu;
	struct own_cost own;
	uint64_t lead_ns; /* of `cpu`, in the last row */
	uint64_t cpu_ns; /* of the last event, as readers will find it: it never falls */
	/* The last event, if it is a PASS that a RELEASE may join: its row, or the row that it repeats. */
	struct trace_record *held;
	uint64_t *held_word; /* where it says so; NULL: it is that row */
	struct trace_again_record *again; /* the last row, if there is room in it */
	uint32_t again_count;
	struct before before; /* the last WAIT */
	uint16_t known[KNOWN_ROWS]; /* by hash: 1 + row on the desk that may be repeated; 0: none */
	struct wait *current; /* the wait that this thread is in; left by longjmp(): dangling */
	uint32_t current_kind;
	struct wait parked;
	uint32_t tid;
	uint32_t lost; /* not yet counted in the file */
	uint32_t without_room; /* events since the first that found none; 0: there was room */
	uint32_t state; /* enum thread_state */
	struct profile_slot *slot; /* NULL: not profiled */
	uint64_t stretch; /* that the last event began */
	bool is_busy; /* in this library: a signal handler's events are lost meanwhile */
	bool hides_yields;
	uint32_t trying; /* enum try_state */
	uint32_t tried_kind;
	const void *tried; /* object of the last failed try */
	const void *tried_by;
	uint64_t tried_ns, tried_cpu_ns;
	uint64_t wait_cpu_ns; /* that a wait takes in which the thread sleeps, on average */
	uint64_t start_ns;
	uint32_t exit_rounds; /* of destructors, so far */
	struct birth fork; /* noted before a fork */
	struct look look;
	/* What trace_frames() told last: calls in a loop tell it once. */
	const void *frames_caller, *frames_at;
};

/*
 * Initial-exec: no allocation at a thread's first access, and safe in signal handlers. What is loaded late has no
 * room for that (the profiler's plugin), and says another model.
 */
#ifndef TRACED_THREAD_MODEL
#define TRACED_THREAD_MODEL "initial-exec"
#endif
extern HIDDEN __thread struct thread self __attribute__((tls_model(TRACED_THREAD_MODEL)));

/* System calls between the two are not the program's. */
static inline void own_calls_begin(void)
{
	if (self.slot)
		self.slot->own_calls = 1;
}

static inline void own_calls_end(void)
{
	if (self.slot)
		self.slot->own_calls = 0;
}

/*
 * A page that the kernel clears in the child of a fork, however it was made: two processes must
 * never write to the same lane.
 */
extern HIDDEN volatile uint32_t *own_process;

/* The ways that are seldom taken. */
bool thread_make_room(void);
void thread_lose(void);
bool thread_enter_slowly(void);
void thread_leave_left_wait(void);
void thread_tell_own(void);

static inline uint8_t what_of(uint32_t wait_kind)
{
	static const uint8_t whats[SINK_KINDS] = {
		[SYNC_LOCK] = TRACE_MUTEX,
		[SYNC_RWLOCK] = TRACE_RWLOCK,
		[SYNC_SPIN] = TRACE_SPIN,
		[SYNC_BARRIER] = TRACE_BARRIER,
		[SYNC_COND] = TRACE_COND,
		[SYNC_SEM] = TRACE_SEM,
		[SYNC_JOIN] = TRACE_JOIN,
		[SYNC_OMP] = TRACE_BARRIER,
		[SINK_OMP_LOCK] = TRACE_MUTEX,
		[SINK_SLEEP] = TRACE_SLEEP,
		[SINK_IO] = TRACE_IO,
		[SINK_POLL] = TRACE_IO,
		[SINK_FUTEX] = TRACE_FUTEX,
	};
	return whats[wait_kind];
}

/* The run's clock, as this lane takes it. */
static inline uint64_t now(void)
{
	uint64_t time_ns = clock_ns();
	return time_ns > self.lane.last_ns ? time_ns : self.lane.last_ns;
}

struct head {
	uint8_t kind, what;
	uint16_t flags;
};

static inline struct head head_of(enum trace_kind kind, uint32_t wait_kind, uint32_t flags)
{
	return (struct head){ (uint8_t)kind, what_of(wait_kind), (uint16_t)flags };
}

/* Rows that were filled become visible. */
static inline void commit_row(uint32_t bytes)
{
	self.held = NULL;
	self.again = NULL;
	lane_commit(&self.lane, bytes);
}

/* For a row at that time. */
static inline uint64_t row_cpu_ns(uint64_t time_ns)
{
	uint64_t cpu_ns = cpu_clock_at(&self.cpu, time_ns);
	if (cpu_ns > self.cpu_ns)
		self.cpu_ns = cpu_ns;
	self.lead_ns = self.cpu.lead_ns;
	return self.cpu_ns;
}

static inline void begin_stretch(const struct trace_record *row)
{
	if (profile_is_wait(row->kind))
		self.stretch = PROFILE_NOT_COUNTED;
	else if (profile_is_border(row->kind))
		self.stretch = profile_stretch(row->kind, row->what, row->site);
	self.slot->barriers += profile_is_barrier(row->kind, row->what);
}

/* The row, which stays where it is; NULL if there is no room. */
static inline struct trace_record *put(
	uint64_t time_ns, struct head head, uint64_t object, const void *site, uint64_t value)
{
	if (__builtin_expect(!lane_has_room(&self.lane, ROW), 0) && !thread_make_room()) {
		thread_lose();
		return NULL;
	}
	if (time_ns < self.lane.last_ns)
		time_ns = self.lane.last_ns;
	struct trace_record *row = lane_row(&self.lane);
	*row = (struct trace_record){
		.time_ns = time_ns,
		.cpu_ns = row_cpu_ns(time_ns),
		.object = object,
		.site = (uintptr_t)site,
		.value = value,
		.tid = self.tid,
		.kind = head.kind,
		.what = head.what,
		.flags = head.flags,
	};
	self.lane.last_ns = time_ns;
	commit_row(ROW);
	if (__builtin_expect(self.slot != NULL, 0))
		begin_stretch(row);
	return row;
}

/* Its CPU time stands still until the clock, which an estimate was ahead of, is there too. */
static inline bool is_ahead(void)
{
	return (int64_t)(self.cpu_ns - self.lane.last_ns - self.lead_ns) > 0;
}

/* Whether the thread has kept its core since the last row, as far as anybody knows. */
static inline bool has_kept_core(uint64_t time_ns)
{
	return !cpu_clock_is_stale(&self.cpu, time_ns) && self.lead_ns == self.cpu.lead_ns &&
	       !is_ahead();
}

static inline uint16_t *known_place(struct head head, uint64_t object, const void *site)
{
	uint64_t hash = ((object ^ head.kind) + ((uintptr_t)site << 4)) * 0x9e3779b97f4a7c15ull;
	return &self.known[hash >> (64 - KNOWN_BITS)];
}

/* The place of the next word; NULL: there is none. */
static inline uint64_t *again_word(void)
{
	if (__builtin_expect(self.again && self.again_count < TRACE_AGAINS, 1))
		return &self.again->words[self.again_count];
	if (!lane_has_room(&self.lane, ROW))
		return NULL;
	struct trace_again_record *row = (void *)lane_row(&self.lane);
	row->tid = self.tid; /* the rest is zero */
	row->kind = TRACE_AGAIN;
	commit_row(ROW);
	self.again = row;
	self.again_count = 0;
	return row->words;
}

/* If the desk has such a row, and the thread kept its core since the event before. */
static inline bool put_again(
	uint64_t time_ns, struct head head, uint64_t object, const void *site, uint16_t known)
{
	struct trace_record *row = (struct trace_record *)(self.lane.chunk + 1) + (known - 1);
	uint64_t after_ns = time_ns > self.lane.last_ns ? time_ns - self.lane.last_ns : 0;
	if (row->object != object || row->site != (uintptr_t)site || row->kind != head.kind ||
		row->what != head.what || (row->flags & ~TRACE_HELD) != head.flags ||
		after_ns > TRACE_AGAIN_AFTER_MAX || !has_kept_core(time_ns))
		return false;
	uint64_t *word = again_word();
	if (!word)
		return false;
	__atomic_store_n(word, trace_again(known - 1u, after_ns), __ATOMIC_RELEASE);
	self.again_count++;
	self.lane.last_ns += after_ns;
	self.cpu_ns += after_ns;
	self.cpu.seen_ns = time_ns;
	self.held = head.kind == TRACE_PASS ? row : NULL;
	self.held_word = word;
	return true;
}

static inline bool is_lock(uint8_t what)
{
	return what == TRACE_MUTEX || what == TRACE_RWLOCK || what == TRACE_SPIN;
}

/* What a thread does again and again: a PASS that did not wait, a RELEASE. */
static inline void put_often(uint64_t time_ns, struct head head, uint64_t object, const void *site)
{
	uint16_t *known = known_place(head, object, site);
	if (*known && put_again(time_ns, head, object, site, *known))
		return;
	struct trace_record *row = put(time_ns, head, object, site, 0);
	if (!row)
		return;
	*known = (uint16_t)(row - (struct trace_record *)(self.lane.chunk + 1) + 1);
	self.held = head.kind == TRACE_PASS ? row : NULL;
	self.held_word = NULL;
	if (self.held && is_lock(head.what) && !self.slot && !callers_is_known(site))
		callers_took(&self.look, (const void *)(uintptr_t)object, site);
}

/* Its value is there before its flag, for a reader of what a kill leaves. */
static inline void hold_row(struct trace_record *row, uint64_t held_ns)
{
	row->value = held_ns;
	__atomic_store_n(&row->flags, row->flags | TRACE_HELD, __ATOMIC_RELEASE);
}

/* A lock taken and released at once makes one record. */
static inline bool join_held(struct head head, const void *object, uint64_t time_ns)
{
	const struct trace_record *row = self.held;
	if (!row || row->object != (uintptr_t)object || row->what != head.what ||
		!has_kept_core(time_ns))
		return false;
	uint64_t held_ns = time_ns > self.lane.last_ns ? time_ns - self.lane.last_ns : 0;
	if (held_ns > TRACE_AGAIN_HELD_MAX)
		return false;
	if (self.held_word)
		__atomic_store_n(self.held_word, trace_again_held(*self.held_word, held_ns),
			__ATOMIC_RELEASE);
	else
		hold_row(self.held, held_ns);
	self.lane.last_ns += held_ns;
	self.cpu_ns += held_ns;
	self.held = NULL;
	return true;
}

/*
 * Who lost its core asks the kernel for its CPU time before it takes a lock: a system call is where the kernel likes to give the
 * core away, and then nobody gets the lock.
 */
static inline void look_before_lock(void)
{
	if (is_tracing() && self.state == THREAD_RECORDING &&
		__builtin_expect(*self.cpu.witness != self.cpu.armed, 0) && !self.slot)
		(void)trace_asks();
}

/* True if rows can be put; leave() follows. */
static inline bool enter(void)
{
	if (__builtin_expect(self.is_busy, 0)) {
		self.lost++;
		return false;
	}
	self.is_busy = true;
	if (__builtin_expect(--self.own.turn == 0, 0))
		self.own.start_ns = clock_ns();
	if (__builtin_expect(self.slot != NULL, 0))
		profile_set_stretch(self.slot, PROFILE_NOT_COUNTED);
	if (__builtin_expect(
		    self.state == THREAD_RECORDING && self.trying == TRY_NONE && *own_process, 1))
		return true;
	return thread_enter_slowly();
}

static inline void leave(void)
{
	if (__builtin_expect(self.own.turn == 0, 0))
		thread_tell_own();
	self.is_busy = false;
	if (__builtin_expect(self.slot != NULL, 0))
		profile_set_stretch(self.slot, self.stretch);
}

/* The same, of what it did without waiting, mostly with a lock. */
static inline void leave_lock(struct head head)
{
	if (__builtin_expect(self.own.turn == 0, 0))
		self.own.is_lock = is_lock(head.what);
	leave();
}

/* In a gap (budget.h), when there is room for one more. */
static inline void budget_hold(const pthread_mutex_t *mutex, const void *caller)
{
	struct budget *budget = &self.budget;
	budget->slice--;
	budget->held[budget->held_count++] = (struct held_lock){ mutex, caller, false };
}

/*
 * In a gap: takes the mutex if it is free, and leaves that out. False: the general way is to be taken, which
 * finds out what is the matter.
 */
static inline bool budget_takes(pthread_mutex_t *mutex, const void *caller)
{
	const struct budget *budget = &self.budget;
	if (__builtin_expect(budget->slice == 0, 1) || budget->held_count == BUDGET_HELD)
		return false;
	if (__builtin_expect(!plain_mutex_is(mutex) || budget->owner == 0, 0))
		return budget_tries(mutex, caller);
	if (__builtin_expect(!plain_mutex_take(mutex, budget->owner), 0))
		return false;
	budget_hold(mutex, caller);
	return true;
}

/* In a gap: gives back the mutex that was taken last, if that was left out and nobody waits for it. */
static inline bool budget_gives_last(pthread_mutex_t *mutex)
{
	struct budget *budget = &self.budget;
	if (budget->held_count == 0 || budget->owner == 0)
		return false;
	const struct held_lock *last = &budget->held[budget->held_count - 1];
	if (last->object != mutex || last->is_recorded || !plain_mutex_is(mutex) ||
		!plain_mutex_give(mutex))
		return false;
	budget->held_count--;
	return true;
}

/* Between trace_park() and trace_unpark(). */
static inline bool is_parked(void)
{
	return self.current == &self.parked;
}

/*
 * A wait inside a wait (in a signal handler) is part of it. When the new frame lies higher on the
 * stack, the old one was left by longjmp(): that wait is over.
 */
static inline bool is_nested(const void *frame)
{
	if (__builtin_expect(!self.current, 1))
		return false;
	if (is_parked() || (uintptr_t)frame < (uintptr_t)self.current)
		return true;
	thread_leave_left_wait();
	return false;
}

/* Not before the wait, not after its end; 0 stays unknown. */
static inline uint64_t within(uint64_t time_ns, uint64_t start_ns, uint64_t end_ns)
{
	if (!time_ns)
		return 0;
	return time_ns < start_ns ? start_ns : time_ns > end_ns ? end_ns : time_ns;
}

#endif
