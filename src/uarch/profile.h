/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A machine-independent profile of one run of a multithreaded program, in memory.
 *
 * After De Pestel, Van den Steen, Akram, Eeckhout, "RPPM", ISPASS 2019, section III-A: what each thread
 * executes between synchronisation events (a stretch, the paper's epoch), in numbers that no processor
 * has an influence on, and the events themselves. Stretches of one thread that begin with the same kind of
 * event at the same call site are a class; a class has the statistics, the timeline the length of each stretch
 * in instructions (as its CPU time: one instruction is one ns).
 *
 *	timeline (a trace)      thread 1:  ---[class 3, 1200]--lock--[class 4, 80]--unlock--[class 5, 900]--
 *	classes                 3: mix, branches, memory, micro-traces    4: ...
 *
 * Memory: bounded by the code executed and the number of classes, not by the length of the run; micro-traces
 * are a sample of bounded size of each class. The timeline is as long as the run has events.
 */
#ifndef UARCH_PROFILE_H
#define UARCH_PROFILE_H

#include "base/err.h"
#include "uarch/code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROFILE_VERSION = 4,
	/* That is read: it has one predictor of jumps by their path, and neither it nor 3 a history of 12. */
	PROFILE_VERSION_OLDEST = 2,
	PROFILE_LINE_BYTES = 64, /* of the cache lines in which reuse is counted */
	PROFILE_PAGE_BYTES = 4096, /* of the pages, likewise */
	PROFILE_HISTORIES = 15, /* kinds of branch history: see profile_history */
	PROFILE_OUTCOMES = 10, /* of these, of conditional branches */
	PROFILE_NO_CODE = UINT32_MAX,
	/* Of all micro-traces, and of one: a file may not make its reader ask for more. */
	PROFILE_OPS_MAX = 1 << 26,
	PROFILE_TRACE_OPS_MAX = 1 << 16,
};

/*
 * Reuse distances (accesses since the last one to the same line) in logarithmic bins: 0 to 7 exactly, then
 * four bins for each power of 2; the last bin is an infinite distance: a first touch, or a line that another
 * thread has written since.
 */
enum { REUSE_EXACT = 8, REUSE_BINS = 180, REUSE_INFINITE = REUSE_BINS - 1 };

/* The bin of a distance, and the least distance in a bin (REUSE_INFINITE: UINT64_MAX). */
unsigned reuse_bin(uint64_t distance);
uint64_t reuse_bin_least(unsigned bin);

enum profile_scope {
	/* Distance in the thread's own accesses; infinite if another thread wrote the line in between. */
	PROFILE_PRIVATE,
	/* Distance in the accesses of all threads, since the last access by any of them. */
	PROFILE_GLOBAL,
	/* Instruction lines, in the thread's own fetches of lines. */
	PROFILE_FETCH,
	/* Of pages, in the thread's own accesses, since its last access to the same page. */
	PROFILE_PAGE,
	PROFILE_SCOPES,
};

/* How often accesses by one instruction, in one class, had a distance: an estimate from samples. */
struct profile_reuse {
	uint32_t class; /* index */
	uint32_t code; /* index; PROFILE_NO_CODE in scope PROFILE_FETCH */
	uint16_t scope; /* enum profile_scope */
	uint16_t bin;
	uint32_t samples; /* that the estimate rests on */
	double count; /* accesses */
};

/*
 * Outcomes of conditional branches, given a history: their linear entropy (De Pestel et al., ISPASS 2015), and what
 * counters miss that never run out of room (plugin/foresight.h).
 */
struct profile_history {
	bool is_local; /* of the same branch; else of all branches of the thread */
	uint8_t bits; /* outcomes */
	bool is_choice; /* for each branch of the best history before this one, up to these bits: only misses */
	bool is_jump; /* targets of indirect jumps but returns, by the last target or the path: only misses */
	uint8_t kib; /* by the path, with a predictor so large; 0: without limit */
};
extern const struct profile_history profile_histories[PROFILE_HISTORIES];

struct profile_branches {
	double executions; /* of those that the entropy was taken of */
	double entropy; /* mean of 2 min(p, 1 - p), weighted by executions: 0 to 1 */
	double floor_entropy; /* the same, less what few visits of a pattern add by chance */
	double missed; /* executions that two-bit counters would miss, one for each branch and pattern: 0 to 1 */
};

