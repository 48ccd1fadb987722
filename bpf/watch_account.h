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
const volatile bool has_queue_clock; /* the scheduler's clock is the same on all cores */
const volatile __s32
	routine_offset; /* where the C library keeps a thread's start routine, and its argument behind it, from the thread's pointer on; 0: not known */
const volatile __u32 slot_mask = WATCH_SLOTS - 1; /* which bits of a tid say its slot */

__u64 losses[WATCH_LOSSES];
__u64 stopped_ns; /* by user space, when nothing is attached any more: the account goes no further; 0: it does */

struct watch_account account __attribute__((aligned(64)));

/*
 * One entry for each record. The record itself is in its slot, where a switch finds it without a search and in one line
 * of the cache; only if another thread has the slot it is here.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WATCH_THREADS_MAX);
	__type(key, __u32);
	__type(value, struct watch_thread); /* pid 0: the record is in its slot */
} threads SEC(".maps");

struct watch_thread slots[WATCH_SLOTS] __attribute__((aligned(64))); /* by tid; tid 0: free */
__u32 outside; /* records that are in no slot */

/* How many records there are for the processes that end in these bits: most threads of a machine are strangers. */
__u32 marks[WATCH_MARKS];

static __always_inline void mark(__u32 pid, __s32 change)
{
	__sync_fetch_and_add(&marks[pid & (WATCH_MARKS - 1)], change);
}

static __always_inline struct watch_thread *slot_of(__u32 tid)
{
	return &slots[tid & slot_mask & (WATCH_SLOTS - 1)];
}

/* tid is not 0. */
static __always_inline struct watch_thread *find_record(__u32 tid)
{
	struct watch_thread *slot = slot_of(tid);
	if (slot->tid == tid)
		return slot;
	if (outside == 0)
		return NULL;
	struct watch_thread *thread = bpf_map_lookup_elem(&threads, &tid);
	return thread && thread->pid ? thread : NULL;
}

/* A watched thread. The tid of one that has ended may be a stranger's by now. */
static __always_inline struct watch_thread *find_thread(__u32 tid, __u32 pid)
{
	if (tid == 0 || marks[pid & (WATCH_MARKS - 1)] == 0) /* 0: idle */
		return NULL;
	struct watch_thread *thread = find_record(tid);
	return thread && !thread->has_ended ? thread : NULL;
}

static __always_inline struct watch_thread *find_task(struct task_struct *task)
{
	return find_thread(task->pid, task->tgid);
}

static __always_inline void remove_record(struct watch_thread *thread)
{
	__u32 tid = thread->tid, pid = thread->pid;
	bool is_in_slot = slot_of(tid)->tid == tid;
	if (bpf_map_delete_elem(&threads, &tid) < 0)
		return;
	mark(pid, -1);
	if (!is_in_slot) {
		__sync_fetch_and_add(&outside, -1);
		return;
	}
	*thread = (struct watch_thread){ .tid = tid };
	(void)__sync_val_compare_and_swap(
		&thread->tid, tid, 0); /* free for others, who find it empty */
}

/* Between what this core writes and what it then reads, for one that does the same the other way round. */
static __always_inline void full_barrier(struct watch_thread *thread)
{
	(void)__sync_val_compare_and_swap(&thread->waits, 0, 0);
}

static __always_inline void count_loss(enum watch_loss loss)
{
	__sync_fetch_and_add(&losses[loss], 1);
}

/* While the account is ours. */
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
	__u64 share = total->active == 1
			      ? shared
			      : shared / total->active; /* most often; dividing is slow */
	total->sum += share;
	total->remainder = shared - share * total->active;
}

/* The same, the account being up to date. */
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

static __always_inline void become(struct watch_thread *thread, bool is_active, __u64 now_ns)
{
	if (thread->has_ended || thread->is_active == is_active)
		return;
	advance(&account.total, now_ns);
	change(&account.total, thread, is_active);
}

/*
 * The clock of the account: that of the scheduler, which has just looked at it when it tells of a switch. Looking at another
 * takes as long as all the rest; where events are told, times are CLOCK_MONOTONIC's.
 */
