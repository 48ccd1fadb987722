/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program as something to simulate (Tarvo and Reiss, "Using Computer Simulation to Predict the
 * Performance of Multithreaded Programs", ICPE 2012): threads walk through probabilistic graphs of
 * code fragments, and meet at locks, queues, disks and limits.
 *
 *	struct model ---- parameters   what a person can set: workers, rate, ...
 *	             |--- objects      mutexes, barriers, queues, disks, limits, ... by name
 *	             |--- sources      requests that arrive from outside
 *	             |--- hardware     cores, speeds, scheduler
 *	             |--- recorded     the run it was made from: where the model can be trusted
 *	             `--- groups       threads of one kind: how many, and a graph of fragments
 *
 * A fragment is CPU time, then one operation, then an edge to the next fragment. Things refer to one
 * another by index into the arrays below; names are for people and unique within their kind. All
 * memory belongs to the model. docs/formats/model.md is the same as a file.
 *
 *	model_read() or a builder --> struct model --> model_check() --> model_write()
 *	                                                            `--> simulate.h
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/cleanup.h"
#include "base/err.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	MODEL_NONE = UINT32_MAX, /* no index */
	MODEL_EXIT = UINT32_MAX - 1, /* as an edge's target: the thread ends */
	MODEL_STOP = UINT32_MAX - 2, /* as an edge's target: the program ends */

	MODEL_THREADS_MAX = 1000000, /* in all groups */
	MODEL_ORDER_MAX = 100000, /* turns of an `order` */
	MODEL_CORES_MAX = 1024,
	MODEL_INSTANCES_MAX = 1000000, /* of a lock */
	MODEL_NAME_BYTES_MAX = 255,
	MODEL_QUANTILES_MAX = 4096,
	MODEL_FACTORS_MAX = 4096, /* of a course */
	MODEL_COUNT_MAX = 1000000000,
	MODEL_ITEMS_MAX = 10000000, /* put into a queue at once: they take memory */
	MODEL_TIME_MAX_S = 10000000, /* 115 days: sums of them fit 64 bits of nanoseconds */
};

/* What a number measures. In memory all are SI: seconds, 1/s. */
enum model_unit { MODEL_NUMBER, MODEL_TIME, MODEL_RATE };

/*
 * A number, or a formula over parameters with + - * / ( ), numbers, units (ns us ms s min h, %) and
 * parameters: "workers + 1", "bodies / threads", "2 * think". `value` is then not used.
 */
struct model_value {
	double value;
	const char *formula; /* NULL: the number */
};

struct model_parameter {
	const char *name; /* a letter, then letters, digits, '_'; not the name of a unit */
	enum model_unit unit;
	double value; /* default */
	const char *note; /* what it is, NULL: nothing */
	unsigned line; /* here and below: of the file, 0 if not from one */
};

/* A distribution of times: seconds, in formulas too. */
struct model_dist {
	enum model_dist_kind {
		MODEL_NO_TIME, /* none given: 0 */
		MODEL_FIXED, /* a */
		MODEL_UNIFORM, /* a to b */
		MODEL_EXPONENTIAL, /* mean a */
		MODEL_ERLANG, /* mean a, b stages */
		MODEL_QUANTILES, /* quantiles[], ascending, equally spaced in probability from 0 to 1
		                    inclusive, linear in between; one alone: fixed */
	} kind;
	struct model_value a, b;
	const double *quantiles; /* s */
	uint32_t quantile_count;
	struct model_value scale; /* every draw times this; all zero: 1 */
};

/* A distribution of counts: a table, or (entry_count 0) one value, rounded to the nearest. */
struct model_count {
	struct model_value value;
	struct model_count_entry {
		uint64_t count;
		double probability; /* sum 1 */
	} * entries;
	uint32_t entry_count;
};

enum model_object_kind {
	MODEL_MUTEX,
	MODEL_SPIN,
	MODEL_RWLOCK,
	MODEL_BARRIER,
	MODEL_CONDITION,
	MODEL_SEMAPHORE,
	MODEL_QUEUE,
	MODEL_LIMIT,
	MODEL_DISK,
	MODEL_OBJECT_KINDS,
};

/* What a recording saw of an object, so that a simulation can tell when it leaves what was seen. */
struct model_use {
	bool is_known;
	double waited_share; /* of its uses that had to wait, 0 to 1 */
	double busy_share; /* of the time that it was held or served */
};

/* The words for enum sim_disk_order. */
enum { MODEL_DISK_ORDERS = SIM_DISK_BATCH + 1 };
extern const char *const model_disk_orders[MODEL_DISK_ORDERS];

