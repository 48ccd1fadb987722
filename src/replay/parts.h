/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside the replay: operations as they are loaded, and what the parts of it share. Functions return 0
 * or -ENOMEM unless they say otherwise.
 *
 *	events --> load.c --> steps of each thread --> objects.c --> play.c --> sim
 *	             cpu.c: the work before each         barriers.c    decide.c: conditions
 *	             waits.c: what a wait means          costs.c       turns.c: in recorded order
 *	               locks.c                                         deal.c: common work
 *	               conds.c, sections.c               fit.c           |
 *	               polls.c, ends.c              supply.c, pool.c   emit.c --> events
 */
#ifndef REPLAY_PARTS_H
#define REPLAY_PARTS_H

#include "base/map.h"
#include "meaning/meaning.h"
#include "replay/replay.h"
#include "trace/child.h"
#include "trace/event_names.h"
#include "trace/wakes.h"

enum { REPLAY_NONE = UINT32_MAX };

enum step_kind {
	STEP_NOTHING, /* only the CPU time before it */
	STEP_LOCK, /* mutex, spin or read-write lock: by its object; amount: its turn */
	STEP_UNLOCK,
	STEP_BARRIER, /* object; amount: index of its episode */
	STEP_DOCK, /* object: semaphore of those who came; other: of those let go, or REPLAY_NONE */
	STEP_AWAIT_SIGNAL, /* object: condition; other: mutex; amount: number of the signal; recorded order */
	STEP_TIMED_WAIT, /* object: condition; other: mutex; amount: ns that pass without a signal */
	STEP_SIGNAL, /* object: condition; amount: its number */
	STEP_DECIDE, /* object: condition; other: mutex; class: role; amount: its place among the sections that decide,
			by their ends. It may wait for what it means */
	STEP_PUT, /* object: condition; class: role */
	STEP_SEM_WAIT, /* amount: its turn; other: how many it takes, or REPLAY_NONE: one */
	STEP_SEM_POST, /* amount: how many */
	STEP_SLEEP, /* amount: ns; object: what was waited for, may be REPLAY_NONE; while loaded, other: see passages.c */
	STEP_AWAIT_WAKE, /* object; one STEP_WAKE for this thread */
	STEP_WAKE, /* other: thread */
	STEP_SPAWN, /* other: thread */
	STEP_JOIN, /* other: thread; amount: the mutex that it holds meanwhile, plus one; 0: none */
	STEP_YIELD, /* gives up its core to whoever waits for it */
	STEP_MARK, /* region, request or tick: class is the event's kind; amount */
	STEP_EXIT,
};

struct step {
	uint64_t work_ns; /* CPU time before it */
	uint64_t site;
	uint64_t amount; /* by kind */
	uint32_t object; /* index into objects, or by kind */
	uint32_t other; /* by kind */
	uint16_t stretch; /* of its work: what opts.stretch() said */
	uint8_t kind, class;
	uint8_t wakes; /* threads that had to wake up a core, woken within its work */
	bool is_shared; /* read side */
	bool is_awake; /* STEP_LOCK: who waited for it kept its core, and did not sleep */
	bool is_try; /* STEP_LOCK of a mutex: it goes on without it where it would wait */
	bool is_all; /* broadcast; of a read: the end of what is written */
	bool is_refused; /* STEP_DECIDE: it went on because the queue was closed (of MEANING_AWAITS: see meaning_is_exempt(), amount is what had been given) */
	bool is_pooled; /* the work before it is part of replay.pooled's */
	bool is_poll; /* STEP_SLEEP, STEP_TIMED_WAIT: until others have come to rest; amount: index of the poll */
	uint8_t was; /* STEP_NOTHING: the kind of a pause that was one; STEP_NOTHING: none */
	bool is_late; /* STEP_SLEEP: amount is until it ran: when it was woken was not seen */
	bool is_awaited; /* a poll waits until somebody has come here: see replay.rests */
};

/* Where a thread came to rest. */
struct rest {
	uint32_t thread;
	size_t step;
};

