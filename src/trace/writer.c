/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each thread fills a lane. When a thread exits its lane waits, in a list of its process, for the
 * next thread that begins. What is seen of threads from outside has one lane for each process.
 */
#include "trace/writer.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "trace/raw_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NO_LANE = UINT32_MAX };

struct writer_lane {
	struct trace_chunk *chunk; /* mapped, and used again: what fills it is copied away */
	uint64_t last_ns;
	uint32_t number; /* in the file, which others may share */
	uint32_t seq; /* of the next chunk */
	uint32_t next_free; /* lane, or NO_LANE */
};

struct trace_writer {
	char *path; /* NULL: the file has no name, or none of ours */
	char *raw_path; /* where the raw file is; NULL: nowhere any more */
	bool is_recording;
	bool is_guest; /* others write to the file too, and will close it */
	uint16_t flags; /* of every row */
	struct raw_file file;
	struct writer_lane *lanes;
	size_t lane_count, lane_capacity;
	struct map threads; /* (process, thread; 0: from outside) -> lane */
	struct map free_lanes; /* (process, 0) -> first free lane */
	bool was_full; /* and what was lost, when finished */
	uint64_t lost;
	struct trace_closed closed;
};

/* A name beside the path, for mkostemp(); NULL without memory. */
static char *name_beside(const char *path)
{
	char *name;
	return asprintf(&name, "%s.XXXXXX", path) < 0 ? NULL : name;
}

/* A new file, its name completed; its descriptor. */
static int make_file(char *name, const char *path, struct err *err)
{
	int fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
	mode_t mask = umask(0);
	(void)umask(mask); /* never fails */
	(void)fchmod(fd, 0666 & ~mask); /* best effort */
	return fd;
}

int trace_writer_new_fd(int fd, const char *name, const struct trace_create_opts *opts,
	struct trace_writer **ret, struct err *err)
{
	AUTO_FD int owned = fd;
	AUTO(trace_writer) struct trace_writer *writer = calloc(1, sizeof *writer);
	if (!writer)
		return err_set(err, -ENOMEM, "out of memory");
	int handed = owned;
	owned = -1;
	int code = raw_file_open(&writer->file, handed, name, opts, err);
	if (code == 0)
		*ret = TAKE(writer);
	return code;
}

int trace_writer_new(const char *path, const struct trace_writer_opts *opts,
	struct trace_writer **ret, struct err *err)
{
	AUTO(trace_writer) struct trace_writer *writer = calloc(1, sizeof *writer);
	AUTO_FREE char *name = name_beside(path);
	if (!writer || !name)
		return err_set(err, -ENOMEM, "out of memory");
	writer->file.fd = -1;
	writer->path = strdup(path);
	if (!writer->path)
		return err_set(err, -ENOMEM, "out of memory");
	int code = outfile_check(path, true, err);
	if (code < 0)
		return code;
	int fd = make_file(name, path, err);
	if (fd < 0)
		return fd;
	writer->raw_path = TAKE(name);
	code = raw_file_open(&writer->file, fd, path, &opts->create, err);
	if (code < 0)
		return code;
	if (opts->is_recording) {
		if (rename(writer->raw_path, path) < 0)
			return err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
		strcpy(writer->raw_path, path); /* it was longer */
		writer->is_recording = true;
	}
	*ret = TAKE(writer);
	return 0;
}

int trace_writer_join(const char *path, uint32_t source, bool is_beside, struct trace_writer **ret,
	struct err *err)
{
	AUTO(trace_writer) struct trace_writer *writer = calloc(1, sizeof *writer);
	if (!writer)
		return err_set(err, -ENOMEM, "out of memory");
	writer->is_guest = true;
	writer->flags = is_beside ? TRACE_KERNEL : 0;
	int code = raw_file_join(&writer->file, path, err);
	if (code < 0)
		return code;
	__atomic_fetch_or(&writer->file.header->sources, source, __ATOMIC_RELAXED);
	*ret = TAKE(writer);
	return 0;
}