struct model_object {
	enum model_object_kind kind;
	const char *name; /* unique among all objects */
	struct model_value size; /* locks: instances (one for each bucket, ...), of which each lock
	                            draws one that its thread does not hold, 0: 1; barrier: threads; semaphore: value at first; queue: capacity, 0:
	                            unbounded; limit: how many; disk: requests served at once, 0: 1 */
	double *shares; /* locks: of all lockings, how many are of each of the first instances; the others
	                   have the rest in equal parts */
	uint32_t share_count;
	struct model_value initial; /* queue: items in it at first; below 0: none */
	/*
	 * Queue: so many of them, 0: 1. Each thread gets from one of them, always the same, and each client of a source puts
	 * into one (who puts otherwise into any): the threads of a group, and the clients, are dealt out in turn.
	 */
	struct model_value instances;
	uint32_t
		refilled_by; /* queue: the barrier that, when it opens, fills it again to as many; MODEL_NONE */
	/* Barrier: how long who waits spins before it sleeps, where the barrier's threads are no more than the cores. */
	struct model_value spins;
	bool has_writers_first; /* read-write lock */
	bool lends; /* queue, semaphore, limit: a few items, see sim_set_lending() */
	bool lends_any; /* queue: any number of items: in what order they are put and taken is not known */
	bool are_signals; /* queue: what is put are signals, of which it lends any number */
	bool are_calls; /* queue: what is put while nobody waits for it is lost */
	bool are_replies; /* queue: what is put goes to who put the item that its putter got last */
	enum sim_disk_order order; /* of a disk's queue */
	struct model_value latency; /* disk: until a thread is told that its request is over */
	struct model_class { /* disk: classes of requests, at least one */
		const char *name;
		struct model_dist service;
	} * classes;
	uint32_t class_count;
	struct model_use recorded;
	unsigned line;
};

enum model_op {
	MODEL_COMPUTE, /* nothing after the CPU time */
	MODEL_LOCK, /* mutex or spin lock, or read-write lock to write */
	MODEL_TRY_LOCK, /* mutex; held: otherwise */
	MODEL_READ_LOCK, /* read-write lock */
	MODEL_UNLOCK, /* any of the three */
	MODEL_ARRIVE, /* barrier */
	MODEL_WAIT, /* condition; other: the mutex; `time`: timeout, then: otherwise */
	MODEL_SIGNAL, /* condition */
	MODEL_BROADCAST,
	MODEL_ACQUIRE, /* semaphore */
	MODEL_POST, /* semaphore, `count` times */
	MODEL_PUT, /* queue: the thread's request, which it then no longer has; or, is_plain, `count` items
	              that are none */
	MODEL_GET, /* queue; becomes the thread's request. Closed and empty: otherwise, none: exit */
	MODEL_TRY_PUT, /* full: otherwise */
	MODEL_TRY_GET, /* empty: otherwise */
	MODEL_CLOSE, /* queue */
	MODEL_TAKE, /* limit; none left: otherwise */
	MODEL_GIVE,
	MODEL_IO, /* disk; other: class; `count`: device requests, 0: in the page cache */
	MODEL_SLEEP, /* for `time`: also waiting for what is outside the model */
	MODEL_SPAWN, /* group: `count` threads */
	MODEL_JOIN, /* group: those that this thread spawned */
	MODEL_BEGIN, /* a request that the thread makes itself */
	MODEL_END, /* the thread's request: served */
	MODEL_FAIL, /* the thread's request: error */
	MODEL_TICK, /* `count` units of work are done (an iteration, a frame) */
	MODEL_LOOP, /* `count` times `body`, which leads back here; then the edges */
	MODEL_YIELD,
	MODEL_OPS,
};

struct model_edge {
	uint32_t to; /* fragment of the same group, MODEL_EXIT or MODEL_STOP */
	struct model_value probability; /* of all edges of a fragment: sum 1 */
};

/*
 * How CPU times change in the course of the work, of which each of the equally many first, second, ... of a fragment's `visits` has a factor; after
 * them it begins anew.
 */
struct model_course {
	double *factors;
	uint32_t factor_count; /* 0: they do not change */
	struct model_value
		threads; /* each of so many has a piece of it, one behind the other; all zero: they go through it together */
};

/* So many times in a row one of several. */
struct model_turn {
	uint32_t which; /* index */
	uint32_t times;
};