struct profile_class {
	uint32_t thread; /* index */
	uint64_t stretch; /* profile_stretch() of the event that begins it */
	uint64_t site; /* its call site; 0 if unknown */
	uint8_t kind, what; /* its kind: enum event_kind, enum event_what */
	uint64_t stretches; /* how many there were */
	uint64_t instructions;
	uint64_t mix[CODE_CLASSES]; /* instructions by class: sums to `instructions` */
	uint64_t loads, stores; /* accesses to data memory */
	uint64_t first_touches,
		first_touches_global; /* of lines, by this thread; by any: estimates */
	/* In which the thread did not sleep, and the CPU time that they took while it was profiled. */
	uint64_t system_calls, system_ns;
	uint64_t fetches; /* of instruction lines: a change from one line to another */
	struct profile_branches branches[PROFILE_HISTORIES];
};

/* One executed instruction of a micro-trace. */
struct micro_op {
	uint64_t address; /* of its memory operand; 0: none */
	uint32_t code; /* index */
	uint32_t taken; /* 1: a branch or jump that was taken */
};

/* Instructions that a thread executed one after the other. */
struct micro_trace {
	uint32_t class;
	uint32_t count; /* 1,000 unless the stretch ended; may go on into the thread's next class */
	const struct micro_op *ops;
	double weight; /* instructions of its class that it stands for */
};

struct profile_thread {
	uint32_t pid, tid;
	char name[32];
	uint64_t instructions, accesses;
	/*
	 * 0: it has classes of its own. Else 1 + the index of the thread into whose classes it is counted: of
	 * thousands of threads those that do the same things are one in all but their timeline.
	 */
	uint32_t counted_with;
};

/* How good the profile is. */
struct profile_quality {
	bool is_partial; /* the program or the profiler was killed */
	bool has_timeline;
	char backend[32]; /* "qemu", "valgrind" */
	double reuse_rate; /* accesses for each one sampled */
	double micro_period; /* instructions for each micro-trace */
	double writers; /* other threads that have written a line since, of accesses that find it so; 0: not known */
	uint64_t reuse_samples, micro_traces; /* taken */
	uint64_t lost; /* samples and events that were dropped */
	uint64_t unmatched; /* stretches of the timeline without a class */
	uint64_t undecoded; /* instructions that are CODE_OTHER because they were not understood */
	uint64_t
		unpaced; /* instructions executed while another thread that ran was far behind: it had no core */
	double native_s, profiled_s; /* wall time; native_s: 0 if it was not run plainly */
	/*
	 * Of the files whose code asks what the processor can do (CPUID), and may choose other code on one that can do more
	 * than the emulator's: the one that executes most, and its share of all instructions. "": none.
	 */
	char asking[64];
	double asking_share;
};

/* What is at an address of a process: a function's code, or an object that threads meet at. For people only. */
struct profile_name {
	uint64_t address;
	uint32_t pid, line; /* of `file`; 0: not known */
	char *name, *file; /* NULL: not known */
};

struct profile {
	char *command;
	struct profile_quality quality;
	struct profile_thread *threads;
	size_t thread_count;
	struct profile_class *classes; /* by thread, then stretch */
	size_t class_count;
	struct code *codes;
	size_t code_count;
	struct profile_reuse *reuse; /* by class, code, scope, bin */
	size_t reuse_count;
	struct micro_trace *micro; /* by class */
	size_t micro_count;
	struct micro_op *micro_ops; /* what the micro-traces point into */
	size_t micro_op_count;
	void *timeline; /* bytes of a trace file (src/trace), cpu times in instructions */
	size_t timeline_bytes;
	struct profile_name *names; /* written, not read again */
	size_t name_count;
	uint64_t *
		asks; /* addresses of CPUID instructions, for who names their files; neither written nor read */
	size_t ask_count;
};

/* Frees what it holds; { 0 } is empty. For AUTO_RELEASE(profile). */
void profile_release(struct profile *profile);

/* Index of the class, which may be another thread's (`counted_with`), or -ENOENT. */
ptrdiff_t profile_find_class(const struct profile *profile, uint32_t thread, uint64_t stretch);

#endif
