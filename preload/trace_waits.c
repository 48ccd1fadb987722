/* SPDX-License-Identifier: MIT */
/* Waits in a trace: a WAIT row, then a PASS row that tells since when the thread could go on. */
#include "kernel_clock.h"
#include "traced_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

enum {
	MEASURED_WAITS = 64,
	CHECKED_WAITS = 16,
	AVERAGED_WAITS = 8,
};

/* Whose interposers call waited(), if the wait does not end by cancellation. */
static bool says_result(uint32_t kind)
{
	return kind <= SYNC_JOIN && kind != SYNC_BARRIER;
}

static bool open_wait(struct wait *wait, uint32_t kind, const void *object, const void *caller)
{
	/* A signal handler that interrupted this library: its wait is part of what it interrupted. */
	if (self.is_busy || !enter())
		return false;
	if (is_nested(wait)) {
		leave();
		return false;
	}
	*wait = (struct wait){
		.start_ns = now(),
		.kind = kind,
		.object = object,
		.caller = caller,
		.is_counted = true,
		.has_failed = says_result(kind), /* unless it says otherwise */
	};
	return true;
}

static bool is_io(const struct wait *wait)
{
	return wait->kind == SINK_IO || wait->kind == SINK_POLL;
}

/* The kernel may have nothing to wait for. */
static bool may_not_block(const struct wait *wait)
{
	return is_io(wait) || wait->kind == SINK_FUTEX;
}

/* Waits that take little of the processor, whatever they are for: nothing is copied, nobody spins. */
static bool is_light(const struct wait *wait)
{
	return wait->kind == SINK_POLL || wait->kind == SYNC_LOCK || wait->kind == SYNC_COND ||
	       wait->kind == SYNC_SEM || wait->kind == SINK_FUTEX;
}

/* Who is not awake after such a wait has slept, as a rule, or spun a while before that. */
static bool is_for_others(const struct wait *wait)
{
	return is_light(wait) || wait->kind == SYNC_OMP || wait->kind == SYNC_BARRIER ||
	       wait->kind == SINK_OMP_LOCK;
}

/* Within the budget the CPU time of such waits is estimated, but the readings would take much of it. */
static bool is_checked(const struct wait *wait)
{
	const struct budget *budget = &self.budget;
	return budget->reads_much && !budget->is_over && is_for_others(wait);
}

/*
 * Reading the CPU clock costs more than the rest of recording a wait: over the budget, one of MEASURED_WAITS does it, and
 * one of CHECKED_WAITS where the readings take much of the budget.
 */
static void choose_clock(struct wait *wait)
{
	struct budget *budget = &self.budget;
	if (++budget->waits - budget->look_mark.waits >= budget->look_waits)
		budget_look();
	bool is_measured_seldom = budget->is_over && is_light(wait);
	if (self.cpu.shows_sleep && (is_measured_seldom || is_checked(wait)))
		wait->is_estimated =
			++budget->turn % (budget->is_over ? MEASURED_WAITS : CHECKED_WAITS) != 0;
	if (budget->is_over && !wait->is_estimated)
		(void)cpu_clock_read(&self.cpu, wait->start_ns); /* those before were estimated */
}

/* Not where the user said otherwise. (In a profiled run we did: there is no time to spin in the emulator.) */
static bool runtimes_spin;

static uint32_t spins(uint32_t kind)
{
	return runtimes_spin && (kind == SYNC_OMP || kind == SINK_OMP_LOCK) ? TRACE_SPINS : 0;
}

static void put_wait(struct wait *wait, uint64_t value)
{
	if (self.budget.is_on)
		choose_clock(wait);
	if (self.budget.held_count > 0)
		budget_tell_held();
	self.before = (struct before){ self.lane.last_ns, self.lead_ns, self.cpu_ns, self.stretch,
		self.again };
	self.cpu.puts_off = wait->is_estimated && self.budget.is_over;
	if (may_not_block(wait) || self.budget.is_on)
		wait->cpu_ns = cpu_clock_real_ns(&self.cpu, wait->start_ns);
	if (may_not_block(wait) && self.slot)
		wait->sleeps = kernel_sleeps();
	wait->row = put(wait->start_ns,
		head_of(TRACE_WAIT, wait->kind,
			(wait->is_shared ? TRACE_SHARED : 0) | spins(wait->kind)),
		(uintptr_t)wait->object, wait->caller, value);
	self.cpu.puts_off = false;
	if (self.lane.used == ROW)
		self.before.again = NULL; /* it was on the desk of before */
	self.current = wait;
	self.current_kind = wait->kind;
}

