/* SPDX-License-Identifier: MIT */
/*
 * LLVM's OpenMP runtime (libomp), and others that speak OMPT: what omp.c does for GCC's by its entry
 * points, from the runtime's own word. A thread that waits in a barrier, spinning or asleep, waits,
 * and what it calls meanwhile is part of that. Between two parallel regions the threads of a team wait
 * at the end of the first: then who opens the second lets them go.
 *
 * Barriers are called after the region that they are in: the place of its call.
 */
#include "ompt.h"

#include "live.h"
#include "omp.h"
#include "stack.h"
#include "trace.h"
#include "tuned.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

enum {
	REGIONS_MAX = 8,
	WAITS_MAX = 8
}; /* inside one another: barrier, task, taskwait, task, ...; deeper ones count as work */

/* A team at work: from the begin of its parallel region to the end. */
struct team {
	const void *caller;
	uint64_t size; /* 0: not known yet */
	struct tuned_body *tuned;
	int own; /* the default of who opened it, if that was changed; else 0 */
	unsigned given; /* to this */
	/* As in omp.c: who was last at a barrier. */
	uint64_t arrivals;
	uint64_t round_place;
	struct birth round;
};

struct omp_wait {
	const void *object, *caller;
	const union ompt_data *task; /* who waits: while others run, this does not */
	struct team *team; /* may be over */
	uint64_t start_ns; /* of the part that is open */
	uint64_t place;
	bool is_open;
};

static __thread struct omp_wait waits[WAITS_MAX] __attribute__((tls_model("initial-exec")));
static __thread uint32_t wait_count __attribute__((tls_model("initial-exec")));
static __thread uint64_t acquire_ns __attribute__((tls_model("initial-exec")));

/* Hints, written by whoever opens and closes regions: within a wait they are its end. */
static struct birth opened;
static uint64_t closed_ns;

/* The runtime is also the one behind GCC's entry points: regions of those are omp.c's. */
static bool is_gomp_too;

static uintptr_t runtime_bias; /* where the runtime is loaded */

static bool has_gomp_regions(void)
{
	return is_gomp_too && omp_has_regions;
}

static bool is_ours(void)
{
	return sink_mode != SINK_OFF && !has_gomp_regions();
}

static struct birth open_wait(struct omp_wait *wait)
{
	wait->start_ns = clock_ns();
	wait->is_open = true;
	omp_is_waiting = true;
	if (is_live())
		live_pause();
	return is_tracing() ? trace_park(SYNC_OMP, wait->object, 0, wait->caller)
			    : (struct birth){ 0 };
}

/* `by`: who let it go, if that is known. `until_ns`: what is later is not the region's fault. */
static void close_wait(struct omp_wait *wait, struct birth by, uint64_t until_ns)
{
	if (!wait->is_open)
		return;
	wait->is_open = false;
	omp_is_waiting = false;
	if (is_tracing()) {
		trace_unpark(by);
		return;
	}
	if (is_live()) {
		live_resume();
		return;
	}
	uint64_t end_ns = clock_ns();
	if (until_ns > wait->start_ns && until_ns < end_ns)
		end_ns = until_ns;
	if (end_ns - wait->start_ns >= OMP_NOTICEABLE_NS)
		wait_add(SYNC_OMP, 1, end_ns - wait->start_ns, wait->caller);
}

/* Parallel regions. */

/* The runtime's own: another one may be loaded too. */
static void (*set_num_threads)(int threads);
static int (*get_max_threads)(void);

/* What regions have changed of a thread that opened them: its default, and to what. 0: nothing. */
static __thread struct {
	int own, given;
} changed __attribute__((tls_model("initial-exec")));

/* Behind a region of one thread the runtime has what we gave that again, whatever was set at its end. */
unsigned ompt_default(void)
{
	int now = get_max_threads();
	if (changed.own > 0 && now == changed.given)
		set_num_threads(now = changed.own);
	return (unsigned)now;
}

bool ompt_has_default(void)
{
	return changed.own > 0;
}

