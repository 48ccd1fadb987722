/* SPDX-License-Identifier: MIT */
/*
 * With b the budget, of m recorded pairs and w waits that took T of CPU time:
 *
 *	own	= m * PAIR + w * WAIT + readings of the CPU clock	what recording cost
 *	allowed	= b * (T - own)
 *	rest	= own - m * PAIR + m * SKIP				what it costs in a gap as long
 *
 * A gap of n pairs keeps the whole within the budget when own + n/m * rest = (1 + n/m) * allowed. Where
 * rest alone is more than allowed, the gap is as long as it may be: then bursts cost next to nothing.
 *
 * Of a thread that mostly waits nearly everything would be left out so, though recording all of it takes no time that
 * anybody misses. So such threads share b / IDLE_PART of the time of the cores besides.
 */
#include "budget.h"

#include "traced_thread.h"

enum {
	BURST_PAIRS = 64,
	GAP_BURSTS = 255, /* at most: 1/256 of the pairs cost less than not recording the others */
	SLICE_PAIRS = 512,
	GAP_MAX_NS = 100000000, /* so that a phase with few locks is not left out */
	MILLION = 1000000,
	/* Beside the two readings of the clock; by bench/preload_overhead and bench/record_overhead. */
	PAIR_NS = 18,
	WAIT_NS = 60,
	MARK_NS = 50,
	SKIP_NS = 2,
	/* So large a part of the budget the readings of the CPU clock take before waits are estimated. */
	READINGS_PART = 4,
	MARKS_PART =
		4, /* and so large a part may be what is told of calls whose wait is not recorded */
	IDLE_PART = 5,
	MOSTLY = 10, /* who works for less than this part of the time mostly waits */
};

static struct {
	struct trace_header *header;
	uint32_t ppm, burst, gap; /* as in the header */
	uint32_t clock_ns, cpu_clock_ns; /* of a reading */
	bool knows_mutexes; /* plain_mutex.h */
} limits;

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The least of a few: nothing interrupted that. */
static uint32_t cost_of_clock(void)
{
	enum { TRIES = 4, READINGS = 16 };
	uint64_t least_ns = UINT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		uint64_t start_ns = clock_ns(), end_ns = start_ns;
		for (int j = 0; j < READINGS; j++)
			end_ns = clock_ns();
		if (end_ns - start_ns < least_ns)
			least_ns = end_ns - start_ns;
	}
	return (uint32_t)(least_ns / READINGS);
}

static uint32_t cost_of_cpu_clock(void)
{
	uint64_t least_ns = UINT64_MAX;
	for (int i = 0; i < 4; i++) {
		uint64_t start_ns = clock_ns();
		(void)kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t end_ns = clock_ns();
		if (end_ns - start_ns < least_ns)
			least_ns = end_ns - start_ns;
	}
	return least(UINT16_MAX, (uint32_t)least_ns);
}

static bool is_limited(void)
{
	return limits.ppm > 0 || limits.gap > 0;
}

void budget_attach(struct trace_header *header)
{
	limits.header = header;
	limits.ppm = header->budget_ppm;
	limits.burst = header->gap_pairs > 0 && header->burst_pairs > 0 ? header->burst_pairs
									: BURST_PAIRS;
	limits.gap = header->gap_pairs;
	limits.knows_mutexes = plain_mutex_is_known();
	if (!is_limited())
		return;
	limits.clock_ns = cost_of_clock();
	limits.cpu_clock_ns = cost_of_cpu_clock();
}

static struct budget_mark mark(void)
{
	const struct budget *budget = &self.budget;
	uint32_t here = budget->slice_pairs > 0 ? budget->slice_pairs - budget->slice
						: limits.burst - budget->burst;
	return (struct budget_mark){ self.lane.last_ns, self.cpu_ns, budget->pairs + here,
		budget->waits, self.cpu.readings, budget->marks };
}

static void begin_burst(void)
{
	self.budget.burst = limits.burst;
	self.budget.burst_mark = mark();
}

void budget_start(void)
{
	self.budget = (struct budget){ .is_on = is_limited(),
		.owner = limits.knows_mutexes ? self.tid : 0,
		.look_waits = BUDGET_WAITS_MIN,
		.random = self.tid * 0x9e3779b97f4a7c15ull };
	begin_burst();
	self.budget.look_mark = mark();
}