static void leave_file(struct trace_writer *writer)
{
	for (size_t i = 0; i < writer->lane_count; i++) {
		raw_file_leave(writer->lanes[i].chunk);
		writer->lanes[i].chunk = NULL;
	}
	raw_file_release(&writer->file);
}

void trace_writer_free(struct trace_writer *writer)
{
	if (!writer)
		return;
	leave_file(writer);
	if (writer->raw_path && !writer->is_recording)
		(void)unlink(writer->raw_path); /* thrown away */
	free(writer->raw_path);
	free(writer->path);
	free(writer->lanes);
	map_release(&writer->threads);
	map_release(&writer->free_lanes);
	free(writer);
}

/* Takes the process's first free lane if its last record is not later than now. */
static uint32_t take_free_lane(struct trace_writer *writer, const struct event *event)
{
	uint64_t *first = map_find(&writer->free_lanes, event->pid, 0);
	if (!first || *first == NO_LANE || writer->lanes[*first].last_ns > event->time_ns)
		return NO_LANE;
	uint32_t lane = (uint32_t)*first;
	*first = writer->lanes[lane].next_free;
	return lane;
}

static int add_lane(struct trace_writer *writer, uint32_t *ret)
{
	if (mem_grow(&writer->lanes, &writer->lane_capacity, writer->lane_count + 1,
		    sizeof *writer->lanes) < 0)
		return -ENOMEM;
	*ret = (uint32_t)writer->lane_count++;
	writer->lanes[*ret] = (struct writer_lane){
		.number = __atomic_fetch_add(&writer->file.header->lanes_taken, 1, __ATOMIC_RELAXED)
	};
	return 0;
}

static int lane_of(struct trace_writer *writer, const struct event *event, uint32_t *ret)
{
	uint64_t *lane;
	uint32_t thread = event_is_aside(event) ? 0 : event->tid;
	int code = map_add(&writer->threads, event->pid, thread, NO_LANE, &lane);
	if (code < 0)
		return code;
	if (*lane == NO_LANE) {
		uint32_t found = thread == 0 ? NO_LANE : take_free_lane(writer, event);
		if (found == NO_LANE && add_lane(writer, &found) < 0) {
			(void)map_remove(&writer->threads, event->pid, thread);
			return -ENOMEM;
		}
		*lane = found;
	}
	*ret = (uint32_t)*lane;
	return 0;
}

static int free_lane(struct trace_writer *writer, const struct event *event, uint32_t lane)
{
	uint64_t *first;
	if (map_add(&writer->free_lanes, event->pid, 0, NO_LANE, &first) < 0)
		return -ENOMEM;
	writer->lanes[lane].next_free = (uint32_t)*first;
	*first = lane;
	(void)map_remove(&writer->threads, event->pid, event->tid);
	return 0;
}

/* An empty chunk; what was in the one before is elsewhere in the file. False: full. */
static bool clear_chunk(struct trace_writer *writer, struct writer_lane *lane)
{
	uint32_t number;
	struct trace_chunk *chunk = lane->chunk;
	if (!chunk) {
		chunk = raw_file_chunk(&writer->file, &number);
		if (!chunk)
			return false;
		chunk->number = number;
	} else {
		if (!raw_file_copy(&writer->file, chunk))
			return false;
		__atomic_store_n(&chunk->magic, 0, __ATOMIC_RELEASE);
		memset(chunk + 1, 0, chunk->used);
		chunk->used = 0;
	}
	lane->chunk = chunk;
	return true;
}

