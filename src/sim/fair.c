/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fair scheduler, after Linux's since 6.6 (kernel/sched/fair.c; I. Stoica, H. Abdel-Wahab, "Earliest
 * Eligible Virtual Deadline First", 1995), all threads having the same weight.
 *
 * Each cpu has a queue. The virtual time of a thread is what it had of its cpu; V is the mean over the
 * cpu's threads. Of the threads that are not ahead of V (eligible) the one with the earliest deadline
 * runs; a deadline is a slice after the virtual time at which the slice began. A thread loses its cpu at
 * a tick when its slice is over, or when another one is woken that would be the next, and it is not eligible itself.
 *
 * What a thread is owed (its lag: V less its virtual time) goes with it to another cpu, and stays with it
 * when it sleeps. One that owes is kept in the queue when it sleeps, and counts in V, until it is its
 * turn, when the debt is paid; woken before that, it goes on in that queue. So a thread that computes
 * among others that often sleep is nearly always ahead of V, and makes room for each that is woken.
 *
 * A thread that is woken goes to an idle cpu, the one it had if that idles, else to the queue of that. A
 * cpu that has no thread left takes one from the longest queue, but none that ran just now, whose data
 * are in the other one's cache; at the tick a busy cpu, however briefly its threads run, passes one on to each idle one; and now and then
 * one takes from a queue that is longer by two and was so for long. So shares are unequal for a while,
 * and a cpu may idle beside threads that wait.
 */
#include "sim/fair.h"

#include "sim/cores.h"
#include "sim/dist.h"
#include "sim/idle_scan.h"

#include <errno.h>

/* A busy cpu looks for longer queues after each so long, times the cpus: sd->busy_factor of 16, 1 ms;
   see is_overloaded(). */
enum { BALANCE_NS = 16000000, OVERLOADED_NS = 50000000 };

/* sd->cache_nice_tries */
enum { REFUSED_MAX = 1 };

/* From one cpu's tick to the next one's, as recorded with the kernel's own events. */
enum { TICK_TAKES_NS = 10000 };

/* Of a long queue only so many are looked at for one that is eligible. */
enum { LOOKS_MAX = 32 };

static uint64_t slice_of(const struct sim *sim)
{
	return (uint64_t)(int64_t)sim->options.quantum.a;
}

static uint64_t virtual_of_running(const struct sim *sim, const struct sim_thread *thread)
{
	return thread->virtual_ns + (thread->is_computing ? sim->now_ns - thread->segment_ns : 0);
}

static uint32_t waiting_on(const struct cpu *cpu)
{
	return (uint32_t)cpu->ready.count - cpu->kept;
}

/* That can run, or do. Others weigh more than a thread of a program that has several. */
static uint32_t load_of(const struct cpu *cpu)
{
	return waiting_on(cpu) + (cpu->thread != 0) + (cpu->is_taken ? 2 : 0);
}

static uint32_t thread_count(const struct cpu *cpu)
{
	return (uint32_t)cpu->ready.count + (cpu->thread != 0);
}

/* V: the mean of the virtual times of a cpu's threads. */
static uint64_t mean_virtual(struct sim *sim, const struct cpu *cpu)
{
	int64_t sum = cpu->virtual_sum;
	uint32_t count = thread_count(cpu);
	if (cpu->thread)
		sum += (int64_t)(virtual_of_running(sim, thread_of(sim, cpu->thread)) -
				 cpu->virtual_base);
	return count > 0 ? cpu->virtual_base + (uint64_t)(sum / (int64_t)count) : cpu->virtual_base;
}

/* Sums are of differences from a base that follows, so that they stay small. */
static void move_base(struct cpu *cpu, uint64_t base)
{
	cpu->virtual_sum -= (int64_t)(base - cpu->virtual_base) * (int64_t)cpu->ready.count;
	cpu->virtual_base = base;
}

