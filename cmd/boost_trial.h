/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices of a run with and without boosting, in turn: what the program gets done in each, and the energy. */
#ifndef CMD_BOOST_TRIAL_H
#define CMD_BOOST_TRIAL_H

#include "base/cleanup.h"
#include "base/err.h"
#include "machine/rapl.h"
#include "tune/trial.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct boost_trial_opts {
	const char *metric; /* of steer/rate.h */
	double slice_s;
	bool is_guarded; /* acts on what it finds */
};

struct boost_trial;

int boost_trial_new(const struct boost_trial_opts *opts, struct boost_trial **ret, struct err *err);
void boost_trial_free(struct boost_trial *trial);
CLEANUP_DEFINE(boost_trial, boost_trial_free)

/* As tune_session.h has them. */
size_t boost_trial_environment(const struct boost_trial *trial, const char **ret);
int boost_trial_output(const struct boost_trial *trial);

/* The program is there; rapl is borrowed, NULL: no energy. 0 or a negative errno. */
int boost_trial_start(
	struct boost_trial *trial, pid_t pid, double now_s, struct rapl *rapl, struct err *err);

/* Now and then: whether boosting is on from now on. 0 or a negative errno. */
int boost_trial_poll(struct boost_trial *trial, double now_s, bool *ret_is_on, struct err *err);

/* Behind the end: lines for people, and one value of JSON. */
void boost_trial_print(struct boost_trial *trial, FILE *out);
json_t *boost_trial_json(const struct boost_trial *trial);

#endif
