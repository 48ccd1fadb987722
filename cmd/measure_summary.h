/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `corecast measure` says at the end: a line for each thread count, noise, what to do next. */
#ifndef CMD_MEASURE_SUMMARY_H
#define CMD_MEASURE_SUMMARY_H

#include "base/err.h"
#include "base/strbuf.h"
#include "collect/where.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One finished run, as far as the summary needs it; NAN: not known (a resumed file's rows). */
struct summary_run {
	uint32_t threads;
	double value; /* of the metric */
	double cpu_s;
	double wait_for_core_s;
	double rss_bytes;
};

struct summary {
	struct summary_run *runs;
	size_t run_count;
	size_t capacity;
	bool has_throughput;
	uint32_t usable; /* cores */
	const char *path; /* of RUNS.csv */
	const char *command; /* shell-quoted */
	const char *options; /* those to repeat when resuming, shell-quoted, with a space after */
	size_t failed; /* runs */
	size_t missing; /* runs not made because the measurement was stopped */
	struct where *where; /* the code behind a stall category; NULL: nobody asked */
};

void summary_release(struct summary *summary);

/* 0 or -ENOMEM. */
int summary_add(struct summary *summary, const struct summary_run *run);

/* The command that measures what is missing of these counts and repeats. */
void summary_add_resume_command(
	const struct summary *summary, const char *counts, uint32_t repeats, struct strbuf *out);

/* 0 or -ENOMEM. */
int summary_print_table(const struct summary *summary, FILE *out, struct err *err);
int summary_print_json(const struct summary *summary, FILE *out, struct err *err);

#endif