/* A thread of the queue waits for the cpu; or does not any more. */
static void count_waiting(struct sim *sim, uint32_t number, bool is_more)
{
	struct cpu *cpu = &sim->cpus[number];
	if (is_more) {
		if (waiting_on(cpu) == 0)
			cpu->waited_since_ns = sim->now_ns;
		sim->queued++;
		bit_set(sim->waited_for, number);
		return;
	}
	sim->queued--;
	if (waiting_on(cpu) == 0)
		bit_clear(sim->waited_for, number);
}

int fair_enqueue(struct sim *sim, struct sim_thread *thread, uint32_t number)
{
	struct cpu *cpu = &sim->cpus[number];
	if (!thread->is_kept)
		count_waiting(sim, number, true);
	cpu->kept += thread->is_kept;
	if (thread->virtual_ns - cpu->virtual_base > UINT64_C(1) << 32)
		move_base(cpu, thread->virtual_ns);
	cpu->virtual_sum += (int64_t)(thread->virtual_ns - cpu->virtual_base);
	thread->queue = number;
	return pending_set(
		&cpu->ready, &sim->ready_places, thread->tid, thread->deadline_ns, sim->order++);
}

void fair_dequeue(struct sim *sim, struct sim_thread *thread)
{
	struct cpu *cpu = &sim->cpus[thread->queue];
	pending_remove(&cpu->ready, &sim->ready_places, thread->tid);
	cpu->virtual_sum -= (int64_t)(thread->virtual_ns - cpu->virtual_base);
	cpu->kept -= thread->is_kept;
	if (!thread->is_kept)
		count_waiting(sim, thread->queue, false);
	thread->is_kept = false;
}

/*
 * A thread comes to a cpu's queue from outside: its lag there is what it was, which its own coming
 * makes smaller by one of all threads.
 */
static void place(struct sim *sim, struct sim_thread *thread, const struct cpu *cpu, int64_t lag)
{
	int64_t others = thread_count(cpu);
	uint64_t slice_left = thread->deadline_ns - thread->virtual_ns;
	thread->virtual_ns = mean_virtual(sim, cpu);
	if (others > 0)
		thread->virtual_ns -= (uint64_t)(lag * (others + 1) / others);
	thread->deadline_ns = thread->virtual_ns + slice_left;
}

int fair_leave(struct sim *sim, struct sim_thread *thread)
{
	struct cpu *cpu = &sim->cpus[thread->cpu];
	int64_t most =
		(int64_t)(2 * slice_of(sim) > sim->tick_ns ? 2 * slice_of(sim) : sim->tick_ns);
	int64_t lag = (int64_t)(mean_virtual(sim, cpu) - thread->virtual_ns);
	thread->lag_ns = lag > most ? most : lag < -most ? -most : lag;
	if (cpu->ready.count == 0)
		cpu->virtual_base = thread->virtual_ns;
	if (lag >= 0 || waiting_on(cpu) == 0 || thread->state == THREAD_EXITED)
		return 0;
	thread->is_kept = true;
	return fair_enqueue(sim, thread, thread->cpu);
}

/* A sleeper's debt is paid, or nobody is there any more to whom it owes. */
static void drop(struct sim *sim, struct sim_thread *thread)
{
	fair_dequeue(sim, thread);
	thread->lag_ns = 0;
}

void fair_arrive(struct sim *sim, struct sim_thread *thread, uint32_t number, bool is_new)
{
	thread->virtual_ns = 0;
	thread->deadline_ns = is_new ? slice_of(sim) / 2 : slice_of(sim);
	place(sim, thread, &sim->cpus[number], thread->lag_ns);
}

int fair_wake_kept(struct sim *sim, struct sim_thread *thread)
{
	const struct cpu *cpu = &sim->cpus[thread->queue];
	bool is_paid = (int64_t)(mean_virtual(sim, cpu) - thread->virtual_ns) > 0;
	fair_dequeue(sim, thread);
	if (is_paid) {
		thread->lag_ns = 0;
		fair_arrive(sim, thread, thread->queue, false);
	}
	return fair_enqueue(sim, thread, thread->queue);
}

