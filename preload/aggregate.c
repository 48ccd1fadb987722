/* SPDX-License-Identifier: MIT */
#include "aggregate.h"

#include "real.h"
#include "sites.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	CACHED_SITES = 32,
	OPEN_PROBES = 16,
	/* Longer than a failed try with a pause or a sched_yield(), shorter than useful work. */
	TRY_GAP_NS = 10000,
};

/*
 * The same call at the same depth of the same thread's stack has the same callers, nearly always:
 * then the stack is not unwound again.
 */
struct cached_site {
	const void *caller;
	const void *depth;
	uint32_t kind;
	uint32_t site;
};

struct thread {
	struct wait *current; /* the wait that this thread is in */
	uint64_t owner; /* of its open waits */
	uint32_t open_hint;
	bool is_busy; /* in this library: what it calls is not recorded */
	const void *tried; /* object of the last failed try */
	uint64_t tried_ns;
	bool is_trying; /* it tried that object again and again: one wait */
	struct cached_site sites[CACHED_SITES];
};

/* Initial-exec: no allocation at a thread's first access, and safe in signal handlers. */
static __thread struct thread self __attribute__((tls_model("initial-exec")));

/* NULL until set up: nothing else is called before. */
static struct sync_file *file;
static pid_t process;

/* Kinds that are not told apart here; SYNC_KINDS: not counted at all. */
static uint32_t counted_as(uint32_t kind)
{
	if (kind == SINK_OMP_LOCK)
		return SYNC_OMP;
	return kind < SYNC_KINDS ? kind : SYNC_KINDS;
}

static uint32_t find_site(uint32_t kind, const void *depth, const void *caller)
{
	uintptr_t mixed = ((uintptr_t)caller >> 2) ^ ((uintptr_t)depth >> 5) ^ kind;
	struct cached_site *cached = &self.sites[mixed % CACHED_SITES];
	if (cached->caller != caller || cached->depth != depth || cached->kind != kind) {
		uint32_t site = sites_find(file, kind, caller);
		*cached = (struct cached_site){ caller, depth, kind, site };
	}
	return cached->site;
}

static uint64_t owner(void)
{
	if (!self.owner)
		self.owner = (uint64_t)process << 32 | (uint32_t)syscall(SYS_gettid);
	return self.owner;
}

