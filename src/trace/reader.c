/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Merges lanes: a tournament holds the key of every open lane's next event. A lane is opened when its
 * first chunk's time has come, and gives its memory back when it is over.
 */
#include "trace/reader.h"

#include "trace/joint.h"
#include "trace/lane.h"
#include "trace/tournament.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The numbers of the file are those of struct event. */
static_assert(
	(int)TRACE_KINDS == (int)EVENT_KINDS && (int)TRACE_DISK_END == (int)EVENT_DISK_END &&
		(int)TRACE_STACK == (int)WHAT_STACK && (int)TRACE_WRITE == (int)EVENT_WRITE &&
		(int)TRACE_FLUSH == (int)EVENT_FLUSH && (int)TRACE_ORDERED == (int)EVENT_ORDERED &&
		(int)TRACE_TRIED == (int)EVENT_TRIED && (int)TRACE_LOST == (int)EVENT_LOST &&
		(int)TRACE_PASS == (int)EVENT_PASS && (int)TRACE_RUN == (int)EVENT_RUN &&
		(int)TRACE_WHATS == (int)WHAT_COUNT && (int)TRACE_PROGRAM == (int)WHAT_PROGRAM &&
		(int)TRACE_FUTEX == (int)WHAT_FUTEX && (int)TRACE_WAITED == (int)EVENT_WAITED &&
		(int)TRACE_BEFORE == (int)EVENT_BEFORE &&
		(int)TRACE_IO_OTHER == (int)EVENT_IO_OTHER &&
		(int)TRACE_FRAME == (int)EVENT_FRAME &&
		(int)TRACE_LEFT_OUT == (int)EVENT_LEFT_OUT &&
		(int)TRACE_CALLER == (int)EVENT_CALLER,
	"numbers of the file");

/*
 * The key of a lane: the time of its next event, then its thread, then its index, so that an order of
 * lanes is an order of numbers.
 *
 *	127             64 63    32 31     0
 *	+-----------------+--------+--------+
 *	| key_ns          | tid    | lane   |
 *	+-----------------+--------+--------+
 */
static tournament_key key_of(const struct lane *lane, size_t index)
{
	return (tournament_key)lane->key_ns << 64 | (uint64_t)lane->tid << 32 | (uint32_t)index;
}

static size_t lane_of(tournament_key key)
{
	return (uint32_t)key;
}

struct trace_reader {
	char *name;
	struct lane_source source;
	struct lane *lanes;
	size_t lane_count;
	tournament_key *begins; /* of the lanes, in their order */
	size_t opened; /* lanes, in that order */
	struct tournament open;
	bool is_joint; /* two recorders told of the same threads */
	struct joint joint;
	bool is_pending; /* the first of the open lanes has given its event */
	bool has_told_end;
	bool has_read; /* an event that was recorded, not only what was lost */
	uint64_t last_ns; /* time of the last event: none is earlier */
	struct trace_quality quality;
};

static int compare_keys(const void *a, const void *b)
{
	tournament_key x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y ? -1 : x > y;
}

static int compare_pids(const void *a, const void *b)
{
	uint32_t x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y ? -1 : x > y;
}

static int count_processes(struct trace_reader *reader)
{
	AUTO_FREE uint32_t *pids = calloc(reader->lane_count + 1, sizeof *pids);
	if (!pids)
		return -ENOMEM;
	for (size_t i = 0; i < reader->lane_count; i++)
		pids[i] = reader->lanes[i].chunk->pid;
	qsort(pids, reader->lane_count, sizeof *pids, compare_pids);
	for (size_t i = 0; i < reader->lane_count; i++)
		reader->quality.processes += i == 0 || pids[i] != pids[i - 1];
	return 0;
}

/* The table of chunks, cut into lanes. */
static int make_lanes(struct trace_reader *reader)
{
	const struct chunks *chunks = &reader->source.chunks;
	for (size_t i = 0; i < chunks->count; i++)
		reader->lane_count += i == 0 || chunks->items[i].lane != chunks->items[i - 1].lane;
	reader->lanes = calloc(reader->lane_count + 1, sizeof *reader->lanes);
	reader->begins = calloc(reader->lane_count + 1, sizeof *reader->begins);
	if (!reader->lanes || !reader->begins)
		return -ENOMEM;
	size_t lane = 0;
	for (size_t i = 0, end; i < chunks->count; i = end) {
		end = i + 1;
		while (end < chunks->count && chunks->items[end].lane == chunks->items[i].lane)
			end++;
		lane_begin(&reader->lanes[lane++], &chunks->items[i], &chunks->items[end]);
	}
	for (size_t i = 0; i < reader->lane_count; i++)
		reader->begins[i] = key_of(&reader->lanes[i], i);
	qsort(reader->begins, reader->lane_count, sizeof *reader->begins, compare_keys);
	return count_processes(reader);
}

