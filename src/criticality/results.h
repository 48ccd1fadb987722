/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an analysis says, in seconds and names, most to blame first. All texts belong to it. */
#ifndef CRITICALITY_RESULTS_H
#define CRITICALITY_RESULTS_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "criticality/account.h"

#include <stddef.h>
#include <stdint.h>

struct result_thread {
	char *name; /* NULL: has none */
	uint32_t pid, tid, parent;
	uint32_t count; /* threads that it stands for: 1, more after results_merge() */
	uint64_t routine; /* address in process `pid`; 0 if unknown */
	uint64_t life_ns, running_ns, alone_ns;
	uint64_t ended_idle_ns; /* in which no thread was active, until this one was */
	uint64_t criticality_ns; /* of all threads: active_ns */
	uint64_t waited_ns[WHAT_OTHER + 1];
	uint64_t *bins_ns; /* criticality in the strip's bins from first_bin on; others are 0 */
	uint32_t first_bin, bin_count;
};

enum {
	LOCK_CALLERS_MAX = 8, /* as far as who knows what a lock is part of is likely to be */
};

struct result_lock {
	char *name; /* NULL: has none, see site */
	uint32_t pid;
	uint8_t what; /* of a futex: what it was used for, as far as can be told */
	bool is_futex;
	bool is_held; /* a lock, also one made of a semaphore: its holders are to blame, blame.h */
	uint64_t address, site; /* of itself; of its first use */
	uint64_t entry; /* futex: code that entered the kernel to wait; 0 if unknown */
	uint64_t init_site; /* of its initialisation; 0: not seen */
	bool is_one_of_many; /* others that are used elsewhere were initialised there, too */
	/* Return addresses of a wait for it, innermost first; 0: no more are known. */
	uint64_t callers[LOCK_CALLERS_MAX];
	/* What who signalled it had run, when that was blamed most: code, and its callers as in a site; 0: not known. */
	uint64_t signaller;
	uint32_t signaller_stack;
	/* Of the stack frame that it lies in: code, begin and canonical address; 0: none known. */
	uint64_t frame_site, frame_begin, frame;
	uint64_t acquisitions, waits, episodes, try_failures;
	uint64_t spins; /* of the waits: loops of failed tries */
	uint64_t
		recorded; /* of the acquisitions: the rest, and its part of held_ns, is estimated */
	uint64_t held_ns, waited_ns, contended_ns, blame_ns, loss_ns, serial_ns;
	uint64_t
		idle_loss_ns; /* beside loss_ns, while no thread was active: result_lock_loss_ns() */
	uint64_t
		taken_over_ns; /* of both: by waits for other locks, whose holders waited for this one */
	uint64_t typical_wait_ns; /* the mean of its waits, each counted by its length */
	uint64_t turns_ns; /* of what is signalled: blame.h */
	bool is_code; /* where threads were seen to spin (analysis.h): who has what they spin for is not known */
	uint32_t spinners; /* there: threads */
	uint64_t first_spun_ns; /* there: by the most critical thread */
	uint32_t worst_thread; /* index into threads: blamed most for it; INDEX_NONE */
	uint64_t worst_ns;
	uint64_t first_blame_ns; /* of the most critical thread */
	uint64_t worst_site; /* call from which it was taken when it was blamed most; 0 */
	/* Who held it for blocked_ns while it slept or waited for a device, and had most to do besides; INDEX_NONE. */
	uint32_t blocked_thread;
	uint64_t blocked_ns;
};

struct result_site {
	uint32_t pid;
	uint32_t stack; /* of its callers: index into stacks; INDEX_NONE if unknown */
	uint64_t address;
	uint64_t blame_ns, count; /* of all sites: active_ns */
	uint64_t alone_ns; /* by samples: while no other thread was active */
};

/* A place where threads wait: that was the first wait to end when no thread was active. */
struct result_idle {
	uint32_t pid;
	uint8_t what;
	uint64_t site; /* return address of the call; 0: unknown */
	uint64_t idle_ns, count; /* of those times: their sum; how many */
};

struct result_stack {
	uint64_t *frames; /* return addresses, innermost first */
	size_t frame_count;
};

struct result_module {
	uint32_t pid;
	uint64_t bias, end;
	char *path;
};

enum finding_kind {
	FINDING_NONE,
	FINDING_THREAD,
	FINDING_LOCK,
	FINDING_BARRIER,
	FINDING_SERIAL,
	FINDING_PIPELINE,
	FINDING_SPIN,
};

/* Indices are into threads and locks of the results; INDEX_NONE where there is none. */
struct finding {
	enum finding_kind kind;
	uint32_t thread, lock;
	double share; /* of the elapsed time that it costs, estimated: 0 to 1 */
	double bound; /* no more than this many times as fast without it; >= 1 */
	double spread; /* about so many times, with the same work spread evenly on the same cores; NAN: unknown */
	bool is_clear; /* nothing else comes near, and no events were lost */
};

