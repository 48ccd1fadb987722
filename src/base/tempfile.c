/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/tempfile.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int cannot_create(const char *path, struct err *err)
{
	return err_set(err, -errno,
		"cannot create '%s': %s (set TMPDIR to a folder that can be written)", path,
		strerror(errno));
}

int tempfile_open(const char *folder, const char *name, char **ret_path, struct err *err)
{
	AUTO_FREE char *path = NULL;
	if (!folder)
		folder = getenv("TMPDIR");
	if (asprintf(&path, "%s/%s-XXXXXX", folder && *folder ? folder : "/tmp", name) < 0) {
		path = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return cannot_create(path, err);
	if (ret_path)
		*ret_path = TAKE(path);
	else
		(void)unlink(path); /* at worst it keeps its name */
	return fd;
}

int tempfile_map(const char *folder, const char *name, size_t bytes, void **ret, char **ret_path,
	struct err *err)
{
	AUTO_FREE char *path = NULL;
	AUTO_FD int fd = tempfile_open(folder, name, &path, err);
	if (fd < 0 || !path)
		return fd;
	void *mapped = MAP_FAILED;
	errno = posix_fallocate(
		fd, 0, (off_t)bytes); /* without room a write to the map would be the end */
	if (errno == 0)
		mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		int code = cannot_create(path, err);
		(void)unlink(path); /* at worst it stays */
		return code;
	}
	*ret = mapped;
	*ret_path = TAKE(path);
	return 0;
}
