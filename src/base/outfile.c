/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output files that appear whole or not at all. */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int outfile_check(const char *path, bool is_forced, struct err *err)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return 0; /* if more is wrong than that it is missing, who opens it says so */
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "cannot write '%s': it is not a regular file", path);
	if (!is_forced)
		return err_set(
			err, -EEXIST, "'%s' exists: --force replaces it, -o names another", path);
	return 0;
}

static int open_plain(struct outfile *out, const char *path, struct err *err)
{
	out->file = fopen(path, "we");
	if (!out->file)
		return err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	return 0;
}

int outfile_open(struct outfile *out, const char *path, struct err *err)
{
	bool is_stdout = strcmp(path, "-") == 0;
	*out = (struct outfile){ .path = strdup(is_stdout ? "standard output" : path) };
	if (!out->path)
		return err_set(err, -ENOMEM, "out of memory");
	if (is_stdout) {
		out->file = stdout;
		return 0;
	}
	struct stat st;
	bool exists = stat(path, &st) == 0;
	if (exists && S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "cannot write '%s': it is a folder", path);
	if (exists && !S_ISREG(st.st_mode))
		return open_plain(out, path, err);

	if (exists) { /* through symbolic links, which stay */
		out->target = realpath(path, NULL);
		if (!out->target)
			return err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	}
	if (asprintf(&out->temporary, "%s.XXXXXX", out->target ? out->target : path) < 0) {
		out->temporary = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	int fd = mkostemp(out->temporary, O_CLOEXEC);
	if (fd < 0) {
		int code = -errno;
		free(out->temporary);
		out->temporary = NULL;
		return err_set(err, code, "cannot write '%s': %s", path, strerror(-code));
	}
	/* mkostemp makes 0600: give the file the mode that fopen would have. */
	mode_t mask = umask(0);
	(void)umask(mask); /* never fails */
	(void)fchmod(fd, exists ? st.st_mode & 0777 : 0666 & ~mask); /* best effort */
	out->file = fdopen(fd, "w");
	if (!out->file) {
		int code = -errno;
		(void)close(fd); /* nothing was written */
		return err_set(err, code, "cannot write '%s': %s", path, strerror(-code));
	}
	return 0;
}

int outfile_commit(struct outfile *out, struct err *err)
{
	FILE *file = out->file;
	out->file = NULL;
	bool failed_before = ferror(file) != 0; /* its errno is gone */
	bool failed_now = (file == stdout ? fflush(file) : fclose(file)) != 0;
	if (failed_before || failed_now)
		return err_set(err, -EIO, "cannot write '%s': %s", out->path,
			failed_now ? strerror(errno) : "a part was not written (disk full?)");
	const char *target = out->target ? out->target : out->path;
	if (out->temporary && rename(out->temporary, target) < 0)
		return err_set(err, -errno, "cannot write '%s': %s", out->path, strerror(errno));
	free(out->temporary);
	out->temporary = NULL;
	return 0;
}

void outfile_release(struct outfile *out)
{
	if (out->file && out->file != stdout)
		(void)fclose(out->file); /* not committed: thrown away */
	if (out->temporary)
		(void)unlink(out->temporary); /* as above */
	free(out->temporary);
	free(out->target);
	free(out->path);
	*out = (struct outfile){ 0 };
}