/* Headers have no checksum. */
static uint32_t possible_cores(uint32_t cores)
{
	return cores <= TRACE_CORES_MAX ? cores : 0;
}

static uint32_t possible_wake(uint32_t ns)
{
	return ns <= TRACE_WAKE_MAX_NS ? ns : 0;
}

static struct trace_others possible_others(const struct trace_header *header)
{
	uint64_t share_ns = header->cores ? header->others.cpu_ns / header->cores : UINT64_MAX;
	return share_ns <= header->others.wall_ns ? header->others : (struct trace_others){ 0 };
}

static void describe_file(struct trace_reader *reader)
{
	const struct trace_header *header = &reader->source.chunks.header;
	struct trace_quality *quality = &reader->quality;
	quality->start_ns = header->start_ns;
	quality->start_unix_ns = header->start_unix_ns;
	quality->end_ns = header->end_ns;
	quality->sources = header->sources;
	reader->is_joint = header->sources & TRACE_BY_PRELOAD && header->sources & TRACE_BY_BPF;
	quality->cores = possible_cores(header->cores);
	quality->cores_online = possible_cores(header->cores_online);
	quality->wakes = (struct trace_wakes){
		.cost_ns = possible_wake(header->wakes.cost_ns),
		.latency_ns = possible_wake(header->wakes.latency_ns),
		.doze_ns = possible_wake(header->wakes.doze_ns),
	};
	quality->others = possible_others(header);
	quality->own = header->own;
	quality->is_closed = header->state == TRACE_CLOSED;
	quality->is_ended = header->end_ns != 0;
	quality->is_full = header->is_full != 0;
}

