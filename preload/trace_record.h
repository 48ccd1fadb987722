/* SPDX-License-Identifier: MIT */
/*
 * The trace file (.cct): what happened in every thread of a run, in records of one width. It is
 * written through memory maps by the observed processes themselves, so what was recorded survives
 * the death of any of them and of the recorder. Native byte order.
 *
 * Raw file: as recorded, or as a killed run left it.
 *
 *	0        TRACE_HEADER_BYTES       + chunk_bytes
 *	+--------+------------------------+------------------------+------------------------+- -
 *	| header | chunk 0                | chunk 1                | chunk 2                |
 *	+--------+------------------------+------------------------+------------------------+- -
 *
 * Chunk: a head, then rows of TRACE_RECORD_BYTES, zero behind the last one. A name's text takes
 * the rows behind its record (terminated, padded with zeroes), in the same chunk.
 *
 *	0           64       112      160                      64 + used      chunk_bytes
 *	+-----------+--------+--------+--------+- - - -+--------+--------------+
 *	| head      | record | record | name   | text  | record | zeroes       |
 *	+-----------+--------+--------+--------+- - - -+--------+--------------+
 *
 * Lane: the chunks of one process with the same lane number, in order of seq. One thread at a time
 * writes it; when that thread exits, the next new thread of the process takes the lane over, chunk
 * and all, so that a million short threads need no million chunks. Times never fall along a lane.
 *
 *	lane 7    chunk 4 (seq 0)                     chunk 9 (seq 1)
 *	          A A A A exit | B B B B B B B B B ->  B B B exit | C C C ...
 *
 *	         new thread, none free           thread starts recording
 *	(none) ------------------------> OWNED <------------------------- FREE (in a list of the
 *	         lanes_taken += 1              \--------- exits -------->       process, not here)
 *
 * Chunk:
 *	          chunks_taken += 1,           head filled,
 *	          space is there               magic stored            used += row, row by row
 *	UNUSED ----------------------> TAKEN ----------------> OPEN ------------------------> full
 *	                               magic 0 <------------------------------------------------+
 *	                                  copied to a place of its own (rows, then head);       |
 *	                                  then magic = 0, rows cleared, seq + 1                 v
 *	                                                                                 left as it is
 *
 * So of two chunks of a lane with the same seq, which only a kill leaves, one is enough.
 *
 * File:
 *	           chunks_max or the disk reached: is_full = 1,
 *	           events_lost counts what could not be recorded
 *	RECORDING -----------------------------------------------> RECORDING, full
 *	    |        run is over: end_ns                                |
 *	    +------------------------------> ENDED <--------------------+
 *	                                       | corecast writes a new file, renames it over this one
 *	                                       v
 *	                                     CLOSED
 *
 * Closed file: the header (state TRACE_CLOSED), then chunks one behind the other, each a head whose
 * `stored` is not 0 and that many bytes: the rows, packed (docs/formats/trace.md), padded to 8.
 *
 * Who shares what, and in which order:
 *	chunks_taken, lanes_taken,	fetch_add, relaxed: only the number matters
 *	processes, events_lost
 *	is_full				store, relaxed: a hint that saves work
 *	chunk.magic			store, release, when the rest of the head is there
 *	chunk.used			store, release, when the row is there; its thread only writes
 *	words of a TRACE_AGAIN row	store, release, each; its thread only writes
 *	everything else			written by one, before others can see it
 *
 * Before a chunk is written to, its space must have been allocated (fallocate(), which also makes
 * the file longer), because a store into a hole of a full disk kills the process. Failure of that
 * ends the recording, never the program. Numbers at and above chunks_max are not in the file.
 */
#ifndef PRELOAD_TRACE_RECORD_H
#define PRELOAD_TRACE_RECORD_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define TRACE_PATH_VARIABLE "CORECAST_TRACE"
#define TRACE_MAGIC 0x3145434152544343ull /* "CCTRACE1" */
#define TRACE_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */

enum {
	TRACE_VERSION =
		7, /* 6: without trace_taken(); 5: nor TRACE_SPINS; 4: nor TRACE_BOTH; 3: nor TRACE_CALLER; 2: nor TRACE_LEFT_OUT; 1: nor TRACE_AGAIN */
	TRACE_HEADER_BYTES = 4096, /* a page: chunks stay aligned to pages in memory maps */
	TRACE_HEAD_BYTES = 64,
	TRACE_RECORD_BYTES = 48,
	TRACE_CHUNK_BYTES = 65536, /* what recorders use; readers accept the range below */
	TRACE_CHUNK_BYTES_MIN = 8192,
	TRACE_CHUNK_BYTES_MAX = 1 << 20, /* powers of 2 */
	TRACE_NAME_BYTES = 4096, /* longest text, with its terminator; longer ones are cut */
	TRACE_TID_MAX = 1 << 22, /* Linux's own limit (PID_MAX_LIMIT) */
	TRACE_CORES_MAX = 1 << 16, /* above Linux's (NR_CPUS) */
	TRACE_WAKE_MAX_NS = 100000000,
};