uint32_t fair_choose_queue(struct sim *sim, const struct sim_thread *thread, bool is_new)
{
	uint32_t last = thread->last_cpu;
	if (!is_new && last != SIM_NONE && cpu_is_allowed(sim, thread, last))
		return last;
	uint32_t best = SIM_NONE;
	if (thread->parent && thread_of(sim, thread->parent)->cpu != SIM_NONE &&
		cpu_is_allowed(sim, thread, thread_of(sim, thread->parent)->cpu))
		best = thread_of(sim, thread->parent)->cpu;
	for (uint32_t i = 0; i < sim->cpu_count; i++)
		if (cpu_is_allowed(sim, thread, i) &&
			(best == SIM_NONE || load_of(&sim->cpus[i]) < load_of(&sim->cpus[best])))
			best = i;
	return best;
}

static bool is_eligible(const struct sim_thread *thread, uint64_t mean_ns)
{
	return (int64_t)(thread->virtual_ns - mean_ns) <= 0;
}

/* The eligible thread of the heap's part below `at` with the earliest deadline, if that is before `best`. */
static uint32_t find_eligible(struct sim *sim, const struct pending *ready, size_t at,
	uint64_t mean_ns, uint32_t best, uint32_t *looks)
{
	if (at >= ready->count || *looks == 0)
		return best;
	--*looks;
	unsigned __int128 entry = ready->entries[at];
	if (best && pending_key(entry) >= thread_of(sim, best)->deadline_ns)
		return best;
	if (is_eligible(thread_of(sim, pending_slot(entry)), mean_ns))
		return pending_slot(entry);
	for (size_t i = 4 * at + 1; i <= 4 * at + 4; i++)
		best = find_eligible(sim, ready, i, mean_ns, best, looks);
	return best;
}

/* Who of those that wait for a cpu is next; 0: nobody, or nobody is eligible. */
static uint32_t first_of(struct sim *sim, const struct cpu *cpu)
{
	uint32_t best = 0;
	while (waiting_on(cpu) > 0) {
		uint32_t looks = LOOKS_MAX;
		best = find_eligible(sim, &cpu->ready, 0, mean_virtual(sim, cpu), 0, &looks);
		if (!best || !thread_of(sim, best)->is_kept)
			break;
		drop(sim, thread_of(sim, best));
	}
	return waiting_on(cpu) > 0 ? best : 0;
}

static uint32_t first_waiting(struct sim *sim, const struct cpu *cpu)
{
	size_t at = 0;
	while (thread_of(sim, pending_slot(cpu->ready.entries[at]))->is_kept)
		at++;
	return pending_slot(cpu->ready.entries[at]);
}

uint32_t fair_take(struct sim *sim, uint32_t number)
{
	struct cpu *cpu = &sim->cpus[number];
	uint32_t tid = first_of(sim, cpu);
	if (waiting_on(cpu) == 0) {
		while (cpu->ready.count > 0)
			drop(sim, thread_of(sim, pending_slot(cpu->ready.entries[0])));
		return 0;
	}
	if (!tid) /* the mean is cut to whole ns */
		tid = first_waiting(sim, cpu);
	fair_dequeue(sim, thread_of(sim, tid));
	return tid;
}

/* Moves a thread from another cpu's queue, the first that may use this one; 0: there is none. */
static uint32_t take_from(struct sim *sim, uint32_t from, uint32_t to)
{
	struct cpu *cpu = &sim->cpus[from];
	for (size_t i = 0; i < cpu->ready.count; i++) {
		struct sim_thread *thread = thread_of(sim, pending_slot(cpu->ready.entries[i]));
		if (thread->is_kept || !cpu_is_allowed(sim, thread, to))
			continue;
		bool has_run = thread->last_cpu != SIM_NONE;
		if (sim->tick_ns > 0 && has_run &&
			sim->now_ns - thread->ran_until_ns < sim->options.kernel.hot_ns &&
			cpu->refused <= REFUSED_MAX)
			continue;
		int64_t lag = (int64_t)(mean_virtual(sim, cpu) - thread->virtual_ns);
		fair_dequeue(sim, thread);
		place(sim, thread, &sim->cpus[to], lag);
		return thread->tid;
	}
	return 0;
}

