/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	FLIGHTS = 256, /* lines on their way to one core, by hash: above what any core has */
	STREAMS = 256, /* instructions that the prefetcher of a core knows */
	SHARED = 4096, /* lines that go from core to core, by hash */
	WINDOWS = 4096, /* in which lines from memory are booked */
	WINDOW_CYCLES = 64,
	LINE_BYTES = 64,
	STEADY = 2, /* equal strides in a row before anything is fetched ahead */
};

/* A line on its way. */
struct flight {
	uint64_t line, ready;
	uint32_t level; /* that it comes from */
	bool is_transfer;
	bool is_readable; /* only the right to write it is on its way */
};

/* A line that one core took from another. */
struct shared {
	uint64_t line, asked, ready; /* cycles */
};

struct stream {
	uint64_t address;
	int64_t stride;
	uint32_t code, steady;
};

struct core_side {
	struct flight flights[FLIGHTS];
	struct stream streams[STREAMS];
};

struct window {
	uint64_t number; /* since the start */
	double booked; /* lines */
};

struct refmemory {
	const struct processor *processor;
	struct refcache *caches;
	struct core_side *cores;
	struct window windows[WINDOWS];
	struct shared shared[SHARED];
	uint64_t latency[PROCESSOR_LEVELS_MAX + 1]; /* cycles, by level */
	uint64_t transfer; /* cycles */
	double window_lines; /* that memory hands over in a window; 0: no limit */
	uint64_t lines;
};

static uint64_t cycles_of(const struct processor *processor, double ns)
{
	return (uint64_t)llround(ns * processor->frequency_hz * 1e-9);
}

int refmemory_new(
	const struct processor *processor, uint32_t cores, struct refmemory **ret, struct err *err)
{
	AUTO(refmemory) struct refmemory *memory = calloc(1, sizeof(*memory));
	if (!memory)
		return err_set(err, -ENOMEM, "out of memory");
	memory->cores = calloc(cores, sizeof(*memory->cores));
	if (!memory->cores)
		return err_set(err, -ENOMEM, "out of memory");
	memory->processor = processor;
	for (uint32_t level = 0; level < processor->level_count; level++) {
		const struct cache *cache = &processor->levels[level];
		memory->latency[level] = cache->latency_ns > 0
						 ? cycles_of(processor, cache->latency_ns)
						 : cache->latency;
	}
	memory->latency[processor->level_count] = cycles_of(processor, processor->memory_ns);
	memory->transfer = cycles_of(processor, processor->transfer_ns);
	memory->window_lines = processor->memory_bytes_per_s / LINE_BYTES /
			       processor->frequency_hz * WINDOW_CYCLES;
	int code = refcache_new(processor, cores, &memory->caches, err);
	if (code < 0)
		return code;
	*ret = TAKE(memory);
	return 0;
}

void refmemory_free(struct refmemory *memory)
{
	if (!memory)
		return;
	refcache_free(memory->caches);
	free(memory->cores);
	free(memory);
}

/* Of the last line that was booked into the window before: the part that reaches into this one. */
static double left_over(const struct refmemory *memory, uint64_t number)
{
	const struct window *before = &memory->windows[(number + WINDOWS - 1) % WINDOWS];
	bool is_over = before->number + 1 == number && before->booked > memory->window_lines;
	return is_over ? before->booked - memory->window_lines : 0;
}

/* The delay until memory has room for one more line, from this cycle on. */
static uint64_t book_line(struct refmemory *memory, uint64_t cycle)
{
	memory->lines++;
	if (memory->window_lines <= 0)
		return 0;
	uint64_t first = cycle / WINDOW_CYCLES;
	for (uint64_t number = first; number < first + WINDOWS; number++) {
		struct window *window = &memory->windows[number % WINDOWS];
		if (window->number > number)
			return 0; /* long past: whoever asks is far behind */
		if (window->number != number)
			*window = (struct window){ number, left_over(memory, number) };
		if (window->booked < memory->window_lines) {
			window->booked++;
			return number == first ? 0 : number * WINDOW_CYCLES - cycle;
		}
	}
	return (uint64_t)WINDOWS * WINDOW_CYCLES;
}