/* Between 3/4 and 5/4 of it: what a program does in turns must not meet every burst. */
static uint32_t varied(uint64_t pairs)
{
	struct budget *budget = &self.budget;
	budget->random = budget->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(pairs * 3 / 4 + (pairs / 2 * (budget->random >> 48) >> 16));
}

/* What the thread did since, and what of its time that cost where all is recorded. */
struct spent {
	uint64_t pairs, pairs_ns, waits_ns, allowed_ns;
	uint64_t readings_ns; /* part of waits_ns */
	uint64_t marks_ns; /* not part of them */
};

static struct spent spent_since(const struct budget_mark *since)
{
	struct budget_mark here = mark();
	struct spent spent = { .pairs = here.pairs - since->pairs };
	spent.pairs_ns = spent.pairs * (2 * limits.clock_ns + PAIR_NS);
	spent.readings_ns = (uint64_t)(here.readings - since->readings) * limits.cpu_clock_ns;
	spent.waits_ns = (uint64_t)(here.waits - since->waits) * (2 * limits.clock_ns + WAIT_NS) +
			 spent.readings_ns;
	/* Who tells of none had one for each wait, at most. */
	uint64_t marks =
		self.budget.is_silent ? here.waits - since->waits : here.marks - since->marks;
	spent.marks_ns = marks * (limits.clock_ns + MARK_NS);
	uint64_t took_ns = here.cpu_ns - since->cpu_ns, own_ns = spent.pairs_ns + spent.waits_ns;
	if (took_ns > own_ns)
		spent.allowed_ns = (took_ns - own_ns) * limits.ppm / MILLION;
	return spent;
}

/* Whether the thread, since then, mostly waited, and may take so much of what is there for those who do. */
static bool draws(const struct budget_mark *since, uint64_t cost_ns)
{
	struct trace_header *header = limits.header;
	uint64_t now_ns = self.lane.last_ns, took_ns = self.cpu_ns - since->cpu_ns;
	uint32_t cores = header->cores > 0 ? header->cores : 1;
	if (took_ns * MOSTLY > now_ns - since->time_ns)
		return false;
	uint64_t there_ns = (now_ns - header->start_ns) / MILLION * limits.ppm / IDLE_PART * cores;
	if (__atomic_add_fetch(&header->drawn_ns, cost_ns, __ATOMIC_RELAXED) <= there_ns)
		return true;
	(void)__atomic_sub_fetch(&header->drawn_ns, cost_ns, __ATOMIC_RELAXED);
	return false;
}

/* Free locks to leave out, now that a burst is over; 0: it is within the budget. */
static uint32_t gap_after_burst(void)
{
	struct spent spent = spent_since(&self.budget.burst_mark);
	uint64_t own_ns = spent.pairs_ns + spent.waits_ns;
	uint64_t rest_ns = spent.pairs * SKIP_NS + spent.waits_ns;
	uint64_t most = (uint64_t)limits.burst * GAP_BURSTS, gap = most;
	if (own_ns <= spent.allowed_ns || draws(&self.budget.burst_mark, own_ns - spent.allowed_ns))
		return 0;
	if (spent.allowed_ns > rest_ns)
		gap = spent.pairs * (own_ns - spent.allowed_ns) / (spent.allowed_ns - rest_ns);
	return varied(gap < most ? gap : most);
}

void budget_look(void)
{
	struct budget *budget = &self.budget;
	struct spent spent = spent_since(&budget->look_mark);
	uint64_t own_ns = spent.pairs_ns + spent.waits_ns;
	bool is_more = limits.ppm > 0 && own_ns > spent.allowed_ns;
	budget->is_over = is_more && !draws(&budget->look_mark, own_ns - spent.allowed_ns);
	budget->reads_much = limits.ppm > 0 && is_more == budget->is_over &&
			     spent.readings_ns > spent.allowed_ns / READINGS_PART;
	budget->is_silent = budget->is_over && spent.marks_ns > spent.allowed_ns / MARKS_PART;
	budget->look_mark = mark();
	budget->look_waits = least(2 * budget->look_waits, BUDGET_WAITS);
}

static void begin_slice(void)
{
	struct budget *budget = &self.budget;
	budget->slice_pairs = least(budget->gap, SLICE_PAIRS);
	budget->gap -= budget->slice_pairs;
	budget->slice = budget->slice_pairs;
}

