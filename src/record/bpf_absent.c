/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In builds without BPF: every way in says so. */
#include "machine/bpf_check.h"
#include "record/bpf_watch.h"

#include <errno.h>
#include <string.h>

int bpf_watch_open(const struct bpf_watch_opts *opts, struct bpf_watch **ret, struct err *err)
{
	(void)opts;
	(void)ret;
	int status = bpf_check(err);
	return status < 0 ? status : -EOPNOTSUPP;
}

/* Nothing could be opened: the rest is never called with a watch. */

void bpf_watch_free(struct bpf_watch *watch)
{
	(void)watch;
}

void bpf_watch_stop(struct bpf_watch *watch)
{
	(void)watch;
}

int bpf_watch_read(struct bpf_watch *watch, struct bpf_snapshot *snapshot, struct err *err)
{
	(void)watch;
	(void)snapshot;
	return err_set(err, -EOPNOTSUPP, "this build has no BPF programs");
}

void bpf_watch_losses(const struct bpf_watch *watch, uint64_t ret[WATCH_LOSSES])
{
	(void)watch;
	memset(ret, 0, WATCH_LOSSES * sizeof ret[0]);
}

int bpf_watch_glance(
	const struct bpf_watch *watch, uint32_t tid, struct bpf_glance *ret, struct err *err)
{
	(void)watch;
	(void)tid;
	(void)ret;
	return err_set(err, -EOPNOTSUPP, "this build has no BPF programs");
}

int bpf_watch_drain(struct bpf_watch *watch,
	int (*take)(void *context, const struct watch_event *event), void *context)
{
	(void)watch;
	(void)take;
	(void)context;
	return -EOPNOTSUPP;
}
