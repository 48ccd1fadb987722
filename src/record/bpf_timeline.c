/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/bpf_timeline.h"

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "code/symbols.h"
#include "code/vdso.h"
#include "record/start_routine.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

enum { AGAIN_MAX = 4 }; /* maps that are read again within a round: a tenth of a ms each */

void bpf_timeline_release(struct bpf_timeline *timeline)
{
	free(timeline->threads);
	free(timeline->free_places);
	map_release(&timeline->index);
	map_release(&timeline->read);
	map_release(&timeline->processes);
	address_spaces_release(&timeline->spaces);
}

/*
 * A lock of a file is asked for by a descriptor, of which each thread may have its own: all of a process are one object, at
 * an address where no futex is.
 */
enum { FILE_LOCKS = 1 };

/* By the system call in which a thread blocked. */
static const struct blocking_call {
	short number;
	uint8_t what;
	uint8_t io; /* enum event_io, if it is known by the call alone */
} waits[] = {
	{ SYS_futex, WHAT_FUTEX },
	{ SYS_flock, WHAT_FUTEX },
	{ SYS_nanosleep, WHAT_SLEEP },
	{ SYS_clock_nanosleep, WHAT_SLEEP },
	{ SYS_read, WHAT_IO },
	{ SYS_write, WHAT_IO },
	{ SYS_readv, WHAT_IO },
	{ SYS_writev, WHAT_IO },
	{ SYS_pread64, WHAT_IO },
	{ SYS_pwrite64, WHAT_IO },
	{ SYS_fsync, WHAT_IO },
	{ SYS_fdatasync, WHAT_IO },
	{ SYS_accept, WHAT_IO },
	{ SYS_accept4, WHAT_IO },
	{ SYS_connect, WHAT_IO },
	{ SYS_recvfrom, WHAT_IO },
	{ SYS_recvmsg, WHAT_IO },
	{ SYS_sendto, WHAT_IO },
	{ SYS_sendmsg, WHAT_IO },
	{ SYS_epoll_pwait, WHAT_IO },
	{ SYS_ppoll, WHAT_IO },
	{ SYS_pselect6, WHAT_IO },
	{ SYS_wait4, WHAT_IO, EVENT_IO_CHILD },
	{ SYS_waitid, WHAT_IO, EVENT_IO_CHILD },
	{ SYS_rt_sigsuspend, WHAT_IO, EVENT_IO_SIGNAL },
	{ SYS_rt_sigtimedwait, WHAT_IO, EVENT_IO_SIGNAL },
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, WHAT_IO },
	{ SYS_poll, WHAT_IO },
	{ SYS_select, WHAT_IO },
	{ SYS_pause, WHAT_IO, EVENT_IO_SIGNAL },
#endif
};

static const struct blocking_call *find_call(short syscall_number)
{
	static const struct blocking_call unknown = { .what = WHAT_OTHER };
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		if (waits[i].number == syscall_number)
			return &waits[i];
	return &unknown;
}

static int emit(struct bpf_timeline *timeline, const struct event *event)
{
	return sink_event(&timeline->sink, event, &timeline->err);
}

static struct event event_of(const struct watch_event *event, uint8_t kind)
{
	return (struct event){ .time_ns = event->time_ns,
		.cpu_ns = event->cpu_ns,
		.pid = event->pid,
		.tid = event->tid,
		.kind = kind };
}

static int emit_thread_name(struct bpf_timeline *timeline, const struct timeline_thread *thread,
	uint64_t time_ns, const char *name)
{
	const struct event event = { .time_ns = time_ns,
		.pid = thread->pid,
		.tid = thread->tid,
		.kind = EVENT_NAME,
		.what = WHAT_THREAD,
		.object = thread->tid,
		.text = name };
	return *name && strcmp(name, thread->inherited) != 0 ? emit(timeline, &event) : 0;
}

static struct timeline_thread *find_thread(struct bpf_timeline *timeline, uint32_t tid)
{
	const uint64_t *place = map_find(&timeline->index, tid, 0);
	return place ? &timeline->threads[*place] : NULL;
}

