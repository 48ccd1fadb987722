/* SPDX-License-Identifier: MIT */
#include "live.h"

#include "live_page.h"
#include "real.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct live_thread {
	struct live_lane *lane; /* NULL: none yet, or none was free */
	struct wait *current; /* left by longjmp(): dangling */
	bool is_busy; /* a signal handler's waits are part of what was interrupted */
	bool is_done; /* it has ended, or found no lane: asked no more */
	bool is_paused;
};

static __thread struct live_thread self __attribute__((tls_model("initial-exec")));
static struct live_file *file;
static pthread_key_t exit_key;

static uint64_t own_name(void)
{
	return (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
}

static void put(bool is_active, uint64_t time_ns)
{
	struct live_lane *lane = self.lane;
	uint64_t count = lane->count; /* nobody else writes it */
	__atomic_store_n(
		&lane->changes[count % LIVE_CHANGES], time_ns << 1 | is_active, __ATOMIC_RELAXED);
	__atomic_store_n(&lane->count, count + 1, __ATOMIC_RELEASE);
}

static void raise_lanes(uint32_t lanes)
{
	uint32_t *used = &file->header.lanes;
	uint32_t seen = __atomic_load_n(used, __ATOMIC_RELAXED);
	while (seen < lanes && !__atomic_compare_exchange_n(used, &seen, lanes, false,
				       __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		continue;
}

static struct live_lane *claim(void)
{
	for (uint32_t i = 0; i < LIVE_LANES; i++) {
		struct live_lane *lane = &file->lanes[i];
		uint64_t is_free = 0;
		if (__atomic_load_n(&lane->owner, __ATOMIC_RELAXED) != 0)
			continue;
		if (!__atomic_compare_exchange_n(&lane->owner, &is_free, LIVE_CLAIMED, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		lane->has_ended = 0;
		lane->count = 0;
		raise_lanes(i + 1);
		return lane;
	}
	__atomic_add_fetch(&file->header.lost, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void start(void)
{
	int kept = errno;
	self.lane = claim();
	self.is_done = !self.lane;
	if (self.lane) {
		put(true, clock_ns());
		__atomic_store_n(&self.lane->owner, own_name(), __ATOMIC_RELEASE);
		(void)pthread_setspecific(exit_key, &self); /* else the reader finds it gone */
	}
	errno = kept;
}

/* True if changes can be put; leave() follows. */
static bool enter(void)
{
	if (self.is_busy || self.is_done)
		return false;
	self.is_busy = true;
	if (!self.lane)
		start();
	if (!self.lane)
		self.is_busy = false;
	return self.lane != NULL;
}

static void leave(void)
{
	self.is_busy = false;
}

static void at_thread_exit(void *unused)
{
	(void)unused;
	if (!is_live() || !enter())
		return;
	put(false, clock_ns());
	__atomic_store_n(&self.lane->has_ended, 1, __ATOMIC_RELEASE);
	self.lane = NULL; /* somebody else's from now on */
	self.is_done = true;
	leave();
}

void live_thread_start(void)
{
	if (enter())
		leave();
}

/* A wait inside a wait is part of it; one that lies higher on the stack shows that the other was left. */
static bool is_nested(const struct wait *wait)
{
	return self.is_paused || (self.current && (uintptr_t)wait < (uintptr_t)self.current);
}

void live_wait_begin(struct wait *wait)
{
	if (is_nested(wait) || !enter())
		return;
	wait->start_ns = clock_ns();
	wait->is_counted = true;
	self.current = wait;
	put(false, wait->start_ns);
	leave();
}

void live_wait_end(struct wait *wait)
{
	if (self.current == wait)
		self.current = NULL;
	if (!enter())
		return;
	put(true, clock_ns());
	leave();
}

void live_task_begin(struct task *task)
{
	task->interrupted = self.current;
	if (!task->interrupted || !enter())
		return;
	self.current = NULL;
	put(true, clock_ns());
	leave();
}

void live_task_end(struct task *task)
{
	if (!enter())
		return;
	self.current = task->interrupted;
	put(false, clock_ns());
	leave();
}

void live_wait_add(uint64_t wait_ns)
{
	if (self.current || !enter())
		return;
	uint64_t now_ns = clock_ns();
	put(false, now_ns - wait_ns);
	put(true, now_ns);
	leave();
}

void live_pause(void)
{
	if (self.current || !enter())
		return;
	self.is_paused = true;
	put(false, clock_ns());
	leave();
}

void live_resume(void)
{
	if (!self.is_paused || !enter())
		return;
	self.is_paused = false;
	put(true, clock_ns());
	leave();
}

static void in_child(void)
{
	if (!is_live())
		return;
	self = (struct live_thread){ 0 };
	live_thread_start();
}

/* Of this process: before an exec, or as it ends. */
static void end_lanes(void)
{
	uint64_t process = (uint32_t)getpid();
	uint32_t lanes = __atomic_load_n(&file->header.lanes, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < lanes && i < LIVE_LANES; i++)
		if (__atomic_load_n(&file->lanes[i].owner, __ATOMIC_ACQUIRE) >> 32 == process)
			__atomic_store_n(&file->lanes[i].has_ended, 1, __ATOMIC_RELEASE);
}

static struct live_file *map_file(const char *path)
{
	int fd = own_open(path, O_RDWR);
	if (fd < 0)
		return NULL;
	struct stat info;
	void *map = MAP_FAILED;
	if (fstat(fd, &info) == 0 && info.st_size == (off_t)sizeof(struct live_file))
		map = mmap(
			NULL, sizeof(struct live_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	own_close(fd);
	if (map == MAP_FAILED)
		return NULL;
	if (((struct live_header *)map)->version == LIVE_VERSION)
		return map;
	(void)munmap(map, sizeof(struct live_file)); /* at worst some address space is lost */
	return NULL;
}

bool live_attach(const char *path)
{
	file = map_file(path);
	if (!file || pthread_key_create(&exit_key, at_thread_exit) != 0 ||
		pthread_atfork(NULL, NULL, in_child) != 0)
		return false;
	end_lanes();
	live_thread_start();
	return true;
}

void live_detach(void)
{
	end_lanes();
	self.is_done = true;
}