/* The numbers of event.h, which they equal; never reused, only added to. */
enum trace_kind {
	TRACE_NONE,
	TRACE_THREAD_START, /* value: trace_since(creation, parent) */
	TRACE_THREAD_EXIT,
	TRACE_WAIT,
	TRACE_WOKEN, /* only from recorders that see wake-ups; others say it in TRACE_PASS */
	TRACE_PASS, /* with TRACE_WAITED, value: trace_since(woken, waker) */
	TRACE_RELEASE,
	TRACE_TRY_FAILED,
	TRACE_REGION_BEGIN,
	TRACE_REGION_END,
	TRACE_REQUEST_BEGIN,
	TRACE_REQUEST_END,
	TRACE_TICK,
	TRACE_RUN,
	TRACE_PREEMPT,
	TRACE_SAMPLE,
	TRACE_NAME, /* site: bytes of the text without its terminator; the text follows */
	TRACE_LOST, /* value: events that this thread could not record */
	TRACE_DISK_QUEUE,
	TRACE_DISK_START,
	TRACE_DISK_END,
	TRACE_INIT, /* an object was initialised */
	TRACE_FRAME, /* of the thread's stack, from `object` to `value`: locks in it have names */
	TRACE_LEFT_OUT, /* value: free mutexes taken and not recorded; object: how many follow that are */
	TRACE_CALLER, /* of who waits for `object`: the call `site`, with `value` calls inside it */
	TRACE_KINDS,
	TRACE_AGAIN = 255, /* raw files only: no event itself, see trace_again() */
};

enum trace_what {
	TRACE_WHAT_NONE,
	TRACE_MUTEX,
	TRACE_RWLOCK,
	TRACE_SPIN,
	TRACE_COND,
	TRACE_BARRIER,
	TRACE_SEM,
	TRACE_JOIN,
	TRACE_SLEEP,
	TRACE_IO,
	TRACE_QUEUE,
	TRACE_DISK,
	TRACE_FUTEX,
	TRACE_OTHER,
	TRACE_THREAD,
	TRACE_REGION,
	TRACE_MODULE,
	TRACE_PROGRAM,
	TRACE_STACK,
	TRACE_WHATS,
};

/* What a wait for TRACE_IO is for: its value. As enum event_io. */
enum trace_io {
	TRACE_IO_UNKNOWN,
	TRACE_IO_FILE,
	TRACE_IO_SOCKET,
	TRACE_IO_PIPE,
	TRACE_IO_ACCEPT,
	TRACE_IO_POLL,
	TRACE_IO_CHILD,
	TRACE_IO_SIGNAL,
	TRACE_IO_OTHER,
};

enum trace_flags {
	TRACE_WAITED = 1,
	TRACE_SHARED = 2,
	TRACE_IMPLICIT = 4,
	TRACE_ALL = 8,
	TRACE_TIMED_OUT = 16,
	TRACE_BEFORE = 32,
	TRACE_HELD = 64, /* PASS that did not wait, and a RELEASE `value` ns later: one record */
	TRACE_KERNEL = 128, /* told by the kernel beside another recorder: readers join the two */
	TRACE_WRITE = 256,
	TRACE_METADATA = 512,
	TRACE_AHEAD = 1024,
	TRACE_FLUSH = 2048,
	TRACE_ORDERED = 4096,
	TRACE_BOTH =
		8192, /* raw files only: a WAIT with its PASS, see trace_both(), or a PASS with its RELEASE, see trace_taken() */
	TRACE_SPINS = 16384,
	TRACE_TRIED = 32768,
	TRACE_FLAGS = 8191 | TRACE_SPINS | TRACE_TRIED, /* all of them but TRACE_BOTH */
};

enum trace_state {
	TRACE_RECORDING,
	TRACE_ENDED,
	TRACE_CLOSED,
};

enum trace_source {
	TRACE_BY_PRELOAD = 1,
	TRACE_BY_BPF = 2,
	TRACE_BY_SIMULATOR = 4,
	TRACE_BY_IMPORT = 8,
};

