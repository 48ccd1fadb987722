/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows into events. Raw rows have no checksum, so a row is taken for what it says only if it is
 * sound: its numbers exist, and its time lies between that of the row before and the row after.
 */
#include "trace/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void lane_begin(struct lane *lane, const struct chunk_place *chunk, const struct chunk_place *end)
{
	*lane = (struct lane){
		.chunk = chunk, .end = end, .tid = chunk->tid, .key_ns = chunk->first_ns
	};
}

void lane_release(struct lane *lane)
{
	free(lane->rows);
	lane->rows = NULL;
}

/* Chunks that stand between the last one and the next were full, since the lane went on. */
static void count_gap(struct lane *lane, struct lane_source *source)
{
	uint64_t records = (lane->chunk->seq - lane->seq) * chunks_rows_stored(&source->chunks);
	source->gap_records += records;
	lane->lost += records;
}

/* Loads the next chunk that can be read. 1, 0 if there is none, -EIO, -ENOMEM. */
static int load_chunk(struct lane *lane, struct lane_source *source)
{
	if (!lane->rows) {
		lane->rows = malloc(source->rows_max * sizeof *lane->rows);
		if (!lane->rows)
			return -ENOMEM;
	}
	for (; lane->chunk < lane->end; lane->chunk++) {
		const struct chunk_place *chunk = lane->chunk;
		uint64_t torn = 0;
		if (chunk->seq < lane->seq)
			continue; /* its writer was killed between copying and clearing */
		if (chunk->seq > lane->seq)
			count_gap(lane, source);
		int n = chunks_read(
			&source->chunks, chunk, source->packer, source->scratch, lane->rows, &torn);
		if (n < 0 && n != -EBADMSG)
			return n;
		lane->seq = chunk->seq + 1;
		source->torn_chunks += n < 0;
		lane->lost += n < 0 ? chunk->used / TRACE_RECORD_BYTES : torn;
		if (n <= 0)
			continue;
		lane->chunk++;
		lane->pid = chunk->pid;
		lane->row = 0;
		lane->row_count = (uint32_t)n;
		bool goes_on = lane->chunk < lane->end && lane->chunk->seq == lane->seq;
		lane->bound_ns = goes_on ? lane->chunk->first_ns : UINT64_MAX;
		return 1;
	}
	return 0;
}

static bool has_known_numbers(const struct trace_record *row)
{
	return row->kind - 1u < TRACE_KINDS - 1u && row->what < TRACE_WHATS &&
	       (row->flags & ~TRACE_FLAGS) == 0 && row->tid - 1u < TRACE_TID_MAX;
}

/* The name's text is whole and in this chunk. */
static bool has_text(const struct lane *lane, const struct trace_record *row)
{
	if (row->site >= TRACE_NAME_BYTES ||
		trace_name_rows((uint32_t)row->site) > lane->row_count - lane->row)
		return false;
	return memchr(row + 1, '\0', row->site + 1) == (const char *)(row + 1) + row->site;
}

/* How long a lock was held is bounded like everything that a row counts in ns. */
static bool has_known_value(const struct trace_record *row)
{
	return !(row->flags & TRACE_HELD) || row->value <= TRACE_SINCE_MASK;
}

static uint32_t rows_of(const struct trace_record *row)
{
	return row->kind == TRACE_NAME ? trace_name_rows((uint32_t)row->site) : 1;
}

/* Of two sound rows in the wrong order, the first one is wrong if the second one fits before it. */
static bool is_in_order(const struct lane *lane, const struct trace_record *row)
{
	uint32_t after = lane->row + rows_of(row);
	if (after >= lane->row_count)
		return row->time_ns <= lane->bound_ns;
	const struct trace_record *next = &lane->rows[after];
	return row->time_ns <= next->time_ns || next->time_ns < lane->floor_ns ||
	       !has_known_numbers(next);
}

