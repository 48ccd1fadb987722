/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/stack_sampler.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "code/unwind.h"
#include "collect/perf_ring.h"
#include "collect/sampler.h"
#include "collect/tree.h"
#include "record/spin_places.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* 512 KiB, which unprivileged users may lock: 220 samples with their stacks, near a second of them. A power of two. */
	RING_PAGES = 128,
	STACK_BYTES = 2048, /* as much as a few functions have; a multiple of 8 */
	FRAMES_MAX = 64,
	STACKS_MAX = 1 << 17, /* beyond these samples have no callers */
	SETTLE_NS = 2000000, /* a record is in its ring by then */
	/* Beyond these, as of programs that start thousands of others, callers are those of frame pointers: looking up takes longer. */
	MAPPINGS_MAX = 4096,
};

/* As asm/perf_regs.h numbers x86's, which are written in this order. */
enum { REGISTER_FP = 6, REGISTER_SP = 7, REGISTER_PC = 8 };

/* As the kernel lays them out for the sample_type below. */
struct record_sample {
	struct perf_event_header header;
	uint64_t address;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t frame_count;
	uint64_t frames[];
};

struct record_lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

struct record_fork {
	struct perf_event_header header;
	uint32_t pid, parent_pid, tid, parent_tid;
};

struct record_mmap {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	char path[];
};

struct record_comm {
	struct perf_event_header header;
	uint32_t pid, tid;
};

union record {
	struct perf_event_header header;
	struct record_sample sample;
	struct record_lost lost;
	struct record_fork fork;
	struct record_comm comm;
	struct record_mmap mmap;
	char bytes[PERF_RECORD_BYTES_MAX];
};

struct stack_sampler {
	struct perf_event_attr attr;
	struct perf_rings rings;
	bool is_everybody; /* all that runs is sampled: what is not of `family` is dropped here */
	uint32_t pid; /* the process that was asked for */
	uint64_t
		begin_ns; /* of everybody's samples those from then on; UINT64_MAX: its exec has not been */
	struct map family; /* processes whose samples are taken */
	struct unwinder *unwinder;
	struct address_spaces spaces; /* of the family */
	struct map stacks; /* (hash of the callers, process) to id */
	struct spin_places spins;
	uint64_t stack_count, samples, lost;
	union record record; /* the one being read */
};

void stack_sampler_free(struct stack_sampler *sampler)
{
	if (!sampler)
		return;
	perf_rings_release(&sampler->rings);
	unwinder_free(sampler->unwinder);
	address_spaces_release(&sampler->spaces);
	map_release(&sampler->family);
	map_release(&sampler->stacks);
	spin_places_release(&sampler->spins);
	free(sampler);
}

/* All threads that are there; those that come inherit from one of these. 0 or -errno. */
static int add_threads(struct stack_sampler *sampler, pid_t pid)
{
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid); /* fits */
	AUTO_RELEASE(map) struct map known = { 0 };
	size_t added;
	do { /* until a look finds no new one */
		DIR *folder = opendir(path);
		if (!folder)
			return -errno;
		added = 0;
		int code = 0;
		for (struct dirent *entry; code >= 0 && (entry = readdir(folder));) {
			pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
			uint64_t *ignored;
			if (tid <= 0 ||
				(code = map_add(&known, (uint64_t)tid, 0, 0, &ignored)) <= 0)
				continue;
			added++;
			if (tid != pid)
				code = perf_rings_add(&sampler->rings, &sampler->attr, tid);
			if (code == -ESRCH)
				code = 0;
		}
		(void)closedir(folder); /* read only */
		if (code < 0)
			return code;
	} while (added > 0);
	return 0;
}

/* Events of the threads themselves, which new ones inherit: allowed to everybody. */
static int sample_threads(struct stack_sampler *sampler, pid_t pid, bool is_running)
{
	sampler->attr.inherit = 1;
	sampler->attr.disabled = !is_running;
	sampler->attr.enable_on_exec = !is_running;
	int code = perf_rings_open(&sampler->rings, &sampler->attr, pid, RING_PAGES);
	if (code == 0 && is_running)
		code = add_threads(sampler, pid);
	if (code < 0)
		perf_rings_release(&sampler->rings);
	return code;
}

/* What the process has started so far, such as a server's workers. */
static int take_up_descendants(struct stack_sampler *sampler, pid_t pid)
{
	AUTO_RELEASE(tree) struct tree tree = { 0 };
	int code = tree_read(&tree, pid);
	for (size_t i = 0; code >= 0 && i < tree.count; i++) {
		uint64_t *ignored;
		code = map_add(&sampler->family, (uint64_t)tree.pids[i], 0, 0, &ignored);
		if (code >= 0)
			code = address_spaces_read(&sampler->spaces, (uint32_t)tree.pids[i]);
	}
	return code;
}