/*
 * Linux takes a queue for overloaded when more than 0.85 threads were runnable on average, the past being
 * forgotten by half in 32 ms: n threads after -32 log2(1 - 0.85 / n) ms, which is about 50 / n.
 */
static bool is_overloaded(const struct sim *sim, const struct cpu *cpu)
{
	return (sim->now_ns - cpu->waited_since_ns) * load_of(cpu) >= OVERLOADED_NS;
}

/* From the longest queue of at least so many threads that has one for this cpu. */
static uint32_t pull(struct sim *sim, uint32_t to, uint32_t least, bool is_busy)
{
	uint32_t tid = 0;
	for (uint32_t most = UINT32_MAX; tid == 0 && most > least;) {
		uint32_t best = SIM_NONE, longest = 0;
		for (size_t i = 0; i < bit_words(sim); i++)
			for (uint64_t bits = sim->waited_for[i]; bits; bits &= bits - 1) {
				uint32_t cpu = (uint32_t)(64 * i) + (uint32_t)__builtin_ctzll(bits);
				uint32_t count = load_of(&sim->cpus[cpu]);
				if (cpu == to || count < least || count <= longest || count >= most)
					continue;
				if (is_busy && !is_overloaded(sim, &sim->cpus[cpu]))
					continue;
				best = cpu;
				longest = count;
			}
		if (best == SIM_NONE)
			return 0;
		tid = take_from(sim, best, to);
		most = longest;
	}
	return tid;
}

void fair_end_idle(const struct sim *sim, struct cpu *cpu)
{
	uint64_t most_ns = 2 * sim->options.kernel.hot_ns,
		 idle_ns = sim->now_ns - cpu->idle_since_ns;
	idle_ns = idle_ns < most_ns ? idle_ns : most_ns;
	cpu->idle_mean_ns += (uint64_t)((int64_t)(idle_ns - cpu->idle_mean_ns) / 8);
}

/* Linux does not look for threads if that takes longer than the cpu is likely to idle: hardly ever on bare machines (microseconds); in
   virtual ones the longest look of late, up to sched_migration_cost_ns, counts. */
static bool is_soon_busy(const struct sim *sim, const struct cpu *cpu)
{
	return (sim->options.kernel.wakes_in_place || sim->part_ticks > 1) &&
	       cpu->idle_mean_ns < sim->options.kernel.hot_ns;
}

uint32_t fair_steal(struct sim *sim, uint32_t number)
{
	return sim->queued > 0 && !is_soon_busy(sim, &sim->cpus[number])
		       ? pull(sim, number, 1, false)
		       : 0;
}

/* Whether its slice was over. */
static bool renew_deadline(const struct sim *sim, struct sim_thread *thread)
{
	uint64_t now = virtual_of_running(sim, thread);
	bool is_over = (int64_t)(now - thread->deadline_ns) >= 0;
	if (is_over)
		thread->deadline_ns = now + slice_of(sim);
	return is_over;
}

/* The first tick of a cpu at or after an instant. All have theirs together, but for the time that each takes. */
static uint64_t next_tick(const struct sim *sim, uint32_t number, uint64_t time_ns)
{
	uint64_t tick_ns = sim->tick_ns;
	if (tick_ns == 0)
		return time_ns;
	uint64_t offset_ns = TICK_TAKES_NS * number % tick_ns;
	return (time_ns - offset_ns + tick_ns + tick_ns - 1) / tick_ns * tick_ns + offset_ns -
	       tick_ns;
}