void trace_wait_begin(
	struct wait *wait, uint32_t kind, const void *object, uint32_t flags, const void *caller)
{
	if (!open_wait(wait, kind, object, caller))
		return;
	wait->is_shared = flags & TRACE_SHARED;
	uint64_t value = 0;
	if (kind == SYNC_BARRIER)
		wait->place = wake_arrive(object, &wait->start_ns, self.tid);
	else if (kind == SYNC_JOIN)
		value = trace_tid_of(object);
	else if (kind == SYNC_LOCK && self.budget.is_on)
		wake_wait(object, wait->start_ns);
	put_wait(wait, value);
	leave();
}

void trace_wait_begin_cond(
	struct wait *wait, const void *cond, const void *mutex, const void *caller)
{
	if (!open_wait(wait, SYNC_COND, cond, caller))
		return;
	wait->mutex = mutex;
	if (self.budget.held_count > 0) {
		budget_tell_held();
		budget_forget(mutex);
	}
	wake_note(mutex, wait->start_ns, self.tid);
	put(wait->start_ns, head_of(TRACE_RELEASE, SYNC_LOCK, TRACE_IMPLICIT), (uintptr_t)mutex,
		caller, 0);
	put_wait(wait, (uintptr_t)mutex);
	if (!wait->is_estimated && wake_lets_all_go(cond))
		wait->sleeps = kernel_sleeps();
	leave();
}

/* Not every unlock is noted, but the one that ends a wait is later than the try before that wait. */
static struct wake find_unlock(const struct wait *wait)
{
	struct wake wake = wake_find(wait->object);
	return wake.time_ns + RELOCK_NS < wait->start_ns ? (struct wake){ 0 } : wake;
}

static struct wake find_waker(const struct wait *wait)
{
	if (wait->woken_ns || wait->has_failed)
		return (struct wake){ wait->woken_ns, wait->woken_by };
	switch (wait->kind) {
	case SYNC_BARRIER:
		return wake_round(wait->object, wait->place);
	case SINK_IO:
		return wait->is_for_signal ? wake_find(trace_signals) : (struct wake){ 0 };
	case SYNC_OMP:
	case SINK_SLEEP:
	case SINK_POLL:
		return (struct wake){ 0 };
	case SYNC_LOCK:
		return find_unlock(wait);
	case SYNC_COND:
	case SINK_FUTEX:
		return wake_take(wait->object, wait->start_ns);
	default:
		return wake_find(wait->object);
	}
}

static void put_pass(const struct wait *wait, uint64_t time_ns, struct wake wake)
{
	uint32_t flags = TRACE_WAITED | (wait->is_shared ? TRACE_SHARED : 0) |
			 (wait->is_ordered ? TRACE_ORDERED : 0) |
			 (wait->has_failed ? TRACE_TIMED_OUT : 0);
	wake.time_ns = within(wake.time_ns, wait->start_ns, time_ns);
	put(time_ns, head_of(TRACE_PASS, wait->kind, flags), (uintptr_t)wait->object, wait->caller,
		trace_since(time_ns, wake.time_ns, wake.tid));
}

/*
 * Whether it slept for the mutex as well. Of a mutex that was free when the waiter got a core, others' unlocks tell nothing: who is
 * let go alone meets the one that let it go, if that still has the mutex, and seldom others.
 */
static bool waited_twice(const struct wait *wait, struct wake wake, struct wake unlock)
{
	if (unlock.tid == self.tid || unlock.time_ns < wake.time_ns + RELOCK_NS)
		return false;
	return wait->sleeps ? kernel_sleeps() - wait->sleeps > 1 : unlock.tid == wake.tid;
}

/*
 * After a signal the waiter needs the mutex again. If its holder kept it, that was a second wait:
 *
 *	wait          signal            unlock    on a core
 *	|--- cond ----|----- mutex -----|---------|
 */
