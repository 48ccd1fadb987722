/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/live.h"

#include "base/mem.h"
#include "base/readfile.h"

#include <errno.h>
#include <string.h>

static const double unit_s = 1e-9 / (1 << WATCH_FRACTION_BITS);

void bpf_snapshot_release(struct bpf_snapshot *snapshot)
{
	free(snapshot->threads);
	*snapshot = (struct bpf_snapshot){ 0 };
}

void live_rows_release(struct live_rows *rows)
{
	free(rows->items);
	*rows = (struct live_rows){ 0 };
}

void live_release(struct live *live)
{
	live_rows_release(&live->threads);
	live_rows_release(&live->ended);
	live_rows_release(&live->next);
	*live = (struct live){ 0 };
}

static struct live_row *add_row(struct live_rows *rows)
{
	if (mem_grow(&rows->items, &rows->capacity, rows->count + 1, sizeof rows->items[0]) < 0)
		return NULL;
	struct live_row *row = &rows->items[rows->count++];
	*row = (struct live_row){ .count = 1 };
	return row;
}

static int compare_tids(const void *a, const void *b)
{
	const struct live_row *left = a, *right = b;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

/* What a thread did since `before`, which may be NULL: it is new. */
static struct live_row difference(const struct watch_thread *thread, const struct live_row *before)
{
	static const struct live_row nothing = { 0 };
	/* A smaller figure is another thread's, to which the kernel gave the same tid. */
	if (!before || before->criticality > thread->criticality ||
		before->active_ns > thread->active_ns || before->all_waits > thread->waits ||
		before->pid != thread->pid)
		before = &nothing;
	struct live_row row = {
		.tid = thread->tid,
		.pid = thread->pid,
		.count = 1,
		.is_active = thread->is_active,
		.criticality_s = (double)(thread->criticality - before->criticality) * unit_s,
		.active_s = (double)(thread->active_ns - before->active_ns) * 1e-9,
		.waits = thread->waits - before->all_waits,
		.total_s = (double)thread->criticality * unit_s,
		.criticality = thread->criticality,
		.active_ns = thread->active_ns,
		.all_waits = thread->waits,
	};
	memcpy(row.name, thread->name, sizeof row.name);
	row.name[sizeof row.name - 1] = '\0';
	return row;
}

/* The row of ended threads of this name; the last one once there are many; NULL without memory. */
static struct live_row *ended_row(struct live *live, const char *name)
{
	for (size_t i = 0; i < live->ended.count; i++)
		if (strcmp(live->ended.items[i].name, name) == 0)
			return &live->ended.items[i];
	if (live->ended.count == LIVE_NAMES_MAX)
		return &live->ended.items[LIVE_NAMES_MAX - 1];
	struct live_row *row = add_row(&live->ended);
	if (!row)
		return NULL;
	row->count = 0;
	if (live->ended.count == LIVE_NAMES_MAX)
		name = "(other names)";
	memcpy(row->name, name, strlen(name) + 1);
	return row;
}

static int add_ended(struct live *live, const struct live_row *row)
{
	struct live_row *sum = ended_row(live, row->name);
	if (!sum)
		return -ENOMEM;
	sum->count++;
	sum->criticality_s += row->criticality_s;
	sum->active_s += row->active_s;
	sum->total_s += row->total_s;
	sum->waits += row->waits;
	return 0;
}

static int add_thread(struct live *live, const struct watch_thread *thread)
{
	struct live_row key = { .tid = thread->tid };
	const struct live_row *before =
		live->threads.count == 0 ? NULL
					 : bsearch(&key, live->threads.items, live->threads.count,
						   sizeof key, compare_tids);
	struct live_row row = difference(thread, before);
	live->parallelism += row.active_s;
	if (thread->has_ended)
		return add_ended(live, &row);
	struct live_row *place = add_row(&live->next);
	if (!place)
		return -ENOMEM;
	*place = row;
	return 0;
}

static void add_totals(struct live *live, const struct bpf_snapshot *snapshot)
{
	struct watch_total before = live->total;
	if (before.start_ns == 0)
		before.now_ns = snapshot->total.start_ns;
	live->total = snapshot->total;
	live->elapsed_s = (double)(live->total.now_ns - before.now_ns) * 1e-9;
	live->idle_s = (double)(live->total.idle_ns - before.idle_ns) * 1e-9;
	live->watched_s = (double)(live->total.now_ns - live->total.start_ns) * 1e-9;
	live->lost_threads = snapshot->losses[WATCH_LOST_THREAD];
	double busy_s = live->elapsed_s - live->idle_s;
	live->parallelism = busy_s > 0 ? live->parallelism / busy_s : 0;
}

/* Threads whose record was needed for another one before it was read. */
static int add_forgotten(struct live *live, uint64_t forgotten)
{
	if (forgotten == live->total.forgotten)
		return 0;
	struct live_row *row = ended_row(live, "(short-lived)");
	if (!row)
		return -ENOMEM;
	double seconds = (double)(forgotten - live->total.forgotten) * unit_s;
	row->criticality_s += seconds;
	row->total_s += seconds;
	return 0;
}

int live_update(struct live *live, const struct bpf_snapshot *snapshot)
{
	live->next.count = 0;
	live->parallelism = 0; /* until add_totals(): the sum of active time */
	for (size_t i = 0; i < live->ended.count; i++) {
		struct live_row *row = &live->ended.items[i];
		row->criticality_s = row->active_s = 0;
		row->waits = 0;
	}
	for (size_t i = 0; i < snapshot->count; i++)
		if (add_thread(live, &snapshot->threads[i]) < 0)
			return -ENOMEM;
	if (add_forgotten(live, snapshot->total.forgotten) < 0)
		return -ENOMEM;
	struct live_rows old = live->threads;
	live->threads = live->next;
	live->next = old;
	if (live->threads.count > 0)
		qsort(live->threads.items, live->threads.count, sizeof(struct live_row),
			compare_tids);
	add_totals(live, snapshot);
	return 0;
}

static int compare_criticality(const void *a, const void *b)
{
	const struct live_row *left = a, *right = b;
	if (left->criticality_s != right->criticality_s)
		return left->criticality_s < right->criticality_s ? 1 : -1;
	if (left->total_s != right->total_s)
		return left->total_s < right->total_s ? 1 : -1;
	return compare_tids(a, b);
}

/* A thread gives itself its name after it has started; of one that has just ended the old stays. */
static void read_name(struct live_row *row)
{
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%u/task/%u/comm", row->pid, row->tid); /* fits */
	(void)readfile_line("", path, row->name, sizeof row->name);
}

int live_list(const struct live *live, size_t names, struct live_rows *ret)
{
	ret->count = 0;
	size_t count = live->threads.count + live->ended.count;
	if (mem_grow(&ret->items, &ret->capacity, count, sizeof ret->items[0]) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < live->threads.count; i++)
		ret->items[ret->count++] = live->threads.items[i];
	for (size_t i = 0; i < live->ended.count; i++)
		ret->items[ret->count++] = live->ended.items[i];
	if (count == 0)
		return 0;
	qsort(ret->items, count, sizeof ret->items[0], compare_criticality);
	for (size_t i = 0; i < count && i < names; i++)
		if (ret->items[i].tid != 0)
			read_name(&ret->items[i]);
	return 0;
}
