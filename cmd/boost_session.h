/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corecast boost at work: the live account, a policy, and what makes a thread faster, around one program. */
#ifndef CMD_BOOST_SESSION_H
#define CMD_BOOST_SESSION_H

#include "base/cleanup.h"
#include "base/err.h"
#include "boost_trial.h"
#include "steer/favour.h"
#include "tune/boost.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { BOOST_NAME_BYTES = 16, BOOST_TALLIES_MAX = 64 };

struct boost_session_opts {
	const struct boost_policy *policy; /* that needs no bottlenecks: nobody tells them live */
	struct boost_settings settings;
	const struct favour_method *method;
	int nice_steps;
	double slice_s;
	bool is_by_preload; /* the account, of a program that we start; else by BPF */
	bool is_dry; /* nothing is changed */
	struct boost_trial *trial; /* borrowed; NULL: boosted all the time */
	FILE *messages; /* a line for each change; NULL: none */
};

/* A thread that was chosen. */
struct boost_tally {
	uint32_t tid; /* 0: all that came when there was no more room */
	char name[BOOST_NAME_BYTES];
	uint32_t times; /* made fast */
	double held_s, fast_s;
};

struct boost_session_result {
	double seconds;
	uint64_t slices, changes;
	uint64_t late; /* slices that were over when we came to look */
	double fast_s; /* while anybody was fast */
	double joules; /* of the machine's processors meanwhile; NAN: not measured */
	uint64_t lost_threads; /* that the account does not know */
	bool has_seen; /* any thread */
	const struct boost_tally *tallies; /* longest held first; the session's */
	size_t tally_count;
};

struct boost_session;

/* 0; -ENOMEM; as preload_watch_new(). The caller frees *ret. */
int boost_session_new(
	const struct boost_session_opts *opts, struct boost_session **ret, struct err *err);
void boost_session_free(struct boost_session *session);
CLEANUP_DEFINE(boost_session, boost_session_free)

/* For the program: "NAME=value", borrowed; how many. Room for two is needed. */
size_t boost_session_environment(const struct boost_session *session, const char **ret);

/* As alongside.h has them. */
int boost_session_begin(void *context, pid_t pid, struct err *err);
int boost_session_run(void *context, pid_t pid, int stop_fd, struct err *err);

/* Of what has been run. */
struct boost_session_result boost_session_result(struct boost_session *session);

#endif
