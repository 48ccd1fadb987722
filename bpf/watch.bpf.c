/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which threads of a program are active, as the scheduler sees it, and the criticality account that
 * follows from it (Du Bois et al., "Criticality Stacks", ISCA 2013, equation 1), in constant time
 * for each change: a running sum of dt/active, and per thread its value when it became active.
 *
 *	              sched_waking, sched_wakeup_new
 *	  waiting  ------------------------------------>  active: runs, or waits for a core
 *	           <------------------------------------
 *	              sched_switch away, not runnable
 *
 * Why the account is right on any number of cores: every change of it and of a thread's record is
 * made by one core at a time. Which time it is is known before that, so a core may come with a time
 * that another has passed: its change then counts from that later time. Time is thus never counted
 * twice nor lost. Changes of one thread arrive in the order in which they happened, because the
 * scheduler itself makes each under the lock of a run queue, or under the lock of the thread.
 *
 * A thread is watched when it has a record: those of the process and of its descendants get one when watching
 * begins, their children when they start.
 */
#include "watch_account.h"
#include "watch_disk.h"
#include "watch_events.h"
#include "watch_stack.h"

char program_license[] SEC("license") = "GPL";

/* The watched thread that wakes another; 0: none, or an interrupt that only came in its time. */
static __always_inline __u32 current_waker(void)
{
	__u64 both = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)both;
	return find_thread(tid, both >> 32) && syscall_of(user_registers()) >= 0 ? tid : 0;
}

/*
 * Where only the account is kept, and waiting for a core counts, who gets and loses cores is nothing to it:
 * a thread becomes active when it is woken.
 */
static __always_inline bool needs_cores(void)
{
	return has_events || is_on_cpu;
}

/*
 * Whether a thread that leaves its core is being woken at the same time: sched_waking came while it was still active,
 * and noted that. Who wakes a thread holds its pi_lock from before sched_waking until it either waits no more for
 * this core, or has left the thread in the state TASK_WAKING for this core to take up, which comes later. A note
 * without either is of a wake-up before, when the thread then did not wait.
 *
 *	the waker: is_early = 1; barrier; is_active?      this core: is_active = 0; barrier; is_early?
 *
 * so at least one of the two sees the other. (sched_wakeup, which comes later, would do as well: a third program
 * at each wake-up.)
 */
static __always_inline bool is_being_woken(struct task_struct *prev, struct watch_thread *leaves)
{
	full_barrier(leaves);
	if (!leaves->is_early)
		return false;
	leaves->is_early = 0;
	bool has_lock = *(const volatile __u32 *)(const void *)&prev->pi_lock != 0;
	full_barrier(leaves); /* the state is set before the lock is given back */
	return has_lock || prev->__state == TASK_WAKING;
}

