/* SPDX-License-Identifier: MIT */
/*
 * The file that the preload library fills and corecast reads: how long threads waited, by kind of
 * wait and by call site. One file serves a whole run; every process of the run maps it shared.
 *
 *	+--------+----------------+--------------------------------+----------------+
 *	| header | open waits     | sites (hash table)             | modules        |
 *	+--------+----------------+--------------------------------+----------------+
 *	           now waiting      first SYNC_KINDS: "elsewhere"    paths
 *
 * Nobody ever waits for a slot: a slot goes FREE -> WRITING -> READY by compare-and-swap, and who
 * finds one in WRITING (its writer may be dead) takes the next. So a site or a module may stand in
 * the table twice, and the reader adds up. All counts are native-endian and updated atomically.
 *
 * A wait in progress stands among the open waits; who takes it out (the thread itself, or the
 * process at exit for its threads that still wait) adds its time to the site, once.
 */
#ifndef PRELOAD_RECORD_H
#define PRELOAD_RECORD_H

#include <assert.h>
#include <stdint.h>

#define SYNC_PATH_VARIABLE "CORECAST_SYNC"
#define SYNC_MAGIC 0x31434e5953434343ull /* "CCCSYNC1" */

enum {
	SYNC_VERSION = 1,
	SYNC_FRAMES = 5, /* return addresses kept per site: the direct caller first */
	SYNC_OPEN_WAITS = 1024, /* threads waiting at once that an exit can still account for */
	SYNC_SITES = 4096,
	SYNC_MODULES = 512,
	SYNC_PATH_BYTES = 1016,
};

enum sync_kind {
	SYNC_LOCK, /* mutexes */
	SYNC_RWLOCK,
	SYNC_SPIN,
	SYNC_BARRIER,
	SYNC_COND,
	SYNC_SEM,
	SYNC_JOIN,
	SYNC_OMP, /* OpenMP's own barriers, locks and critical sections */
	SYNC_KINDS,
};

enum sync_slot {
	SYNC_FREE,
	SYNC_WRITING,
	SYNC_READY,
};

struct sync_header {
	uint64_t magic; /* SYNC_MAGIC */
	uint32_t version; /* SYNC_VERSION */
	uint32_t bytes; /* of the whole file */
	uint32_t processes; /* that attached: each exec counts, a fork without exec does not */
	uint32_t elsewhere; /* waits whose site found no room: their time is kept by kind only */
	uint64_t reserved[5];
};

struct sync_open_wait {
	uint64_t owner; /* process << 32 | thread; 0: free */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t object; /* address of what is waited for */
	uint32_t site; /* index */
	uint32_t reserved;
};

struct sync_frame {
	uint64_t
		offset; /* return address less the module's load bias: an address in its ELF file */
	uint32_t module; /* index + 1; 0: in no module, and offset is the address itself */
	uint32_t reserved;
};

struct sync_site {
	uint32_t slot; /* enum sync_slot */
	uint32_t kind; /* enum sync_kind */
	uint64_t waits;
	uint64_t wait_ns; /* wall time inside the waits */
	uint32_t frame_count; /* 0: elsewhere */
	uint32_t reserved;
	uint64_t reserved2;
	uint64_t reserved3;
	struct sync_frame frames[SYNC_FRAMES];
};

struct sync_module {
	uint32_t slot; /* enum sync_slot */
	uint32_t length; /* of the path, without its terminator */
	char path[SYNC_PATH_BYTES]; /* cut when longer */
};

struct sync_file {
	struct sync_header header;
	struct sync_open_wait open[SYNC_OPEN_WAITS];
	struct sync_site sites[SYNC_SITES];
	struct sync_module modules[SYNC_MODULES];
};

static_assert(sizeof(struct sync_header) == 64, "layout of the file");
static_assert(sizeof(struct sync_open_wait) == 32, "layout of the file");
static_assert(sizeof(struct sync_frame) == 16, "layout of the file");
static_assert(sizeof(struct sync_site) == 128, "layout of the file");
static_assert(sizeof(struct sync_module) == 1024, "layout of the file");
static_assert(sizeof(struct sync_file) ==
		      64 + 32 * SYNC_OPEN_WAITS + 128 * SYNC_SITES + 1024 * SYNC_MODULES,
	"layout of the file");

#endif
