/* SPDX-License-Identifier: MIT */
/* Threads and processes of a trace: their starts, ends and names. */
#include "trace.h"

#include "marks.h"
#include "modules.h"
#include "real.h"
#include "traced_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	COUNTED_LIFE_NS = 10000000,
	OWN_EVENTS = 64, /* from one sample of what recording takes to the next */
	OWN_MAX_NS = 100000, /* who was away for longer had lost the core */
};

__thread struct thread self;
volatile uint32_t *own_process;
static pthread_key_t exit_key;

/* The ways that are seldom taken. */

static void tell_lost(void)
{
	lanes_count_lost(self.lost);
	self.lost = 0;
}

void thread_lose(void)
{
	if (++self.lost >= LOST_BATCH)
		tell_lost();
}

bool thread_make_room(void)
{
	if (self.without_room % LOST_BATCH != 0) {
		self.without_room++;
		return false;
	}
	int kept = errno;
	own_calls_begin();
	bool has_room = lane_grow(&self.lane, self.tid);
	own_calls_end();
	if (has_room)
		memset(self.known, 0, sizeof(self.known)); /* the desk is empty */
	self.without_room = has_room ? 0 : 1;
	errno = kept;
	return has_room;
}

/* Tries in a loop end with the first thing else that the thread does. */
static void end_tries(void)
{
	if (self.trying == TRY_WAITS)
		put(self.tried_ns,
			head_of(TRACE_PASS, self.tried_kind, TRACE_WAITED | TRACE_TIMED_OUT),
			(uintptr_t)self.tried, self.tried_by, 0);
	self.trying = TRY_NONE;
}

void thread_leave_left_wait(void)
{
	self.current = NULL;
	put(now(), head_of(TRACE_PASS, self.current_kind, TRACE_WAITED | TRACE_TIMED_OUT), 0, NULL,
		0);
}

/* Between half as many and half as many more: what a program does in turns must not meet every sample. */
static void choose_sample(void)
{
	struct own_cost *own = &self.own;
	own->random = own->random * 6364136223846793005ull + 1442695040888963407ull;
	own->stands_for = OWN_EVENTS / 2 + (uint32_t)(own->random >> 32) % OWN_EVENTS;
	own->turn = own->stands_for;
	own->before_ns = 0;
	own->is_lock = false;
}

void thread_tell_own(void)
{
	struct own_cost *own = &self.own;
	uint64_t took_ns = clock_ns() - own->start_ns + own->before_ns;
	struct trace_header *header = lanes_header();
	uint64_t *sum_ns = own->is_lock ? &header->own.locks_ns : &header->own.rest_ns;
	if (self.state == THREAD_RECORDING && !self.slot && took_ns < OWN_MAX_NS)
		__atomic_add_fetch(sum_ns, took_ns * own->stands_for, __ATOMIC_RELAXED);
	choose_sample();
}

/* Threads. */

static void start_thread(struct birth birth, const void *routine, const void *caller)
{
	int kept = errno;
	self.tid = (uint32_t)syscall(SYS_gettid);
	self.state = THREAD_RECORDING;
	self.lost = 0;
	self.without_room = 0;
	self.slot = profiled_claim(self.tid);
	self.stretch = PROFILE_NOT_COUNTED;
	cpu_clock_start(&self.cpu, self.slot ? &self.slot->instructions : NULL);
	budget_start();
	self.own.random = self.tid;
	choose_sample();
	uint64_t time_ns = clock_ns();
	uint64_t since_ns = birth.time_ns && birth.time_ns < time_ns ? birth.time_ns : time_ns;
	(void)lane_take(&self.lane, since_ns, self.tid); /* without one its events are lost */
	wake_note((const void *)pthread_self(), time_ns, self.tid);
	(void)pthread_setspecific(exit_key, &self); /* else its exit is not recorded */
	time_ns = now();
	self.start_ns = time_ns;
	put(time_ns, (struct head){ TRACE_THREAD_START, TRACE_WHAT_NONE, 0 }, (uintptr_t)routine,
		caller, trace_since(time_ns, birth.time_ns, birth.parent));
	errno = kept;
}

static void begin_child(struct birth birth);

bool thread_enter_slowly(void)
{
	if (!*own_process)
		begin_child((struct birth){ .parent = (uint32_t)getppid() });
	else if (self.state == THREAD_FRESH)
		start_thread((struct birth){ 0 }, NULL, NULL);
	if (self.state == THREAD_RECORDING) {
		end_tries();
		return true;
	}
	lanes_count_lost(1);
	leave();
	return false;
}

