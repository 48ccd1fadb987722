/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output files that appear whole or not at all: written beside the target under a temporary name,
 * renamed by outfile_commit(). "-" writes to stdout. Released without a commit, nothing is left.
 *
 *	AUTO_RELEASE(outfile) struct outfile out = { 0 };
 *	if (outfile_open(&out, path, err) < 0) ...
 *	fputs(page, out.file);
 *	return outfile_commit(&out, err);
 */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct outfile {
	FILE *file;
	char *path; /* for messages: "standard output", or as it was given */
	char *target; /* what path is a link to, or path itself; NULL for a new file */
	char *temporary; /* NULL when writing straight to stdout, a device or a pipe */
};

/*
 * Before a long job, or where something else writes the file: whether a file may come to stand at `path`, in the place
 * of the one that is there only if is_forced. 0; -EEXIST, or -EINVAL: a device, a pipe or a folder is there.
 */
int outfile_check(const char *path, bool is_forced, struct err *err);

/* out->file can be written to. 0; -EISDIR, -ENOMEM, what open() has set. Release in any case. */
int outfile_open(struct outfile *out, const char *path, struct err *err);
/* 0; -EIO: a part could not be written; what rename() has set. */
int outfile_commit(struct outfile *out, struct err *err);
void outfile_release(struct outfile *out);

#endif