/*
 * One event for each processor, whoever runs there: unlike one of a thread it is not set and stopped
 * at each switch, which takes longer than the switch. The kernel tells who starts whom.
 */
static int sample_processors(struct stack_sampler *sampler, pid_t pid, bool is_running)
{
	struct perf_event_attr attr = sampler->attr;
	attr.exclude_idle = 1;
	attr.task = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.sample_id_all = 1;
	uint64_t *ignored;
	int code = map_add(&sampler->family, (uint64_t)pid, 0, 0, &ignored);
	if (code >= 0 && is_running)
		code = take_up_descendants(sampler, pid);
	if (code >= 0)
		code = perf_rings_open(&sampler->rings, &attr, EVERYBODY, RING_PAGES);
	sampler->is_everybody = code == 0;
	sampler->pid = (uint32_t)pid;
	sampler->begin_ns = is_running ? 0 : UINT64_MAX;
	return code;
}

static bool is_refused(int code)
{
	return code == -EACCES || code == -EPERM;
}

/* Without privilege, what a thread does in the kernel cannot be seen either. */
static int open_rings(struct stack_sampler *sampler, pid_t pid, bool is_running)
{
	int code = sample_processors(sampler, pid, is_running);
	if (is_refused(code))
		code = sample_threads(sampler, pid, is_running);
	if (!is_refused(code))
		return code;
	sampler->attr.exclude_kernel = 1;
	return sample_threads(sampler, pid, is_running);
}

/* Registers and bytes to find callers by, and where which file is mapped. */
static void ask_for_stacks(struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = 1u << REGISTER_FP | 1u << REGISTER_SP | 1u << REGISTER_PC;
	attr->sample_stack_user = STACK_BYTES;
	attr->mmap = 1;
}

int stack_sampler_new(
	pid_t pid, uint32_t hz, bool is_running, struct stack_sampler **ret, struct err *err)
{
	AUTO(stack_sampler) struct stack_sampler *sampler = calloc(1, sizeof *sampler);
	if (!sampler)
		return err_set(err, -ENOMEM, "out of memory");
	sampler->attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof sampler->attr,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000u / hz,
		.sample_type =
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.sample_max_stack = FRAMES_MAX,
		.exclude_hv = 1,
		.exclude_callchain_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	if (unwinder_is_able())
		ask_for_stacks(&sampler->attr);
	int code = unwinder_new(&sampler->unwinder);
	if (code == 0 && is_running)
		code = address_spaces_read(&sampler->spaces, (uint32_t)pid);
	if (code < 0)
		return err_set(err, code, "out of memory");
	code = open_rings(sampler, pid, is_running);
	if (code < 0)
		return sampler_explain(code, err);
	*ret = TAKE(sampler);
	return 0;
}

/* The user's part of a call chain: from the running instruction outwards. */
static size_t user_frames(const struct record_sample *sample, const uint64_t **ret)
{
	size_t held = (sample->header.size - offsetof(struct record_sample, frames)) / 8;
	size_t count = sample->frame_count < held ? sample->frame_count : held, begin = 0, end;
	while (begin < count && sample->frames[begin] != (uint64_t)PERF_CONTEXT_USER)
		begin++;
	begin += begin < count;
	for (end = begin; end < count && sample->frames[end] < (uint64_t)PERF_CONTEXT_MAX; end++)
		continue;
	*ret = &sample->frames[begin];
	return end - begin;
}

/* What lies behind the call chain. False: there is none, or the thread has no user's part. */
static bool read_image(const struct record_sample *sample, struct stack_image *ret)
{
	const char *end = (const char *)sample + sample->header.size;
	const char *at = (const char *)&sample->frames[sample->frame_count];
	struct {
		uint64_t abi, fp, sp, pc, size;
	} state;
	uint64_t held;
	if (sample->frame_count > FRAMES_MAX + PERF_MAX_CONTEXTS_PER_STACK ||
		end - at < (ptrdiff_t)sizeof state)
		return false;
	memcpy(&state, at, sizeof state);
	at += sizeof state;
	if (state.abi != PERF_SAMPLE_REGS_ABI_64 || state.size > STACK_BYTES ||
		end - at < (ptrdiff_t)(state.size + sizeof held))
		return false;
	memcpy(&held, at + state.size,
		sizeof held); /* behind the bytes: how many are the stack's */
	*ret = (struct stack_image){ .pc = state.pc,
		.sp = state.sp,
		.fp = state.fp,
		.bytes = (const unsigned char *)at,
		.size = held < state.size ? held : state.size };
	return held > 0;
}