/* At the tick, or sooner for one of the kernel's threads. */
static void end_slice_at(struct sim *sim, struct cpu *cpu, uint64_t tick_ns)
{
	double mean_ns = (double)(int64_t)sim->options.kernel.brief_ns;
	cpu->slice_end_ns = tick_ns;
	if (mean_ns == 0 || sim->tick_ns == 0)
		return;
	if (cpu->brief_ns <= sim->now_ns)
		cpu->brief_ns = sim->now_ns + 1 + (uint64_t)(mean_ns * dist_exponential(&sim->rng));
	if (cpu->brief_ns < tick_ns)
		cpu->slice_end_ns = cpu->brief_ns;
}

void fair_begin_slice(struct sim *sim, struct sim_thread *thread)
{
	struct cpu *cpu = &sim->cpus[thread->cpu];
	(void)renew_deadline(sim, thread);
	thread->protected_ns = thread->deadline_ns;
	uint64_t left_ns = thread->deadline_ns - thread->virtual_ns;
	end_slice_at(
		sim, cpu, next_tick(sim, thread->cpu, sim->now_ns + (sim->tick_ns ? 1 : left_ns)));
}

/* For whom the thread that a cpu has must make room; 0: nobody. */
static uint32_t outruns(struct sim *sim, const struct cpu *cpu)
{
	struct sim_thread *running = thread_of(sim, cpu->thread);
	uint64_t mean_ns = mean_virtual(sim, cpu), now = virtual_of_running(sim, running);
	bool is_eligible_now = (int64_t)(now - mean_ns) <= 0;
	if (is_eligible_now && (int64_t)(running->protected_ns - now) > 0)
		return 0;
	uint32_t best = first_of(sim, cpu);
	bool is_before =
		best && (int64_t)(thread_of(sim, best)->deadline_ns - running->deadline_ns) < 0;
	return !is_eligible_now || is_before ? best : 0;
}

uint32_t fair_pass_on(struct sim *sim, uint32_t from, uint32_t to)
{
	return sim->cpus[from].refused + 1 >= sim->part_ticks ? take_from(sim, from, to) : 0;
}

bool fair_ends_slice(struct sim *sim, struct sim_thread *thread)
{
	struct cpu *cpu = &sim->cpus[thread->cpu];
	bool is_over = renew_deadline(sim, thread);
	bool was_brief = cpu->slice_end_ns == cpu->brief_ns;
	if (was_brief) /* the kernel's thread had its core in between */
		thread->protected_ns = virtual_of_running(sim, thread);
	if (sim->now_ns - sim->idle_scan.at_ns >= BALANCE_NS)
		idle_scan_update(sim);
	if (sim->queued > 0 && sim->now_ns >= cpu->balance_ns) {
		cpu->balance_ns = sim->now_ns + (uint64_t)BALANCE_NS * sim->cpu_count;
		uint32_t tid = pull(sim, thread->cpu, load_of(cpu) + 2, true);
		if (tid && fair_enqueue(sim, thread_of(sim, tid), thread->cpu) < 0)
			sim->failed = -ENOMEM;
	}
	if ((is_over || was_brief) && waiting_on(cpu) > 0 && outruns(sim, cpu))
		return true;
	uint64_t step = sim->tick_ns ? sim->tick_ns : slice_of(sim);
	end_slice_at(sim, cpu, next_tick(sim, thread->cpu, sim->now_ns + step));
	return false;
}

bool fair_preempts(struct sim *sim, const struct sim_thread *woken)
{
	const struct cpu *cpu = &sim->cpus[woken->queue];
	bool is_over = renew_deadline(sim, thread_of(sim, cpu->thread));
	uint32_t next = outruns(sim, cpu);
	return is_over ? next != 0 : next == woken->tid;
}

bool fair_is_waited_for(const struct sim *sim, uint32_t number)
{
	return waiting_on(&sim->cpus[number]) > 0;
}

void fair_yield(const struct sim *sim, struct sim_thread *thread)
{
	(void)renew_deadline(sim, thread);
	thread->virtual_ns = thread->deadline_ns;
	thread->deadline_ns += slice_of(sim);
}