static __always_inline void leave_to_wait(
	struct task_struct *prev, struct watch_thread *leaves, __u64 now_ns)
{
	leaves->woken_ns = 0; /* before it can be woken */
	set_active(leaves, false, now_ns);
	tell_call(prev, leaves, WATCH_BLOCK, now_ns);
	if (!is_being_woken(prev, leaves))
		return;
	leaves->waker = WATCH_WAKER_UNKNOWN;
	leaves->woken_ns = now_ns;
	set_active(leaves, !is_on_cpu, now_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next,
	unsigned int prev_state)
{
	bool can_run = is_preempted || prev_state == 0;
	if (can_run && !needs_cores())
		return 0;
	struct watch_thread *leaves = find_task(prev);
	struct watch_thread *comes = needs_cores() ? find_task(next) : NULL;
	if (!leaves && !comes)
		return 0;
	__u64 now_ns = queue_clock(prev);
	compare_clocks(now_ns);
	if (leaves && can_run) {
		set_active(leaves, !is_on_cpu, now_ns);
		if (!is_preempted && syscall_of(user_registers()) == __NR_sched_yield)
			tell_call(prev, leaves, WATCH_YIELD, now_ns);
		else
			tell(prev, WATCH_PREEMPT, 0, now_ns);
	} else if (leaves) {
		leave_to_wait(prev, leaves, now_ns);
	}
	if (comes) {
		set_active(comes, true, now_ns); /* it is already, if its waking was seen */
		tell_run(next, comes, now_ns);
	}
	return 0;
}

static __always_inline int wake(struct task_struct *task)
{
	struct watch_thread *thread = find_task(task);
	if (!thread)
		return 0;
	if (thread->is_active) {
		thread->is_early = 1;
		full_barrier(thread);
		if (*(volatile __u8 *)&thread->is_active)
			return 0; /* it never waits, or is_being_woken() sees it */
	}
	__u64 now_ns = account_clock(bpf_ktime_get_ns()); /* the queue's clock may be old here */
	if (!is_on_cpu)
		set_active(thread, true, now_ns);
	if (has_events && thread->woken_ns == 0) {
		thread->woken_ns = now_ns;
		thread->waker = current_waker();
	}
	return 0;
}

/*
 * Where the waker is; sched_wakeup is where the thread will run, on an idle core in an interrupt of its own, and a program
 * there takes 40 ns longer.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	return wake(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return wake(task);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	if (account.total.start_ns == 0)
		return 0; /* on_task() will find it */
	if (!find_task(parent) && (__u32)parent->tgid != watched_pid)
		return 0;
	if (add_thread(child))
		tell_start(parent, child, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct watch_thread *thread = find_task(task);
	if (!thread)
		return 0;
	__u64 now_ns = bpf_ktime_get_ns();
	bpf_probe_read_kernel_str(thread->name, sizeof thread->name, task->comm);
	end_thread(thread, account_clock(now_ns));
	tell_name(task, WATCH_EXIT, 0, now_ns);
	return 0;
}

/* Another thread than the first that calls exec takes over the first one's tid. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid)
{
	struct watch_thread *thread = find_thread(old_tid, task->tgid);
	if (!thread)
		return 0;
	__u64 now_ns = bpf_ktime_get_ns();
	if (task->pid != old_tid) {
		end_thread(thread, account_clock(now_ns));
		thread = add_thread(task);
		if (thread)
			runs(thread, account_clock(now_ns));
	}
	tell_name(task, WATCH_EXEC, old_tid, now_ns);
	return 0;
}

/* A process whose parent has ended has another one, and is not found. */
static __always_inline bool is_of_watched(struct task_struct *task)
{
	enum { GENERATIONS_MAX = 32 };
	for (int i = 0; i < GENERATIONS_MAX && task; i++) {
		if ((__u32)task->tgid == watched_pid)
			return true;
		if (task->tgid <= 1)
			return false;
		task = task->real_parent;
	}
	return false;
}

/*
 * Takes up the threads that are there when watching begins. The record is made first and the state
 * read after it, with a full barrier between: a thread that stops running in the meantime either
 * shows it in its state, or finds its record and makes its state known itself. A thread that is
 * just about to wait counts as waiting; if it then does not, without anybody waking it, its next
 * change corrects that, or another look a moment later, which finds what is not yet known.
 */
SEC("iter/task")
int on_task(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	if (!task)
		return 0;
	__u64 now_ns = bpf_ktime_get_ns();
	if (account.total.start_ns == 0) {
		/* Our own core's, which is as old as our last switch: until there is a better one. */
		compare_clocks(queue_clock(bpf_get_current_task_btf()));
		account.total.start_ns = account.total.now_ns = account_clock(now_ns);
	}
	if (!is_of_watched(task))
		return 0;
	bool is_again = find_task(task) != NULL;
	struct watch_thread *thread = add_thread(task);
	if (!thread)
		return 0;
	full_barrier(thread);
	if (is_on_cpu ? task->on_cpu != 0 : task->__state == 0)
		found_active(thread, account_clock(now_ns));
	if (!is_again)
		tell_name(task, WATCH_FOUND, thread->is_active, now_ns);
	return 0;
}

struct watch_reading reading;

/* One of those that are asked for, behind those found so far. The record of an ended thread goes: room for others. */
static long read_record(__u32 index, __u32 *found)
{
	if (index >= WATCH_READING || *found >= WATCH_READING)
		return 1;
	__u32 tid = reading.records[index].tid;
	struct watch_thread *copy = &reading.records[*found];
	struct watch_thread *thread = tid ? find_record(tid) : NULL;
	if (!thread || !step(STEP_COPY, thread, copy, 0))
		return 0; /* it is being made, or taken away; or the account was never free */
	/* Its tid could only be in use again by now if the kernel had given out all others since. */
	if (copy->has_ended)
		remove_record(thread);
	++*found;
	return 0;
}

/*
 * Records for user space, as if each thread's stretch ended now. The account is brought up to date at the
 * first only: read while nothing changes it, the records add up exactly.
 */
SEC("syscall")
int on_read(void *context)
{
	if (reading.is_first)
		step(STEP_ADVANCE, NULL, NULL,
			account_clock(stopped_ns ? stopped_ns : bpf_ktime_get_ns()));
	__u32 found = 0;
	bpf_loop(reading.count, read_record, &found, 0);
	reading.count = found;
	return 0;
}
