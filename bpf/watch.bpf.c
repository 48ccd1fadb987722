/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which threads of a program are active, as the scheduler sees it, and the criticality account that
 * follows from it (Du Bois et al., "Criticality Stacks", ISCA 2013, equation 1), in constant time
 * for each change: a running sum of dt/active, and per thread its value when it became active.
 *
 *	              sched_wakeup, sched_wakeup_new
 *	  waiting  ------------------------------------>  active: runs, or waits for a core
 *	           <------------------------------------
 *	              sched_switch away, not runnable
 *
 * Why the account is right on any number of cores: every change of it and of a thread's record is
 * made under one lock. The clock is read before the lock is taken (no helper may be called under
 * it), so a core may come with a time that another has passed: its change then counts from that
 * later time. Time is thus never counted twice nor lost. Changes of one thread arrive in the order
 * in which they happened, because the scheduler itself makes each under the lock of a run queue.
 *
 * A thread is watched when it has a record: its children get one when they start.
 */
#include "kernel.h"
#include "watch.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char program_license[] SEC("license") = "GPL";

/* Settings, constant once loaded. */
const volatile __u32 watched_pid; /* whose threads are taken up when watching begins */
const volatile bool is_on_cpu; /* active means running on a core; waiting for one does not count */
const volatile bool has_events; /* tell each change, for a timeline */

__u64 losses[WATCH_LOSSES];

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

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the loader says how much it wants */
} events SEC(".maps");

struct pending {
	__u64 number;
	__u32 tid, pid;
	__u32 flags; /* as asked for: the kernel takes a flush out when it is done */
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WATCH_REQUESTS_MAX);
	__type(key, __u64); /* the kernel's struct request */
	__type(value, struct pending);
} requests SEC(".maps");

__u64 request_count;

static __always_inline struct watch_account *find_account(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&accounts, &zero);
}

static __always_inline struct watch_thread *find_record(__u32 tid)
{
	return tid ? bpf_map_lookup_elem(&threads, &tid) : NULL; /* 0: idle */
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
	total->sum += shared / total->active;
	total->remainder = shared % total->active;
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
	struct watch_account *account = find_account();
	if (!account || (thread->is_known && thread->is_active == is_active))
		return; /* most often: woken while it ran, preempted, got the core it waited for */
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
		bpf_map_delete_elem(&threads, &tid);
}

/* A record for a thread that has none. One that is left of an ended thread is used again. */
static __always_inline struct watch_thread *add_thread(struct task_struct *task)
{
	struct watch_thread fresh = { .tid = task->pid, .pid = task->tgid };
	__u32 tid = fresh.tid;
	bpf_probe_read_kernel_str(fresh.name, sizeof fresh.name, task->comm);
	if (bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST) == 0)
		return find_record(tid);
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

/*
 * The registers with which the current thread entered the kernel say what it asked for: reading
 * them when it blocks costs nothing at the system calls that do not block.
 */
static __always_inline struct pt_regs *user_registers(void)
{
	return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

#if defined(__TARGET_ARCH_x86)
static __always_inline __s16 syscall_of(struct pt_regs *regs)
{
	return (__s16)BPF_CORE_READ(regs, orig_ax);
}

static __always_inline void add_call(struct watch_event *event, struct pt_regs *regs)
{
	event->object = BPF_CORE_READ(regs, di);
	event->operation = (__u8)BPF_CORE_READ(regs, si);
	event->other = (__u32)BPF_CORE_READ(regs, dx);
	event->site = BPF_CORE_READ(regs, ip);
}
#elif defined(__TARGET_ARCH_arm64)
static __always_inline __s16 syscall_of(struct pt_regs *regs)
{
	return (__s16)BPF_CORE_READ(regs, syscallno);
}

static __always_inline void add_call(struct watch_event *event, struct pt_regs *regs)
{
	event->object = BPF_CORE_READ(regs, orig_x0);
	event->operation = (__u8)BPF_CORE_READ(regs, regs[1]);
	event->other = (__u32)BPF_CORE_READ(regs, regs[2]);
	event->site = BPF_CORE_READ(regs, pc);
}
#endif

/*
 * The C library waits for the program, and hides who called it: it keeps no frame pointers. The address
 * to which its function will return lies among the first words of the stack, and right before it in
 * the code there is a call. Otherwise frame pointers may lead out of the library.
 */
enum { STACK_WORDS = 64, FRAMES_MAX = 16 };

struct stack_words {
	__u64 words[STACK_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_words);
} stacks SEC(".maps");

#if defined(__TARGET_ARCH_x86)
static __always_inline __u64 stack_of(struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, sp);
}