/* While they are loaded: pauses of a thread at one place, with nothing but looks between. See polls.c. */
struct load_poll {
	uint32_t object, pauses; /* pauses: 0: there is none */
	uint32_t alone; /* of the last pauses, at whose end no other thread was active */
	uint64_t site, began_ns, paused_ns;
	uint64_t last_began_ns, last_ended_ns; /* of the last pause */
	size_t first, last; /* their steps */
	struct rest *rests; /* of other threads, at the end of the first pause that was alone */
	size_t rest_count, rest_capacity;
	bool is_refuted; /* it went on, though others were active again */
};

/* Pauses at the place of the last one, and who joins the thread. See tickers.c. */
struct load_ticks {
	uint64_t site, last_ns,
		longest_ns; /* when the last pause began; the longest time from one to the next */
	size_t count;
	uint64_t joined_ns;
	size_t join_step, first, last,
		end; /* join_step: of `joiner`, plus one; 0: none. Its own: pauses, the wait in which it was told, or `last` */
	uint32_t joiner;
	bool are_by_time; /* it goes on until it is joined */
	bool ends_before; /* it looks whether to end before a pause, not behind */
};

/* A lock that a thread holds while its events are loaded. */
struct load_hold {
	uint32_t object, depth;
	uint64_t number; /* of the section, see meaning_taken() */
	uint64_t site;
	const struct meaning_section *section; /* NULL: nothing is known of it */
	size_t ordered_wait; /* the step of its last wait by recorded order, plus one; 0: none */
	uint32_t told; /* the condition that it signalled after such a wait, plus one; 0: none */
	size_t decisions; /* its first STEP_DECIDE, and how many there are */
	size_t decision_count;
	bool has_waited;
	bool has_no_room; /* for what it would put: it puts nothing */
};

/* An operation that other threads' events tell of: the work before it is known at the thread's own next. */
struct load_split {
	size_t step;
	uint64_t time_ns;
};

struct load_thread {
	uint32_t pid, tid;
	struct step *steps;
	size_t count, capacity;
	uint64_t routine, start_site;
	uint64_t
		start_ns; /* since the first event; of a thread that nobody is known to have started */
	uint64_t began_ns, ended_ns;
	uint32_t parent; /* thread that starts it; REPLAY_NONE */
	bool is_over, is_active, has_cpu, is_on_core,
		is_running; /* is_running: as far as it is known, computes */
	bool is_sleeper; /* a STEP_WAKE is for it */
	bool has_exited, ended_in_wait; /* has_exited: it was seen to */
	bool spins; /* in waits of its */
	bool is_daemon; /* it waited when its process ended: it has no end of its own */
	bool counts_work; /* its CPU time is no time: see replay_opts.stretch */
	uint32_t supply; /* that it takes work from, plus one; 0: none */
	size_t *bounds; /* for each epoch of that: the step after it has found nothing left */
	uint16_t stretch; /* while it is loaded: that it is in */
	struct load_split *splits;
	size_t split_count, split_capacity;
	struct load_poll poll;
	struct load_ticks ticks;

	/* While it is loaded. */
	uint64_t work_ns; /* since its last step */
	uint64_t cpu_ns, time_ns; /* accounted up to here */
	uint64_t samples; /* of what it ran, since then */
	double spare_ns, full_ns; /* the replay's, then */
	uint64_t total_cpu_ns;
	struct load_hold *holds;
	size_t hold_count, hold_capacity;
	uint8_t wait_what; /* it waits; WHAT_NONE: not */
	uint32_t wait_object, waker;
	uint64_t wait_ns, wait_cpu_ns, woken_ns, wait_value;
	uint64_t failed_site; /* of its last event, if that was a try of a mutex in vain, */
	uint64_t failed_address; /* of which it was; 0: it was not */
	uint32_t written; /* passage that it wrote to last, plus one; 0: none */
	uint64_t left; /* bytes that were not read there when it began to wait for files */
	uint64_t passed_ns, busy_ns; /* when its last wait ended; when it did something last */
	size_t wait_step; /* that stands for the wait, plus one; 0: none */
	size_t wait_arrival; /* of a barrier */
	bool was_woken;
	uint32_t
		wakes; /* threads that had to wake up a core, which it woke in the work since its last step */
};