/* What the scheduler counted of a thread: the rest of its life it slept, also where nobody saw why. */
struct counted {
	uint64_t cpu_ns, delayed_ns; /* 0: unknown */
};

static struct counted read_counted(const char *path)
{
	char text[64] = "", *end = text;
	struct counted ret = { 0 };
	int fd = own_open(path, O_RDONLY);
	if (fd < 0)
		return ret;
	if (syscall(SYS_read, fd, text, sizeof(text) - 1) > 0) {
		ret.cpu_ns = strtoull(text, &end, 10);
		ret.delayed_ns = strtoull(end, NULL, 10);
	}
	own_close(fd);
	return ret;
}

static void end_thread(void)
{
	struct counted counted = { 0 };
	modules_note();
	budget_end();
	/* A short life costs less than the look. */
	if (!self.slot && now() - self.start_ns > COUNTED_LIFE_NS)
		counted = read_counted("/proc/thread-self/schedstat");
	uint64_t time_ns = now();
	put(time_ns, (struct head){ TRACE_THREAD_EXIT, TRACE_WHAT_NONE, 0 }, counted.cpu_ns, NULL,
		counted.delayed_ns);
	wake_note((const void *)pthread_self(), time_ns, self.tid);
	tell_lost();
	lane_give(&self.lane);
	profiled_give_back(self.slot);
	self.slot = NULL;
	self.state = THREAD_GONE;
}

/* Destructors of other keys may still lock: the last of the rounds that POSIX promises is ours. */
static void at_thread_exit(void *unused)
{
	if (++self.exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		(void)pthread_setspecific(exit_key, unused); /* else this is the last round */
		return;
	}
	if (sink_mode == SINK_TRACES)
		trace_thread_end();
}

void trace_thread_end(void)
{
	if (!enter())
		return;
	end_thread();
	leave();
}

uint32_t trace_own_tid(void)
{
	return self.tid;
}

uint32_t trace_tid_of(const void *thread)
{
	return wake_find(thread).tid;
}

void trace_joined(const void *thread)
{
	wake_note(thread, 0, 0);
}

struct birth trace_birth(void)
{
	if (!enter())
		return (struct birth){ 0 };
	struct birth birth = { now(), self.tid };
	/* How much of its work the creator had done: a frame of nothing has its clock. */
	if (self.slot)
		put(birth.time_ns, (struct head){ TRACE_FRAME, TRACE_WHAT_NONE, 0 }, 0, NULL, 0);
	leave();
	return birth;
}

void trace_thread_start(struct birth birth, const void *routine, const void *caller)
{
	if (self.is_busy || self.state != THREAD_FRESH)
		return;
	self.is_busy = true;
	start_thread(birth, routine, caller);
	leave();
}

/* Names: a row with its text behind it. */

static void put_name(enum trace_what what, uint64_t object, uint64_t value, const char *text)
{
	uint32_t length = (uint32_t)strnlen(text, TRACE_NAME_BYTES - 1);
	uint32_t bytes = trace_name_rows(length) * ROW;
	if (!lane_has_room(&self.lane, bytes) && !thread_make_room()) {
		thread_lose();
		return;
	}
	uint64_t time_ns = now();
	struct trace_record *row = lane_row(&self.lane);
	*row = (struct trace_record){
		.time_ns = time_ns,
		.cpu_ns = row_cpu_ns(time_ns),
		.object = object,
		.site = length,
		.value = value,
		.tid = self.tid,
		.kind = TRACE_NAME,
		.what = (uint8_t)what,
	};
	memcpy(row + 1, text, length); /* behind it the chunk is zero */
	self.lane.last_ns = time_ns;
	commit_row(bytes);
}

void modules_put(uint64_t bias, uint64_t end, const char *path)
{
	put_name(TRACE_MODULE, bias, end, path);
}

void trace_modules(void)
{
	if (!enter())
		return;
	modules_note();
	leave();
}

void trace_name(enum trace_what what, uint64_t object, uint64_t value, const char *text)
{
	if (!enter())
		return;
	put_name(what, object, value, text);
	leave();
}

/* The command line, its arguments separated by blanks. */
static void put_program(void)
{
	char line[TRACE_NAME_BYTES] = "";
	int fd = own_open("/proc/self/cmdline", O_RDONLY);
	long length = fd < 0 ? 0 : syscall(SYS_read, fd, line, sizeof(line) - 1);
	if (fd >= 0)
		own_close(fd);
	for (long i = 0; i + 1 < length; i++)
		if (line[i] == '\0')
			line[i] = ' ';
	put_name(TRACE_PROGRAM, 0, 0, line);
}