struct model_fragment {
	const char *name; /* unique in its group: an operation and where, "read page@serve.c:120" */
	struct model_dist cpu; /* CPU time at speed 1, before the operation */
	struct model_value
		visits; /* by all threads of the group, in which each part of the distribution of CPU times comes equally often; 0: each draw is independent */
	struct model_course course; /* of the CPU times */
	enum model_op op;
	uint32_t object; /* index of an object; MODEL_SPAWN, MODEL_JOIN: of a group */
	uint32_t other; /* MODEL_WAIT: index of the mutex; MODEL_IO: of the disk's class */
	struct model_count
		count; /* by op; all zero (value 0 without formula): 1, but of a disk: 0 */
	struct model_value
		up_to; /* MODEL_GET: takes what else there is, up to so many in all; all zero: one item */
	bool takes_all; /* MODEL_GET: whatever there is */
	bool by_taken; /* MODEL_LOOP: instead of `count` as many turns as the thread's last get took, less `less` */
	uint32_t less;
	struct model_dist time; /* by op */
	uint32_t
		otherwise; /* where to if the operation was refused: fragment, MODEL_EXIT, _STOP, _NONE */
	uint32_t body; /* MODEL_LOOP */
	bool is_plain; /* MODEL_PUT, MODEL_TRY_PUT: items without the thread's request, which it keeps */
	bool is_for_all; /* of those: as many as threads wait for one, instead of `count` */
	bool hands_on; /* MODEL_SPAWN: the first of the threads gets the request of who starts them */
	bool is_paced; /* MODEL_SLEEP: from the end that the one before should have had, unless the thread waited since */
	bool is_background; /* MODEL_IO: all requests at once, and nobody waits (read-ahead, write-back) */
	uint32_t part; /* index into model->parts: the time from entering to leaving the part is
	                  reported ("stat", "read"); MODEL_NONE: none */
	struct model_edge *edges; /* none: the thread exits */
	uint32_t edge_count;
	struct model_value
		draws; /* of the edges and of a table of `count`: each comes exactly its share of so
	                             many (deck.h); all zero: each draw is independent of the others */
	uint32_t last; /* of a deck of edges: index of the one that comes last; MODEL_NONE: none */
	bool is_together; /* MODEL_LOOP with a table of `count`: the n-th of all threads of the group has as many turns */
	struct model_turn *
		order; /* which edge, of MODEL_LOOP which entry of `count`, comes when, to each thread by itself; then anew */
	uint32_t order_count; /* 0: chance decides */
	unsigned line;
};

struct model_group {
	const char *name;
	struct model_value count; /* of threads that exist at the start; 0: only spawned ones */
	uint32_t start; /* fragment */
	struct model_fragment *fragments;
	uint32_t fragment_count;
	uint32_t *cores; /* the cores that they may use, none: all */
	uint32_t core_count;
	unsigned line;
	size_t fragment_capacity; /* private */
};

struct model_source {
	const char *name;
	enum model_source_kind {
		MODEL_POISSON, /* rate */
		MODEL_INTERVALS, /* interval */
		MODEL_CLOSED, /* `clients`, each thinks for `interval`, asks, and waits for the answer */
		MODEL_ARRIVALS, /* at times[] */
		MODEL_BATCH, /* `requests` at the start */
	} kind;
	struct model_value rate; /* 1/s */
	struct model_dist interval;
	struct model_value clients;
	double *times; /* s, ascending */
	size_t time_count;
	struct model_value requests; /* how many in all; 0: without end */
	uint32_t queue; /* index of an object */
	uint32_t limit; /* of which each takes one until it has ended; MODEL_NONE: none */
	bool does_wait_for_room; /* a full queue holds the source back instead of refusing */
	unsigned line;
};

struct model_hardware {
	struct model_value cores; /* 0: as many as there are threads */
	double *speeds; /* one for each core, from the first on; those beyond: 1 */
	uint32_t speed_count;
	uint32_t threads_per_core; /* 0: 1 */
	double smt_factor; /* speed of each of two busy siblings; 0: 0.6 */
	bool is_round_robin; /* else fair, as Linux's */
	struct model_dist quantum; /* none: the engine's own */
	struct model_value switch_time; /* s */
	struct model_dist wake; /* of a woken thread until it runs; none: no time */
	struct model_value wake_cost; /* s: CPU time of the thread that wakes it */
	struct model_value
		doze_time; /* s: who is woken so soon after it began to wait has neither */
	unsigned line;
};

