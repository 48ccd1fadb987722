/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Part of watch.bpf.c: requests to disks, whose programs are attached only when they are wanted. */
#ifndef BPF_WATCH_DISK_H
#define BPF_WATCH_DISK_H

#include "watch_events.h"

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
	ret |= request_flag(
		flags, bpf_core_enum_value(enum req_flag_bits, __REQ_META), WATCH_REQUEST_METADATA);
	ret |= request_flag(
		flags, bpf_core_enum_value(enum req_flag_bits, __REQ_RAHEAD), WATCH_REQUEST_AHEAD);
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
	struct watch_thread *thread = find_task(bpf_get_current_task_btf());
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

#endif
