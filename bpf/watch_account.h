/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Part of watch.bpf.c: the threads that are watched, and the account of them. */
#ifndef BPF_WATCH_ACCOUNT_H
#define BPF_WATCH_ACCOUNT_H

#include "kernel.h"
#include "watch.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Settings, constant once loaded. */
const volatile __u32 watched_pid; /* whose threads are taken up when watching begins */
const volatile bool is_on_cpu; /* active means running on a core; waiting for one does not count */
const volatile bool has_events; /* tell each change, for a timeline */

__u64 losses[WATCH_LOSSES];
__u64 stopped_ns; /* by user space, when nothing is attached any more: the account goes no further; 0: it does */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watch_account);
} accounts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WATCH_THREADS_MAX);
	__type(key, __u32);
	__type(value, struct watch_thread);
} threads SEC(".maps");

static __always_inline struct watch_account *find_account(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&accounts, &zero);
}

/* How many records there are for the tids that end in these bits: most threads of a machine are strangers. */
__u32 marks[WATCH_MARKS];

static __always_inline void mark(__u32 tid, __s32 change)
{
	__sync_fetch_and_add(&marks[tid & (WATCH_MARKS - 1)], change);
}

static __always_inline struct watch_thread *find_record(__u32 tid)
{
	if (tid == 0 || marks[tid & (WATCH_MARKS - 1)] == 0) /* 0: idle */
		return NULL;
	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline void remove_record(__u32 tid)
{
	if (bpf_map_delete_elem(&threads, &tid) == 0)
		mark(tid, -1);
}

/* A watched thread. The tid of one that has ended may be a stranger's by now. */
static __always_inline struct watch_thread *find_thread(__u32 tid)
{
	struct watch_thread *thread = find_record(tid);
	return thread && !thread->has_ended ? thread : NULL;
}

static __always_inline void count_loss(enum watch_loss loss)
{
	__sync_fetch_and_add(&losses[loss], 1);
}

/* Under the lock. */
static __always_inline void advance(struct watch_total *total, __u64 now_ns)
{
	if (now_ns <= total->now_ns)
		return;
	__u64 elapsed_ns = now_ns - total->now_ns;
	total->now_ns = now_ns;
	if (total->active == 0) {
		total->idle_ns += elapsed_ns;
		return;
	}
	__u64 shared = (elapsed_ns << WATCH_FRACTION_BITS) + total->remainder;
	__u64 share = shared / total->active;
	total->sum += share;
	total->remainder = shared - share * total->active;
}

/* Under the lock, the account being up to date. */
static __always_inline void change(
	struct watch_total *total, struct watch_thread *thread, bool is_active)
{
	if (is_active) {
		thread->begin_sum = total->sum;
		thread->begin_ns = total->now_ns;
		total->active++;
		total->active_tids += thread->tid;
	} else {
		thread->criticality += total->sum - thread->begin_sum;
		thread->active_ns += total->now_ns - thread->begin_ns;
		thread->waits++;
		total->active--;
		total->active_tids -= thread->tid;
	}
	thread->is_active = is_active;
}

static __always_inline void set_active(struct watch_thread *thread, bool is_active, __u64 now_ns)
{
	if (thread->is_known && thread->is_active == is_active)
		return; /* most often: woken while it ran, preempted, got the core it waited for */
	if (has_events) { /* the account is then nobody's concern */
		thread->is_active = is_active;
		thread->is_known = 1;
		return;
	}
	struct watch_account *account = find_account();
	if (!account)
		return;
	bpf_spin_lock(&account->lock);
	if (!thread->has_ended && thread->is_active != is_active) {
		advance(&account->total, now_ns);
		change(&account->total, thread, is_active);
	}
	thread->is_known = 1;
	bpf_spin_unlock(&account->lock);
}

/*
 * The end of a thread's account; its record stays until user space has read it. Where events are told
 * nobody reads records: it goes at once.
 */
static __always_inline void end_thread(struct watch_thread *thread, __u64 now_ns)
{
	__u32 tid = thread->tid;
	struct watch_account *account = find_account();
	if (!account)
		return;
	bpf_spin_lock(&account->lock);
	if (!thread->has_ended && thread->is_active) {
		advance(&account->total, now_ns);
		change(&account->total, thread, false);
	}
	thread->is_known = 1;
	thread->has_ended = 1;
	if (has_events)
		account->total.forgotten += thread->criticality;
	bpf_spin_unlock(&account->lock);
	if (has_events)
		remove_record(tid);
}

/* A record for a thread that has none. One that is left of an ended thread is used again. */
static __always_inline struct watch_thread *add_thread(struct task_struct *task)
{
	struct watch_thread fresh = { .tid = task->pid, .pid = task->tgid };
	__u32 tid = fresh.tid;
	bpf_probe_read_kernel_str(fresh.name, sizeof fresh.name, task->comm);
	mark(tid, 1);
	if (bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST) == 0)
		return find_record(tid);
	mark(tid, -1);
	struct watch_thread *thread = find_record(tid);
	if (!thread) {
		count_loss(WATCH_LOST_THREAD);
		return NULL;
	}
	if (!thread->has_ended)
		return thread;
	struct watch_account *account = find_account();
	if (!account)
		return NULL;
	bpf_spin_lock(&account->lock);
	if (!thread->is_told)
		account->total.forgotten += thread->criticality;
	*thread = fresh;
	bpf_spin_unlock(&account->lock);
	return thread;
}

#endif
