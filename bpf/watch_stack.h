/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Part of watch.bpf.c: from where a thread that blocks entered the kernel. */
#ifndef BPF_WATCH_STACK_H
#define BPF_WATCH_STACK_H

#include "watch_events.h"

#include <asm/unistd.h>

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
	return (__s16)regs->orig_ax;
}

static __always_inline __u64 ip_of(struct pt_regs *regs)
{
	return regs->ip;
}

static __always_inline void add_call(struct watch_event *event, struct pt_regs *regs)
{
	event->object = regs->di;
	event->operation = (__u8)regs->si;
	event->other = (__u32)regs->dx;
	event->site = ip_of(regs);
}
#elif defined(__TARGET_ARCH_arm64)
static __always_inline __s16 syscall_of(struct pt_regs *regs)
{
	return (__s16)regs->syscallno;
}

static __always_inline __u64 ip_of(struct pt_regs *regs)
{
	return regs->pc;
}

static __always_inline void add_call(struct watch_event *event, struct pt_regs *regs)
{
	event->object = regs->orig_x0;
	event->operation = (__u8)regs->regs[1];
	event->other = (__u32)regs->regs[2];
	event->site = ip_of(regs);
}
#endif

/*
 * The C library waits for the program, and hides who called it: it keeps no frame pointers. The address
 * to which its function will return lies among the first words of the stack, and right before it in
 * the code there is a call. Otherwise frame pointers may lead out of the library. If no code of the program itself is found
 * so (a thread of a library's own), who called from one file into another is it: such calls go through the linkage table.
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
	return regs->sp;
}

static __always_inline __u64 frame_of(struct pt_regs *regs)
{
	return regs->bp;
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

/* Whether a jump by the linkage table's entry (FF /4, of 6 bytes) is what the code there does: behind ENDBR64 and BND, if any. */
static __always_inline bool is_linkage(__u64 address)
{
	static const __u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	__u8 code[8];
	if (bpf_probe_read_user(code, sizeof code, (void *)address) < 0)
		return false;
	int at = __builtin_memcmp(code, endbr64, sizeof endbr64) == 0 ? 4 : 0;
	at += code[at] == 0xf2;
	return code[at] == 0xff && code[at + 1] == 0x25;
}

/* FF 15 is a call by an address beside the code, as the linker's table has them; E8 one to an address, by an offset. */
static __always_inline bool follows_linkage(__u64 address)
{
	struct {
		__u8 code[3], call;
		__s32 offset;
	} before;
	if (bpf_probe_read_user(&before, sizeof before, (void *)(address - sizeof before)) < 0)
		return false;
	if (before.code[2] == 0xff && before.call == 0x15)
		return true;
	return before.call == 0xe8 && is_linkage(address + before.offset);
}
#elif defined(__TARGET_ARCH_arm64)
static __always_inline __u64 stack_of(struct pt_regs *regs)
{
	return regs->sp;
}

static __always_inline __u64 frame_of(struct pt_regs *regs)
{
	return regs->regs[29];
}

/* BL, BLR */
static __always_inline bool follows_call(__u64 address)
{
	__u32 code;
	return bpf_probe_read_user(&code, sizeof code, (void *)(address - sizeof code)) == 0 &&
	       ((code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000);
}

static __always_inline bool follows_linkage(__u64 address)
{
	return false; /* not known here */
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

/* The caller lies in a word of the stack; where, in *slot. */
static __always_inline __u64 scan_stack(const struct code_range *range, __u64 stack, __u64 *slot)
{
	__u32 zero = 0;
	struct stack_words *found = bpf_map_lookup_elem(&stacks, &zero);
	if (!found || bpf_probe_read_user(found, sizeof *found, (void *)stack) < 0)
		return 0;
	for (int i = 0; i < STACK_WORDS; i++)
		if (is_inside(range, found->words[i]) && follows_call(found->words[i])) {
			*slot = stack + i * sizeof(__u64);
			return found->words[i];
		}
	return 0;
}

enum {
	LIBRARIES_BITS = 33, /* libraries lie so near one another, or nearer */
	STACK_BITS = 20, /* what lies so near the stack pointer is the stack */
};

/* Of the words that scan_stack() read, the first that a call between two files of the program left. */
static __always_inline __u64 scan_libraries(__u64 ip, __u64 stack, __u64 *slot)
{
	__u32 zero = 0;
	struct stack_words *found = bpf_map_lookup_elem(&stacks, &zero);
	if (!found)
		return 0;
	for (int i = 0; i < STACK_WORDS; i++) {
		__u64 word = found->words[i];
		if ((word ^ ip) >> LIBRARIES_BITS == 0 && (word ^ stack) >> STACK_BITS != 0 &&
			follows_linkage(word)) {
			*slot = stack + i * sizeof(__u64);
			return word;
		}
	}
	return 0;
}

static __always_inline __u64 walk_frames(const struct code_range *range, __u64 frame, __u64 *slot)
{
	for (int i = 0; i < FRAMES_MAX; i++) {
		__u64 link[2]; /* the caller's frame, and where it goes on */
		if (bpf_probe_read_user(link, sizeof link, (void *)frame) < 0)
			return 0;
		if (is_inside(range, link[1])) {
			*slot = frame + sizeof(__u64);
			return link[1];
		}
		if (link[0] <= frame)
			return 0;
		frame = link[0];
	}
	return 0;
}

/* Whether the thread waits where it last did, called by the same: then the word is what it was. */
static __always_inline bool is_same_call(
	const struct watch_call *call, const struct watch_event *event, struct pt_regs *regs)
{
	__u64 word;
	if (call->ip != event->site || call->sp != stack_of(regs) || call->frame != frame_of(regs))
		return false;
	/* Looking costs as much as the rest of an event. Only locks are often asked for at two places of a function. */
	if (call->object == event->object && event->syscall != __NR_futex)
		return true;
	return call->slot == 0 ||
	       (bpf_probe_read_user(&word, sizeof word, (void *)call->slot) == 0 &&
		       word == call->caller);
}

static __always_inline __u64 find_caller(struct task_struct *task, struct watch_thread *thread,
	const struct watch_event *event, struct pt_regs *regs)
{
	struct watch_call *call = &thread->call;
	struct mm_struct *mm = task->mm;
	if (!mm)
		return 0;
	const struct code_range range = { mm->start_code, mm->end_code };
	if (is_same_call(call, event, regs))
		return call->caller;
	__u64 slot = 0;
	__u64 found = scan_stack(&range, stack_of(regs), &slot);
	if (!found)
		found = walk_frames(&range, frame_of(regs), &slot);
	if (!found)
		found = scan_libraries(event->site, stack_of(regs), &slot);
	*call = (struct watch_call){ event->site, stack_of(regs), frame_of(regs), event->object,
		slot, found };
	return found;
}

/* kind: WATCH_BLOCK, WATCH_YIELD. */
static __always_inline void tell_call(
	struct task_struct *task, struct watch_thread *thread, enum watch_kind kind, __u64 now_ns)
{
	struct watch_event *event = has_events ? reserve_event(task, kind, now_ns) : NULL;
	if (!event)
		return;
	struct pt_regs *regs = user_registers();
	event->syscall = syscall_of(regs);
	add_call(event, regs);
	event->caller = find_caller(task, thread, event, regs);
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

#endif
