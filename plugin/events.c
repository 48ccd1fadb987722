/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "events.h"

#include "preload/marks.h"
#include "preload/modules.h"
#include "preload/real.h"
#include "preload/traced_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* What the functions do. */
enum role {
	MUTEX_LOCK,
	MUTEX_TRY,
	MUTEX_UNLOCK,
	READ_LOCK,
	READ_TRY,
	WRITE_LOCK,
	WRITE_TRY,
	RW_UNLOCK,
	SPIN_LOCK,
	SPIN_TRY,
	SPIN_UNLOCK,
	SEM_WAIT,
	SEM_TRY,
	SEM_POST,
	BARRIER_INIT,
	BARRIER_WAIT,
	COND_WAIT,
	COND_SIGNAL,
	COND_BROADCAST,
	JOIN,
	SLEEP,
	YIELD,
	THREAD_START, /* of the C library: what runs a new thread, with its pthread_t */
};

struct events_function {
	const char *name;
	enum role role;
};

static const struct events_function functions[] = {
	{ "pthread_mutex_lock", MUTEX_LOCK },
	{ "pthread_mutex_timedlock", MUTEX_LOCK },
	{ "pthread_mutex_clocklock", MUTEX_LOCK },
	{ "pthread_mutex_trylock", MUTEX_TRY },
	{ "pthread_mutex_unlock", MUTEX_UNLOCK },
	{ "pthread_rwlock_rdlock", READ_LOCK },
	{ "pthread_rwlock_timedrdlock", READ_LOCK },
	{ "pthread_rwlock_tryrdlock", READ_TRY },
	{ "pthread_rwlock_wrlock", WRITE_LOCK },
	{ "pthread_rwlock_timedwrlock", WRITE_LOCK },
	{ "pthread_rwlock_trywrlock", WRITE_TRY },
	{ "pthread_rwlock_unlock", RW_UNLOCK },
	{ "pthread_spin_lock", SPIN_LOCK },
	{ "pthread_spin_trylock", SPIN_TRY },
	{ "pthread_spin_unlock", SPIN_UNLOCK },
	{ "sem_wait", SEM_WAIT },
	{ "sem_timedwait", SEM_WAIT },
	{ "sem_clockwait", SEM_WAIT },
	{ "sem_trywait", SEM_TRY },
	{ "sem_post", SEM_POST },
	{ "pthread_barrier_init", BARRIER_INIT },
	{ "pthread_barrier_wait", BARRIER_WAIT },
	{ "pthread_cond_wait", COND_WAIT },
	{ "pthread_cond_timedwait", COND_WAIT },
	{ "pthread_cond_clockwait", COND_WAIT },
	{ "pthread_cond_signal", COND_SIGNAL },
	{ "pthread_cond_broadcast", COND_BROADCAST },
	{ "pthread_join", JOIN },
	{ "pthread_timedjoin_np", JOIN },
	{ "pthread_clockjoin_np", JOIN },
	{ "nanosleep", SLEEP },
	{ "clock_nanosleep", SLEEP },
	{ "usleep", SLEEP },
	{ "sleep", SLEEP },
	{ "sched_yield", YIELD },
	{ "start_thread", THREAD_START },
};

const struct events_function *events_function(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (strcmp(functions[i].name, name) == 0)
			return &functions[i];
	}
	return NULL;
}

/* What the preload library's files want of those that are not here. */

enum sink_mode sink_mode = SINK_OFF; /* nobody is interposed, no destructor records */
struct real real_functions;
static const struct events_program *program;

void marks_forget(void)
{
}

void modules_note(void)
{
	static bool is_noted;
	if (!is_noted)
		modules_put(program->bias, program->end, program->path);
	is_noted = true;
}

void modules_repeat(void)
{
}

/* The guest's command line is what follows in the emulator's. */
static int open_command_line(void)
{
	char line[TRACE_NAME_BYTES];
	int all = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = all < 0 ? 0 : read(all, line, sizeof(line));
	if (all >= 0)
		(void)close(all);
	size_t at = 0, left = length > 0 ? (size_t)length : 0;
	while (left > 0 && strncmp(line + at, program->path, left) != 0) {
		size_t argument = strnlen(line + at, left);
		at += argument < left ? argument + 1 : argument;
		left = (size_t)length - at;
	}
	int own = memfd_create("cmdline", MFD_CLOEXEC);
	if (own >= 0 && (write(own, line + at, left) != (ssize_t)left || lseek(own, 0, SEEK_SET))) {
		(void)close(own);
		own = -1;
	}
	return own;
}

