/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/preload_watch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/tempfile.h"
#include "collect/sync_stalls.h"
#include "preload/live_page.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Our side of a lane. */
struct lane {
	uint64_t owner; /* as it was taken up; 0: nobody */
	uint64_t taken; /* changes */
	struct watch_thread thread;
};

struct change {
	uint64_t time_ns;
	uint32_t order; /* in which it was taken: that of its lane */
	uint32_t lane;
	bool is_active;
};

struct preload_watch {
	struct live_file *file;
	char *path;
	struct sync_env env;
	struct lane lanes[LIVE_LANES];
	uint32_t lane_count;
	struct watch_total total;
	uint64_t lost_changes;
	struct change *changes; /* since the last reading */
	size_t change_count, change_capacity;
};

void preload_watch_free(struct preload_watch *watch)
{
	if (!watch)
		return;
	sync_env_release(&watch->env);
	if (watch->file)
		(void)munmap(watch->file, sizeof *watch->file); /* cannot fail */
	if (watch->path)
		(void)unlink(watch->path); /* at worst it stays in the temporary folder */
	free(watch->path);
	free(watch->changes);
	free(watch);
}

/* In memory where that can be had: nobody waits for a disk. */
static int map_file(struct preload_watch *watch, struct err *err)
{
	static const char name[] = "corecast-live";
	void *mapped = NULL;
	int code = tempfile_map("/dev/shm", name, sizeof *watch->file, &mapped, &watch->path, NULL);
	if (code < 0)
		code = tempfile_map(NULL, name, sizeof *watch->file, &mapped, &watch->path, err);
	if (code < 0)
		return code;
	watch->file = mapped;
	watch->file->header.version = LIVE_VERSION;
	return 0;
}

int preload_watch_new(struct preload_watch **ret, struct err *err)
{
	AUTO(preload_watch) struct preload_watch *watch = calloc(1, sizeof *watch);
	if (!watch)
		return err_set(err, -ENOMEM, "out of memory");
	int code = map_file(watch, err);
	if (code == 0)
		code = sync_env_make(
			PRELOAD_RECORDS, LIVE_PAGE_ENVIRONMENT, watch->path, &watch->env, err);
	if (code < 0)
		return code;
	*ret = TAKE(watch);
	return 0;
}

const char *preload_watch_path(const struct preload_watch *watch)
{
	return watch->path;
}

size_t preload_watch_environment(const struct preload_watch *watch, const char **ret)
{
	for (size_t i = 0; i < SYNC_ENV_ASSIGNMENTS; i++)
		ret[i] = watch->env.assignments[i];
	return SYNC_ENV_ASSIGNMENTS;
}

bool preload_watch_has_seen(const struct preload_watch *watch)
{
	return __atomic_load_n(&watch->file->header.lanes, __ATOMIC_RELAXED) > 0;
}

/* The account of bpf/watch.bpf.c: with r threads active, the sum grows by dt / r. */
static void advance(struct watch_total *total, uint64_t time_ns)
{
	if (total->start_ns == 0)
		total->start_ns = total->now_ns = time_ns;
	if (time_ns <= total->now_ns)
		return;
	uint64_t passed_ns = time_ns - total->now_ns;
	total->now_ns = time_ns;
	if (total->active == 0) {
		total->idle_ns += passed_ns;
		return;
	}
	uint64_t share = (passed_ns << WATCH_FRACTION_BITS) + total->remainder;
	total->sum += share / total->active;
	total->remainder = share % total->active;
}

/* Up to now. */
static void settle(const struct watch_total *total, struct watch_thread *thread)
{
	if (!thread->is_active)
		return;
	thread->criticality += total->sum - thread->begin_sum;
	thread->active_ns += total->now_ns - thread->begin_ns;
	thread->begin_sum = total->sum;
	thread->begin_ns = total->now_ns;
}