void ompt_default_set(void)
{
	changed.own = 0;
}

/* The runtime asks for its default after it has told of the region; who names a number does not ask. Whether it was changed. */
static bool tune_region(struct tuned_body *body, unsigned requested)
{
	if (!tuned_is_on() || has_gomp_regions() || !set_num_threads || !get_max_threads)
		return false;
	bool is_named = requested != (unsigned)get_max_threads();
	unsigned own = ompt_default();
	unsigned given = tuned_threads(body, 0, is_named ? requested : 0, own);
	if (is_named || given == 0 || given == own)
		return false;
	changed.own = (int)own;
	changed.given = (int)given;
	set_num_threads(changed.given);
	return true;
}

static void on_parallel_begin(union ompt_data *task, const void *frame, union ompt_data *parallel,
	unsigned requested, int flags, const void *caller)
{
	(void)task;
	(void)frame;
	(void)flags;
	struct tuned_body *body = tuned_find(caller);
	bool is_changed = tune_region(body, requested);
	if (!is_ours() && !body)
		return;
	int kept = errno;
	struct team *team = calloc(1, sizeof(*team));
	errno = kept;
	parallel->ptr = team;
	if (team) {
		team->caller = caller;
		team->tuned = body;
		team->own = is_changed ? changed.own : 0;
		team->given = (unsigned)changed.given;
	}
	if (is_tracing())
		opened = trace_birth();
}

/* All of the team have arrived at its end by now. */
static void on_parallel_end(
	union ompt_data *parallel, union ompt_data *task, int flags, const void *caller)
{
	(void)task;
	(void)flags;
	(void)caller;
	if (!has_gomp_regions()) {
		if (changed.own > 0)
			set_num_threads(changed.own);
		tuned_region_ended();
	}
	struct team *team = parallel->ptr;
	parallel->ptr = NULL;
	if (team)
		closed_ns = clock_ns();
	free(team);
}

/* Regions whose bodies this thread runs, one within the other. */
static __thread struct {
	struct tuned_body *body;
	unsigned outer;
} running[REGIONS_MAX] __attribute__((tls_model("initial-exec")));
static __thread uint32_t running_count __attribute__((tls_model("initial-exec")));

static void enter_region(const struct team *team, unsigned size)
{
	unsigned outer = tuned_enter();
	if (running_count++ < REGIONS_MAX) {
		running[running_count - 1].body = team ? team->tuned : NULL;
		running[running_count - 1].outer = outer;
	}
	if (!team || team->own == 0)
		return;
	if (size > team->given)
		tuned_saw(TUNED_NAMES);
	set_num_threads(team->own); /* its teams inside have the program's default */
}

static void leave_region(void)
{
	if (running_count == 0 || --running_count >= REGIONS_MAX)
		return;
	tuned_leave(running[running_count].body, running[running_count].outer);
}

static void on_implicit_task(int endpoint, union ompt_data *parallel, union ompt_data *task,
	unsigned size, unsigned index, int flags)
{
	struct team *team = parallel ? parallel->ptr : NULL;
	if (endpoint == OMPT_SCOPE_BEGIN && task)
		task->value = flags & OMPT_TASK_INITIAL ? 0 : index;
	if (endpoint == OMPT_SCOPE_BEGIN && team)
		__atomic_store_n(&team->size, size, __ATOMIC_RELAXED);
	if (!tuned_is_on() || (flags & OMPT_TASK_INITIAL))
		return;
	if (endpoint == OMPT_SCOPE_BEGIN)
		enter_region(team, size);
	else
		leave_region();
}

/* Each thread of the team tells of all of the loop: the first one is asked. */
static void on_work(int kind, int endpoint, const union ompt_data *parallel,
	const union ompt_data *task, uint64_t count, const void *caller)
{
	(void)parallel;
	(void)caller;
	bool is_loop = kind == OMPT_WORK_LOOP ||
		       (kind >= OMPT_WORK_LOOP_STATIC && kind <= OMPT_WORK_LOOP_OTHER);
	if (endpoint != OMPT_SCOPE_BEGIN || has_gomp_regions())
		return;
	if (kind == OMPT_WORK_LOOP || kind == OMPT_WORK_LOOP_STATIC)
		tuned_saw(TUNED_SHARES);
	else if (is_loop || kind == OMPT_WORK_SECTIONS)
		tuned_saw(TUNED_DIVIDES);
	if (is_loop && task && task->value == 0)
		tuned_iterations(count);
}