struct results {
	char *program; /* command line; NULL if unknown */
	uint64_t elapsed_ns, active_ns, idle_ns; /* elapsed = active + idle */
	uint64_t events, lost; /* read; that the recorder could not record */
	uint64_t free_locks,
		left_out; /* mutexes taken without waiting: read, left out (EVENT_LEFT_OUT) */
	bool has_samples; /* sites come from samples, else from call sites */
	uint64_t samples;
	uint64_t
		unseen_ns; /* of all threads' active time: they slept, by the scheduler, and no event says why */
	bool has_cores; /* events say who had a core */
	/* Time of the `cores` that threads could have used, and the part of it that others had; 0: unknown. */
	uint64_t wanted_core_ns, denied_core_ns;
	uint64_t spared_core_ns; /* another part: nobody had them, as far as the recorder saw */
	uint32_t cores, served_cores; /* as in struct analysis_opts */
	uint32_t live_max; /* threads alive at the same time */
	uint64_t parallelism_ns[PARALLELISM_MAX + 1];
	uint64_t bin_ns; /* width of a bin of the strip */
	uint32_t bin_count;
	struct result_thread *threads;
	size_t thread_count;
	struct result_thread *groups; /* results_merge(); names are those of threads */
	size_t group_count;
	struct result_lock *locks;
	size_t lock_count;
	struct result_site *sites;
	size_t site_count;
	struct result_idle *idles; /* the longest first */
	size_t idle_count;
	struct result_stack *stacks;
	size_t stack_count;
	struct result_module *modules;
	size_t module_count;
	struct finding *findings; /* first: the most costly; never none at all */
	size_t finding_count;
};

/* Whether those who signal it are to blame, not those who hold it. */
static inline bool result_lock_is_signalled(const struct result_lock *lock)
{
	return lock->what == WHAT_QUEUE ||
	       ((lock->what == WHAT_COND || lock->what == WHAT_SEM) && !lock->is_held);
}

/* What the waits for it cost. What is signalled may be waited for in vain while no thread is active. */
static inline uint64_t result_lock_loss_ns(const struct result_lock *lock)
{
	return lock->loss_ns + (result_lock_is_signalled(lock) ? 0 : lock->idle_loss_ns);
}

/* Criticality of a thread in one bin of the strip. */
static inline uint64_t thread_bin_ns(const struct result_thread *thread, uint32_t bin)
{
	return bin >= thread->first_bin && bin - thread->first_bin < thread->bin_count
		       ? thread->bins_ns[bin - thread->first_bin]
		       : 0;
}

/* Share of the mutexes taken without waiting that the timeline tells of. */
static inline double results_free_share(const struct results *results)
{
	double all = (double)results->free_locks + (double)results->left_out;
	return results->left_out > 0 ? (double)results->free_locks / all : 1;
}

/* Share of the time of cores that the threads could have used in which others had them. */
static inline double denied_core_share(const struct results *results)
{
	return results->wanted_core_ns > 0
		       ? (double)results->denied_core_ns / (double)results->wanted_core_ns
		       : 0;
}

/* The share in which nobody had them: threads wait for a core beside one that is idle, as schedulers have it. */
static inline double spared_core_share(const struct results *results)
{
	return results->wanted_core_ns > 0
		       ? (double)results->spared_core_ns / (double)results->wanted_core_ns
		       : 0;
}

/* Share of the time in which threads seem to have been active that they slept. */
double results_unseen_share(const struct results *results);

void results_free(struct results *results);
CLEANUP_DEFINE(results, results_free)

/*
 * All but the groups as bytes, for another process on the same machine that the same program runs; and back. 0 or -ENOMEM (also:
 * bytes that end early).
 */
int results_pack(const struct results *results, struct strbuf *out);
int results_unpack(const char *bytes, size_t length, struct results **ret);

/* The module that holds an address of a process; NULL if none is known. */
const struct result_module *results_module(
	const struct results *results, uint32_t pid, uint64_t address);

/*
 * Says what a futex, or a place where threads spin, is, where the caller knows better (by the name of the function that waits): any
 * of those of the C library. Whether a semaphore serves as a lock is known by its use. Then the findings are to be found again.
 */
void results_set_futex(struct results *results, size_t lock, uint8_t what);

/* The findings once more, after such changes. 0 or -ENOMEM. */
int results_find_again(struct results *results);

/*
 * Fills `groups`: threads with the same start routine become one, whose times are sums and which has
 * the name and numbers of its most critical thread. 0 or -ENOMEM.
 */
int results_merge(struct results *results);

#endif