/*
 * Callers by the code's tables, as far as these and the image of the stack go. Where frame pointers lead through the last
 * of them, they lead on; where there are no tables, they are all there is. `frames`: FRAMES_MAX, which begin with
 * those of frame pointers.
 */
static size_t find_callers(struct stack_sampler *sampler, const struct record_sample *sample,
	const uint64_t *chain, size_t chain_count, uint64_t *ret)
{
	struct stack_image image;
	size_t count = 0, next = 0;
	if (read_image(sample, &image))
		count = unwinder_callers(
			sampler->unwinder, &sampler->spaces, sample->pid, &image, ret, FRAMES_MAX);
	while (count > 0 && next < chain_count && chain[next] != ret[count - 1])
		next++;
	for (next += count > 0; next < chain_count && count < FRAMES_MAX; next++)
		ret[count++] = chain[next];
	return count;
}

/* FNV-1a; two of 10^5 stacks are taken for one with a probability below 10^-9. */
static uint64_t hash_of(const uint64_t *frames, size_t count)
{
	uint64_t hash = 0xcbf29ce484222325;
	for (size_t i = 0; i < count * sizeof *frames; i++)
		hash = (hash ^ ((const unsigned char *)frames)[i]) * 0x100000001b3;
	return hash;
}

static int name_stack(const struct event_sink *sink, const struct event *sample,
	const uint64_t *frames, size_t count, struct err *err)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	for (size_t i = 0; i < count; i++)
		strbuf_addf(&text, "%s%" PRIx64, i ? " " : "", frames[i]);
	if (strbuf_failed(&text) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	const struct event name = { .time_ns = sample->time_ns,
		.pid = sample->pid,
		.tid = sample->tid,
		.kind = EVENT_NAME,
		.what = WHAT_STACK,
		.object = sample->object,
		.text = text.text };
	return sink_event(sink, &name, err);
}

