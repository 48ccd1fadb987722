/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/tune_share.h"

#include "collect/sync_stalls.h"
#include "preload/tune_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct tune_share {
	struct tune_page *page;
	char *path;
	struct sync_env env;
};

void tune_share_free(struct tune_share *share)
{
	if (!share)
		return;
	sync_env_release(&share->env);
	if (share->page)
		(void)munmap(share->page, TUNE_PAGE_BYTES); /* cannot fail */
	if (share->path)
		(void)unlink(share->path); /* at worst it stays in the temporary folder */
	free(share->path);
	free(share);
}

static int map_page(struct tune_share *share, struct err *err)
{
	AUTO_FD int fd = mkostemp(share->path, O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, TUNE_PAGE_BYTES) < 0)
		return err_set(err, -errno,
			"cannot create '%s': %s (set TMPDIR to a folder that can be written)",
			share->path, strerror(errno));
	void *page = mmap(NULL, TUNE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return err_set(err, -errno, "cannot map '%s': %s", share->path, strerror(errno));
	share->page = page;
	share->page->version = TUNE_PAGE_VERSION;
	return 0;
}

int tune_share_new(struct tune_share **ret, struct err *err)
{
	AUTO(tune_share) struct tune_share *share = calloc(1, sizeof *share);
	const char *folder = getenv("TMPDIR");
	if (!share)
		return err_set(err, -ENOMEM, "out of memory");
	if (asprintf(&share->path, "%s/corecast-tune-XXXXXX", folder && *folder ? folder : "/tmp") <
		0) {
		share->path = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	int code = map_page(share, err);
	if (code == 0)
		code = sync_env_make(TUNE_PAGE_ENVIRONMENT, share->path, &share->env, err);
	if (code < 0)
		return code;
	*ret = TAKE(share);
	return 0;
}

struct tune_page *tune_share_page(struct tune_share *share)
{
	return share ? share->page : NULL;
}

const char *tune_share_path(const struct tune_share *share)
{
	return share->path;
}

size_t tune_share_environment(const struct tune_share *share, const char **ret)
{
	ret[0] = share->env.assignments[0];
	ret[1] = share->env.assignments[1];
	return 2;
}

uint64_t tune_share_regions(const struct tune_share *share)
{
	return __atomic_load_n(&share->page->tunable, __ATOMIC_RELAXED);
}
