/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which thread is to be faster than the others, given what the threads of a program did in the last
 * slice of time. A policy is a const struct of functions; boost_policies[] lists them. They touch
 * nothing and remember two numbers.
 *
 * Du Bois, Eyerman, Sartor, Eeckhout: "Criticality Stacks: Identifying Critical Threads in Parallel
 * Programs using Synchronization Behavior", ISCA 2013, section 7, Algorithm 1 and the two reactive
 * rules; and, as the paper's baseline, Joao, Suleman, Mutlu, Patt: "Bottleneck Identification and
 * Scheduling in Multithreaded Applications", ASPLOS 2012 (BIS). docs/models/boost.md.
 */
#ifndef TUNE_BOOST_H
#define TUNE_BOOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BOOST_NONE = UINT32_MAX };
enum { BOOST_SLICE_NS = 10000000 }; /* the paper's */

/* A live thread. */
struct boost_thread {
	uint32_t id; /* any but BOOST_NONE; the caller's */
	uint64_t criticality; /* in the slice that ended; any unit, the same for all */
	bool is_active; /* now: running or runnable */
};

/* What threads wait for, and who has to act for them to go on. */
struct boost_bottleneck {
	uint64_t contention; /* waiting time of all threads, recent waits weigh more; ns */
	uint32_t executor; /* id of an active thread, BOOST_NONE: nobody, or nobody alone */
};

struct boost_view {
	/* Live threads, when a slice ends; tie-breaks follow their order. Else none. */
	const struct boost_thread *threads;
	size_t thread_count;
	const struct boost_bottleneck *bottlenecks; /* of a policy that needs them */
	size_t bottleneck_count;
	uint32_t only; /* id of the one thread that is active now; BOOST_NONE: none, or several */
	bool is_held_active; /* boost_state.held is active now */
};

struct boost_state {
	uint32_t held; /* that the policy has chosen (f of Algorithm 1), or BOOST_NONE */
	uint32_t fast; /* that is to be faster from now on, or BOOST_NONE */
};

struct boost_settings {
	double alpha; /* least ratio of criticalities at which one is critical; 0: the paper's 1.2 */
	double beta; /* ratio to the most critical below which the fast one is let go; 0: 0.8 */
};

struct boost_policy {
	const char *name;
	const char *summary;
	bool needs_bottlenecks;
	/* A slice has ended; change() is called after it. NULL: nothing happens then. */
	void (*slice)(const struct boost_settings *settings, const struct boost_view *view,
		struct boost_state *state);
	/* A thread has begun or ceased to be active, has exited, or bottlenecks have changed. */
	void (*change)(const struct boost_view *view, struct boost_state *state);
};

/* Ends with a NULL. */
extern const struct boost_policy *const boost_policies[];
const struct boost_policy *boost_policy_by_name(const char *name);

/* As published: who is held is let go when it is scheduled out, and who is alone is held. */
extern const struct boost_policy boost_policy_dynamic;
/* The same, but the choice stands for its slice: who blocks is fast again as soon as it is active again. */
extern const struct boost_policy boost_policy_resume;
extern const struct boost_policy boost_policy_bis;

#endif
