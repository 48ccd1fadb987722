/* SPDX-License-Identifier: MIT */
/*
 * What a profiler's backend (the emulator's plugin, the Valgrind tool) writes, for src/uarch/profile_import.h
 * to read: a header, then records one after the other, each with its length. Native byte order. A file that ends
 * in the middle of a record is of a run that was killed: what comes before counts. Without RAW_END it is partial.
 *
 *	raw_header | raw_record, payload (padded to 8) | raw_record, payload | ...
 *
 * Counts of a (thread, stretch) or (thread, stretch, code, ...) may come in several records: they add up, so
 * that a backend can write what it has from time to time.
 */
#ifndef PLUGIN_PROFILE_RAW_H
#define PLUGIN_PROFILE_RAW_H

#include <assert.h>
#include <stdint.h>

#define RAW_MAGIC UINT64_C(0x0077617263636363) /* "ccccraw" */

enum { RAW_VERSION = 7, RAW_MIX = 32, RAW_HISTORIES = 15 };

enum raw_kind {
	RAW_CODE = 1, /* one raw_code: the next index, from 0 */
	RAW_THREAD, /* raw_thread */
	RAW_COUNTS, /* raw_counts */
	RAW_REUSE, /* raw_reuse, several */
	RAW_MICRO, /* raw_micro, then its raw_ops */
	RAW_BRANCHES, /* raw_branches */
	RAW_QUALITY, /* raw_quality: the last one counts */
	RAW_END, /* nothing: the program came to its end */
	/* Only in a full trace; see trace_raw.h. */
	RAW_TRACE_BLOCK,
	RAW_TRACE_CHUNK,
	RAW_ASKS, /* raw_asks */
};

struct raw_header {
	uint64_t magic;
	uint32_t version, reserved;
	char backend[32];
};

struct raw_record {
	uint32_t kind; /* enum raw_kind */
	uint32_t bytes; /* of the payload, before padding */
};

/* As struct code of src/uarch/code.h. */
struct raw_code {
	uint64_t address, reads, address_reads, writes;
	uint8_t class, bytes, data_bytes, reserved;
	uint16_t flags, more_reserved;
};

/*
 * Threads are numbered by the backend, in order of their start, and never again with the same number. Of
 * several records of a thread the last one counts.
 */
struct raw_thread {
	uint32_t thread, pid, tid, reserved;
	uint64_t instructions, accesses;
};

struct raw_counts {
	uint32_t thread, reserved;
	uint64_t stretch; /* of preload/profile_page.h */
	uint64_t stretches; /* how often it was entered */
	uint64_t instructions;
	uint64_t loads, stores, fetches;
	uint64_t first_touches, first_touches_global; /* estimates */
	uint64_t system_calls, system_ns; /* kernel_time.h */
	uint64_t mix[RAW_MIX]; /* by enum code_class */
};

struct raw_reuse {
	uint64_t stretch;
	uint32_t thread;
	uint32_t code; /* UINT32_MAX: none */
	uint16_t scope, bin; /* of src/uarch/profile.h */
	uint32_t samples;
	double count;
};

struct raw_micro {
	uint64_t stretch;
	uint32_t thread, count;
	uint64_t at; /* instructions of the thread before it */
	/* Instructions of its class before it: traces are denser where a class begins, and have the weight of
	 * the distance to their neighbours. */
	uint64_t class_at;
	/* struct raw_op ops[count] */
};

struct raw_op {
	uint64_t address;
	uint32_t code, taken;
};

struct raw_branches {
	uint64_t stretch;
	uint32_t thread, history; /* index into profile_histories */
	double executions, entropy, floor_entropy, missed; /* sums over executions */
};

/* Code that asks what the processor can do (CPUID), whether or not it is counted. */
struct raw_asks {
	uint64_t address; /* of the instruction */
};

struct raw_quality {
	double reuse_rate, micro_period;
	double writers; /* other threads that have written a line that one finds written; 0: none was */
	uint64_t reuse_samples, micro_traces, lost, undecoded;
	uint64_t
		unpaced; /* instructions executed while another thread that ran was far behind (pace.h) */
};

/*
 * Bins of reuse distances: 0 to RAW_REUSE_EXACT - 1 exactly, then RAW_REUSE_PARTS for each power of 2; the
 * last is for what was never accessed before, or was written by another thread since.
 */
enum {
	RAW_REUSE_EXACT = 8,
	RAW_REUSE_FIRST_OCTAVE = 3,
	RAW_REUSE_PART_BITS = 2,
	RAW_REUSE_PARTS = 4,
	RAW_REUSE_BINS = 180,
	RAW_REUSE_INFINITE = RAW_REUSE_BINS - 1,
};

enum raw_scope { RAW_PRIVATE, RAW_GLOBAL, RAW_FETCH, RAW_PAGE }; /* enum profile_scope */

static inline unsigned raw_reuse_bin(uint64_t distance)
{
	if (distance < RAW_REUSE_EXACT)
		return (unsigned)distance;
	unsigned octave = 63 - (unsigned)__builtin_clzll(distance);
	unsigned part =
		(unsigned)(distance >> (octave - RAW_REUSE_PART_BITS)) & (RAW_REUSE_PARTS - 1);
	unsigned bin = RAW_REUSE_EXACT + (octave - RAW_REUSE_FIRST_OCTAVE) * RAW_REUSE_PARTS + part;
	return bin < RAW_REUSE_INFINITE ? bin : RAW_REUSE_INFINITE - 1;
}

/*
 * Histories under which branches are looked at: { of the branch itself, not of all; outcomes }. Short and
 * long, so that predictors with little and with much history find theirs. Then choices (foresight.h) among those
 * before them: of those up to 16 outcomes, of all, and of those up to 12; and targets of indirect
 * jumps that are no returns, by the jump's last target, and by the path to it with predictors of so many KiB (jumps.h).
 */
/* clang-format off */
#define RAW_HISTORY_TABLE { { false, 0 }, { false, 8 }, { false, 16 }, { false, 24 }, { true, 64 }, { true, 8 }, \
	{ false, 12 }, { false, 16, true }, { true, 64, true }, { false, 12, true }, { true, 1, false, true }, \
	{ false, 16, false, true, 64 }, { false, 16, false, true, 16 }, { false, 16, false, true, 4 }, \
	{ false, 16, false, true, 1 } }
/* clang-format on */
enum {
	RAW_NEAR = 1, /* 8 outcomes of all branches */
	RAW_FAR, /* 16 */
	RAW_FARTHEST, /* 24 */
	RAW_WHOLE_LOOPS,
	RAW_MIDDLE = 6, /* 12 */
	RAW_PATTERNS = 7,
	RAW_CHOICE = RAW_PATTERNS,
	RAW_FAR_CHOICE,
	RAW_NEAR_CHOICE,
	RAW_LAST_TARGET,
	RAW_PATH_TARGET, /* of the largest predictor; smaller ones follow */
	RAW_PATH_SIZES = RAW_HISTORIES - RAW_PATH_TARGET,
	RAW_OUTCOMES = RAW_LAST_TARGET
};

static_assert(sizeof(struct raw_code) == 40, "written as it is");
static_assert(sizeof(struct raw_counts) == 88 + 8 * RAW_MIX, "written as it is");
static_assert(sizeof(struct raw_reuse) == 32, "written as it is");
static_assert(sizeof(struct raw_op) == 16, "written as it is");

#endif