static __always_inline __u64 frame_of(struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, bp);
}

/* FF /2 is a call by register or memory, of 2 to 7 bytes; E8 one to an address, of 5. */
static __always_inline bool follows_call(__u64 address)
{
	__u8 code[8];
	if (bpf_probe_read_user(code, sizeof code, (void *)(address - sizeof code)) < 0)
		return false;
	if (code[3] == 0xe8)
		return true;
#pragma unroll
	for (int i = 1; i < 7; i++)
		if (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10)
			return true;
	return false;
}
#elif defined(__TARGET_ARCH_arm64)
static __always_inline __u64 stack_of(struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, sp);
}

static __always_inline __u64 frame_of(struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, regs[29]);
}

/* BL, BLR */
static __always_inline bool follows_call(__u64 address)
{
	__u32 code;
	return bpf_probe_read_user(&code, sizeof code, (void *)(address - sizeof code)) == 0 &&
	       ((code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000);
}
#endif

/* The code of the program itself, without its libraries. */
struct code_range {
	__u64 start, end;
};

static __always_inline bool is_inside(const struct code_range *range, __u64 address)
{
	return address >= range->start && address < range->end;
}

static __always_inline __u64 scan_stack(const struct code_range *range, __u64 stack)
{
	__u32 zero = 0;
	struct stack_words *found = bpf_map_lookup_elem(&stacks, &zero);
	if (!found || bpf_probe_read_user(found, sizeof *found, (void *)stack) < 0)
		return 0;
	for (int i = 0; i < STACK_WORDS; i++)
		if (is_inside(range, found->words[i]) && follows_call(found->words[i]))
			return found->words[i];
	return 0;
}

static __always_inline __u64 walk_frames(const struct code_range *range, __u64 frame)
{
	for (int i = 0; i < FRAMES_MAX; i++) {
		__u64 link[2]; /* the caller's frame, and where it goes on */
		if (bpf_probe_read_user(link, sizeof link, (void *)frame) < 0)
			return 0;
		if (is_inside(range, link[1]))
			return link[1];
		if (link[0] <= frame)
			return 0;
		frame = link[0];
	}
	return 0;
}

static __always_inline __u64 find_caller(
	struct task_struct *task, struct pt_regs *regs, __u64 address)
{
	struct mm_struct *mm = task->mm;
	if (!mm)
		return 0;
	const struct code_range range = { mm->start_code, mm->end_code };
	if (is_inside(&range, address))
		return 0;
	__u64 found = scan_stack(&range, stack_of(regs));
	return found ? found : walk_frames(&range, frame_of(regs));
}

static __always_inline void tell_block(struct task_struct *task, __u64 now_ns)
{
	struct watch_event *event = has_events ? reserve_event(task, WATCH_BLOCK, now_ns) : NULL;
	if (!event)
		return;
	struct pt_regs *regs = user_registers();
	event->syscall = syscall_of(regs);
	add_call(event, regs);
	event->caller = find_caller(task, regs, event->site);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* The watched thread that wakes another; 0: none, or an interrupt that only came in its time. */
static __always_inline __u32 current_waker(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	return find_thread(tid) && syscall_of(user_registers()) >= 0 ? tid : 0;
}

/*
 * Where only the account is kept, and waiting for a core counts, who gets and loses cores is nothing to it:
 * a thread becomes active when it is woken.
 */
static __always_inline bool needs_cores(void)
{
	return has_events || is_on_cpu;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next,
	unsigned int prev_state)
{
	bool can_run = is_preempted || prev_state == 0;
	if (can_run && !needs_cores())
		return 0;
	__u64 now_ns = bpf_ktime_get_ns();
	struct watch_thread *thread = find_thread(prev->pid);
	if (thread) {
		set_active(thread, can_run && !is_on_cpu, now_ns);
		if (can_run)
			tell(prev, WATCH_PREEMPT, 0, now_ns);
		else
			tell_block(prev, now_ns);
	}
	thread = needs_cores() ? find_thread(next->pid) : NULL;
	if (thread) {
		set_active(thread, true, now_ns); /* it is already, if its waking was seen */
		tell(next, WATCH_RUN, bpf_get_smp_processor_id(), now_ns);
	}
	return 0;
}

static __always_inline int wake(struct task_struct *task)
{
	struct watch_thread *thread = find_thread(task->pid);
	if (!thread || thread->is_active)
		return 0; /* woken before it left its core: it never waited */
	__u64 now_ns = bpf_ktime_get_ns();
	if (!is_on_cpu)
		set_active(thread, true, now_ns);
	if (has_events)
		tell(task, WATCH_WAKE, current_waker(), now_ns);
	return 0;
}

/* Where the waker is; sched_wakeup is where the thread will run, on an idle core in an interrupt of its own. */
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
	struct watch_account *account = find_account();
	if (!account || account->total.start_ns == 0)
		return 0; /* on_task() will find it */
	if (!find_thread(parent->pid) && (__u32)parent->tgid != watched_pid)
		return 0;
	if (add_thread(child))
		tell_name(child, WATCH_START, parent->pid, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct watch_thread *thread = find_thread(task->pid);
	if (!thread)
		return 0;
	__u64 now_ns = bpf_ktime_get_ns();
	bpf_probe_read_kernel_str(thread->name, sizeof thread->name, task->comm);
	end_thread(thread, now_ns);
	tell_name(task, WATCH_EXIT, 0, now_ns);
	return 0;
}

/* Another thread than the first that calls exec takes over the first one's tid. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid)
{
	struct watch_thread *thread = find_thread(old_tid);
	if (!thread)
		return 0;
	__u64 now_ns = bpf_ktime_get_ns();
	if (task->pid != old_tid) {
		end_thread(thread, now_ns);
		thread = add_thread(task);
		if (thread)
			set_active(thread, true, now_ns);
	}
	tell_name(task, WATCH_EXEC, old_tid, now_ns);
	return 0;
}

/* Requests to disks: attached only when they are wanted. */

static __always_inline __u32 request_flag(__u32 flags, __u64 bit, enum watch_request flag)
{
	return flags >> bit & 1 ? flag : 0;
}

/* The operation is in the low byte: even ones read. */
static __always_inline __u32 flags_of(struct request *request)
{
	__u32 flags = request->cmd_flags;
	__u32 ret = flags & 1 ? WATCH_REQUEST_WRITES : 0;
	if ((flags & 255) == 2) /* an empty flush */
		ret = WATCH_REQUEST_WRITES | WATCH_REQUEST_FLUSH;
	ret |= request_flag(flags, bpf_core_enum_value(enum req_flag_bits, __REQ_META),
		WATCH_REQUEST_METADATA);
	ret |= request_flag(flags, bpf_core_enum_value(enum req_flag_bits, __REQ_RAHEAD),
		WATCH_REQUEST_AHEAD);
	ret |= request_flag(flags, bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH),
		WATCH_REQUEST_FLUSH);
	return ret | request_flag(flags, bpf_core_enum_value(enum req_flag_bits, __REQ_FUA),
			     WATCH_REQUEST_FLUSH);
}

static __always_inline void tell_request(
	struct request *request, const struct pending *pending, enum watch_kind kind)
{
	struct watch_event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event) {
		count_loss(WATCH_LOST_EVENT);
		return;
	}
	struct gendisk *disk = request->q->disk;
	*event = (struct watch_event){ .time_ns = bpf_ktime_get_ns(),
		.request = pending->number,
		.bytes = request->__data_len,
		.tid = pending->tid,
		.pid = pending->pid,
		.other = pending->flags,
		.syscall = -1,
		.kind = kind };
	if (disk)
		event->device = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* In the thread that asks. What the kernel writes back later is nobody's. */
SEC("tp_btf/block_io_start")
int BPF_PROG(on_request, struct request *request)
{
	__u64 key = (__u64)request;
	struct watch_thread *thread = find_thread((__u32)bpf_get_current_pid_tgid());
	if (!thread)
		return 0;
	struct pending pending = { .number = __sync_fetch_and_add(&request_count, 1) + 1,
		.tid = thread->tid,
		.pid = thread->pid,
		.flags = flags_of(request) };
	if (bpf_map_update_elem(&requests, &key, &pending, BPF_ANY) < 0) {
		count_loss(WATCH_LOST_EVENT);
		return 0;
	}
	tell_request(request, &pending, WATCH_DISK_QUEUE);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_request_start, struct request *request)
{
	__u64 key = (__u64)request;
	struct pending *pending = bpf_map_lookup_elem(&requests, &key);
	if (pending)
		tell_request(request, pending, WATCH_DISK_START);
	return 0;
}

/* May come for parts of a request; what is left is still in it. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_request_end, struct request *request, int error, unsigned int bytes)
{
	__u64 key = (__u64)request;
	struct pending *pending = bpf_map_lookup_elem(&requests, &key);
	if (!pending || bytes < request->__data_len)
		return 0;
	tell_request(request, pending, WATCH_DISK_END);
	bpf_map_delete_elem(&requests, &key);
	return 0;
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
	struct watch_account *account = find_account();
	if (!task || !account)
		return 0;
	__u64 now_ns = bpf_ktime_get_ns();
	if (account->total.start_ns == 0)
		account->total.start_ns = account->total.now_ns = now_ns;
	if ((__u32)task->tgid != watched_pid)
		return 0;
	bool is_again = find_thread(task->pid) != NULL;
	struct watch_thread *thread = add_thread(task);
	if (!thread)
		return 0;
	(void)__sync_val_compare_and_swap(&thread->waits, 0, 0); /* the barrier */
	bool is_active = is_on_cpu ? task->on_cpu != 0 : task->__state == 0;
	bpf_spin_lock(&account->lock);
	if (!thread->is_known && !thread->is_active && is_active) {
		advance(&account->total, now_ns);
		change(&account->total, thread, true);
	}
	is_active = thread->is_active;
	bpf_spin_unlock(&account->lock);
	if (!is_again)
		tell_name(task, WATCH_FOUND, is_active, now_ns);
	return 0;
}