static __always_inline bool is_queue_clock(void)
{
	struct task_struct *task = NULL;
	return !has_events && has_queue_clock && bpf_core_field_exists(task->se.cfs_rq) &&
	       bpf_core_field_exists(task->se.cfs_rq->rq) &&
	       bpf_core_field_exists(task->se.cfs_rq->rq->clock);
}

/* Of the core where the task is: how late it was when the scheduler last looked. */
static __always_inline __u64 queue_clock(struct task_struct *task)
{
	return is_queue_clock() ? task->se.cfs_rq->rq->clock : bpf_ktime_get_ns();
}

/* The same anywhere else: some 100 ns early. */
static __always_inline __u64 account_clock(__u64 monotonic_ns)
{
	return is_queue_clock() ? monotonic_ns - account.behind_ns : monotonic_ns;
}

enum { COMPARED_NS = 1 << 24 /* CLOCK_MONOTONIC may be made 0.05% faster or slower: 8 us */ };

static __always_inline void compare_clocks(__u64 queue_ns)
{
	if (!is_queue_clock() || queue_ns - account.behind_at_ns < COMPARED_NS)
		return;
	account.behind_ns = bpf_ktime_get_ns() - queue_ns;
	account.behind_at_ns = queue_ns;
}

static __always_inline bool try_account(void)
{
	__u32 changes = *(const volatile __u32 *)&account.changes;
	return changes % 2 == 0 &&
	       __sync_val_compare_and_swap(&account.changes, changes, changes + 1) == changes;
}

static __always_inline void leave_account(void)
{
#ifdef __TARGET_ARCH_x86 /* stores stay in order */
	asm volatile("" ::: "memory");
	*(volatile __u32 *)&account.changes += 1;
#else
	(void)__sync_fetch_and_add(&account.changes, 1);
#endif
}

static long try_again(__u32 index, bool *has_account)
{
	*has_account = try_account();
	return *has_account;
}

/*
 * To be called where interrupts are off: one that came between, and told of a wake-up, would wait for ever. (A lock of BPF
 * takes as long as all the rest, and allows no clock to be read.)
 */
static __always_inline bool enter_account(void)
{
	bool has_account = try_account();
	if (!has_account)
		bpf_loop(1 << 23, try_again, &has_account,
			0); /* 0.1 s and more: a host took the core away */
	if (!has_account)
		count_loss(WATCH_LOST_THREAD);
	return has_account;
}

/* The scheduler tells that a thread becomes active, or waits. */
static __always_inline void set_active(struct watch_thread *thread, bool is_active, __u64 now_ns)
{
	if (thread->is_known && thread->is_active == is_active)
		return; /* most often: woken while it ran, preempted, got the core it waited for */
	if (has_events) { /* the account is then nobody's concern */
		thread->is_active = is_active;
		thread->is_known = 1;
		return;
	}
	if (!enter_account())
		return;
	become(thread, is_active, now_ns);
	thread->is_known = 1;
	leave_account();
}

/* What else is done with the account, where interrupts may come. */
enum watch_step {
	STEP_ADVANCE, /* bring it up to date */
	STEP_FOUND_ACTIVE, /* a thread that was there before, unless it has made itself known since */
	STEP_RUNS, /* a thread is active */
	STEP_END, /* a thread ends */
	STEP_COPY, /* a record, as if its stretch ended now */
};

struct watch_task {
	enum watch_step step;
	__u64 now_ns;
	struct watch_thread *thread, *copy;
	bool is_done;
};

static __always_inline void copy_record(const struct watch_thread *thread, struct watch_thread *ret)
{
	*ret = *thread;
	if (!ret->is_active)
		return;
	ret->criticality += account.total.sum - ret->begin_sum;
	ret->active_ns += account.total.now_ns - ret->begin_ns;
}