/* Sets the sample's stack, which is told when it is new. */
static int find_stack(struct stack_sampler *sampler, const struct event_sink *sink,
	struct event *event, const uint64_t *frames, size_t count, struct err *err)
{
	uint64_t *id;
	if (count == 0)
		return 0;
	uint64_t hash = hash_of(frames, count);
	uint64_t *known = map_find(&sampler->stacks, hash, event->pid);
	if (known || sampler->stack_count == STACKS_MAX) {
		event->object = known ? *known : 0;
		return 0;
	}
	if (map_add(&sampler->stacks, hash, event->pid, sampler->stack_count + 1, &id) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	event->object = ++sampler->stack_count;
	return name_stack(sink, event, frames, count, err);
}

static bool is_wanted(const struct stack_sampler *sampler, const struct event *sample)
{
	return !sampler->is_everybody ||
	       (sample->time_ns >= sampler->begin_ns && map_find(&sampler->family, sample->pid, 0));
}

/* A child has mapped what its parent had. */
static int take_space(
	struct stack_sampler *sampler, const struct record_fork *fork, struct err *err)
{
	struct address_spaces *spaces = &sampler->spaces;
	if (spaces->parent_count >= MAPPINGS_MAX)
		return 0;
	return address_spaces_fork(spaces, fork->parent_pid, fork->pid) < 0
		       ? err_set(err, -ENOMEM, "out of memory")
		       : 0;
}

static int take_mapping(
	struct stack_sampler *sampler, const struct record_mmap *record, struct err *err)
{
	const struct mapping mapping = { .pid = record->pid,
		.start = record->start,
		.end = record->start + record->length,
		.offset = record->offset };
	bool is_family = !sampler->is_everybody || map_find(&sampler->family, record->pid, 0);
	if (!is_family || record->path[0] != '/' || sampler->spaces.count >= MAPPINGS_MAX)
		return 0;
	return address_spaces_map(&sampler->spaces, &mapping, record->path) < 0
		       ? err_set(err, -ENOMEM, "out of memory")
		       : 0;
}

/* A process that starts. It may have the number of one of the family that has ended. */
static int take_fork(struct stack_sampler *sampler, const struct record_fork *fork, struct err *err)
{
	uint64_t *ignored;
	if (fork->pid == fork->parent_pid)
		return 0; /* a thread */
	if (sampler->is_everybody && !map_find(&sampler->family, fork->parent_pid, 0)) {
		(void)map_remove(&sampler->family, fork->pid, 0); /* most often it was not there */
		return 0;
	}
	if (map_add(&sampler->family, fork->pid, 0, 0, &ignored) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return take_space(sampler, fork, err);
}

/* Of one that asks for it (sample_id_all) the last word is its time. */
static void take_comm(struct stack_sampler *sampler, const union record *record)
{
	bool is_exec = record->header.misc & PERF_RECORD_MISC_COMM_EXEC;
	if (is_exec)
		spin_places_release(&sampler->spins); /* other code may be there now */
	if (is_exec && record->comm.pid == sampler->pid && sampler->begin_ns == UINT64_MAX)
		memcpy(&sampler->begin_ns, record->bytes + record->header.size - sizeof(uint64_t),
			sizeof(uint64_t));
}

static int take_sample(struct stack_sampler *sampler, const struct record_sample *sample,
	const struct event_sink *sink, struct err *err)
{
	const uint64_t *frames;
	size_t count = user_frames(sample, &frames);
	struct event event = { .time_ns = sample->time_ns,
		.pid = sample->pid,
		.tid = sample->tid,
		.kind = EVENT_SAMPLE,
		.site = count > 0 ? frames[0] : sample->address };
	if ((int32_t)event.tid <= 0 || !is_wanted(sampler, &event))
		return 0; /* it is just going, or is a stranger */
	uint64_t callers[FRAMES_MAX];
	if (count > 0)
		count = find_callers(sampler, sample, frames + 1, count - 1, callers);
	event.value = spin_places_find(
		&sampler->spins, &sampler->spaces, event.pid, event.site, callers, count);
	int code = find_stack(sampler, sink, &event, callers, count, err);
	if (code < 0)
		return code;
	sampler->samples++;
	return sink_event(sink, &event, err);
}

static int take_record(
	struct stack_sampler *sampler, const struct event_sink *sink, struct err *err)
{
	const union record *record = &sampler->record;
	if (record->header.type == PERF_RECORD_SAMPLE)
		return take_sample(sampler, &record->sample, sink, err);
	if (record->header.type == PERF_RECORD_FORK)
		return take_fork(sampler, &record->fork, err);
	if (record->header.type == PERF_RECORD_MMAP)
		return take_mapping(sampler, &record->mmap, err);
	if (record->header.type == PERF_RECORD_COMM)
		take_comm(sampler, record);
	if (record->header.type == PERF_RECORD_LOST)
		sampler->lost += record->lost.lost;
	sampler->lost += record->header.type == PERF_RECORD_THROTTLE;
	return 0;
}

/* When the ring's next record was made; 0 if that does not say; UINT64_MAX if there is none. */
static uint64_t next_time(const struct stack_sampler *sampler, const struct perf_ring *ring)
{
	struct record_sample sample;
	if (ring->seen >= ring->context_seen)
		return UINT64_MAX;
	(void)perf_rings_copy(/* its size is asked for when it is taken */
		&sampler->rings, ring, ring->seen, &sample.header, sizeof sample);
	return sample.header.type == PERF_RECORD_SAMPLE ? sample.time_ns : 0;
}

static struct perf_ring *first_ring(struct stack_sampler *sampler, uint64_t until_ns)
{
	struct perf_ring *first = NULL;
	for (size_t i = 0; i < sampler->rings.count; i++) {
		uint64_t time_ns = next_time(sampler, &sampler->rings.items[i]);
		if (time_ns >= until_ns)
			continue;
		until_ns = time_ns;
		first = &sampler->rings.items[i];
	}
	return first;
}

int stack_sampler_drain(
	struct stack_sampler *sampler, bool is_last, const struct event_sink *sink, struct err *err)
{
	uint64_t until_ns = clock_now_ns(CLOCK_MONOTONIC) - SETTLE_NS;
	struct perf_ring *ring;
	int code = 0;
	for (size_t i = 0; i < sampler->rings.count; i++)
		sampler->rings.items[i].context_seen = perf_ring_head(&sampler->rings.items[i]);
	while (code == 0 && (ring = first_ring(sampler, is_last ? UINT64_MAX : until_ns))) {
		uint64_t size = perf_rings_copy(&sampler->rings, ring, ring->seen,
			&sampler->record.header, sizeof sampler->record);
		if (size < sizeof sampler->record.header)
			return err_set(err, -EIO, "the kernel's samples make no sense");
		code = take_record(sampler, sink, err);
		ring->seen += size;
		perf_ring_free_up_to(ring, ring->seen);
	}
	return code;
}

uint64_t stack_sampler_count(const struct stack_sampler *sampler)
{
	return sampler->samples;
}

uint64_t stack_sampler_lost(const struct stack_sampler *sampler)
{
	return sampler->lost;
}
