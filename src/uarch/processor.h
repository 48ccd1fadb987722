/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A processor, as its machine file describes it: what the models need to say how long a profiled program
 * takes there. Cycles are of the core at `frequency_hz`; where a part has a clock of its own (memory), times are in ns.
 */
#ifndef UARCH_PROCESSOR_H
#define UARCH_PROCESSOR_H

#include "base/err.h"
#include "uarch/code.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PROCESSOR_LEVELS_MAX = 4, PROCESSOR_PORTS_MAX = 32, PROCESSOR_VOLTAGES_MAX = 32 };

/* Which line of a set makes room. */
enum replacement_kind {
	REPLACEMENT_LRU,
	REPLACEMENT_RANDOM,
	REPLACEMENT_KINDS,
};
extern const char *const replacement_names[REPLACEMENT_KINDS];

struct cache {
	uint64_t bytes; /* of one */
	uint32_t ways; /* 0: fully associative */
	uint32_t latency; /* cycles from issue of a load to its use, when it hits here */
	double latency_ns; /* if not 0, instead of `latency`: of a cache with a clock of its own */
	uint32_t shared_by; /* cores that share one; 1: private */
	uint32_t
		misses; /* outstanding at a time (MSHRs); 0: as many as there are loads in flight */
	double bytes_per_s; /* that one core streams from it; 0: as its latency allows */
	enum replacement_kind replacement; /* of levels that hold data; all else is as with LRU */
	uint32_t same_set; /* cycles between two lines that come into one set; 0: none of its own */
	uint32_t
		fetch_interval; /* cycles between two lines of instructions that come from it; 0: no limit of its own */
	double lifetime_ns; /* of a line that is left alone: others take its place; 0: nobody does */
};

/* Where addresses of data are translated, in pages of PROFILE_PAGE_BYTES; both levels are a core's own. */
struct tlb {
	uint32_t entries,
		ways; /* of the first level; 0 entries: translation costs nothing; 0 ways: fully associative */
	uint32_t second_entries, second_ways; /* 0 entries: there is only one */
	uint32_t second_latency; /* cycles that a hit there adds */
	double walk_ns; /* that a walk through the page tables adds */
	uint32_t walks; /* at a time; 0: no limit */
};

/*
 * Where the front end finds the targets of taken branches; one for each line of instructions is what models count with. A
 * target of the first level costs nothing beside the branch; others make the front end's next block come later.
 * A block is what the front end goes through in a cycle: up to a taken branch, and where `next_line` says so to the end of a line.
 */
struct targets {
	uint32_t entries; /* 0: all targets are at hand */
	uint32_t delay; /* cycles, of one that is not among them */
	uint32_t second_entries; /* 0: all others are there */
	uint32_t second_delay; /* cycles, of one that is in neither level */
	uint32_t
		computed_delay; /* cycles, of an indirect jump that goes elsewhere than the last time, or a return; 0: as `delay` */
	uint32_t return_delay; /* of a return; 0: as of an indirect jump */
	uint32_t next_line; /* cycles until the next line's instructions; 0: with this one's */
	uint32_t split_branch; /* cycles more, of a taken branch with bytes in two lines */
	uint32_t taken; /* branches that are followed in a cycle; 0: one */
	uint32_t
		short_block; /* micro-operations of a loop that takes its cycle only; 0: any number */
	uint32_t
		long_block; /* cycles more that a longer one takes, beside one for each 64 bytes of it */
};

/* Units that execute a class of micro-operations. */
struct unit {
	uint32_t latency; /* cycles; 0: done at renaming, takes no port */
	uint32_t interval; /* cycles between two operations of one port; 1: pipelined */
	uint32_t ports; /* bit n: port n can */
	uint32_t chained; /* `latency` to another operation of the class; 0: no other */
	uint32_t slots; /* of a cycle's width, at both ends of the pipeline; 0: one */
	uint32_t
		blocks; /* bit n: port n may be the one that starts nothing, for a cycle in which the class starts any */
};

enum predictor_kind {
	PREDICTOR_BIMODAL,
	PREDICTOR_GSHARE,
	PREDICTOR_TOURNAMENT,
	PREDICTOR_TAGE,
	PREDICTOR_PERFECT,
	PREDICTOR_KINDS,
};

