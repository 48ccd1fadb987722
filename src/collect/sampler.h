/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a program and all that it starts spend processor time, or have an event happen: the kernel
 * notes the address of the running instruction from time to time (perf_event_open, user code only).
 *
 *	sampler_new(NULL, &sampler, err);		or an event's type and config
 *	fork; sampler_attach(sampler, child, err); let it exec
 *	sampler_drain(sampler);				at least every 200 ms
 *	... the child has ended ...
 *	sampler_finish(sampler, &samples, err);
 */
#ifndef COLLECT_SAMPLER_H
#define COLLECT_SAMPLER_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;
struct sampler; /* opaque */

struct sample_site {
	const char
		*module; /* path of the ELF file; NULL: code of no file (just-in-time compiled) */
	uint64_t address; /* in that file, or in memory where there is none */
	uint64_t count;
};

struct samples {
	struct sample_site *sites; /* most samples first */
	size_t site_count;
	uint64_t count; /* of all samples */
	uint64_t lost; /* samples that the kernel had no room for */
	double period_s; /* processor time per sample; NAN: an event that is not time */
	char **modules; /* behind the sites */
	size_t module_count;
};

/*
 * `event` gives type and config; NULL: processor time, one sample per ms, which works without
 * hardware counters. 0 or -ENOMEM.
 */
int sampler_new(const struct perf_event_attr *event, struct sampler **ret, struct err *err);
void sampler_free(struct sampler *sampler);
CLEANUP_DEFINE(sampler, sampler_free)

/* Sampling starts at the child's exec. 0; -EACCES, -ENOENT (this machine cannot sample that). */
int sampler_attach(struct sampler *sampler, pid_t pid, struct err *err);

/* Takes what the kernel has noted. 0 or -ENOMEM (then samples are missing, and counted as lost). */
int sampler_drain(struct sampler *sampler);

/* Drains, detaches and counts. The sampler can be attached again. 0 or -ENOMEM. */
int sampler_finish(struct sampler *sampler, struct samples **ret, struct err *err);

/* Why perf_event_open() failed, and what to do; a code for callers. */
int sampler_explain(int code, struct err *err);

void samples_free(struct samples *samples);
CLEANUP_DEFINE(samples, samples_free)

#endif