/* A thread that came to a barrier. */
struct arrival {
	uint32_t thread, waker; /* waker: thread, or REPLAY_NONE */
	size_t step;
	uint64_t time_ns, woken_ns;
	bool is_over; /* it left */
	bool is_last, is_exact; /* it did not wait; woken_ns was recorded */
	uint64_t
		handed_out; /* pieces of what it did before, plus one, as the event says; 0: unknown */
	uint8_t forked; /* WHAT_FORKED or _NEXT: let go by a thread that was not there, the start of the next region; 0 */
};

/* A thread that was let go from a barrier; by whom is only known when this instant is over. */
struct fork {
	uint32_t object, maker; /* maker: thread */
	size_t arrival;
	uint64_t time_ns;
};

enum object_play { /* what plays it */
	PLAY_NONE,
	PLAY_MUTEX,
	PLAY_SPIN,
	PLAY_RWLOCK,
	PLAY_SEM,
	PLAY_COND,
	PLAY_BARRIER,
};

struct load_object {
	uint32_t pid;
	uint8_t what, play;
	uint64_t address;
	uint64_t value; /* semaphore: at the start */
	bool is_handed_over; /* to who has waited longest */
	bool writers_first;
	bool guards_condition;
	bool is_tried; /* mutex: some take it by a try */
	bool spins; /* who waits for it spins first, where cores suffice */
	uint64_t awake_ns; /* lock: the longest wait of those that kept their core */
	uint32_t
		rounds_of; /* condition: signalled by who takes all that there is at this one, plus one; 0: not */
	uint32_t meaning; /* condition: its index, UINT32_MAX if it has none that is known */
	bool takes_turns, lets_pass; /* see turns.c */
	bool was_awaited; /* when the last run came to a deadlock, somebody wanted to take it */
	uint32_t supply; /* of which it is the place, plus one; 0: none */
	bool was_stuck; /* condition: when the last run came to a deadlock, somebody waited for it */

	/* While it is loaded. */
	int64_t balance, least_balance; /* semaphore: posts less waits; its least value */
	uint64_t first; /* semaphore: its value when it was initialised, plus 1; 0: not seen */
	uint64_t posts, own_posts; /* semaphore; of the posts, those by threads that had taken it */
	/* Pipe or eventfd: bytes that had been written by the end of each write; see passages.c. */
	uint64_t *written;
	size_t write_count, write_capacity;
	uint64_t read, writes_taken; /* bytes so far; writes that they are of */
	uint32_t last_taken; /* writes, by the last read */
	bool has_bytes; /* it is a pipe or an eventfd, no queue of a simulation */
	uint64_t most_left,
		most_written; /* bytes at a time: that were not read yet; in one write */
	uint64_t
		wait_left; /* that were left when most of the writes that waited began to, if one number was; */
	uint32_t write_waits,
		wait_votes; /* how many waited; with that number, less the others (Boyer and Moore) */
	uint32_t holder, readers, readers_waiting, writers_waiting; /* holder: thread */
	uint64_t reader_yields, reader_passes; /* evidence of who comes first */
	uint64_t handed_over, barged;
	uint32_t waiting;
	uint64_t turns; /* taken so often */
	struct arrival *arrivals;
	size_t arrival_count, arrival_capacity;
	uint64_t forked_ns; /* when the last region began, with which of the two */
	uint8_t forked;
	uint64_t signals; /* condition: so far */
	uint32_t waiter, signaller; /* condition: the first of them, plus one; 0: none */
	bool has_waiters, has_signallers; /* several */
	bool has_turns; /* condition: threads wait for it, signal it, and wait for it again in one section */
	uint64_t last_signal_ns;
	size_t unresolved; /* condition: waits whose signal is still to come: index plus one */
};

/* A wait whose signal is not known yet. */
struct unresolved {
	uint32_t thread;
	size_t step;
	uint64_t woken_ns;
	size_t next; /* index plus one */
};