static struct flight *flight_slot(struct core_side *side, uint64_t line)
{
	return &side->flights[(line * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

/* True if a level that the line would have to pass has no miss to spare. */
static bool is_full(const struct refmemory *memory, const struct core_side *side, uint32_t level,
	uint64_t cycle)
{
	uint32_t outstanding[PROCESSOR_LEVELS_MAX] = { 0 };
	bool has_limit = false;
	for (uint32_t i = 0; i < level && i < memory->processor->level_count; i++)
		has_limit |= memory->processor->levels[i].misses != 0;
	if (!has_limit)
		return false;
	for (size_t i = 0; i < FLIGHTS; i++)
		if (side->flights[i].ready > cycle)
			for (uint32_t k = 0; k < side->flights[i].level && k < PROCESSOR_LEVELS_MAX;
				k++)
				outstanding[k]++;
	for (uint32_t i = 0; i < level && i < memory->processor->level_count; i++) {
		uint32_t limit = memory->processor->levels[i].misses;
		if (limit != 0 && outstanding[i] >= limit)
			return true;
	}
	return false;
}

/* A line goes on to who asks next when it has come to who asked before. */
static uint64_t transfer(struct refmemory *memory, uint64_t line, uint64_t latency, uint64_t cycle)
{
	struct shared *shared = &memory->shared[(line * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
	bool is_behind = shared->line == line && shared->asked <= cycle && shared->ready > cycle;
	uint64_t from = is_behind ? shared->ready : cycle;
	uint64_t ready = from + (memory->transfer > latency ? memory->transfer : latency);
	*shared = (struct shared){ line, cycle, ready };
	return ready;
}

static uint64_t time_of(
	struct refmemory *memory, struct refcache_found found, uint64_t line, uint64_t cycle)
{
	uint64_t latency = memory->latency[found.level];
	if (found.is_transfer || found.is_upgrade)
		return transfer(memory, line, latency, cycle);
	if (found.level == memory->processor->level_count)
		latency += book_line(memory, cycle);
	return cycle + latency;
}

static void prefetch(
	struct refmemory *memory, uint32_t core, uint32_t code, uint64_t address, uint64_t cycle)
{
	struct core_side *side = &memory->cores[core];
	struct stream *stream = &side->streams[code % STREAMS];
	if (stream->code != code) {
		*stream = (struct stream){ .address = address, .code = code };
		return;
	}
	int64_t stride = (int64_t)(address - stream->address);
	stream->steady = stride == stream->stride && stride != 0 ? stream->steady + 1 : 0;
	stream->stride = stride;
	stream->address = address;
	if (stream->steady < STEADY)
		return;
	uint64_t last = address / LINE_BYTES;
	int64_t step = stride > 0 ? 1 : -1;
	int64_t jump = llabs(stride) > LINE_BYTES ? stride : step * LINE_BYTES;
	for (uint32_t ahead = 1; ahead <= memory->processor->prefetch_distance; ahead++) {
		uint64_t next = address + (uint64_t)(jump * (int64_t)ahead);
		uint64_t line = next / LINE_BYTES;
		if (line == last)
			continue;
		last = line;
		struct flight *flight = flight_slot(side, line);
		if (flight->line == line && flight->ready > cycle)
			continue;
		struct refcache_found found = refcache_prefetch(memory->caches, core, next);
		if (found.level != 0)
			*flight = (struct flight){ line, time_of(memory, found, line, cycle), 0,
				found.is_transfer, false };
	}
}

struct refmemory_answer refmemory_access(struct refmemory *memory, uint32_t core, uint64_t address,
	enum refcache_kind kind, uint32_t code, uint64_t cycle)
{
	struct core_side *side = &memory->cores[core];
	uint64_t line = address / LINE_BYTES;
	struct flight *flight = flight_slot(side, line);
	bool is_coming = flight->line == line && flight->ready > cycle;
	if (is_coming && flight->is_readable && kind == REFCACHE_READ)
		return (struct refmemory_answer){ .ready = cycle + memory->latency[0] };
	if (is_coming && flight->is_transfer && kind != REFCACHE_FETCH)
		return (struct refmemory_answer){
			.level = flight->level, .ready = flight->ready, .is_transfer = true
		};
	if (kind != REFCACHE_FETCH && !is_coming &&
		is_full(memory, side, refcache_level(memory->caches, core, address), cycle))
		return (struct refmemory_answer){ .is_refused = true };

	uint64_t written_before = refcache_data(memory->caches, core).writes_back;
	struct refcache_found found = refcache_access(memory->caches, core, address, kind);
	for (uint64_t i = written_before; i < refcache_data(memory->caches, core).writes_back; i++)
		(void)book_line(memory, cycle); /* nobody waits for it, but it takes its room */
	bool is_asked = found.is_transfer || found.is_upgrade;
	struct refmemory_answer answer = { .level = found.level, .is_transfer = is_asked };
	if (is_coming && found.level == 0 && !is_asked) {
		answer.level = flight->level;
		answer.ready = flight->ready;
	} else {
		answer.ready = time_of(memory, found, line, cycle);
		if ((found.level != 0 || is_asked) && kind != REFCACHE_FETCH)
			*flight = (struct flight){ line, answer.ready, found.level, is_asked,
				found.is_upgrade };
	}
	if (memory->processor->prefetch == PREFETCH_STRIDE && kind == REFCACHE_READ &&
		code != REFMEMORY_NONE)
		prefetch(memory, core, code, address, cycle);
	return answer;
}

bool refmemory_has_lost(const struct refmemory *memory, uint32_t core, uint64_t address)
{
	return refcache_level(memory->caches, core, address) != 0;
}

const struct refcache *refmemory_caches(const struct refmemory *memory)
{
	return memory->caches;
}

uint64_t refmemory_lines(const struct refmemory *memory)
{
	return memory->lines;
}