static void set_active(struct preload_watch *watch, struct watch_thread *thread, bool is_active)
{
	struct watch_total *total = &watch->total;
	if (is_active == (bool)thread->is_active)
		return;
	settle(total, thread);
	thread->is_active = is_active;
	thread->begin_sum = total->sum;
	thread->begin_ns = total->now_ns;
	thread->waits += !is_active;
	total->active += is_active ? 1 : (uint64_t)-1;
	total->active_tids += is_active ? thread->tid : -(uint64_t)thread->tid;
}

static void take_up(struct lane *lane, uint64_t owner)
{
	char path[64];
	*lane = (struct lane){ .owner = owner };
	struct watch_thread *thread = &lane->thread;
	thread->pid = (uint32_t)(owner >> 32);
	thread->tid = (uint32_t)owner;
	thread->is_known = 1;
	(void)snprintf(path, sizeof path, "/proc/%u/task/%u/comm", thread->pid, thread->tid);
	if (readfile_line("", path, thread->name, sizeof thread->name) < 0)
		(void)snprintf(thread->name, sizeof thread->name, "(ended)");
}

/* Those that are still there when they have been copied; of what was lost, the state stays as it was. */
static int take_changes(struct preload_watch *watch, uint32_t index)
{
	const struct live_lane *from = &watch->file->lanes[index];
	struct lane *lane = &watch->lanes[index];
	uint64_t count = __atomic_load_n(&from->count, __ATOMIC_ACQUIRE);
	size_t first = watch->change_count;
	if (count - lane->taken > LIVE_CHANGES) {
		watch->lost_changes += count - lane->taken - LIVE_CHANGES;
		lane->taken = count - LIVE_CHANGES;
	}
	uint64_t begin = lane->taken;
	if (mem_grow(&watch->changes, &watch->change_capacity, first + (size_t)(count - begin),
		    sizeof *watch->changes) < 0)
		return -ENOMEM;
	for (; lane->taken < count; lane->taken++) {
		uint64_t word = __atomic_load_n(
			&from->changes[lane->taken % LIVE_CHANGES], __ATOMIC_RELAXED);
		watch->changes[watch->change_count] = (struct change){ word >> 1,
			(uint32_t)watch->change_count, index, word & 1 };
		watch->change_count++;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	uint64_t later = __atomic_load_n(&from->count, __ATOMIC_RELAXED);
	/* One more: it may be written now, uncounted. */
	if (later + 1 > begin + LIVE_CHANGES && count > begin) {
		uint64_t overwritten = later + 1 - begin - LIVE_CHANGES;
		if (overwritten > count - begin)
			overwritten = count - begin;
		watch->lost_changes += overwritten;
		memmove(&watch->changes[first], &watch->changes[first + overwritten],
			(size_t)(count - begin - overwritten) * sizeof *watch->changes);
		watch->change_count -= (size_t)overwritten;
	}
	return 0;
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *left = a, *right = b;
	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return (left->order > right->order) - (left->order < right->order);
}

static int gather(struct preload_watch *watch)
{
	uint32_t count = __atomic_load_n(&watch->file->header.lanes, __ATOMIC_ACQUIRE);
	watch->lane_count = count < LIVE_LANES ? count : LIVE_LANES;
	watch->change_count = 0;
	for (uint32_t i = 0; i < watch->lane_count; i++) {
		uint64_t owner = __atomic_load_n(&watch->file->lanes[i].owner, __ATOMIC_ACQUIRE);
		if (owner <= LIVE_CLAIMED)
			continue;
		if (watch->lanes[i].owner != owner)
			take_up(&watch->lanes[i], owner);
		int code = take_changes(watch, i);
		if (code < 0)
			return code;
	}
	return 0;
}

/* The account as it is now. */
static int update(struct preload_watch *watch)
{
	/* Before: what is told later is of the next time. */
	uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
	int code = gather(watch);
	if (code < 0)
		return code;
	if (watch->change_count > 1)
		qsort(watch->changes, watch->change_count, sizeof *watch->changes, compare_changes);
	for (size_t i = 0; i < watch->change_count; i++) {
		const struct change *change = &watch->changes[i];
		advance(&watch->total, change->time_ns); /* told late: as if it were now */
		set_active(watch, &watch->lanes[change->lane].thread, change->is_active);
	}
	if (preload_watch_has_seen(watch))
		advance(&watch->total, now_ns);
	return 0;
}

/* Lanes of one process lie side by side: it is asked after once. */
static bool is_gone(uint32_t pid, uint32_t *asked, bool *answer)
{
	if (pid != *asked) {
		*asked = pid;
		*answer = kill((pid_t)pid, 0) < 0 && errno == ESRCH;
	}
	return *answer;
}

/* The lane of a thread that has ended is free for others once it has been read. */
static void end_lane(struct preload_watch *watch, uint32_t index)
{
	struct lane *lane = &watch->lanes[index];
	set_active(watch, &lane->thread, false);
	lane->thread.has_ended = 1;
	__atomic_store_n(&watch->file->lanes[index].owner, 0, __ATOMIC_RELEASE);
}

static int add_thread(struct bpf_snapshot *snapshot, const struct watch_thread *thread)
{
	if (mem_grow(&snapshot->threads, &snapshot->capacity, snapshot->count + 1,
		    sizeof *snapshot->threads) < 0)
		return -ENOMEM;
	snapshot->threads[snapshot->count++] = *thread;
	return 0;
}

/* Who has ended is asked before the changes are taken: all of its own are there then. */
static void note_ends(struct preload_watch *watch, bool ended[LIVE_LANES])
{
	uint32_t count = __atomic_load_n(&watch->file->header.lanes, __ATOMIC_ACQUIRE);
	uint32_t asked = 0;
	bool answer = false;
	for (uint32_t i = 0; i < count && i < LIVE_LANES; i++) {
		const struct live_lane *lane = &watch->file->lanes[i];
		uint64_t owner = __atomic_load_n(&lane->owner, __ATOMIC_ACQUIRE);
		ended[i] = owner > LIVE_CLAIMED &&
			   (__atomic_load_n(&lane->has_ended, __ATOMIC_ACQUIRE) ||
				   is_gone((uint32_t)(owner >> 32), &asked, &answer));
	}
}

int preload_watch_read(struct preload_watch *watch, struct bpf_snapshot *snapshot, struct err *err)
{
	bool ended[LIVE_LANES] = { false };
	note_ends(watch, ended);
	int code = update(watch);
	snapshot->count = 0;
	for (uint32_t i = 0; code == 0 && i < watch->lane_count; i++) {
		struct lane *lane = &watch->lanes[i];
		if (lane->owner == 0)
			continue;
		if (ended[i])
			end_lane(watch, i);
		settle(&watch->total, &lane->thread);
		code = add_thread(snapshot, &lane->thread);
		if (ended[i])
			lane->owner = 0;
	}
	if (code < 0)
		return err_set(err, code, "out of memory");
	snapshot->total = watch->total;
	snapshot->losses[WATCH_LOST_THREAD] =
		__atomic_load_n(&watch->file->header.lost, __ATOMIC_RELAXED);
	snapshot->losses[WATCH_LOST_EVENT] = watch->lost_changes;
	return 0;
}

int preload_watch_glance(
	struct preload_watch *watch, uint32_t tid, struct bpf_glance *ret, struct err *err)
{
	if (update(watch) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = (struct bpf_glance){ .active = watch->total.active,
		.only = watch->total.active == 1 ? (uint32_t)watch->total.active_tids : 0 };
	for (uint32_t i = 0; tid && i < watch->lane_count; i++)
		if (watch->lanes[i].owner != 0 && watch->lanes[i].thread.tid == tid)
			ret->is_active = watch->lanes[i].thread.is_active;
	return 0;
}