static int open_for_recorder(const char *path, int flags, ...)
{
	return strcmp(path, "/proc/self/cmdline") == 0 ? open_command_line() : open(path, flags);
}

void real_resolve(void)
{
	real_functions.open = open_for_recorder;
	__atomic_store_n(&real_functions.is_whole, true, __ATOMIC_RELEASE);
}

/* Threads. */

/* The call that the thread is in, and who it is to those who join it. */
static __thread struct {
	enum role role;
	const void *object, *site;
	const char *memory;
	uint64_t time_ns;
	bool waits;
	struct wait wait;
	const void *thread;
} call;

bool events_attach(const struct events_program *where)
{
	program = where;
	const char *slash = strrchr(where->path, '/');
	char *name = program_invocation_short_name; /* the emulator's */
	program_invocation_short_name = strdup(slash ? slash + 1 : where->path);
	bool is_attached = program_invocation_short_name && profiled_attach(where->page) &&
			   trace_attach(where->timeline);
	free(program_invocation_short_name);
	program_invocation_short_name = name;
	return is_attached;
}

struct events_birth events_birth(void)
{
	struct birth birth = trace_birth();
	return (struct events_birth){ birth.time_ns, birth.parent };
}

void events_thread_start(struct events_birth birth)
{
	trace_thread_start((struct birth){ birth.time_ns, birth.parent }, NULL, NULL);
}

uint32_t events_slot(void)
{
	return self.slot ? (uint32_t)(self.slot - profiled_page->slots) : PROFILE_SLOTS;
}

void events_thread_end(void)
{
	if (self.state != THREAD_RECORDING)
		return;
	trace_thread_end();
	if (call.thread)
		wake_note(call.thread, clock_ns(), self.tid);
}

void events_process_end(void)
{
	if (self.state == THREAD_RECORDING)
		trace_detach();
}

/* Calls. The layouts are those of the C library (bits/struct_mutex.h, struct_rwlock.h, internaltypes.h). */

static uint32_t word_of(const char *memory, const void *object, size_t index)
{
	return __atomic_load_n(
		(const uint32_t *)(memory + (uintptr_t)object) + index, __ATOMIC_RELAXED);
}

/* Only the first lock of a recursive mutex acquires it, and only the last unlock releases it. */
static bool is_inner(const char *memory, const void *mutex)
{
	enum { COUNT = 1, KIND = 4, RECURSIVE = 1 };
	return (word_of(memory, mutex, KIND) & RECURSIVE) && word_of(memory, mutex, COUNT) > 1;
}

static bool is_own(const char *memory, const void *mutex)
{
	enum { OWNER = 2 };
	return word_of(memory, mutex, OWNER) == self.tid;
}

/* Whether the call waits, as far as can be told before. */
static bool is_taken(enum role role, const char *memory, const void *object)
{
	enum { WRITE_PHASE = 1, WRITE_LOCKED = 2, READER = 8 };
	uint32_t word = word_of(memory, object, 0);
	switch (role) {
	case MUTEX_LOCK:
		return word != 0 && !is_own(memory, object);
	case READ_LOCK:
		return (word & WRITE_PHASE) && (word & WRITE_LOCKED);
	case WRITE_LOCK:
		return (word & WRITE_LOCKED) || word >= READER;
	case SPIN_LOCK:
		return (int32_t)word <= 0;
	case SEM_WAIT:
		return word == 0;
	default:
		return false;
	}
}