static void open_chunk(struct writer_lane *lane, const struct event *event)
{
	struct trace_chunk *chunk = lane->chunk;
	chunk->lane = lane->number;
	chunk->seq = lane->seq++;
	chunk->pid = event->pid;
	chunk->tid = event->tid;
	chunk->first_ns = event->time_ns;
	struct trace_chunk whole = *chunk;
	whole.magic = TRACE_CHUNK_MAGIC;
	chunk->check = trace_chunk_check(&whole);
	__atomic_store_n(&chunk->magic, whole.magic, __ATOMIC_RELEASE);
}

/* Room for so many rows in the lane's chunk; NULL: full. */
static struct trace_record *reserve_rows(
	struct trace_writer *writer, uint32_t index, const struct event *event, uint32_t row_count)
{
	struct writer_lane *lane = &writer->lanes[index];
	uint32_t bytes = row_count * TRACE_RECORD_BYTES;
	if (!lane->chunk || lane->chunk->used + bytes > TRACE_CHUNK_BYTES - TRACE_HEAD_BYTES) {
		if (!clear_chunk(writer, lane))
			return NULL;
		open_chunk(lane, event);
	}
	struct trace_chunk *chunk = lane->chunk;
	return (struct trace_record *)(void *)((uint8_t *)chunk + TRACE_HEAD_BYTES + chunk->used);
}

static void fill_row(struct trace_record *row, const struct event *event, uint16_t flags)
{
	*row = (struct trace_record){
		.time_ns = event->time_ns,
		.cpu_ns = event->cpu_ns,
		.object = event->object,
		.site = event->site,
		.value = event->value,
		.tid = event->tid,
		.kind = event->kind,
		.what = event->what,
		.flags = event->flags | flags,
	};
	if (event->kind == EVENT_THREAD_START)
		row->value = trace_since(event->time_ns, event->time_ns, (uint32_t)event->value);
	else if (event->kind == EVENT_PASS && event->flags & EVENT_WAITED)
		row->value = trace_since(event->time_ns, event->woken_ns, (uint32_t)event->value);
}

static uint32_t text_bytes(const struct event *event)
{
	return event->kind == EVENT_NAME ? (uint32_t)strnlen(event->text, TRACE_NAME_BYTES - 1) : 0;
}

/* The row, and a name's text behind it. */
static bool put_rows(struct trace_writer *writer, uint32_t lane, const struct event *event)
{
	uint32_t bytes = text_bytes(event);
	uint32_t row_count = event->kind == EVENT_NAME ? trace_name_rows(bytes) : 1;
	struct trace_record *row = reserve_rows(writer, lane, event, row_count);
	if (!row)
		return false;
	fill_row(row, event, event_is_aside(event) ? 0 : writer->flags);
	if (event->kind == EVENT_NAME) {
		row->site = bytes;
		memcpy(row + 1, event->text, bytes); /* what follows is zero already */
	}
	struct trace_chunk *chunk = writer->lanes[lane].chunk;
	__atomic_store_n(
		&chunk->used, chunk->used + row_count * TRACE_RECORD_BYTES, __ATOMIC_RELEASE);
	return true;
}

static int check_event(const struct event *event, struct err *err)
{
	if (event->kind == EVENT_NONE || event->kind >= EVENT_KINDS || event->what >= WHAT_COUNT ||
		event->flags & ~(TRACE_FLAGS & ~(TRACE_HELD | TRACE_KERNEL)) ||
		(event->kind == EVENT_NAME && !event->text))
		return err_set(
			err, -EINVAL, "an event that a trace cannot hold (kind %u)", event->kind);
	if (event->tid == 0 || event->tid > TRACE_TID_MAX)
		return err_set(err, -EINVAL, "a trace cannot hold thread %u: numbers are 1 to %d",
			event->tid, TRACE_TID_MAX);
	return 0;
}

static void lose(struct trace_writer *writer, uint64_t events)
{
	__atomic_fetch_add(&writer->file.header->events_lost, events, __ATOMIC_RELAXED);
}