/* A barrier of so many threads; several if their number changes. */
struct episode {
	uint32_t object, threads;
};

/* From this step of a thread to its next taking. */
struct supply_piece {
	uint32_t thread;
	size_t from;
};

/* Where threads take pieces of work: by steps of this kind, object and site. See supply.c. */
struct supply {
	uint32_t object, epoch_count;
	uint64_t site;
	uint8_t kind;
	struct supply_piece *pieces; /* in the order of the takings */
	size_t piece_count, *epoch_ends; /* epoch_ends: how many pieces there are until then */
};

/* The work before this step of a thread, which came to it then. */
struct pool_member {
	uint32_t thread;
	size_t step;
	uint64_t end_ns;
	uint64_t handed_out; /* pieces of that, plus one; 0: unknown */
};

/* Work between two meetings at one place, that threads share out while they do it. See pool.c. */
struct pool {
	uint64_t a, b; /* the place: a barrier, or threads with one parent and start routine */
	struct pool_member *members;
	uint32_t count;
	bool is_known; /* the recording says that it was shared out, */
	uint64_t pieces; /* in so many; 0: unknown */
	uint64_t work_ns, part_ns; /* of all; what is taken at a time */
};

/* Pauses until so many threads have come to rest. */
struct poll {
	uint32_t pauses, rest_count; /* pauses: in the recording */
	uint64_t pause_ns; /* their mean */
};

struct awaited {
	uint32_t poll;
	size_t next; /* that awaits the same, plus one; 0: none */
};

enum { LOAD_ACTIVE_MAX = 1024 };

/*
 * Objects of the replay's own: a barrier of GCC's OpenMP at which threads wait for their next region. Every other region
 * is begun with WHAT_FORKED_NEXT: who is done with one does not begin the next in the place of a thread that has not
 * got a core yet.
 */
enum {
	WHAT_JOINED = WHAT_BARRIER | 0x40,
	WHAT_FORKED = WHAT_BARRIER | 0x80,
	WHAT_FORKED_NEXT = WHAT_BARRIER | 0xc0,
	WHAT_ROOM = WHAT_QUEUE | 0x40, /* of a pipe: bytes that can be written */
};

struct replay {
	struct replay_opts opts;
	struct replay_facts facts;
	struct event_names names;
	struct event *name_events; /* in order; their texts are in names */
	size_t name_count, name_capacity;

	struct load_thread *threads;
	size_t thread_count, thread_capacity;
	struct map live, known; /* pid, tid -> thread; known: also when it has ended */
	struct children children;
	struct load_object *objects;
	size_t object_count, object_capacity;
	struct map object_index;
	struct map lock_sites; /* call sites that take a mutex in any case, also after tries */
	struct map tokens; /* thread, semaphore -> how often it has taken it and not posted it */
	struct episode *episodes;
	size_t episode_count, episode_capacity;
	struct map episode_index;
	struct fork *forks;
	size_t fork_count, fork_capacity;
	struct unresolved *unresolved;
	size_t unresolved_count, unresolved_capacity;
	struct replay_target *regions, *sites;
	size_t region_count, region_capacity, site_count, site_capacity;
	struct map region_index;

	struct supply *supplies;
	size_t supply_count, supply_capacity;
	struct poll *polls;
	size_t poll_count, poll_capacity;
	struct awaited *awaited;
	size_t awaited_count, awaited_capacity;
	struct map rests; /* thread, step -> the first one of `awaited` that is for it, plus one */
	/* Else polls take as long as they did: the first suspect when what one waits for does not come. */
	bool awaits_polls, was_poll_lost; /* was_poll_lost: in the last run */
	struct pool *pools;
	size_t pool_count, pool_capacity;
	struct map pooled; /* thread, step -> the pool that its work is from */
	/* Supplies and pools are used, else each thread does what it did: the first suspect when a replay comes to a
	   deadlock. */
	bool deals_anew;