static uint32_t kind_of(enum role role)
{
	switch (role) {
	case READ_LOCK:
	case READ_TRY:
	case WRITE_LOCK:
	case WRITE_TRY:
	case RW_UNLOCK:
		return SYNC_RWLOCK;
	case SPIN_LOCK:
	case SPIN_TRY:
	case SPIN_UNLOCK:
		return SYNC_SPIN;
	case SEM_WAIT:
	case SEM_TRY:
	case SEM_POST:
		return SYNC_SEM;
	case BARRIER_WAIT:
		return SYNC_BARRIER;
	case COND_WAIT:
	case COND_SIGNAL:
	case COND_BROADCAST:
		return SYNC_COND;
	case JOIN:
		return SYNC_JOIN;
	case SLEEP:
		return SINK_SLEEP;
	default:
		return SYNC_LOCK;
	}
}

static uint32_t shared_of(enum role role)
{
	return role == READ_LOCK || role == READ_TRY ? ACQUIRE_SHARED : 0;
}

/* A wait inside another, in a signal handler, is not counted. */
static void end_wait(bool is_last_to_arrive)
{
	if (!call.wait.is_counted)
		profiled_resume();
	else if (is_last_to_arrive)
		trace_wait_discard(&call.wait);
	else
		trace_wait_end(&call.wait);
}

static void begin_wait(void)
{
	call.waits = true;
	trace_wait_begin(
		&call.wait, kind_of(call.role), call.object, shared_of(call.role), call.site);
}

static void begin(const uint64_t arguments[4], const char *memory)
{
	call.waits = false;
	call.wait = (struct wait){ 0 };
	switch (call.role) {
	case BARRIER_INIT:
		wake_parties(call.object, (uint32_t)arguments[2]);
		break;
	case COND_WAIT:
		call.waits = true;
		trace_wait_begin_cond(
			&call.wait, call.object, (const void *)arguments[1], call.site);
		break;
	case MUTEX_UNLOCK:
	case RW_UNLOCK:
	case SPIN_UNLOCK:
	case SEM_POST:
	case COND_SIGNAL:
	case COND_BROADCAST:
		call.time_ns = trace_releases(call.object);
		break;
	case BARRIER_WAIT:
	case JOIN:
	case SLEEP:
		begin_wait();
		break;
	default:
		if (is_taken(call.role, memory, call.object))
			begin_wait();
	}
}

bool events_enter(const struct events_function *function, const uint64_t arguments[4],
	const char *memory, uint64_t site)
{
	const void *object = (const void *)arguments[0];
	if (function->role == THREAD_START) {
		call.thread = object;
		wake_note(object, clock_ns(), self.tid);
		return false;
	}
	if (self.state != THREAD_RECORDING ||
		(function->role == MUTEX_UNLOCK && is_inner(memory, object)))
		return false;
	if (function->role == YIELD) {
		trace_yields((const void *)site);
		return false;
	}
	call.role = function->role;
	call.object = object;
	call.site = (const void *)site;
	call.memory = memory;
	profiled_pause();
	begin(arguments, memory);
	return true;
}

static void end_acquire(int result)
{
	bool is_inner_lock = kind_of(call.role) == SYNC_LOCK && result == 0 &&
			     is_inner(call.memory, call.object);
	if (result == 0 && !is_inner_lock)
		trace_acquired(kind_of(call.role), call.object, shared_of(call.role), call.site);
	else
		profiled_resume();
}

static void end_try(int result)
{
	if (result != 0)
		trace_try_failed(kind_of(call.role), call.object, call.site);
	end_acquire(result);
}

void events_return(uint64_t value)
{
	int result = (int)value;
	switch (call.role) {
	case MUTEX_TRY:
	case READ_TRY:
	case WRITE_TRY:
	case SPIN_TRY:
	case SEM_TRY:
		end_try(result);
		break;
	case MUTEX_UNLOCK:
	case RW_UNLOCK:
	case SPIN_UNLOCK:
	case SEM_POST:
	case COND_SIGNAL:
	case COND_BROADCAST:
		trace_released(kind_of(call.role), call.object,
			call.role == COND_BROADCAST ? RELEASE_ALL : 0, call.time_ns, call.site);
		break;
	case BARRIER_INIT:
		profiled_resume();
		break;
	case BARRIER_WAIT:
		end_wait(result == PTHREAD_BARRIER_SERIAL_THREAD);
		break;
	default:
		if (!call.waits) {
			end_acquire(result);
			break;
		}
		call.wait.has_failed = result != 0 && call.role != SLEEP;
		end_wait(false);
	}
}
