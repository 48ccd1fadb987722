/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A boost policy (boost.h) at work on a timeline: an event sink in front, the thread that is to be
 * faster behind. The caller ends the slices by its clock and makes threads faster.
 *
 *	booster_new(&opts, &booster, err);
 *	... booster_event() for each event, booster_slice() every BOOST_SLICE_NS; after either:
 *	uint32_t fast = booster_fast(booster);	index into booster_account()->threads
 *
 * Memory grows with the threads ever seen. An event takes constant time; of policies that need
 * bottlenecks, time for each contended one.
 */
#ifndef TUNE_BOOSTER_H
#define TUNE_BOOSTER_H

#include "base/cleanup.h"
#include "base/err.h"
#include "criticality/account.h"
#include "tune/boost.h"

struct booster_opts {
	const struct boost_policy *policy; /* borrowed */
	struct boost_settings settings;
};

struct booster;

/* 0 or -ENOMEM. */
int booster_new(const struct booster_opts *opts, struct booster **ret, struct err *err);
void booster_free(struct booster *booster);
CLEANUP_DEFINE(booster, booster_free)

/* 0; -ENOMEM, -ERANGE (account.h). */
int booster_event(struct booster *booster, const struct event *event);

/* A slice ends at this time, not before the last event. The same errors. */
int booster_slice(struct booster *booster, uint64_t now_ns);

uint32_t booster_fast(const struct booster *booster); /* or BOOST_NONE */
const struct account *booster_account(const struct booster *booster);

#endif