/*
 * One record after the other for user space, as if each thread's stretch ended now. The account is
 * brought up to date at the first only: read while nothing changes it, the records add up exactly.
 */
SEC("iter/bpf_map_elem")
int on_record(struct bpf_iter__bpf_map_elem *context)
{
	struct watch_thread *thread = context->value;
	struct watch_account *account = find_account();
	if (!thread || !account)
		return 0;
	struct watch_thread copy;
	__u64 now_ns = bpf_ktime_get_ns();
	bpf_spin_lock(&account->lock);
	if (context->meta->seq_num == 0)
		advance(&account->total, now_ns);
	copy = *thread;
	if (copy.is_active) {
		copy.criticality += account->total.sum - copy.begin_sum;
		copy.active_ns += account->total.now_ns - copy.begin_ns;
	}
	bpf_spin_unlock(&account->lock);
	if (copy.is_told)
		return 0;
	if (bpf_seq_write(context->meta->seq, &copy, sizeof copy) < 0)
		return 0; /* no room: the next read() begins with it again */
	if (copy.has_ended)
		thread->is_told = 1;
	return 0;
}

/*
 * Makes room again: the record of a thread that has ended and was read. Its tid could only be in
 * use again, between the question and the deletion, if the kernel had given out all others since.
 */
SEC("syscall")
int on_forget(struct watch_forget *context)
{
	__u32 tid = context->tid;
	struct watch_thread *thread = find_record(tid);
	if (thread && thread->has_ended && thread->is_told)
		bpf_map_delete_elem(&threads, &tid);
	return 0;
}