/* After an exec the thread is called after the new program. */
static void put_own_name(void)
{
	char name[16] = "";
	if (profiled_page) /* else it is the emulator's */
		put_name(TRACE_THREAD, self.tid, 0, program_invocation_short_name);
	else if (syscall(SYS_prctl, PR_GET_NAME, name) == 0)
		put_name(TRACE_THREAD, self.tid, 0, name);
}

/* Processes. */

static void begin_process(struct birth birth)
{
	int kept = errno;
	*own_process = (uint32_t)getpid();
	self = (struct thread){ .is_busy = true };
	start_thread(birth, NULL, NULL);
	put_program();
	put_own_name();
	errno = kept;
}

static void begin_child(struct birth birth)
{
	lanes_forked();
	marks_forget();
	begin_process(birth);
	modules_repeat();
}

static void before_fork(void)
{
	if (sink_mode == SINK_TRACES)
		self.fork = trace_birth();
}

static void in_child(void)
{
	if (sink_mode != SINK_TRACES)
		return;
	begin_child(self.fork);
	leave();
}

/* Of the kernel, so of all processes of the run: the first one finds out. */
static void find_sleep_shown(struct trace_header *header)
{
	enum { UNKNOWN, YES, NO };
	if (__atomic_load_n(&header->shows_sleep, __ATOMIC_RELAXED) == UNKNOWN)
		__atomic_store_n(
			&header->shows_sleep, cpu_clock_try_sleep() ? YES : NO, __ATOMIC_RELAXED);
	kernel_shows_sleep = __atomic_load_n(&header->shows_sleep, __ATOMIC_RELAXED) == YES;
}

bool trace_attach(const char *path)
{
	if (!lanes_attach(path))
		return false;
	void *page = mmap(NULL, sizeof(*own_process), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || madvise(page, sizeof(*own_process), MADV_WIPEONFORK) < 0)
		return false;
	if (pthread_key_create(&exit_key, at_thread_exit) != 0 ||
		pthread_atfork(before_fork, NULL, in_child) != 0)
		return false;
	struct trace_header *header = lanes_header();
	run_clock = (struct run_clock){ header->clock_base_ticks, header->clock_base_ns,
		header->clock_mult, header->clock_shift };
	find_sleep_shown(header);
	budget_attach(header);
	trace_waits_attach(header);
	own_process = page;
	begin_process((struct birth){ .parent = (uint32_t)getppid() });
	modules_note();
	leave();
	return true;
}

/* Of another thread, which the end of its process ends. */
static void put_exit(const char *tid)
{
	char path[64] = "/proc/self/task/";

	if (!lane_has_room(&self.lane, ROW) && !thread_make_room()) {
		thread_lose();
		return;
	}
	strcat(strcat(path, tid), "/schedstat"); /* a number: it fits */
	struct counted counted = read_counted(path);
	*lane_row(&self.lane) = (struct trace_record){
		.time_ns = self.lane.last_ns,
		.object = counted.cpu_ns,
		.value = counted.delayed_ns,
		.tid = (uint32_t)strtol(tid, NULL, 10),
		.kind = TRACE_THREAD_EXIT,
	};
	commit_row(ROW);
}

/* No opendir(): this process may have broken its heap. */
static void put_other_exits(void)
{
	struct entry {
		uint64_t inode, offset;
		uint16_t length;
		uint8_t type;
		char name[];
	};
	char buffer[4096] __attribute__((aligned(8)));
	int fd = own_open("/proc/self/task", O_RDONLY | O_DIRECTORY);
	long got = 0;
	while (fd >= 0 && (got = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < got; at += ((struct entry *)(buffer + at))->length) {
			const char *name = ((struct entry *)(buffer + at))->name;
			long tid = strtol(name, NULL, 10);
			if (tid > 0 && (uint32_t)tid != self.tid)
				put_exit(name);
		}
	}
	if (fd >= 0)
		own_close(fd);
}

void trace_detach(void)
{
	if (*own_process != (uint32_t)getpid() || !enter())
		return;
	int kept = errno;
	sink_mode = SINK_OFF; /* before the time is taken: nobody records anything later */
	self.lane.last_ns = now();
	put_other_exits();
	end_thread();
	errno = kept;
}
