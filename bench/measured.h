/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that score a model of a program: full traces, which say what happened, and profiles, from which it predicts. */
#ifndef BENCH_MEASURED_H
#define BENCH_MEASURED_H

#include "full_trace.h"
#include "uarch/profile.h"

struct measured_readers {
	const char *program; /* for messages */
	int (*trace)(const struct full_trace *trace, struct err *err);
	int (*profile)(const struct profile *profile, struct err *err);
};

/* Hands each file that is named in argv[1...] to the reader for what it is. The exit status; errors are printed. */
int measured_each(int argc, char **argv, const struct measured_readers *readers);

#endif