static struct timeline_thread *add_thread(struct bpf_timeline *timeline, uint32_t pid, uint32_t tid)
{
	bool is_new_place = timeline->free_count == 0;
	if (is_new_place && mem_grow(&timeline->threads, &timeline->capacity, timeline->count + 1,
				    sizeof timeline->threads[0]) < 0)
		return NULL;
	uint64_t *ignored;
	if (map_add(&timeline->processes, pid, 0, 0, &ignored) < 0)
		return NULL;
	size_t place =
		is_new_place ? timeline->count : timeline->free_places[timeline->free_count - 1];
	uint64_t *value;
	if (map_add(&timeline->index, tid, 0, place, &value) < 0)
		return NULL;
	if (*value == place) {
		timeline->count += is_new_place;
		timeline->free_count -= !is_new_place;
	}
	struct timeline_thread *thread = &timeline->threads[*value];
	*thread = (struct timeline_thread){ .pid = pid, .tid = tid };
	return thread;
}

/* Room for the next one. */
static int remove_thread(struct bpf_timeline *timeline, struct timeline_thread *thread)
{
	if (mem_grow(&timeline->free_places, &timeline->free_capacity, timeline->free_count + 1,
		    sizeof timeline->free_places[0]) < 0)
		return -ENOMEM;
	timeline->free_places[timeline->free_count++] = (size_t)(thread - timeline->threads);
	(void)map_remove(&timeline->index, thread->tid, 0);
	*thread = (struct timeline_thread){ 0 };
	return 0;
}

/* One line of /proc/PID/maps, if it is code of a file that is not yet known. */
static int take_mapping(
	struct bpf_timeline *timeline, const struct watch_event *event, const char *line)
{
	struct mapping mapping;
	char path[PATH_MAX];
	if (!mapping_parse(line, &mapping, path))
		return 0;
	const struct mapping *known =
		address_spaces_find(&timeline->spaces, event->pid, mapping.start);
	if (known && strcmp(timeline->spaces.modules[known->module], path) == 0)
		return 0;
	mapping.pid = event->pid;
	int status = address_spaces_map(&timeline->spaces, &mapping, path);
	if (status < 0)
		return status;
	struct event name = event_of(event, EVENT_NAME);
	name.what = WHAT_MODULE;
	name.object = mapping.start - symbols_address_of_offset(path, mapping.offset);
	/* Locks are in the data behind the code. */
	uint64_t loaded_end = name.object + symbols_end(path);
	name.value = loaded_end > mapping.end ? loaded_end : mapping.end;
	name.text = path;
	return emit(timeline, &name);
}

/*
 * What was read before an event may lack its code: a program that is just being executed has loaded nothing yet. But code that
 * is in no file stays unknown however often it is read.
 */
static int is_worth_reading(struct bpf_timeline *timeline, const struct watch_event *event)
{
	uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC), *read_ns;
	int added = map_add(&timeline->read, event->pid, 0, now_ns, &read_ns);
	if (added != 0)
		return added;
	if (event->time_ns <= *read_ns || timeline->again == AGAIN_MAX)
		return 0;
	timeline->again++;
	*read_ns = now_ns;
	return 1;
}

/* A process that has ended leaves its code without names. */
static int read_modules(struct bpf_timeline *timeline, const struct watch_event *event)
{
	int status = is_worth_reading(timeline, event);
	if (status <= 0)
		return status;
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%u/maps", event->pid); /* fits */
	AUTO_FILE FILE *file = readfile_open("", path);
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	status = 0;
	while (status == 0 && file && getline(&line, &size, file) > 0)
		status = take_mapping(timeline, event, line);
	return status;
}

void bpf_timeline_pause(struct bpf_timeline *timeline)
{
	map_release(&timeline->read);
	timeline->read = (struct map){ 0 };
	timeline->again = 0;
}

