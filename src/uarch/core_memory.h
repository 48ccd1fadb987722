/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When lines that miss the first level arrive: latencies by who serves them, as many misses under way in each level
 * as it has room for, and streams that a prefetcher fetches ahead.
 *
 * A stream's line arrives when the prefetcher, `distance` lines ahead, can have it: no earlier than latency /
 * distance after the line before, which is as fast as `distance` lines under way allow; nor than the level's room
 * for misses, or what one core gets from it in a second, allow for all streams together. A slow stream gains at most one latency.
 *
 * A line that another core writes is one line: it goes from core to core, one transfer after the other, and who asks
 * for it while it comes to him has asked once.
 */
#ifndef UARCH_CORE_MEMORY_H
#define UARCH_CORE_MEMORY_H

#include "base/rng.h"
#include "uarch/core_parts.h"

#include <stdbool.h>

enum {
	CORE_FROM_MEMORY,
	CORE_FROM_CORE, /* another one */
	CORE_FROM_LEVEL, /* the last level, then those before it */
	CORE_SERVICES = CORE_FROM_LEVEL + PROCESSOR_LEVELS_MAX - 1,
	CORE_MISSES_MAX = 128, /* more room for misses counts as no limit */
	CORE_SHARED_LINES = 1024, /* written by several cores: by the hash of their name */
};

struct core_service {
	int64_t latency; /* from issue to use */
	uint32_t missed; /* levels, from the first on */
	enum core_component component;
	double stream_gap; /* cycles between two lines of a stream */
	double level_gap; /* between two prefetched lines of all streams */
	uint32_t set_gap; /* between two lines that come into one set of the first level; 0: none */
};

/* draw < odds[s] for the first such s: service s; for none: the first level has it. */
struct core_thresholds {
	float first[CORE_SERVICES], later[CORE_SERVICES];
	float written; /* how often others write the line from one access to the next; 0: never */
	float passed; /* to how many other cores it goes, one after the other, before it comes back */
};

struct core_line {
	int64_t fill, latency;
	int64_t asked; /* if others write it: before, it was here */
	int64_t owned; /* when no other core had it any more */
	int64_t touched; /* when the trace's first access to it started */
	enum core_component component;
	bool is_copy; /* another core has it, too */
};

/* A line that other cores write: when it was asked for the last time, and came. */
struct core_shared {
	int64_t asked, fill;
	uint16_t name; /* its hash */
	float passed; /* they have taken it, and nothing here has asked for it since: as in core_thresholds; 0: not */
	uint32_t served; /* of what waited for it, since it came */
	bool is_wanted; /* they asked for it while it came: then it is gone as soon as it was here */
	int64_t seen; /* the last access by an instruction that finds it gone at times */
	double interval; /* between two of those, of late */
	float written; /* by others in one interval: as in core_thresholds */
};

/* Of a page's translation, [0] by a walk, [1] by the TLB's second level. */
enum { CORE_WALK, CORE_SECOND_TLB, CORE_TRANSLATIONS };
struct core_page_thresholds {
	float first[CORE_TRANSLATIONS], later[CORE_TRANSLATIONS];
};

struct core_page {
	int64_t ready, latency;
};

/* Asked for and not loaded: more than any level has room for misses. */
enum { CORE_PREFETCHES = 64 };

struct core_memory {
	const struct processor *processor;
	struct core_service services[CORE_SERVICES];
	uint32_t service_count;
	int64_t hit_latency;
	int64_t hold; /* cycles that a line is kept from others who want it */
	double turn; /* cycles from one of these to the next */
	uint32_t room[PROCESSOR_LEVELS_MAX]; /* 0: no limit */
	int64_t busy_until[PROCESSOR_LEVELS_MAX][CORE_MISSES_MAX];
	int64_t waiting[CORE_MISSES_MAX]; /* loads, until their lines are there */
	uint32_t waiting_room; /* 0: no limit */
	double level_fill[CORE_SERVICES];
	int64_t set_fill[CORE_SETS]; /* when the last line came into a set of the first level */
	uint8_t set_mask; /* of its sets */
	struct core_thresholds *thresholds; /* by slot */
	double *stream_fill; /* by slot */
	size_t slot_capacity, stream_capacity;
	struct core_shared shared[CORE_SHARED_LINES]; /* by the hash of their name */
	struct core_line *lines; /* of the trace */
	size_t line_capacity;
	struct core_page_thresholds *page_thresholds; /* by slot */
	struct core_page *pages; /* of the trace */
	size_t page_slot_capacity, page_capacity;
	const struct core_access *translated; /* the last one: a load and a store share theirs */
	int64_t walk_latency[CORE_TRANSLATIONS];
	int64_t walkers[CORE_MISSES_MAX]; /* busy until */
	uint32_t walks;
	double lines_fetched, fetch_cycles,
		busy_cycles; /* from memory; the last two without prefetches */
	int64_t memory_until;
	struct rng spread; /* of the latencies of lines from memory */
	int64_t drawn; /* latency of the last line that was fetched */
	int64_t prefetches[CORE_PREFETCHES]; /* when each asked; of the last ones, a ring */
	uint64_t prefetched, prefetches_used; /* used: found by loads, or forgotten */
};

void core_memory_init(struct core_memory *memory, const struct processor *processor);
void core_memory_release(struct core_memory *memory);

/* Before a class is played; memory_cycles: 0 if the processor's. 0 or -ENOMEM. */
int core_memory_start(struct core_memory *memory, const struct core_program *program,
	const struct core_class *class, const struct core_input *input);

/* Before a trace of it is played. */
void core_memory_start_trace(struct core_memory *memory, const struct core_trace *trace);

/*
 * Whether a line that others write, asked for at `start`, is likely to be gone again at `turn`: they wrote it so many times
 * since it came the last time.
 */
bool core_memory_is_taken(
	struct core_memory *memory, const struct core_access *access, int64_t start, int64_t turn);
/* When an access whose address is known at `start` may start; *ret_component: CORE_TLB if it waits for that. */
int64_t core_memory_translate(struct core_memory *memory, const struct core_access *access,
	int64_t start, enum core_component *ret_component);

/*
 * A prefetch instruction, whose line is not known. Programs that have them ask for what they miss, in the order in which they load it:
 * each is for the next load that misses and has none. For what the processor expects by itself they change nothing.
 */
void core_memory_prefetch(struct core_memory *memory, int64_t at);
/* When a load at `at` has asked for its line: then, or before. */
int64_t core_memory_asked(struct core_memory *memory, const struct core_access *access, int64_t at);

/*
 * A load gets its data from a store that has not left: if others have the line, the next access has to ask for it. When it starts: it waits for
 * its line, too, and may first have to wait until another load does not any more.
 */
int64_t core_memory_skip(
	struct core_memory *memory, const struct core_access *access, int64_t start);

/*
 * When an access that starts at `start` has its line, for a store alone: other cores' copies are gone. *ret_component: who it waits for,
 * CORE_BASE on a hit.
 */
int64_t core_memory_access(struct core_memory *memory, const struct core_access *access,
	bool for_store, int64_t start, enum core_component *ret_component);

#endif