static void pass_cond(const struct wait *wait, uint64_t time_ns, struct wake wake)
{
	struct wake unlock = wake_find(wait->mutex);
	uint64_t signal_ns = within(wake.time_ns, wait->start_ns, time_ns);
	struct head acquire = head_of(TRACE_PASS, SYNC_LOCK, TRACE_IMPLICIT);
	if (!signal_ns || !waited_twice(wait, (struct wake){ signal_ns, wake.tid }, unlock)) {
		put_pass(wait, time_ns, wake);
		put(time_ns, acquire, (uintptr_t)wait->mutex, wait->caller, 0);
		return;
	}
	put_pass(wait, signal_ns, wake);
	put(signal_ns, head_of(TRACE_WAIT, SYNC_LOCK, TRACE_IMPLICIT), (uintptr_t)wait->mutex,
		wait->caller, 0);
	acquire.flags |= TRACE_WAITED;
	put(time_ns, acquire, (uintptr_t)wait->mutex, wait->caller,
		trace_since(time_ns, within(unlock.time_ns, signal_ns, time_ns), unlock.tid));
}

const char trace_signals[1];

/* Nothing has been recorded since. */
static bool is_last(const struct wait *wait)
{
	return wait->row && wait->row + 1 == lane_row(&self.lane);
}

void trace_wait_tell(const struct wait *wait, uint64_t value)
{
	if (wait->is_counted && is_last(wait))
		wait->row->value = value;
}

enum trace_io trace_io_of(mode_t mode)
{
	return S_ISREG(mode) || S_ISBLK(mode) ? TRACE_IO_FILE
	       : S_ISSOCK(mode)               ? TRACE_IO_SOCKET
	       : S_ISFIFO(mode)               ? TRACE_IO_PIPE
					      : TRACE_IO_OTHER;
}

/* What the descriptor of a call is. Keeps errno. */
static void look_up(const struct wait *wait)
{
	struct stat about;
	int kept = errno;
	own_calls_begin();
	if (fstat((int)(intptr_t)wait->object, &about) == 0)
		trace_wait_tell(wait, trace_io_of(about.st_mode));
	own_calls_end();
	errno = kept;
}

static bool tells_files;