/* The command line of the first program, its arguments separated by blanks. */
static int name_program(struct bpf_timeline *timeline, const struct watch_event *event)
{
	char path[64], line[1024];
	(void)snprintf(path, sizeof path, "/proc/%u/cmdline", event->pid); /* fits */
	AUTO_FILE FILE *file = readfile_open("", path);
	size_t length = file ? fread(line, 1, sizeof line - 1, file) : 0;
	if (timeline->has_program || length == 0)
		return 0;
	timeline->has_program = true;
	for (size_t i = 0; i + 1 < length; i++)
		if (line[i] == '\0')
			line[i] = ' ';
	line[length] = '\0';
	struct event name = event_of(event, EVENT_NAME);
	name.what = WHAT_PROGRAM;
	name.text = line;
	return emit(timeline, &name);
}

/*
 * A join is a wait for the word that the kernel clears when a thread has gone: on a futex that is not
 * private, as long as its value is that thread's tid.
 */
static bool is_join(struct bpf_timeline *timeline, const struct watch_event *event)
{
	const struct timeline_thread *other = find_thread(timeline, event->other);
	return event->syscall == SYS_futex && !(event->operation & FUTEX_PRIVATE_FLAG) && other &&
	       other->pid == event->pid;
}

static int begin_wait(struct bpf_timeline *timeline, struct timeline_thread *thread,
	const struct watch_event *event, const struct blocking_call *call)
{
	if (thread->is_waiting)
		return 0; /* found as it was about to wait: it is that wait */
	uint8_t what = call->what;
	bool joins = event->kind == WATCH_BLOCK && is_join(timeline, event);
	if (joins)
		what = WHAT_JOIN;
	thread->is_waiting = true;
	thread->what = what;
	thread->joined = joins ? event->other : 0;
	thread->object = what == WHAT_FUTEX || what == WHAT_IO ? event->object : 0;
	if (call->io != EVENT_IO_UNKNOWN) /* no descriptor */
		thread->object = UINT64_MAX;
	if (event->kind == WATCH_BLOCK && event->syscall == SYS_flock)
		thread->object = FILE_LOCKS;
	thread->site = 0;
	if (event->kind == WATCH_BLOCK)
		thread->site = event->caller ? event->caller : event->site;
	struct event wait = event_of(event, EVENT_WAIT);
	wait.what = what;
	wait.object = thread->object;
	wait.site = thread->site;
	wait.value = joins ? event->other : what == WHAT_FUTEX ? event->site : call->io;
	wait.flags = event->kind == WATCH_FOUND ? EVENT_BEFORE : 0;
	return emit(timeline, &wait);
}

/* It has a core: a wait is over, or waiting for the core is. */
static int run(struct bpf_timeline *timeline, struct timeline_thread *thread,
	const struct watch_event *event)
{
	thread->ran_ns = event->time_ns;
	thread->ran_cpu_ns = event->cpu_ns;
	if (!thread->is_waiting) {
		struct event got_core = event_of(event, EVENT_RUN);
		got_core.value = event->other;
		return emit(timeline, &got_core);
	}
	thread->is_waiting = false;
	struct event pass = event_of(event, EVENT_PASS);
	pass.what = thread->what;
	pass.object = thread->object;
	pass.site = thread->site;
	pass.flags = EVENT_WAITED;
	pass.woken_ns = event->woken_ns ? event->woken_ns : event->time_ns;
	bool is_known = event->woken_ns > 0 && event->waker != WATCH_WAKER_UNKNOWN;
	pass.value = is_known && thread->what != WHAT_SLEEP ? event->waker : 0;
	/* From Linux 6.16 on a thread is told to have ended before it wakes who joins it. */
	if (thread->joined && pass.value == 0)
		pass.value = thread->joined;
	/* A timer or another program: no thread of this one could have ended it sooner. */
	if (is_known && event->waker == 0 && thread->what == WHAT_FUTEX)
		pass.flags |= EVENT_TIMED_OUT;
	return emit(timeline, &pass);
}