/* What it takes to wake a thread that sleeps, on another, idle core, ns; 0: unknown. At most TRACE_WAKE_MAX_NS. */
struct trace_wakes {
	uint32_t cost_ns; /* CPU time of the waker */
	uint32_t latency_ns; /* until the woken thread runs */
	uint32_t doze_ns; /* until a thread that waits sleeps: who is woken before has not slept */
};

/* What other programs (and a hypervisor) took of the recorded program's cores while it was recorded; at most cores * wall_ns. */
struct trace_others {
	uint64_t cpu_ns;
	uint64_t wall_ns; /* how long that was watched; 0: it was not */
};

/* What recording took of the threads' CPU time, by samples of it; 0: unknown. */
struct trace_own {
	uint64_t locks_ns; /* taking and giving back without waiting */
	uint64_t rest_ns; /* also of calls that nothing is told of, as they did not wait */
};

struct trace_header {
	uint64_t magic; /* TRACE_MAGIC */
	uint32_t version; /* TRACE_VERSION */
	uint32_t header_bytes; /* TRACE_HEADER_BYTES */
	uint32_t record_bytes; /* TRACE_RECORD_BYTES */
	uint32_t chunk_bytes; /* of every chunk of the raw file, head included */
	uint32_t chunks_max; /* the size limit */
	uint32_t state; /* enum trace_state */
	uint32_t sources; /* enum trace_source, several together */
	uint32_t is_full;
	uint64_t start_ns; /* CLOCK_MONOTONIC at creation; no record is earlier; 0: unknown */
	uint64_t start_unix_ns; /* CLOCK_REALTIME then; 0: unknown */
	uint64_t end_ns; /* when recording ended; 0: unknown (killed) */
	/*
	 * How recorders that read the processor's counter turn it into ns: base_ns + ((ticks -
	 * base_ticks) * mult >> shift), the same in all processes; mult 0: by clock_gettime().
	 * Records hold ns either way.
	 */
	uint64_t clock_base_ticks, clock_base_ns;
	uint32_t clock_mult, clock_shift;
	uint64_t lost_records; /* closed files: in chunks of the raw one that could not be read */
	uint64_t torn_chunks; /* closed files: how many those were */
	/* What the recorded program could use (affinity, cpuset, quota), and the machine had; 0: unknown. */
	uint32_t cores, cores_online;
	/*
	 * Of a thread's CPU time, in millionths, that recording it may take: then free mutexes are
	 * recorded in bursts (of threads that mostly wait: when all of these together take more than
	 * a fifth of that of the cores' time). 0: everything is, unless gap_pairs is not 0.
	 */
	uint32_t budget_ppm;
	uint32_t burst_pairs,
		gap_pairs; /* recorded, then left out, whatever they cost; 0: by budget */
	uint32_t
		shows_sleep; /* by the first process: 1: the kernel shows rseq that a thread slept; 2: not */
	/* From here on shared by the processes of the run: a cache line of its own. */
	uint32_t chunks_taken; /* may run past chunks_max */
	uint32_t lanes_taken;
	uint32_t processes; /* that recorded: each fork and each exec counts */
	uint32_t tells_files; /* 1: calls on files are recorded though they did not block */
	uint64_t events_lost; /* not recorded, of all threads; less those that TRACE_LOST tells */
	struct trace_wakes wakes; /* of the machine, when recording began */
	uint32_t reserved4;
	struct trace_others others;
	uint64_t
		drawn_ns; /* time taken by recording threads that mostly wait, beyond their budget */
	struct trace_own own;
	uint8_t padding[TRACE_HEADER_BYTES - 208];
};

struct trace_chunk {
	uint32_t magic; /* TRACE_CHUNK_MAGIC */
	uint32_t number; /* its place in the raw file */
	uint32_t lane;
	uint32_t seq; /* in the lane, from 0 */
	uint32_t pid; /* of all its records */
	uint32_t tid; /* of the first */
	uint32_t used; /* bytes of rows */
	uint32_t stored; /* bytes in a closed file; 0: raw */
	uint64_t first_ns; /* not later than any of its records; a thread's creation counts */
	uint64_t check; /* trace_chunk_check() */
	uint64_t reserved[2];
};

struct trace_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns; /* the thread's own CPU time so far; 0: unknown */
	uint64_t object;
	uint64_t site;
	uint64_t value;
	uint32_t tid; /* 1 to TRACE_TID_MAX */
	uint8_t kind; /* enum trace_kind */
	uint8_t what; /* enum trace_what */
	uint16_t flags; /* enum trace_flags */
};