enum prefetch_kind {
	PREFETCH_NONE,
	PREFETCH_STRIDE, /* a stream with a steady stride in one instruction's accesses is fetched ahead */
	PREFETCH_KINDS,
};

/* As machine files name them. */
extern const char *const predictor_names[PREDICTOR_KINDS];
extern const char *const prefetch_names[PREFETCH_KINDS];

struct power {
	double static_w; /* of one core, while the program runs */
	double dynamic_nf; /* effective switched capacity of a core that dispatches at full width, in nF: C in C V^2 f */
	double idle_fraction; /* of the dynamic power, of a core that waits; 0 to 1 */
	double uncore_w;
	double memory_nj; /* for each line from memory */
	struct {
		double hz, volts;
	} voltages[PROCESSOR_VOLTAGES_MAX]; /* ascending */
	uint32_t voltage_count; /* 0: there is no power model */
};

struct processor {
	char *name;
	char *source; /* where the figures are from */
	uint32_t cores;
	double frequency_hz;
	uint32_t dispatch_width; /* micro-operations a cycle */
	uint32_t retire_width;
	/* 1: a load and the operation on it, and a compare and the branch behind it, are one micro-operation
	 * but for the ports; 0: each is one of its own. */
	uint32_t fuses;
	uint32_t store_data; /* 1: what a general register stores comes by a port of CODE_ALU */
	uint32_t
		store_lines; /* 2: two stores go to the first level in a cycle whatever their lines; else to one line */
	uint32_t
		crossings; /* 1: a conversion from a general register takes an operation of CODE_CROSS, too */
	uint32_t
		replays; /* 1: what waits for an operation is started by when that was foreseen to be done */
	uint32_t
		binds; /* 1, 2: a micro-operation has its port from when it is dispatched; 0: when it issues */
	uint32_t
		port_queue; /* with 2: entries of the queue before each port; 0: no limit of its own */
	uint32_t in_order; /* 1: nothing issues before what is older has; 0: what is ready does */
	uint32_t rob, issue_queue, load_queue, store_queue; /* entries */
	uint32_t
		waiting_loads; /* under way whose lines are not there yet, also with data of a store's; 0: no limit but load_queue */
	/* Results in general and in vector registers that have not committed: physical registers less the architected; 0: no limit. */
	uint32_t registers, vector_registers;
	uint32_t
		memory_queue; /* entries of an issue queue that loads and stores have to themselves; 0:
				  they wait in the other's */
	uint32_t vector_queue, /* of one that operations on vector registers have; 0: as before */
		vector_backlog; /* of these, dispatched ones that wait in order for a place there */
	uint32_t
		store_forward; /* cycles from issue of a load to its use, when a store that has not left
				   its queue has the data; 0: as the first level */
	uint32_t
		store_blocked; /* cycles until a load has its data that needs bytes of such a store and
				  others, too, from when that has left; 0: as the first level */
	uint32_t
		forward_waits; /* 1: who gets a store's data waits for the line, too, unless it is renamed */
	uint32_t
		renames_memory; /* such a load takes no time if code_renaming() of both is from 1 to this */
	uint32_t front_end; /* cycles to refill it after a misprediction */
	uint32_t
		detours; /* 1: what a core does behind a misprediction counts where it fetches what the
			    right path wants (core_detours.h) */
	uint32_t
		fetch_ahead; /* instruction lines that are fetched down the predicted path before their
				 turn; 0: the front end asks for a line when it needs it */
	enum predictor_kind predictor;
	uint32_t predictor_bytes;
	struct targets targets;
	struct unit units[CODE_CLASSES]; /* of the operation itself */
	uint32_t load_ports,
		store_ports; /* masks, as unit.ports: addresses of loads, data of stores */
	uint32_t vector_load_ports,
		vector_store_ports; /* the same of vector registers; 0: as the others */
	uint32_t
		vector_load_blocks; /* of these one starts nothing in a cycle in which all vector_load_ports do; 0: all may */
	uint32_t
		compare_ports; /* of a compare that is one with its branch; 0: those of the branch */
	uint32_t vector_load; /* cycles that a load of a vector register takes longer */
	uint32_t scaled_load; /* the same of another one with CODE_SCALED */
	uint32_t locked_miss; /* of a locked operation whose line the first level has not */
	uint32_t port_count;
	struct cache instruction; /* first level */
	struct cache levels[PROCESSOR_LEVELS_MAX]; /* data: 0 is the first level */
	uint32_t level_count;
	struct tlb tlb;
	double memory_ns; /* from issue of a load to its use, beyond all caches, without load */
	double memory_spread; /* of memory_ns, what is another time each time, exponentially distributed, in the mean: 0 .. 1 */
	double memory_bytes_per_s; /* all cores; 0: not limited */
	double core_bytes_per_s; /* that one core streams from memory; 0: as its latency allows */
	double transfer_ns; /* of a line that another core has written and not given back */
	double turn_ns; /* the same where that core wants it back meanwhile; 0: transfer_ns */
	uint32_t
		stay; /* of the accesses that wait for such a line, how many are served before it goes on to who waits for it elsewhere;
			  0: all */
	double hold_ns; /* for how long such a line is kept, once it is here, from who wants it elsewhere; 0: those that wait alone are served */
	enum prefetch_kind prefetch;
	uint32_t prefetch_distance; /* lines ahead */
	/* Lines above and below one that are asked for with it where they mostly follow (core_regions.h); 0: none. */
	uint32_t region_ahead, region_behind;
	double lock_cycles; /* of a free lock's acquisition and release, atomics included */
	uint32_t overlap; /* 1: what is behind them begins before all that is older is done */
	double wake_ns; /* from letting a thread go to its running again */
	double wake_spread; /* its standard deviation, as a share */
	double wake_cost_ns; /* of that, what the thread that lets it go is busy with */
	double doze_ns; /* who waits for no longer has not slept: it goes on at once, at no cost */
	double switch_ns; /* of a hand-over from one thread to another one on the same core; 0: not counted */
	double yield_ns; /* of sched_yield() where nobody waits for the core */
	double yield_switch_ns; /* that it takes more where somebody does; 0: as switch_ns */
	double hot_ns; /* an idle core leaves who ran so recently where it waits, until a tick; 0: it takes it at once */
	uint32_t
		in_place; /* 1: a thread that is woken waits for the core that it had although another one idles */
	double part_ns; /* how long threads share a core beside an idle one, in the middle; 0: until the next tick */
	double halt_ns; /* a core that idles for longer is halted; 0: never */
	double halt_start_ns; /* after how long it is where it has just been for longer; each shorter time makes it twice as long; 0: always halt_ns */
	double halted_wake_ns,
		halted_wake_cost_ns; /* wake_ns and wake_cost_ns of a thread that such a core gets */
	double interrupt_ns; /* that a core at work loses when another one wakes a thread that takes it; 0: not counted */
	double interrupt_cost_ns; /* that the thread that woke it is busy with */
	double queued_cost_ns; /* the same where the woken thread waits for a core */
	double exec_ns; /* from a process's start to its first instruction, and its end, on top of what its libraries take; 0: not counted */
	double library_ns; /* that each of those takes to be there */
	double call_ns; /* of a system call that does nothing; 0: not counted */
	double fault_ns; /* of the first touch of a page of fresh memory, and of giving it back; 0: not counted */
	double interrupted; /* share of the time that a core at work has something else to do: interrupts, its hypervisor */
	double interruption_ns; /* how long each time; 0: spread evenly over the work */
	double sibling_busy; /* share of the time that the other hardware thread of each core has somebody else's work */
	double sibling_spell_ns; /* how long each time, in the mean; 0: short beside any program */
	struct power power;
};

/*
 * Reads a machine file. `path` names it in errors: "FILE:LINE: what, in which field". *ret is filled.
 * 0, -EINVAL (not such a file, or a figure that cannot be), -ENOMEM.
 */
int processor_parse(
	const char *path, const char *text, size_t length, struct processor *ret, struct err *err);

/* For AUTO_RELEASE(processor); { 0 } is empty. */
void processor_release(struct processor *processor);

/* Writes it as a machine file; the stream's errors are the caller's to see. */
void processor_write(const struct processor *processor, FILE *out);

/*
 * What a thread has of a core while its other hardware thread is at work, too: half of the window, of what is dispatched and of
 * each pipelined port, and of the caches and tables that are the core's own. Borrows the texts: *ret is not released.
 */
void processor_halve(const struct processor *processor, struct processor *ret);

/* From the core, of a hit in this level. */
double cache_latency_cycles(const struct cache *cache, const struct processor *processor);

#endif