static int find_routine(
	struct bpf_timeline *timeline, const struct watch_event *event, uint64_t *ret)
{
	int status = 0;
	if (event->caller && !address_spaces_find(&timeline->spaces, event->pid, event->caller))
		status = read_modules(timeline, event);
	*ret = start_routine_find(&timeline->spaces, event->pid, event->caller, event->argument);
	return status;
}

static int start(struct bpf_timeline *timeline, const struct watch_event *event)
{
	struct timeline_thread *thread = add_thread(timeline, event->pid, event->tid);
	if (!thread)
		return err_set(&timeline->err, -ENOMEM, "out of memory");
	struct event begin = event_of(event, EVENT_THREAD_START);
	if (event->kind == WATCH_START) {
		begin.cpu_ns = 0;
		int status = find_routine(timeline, event, &begin.object);
		if (status < 0)
			return status;
		if (address_spaces_find(&timeline->spaces, event->pid, event->caller))
			memcpy(thread->inherited, event->name, sizeof thread->inherited);
	}
	begin.value = event->kind == WATCH_START ? event->other : 0;
	begin.flags = event->kind == WATCH_FOUND ? EVENT_BEFORE : 0;
	int status = emit(timeline, &begin);
	if (status == 0)
		status = emit_thread_name(timeline, thread, event->time_ns, event->name);
	if (status == 0 && event->kind == WATCH_FOUND && !timeline->is_before_exec)
		status = name_program(timeline, event);
	if (status == 0 && event->kind == WATCH_FOUND && event->other == 0)
		status = begin_wait(timeline, thread, event, find_call(-1));
	return status;
}

/* The kernel brings a thread's processor time up to date at ticks and as it leaves its core, not as it ends: it runs then. */
static uint64_t cpu_at_end(const struct timeline_thread *thread, const struct watch_event *event)
{
	if (thread->ran_ns == 0 || event->time_ns < thread->ran_ns || event->tid != thread->tid)
		return event->cpu_ns;
	uint64_t cpu_ns = thread->ran_cpu_ns + (event->time_ns - thread->ran_ns);
	return cpu_ns > event->cpu_ns ? cpu_ns : event->cpu_ns;
}

static int end(struct bpf_timeline *timeline, struct timeline_thread *thread,
	const struct watch_event *event)
{
	int status = emit_thread_name(timeline, thread, event->time_ns, event->name);
	struct event exit = event_of(event, EVENT_THREAD_EXIT);
	exit.tid = thread->tid;
	exit.cpu_ns = cpu_at_end(thread, event);
	if (status == 0)
		status = emit(timeline, &exit);
	int removed = remove_thread(timeline, thread);
	return status < 0 ? status : removed;
}

/* The program's, whatever its thread ran before. */
static int name_after_exec(struct bpf_timeline *timeline, const struct watch_event *event)
{
	struct timeline_thread *thread = find_thread(timeline, event->tid);
	if (!thread)
		return 0;
	thread->inherited[0] = '\0';
	return emit_thread_name(timeline, thread, event->time_ns, event->name);
}

/* A thread that was not the first of its process goes on under the first one's tid. */
static int exec(struct bpf_timeline *timeline, const struct watch_event *event)
{
	int status = 0;
	struct timeline_thread *before = find_thread(timeline, event->other);
	if (event->other != event->tid && before)
		status = end(timeline, before, event);
	if (status == 0 && !find_thread(timeline, event->tid))
		status = start(timeline, event);
	if (status == 0)
		status = name_after_exec(timeline, event);
	if (status == 0)
		status = name_program(timeline, event);
	return status < 0 ? status : read_modules(timeline, event);
}

/* Where it is called again and again, a loop of tries. */
static int yield(struct bpf_timeline *timeline, const struct watch_event *event)
{
	struct event try = event_of(event, EVENT_TRY_FAILED);
	try.what = WHAT_SPIN;
	try.site = event->caller ? event->caller : event->site;
	try.object = try.site;
	int status = 0;
	if (!address_spaces_find(&timeline->spaces, event->pid, event->site))
		status = read_modules(timeline, event);
	return status < 0 ? status : emit(timeline, &try);
}