static_assert(sizeof(struct trace_header) == TRACE_HEADER_BYTES, "layout of the file");
static_assert(__builtin_offsetof(struct trace_header, chunks_taken) == 128, "layout of the file");
static_assert(sizeof(struct trace_chunk) == TRACE_HEAD_BYTES, "layout of the file");
static_assert(sizeof(struct trace_record) == TRACE_RECORD_BYTES, "layout of the file");
static_assert(__builtin_offsetof(struct trace_record, tid) == 40, "layout of the file");

static inline uint64_t trace_chunk_mix(uint64_t check, uint64_t word)
{
	check = (check ^ word) * 0x9e3779b97f4a7c15ull;
	return check ^ check >> 29;
}

/* Of all that does not change while the chunk fills; in a closed file, of everything. */
static inline uint64_t trace_chunk_check(const struct trace_chunk *chunk)
{
	uint64_t check = trace_chunk_mix(chunk->magic, chunk->number);
	check = trace_chunk_mix(check, (uint64_t)chunk->lane << 32 | chunk->seq);
	check = trace_chunk_mix(check, (uint64_t)chunk->pid << 32 | chunk->tid);
	check = trace_chunk_mix(check, chunk->first_ns);
	if (chunk->stored)
		check = trace_chunk_mix(check, (uint64_t)chunk->used << 32 | chunk->stored);
	return check;
}

/*
 * Of a TRACE_QUEUE's object: an eventfd; the rest is its descriptor. What one end of socketpair() reads: the rest is the first
 * one's inode, twice, and 1 for the second one. Else the inode of a pipe.
 */
#define TRACE_EVENTFD (1ull << 48)
#define TRACE_PAIR (1ull << 49)

/*
 * "Runnable since then, thanks to that thread", in one word:
 *
 *	63          42 41                                          0
 *	+-------------+---------------------------------------------+
 *	| tid, or 0   | 0: unknown; else 1 + time_ns - since_ns     |
 *	+-------------+---------------------------------------------+
 *
 * 42 bits are 73 minutes; what is longer is kept as that.
 */
#define TRACE_SINCE_BITS 42
#define TRACE_SINCE_MASK ((1ull << TRACE_SINCE_BITS) - 1)

/* since_ns: 0 if unknown, at most time_ns, the record's own time. */
static inline uint64_t trace_since(uint64_t time_ns, uint64_t since_ns, uint32_t tid)
{
	uint64_t ago = 0;
	if (since_ns)
		ago = 1 + (since_ns < time_ns ? time_ns - since_ns : 0);
	if (ago > TRACE_SINCE_MASK)
		ago = TRACE_SINCE_MASK;
	return (uint64_t)(tid < TRACE_TID_MAX ? tid : 0) << TRACE_SINCE_BITS | ago;
}

/* The instant in a word made by trace_since(); 0: unknown. */
static inline uint64_t trace_since_ns(uint64_t time_ns, uint64_t value)
{
	uint64_t ago = value & TRACE_SINCE_MASK;
	return ago ? time_ns - (ago - 1 < time_ns ? ago - 1 : time_ns) : 0;
}

static inline uint32_t trace_since_tid(uint64_t value)
{
	return (uint32_t)(value >> TRACE_SINCE_BITS);
}

/*
 * What a thread does again and again takes a word each time. A row of kind TRACE_AGAIN, with its
 * tid, has up to TRACE_AGAINS of them in place of its first words; the first 0 ends them:
 *
 *	63       53 52           27 26            0
 *	+----------+---------------+---------------+	the PASS or RELEASE of the row with that number
 *	| 1 + row  | 0, or 1 +     | after_ns      |	in the chunk, once more, so many ns after the
 *	|          | held_ns       |               |	event before ended; flag TRACE_HELD aside, which
 *	+----------+---------------+---------------+	held_ns replaces
 *
 * The thread kept its core since the event before: its CPU time went on like the clock.
 */
#define TRACE_AGAIN_AFTER_BITS 27
#define TRACE_AGAIN_ROW_SHIFT 53
enum {
	TRACE_AGAINS = 5,
	TRACE_AGAIN_CHUNK_BYTES = 1 << 17, /* only chunks up to this size have such rows */
	TRACE_AGAIN_AFTER_MAX = (1 << TRACE_AGAIN_AFTER_BITS) - 1,
	TRACE_AGAIN_HELD_MAX = (1 << (TRACE_AGAIN_ROW_SHIFT - TRACE_AGAIN_AFTER_BITS)) - 2,
	TRACE_AGAIN_ROWS_MAX = (1 << (64 - TRACE_AGAIN_ROW_SHIFT)) - 1,
};

struct trace_again_record {
	uint64_t words[TRACE_AGAINS];
	uint32_t tid;
	uint8_t kind; /* TRACE_AGAIN */
	uint8_t what;
	uint16_t flags;
};