int trace_reader_open_fd(int fd, const char *name, struct trace_reader **ret, struct err *err)
{
	AUTO_FD int owned = fd;
	AUTO(trace_reader) struct trace_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return err_set(err, -ENOMEM, "out of memory");
	struct lane_source *source = &reader->source;
	source->chunks.fd = -1;
	reader->name = strdup(name);
	if (!reader->name)
		return err_set(err, -ENOMEM, "out of memory");
	int code = chunks_open(&source->chunks, owned, reader->name, err);
	owned = -1;
	if (code == 0)
		code = packer_new(&source->packer, err);
	if (code < 0)
		return code;
	source->rows_max = chunks_rows_max(&source->chunks);
	source->scratch = malloc(pack_bound(source->rows_max));
	if (!source->scratch || make_lanes(reader) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	describe_file(reader);
	*ret = TAKE(reader);
	return 0;
}

int trace_reader_open(const char *path, struct trace_reader **ret, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	return trace_reader_open_fd(fd, path, ret, err);
}

int trace_reader_open_bytes(const void *bytes, size_t count, const char *name,
	struct trace_reader **ret, struct err *err)
{
	AUTO_FD int fd = memfd_create("corecast-trace", MFD_CLOEXEC);
	size_t done = 0;
	while (fd >= 0 && done < count) {
		ssize_t n = write(fd, (const char *)bytes + done, count - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (fd < 0 || done < count)
		return err_set(err, -errno, "cannot hold %s in memory: %s", name, strerror(errno));
	int handed = fd;
	fd = -1;
	return trace_reader_open_fd(handed, name, ret, err);
}

void trace_reader_free(struct trace_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < reader->lane_count && reader->lanes; i++)
		lane_release(&reader->lanes[i]);
	joint_release(&reader->joint);
	free(reader->lanes);
	free(reader->begins);
	tournament_release(&reader->open);
	free(reader->source.scratch);
	packer_free(reader->source.packer);
	chunks_release(&reader->source.chunks);
	free(reader->name);
	free(reader);
}

static struct lane *first_lane(const struct trace_reader *reader)
{
	return &reader->lanes[lane_of(tournament_least(&reader->open))];
}

/* Moves the first lane on and finds its new place. */
static int advance_first(struct trace_reader *reader)
{
	struct lane *lane = first_lane(reader);
	int code = lane_advance(lane, &reader->source);
	if (code < 0)
		return code;
	if (lane->stage == LANE_OVER)
		tournament_remove(&reader->open, lane->place);
	else
		tournament_set(
			&reader->open, lane->place, key_of(lane, (size_t)(lane - reader->lanes)));
	return 0;
}

/* The lanes that begin before the next event of those that are open. */
static int open_lanes(struct trace_reader *reader)
{
	while (reader->opened < reader->lane_count &&
		reader->begins[reader->opened] < tournament_least(&reader->open)) {
		size_t index = lane_of(reader->begins[reader->opened++]);
		struct lane *lane = &reader->lanes[index];
		int code = lane_advance(lane, &reader->source);
		if (code == 0 && lane->stage != LANE_OVER)
			code = tournament_add(&reader->open, key_of(lane, index), &lane->place);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Losses that belong to no lane, told once behind everything else. 1, 0 if there are none, -EBADMSG. */
static int tell_end(struct trace_reader *reader, struct event *ret, struct err *err)
{
	const struct chunks *chunks = &reader->source.chunks;
	struct trace_quality *quality = &reader->quality;
	if (reader->has_told_end)
		return 0;
	reader->has_told_end = true;
	uint64_t unplaced = chunks->header.events_lost;
	if (chunks->lost_records > reader->source.gap_records)
		unplaced += chunks->lost_records - reader->source.gap_records;
	quality->lost += unplaced;
	quality->torn_chunks = chunks->torn_chunks + reader->source.torn_chunks;
	quality->threads = reader->is_joint ? reader->joint.thread_count : reader->source.threads;
	if (!reader->has_read && quality->torn_chunks > 0)
		return err_set(
			err, -EBADMSG, "'%s' is damaged: nothing in it can be read", reader->name);
	if (quality->end_ns < reader->last_ns)
		quality->end_ns = reader->last_ns;
	*ret = (struct event){ .time_ns = reader->last_ns, .kind = EVENT_LOST, .value = unplaced };
	quality->events += unplaced > 0;
	return unplaced > 0;
}

/* The event of the first lane; 1, 0 if there is none any more, or a negative errno. */
static int next_event(struct trace_reader *reader, struct event *ret)
{
	int code = reader->is_pending ? advance_first(reader) : 0;
	reader->is_pending = false;
	if (code == 0)
		code = open_lanes(reader);
	if (code < 0 || tournament_least(&reader->open) == TOURNAMENT_NONE)
		return code;
	lane_event(first_lane(reader), ret);
	reader->is_pending = true;
	return 1;
}

static bool is_of_kernel(const struct trace_reader *reader)
{
	return lane_is_of_kernel(first_lane(reader));
}

int trace_reader_next(struct trace_reader *reader, struct event *ret, struct err *err)
{
	int code = next_event(reader, ret), passes = 1;
	while (code > 0 && reader->is_joint) {
		passes = joint_take(&reader->joint, ret, is_of_kernel(reader));
		if (passes != 0)
			break;
		code = next_event(reader, ret);
	}
	if (passes < 0)
		code = passes;
	if (code < 0)
		return err_set(err, code, "cannot read '%s': %s", reader->name, strerror(-code));
	if (code == 0)
		return tell_end(reader, ret, err);
	if (ret->time_ns < reader->last_ns)
		ret->time_ns = reader->last_ns;
	reader->last_ns = ret->time_ns;
	reader->quality.events++;
	reader->has_read |= ret->kind != EVENT_LOST;
	if (ret->kind == EVENT_LOST)
		reader->quality.lost += ret->value;
	else if (ret->kind == EVENT_LEFT_OUT)
		reader->quality.left_out += ret->value;
	else if (event_is_free_lock(ret))
		reader->quality.free_locks++;
	return 1;
}

int trace_reader_replay(struct trace_reader *reader, const struct event_sink *sink, struct err *err)
{
	struct event event;
	int code;
	while ((code = trace_reader_next(reader, &event, err)) > 0) {
		code = sink_event(sink, &event, err);
		if (code < 0)
			return err_prefix(err, code, "%s", reader->name);
	}
	if (code < 0)
		return code;
	code = sink_finish(sink, reader->quality.end_ns, err);
	return code < 0 ? err_prefix(err, code, "%s", reader->name) : 0;
}

double trace_free_share(const struct trace_quality *quality)
{
	double all = (double)quality->free_locks + (double)quality->left_out;
	return quality->left_out > 0 ? (double)quality->free_locks / all : 1;
}

const struct trace_quality *trace_reader_quality(const struct trace_reader *reader)
{
	return &reader->quality;
}