/* Those who look from outside see what happens on several cores: a later one may come first. */
static struct event put_in_order(const struct event *event, uint64_t last_ns)
{
	struct event ordered = *event;
	if (event_is_aside(event) && ordered.time_ns < last_ns)
		ordered.time_ns = last_ns;
	return ordered;
}

static int write_event(void *context, const struct event *event, struct err *err)
{
	struct trace_writer *writer = context;
	uint32_t lane;
	if (event->kind == EVENT_LOST && event->tid == 0) { /* of no thread */
		lose(writer, event->value);
		return 0;
	}
	int code = check_event(event, err);
	if (code < 0)
		return code;
	if (lane_of(writer, event, &lane) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	const struct event ordered = put_in_order(event, writer->lanes[lane].last_ns);
	event = &ordered;
	if (event->time_ns < writer->lanes[lane].last_ns)
		return err_set(err, -EINVAL,
			"an event of thread %u at %llu ns comes after one at %llu ns", event->tid,
			(unsigned long long)event->time_ns,
			(unsigned long long)writer->lanes[lane].last_ns);
	if (put_rows(writer, lane, event))
		writer->lanes[lane].last_ns = event->time_ns;
	else
		lose(writer, 1);
	if (event->kind == EVENT_THREAD_EXIT && free_lane(writer, event, lane) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static void forget_raw_path(struct trace_writer *writer)
{
	free(writer->raw_path);
	writer->raw_path = NULL;
}

/* No room for the closed form: the raw one does as well. */
static int keep_raw(struct trace_writer *writer, struct err *err)
{
	if (writer->is_recording)
		return 0; /* it is there already */
	if (rename(writer->raw_path, writer->path) < 0)
		return err_set(err, -errno, "cannot write '%s': %s", writer->path, strerror(errno));
	forget_raw_path(writer);
	return 0;
}

static int finish(void *context, uint64_t end_ns, struct err *err)
{
	struct trace_writer *writer = context;
	if (writer->is_guest) {
		leave_file(writer);
		return 0;
	}
	writer->file.header->end_ns = end_ns;
	writer->file.header->state = TRACE_ENDED;
	writer->was_full = trace_writer_is_full(writer);
	writer->lost = trace_writer_lost(writer);
	leave_file(writer);
	if (!writer->path)
		return 0;
	if (writer->was_full && !writer->is_recording)
		return err_set(
			err, -ENOSPC, "cannot write '%s': no room for all events", writer->path);
	int code = trace_close(writer->raw_path, writer->path, end_ns, &writer->closed, err);
	if (code < 0)
		return code == -ENOSPC ? keep_raw(writer, err) : code;
	if (!writer->is_recording) {
		(void)unlink(writer->raw_path); /* at worst a file too many */
		forget_raw_path(writer);
	}
	return 0;
}

struct event_sink trace_writer_sink(struct trace_writer *writer)
{
	return (struct event_sink){ .context = writer, .event = write_event, .finish = finish };
}

void trace_writer_set_cores(struct trace_writer *writer, uint32_t cores, uint32_t cores_online)
{
	writer->file.header->cores = cores;
	writer->file.header->cores_online = cores_online;
}

void trace_writer_set_wakes(struct trace_writer *writer, const struct trace_wakes *wakes)
{
	writer->file.header->wakes = *wakes;
}

void trace_writer_set_others(struct trace_writer *writer, const struct trace_others *others)
{
	writer->file.header->others = *others;
}

void trace_writer_set_own(struct trace_writer *writer, const struct trace_own *own)
{
	writer->file.header->own = *own;
}

bool trace_writer_is_full(const struct trace_writer *writer)
{
	return writer->file.header ? writer->file.header->is_full : writer->was_full;
}

uint64_t trace_writer_lost(const struct trace_writer *writer)
{
	return writer->file.header ? writer->file.header->events_lost : writer->lost;
}

const struct trace_closed *trace_writer_closed(const struct trace_writer *writer)
{
	return &writer->closed;
}