/* The slot is filled before its owner shows, so that an exit never closes a half-written one. */
static uint32_t open_wait(const struct wait *wait, const void *object)
{
	static const uint64_t claimed = 1;
	for (uint32_t i = 0; i < OPEN_PROBES; i++) {
		uint32_t index = (self.open_hint + i) % SYNC_OPEN_WAITS;
		struct sync_open_wait *open = &file->open[index];
		uint64_t is_free = 0;
		if (!__atomic_compare_exchange_n(&open->owner, &is_free, claimed, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		open->start_ns = wait->start_ns;
		open->object = (uintptr_t)object;
		open->site = wait->site;
		__atomic_store_n(&open->owner, owner(), __ATOMIC_RELEASE);
		self.open_hint = index;
		return index;
	}
	self.open_hint = (uint32_t)(owner() * 2654435761u);
	return SYNC_OPEN_WAITS;
}

/* True for the one who may add the wait's time. */
static bool close_wait(uint32_t index, uint64_t owned)
{
	return index == SYNC_OPEN_WAITS ||
	       __atomic_compare_exchange_n(&file->open[index].owner, &owned, 0, false,
		       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/*
 * A wait inside a wait (in a signal handler) is part of it. When the new one lies higher on the
 * stack, the old one was left by longjmp(): it ended at a time that nobody knows, and is dropped.
 */
static bool is_nested(const struct wait *wait)
{
	struct wait *outer = self.current;
	if (!outer)
		return false;
	if ((uintptr_t)wait < (uintptr_t)outer)
		return true;
	(void)close_wait(outer->open, owner());
	return false;
}

void aggregate_wait_begin(struct wait *wait, uint32_t kind, const void *object, const void *caller)
{
	kind = counted_as(kind);
	if (kind == SYNC_KINDS || self.is_busy || is_nested(wait))
		return;
	int kept = errno;
	self.is_busy = true;
	wait->start_ns = clock_ns();
	wait->site = find_site(kind, wait, caller);
	wait->open = open_wait(wait, object);
	wait->shortest_ns = 0;
	wait->task_ns = 0;
	wait->is_counted = true;
	self.current = wait;
	self.is_busy = false;
	errno = kept;
}

void aggregate_wait_end(struct wait *wait)
{
	uint64_t wait_ns = clock_ns() - wait->start_ns - wait->task_ns;
	if (close_wait(wait->open, owner()) && wait_ns >= wait->shortest_ns)
		sites_add(file, wait->site, 1, wait_ns);
	if (self.current == wait)
		self.current = NULL;
}

void aggregate_wait_discard(struct wait *wait)
{
	wait->is_counted = false;
	(void)close_wait(wait->open, owner()); /* who closes it does not matter: nothing is added */
	if (self.current == wait)
		self.current = NULL;
}

void aggregate_task_begin(struct task *task)
{
	task->interrupted = self.current;
	if (!task->interrupted)
		return;
	task->start_ns = clock_ns();
	self.current = NULL;
}

void aggregate_task_end(struct task *task)
{
	task->interrupted->task_ns += clock_ns() - task->start_ns;
	self.current = task->interrupted;
}

void aggregate_wait_add(uint32_t kind, uint64_t waits, uint64_t wait_ns, const void *caller)
{
	kind = counted_as(kind);
	if (self.is_busy || kind == SYNC_KINDS)
		return;
	int kept = errno;
	self.is_busy = true;
	char depth = 0;
	sites_add(file, find_site(kind, &depth, caller), waits, wait_ns);
	self.is_busy = false;
	errno = kept;
}

void aggregate_try_failed(uint32_t kind, const void *object, const void *caller)
{
	if (self.current)
		return;
	uint64_t now = clock_ns();
	bool is_again = self.tried == object && now - self.tried_ns < TRY_GAP_NS;
	if (is_again) {
		aggregate_wait_add(kind, !self.is_trying, now - self.tried_ns, caller);
		self.is_trying = true;
	} else if (self.tried != object) {
		self.is_trying = false;
	}
	self.tried = object;
	self.tried_ns = now;
}

void aggregate_try_succeeded(const void *object)
{
	if (self.tried == object)
		self.tried = NULL;
}

static void forget_parent(void)
{
	process = getpid();
	self.owner = 0;
}

/* Of threads that are no more: they waited until now. */
static void close_open_waits(void)
{
	uint64_t now = clock_ns();
	for (uint32_t i = 0; i < SYNC_OPEN_WAITS; i++) {
		uint64_t owned = __atomic_load_n(&file->open[i].owner, __ATOMIC_ACQUIRE);
		if (owned >> 32 != (uint64_t)process)
			continue;
		struct sync_open_wait open = file->open[i];
		if (close_wait(i, owned))
			sites_add(file, open.site, 1, now - open.start_ns);
	}
}

static struct sync_file *map_file(const char *path)
{
	int fd = own_open(path, O_RDWR);
	if (fd < 0)
		return NULL;
	struct stat info;
	void *map = MAP_FAILED;
	if (fstat(fd, &info) == 0 && info.st_size == (off_t)sizeof(struct sync_file))
		map = mmap(
			NULL, sizeof(struct sync_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	own_close(fd);
	if (map == MAP_FAILED)
		return NULL;
	const struct sync_header *header = map;
	if (header->magic == SYNC_MAGIC && header->version == SYNC_VERSION &&
		header->bytes == sizeof(struct sync_file))
		return map;
	(void)munmap(map, sizeof(struct sync_file)); /* at worst some address space is lost */
	return NULL;
}

bool aggregate_attach(const char *path)
{
	struct sync_file *mapped = map_file(path);
	if (!mapped || pthread_atfork(NULL, NULL, forget_parent) != 0)
		return false;
	process = getpid();
	sites_init();
	__atomic_add_fetch(&mapped->header.processes, 1, __ATOMIC_RELAXED);
	file = mapped;
	close_open_waits(); /* this process before an exec */
	return true;
}

void aggregate_detach(void)
{
	close_open_waits();
}
