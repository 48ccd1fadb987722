/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * RUNS.csv as it is written: comments that say what was measured, a header, then one row for each
 * run, appended in one write each. Whatever stops the measurement, the file keeps every finished
 * run, and a measurement can be resumed from it (docs/formats/runs.md).
 */
#ifndef COLLECT_JOURNAL_H
#define COLLECT_JOURNAL_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one run yielded. NAN: not known (an empty field in the file). */
struct record {
	uint32_t threads;
	uint32_t repeat;
	double wall_s;
	double throughput; /* per second; used when the journal's metric is throughput */
	double user_s, system_s;
	double rss_bytes;
	double voluntary_switches, involuntary_switches;
	double wait_for_core_s; /* summed over threads */
	double *stalls; /* of the columns */
};

/* What every row of a file has in common; a resumed measurement must agree with all of it. */
struct journal_subject {
	const char *command; /* shell-quoted, one line */
	const char *settings; /* what influences the numbers, one line */
	const char *machine; /* processor and cores, one line */
	const char *system; /* a note: not compared */
	bool has_throughput;
	const char *const *stall_names; /* without "stall:" */
	size_t stall_count;
	const char *stall_unit; /* of all of them */
};

struct journal {
	int fd;
	char *path;
	bool has_throughput;
	size_t stall_count;
};

enum journal_mode {
	JOURNAL_NEW, /* refuse to touch an existing file, unless it is a measurement's that kept no run */
	JOURNAL_REPLACE,
	JOURNAL_RESUME, /* append; make it if it is not there */
};

/*
 * Opens and writes the beginning, or checks that the file is of this very subject and drops a last
 * line that was torn. *ret_has_rows: some run was kept before.
 * 0; -EEXIST (NEW and there is one), -EINVAL (RESUME of something else, with what differs), or
 * another negative errno. Release in any case.
 */
int journal_open(struct journal *journal, const char *path, enum journal_mode mode,
	const struct journal_subject *subject, bool *ret_has_rows, struct err *err);
void journal_release(struct journal *journal);

/* Appends a row. On failure the file ends after the last whole row. 0 or a negative errno. */
int journal_append(struct journal *journal, const struct record *record, struct err *err);

/* Appends "# text"; a newline in the text becomes a space. 0 or a negative errno. */
int journal_comment(struct journal *journal, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