static __always_inline void take_step(const struct watch_task *task)
{
	struct watch_thread *thread = task->thread;
	if (task->step == STEP_ADVANCE)
		advance(&account.total, task->now_ns);
	if (!thread)
		return;
	switch (task->step) {
	case STEP_ADVANCE:
		break;
	case STEP_FOUND_ACTIVE:
		if (!thread->is_known)
			become(thread, true, task->now_ns);
		break;
	case STEP_RUNS:
		become(thread, true, task->now_ns);
		thread->is_known = 1;
		break;
	case STEP_END:
		become(thread, false, task->now_ns);
		thread->is_known = thread->has_ended = 1;
		break;
	case STEP_COPY:
		if (task->copy)
			copy_record(thread, task->copy);
		break;
	}
}

struct watch_quiet {
	struct bpf_spin_lock lock; /* while it is held no interrupt comes */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watch_quiet);
} quiets SEC(".maps");

static long try_step(__u32 index, struct watch_task *task)
{
	__u32 zero = 0;
	struct watch_quiet *quiet = bpf_map_lookup_elem(&quiets, &zero);
	if (!quiet)
		return 1;
	bpf_spin_lock(&quiet->lock);
	task->is_done = try_account();
	if (task->is_done) {
		take_step(task);
		leave_account();
	}
	bpf_spin_unlock(&quiet->lock);
	return task->is_done;
}

/* Whether it was done: a loss is counted where it was not. */
static __always_inline bool step(
	enum watch_step what, struct watch_thread *thread, struct watch_thread *copy, __u64 now_ns)
{
	struct watch_task task = { .step = what, .now_ns = now_ns, .thread = thread, .copy = copy };
	bpf_loop(1 << 23, try_step, &task, 0);
	if (!task.is_done)
		count_loss(WATCH_LOST_THREAD);
	return task.is_done;
}

static __always_inline void found_active(struct watch_thread *thread, __u64 now_ns)
{
	if (!has_events)
		step(STEP_FOUND_ACTIVE, thread, NULL, now_ns);
	else if (!thread->is_known)
		thread->is_active = 1;
}

static __always_inline void runs(struct watch_thread *thread, __u64 now_ns)
{
	if (!has_events)
		step(STEP_RUNS, thread, NULL, now_ns);
	else
		thread->is_active = thread->is_known = 1;
}

/*
 * The end of a thread's account; its record stays until user space has read it. Where events are told
 * nobody reads records: it goes at once.
 */
static __always_inline void end_thread(struct watch_thread *thread, __u64 now_ns)
{
	if (has_events)
		remove_record(thread);
	else
		step(STEP_END, thread, NULL, now_ns);
}

/* Its slot, or if another thread has that its entry. */
static __always_inline struct watch_thread *place_record(__u32 tid, __u32 pid)
{
	struct watch_thread *slot = slot_of(tid);
	if (__sync_val_compare_and_swap(&slot->tid, 0, tid) == 0) {
		slot->pid = pid;
		return slot;
	}
	struct watch_thread *thread = bpf_map_lookup_elem(&threads, &tid);
	if (!thread)
		return NULL;
	__sync_fetch_and_add(&outside, 1);
	thread->pid = pid;
	return thread;
}

/* A record for a thread that has none. One that is left of an ended thread is used again. */
static __always_inline struct watch_thread *add_thread(struct task_struct *task)
{
	struct watch_thread fresh = { .tid = task->pid };
	__u32 tid = fresh.tid, pid = task->tgid;
	mark(pid, 1);
	if (bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST) == 0) {
		struct watch_thread *thread = place_record(tid, pid);
		if (thread)
			bpf_probe_read_kernel_str(thread->name, sizeof thread->name, task->comm);
		return thread;
	}
	struct watch_thread *thread = find_record(tid);
	if (!thread || !thread->has_ended) {
		mark(pid, -1);
		if (!thread)
			count_loss(WATCH_LOST_THREAD);
		return thread;
	}
	mark(thread->pid, -1);
	fresh.pid = pid;
	bpf_probe_read_kernel_str(fresh.name, sizeof fresh.name, task->comm);
	__sync_fetch_and_add(&account.total.forgotten, thread->criticality);
	*thread = fresh; /* nobody else looks at one that has ended */
	return thread;
}

#endif