/* Waits. */

/* The others are let go in the very instant of the last one's arrival. */
static void arrive(struct omp_wait *wait, struct birth arrival)
{
	struct team *team = wait->team;
	uint64_t size = __atomic_load_n(&team->size, __ATOMIC_RELAXED);
	wait->place = __atomic_add_fetch(&team->arrivals, 1, __ATOMIC_ACQ_REL);
	if (size == 0 || wait->place % size != 0)
		return;
	team->round = arrival;
	__atomic_store_n(&team->round_place, wait->place, __ATOMIC_RELEASE);
}

static bool is_barrier(int kind)
{
	return kind != OMPT_SYNC_TASKWAIT && kind != OMPT_SYNC_TASKGROUP &&
	       kind != OMPT_SYNC_REDUCTION;
}

/* A function that ends with a barrier jumps there: the return address is the runtime's. */
static const void *site_of(const void *caller, const struct team *team)
{
	uintptr_t bias = 0;
	bool is_known = caller && stack_module(caller, &bias) && bias != runtime_bias;
	return is_known ? caller : team->caller;
}

static void begin_wait(
	int kind, const union ompt_data *parallel, const union ompt_data *task, const void *caller)
{
	struct omp_wait *wait = &waits[wait_count - 1];
	*wait = (struct omp_wait){ .task = task, .team = parallel ? parallel->ptr : NULL };
	if (!wait->team || !is_ours())
		return;
	wait->caller = site_of(caller, wait->team);
	/* Where the call is, not where it returns to: that has the line. */
	wait->object = (const char *)wait->team->caller - 1;
	struct birth arrival = open_wait(wait);
	if (is_barrier(kind))
		arrive(wait, arrival);
}

/*
 * The threads that a team keeps leave the end of a region without one: they are let go by who opens
 * the next. The memory of their team is not theirs any more.
 */
static void end_wait(struct omp_wait *wait, const union ompt_data *parallel)
{
	const struct team *team = parallel ? parallel->ptr : NULL;
	struct birth by = { 0 };
	if (!parallel && opened.time_ns >= wait->start_ns)
		by = opened;
	else if (team && team == wait->team && wait->place > 0 &&
		 __atomic_load_n(&team->round_place, __ATOMIC_ACQUIRE) >= wait->place)
		by = team->round;
	close_wait(wait, by, parallel ? 0 : closed_ns);
}

static void on_sync_region_wait(int kind, int endpoint, union ompt_data *parallel,
	union ompt_data *task, const void *caller)
{
	if (endpoint == OMPT_SCOPE_BEGIN && ++wait_count <= WAITS_MAX)
		begin_wait(kind, parallel, task, caller);
	else if (endpoint == OMPT_SCOPE_END && wait_count > 0 && wait_count-- <= WAITS_MAX)
		end_wait(&waits[wait_count], parallel);
}

/* Who waits runs tasks meanwhile: that is work. */
static void on_task_schedule(union ompt_data *prior, int status, union ompt_data *next)
{
	(void)prior;
	(void)status;
	if (wait_count == 0 || wait_count > WAITS_MAX || !next || !is_ours())
		return;
	struct omp_wait *wait = &waits[wait_count - 1];
	if (!wait->team)
		return;
	if (next == wait->task && !wait->is_open)
		wait->team->round =
			open_wait(wait); /* it has arrived already; nobody goes on sooner */
	else if (next != wait->task)
		close_wait(wait, (struct birth){ 0 }, 0);
}

/* Critical sections, atomics that the processor has not, ordered. */