/* The run that a model was made from; 0 or NaN: not known. */
struct model_recorded {
	bool is_known;
	const char *program; /* its command line, NULL: not known */
	double duration_s;
	uint32_t cores; /* of the machine */
	double core_utilisation; /* mean share of them that was busy, 0 to 1 */
	double throughput_per_s; /* of requests */
	double response_s; /* mean */
	uint32_t
		descriptors; /* that the program may have open, if it never had them all: else a limit says it */
	bool is_slowed; /* by what a note tells of, and no model knows; not in the file */
	const char **notes; /* what a reader of results must know: "the workload changed", ... */
	size_t note_count, note_capacity;
};

struct model {
	const char *name;
	struct model_parameter *parameters;
	size_t parameter_count, parameter_capacity;
	struct model_object *objects;
	size_t object_count, object_capacity;
	struct model_source *sources;
	size_t source_count, source_capacity;
	struct model_group *groups;
	size_t group_count, group_capacity;
	const char **parts;
	size_t part_count, part_capacity;
	struct model_hardware hardware;
	struct model_recorded recorded;
	struct model_value
		way; /* s: from who asks to the program and back, a part of response times;
	                           clients that think are away for as long, too */
	struct model_value
		duration; /* how long to simulate, s; 0: by itself (docs/models/simulate.md) */
	const char *file; /* what errors call it, NULL: "model" */
	struct model_block *blocks; /* private: all other memory */
};

/* NULL: out of memory. */
struct model *model_new(void);
void model_free(struct model *model);
CLEANUP_DEFINE(model, model_free)

/* Zeroed memory that lives as long as the model; a copy of a text. NULL: out of memory. */
void *model_alloc(struct model *model, size_t count, size_t size);
const char *model_text(struct model *model, const char *text);

/*
 * Each adds one element, named as told (copied) and otherwise zero or MODEL_NONE, and gives its index
 * by *ret. Pointers to elements are valid until the next one of their kind is added. 0 or -ENOMEM.
 */
int model_add_parameter(struct model *model, const char *name, uint32_t *ret);
int model_add_object(
	struct model *model, enum model_object_kind kind, const char *name, uint32_t *ret);
int model_add_source(struct model *model, const char *name, uint32_t *ret);
int model_add_group(struct model *model, const char *name, uint32_t *ret);
int model_add_fragment(struct model *model, uint32_t group, const char *name, uint32_t *ret);
int model_add_part(struct model *model, const char *name, uint32_t *ret); /* the same name once */
int model_add_note(struct model *model, const char *text);

/* Index by name, MODEL_NONE if there is none. */
uint32_t model_find_parameter(const struct model *model, const char *name);
uint32_t model_find_object(const struct model *model, const char *name);
uint32_t model_find_group(const struct model *model, const char *name);
uint32_t model_find_fragment(const struct model_group *group, const char *name);

/* The words of the file: "mutexes", ... and "mutex", ...; "lock", "read_lock", ... */
const char *model_object_section(enum model_object_kind kind);
const char *model_object_word(enum model_object_kind kind);
const char *model_op_word(enum model_op op);

/*
 * Is it a model that can be simulated: names, indices, kinds, units, probabilities, ranges, no cycle
 * without time. With its default parameters, or the values of all given. 0, -EINVAL ("FILE:LINE: ..."),
 * -ENOMEM.
 */
int model_check(const struct model *model, struct err *err);
int model_check_at(const struct model *model, const double *parameters, struct err *err);

/* Whether anything depends on a parameter of a model that is good: 0, 1, -ENOMEM. */
int model_uses(const struct model *model, uint32_t parameter);

/*
 * A value with the given values of all parameters (NULL: the defaults). 0; -EINVAL: not a formula, an
 * unknown name, a wrong unit, not finite. `unit`: what it must measure.
 */
int model_evaluate(const struct model *model, const struct model_value *value, enum model_unit unit,
	const double *parameters, double *ret, struct err *err);

/* "4.3 us", "70 /s", "0.25" for the file: times and rates with six digits, in the unit that suits. */
enum { MODEL_FORMAT_BYTES = 40 };
void model_format(double value, enum model_unit unit, char ret[MODEL_FORMAT_BYTES]);

/* As YAML. 0, or a negative errno of writing. The model must pass model_check(). */
int model_write(const struct model *model, FILE *out, struct err *err);

/* Reads and checks; `name` is what errors call the file. 0, -EINVAL ("FILE:LINE: ..."), -EFBIG, -EIO,
   -ENOMEM. */
int model_read(FILE *in, const char *name, struct model **ret, struct err *err);

#endif