static int change(struct bpf_timeline *timeline, struct timeline_thread *thread,
	const struct watch_event *event)
{
	struct event preempted = event_of(event, EVENT_PREEMPT);
	int status = 0;
	switch ((enum watch_kind)event->kind) {
	case WATCH_BLOCK:
		if (!address_spaces_find(&timeline->spaces, event->pid, event->site))
			status = read_modules(timeline, event);
		return status < 0 ? status
				  : begin_wait(timeline, thread, event, find_call(event->syscall));
	case WATCH_RUN:
		return run(timeline, thread, event);
	case WATCH_YIELD:
		status = yield(timeline, event);
		return status < 0 ? status : emit(timeline, &preempted);
	case WATCH_PREEMPT:
		return emit(timeline, &preempted);
	case WATCH_EXIT:
		return end(timeline, thread, event);
	default:
		return 0;
	}
}

/* The thread may have gone on, or away. */
static int take_request(struct bpf_timeline *timeline, const struct watch_event *event)
{
	static const struct {
		uint32_t from;
		uint16_t to;
	} flags[] = { { WATCH_REQUEST_WRITES, EVENT_WRITE },
		{ WATCH_REQUEST_METADATA, EVENT_METADATA }, { WATCH_REQUEST_AHEAD, EVENT_AHEAD },
		{ WATCH_REQUEST_FLUSH, EVENT_FLUSH } };
	struct event request = event_of(event, event->kind == WATCH_DISK_QUEUE   ? EVENT_DISK_QUEUE
					       : event->kind == WATCH_DISK_START ? EVENT_DISK_START
										 : EVENT_DISK_END);
	request.what = WHAT_DISK;
	request.object = event->request;
	request.value = event_disk_value(event->bytes, event->device);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		request.flags |= event->other & flags[i].from ? flags[i].to : 0;
	return emit(timeline, &request);
}

int bpf_timeline_take(void *context, const struct watch_event *event)
{
	struct bpf_timeline *timeline = context;
	if (event->kind >= WATCH_DISK_QUEUE)
		return take_request(timeline, event);
	if (event->kind == WATCH_FOUND || event->kind == WATCH_START)
		return start(timeline, event);
	if (event->kind == WATCH_EXEC)
		return exec(timeline, event);
	struct timeline_thread *thread = find_thread(timeline, event->tid);
	return thread ? change(timeline, thread, event) : 0; /* its start was lost */
}

/* Threads name themselves after they have started; those that have ended did so before. */
static int name_living(struct bpf_timeline *timeline, uint64_t end_ns)
{
	for (size_t i = 0; i < timeline->count; i++) {
		const struct timeline_thread *thread = &timeline->threads[i];
		char path[64], name[WATCH_NAME_BYTES];
		(void)snprintf(path, sizeof path, "/proc/%u/task/%u/comm", thread->pid,
			thread->tid); /* fits */
		if (thread->tid == 0 || readfile_line("", path, name, sizeof name) < 0)
			continue;
		int status = emit_thread_name(timeline, thread, end_ns, name);
		if (status < 0)
			return status;
	}
	return 0;
}

int bpf_timeline_finish(struct bpf_timeline *timeline, uint64_t end_ns, uint64_t lost)
{
	int status = name_living(timeline, end_ns);
	if (status < 0)
		return status;
	for (size_t i = 0; lost > 0 && i < timeline->processes.slot_count; i++) {
		if (!timeline->processes.slots[i].is_used)
			continue;
		uint32_t pid = (uint32_t)timeline->processes.slots[i].a;
		const struct event event = {
			.time_ns = end_ns, .pid = pid, .tid = pid, .kind = EVENT_LOST, .value = lost
		};
		lost = 0;
		status = emit(timeline, &event);
	}
	return status < 0 ? status : sink_finish(&timeline->sink, end_ns, &timeline->err);
}