static void end_burst(void)
{
	struct budget *budget = &self.budget;
	budget->gap = limits.gap > 0 ? limits.gap : gap_after_burst();
	budget->gap_ns = self.lane.last_ns;
	budget->pairs += limits.burst;
	budget->burst = limits.burst;
	if (budget->gap > 0)
		begin_slice();
	else
		begin_burst();
}

static void tell_left_out(uint64_t followers)
{
	struct budget *budget = &self.budget;
	put(now(), (struct head){ TRACE_LEFT_OUT, TRACE_MUTEX, 0 }, followers, NULL,
		budget->left_out);
	budget->left_out = 0;
}

/* The slice of a gap is over, or the gap. */
static void end_slice(void)
{
	struct budget *budget = &self.budget;
	budget->left_out += budget->slice_pairs;
	budget->pairs += budget->slice_pairs;
	budget->slice_pairs = 0;
	bool is_long = limits.gap == 0 && self.lane.last_ns - budget->gap_ns > GAP_MAX_NS;
	if (budget->gap > 0 && !is_long) {
		begin_slice();
		return;
	}
	if (!enter())
		return; /* at the next one */
	budget_tell_held();
	tell_left_out(limits.burst);
	leave();
	begin_burst();
}

static void push_held(const void *object, const void *caller)
{
	struct budget *budget = &self.budget;
	if (budget->held_count < BUDGET_HELD)
		budget->held[budget->held_count++] = (struct held_lock){ object, caller, true };
}

void budget_took(const void *mutex, const void *caller, bool was_free)
{
	struct budget *budget = &self.budget;
	push_held(mutex, caller);
	if (!was_free || budget->slice > 0)
		return;
	if (budget->slice_pairs > 0)
		end_slice();
	else if (--budget->burst == 0)
		end_burst();
}

bool budget_tries(pthread_mutex_t *mutex, const void *caller)
{
	enum { SIMPLE_KINDS = 4 }; /* normal, recursive, error-checking, adaptive; no option */
	if ((unsigned)mutex->__data.__kind >= SIMPLE_KINDS ||
		real()->pthread_mutex_trylock(mutex) != 0)
		return false;
	if (mutex->__data.__kind != PTHREAD_MUTEX_RECURSIVE_NP || mutex->__data.__count == 1)
		budget_hold(mutex, caller);
	return true;
}

/* Index plus one; 0: it is not there. */
static uint32_t find_held(const void *object)
{
	const struct budget *budget = &self.budget;
	uint32_t i = budget->held_count;
	while (i > 0 && budget->held[i - 1].object != object)
		i--;
	return i;
}

static void drop_held(uint32_t place)
{
	struct budget *budget = &self.budget;
	budget->held_count--;
	for (uint32_t i = place - 1; i < budget->held_count; i++)
		budget->held[i] = budget->held[i + 1];
}

static bool is_awaited(const pthread_mutex_t *mutex)
{
	return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) >= PLAIN_MUTEX_AWAITED;
}

/*
 * Where others wait for it, it has been held since the first of them came, or since its last release if
 * that was later. Else nobody cares since when.
 */
static void tell(struct held_lock *held, bool is_awaited)
{
	uint64_t time_ns = is_awaited ? wake_held_since(held->object) : 0;
	held->is_recorded = true;
	self.budget.left_out--;
	put(time_ns ? time_ns : now(), (struct head){ TRACE_PASS, TRACE_MUTEX, 0 },
		(uintptr_t)held->object, held->caller, 0);
}

void budget_tell_held(void)
{
	struct budget *budget = &self.budget;
	for (uint32_t i = 0; i < budget->held_count; i++)
		if (!budget->held[i].is_recorded)
			tell(&budget->held[i], false);
}

bool budget_gives(const pthread_mutex_t *mutex)
{
	uint32_t place = find_held(mutex);
	if (place == 0)
		return false;
	struct held_lock *held = &self.budget.held[place - 1];
	bool is_silent = !held->is_recorded;
	if (__builtin_expect(is_silent && is_awaited(mutex), 0) && enter()) {
		tell(held, true);
		leave();
		is_silent = false;
	}
	drop_held(place);
	return is_silent;
}

void budget_forget(const void *mutex)
{
	uint32_t place = find_held(mutex);
	if (place > 0)
		drop_held(place);
}

void budget_end(void)
{
	struct budget *budget = &self.budget;
	budget->left_out += budget->slice_pairs - budget->slice;
	if (budget->left_out > 0)
		tell_left_out(0);
	*budget = (struct budget){ 0 };
}
