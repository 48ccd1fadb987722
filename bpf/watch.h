/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What watch.bpf.c shares with the process that loads it: the account, one record for each thread,
 * one fixed-width event for each change. Both sides are built for the same machine.
 */
#ifndef BPF_WATCH_H
#define BPF_WATCH_H

#include <linux/bpf.h>
#include <linux/types.h>

enum {
	WATCH_FRACTION_BITS = 8, /* criticality is in 1/256 ns: 2^56 ns are two years */
	WATCH_THREADS_MAX = 65536, /* at a time, with those that ended since the last reading */
	WATCH_NAME_BYTES = 16,
	WATCH_REQUESTS_MAX = 16384, /* to disks, under way at a time */
	WATCH_MARKS =
		1024, /* how many kinds of processes are told apart before a record is looked for */
	WATCH_SLOTS = 16384, /* records that are found without a search */
	WATCH_READING = 64, /* records that are read at once */
};

/*
 * The account of all threads. With r threads active, `sum` grows by dt/r: it is what one thread
 * that is active all the time has collected. What the division leaves is carried, so over any time
 *
 *	256 * (now_ns - start_ns - idle_ns) = all threads' criticality + remainder
 */
struct watch_total {
	__u64 start_ns; /* of the account's clock, see queue_clock(); 0: not yet started */
	__u64 now_ns; /* up to when the account is made */
	__u64 idle_ns; /* with no thread active */
	__u64 sum; /* 1/256 ns */
	__u64 remainder; /* 1/256 ns, below `active` */
	__u64 forgotten; /* criticality of ended threads whose record was not read, 1/256 ns */
	__u64 active; /* threads active now */
	__u64 active_tids; /* their sum: when there is one, who it is */
};

/*
 * One program changes it at a time, while `changes` is odd. Who reads it without that reads again unless `changes` was
 * the same even number before and after.
 */
struct watch_account {
	__u32 changes;
	__u32 unused;
	__u64 behind_ns; /* of CLOCK_MONOTONIC, what the account's clock is behind (or, negative, before) */
	__u64 behind_at_ns; /* when that was seen, of the account's clock; 0: not yet */
	struct watch_total total __attribute__((aligned(64)));
};

/* Where a thread last waited, and in which word of its stack the caller was found. */
struct watch_call {
	__u64 ip, sp, frame;
	__u64 object; /* first argument of the system call */
	__u64 slot; /* 0: there is none */
	__u64 caller;
};

/* What changes at a switch or a wake-up is in the first 64 bytes. */
struct watch_thread {
	__u32 tid, pid;
	__u8 is_active;
	__u8 is_known; /* its state was seen, not only guessed when it was taken up */
	__u8 has_ended; /* its record stays until it is read */
	__u8 is_early; /* it was woken when it had not yet left its core */
	__u32 waker; /* where events are told: who ended the last wait, as in watch_event */
	__u64 woken_ns; /* and when; 0: it waits */
	__u64 criticality; /* of its ended active stretches, 1/256 ns */
	__u64 begin_sum; /* the sum when it became active */
	__u64 active_ns; /* of its ended active stretches */
	__u64 begin_ns; /* when it became active */
	__u64 waits; /* stretches that a wait ended */
	struct watch_call call;
	char name[WATCH_NAME_BYTES]; /* when it was last seen to start or end */
};

/* What on_read() is asked, by the records' tids, and answers. */
struct watch_reading {
	__u32 count; /* records from the first on: in, those that are wanted; out, those that there are */
	__u32 is_first; /* of several readings: bring the account up to date */
	struct watch_thread records[WATCH_READING];
};

/* Why something is missing from the account or the events. */
enum watch_loss {
	WATCH_LOST_THREAD, /* no room for its record, or the account was never free: not all of it is in the account */
	WATCH_LOST_EVENT, /* the ring buffer was full */
	WATCH_LOSSES,
};

enum watch_kind {
	WATCH_NONE,
	WATCH_FOUND, /* was there when watching began; other: 1 if it ran or waited for a core */
	WATCH_START, /* other: parent's tid */
	WATCH_EXIT,
	WATCH_EXEC, /* the process has another program; other: tid before */
	WATCH_BLOCK, /* left its core to wait; syscall and its arguments, and site, say why */
	WATCH_RUN, /* got a core; other: the core; since when it could run, and by whom, if it waited */
	WATCH_PREEMPT, /* lost its core, can run */
	WATCH_YIELD, /* the same by sched_yield(); site and caller as of BLOCK */
	/* A request to a disk, of the thread that caused it; other: enum watch_request. */
	WATCH_DISK_QUEUE,
	WATCH_DISK_START,
	WATCH_DISK_END,
};

enum watch_request {
	WATCH_REQUEST_WRITES = 1,
	WATCH_REQUEST_METADATA = 2,
	WATCH_REQUEST_AHEAD = 4,
	WATCH_REQUEST_FLUSH = 8,
};

enum { WATCH_WAKER_UNKNOWN = 0x7fffffff }; /* no thread's number */

struct watch_event {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	union {
		__u64 cpu_ns; /* processor time of the thread so far */
		__u64 argument; /* START: of the start routine */
	};
	union {
		struct {
			__u64 object; /* BLOCK: first argument of the system call */
			__u64 site; /* BLOCK, YIELD: where user code called the kernel */
		};
		struct {
			__u64 woken_ns; /* RUN: 0: it did not wait, or this is not known */
			__u32 waker; /* RUN: tid; 0: no watched thread did it; WATCH_WAKER_UNKNOWN */
			__u32 unused;
		};
		struct {
			__u64 request; /* DISK: its number */
			__u32 bytes, device; /* DISK; device: major << 20 | minor */
		};
		char name[WATCH_NAME_BYTES]; /* FOUND, START, EXIT, EXEC: of the thread */
	};
	__u64 caller; /* START: the start routine; BLOCK, YIELD: where the program's own code, else a library's, goes on after its call; 0 if unknown */
	__u32 tid, pid;
	__u32 other; /* BLOCK: third argument of the system call, cut */
	__s16 syscall; /* BLOCK: its number; negative: not in a system call */
	__u8 kind; /* enum watch_kind */
	__u8 operation; /* BLOCK: second argument of the system call, cut */
};

_Static_assert(sizeof(struct watch_event) == 56, "one event is at most 60 bytes");

#endif
