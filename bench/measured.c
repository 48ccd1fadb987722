/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "measured.h"

#include "uarch/profile_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int read_profile(const char *path, const void *bytes, size_t count,
	const struct measured_readers *readers, struct err *err)
{
	AUTO_RELEASE(profile) struct profile profile = { 0 };
	int status = profile_read(bytes, count, path, &profile, err);
	return status < 0 ? status : readers->profile(&profile, err);
}

static int read_trace(const char *path, const struct measured_readers *readers, struct err *err)
{
	AUTO(full_trace) struct full_trace *trace = NULL;
	int status = full_trace_open(path, &trace, err);
	return status < 0 ? status : readers->trace(trace, err);
}

static int read_file(const char *path, const struct measured_readers *readers, struct err *err)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about = { 0 };
	if (fd < 0 || fstat(fd, &about) < 0)
		return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	size_t count = (size_t)about.st_size;
	void *bytes = count > 0 ? mmap(NULL, count, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	if (bytes == MAP_FAILED)
		return err_set(err, -EINVAL, "'%s' cannot be mapped, or is empty", path);
	int status = profile_is_file(bytes, count) ? read_profile(path, bytes, count, readers, err)
						   : read_trace(path, readers, err);
	(void)munmap(bytes, count); /* as it was mapped */
	return status;
}

int measured_each(int argc, char **argv, const struct measured_readers *readers)
{
	if (argc < 2) {
		(void)fprintf(stderr, "usage: %s FILE...\n", readers->program);
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		struct err err = { 0 };
		int status = read_file(argv[i], readers, &err);
		if (status < 0) {
			(void)fprintf(stderr, "%s: %s\n", readers->program,
				err.text[0] ? err.text : strerror(-status));
			return 1;
		}
	}
	return 0;
}
