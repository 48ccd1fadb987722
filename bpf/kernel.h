/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few fields of the kernel's structures that our programs read. Where they lie is found out
 * when a program is loaded (CO-RE), so the rest and the order do not matter, and building needs no
 * description of any kernel.
 */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	__u64 clock; /* of the scheduler: when it was last brought up to date */
};

/* Only where groups of tasks are scheduled (CONFIG_FAIR_GROUP_SCHED) is there a way from it to its core's queue. */
struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct mm_struct {
	unsigned long start_code, end_code; /* of the program, not of its libraries */
};

/* Its first 32 bits are 0 while nobody has it. */
struct raw_spinlock {
	__u32 unused;
};

enum { TASK_WAKING = 0x200 };

/* Of x86-64: where the C library keeps what it knows of the thread. */
struct thread_struct {
	unsigned long fsbase;
};

struct task_struct {
	int pid;
	int tgid;
	unsigned int __state;
	struct raw_spinlock pi_lock; /* who wakes the task has it */
	int on_cpu;
	struct task_struct *real_parent;
	struct sched_entity se;
	char comm[16];
	struct mm_struct *mm;
	struct thread_struct thread;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct gendisk {
	int major;
	int first_minor;
};

struct request_queue {
	struct gendisk *disk;
};

/* To a disk. */
struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
};

/* Their numbers differ between kernels. */
enum req_flag_bits {
	__REQ_META,
	__REQ_FUA,
	__REQ_PREFLUSH,
	__REQ_RAHEAD,
};

/* Of x86-64 and arm64: which system call a thread is in. */
struct pt_regs {
	unsigned long orig_ax, di, si, dx, ip, bp;
	__u64 sp;
	__u64 regs[31], pc, orig_x0;
	int syscallno;
};

#pragma clang attribute pop

#endif
