/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/sync_watch.h"

#include "base/tempfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The categories are those of an empty record. */
static int read_names(struct sync_watch *watch, struct err *err)
{
	AUTO(sync_stalls) struct sync_stalls *stalls = NULL;
	int status = sync_stalls_read(watch->path, &stalls, err);
	if (status < 0)
		return status;
	for (size_t i = 0; i < SYNC_STALLS_CATEGORIES; i++)
		if (asprintf(&watch->names[i], "sync_%s", stalls->categories[i].name) < 0) {
			watch->names[i] = NULL;
			return err_set(err, -ENOMEM, "out of memory");
		}
	return 0;
}

int sync_watch_new(const char *program, struct sync_watch **ret, struct err *err)
{
	AUTO(sync_watch) struct sync_watch *watch = calloc(1, sizeof *watch);
	if (!watch)
		return err_set(err, -ENOMEM, "out of memory");
	watch->program = strdup(program);
	if (!watch->program)
		return err_set(err, -ENOMEM, "out of memory");
	/* The library of the program maps it. */
	AUTO_FD int fd = tempfile_open(NULL, "corecast-sync", &watch->path, err);
	if (fd < 0)
		return fd;
	int status = sync_watch_prepare(watch, err);
	if (status == 0)
		status = read_names(watch, err);
	if (status < 0)
		return status;
	*ret = TAKE(watch);
	return 0;
}

void sync_watch_free(struct sync_watch *watch)
{
	if (!watch)
		return;
	sync_env_release(&watch->env);
	for (size_t i = 0; i < SYNC_STALLS_CATEGORIES; i++)
		free(watch->names[i]);
	if (watch->path)
		(void)unlink(watch->path); /* at worst it stays in the temporary folder */
	free(watch->path);
	free(watch->program);
	free(watch);
}

int sync_watch_prepare(struct sync_watch *watch, struct err *err)
{
	struct sync_env env = { 0 };
	int status = sync_stalls_prepare(watch->program, watch->path, &env, err);
	if (status < 0)
		return status;
	sync_env_release(&watch->env);
	watch->env = env;
	return 0;
}

int sync_watch_read(struct sync_watch *watch, struct err *err)
{
	AUTO(sync_stalls) struct sync_stalls *stalls = NULL;
	int status = sync_stalls_read(watch->path, &stalls, err);
	if (status < 0)
		return status;
	if (stalls->processes == 0)
		return err_set(err, -ENODATA,
			"the program never loaded the library that watches its waits: measure "
			"without --sync-stalls");
	for (size_t i = 0; i < SYNC_STALLS_CATEGORIES; i++)
		watch->values[i] = stalls->categories[i].total_s;
	watch->unfinished_waits += stalls->unfinished_waits;
	return 0;
}