static_assert(sizeof(struct trace_again_record) == TRACE_RECORD_BYTES, "layout of the file");
static_assert(__builtin_offsetof(struct trace_again_record, tid) == 40, "layout of the file");
static_assert((TRACE_CHUNK_BYTES - TRACE_HEAD_BYTES) / TRACE_RECORD_BYTES <= TRACE_AGAIN_ROWS_MAX,
	"numbers of rows");

static inline uint64_t trace_again(uint32_t row, uint64_t after_ns)
{
	return (uint64_t)(row + 1) << TRACE_AGAIN_ROW_SHIFT | after_ns;
}

static inline uint64_t trace_again_held(uint64_t word, uint64_t held_ns)
{
	return word | (held_ns + 1) << TRACE_AGAIN_AFTER_BITS;
}

/*
 * A wait for input or output that is over takes no second row if nothing else is known of its end. Its WAIT gets the flag
 * TRACE_BOTH, and in its value the times from there to the PASS:
 *
 *	63             32 31              8 7           0
 *	+----------------+-----------------+-------------+
 *	| took_ns        | CPU time in ns  | what it was |
 *	+----------------+-----------------+-------------+
 */
#define TRACE_BOTH_CPU_SHIFT 8
#define TRACE_BOTH_TOOK_SHIFT 32
enum {
	TRACE_BOTH_VALUE_MAX = (1 << TRACE_BOTH_CPU_SHIFT) - 1,
	TRACE_BOTH_CPU_MAX = (1 << (TRACE_BOTH_TOOK_SHIFT - TRACE_BOTH_CPU_SHIFT)) - 1,
};

static inline uint64_t trace_both(uint64_t value, uint64_t took_ns, uint64_t cpu_ns)
{
	return value | cpu_ns << TRACE_BOTH_CPU_SHIFT | took_ns << TRACE_BOTH_TOOK_SHIFT;
}

/*
 * A lock that did not have to be waited for, and was given back before its thread did anything else, takes one row where CPU times
 * are not ns (in a profile). Its PASS gets the flag TRACE_BOTH, too, and as its value what the RELEASE differs by:
 *
 *	63       40 39       20 19            0
 *	+-----------+-----------+---------------+
 *	| took_ns   | CPU time  | site - site   |	the last one of two's complement
 *	+-----------+-----------+---------------+
 */
#define TRACE_TAKEN_CPU_SHIFT 20
#define TRACE_TAKEN_TOOK_SHIFT 40
enum {
	TRACE_TAKEN_NS_MAX = (1 << (64 - TRACE_TAKEN_TOOK_SHIFT)) - 1,
	TRACE_TAKEN_CPU_MAX = (1 << (TRACE_TAKEN_TOOK_SHIFT - TRACE_TAKEN_CPU_SHIFT)) - 1,
	TRACE_TAKEN_SITE_MAX = (1 << (TRACE_TAKEN_CPU_SHIFT - 1)) - 1,
};

/* Whether they fit; `sites`: of the RELEASE less that of the PASS. */
static inline bool trace_can_be_taken(uint64_t took_ns, uint64_t cpu_ns, int64_t sites)
{
	return took_ns <= TRACE_TAKEN_NS_MAX && cpu_ns <= TRACE_TAKEN_CPU_MAX &&
	       sites <= TRACE_TAKEN_SITE_MAX && -sites <= TRACE_TAKEN_SITE_MAX;
}

static inline uint64_t trace_taken(uint64_t took_ns, uint64_t cpu_ns, int64_t sites)
{
	return ((uint64_t)sites & ((1u << TRACE_TAKEN_CPU_SHIFT) - 1)) |
	       cpu_ns << TRACE_TAKEN_CPU_SHIFT | took_ns << TRACE_TAKEN_TOOK_SHIFT;
}

static inline uint64_t trace_taken_ns(uint64_t value)
{
	return value >> TRACE_TAKEN_TOOK_SHIFT;
}

static inline uint64_t trace_taken_cpu_ns(uint64_t value)
{
	return value >> TRACE_TAKEN_CPU_SHIFT & TRACE_TAKEN_CPU_MAX;
}

static inline int64_t trace_taken_sites(uint64_t value)
{
	return (int64_t)(value << (64 - TRACE_TAKEN_CPU_SHIFT)) >> (64 - TRACE_TAKEN_CPU_SHIFT);
}

/* Rows that a name with a text of `bytes` (without terminator) takes, its record included. */
static inline uint32_t trace_name_rows(uint32_t bytes)
{
	return 1 + (bytes + TRACE_RECORD_BYTES) / TRACE_RECORD_BYTES;
}

#endif