void trace_waits_attach(const struct trace_header *header)
{
	tells_files = header->tells_files;
	const char *policy = getenv("OMP_WAIT_POLICY");
	bool is_passive = policy && strcasecmp(policy, "passive") == 0;
	runtimes_spin = getenv(PROFILE_PAGE_ENVIRONMENT) ||
			!(is_passive || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME"));
}

static bool is_of_told_file(const struct wait *wait)
{
	if (!tells_files || wait->kind != SINK_IO)
		return false;
	if (wait->row->value == TRACE_IO_UNKNOWN)
		look_up(wait);
	return wait->row->value == TRACE_IO_FILE;
}

/* The WAIT of a call that did not block had to be there in case the call never ends. */
static bool can_take_back(const struct wait *wait)
{
	return may_not_block(wait) && is_last(wait) && !is_of_told_file(wait);
}

static void forget_wait(struct trace_record *row)
{
	self.lane.used -= ROW;
	lane_commit(&self.lane, 0);
	*row = (struct trace_record){ 0 };
	/* What is next is counted from the row before, which readers see. */
	self.lane.last_ns = self.before.last_ns;
	self.lead_ns = self.before.lead_ns;
	self.cpu_ns = self.before.cpu_ns;
	self.again = self.before.again;
	self.stretch = self.before.stretch;
}

/* A thread in an emulator that lost its core has not blocked: the program would not have waited. */
static bool has_blocked(const struct wait *wait, uint64_t time_ns)
{
	if (self.slot && kernel_sleeps() == wait->sleeps)
		return false;
	uint64_t took_ns = time_ns - wait->start_ns;
	uint64_t least_ns = wait->kind == SINK_POLL ? POLLED_NS : BLOCKED_NS;
	return took_ns >= least_ns &&
	       took_ns >= cpu_clock_real_ns(&self.cpu, time_ns) - wait->cpu_ns + least_ns;
}

static bool take_back(const struct wait *wait, uint64_t time_ns)
{
	if (!can_take_back(wait) || has_blocked(wait, time_ns))
		return false;
	forget_wait(wait->row);
	return true;
}

/* Less than nothing: the thread lost its core between two looks at its clocks. */
static void average_wait(uint64_t cpu_ns, uint64_t took_ns)
{
	if (cpu_ns <= took_ns)
		self.wait_cpu_ns =
			(self.wait_cpu_ns * (AVERAGED_WAITS - 1) + cpu_ns) / AVERAGED_WAITS;
}

/* What a wait takes on average, and a part of what the clock is behind. */
static uint64_t estimate_wait(uint64_t took_ns)
{
	int64_t typical_ns = (int64_t)self.wait_cpu_ns;
	int64_t cpu_ns = typical_ns + self.cpu.behind_ns / CHECKED_WAITS;
	int64_t most_ns = (int64_t)took_ns;
	cpu_ns = cpu_ns < 0 ? 0 : cpu_ns > most_ns ? most_ns : cpu_ns;
	self.cpu.behind_ns -= cpu_ns - typical_ns;
	return (uint64_t)cpu_ns;
}

/*
 * The clock goes on as if it was estimated, and makes up for what it was behind within the next waits: work between waits
 * takes what it took.
 */
static void check_estimates(const struct wait *wait, uint64_t time_ns, uint64_t took_ns)
{
	uint64_t shown_ns = wait->cpu_ns + estimate_wait(took_ns);
	int64_t expected_ns = self.cpu.behind_ns, waits = (int64_t)self.cpu.estimates + 1;
	(void)cpu_clock_read(&self.cpu, time_ns);
	int64_t behind_ns = (int64_t)(time_ns + self.cpu.lead_ns - shown_ns);
	int64_t typical_ns = (int64_t)self.wait_cpu_ns + (behind_ns - expected_ns) / waits;
	self.wait_cpu_ns = typical_ns > 0 ? (uint64_t)typical_ns : 0;
	self.cpu.behind_ns = behind_ns;
	self.cpu.lead_ns -= (uint64_t)behind_ns;
}

/* After a wait in which the thread may have slept. */
static void settle_cpu(const struct wait *wait, uint64_t time_ns)
{
	bool is_settled = is_light(wait) || is_checked(wait);
	if (!self.cpu.shows_sleep || !is_settled || cpu_clock_is_awake(&self.cpu))
		return;
	uint64_t took_ns = time_ns - wait->start_ns;
	if (wait->is_estimated) {
		cpu_clock_set(&self.cpu, time_ns, wait->cpu_ns + estimate_wait(took_ns));
		return;
	}
	if (is_checked(wait) && self.cpu.estimates > 0) {
		check_estimates(wait, time_ns, took_ns);
		return;
	}
	(void)cpu_clock_read(&self.cpu, time_ns);
	average_wait(time_ns + self.cpu.lead_ns - wait->cpu_ns, took_ns);
}

/* The WAIT row tells of its end, too, if that is all that there is to tell. A kill between the two stores leaves a wait of 0 ns. */
static bool end_in_row(const struct wait *wait, uint64_t time_ns, struct wake wake)
{
	if (!is_io(wait) || !is_last(wait) || wake.time_ns || wait->has_failed || self.slot)
		return false;
	struct trace_record *row = wait->row;
	uint64_t took_ns = time_ns - row->time_ns, cpu_ns = row_cpu_ns(time_ns) - row->cpu_ns;
	if (took_ns > UINT32_MAX || cpu_ns > TRACE_BOTH_CPU_MAX || row->flags != 0 ||
		row->value > TRACE_BOTH_VALUE_MAX)
		return false;
	__atomic_store_n(&row->flags, TRACE_BOTH, __ATOMIC_RELEASE);
	__atomic_store_n(&row->value, trace_both(row->value, took_ns, cpu_ns), __ATOMIC_RELEASE);
	self.lane.last_ns = time_ns;
	return true;
}

static void put_end(const struct wait *wait)
{
	if (cpu_clock_is_awake(&self.cpu) && can_take_back(wait)) {
		forget_wait(wait->row); /* it did not block, whatever the time is */
		return;
	}
	uint64_t time_ns = now();
	if (self.budget.is_on)
		settle_cpu(wait, time_ns);
	if (take_back(wait, time_ns))
		return;
	if (is_io(wait) && wait->row && wait->row->value == TRACE_IO_UNKNOWN)
		look_up(wait);
	struct wake wake = find_waker(wait);
	if (wait->kind == SYNC_COND)
		pass_cond(wait, time_ns, wake);
	else if (!end_in_row(wait, time_ns, wake))
		put_pass(wait, time_ns, wake);
}

void trace_wait_end(struct wait *wait)
{
	if (!enter())
		return;
	put_end(wait);
	if (self.current == wait)
		self.current = NULL;
	leave();
	if (!self.budget.is_on)
		return;
	if (wait->kind == SYNC_COND)
		budget_took(wait->mutex, wait->caller, false);
	else if (wait->kind == SYNC_LOCK && !wait->has_failed)
		wake_got(wait->object);
}

/* The last to arrive: it was awaited, and did not wait. */
void trace_wait_discard(struct wait *wait)
{
	wait->is_counted = false;
	if (!enter())
		return;
	struct wake wake = { wait->start_ns, self.tid };
	if (wait->kind == SYNC_BARRIER) {
		wake_complete(wait->object, wait->place, wait->start_ns, self.tid);
		struct wake known = wake_round(wait->object, wait->place);
		wake = known.time_ns ? known : wake;
	}
	put_pass(wait, now(), wake);
	if (self.current == wait)
		self.current = NULL;
	leave();
}

uint64_t trace_asks(void)
{
	uint64_t time_ns = now();
	if (self.state == THREAD_RECORDING && !self.is_busy)
		(void)cpu_clock_at(&self.cpu, time_ns);
	return time_ns;
}

void trace_wait_past(uint32_t kind, const void *object, uint32_t flags, uint64_t start_ns,
	uint64_t end_ns, const void *caller)
{
	char frame = 0;
	if (!enter())
		return;
	if (!is_nested(&frame)) {
		struct wait wait = { .start_ns = start_ns, .kind = kind, .object = object };
		wait.caller = caller;
		wait.is_ordered = flags & TRACE_ORDERED;
		put(start_ns, head_of(TRACE_WAIT, kind, spins(kind)), (uintptr_t)object, caller, 0);
		put_pass(&wait, end_ns, find_waker(&wait));
	}
	leave();
}

struct birth trace_park(uint32_t kind, const void *object, uint64_t value, const void *caller)
{
	struct wait *wait = &self.parked;
	struct birth now_here = { 0 };
	if (!enter())
		return now_here;
	*wait = (struct wait){ .kind = kind, .object = object, .caller = caller };
	wait->start_ns = now();
	wait->is_counted = true;
	put(wait->start_ns, head_of(TRACE_WAIT, kind, spins(kind)), (uintptr_t)object, caller,
		value);
	self.current = wait;
	self.current_kind = kind;
	now_here = (struct birth){ wait->start_ns, self.tid };
	leave();
	return now_here;
}

void trace_unpark(struct birth by)
{
	if (!self.parked.is_counted || !enter())
		return;
	self.parked.is_counted = false;
	self.current = NULL;
	put_pass(&self.parked, now(), (struct wake){ by.time_ns, by.parent });
	leave();
}

/* The wait is interrupted: it begins anew behind the task. */
void trace_task_begin(struct task *task)
{
	struct wait *wait = self.parked.is_counted ? &self.parked : self.current;
	if (!wait || !enter())
		return;
	task->interrupted = wait;
	task->start_ns = now();
	put_pass(wait, task->start_ns, (struct wake){ task->start_ns, 0 });
	self.current = NULL;
	self.parked.is_counted = false;
	leave();
}

void trace_task_end(struct task *task)
{
	if (!enter())
		return;
	struct wait *wait = task->interrupted;
	wait->start_ns = now();
	put(wait->start_ns, head_of(TRACE_WAIT, wait->kind, spins(wait->kind)),
		(uintptr_t)wait->object, wait->caller, 0);
	wait->is_counted = true;
	self.current = wait;
	leave();
}