static inline bool row_is_sound(const struct lane *lane, const struct trace_record *row)
{
	return has_known_numbers(row) && has_known_value(row) && row->time_ns >= lane->floor_ns &&
	       (row->kind != TRACE_NAME || has_text(lane, row)) && is_in_order(lane, row);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline bool holds_since(const struct trace_record *row)
{
	return row->kind == TRACE_THREAD_START ||
	       (row->kind == TRACE_PASS && row->flags & TRACE_WAITED);
}

static bool is_aside(const struct trace_record *row)
{
	const struct event event = { .kind = row->kind, .what = row->what };
	return event_is_aside(&event);
}

static void count_thread(struct lane *lane, struct lane_source *source)
{
	const struct trace_record *row = &lane->rows[lane->row];
	if (is_aside(row)) { /* of whom else the file tells, or of whom it cannot tell more */
		lane->tid = row->tid;
		return;
	}
	if (row->tid != lane->owner) {
		source->threads++;
		lane->has_woken = false;
	}
	lane->owner = row->kind == TRACE_THREAD_EXIT ? 0 : row->tid;
	lane->tid = row->tid;
}

/* Decides what is told before the row, and when. */
static void stand_before(struct lane *lane, struct lane_source *source)
{
	const struct trace_record *row = &lane->rows[lane->row];
	count_thread(lane, source);
	lane->key_ns = row->time_ns;
	lane->since_ns = holds_since(row) ? trace_since_ns(row->time_ns, row->value) : 0;
	bool is_woken = row->kind == TRACE_PASS && lane->since_ns && !lane->has_woken;
	lane->stage = lane->lost ? LANE_LOST : is_woken ? LANE_WOKEN : LANE_ROW;
	if (!lane->since_ns)
		return;
	lane->since_ns = later(lane->since_ns, lane->floor_ns);
	if (is_woken || row->kind == TRACE_THREAD_START)
		lane->key_ns = lane->since_ns;
}

/* To the next sound row, from lane->row on. */
static int find_row(struct lane *lane, struct lane_source *source)
{
	for (;;) {
		if (lane->row >= lane->row_count) {
			int code = load_chunk(lane, source);
			if (code < 0)
				return code;
			if (code == 0)
				break;
		}
		if (row_is_sound(lane, &lane->rows[lane->row])) {
			stand_before(lane, source);
			return 0;
		}
		lane->lost++;
		lane->row++;
	}
	lane->stage = lane->lost ? LANE_LOST : LANE_OVER;
	lane->key_ns = lane->floor_ns;
	lane->row = lane->row_count = 0;
	lane_release(lane);
	return 0;
}

static bool is_held(const struct trace_record *row)
{
	return row->kind == TRACE_PASS && row->flags & TRACE_HELD && !(row->flags & TRACE_WAITED);
}

/* When the thread released what the row acquired; not later than it did anything else. */
static uint64_t release_ns(const struct lane *lane)
{
	const struct trace_record *row = &lane->rows[lane->row];
	uint64_t bound_ns = lane->row + 1 < lane->row_count ? row[1].time_ns : lane->bound_ns;
	uint64_t room_ns = bound_ns > row->time_ns ? bound_ns - row->time_ns : 0;
	return row->time_ns + (row->value < room_ns ? row->value : room_ns);
}

static void leave_row(struct lane *lane)
{
	const struct trace_record *row = &lane->rows[lane->row];
	lane->floor_ns = later(lane->key_ns, row->time_ns);
	if (row->kind == TRACE_WOKEN)
		lane->has_woken = true;
	else if (row->kind == TRACE_WAIT || row->kind == TRACE_PASS)
		lane->has_woken = false;
	lane->row += rows_of(row);
}

int lane_advance(struct lane *lane, struct lane_source *source)
{
	if (lane->stage == LANE_LOST) {
		lane->lost = 0;
		if (lane->row < lane->row_count)
			stand_before(lane, source);
		else
			lane->stage = LANE_OVER;
		return 0;
	}
	if (lane->stage == LANE_WOKEN) {
		lane->stage = LANE_ROW;
		lane->key_ns = lane->rows[lane->row].time_ns;
		return 0;
	}
	if (lane->stage == LANE_ROW && is_held(&lane->rows[lane->row])) {
		lane->stage = LANE_RELEASE;
		lane->key_ns = release_ns(lane);
		return 0;
	}
	if (lane->stage == LANE_ROW || lane->stage == LANE_RELEASE)
		leave_row(lane);
	return find_row(lane, source);
}

static void row_event(const struct lane *lane, const struct trace_record *row, struct event *ret)
{
	*ret = (struct event){
		.time_ns = lane->key_ns,
		.cpu_ns = row->cpu_ns,
		.object = row->object,
		.site = row->site,
		.value = row->value,
		.pid = lane->pid,
		.tid = row->tid,
		.kind = row->kind,
		.what = row->what,
		.flags = row->flags & ~(TRACE_HELD | TRACE_KERNEL),
	};
	if (is_held(row)) {
		ret->value = 0;
	} else if (row->kind == TRACE_NAME) {
		ret->site = 0;
		ret->text = (const char *)(row + 1);
	} else if (holds_since(row)) {
		ret->value = trace_since_tid(row->value);
		if (row->kind == TRACE_PASS)
			ret->woken_ns = lane->since_ns;
	}
}

/* The thread kept its core from the PASS to here: its CPU time went on like the clock. */
static void held_event(const struct lane *lane, const struct trace_record *row, struct event *ret)
{
	row_event(lane, row, ret);
	ret->kind = EVENT_RELEASE;
	ret->site = 0;
	ret->value = 0;
	if (row->cpu_ns)
		ret->cpu_ns = row->cpu_ns + (lane->key_ns - row->time_ns);
}

bool lane_is_of_kernel(const struct lane *lane)
{
	return lane->stage != LANE_LOST && lane->rows[lane->row].flags & TRACE_KERNEL;
}

void lane_event(const struct lane *lane, struct event *ret)
{
	if (lane->stage == LANE_LOST) { /* there may be no row */
		*ret = (struct event){ .time_ns = lane->key_ns,
			.pid = lane->pid,
			.tid = lane->tid,
			.kind = EVENT_LOST,
			.value = lane->lost };
		return;
	}
	const struct trace_record *row = &lane->rows[lane->row];
	if (lane->stage == LANE_ROW)
		row_event(lane, row, ret);
	else if (lane->stage == LANE_RELEASE)
		held_event(lane, row, ret);
	else
		*ret = (struct event){ .time_ns = lane->key_ns,
			.pid = lane->pid,
			.tid = lane->tid,
			.kind = EVENT_WOKEN,
			.what = row->what,
			.object = row->object,
			.value = trace_since_tid(row->value) };
}
