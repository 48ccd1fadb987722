/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steer/tune_share.h"

#include "base/tempfile.h"
#include "collect/sync_stalls.h"
#include "preload/tune_page.h"

#include <errno.h>
#include <stdlib.h>
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

int tune_share_new(const char *library, struct tune_share **ret, struct err *err)
{
	AUTO(tune_share) struct tune_share *share = calloc(1, sizeof *share);
	void *page = NULL;
	if (!share)
		return err_set(err, -ENOMEM, "out of memory");
	int code = tempfile_map(NULL, "corecast-tune", TUNE_PAGE_BYTES, &page, &share->path, err);
	if (code < 0)
		return code;
	share->page = page;
	share->page->version = TUNE_PAGE_VERSION;
	code = sync_env_make(library, TUNE_PAGE_ENVIRONMENT, share->path, &share->env, err);
	if (code < 0)
		return code;
	*ret = TAKE(share);
	return 0;
}

struct tune_page *tune_share_page(struct tune_share *share)
{
	return share ? share->page : NULL;
}

void tune_share_tell(struct tune_share *share, uint32_t threads)
{
	share->page->told = threads;
}

const char *tune_share_path(const struct tune_share *share)
{
	return share->path;
}

size_t tune_share_environment(const struct tune_share *share, const char **ret)
{
	for (size_t i = 0; i < SYNC_ENV_ASSIGNMENTS; i++)
		ret[i] = share->env.assignments[i];
	return SYNC_ENV_ASSIGNMENTS;
}

bool tune_share_is_tunable(const struct tune_share *share)
{
	return __atomic_load_n(&share->page->is_tunable, __ATOMIC_RELAXED);
}

bool tune_share_is_bounded(const struct tune_share *share)
{
	return __atomic_load_n(&share->page->is_bounded, __ATOMIC_RELAXED);
}

bool tune_share_is_kept(const struct tune_share *share)
{
	enum { ENOUGH = 10 }; /* how a program begins says little */
	uint64_t kept = __atomic_load_n(&share->page->kept, __ATOMIC_RELAXED);
	return kept >= ENOUGH && kept > __atomic_load_n(&share->page->tuned, __ATOMIC_RELAXED);
}