	uint64_t sections; /* that have begun: see meaning.h */
	uint64_t decided; /* sections with decisions that have ended */
	uint64_t origin_ns, now_ns, end_ns;
	uint32_t active, on_core, on_core_max, active_max;
	uint64_t active_ns[LOAD_ACTIVE_MAX + 1]; /* time with so many active threads */
	uint64_t sleeps, sleeps_cpu_ns; /* waits in which threads lost their core */
	uint64_t switches; /* of the last replay */
	struct wakes *wakes; /* NULL: with opts.stretch */
	struct wakes_found woken;
	/*
	 * What a thread that does not wait could have had so far: time with a core to spare, and its
	 * share of the cores while there was none. The sums are those of the regression of CPU time on
	 * both, over all stretches of all threads, each with the weight 1 / (spare + full).
	 */
	double spare_ns, full_ns;
	struct {
		double ss, sf, ff, sc, fc;
	} sums;
	/* Of what the cores could have given while all were wanted (or, if the two are not told apart, at any
	   time), and what of that was not given: see fit.c. */
	double could_full_ns, lost_full_ns;
	uint64_t samples, sampled_ns; /* of what ran, in so much CPU time */
	unsigned settled; /* how often replay_settle() was asked */
	bool has_begun, has_cores_seen, is_finished, has_exited;
};

/* Nobody else is told anything by it: as it comes where a thread looks again whether something is there. */
static inline bool step_is_look(const struct step *step)
{
	return step->kind == STEP_LOCK || step->kind == STEP_UNLOCK || step->kind == STEP_YIELD ||
	       step->kind == STEP_NOTHING;
}

/* It takes no time; tickers.c may find that it does. */
static inline void step_drop_pause(struct step *step)
{
	step->was = step->kind;
	step->kind = STEP_NOTHING;
}

/* load.c */
struct step *load_push(struct load_thread *thread, enum step_kind kind); /* NULL without memory */
uint32_t load_object(struct replay *replay, uint32_t pid, uint8_t what, uint64_t address);
uint32_t load_find_thread(const struct replay *replay, uint32_t pid, uint32_t tid);

/* waits.c. `time_ns` of events is since the first one. */
int waits_begin(struct replay *replay, uint32_t thread, const struct event *event);
int waits_woken(struct replay *replay, uint32_t thread, const struct event *event);
int waits_pass(struct replay *replay, uint32_t thread, const struct event *event);
int waits_release(struct replay *replay, uint32_t thread, const struct event *event);
int waits_exit(struct replay *replay, uint32_t thread);

/* A wait for files begins. */
void passages_wait(const struct replay *replay, struct load_thread *thread);
/* Of WHAT_QUEUE, that nobody waited for by that name. 0 or -ENOMEM. */
int passages_put(struct replay *replay, uint32_t thread, const struct event *event);
int passages_take(struct replay *replay, uint32_t thread, const struct event *event);
void passages_settle(struct replay *replay); /* when all events are known */

/* locks.c */
bool load_is_lock(uint8_t what);
struct load_hold *locks_find(struct load_thread *thread, uint32_t object); /* NULL: it has it not */
int locks_ask(struct replay *replay, uint32_t thread, uint32_t object, const struct event *event);
/* At this call site a mutex is taken in any case. 0 or -ENOMEM. */
int locks_note_site(struct replay *replay, uint64_t site);
/* Of each event of a thread: a try in vain before the lock of the same mutex is a part of that. 0 or -ENOMEM. */
int locks_note_try(struct replay *replay, struct load_thread *thread, const struct event *event);
/* A wait for a lock ends with having it. */
int locks_take_awaited(struct replay *replay, uint32_t thread, const struct event *event);
int locks_take_free(
	struct replay *replay, uint32_t thread, uint32_t object, const struct event *event);
int locks_release(
	struct replay *replay, uint32_t thread, uint32_t object, const struct event *event);
void locks_count_waiting(struct load_object *lock, bool is_shared, bool is_more);
/* When all events are known: tries again and again at one place until the mutex is free, which are recorded as waits, are locks. */
void locks_settle_tries(struct replay *replay);
/* The mutex that it took last and still has, plus one; 0: none. */
uint64_t locks_mutex_held(const struct replay *replay, const struct load_thread *thread);

