/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Part of watch.bpf.c: changes told to who reads them, for a timeline. */
#ifndef BPF_WATCH_EVENTS_H
#define BPF_WATCH_EVENTS_H

#include "watch_account.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the loader says how much it wants */
} events SEC(".maps");

static __always_inline struct watch_event *reserve_event(
	struct task_struct *task, enum watch_kind kind, __u64 now_ns)
{
	struct watch_event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event) {
		count_loss(WATCH_LOST_EVENT);
		return NULL;
	}
	*event = (struct watch_event){
		.time_ns = now_ns,
		.cpu_ns = task->se.sum_exec_runtime,
		.tid = task->pid,
		.pid = task->tgid,
		.syscall = -1,
		.kind = kind,
	};
	return event;
}

/* Nobody is woken: the reader comes by itself, many times a second. */
static __always_inline void tell(
	struct task_struct *task, enum watch_kind kind, __u32 other, __u64 now_ns)
{
	struct watch_event *event = has_events ? reserve_event(task, kind, now_ns) : NULL;
	if (!event)
		return;
	event->other = other;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* It has a core: with how its wait ended, if it waited. */
static __always_inline void tell_run(
	struct task_struct *task, const struct watch_thread *thread, __u64 now_ns)
{
	struct watch_event *event = has_events ? reserve_event(task, WATCH_RUN, now_ns) : NULL;
	if (!event)
		return;
	event->other = bpf_get_smp_processor_id();
	event->woken_ns = thread->woken_ns;
	event->waker = thread->waker;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* The same of a thread that comes or goes, with its name. */
static __always_inline void tell_name(
	struct task_struct *task, enum watch_kind kind, __u32 other, __u64 now_ns)
{
	struct watch_event *event = has_events ? reserve_event(task, kind, now_ns) : NULL;
	if (!event)
		return;
	event->other = other;
	bpf_probe_read_kernel_str(event->name, sizeof event->name, task->comm);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* The C library of the parent has written there what the new thread is to run. */
static __always_inline void add_routine(struct watch_event *event, struct task_struct *child)
{
#ifdef __TARGET_ARCH_x86
	__u64 routine[2];
	if (bpf_probe_read_user(
		    routine, sizeof routine, (void *)(child->thread.fsbase + routine_offset)) < 0)
		return;
	event->caller = routine[0];
	event->argument = routine[1];
#endif
}

static __always_inline void tell_start(
	struct task_struct *parent, struct task_struct *child, __u64 now_ns)
{
	struct watch_event *event = has_events ? reserve_event(child, WATCH_START, now_ns) : NULL;
	if (!event)
		return;
	event->other = parent->pid;
	event->argument = 0;
	if (routine_offset && child->tgid == parent->tgid)
		add_routine(event, child);
	bpf_probe_read_kernel_str(event->name, sizeof event->name, child->comm);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

#endif
