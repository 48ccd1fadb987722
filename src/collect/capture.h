/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program prints, kept in unnamed temporary files rather than read through pipes: the
 * program then never waits for us, and nobody reads while it runs. When only the end is wanted,
 * capture_trim() gives the beginning's disk space back from time to time, so that a program which
 * prints gigabytes does not fill the disk.
 */
#ifndef COLLECT_CAPTURE_H
#define COLLECT_CAPTURE_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/strbuf.h"

#include <stdbool.h>

enum capture_stream { CAPTURE_STDOUT, CAPTURE_STDERR, CAPTURE_STREAMS };

enum capture_keep {
	CAPTURE_TAIL, /* the end: trimming may drop the rest */
	CAPTURE_WHOLE,
	CAPTURE_NOTHING, /* /dev/null */
};

struct capture {
	int fds[CAPTURE_STREAMS]; /* opened for appending; -1: none */
	enum capture_keep keep[CAPTURE_STREAMS];
};

/* Opens both in TMPDIR (or /tmp). 0 or a negative errno. Release in any case. */
int capture_init(struct capture *capture, enum capture_keep keep_stdout,
	enum capture_keep keep_stderr, struct err *err);
void capture_release(struct capture *capture);

/* Drops all but the last part of streams that need not be whole. Cheap when there is little. */
void capture_trim(const struct capture *capture);

/* How much the program has written to a stream that is kept; 0 for others. */
double capture_written_bytes(const struct capture *capture, enum capture_stream stream);

/* Empties both, for the next run. 0 or a negative errno. */
int capture_reset(const struct capture *capture, struct err *err);

/*
 * Adds the last `lines` lines of stderr, or of stdout if stderr is empty, each after `prefix`;
 * long lines are cut and control characters shown as '?'.
 */
void capture_add_tail(
	const struct capture *capture, unsigned lines, const char *prefix, struct strbuf *out);

#endif