/* conds.c */
int conds_wait(struct replay *replay, uint32_t thread, uint32_t object, const struct event *event);
int conds_resolve(struct replay *replay, uint32_t thread, uint64_t woken_ns);
int conds_signal(
	struct replay *replay, uint32_t thread, uint32_t object, const struct event *event);
void conds_settle(struct replay *replay); /* when all events are known */

/* cpu.c. A thread's CPU time up to its own event; of another one's that is about it. */
void cpu_account(struct replay *replay, struct load_thread *thread, const struct event *event);
int cpu_advance(struct load_thread *thread, uint64_t time_ns);
void cpu_run_until(struct load_thread *thread, uint64_t time_ns); /* as if it had kept its core */
/* Of a thread that is still there when its process ends and does not tell it; 0: unknown. */
uint64_t cpu_by_samples(
	const struct replay *replay, const struct load_thread *thread, uint64_t time_ns);
void cpu_sample(struct replay *replay, const struct event *event);

/* sections.c. A mutex was taken, is given back: decisions to wait, and what is provided. */
int replay_section_begin(struct replay *replay, struct load_thread *thread, struct load_hold *hold);
int replay_section_end(struct replay *replay, struct load_thread *thread, struct load_hold hold);
/* The step of a section at which it decides about this condition, plus one; 0: none. */
size_t section_decision(
	const struct load_thread *thread, const struct load_hold *hold, uint32_t cond);
/* Whether each wait for a condition takes all that there is. */
bool section_takes_all(const struct replay *replay, uint32_t cond);
/* Whether some sections wait for one certain signal, though the condition has a meaning for others. */
bool section_waits_by_order(const struct replay *replay, uint32_t cond);

/* barriers.c. barriers_forks(): those before this instant; barriers_meet(): when all events are known. */
int barriers_arrive(struct replay *replay, uint32_t thread, uint32_t object, size_t step,
	const struct event *event);
int barriers_forks(struct replay *replay, uint64_t time_ns);
int barriers_meet(struct replay *replay, uint32_t object);

/* ends.c. An event of the thread's own; when all events are known: who was killed while it waited, who is a daemon. */
void ends_note(struct load_thread *thread, const struct event *event);
int ends_settle(struct replay *replay);

/* costs.c */
void costs_settle(struct replay *replay); /* when all events are known */

/* polls.c. A pause is over; a wait ended by a signal; the thread pauses no more. `site` is the wait's. */
int polls_pause(struct replay *replay, uint32_t thread, uint64_t site, uint64_t waited_ns);
void polls_signalled(struct replay *replay, uint32_t thread, uint64_t site);
int polls_end(struct replay *replay, uint32_t thread);

/* tickers.c. A pause is over; a thread was joined; when all steps are known. */
void tickers_pause(struct load_thread *thread);
void tickers_joined(struct replay *replay, uint32_t joiner, uint32_t joined);
int tickers_find(struct replay *replay); /* 0 or -ENOMEM */
void tickers_forget(struct replay *replay); /* they do the recorded rounds */

/* supply.c: when all objects are known. */
int supplies_find(struct replay *replay);
bool supply_is_take(uint8_t kind, uint32_t object, uint64_t site, const struct step *step);

/* pool.c. The works of one round, each up to its member's step, at the place that a and b name; when all is
   known, which rounds were shared out. */
int pools_add_round(struct replay *replay, uint64_t a, uint64_t b,
	const struct pool_member *members, size_t count);
int pools_find(struct replay *replay);

/* objects.c. Also -EINVAL, with err. */
int objects_finish(struct replay *replay, struct err *err);

/* fit.c: what the recorded machine's cores were like. 0, -ENOMEM. */
int replay_fit(struct replay *replay, struct err *err);

/* emit.c. Names of the recording, then events of the engine as the recording's. */
struct player;
int replay_emit_names(const struct replay *replay, const struct event_sink *sink, struct err *err);
int replay_emit(struct player *player, const struct event *event, struct err *err);

#endif