static void on_mutex_acquire(
	int kind, unsigned hint, unsigned implementation, uint64_t id, const void *caller)
{
	(void)hint;
	(void)implementation;
	(void)id;
	(void)caller;
	if (kind >= OMPT_MUTEX_CRITICAL && is_ours())
		acquire_ns = omp_asks();
}

static void on_mutex_acquired(int kind, uint64_t id, const void *caller)
{
	if (kind < OMPT_MUTEX_CRITICAL || acquire_ns == 0 || !is_ours())
		return;
	omp_entered((const void *)(uintptr_t)id, acquire_ns,
		kind == OMPT_MUTEX_ORDERED ? ACQUIRE_ORDERED : 0, caller);
	acquire_ns = 0;
}

static void on_mutex_released(int kind, uint64_t id, const void *caller)
{
	const void *lock = (const void *)(uintptr_t)id;
	if (kind >= OMPT_MUTEX_CRITICAL && is_ours())
		(void)released(SINK_OMP_LOCK, lock, 0, releases(lock), 0, caller);
}

/* The tool. */

static void find_settings(const void *runtime)
{
	Dl_info file;
	void *handle = dladdr(runtime, &file) && file.dli_fname
			       ? dlopen(file.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
			       : NULL;
	if (!handle)
		return;
	set_num_threads = (void (*)(int))dlsym(handle, "omp_set_num_threads");
	get_max_threads = (int (*)(void))dlsym(handle, "omp_get_max_threads");
	(void)dlclose(handle); /* it stays: it has called us */
}

static int initialize(ompt_lookup *lookup, int device, union ompt_data *data)
{
	static const struct {
		enum ompt_event event;
		ompt_callback *callback;
	} callbacks[] = {
		{ OMPT_PARALLEL_BEGIN, (ompt_callback *)on_parallel_begin },
		{ OMPT_PARALLEL_END, (ompt_callback *)on_parallel_end },
		{ OMPT_TASK_SCHEDULE, (ompt_callback *)on_task_schedule },
		{ OMPT_IMPLICIT_TASK, (ompt_callback *)on_implicit_task },
		{ OMPT_WORK, (ompt_callback *)on_work },
		{ OMPT_SYNC_REGION_WAIT, (ompt_callback *)on_sync_region_wait },
		{ OMPT_MUTEX_RELEASED, (ompt_callback *)on_mutex_released },
		{ OMPT_MUTEX_ACQUIRE, (ompt_callback *)on_mutex_acquire },
		{ OMPT_MUTEX_ACQUIRED, (ompt_callback *)on_mutex_acquired },
	};
	(void)device;
	(void)data;
	ompt_set_callback *set = (ompt_set_callback *)lookup("ompt_set_callback");
	if (!set)
		return 0;
	const void *gomp = dlsym(RTLD_NEXT, "GOMP_parallel");
	uintptr_t gomp_bias = 0;
	bool is_known = stack_module((const void *)(uintptr_t)lookup, &runtime_bias);
	is_gomp_too =
		is_known && gomp && stack_module(gomp, &gomp_bias) && gomp_bias == runtime_bias;
	find_settings((const void *)(uintptr_t)lookup);
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++)
		(void)set(callbacks[i].event,
			callbacks[i].callback); /* what it has not is not seen */
	return 1;
}

static void finalize(union ompt_data *data)
{
	(void)data;
}

/* A tool that the user chose comes first: one runtime has one tool. So has ThreadSanitizer's. */
EXPORT struct ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct ompt_start_tool_result own = { initialize, finalize, { 0 } };
	ompt_start *next = (ompt_start *)dlsym(RTLD_NEXT, "ompt_start_tool");
	struct ompt_start_tool_result *other = next ? next(version, runtime) : NULL;
	const char *libraries = getenv("OMP_TOOL_LIBRARIES");
	if (other)
		return other;
	bool is_wanted = (sink_mode != SINK_OFF || tuned_is_on()) && !(libraries && *libraries) &&
			 !dlsym(RTLD_DEFAULT, "__tsan_init");
	return is_wanted ? &own : NULL;
}
