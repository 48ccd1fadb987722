/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "criticality/findings.h"

#include "criticality/blame.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * What costs less than a tenth of the run is not called a bottleneck: without it the program would be
 * at most 1.11 times as fast, about what two runs on a busy machine differ by.
 */
static const double notable = 0.1;
enum { FINDINGS_MAX = 4 };

/* What the findings share. */
struct view {
	const struct results *results;
	double elapsed_ns, work_ns; /* work_ns: what cores can have done, summed over threads */
	double busy; /* work over active time of threads: less than 1 with more threads than cores */
	double signal_loss, turns; /* shares of the elapsed time */
	double gap; /* criticality of the first thread less that of the second, a share */
	double unused; /* share of what the serving cores could have done; 1 without a limit */
};

static struct view look(const struct results *results)
{
	struct view view = { .results = results, .elapsed_ns = (double)results->elapsed_ns };
	double active = 0;
	for (uint32_t r = 1; r <= PARALLELISM_MAX; r++) {
		uint32_t served = results->cores > 0 && results->cores < r ? results->cores : r;
		active += (double)results->parallelism_ns[r] * r;
		view.work_ns += (double)results->parallelism_ns[r] * served;
	}
	view.busy = active > 0 ? view.work_ns / active : 1;
	view.unused = 1;
	if (results->served_cores > 0)
		view.unused -= view.work_ns / (view.elapsed_ns * results->served_cores);
	for (size_t i = 0; i < results->lock_count; i++)
		if (result_lock_is_signalled(&results->locks[i])) {
			view.signal_loss += (double)results->locks[i].loss_ns / view.elapsed_ns;
			view.turns += (double)results->locks[i].turns_ns / view.elapsed_ns;
		}
	if (results->thread_count > 0) {
		double first = (double)results->threads[0].criticality_ns, second = 0;
		if (results->thread_count > 1)
			second = (double)results->threads[1].criticality_ns;
		view.gap = fmin((first - second) / view.elapsed_ns, view.unused);
	}
	return view;
}

/* What cores can have done of a thread's work. */
static double own_work(const struct view *view, uint32_t thread)
{
	return (double)view->results->threads[thread].running_ns * view->busy;
}

/* No thread's own work can end sooner; `except`: whose work is not counted. */
static double longest_work(const struct view *view, uint32_t except)
{
	double longest = 0;
	for (size_t i = 0; i < view->results->thread_count; i++)
		if (i != except)
			longest = fmax(longest, own_work(view, (uint32_t)i));
	return longest;
}

/* How many threads can have worked at once: those that there were, on the cores that they had; at least 1. */
static uint32_t widest(const struct results *results)
{
	uint32_t n = results->live_max;
	if (results->cores > 0 && results->cores < n)
		n = results->cores;
	return n ? n : 1;
}

/* Of the time in which only one of them works, with its work spread evenly: a share. */
static double could_be_saved(const struct results *results)
{
	return 1 - 1.0 / widest(results);
}

/* All work, spread over them evenly. */
static double spread_work(const struct view *view)
{
	return view->work_ns / widest(view->results);
}

/* With that, too, the program waits for what it waited for while no thread was active. */
static double spread_run(const struct view *view)
{
	return (double)view->results->idle_ns + spread_work(view);
}

static double speedup(const struct view *view, double least_ns)
{
	return least_ns > 0 ? fmax(view->elapsed_ns / least_ns, 1) : INFINITY;
}

/* Who sleeps without it, too, may do so until it is told to end: the sooner that is, the less it sleeps with it. */
static bool is_paced(const struct results *results, const struct result_lock *lock)
{
	return results->threads[lock->blocked_thread].waited_ns[WHAT_SLEEP] >
	       lock->blocked_ns + lock->blocked_ns / SERIAL_RATIO;
}

/*
 * Without waits for an object no path through the run is shorter by more than the time in which
 * somebody waited for it, and no thread's own work vanishes, nor what it sleeps or waits for devices while it
 * holds the object.
 */
static double lock_bound(const struct view *view, const struct result_lock *lock)
{
	double least =
		fmax(view->elapsed_ns - (double)lock->contended_ns, longest_work(view, INDEX_NONE));
	if (lock->blocked_thread != INDEX_NONE && !is_paced(view->results, lock))
		least = fmax(
			least, own_work(view, lock->blocked_thread) + (double)lock->blocked_ns);
	return speedup(view, least);
}

/*
 * And the cores still have all of the work to do. Those that spin took cores from the others: how much of what was active
 * was work is not known. Nor is, of a futex, what its holder waited for while no thread was active.
 */
static double lock_spread(
	const struct view *view, const struct result_lock *lock, double bound, bool is_spin)
{
	bool is_idle = lock->is_futex && 2 * lock->idle_loss_ns > lock->loss_ns;
	if (is_spin || is_idle || view->results->cores == 0)
		return NAN;
	return fmin(bound, speedup(view, view->work_ns / view->results->cores));
}

/*
 * Either the thread's work vanishes, or all work is spread evenly: what gives more. Where nobody else
 * worked, the former would leave nothing; where there was nobody else, neither is a bound.
 */
static double thread_bound(const struct view *view, uint32_t thread)
{
	if (view->results->live_max <= 1)
		return INFINITY;
	double own = (double)view->results->threads[thread].running_ns;
	double without = fmax(view->elapsed_ns - own, longest_work(view, thread));
	double spread = spread_run(view);
	return speedup(view, without > 0 ? fmin(without, spread) : spread);
}

/* With the work that somebody waited for at a barrier spread evenly. */
static double barrier_spread(const struct view *view, const struct result_lock *lock)
{
	double uncontended = view->elapsed_ns - (double)lock->contended_ns;
	return speedup(view, fmax(uncontended, spread_work(view)));
}

/* As for a lock, but the work of the last to arrive may also be spread. */
static double barrier_bound(const struct view *view, const struct result_lock *lock)
{
	double least = spread_work(view), others = longest_work(view, lock->worst_thread);
	if (others > 0 && others < least)
		least = others;
	return speedup(view, fmax(view->elapsed_ns - (double)lock->contended_ns, least));
}

/* Whether one thread bears at least half of an object's blame. */
static bool has_culprit(const struct result_lock *lock)
{
	return lock->worst_thread != INDEX_NONE && 2 * lock->worst_ns >= lock->blame_ns;
}

/* Waiting beside a longer path through the run costs no more than its end can give. */
static double lock_share(const struct view *view, const struct result_lock *lock, double bound)
{
	return fmin((double)result_lock_loss_ns(lock) / view->elapsed_ns, 1 - 1 / bound);
}

/* Spinning takes cores from others besides: its loss counts whole. */
static struct finding lock_finding(const struct view *view, uint32_t index)
{
	const struct result_lock *lock = &view->results->locks[index];
	bool is_spin = lock->what == WHAT_SPIN || 2 * lock->spins > lock->waits;
	double bound = lock_bound(view, lock);
	return (struct finding){ .kind = is_spin ? FINDING_SPIN : FINDING_LOCK,
		.thread = has_culprit(lock) ? lock->worst_thread : INDEX_NONE,
		.lock = index,
		.share = lock_share(view, lock, is_spin ? INFINITY : bound),
		.bound = bound,
		.spread = lock_spread(view, lock, bound, is_spin) };
}

/* Others that had nothing to do make it a phase of one thread; else the work is uneven. */
static struct finding barrier_finding(const struct view *view, uint32_t index)
{
	const struct result_lock *lock = &view->results->locks[index];
	bool is_serial = has_culprit(lock) && 2 * lock->serial_ns >= lock->contended_ns;
	double bound = barrier_bound(view, lock);
	return (struct finding){ .kind = is_serial ? FINDING_SERIAL : FINDING_BARRIER,
		.thread = has_culprit(lock) ? lock->worst_thread : INDEX_NONE,
		.lock = index,
		.share = lock_share(view, lock, bound),
		.bound = bound,
		.spread = barrier_spread(view, lock) };
}

/* What is waited for by signals, and has the most ns at this offset of struct result_lock; INDEX_NONE. */
static uint32_t most_signalled(const struct results *results, size_t offset)
{
	uint64_t most_ns = 0;
	uint32_t most = INDEX_NONE;
	for (size_t i = 0; i < results->lock_count; i++) {
		const struct result_lock *lock = &results->locks[i];
		uint64_t ns = *(const uint64_t *)(const void *)((const char *)lock + offset);
		if (result_lock_is_signalled(lock) && ns > most_ns) {
			most_ns = ns;
			most = (uint32_t)i;
		}
	}
	return most;
}

/* Others that had nothing to do, as at a barrier (blame.h). */
static bool works_for_all(const struct results *results, uint32_t thread)
{
	double others_ns = -(double)results->threads[thread].running_ns;
	for (size_t i = 0; i < results->thread_count; i++)
		others_ns += (double)results->threads[i].running_ns;
	return others_ns < (double)results->threads[thread].running_ns / SERIAL_RATIO;
}

/*
 * Others wait for the first thread's signals. The slowest stage of a pipeline hardly ever waits
 * itself, and hands things on again and again; a phase of one thread alternates with waiting for the others, or is all
 * that there is to do, and the last piece of work is waited for once.
 */
static bool is_stage(const struct view *view, uint32_t lock)
{
	const struct result_thread *first = &view->results->threads[0];
	return lock != INDEX_NONE && !works_for_all(view->results, 0) &&
	       (double)first->running_ns >= (1 - notable) * (double)first->life_ns &&
	       (double)view->results->locks[lock].typical_wait_ns < notable * view->elapsed_ns;
}

/* Whether the first thread was alone for most of what sets it apart. */
static enum finding_kind kind_of_first(const struct view *view)
{
	bool is_alone =
		2 * (double)view->results->threads[0].alone_ns >= view->gap * view->elapsed_ns;
	return is_alone ? FINDING_SERIAL : FINDING_THREAD;
}

static struct finding signal_finding(const struct view *view)
{
	uint32_t lock = most_signalled(view->results, offsetof(struct result_lock, loss_ns));
	return (struct finding){ .kind = is_stage(view, lock) ? FINDING_PIPELINE
							      : kind_of_first(view),
		.lock = lock,
		.share = fmin(view->gap, view->signal_loss),
		.bound = thread_bound(view, 0),
		.spread = speedup(view, spread_run(view)) };
}

/*
 * Threads wait for one another by signals, none of them more than the others: a lock of the program's own, or rounds.
 * What no thread was active for is no part of it.
 */
static struct finding turns_finding(const struct view *view)
{
	double bound = speedup(view, spread_run(view));
	return (struct finding){ .kind = FINDING_LOCK,
		.thread = INDEX_NONE,
		.lock = most_signalled(view->results, offsetof(struct result_lock, turns_ns)),
		.share = fmin(view->turns, 1 - 1 / bound),
		.bound = bound,
		.spread = NAN };
}

/* Others are not there, or wait for nothing that explains it: `explained`, a share. */
static struct finding thread_finding(const struct view *view, double explained)
{
	return (struct finding){ .kind = kind_of_first(view),
		.lock = INDEX_NONE,
		.share = view->gap - explained,
		.bound = thread_bound(view, 0),
		.spread = speedup(view, spread_run(view)) };
}

/* What threads waited for that no thread of the program could have ended. */
static double outside_ns(const struct results *results)
{
	double sum = 0;
	for (size_t i = 0; i < results->thread_count; i++) {
		const uint64_t *waited_ns = results->threads[i].waited_ns;
		sum += (double)waited_ns[WHAT_SLEEP] + (double)waited_ns[WHAT_IO] +
		       (double)waited_ns[WHAT_DISK] + (double)waited_ns[WHAT_OTHER];
	}
	return sum;
}

/*
 * Only one thread is active: the late ones of threads that are started and joined in rounds, processes one after the
 * other, a phase of one thread after which the others work as much. Where others wait for the outside meanwhile, that is
 * what keeps them. `told`: of the share, by other findings. `first_is_told`: another finding is
 * about what the first thread does alone.
 */
static struct finding alone_finding(const struct view *view, double told, bool first_is_told)
{
	const struct results *results = view->results;
	double first_ns = first_is_told ? 0 : (double)results->threads[0].alone_ns;
	double alone_ns = (double)results->parallelism_ns[1] -
			  (first_is_told ? (double)results->threads[0].alone_ns : 0);
	double inside_ns = fmax(alone_ns - outside_ns(results), 0);
	double saved = inside_ns / view->elapsed_ns * could_be_saved(results);
	return (struct finding){ .kind = FINDING_SERIAL,
		.thread = 2 * first_ns > alone_ns ? 0 : INDEX_NONE,
		.lock = INDEX_NONE,
		.share = saved - told,
		.bound = speedup(view, view->elapsed_ns - alone_ns),
		.spread = 1 / (1 - saved) };
}

/*
 * Threads spin there until the most critical one lets them go, as far as that is ahead of them. Of a lock that one spins, too,
 * however rarely it is the one that has to.
 */
static bool is_flag(const struct result_lock *lock)
{
	uint32_t others = lock->spinners - (lock->first_spun_ns > 0);
	double theirs_ns = (double)(lock->waited_ns - lock->first_spun_ns);
	return lock->is_code &&
	       (others == 0 || (double)lock->first_spun_ns * others < notable * theirs_ns);
}

/* What is lost at a flag beside the thread that sets it: nothing, if that one stands out. */
static double flag_share(const struct view *view, double loss)
{
	return view->gap >= notable ? 0 : loss - fmax(view->gap, 0);
}

/* Keeps the list sorted and short; one finding for each cause. */
static void add_finding(struct results *results, struct finding finding)
{
	if (!(finding.share >= notable))
		return;
	size_t at = results->finding_count;
	if (at == FINDINGS_MAX && results->findings[at - 1].share >= finding.share)
		return;
	if (at == FINDINGS_MAX)
		at--;
	else
		results->finding_count++;
	for (; at > 0 && results->findings[at - 1].share < finding.share; at--)
		results->findings[at] = results->findings[at - 1];
	results->findings[at] = finding;
}

/*
 * Whether a finding that names the thread makes this one no news. A futex does not say what it is
 * used for, and a phase of the thread that was waited for at a barrier may be a part of its phases: one about these must
 * be worth more.
 */
static bool is_known(const struct results *results, const struct finding *finding)
{
	for (size_t i = 0; i < results->finding_count; i++) {
		const struct finding *other = &results->findings[i];
		uint8_t what =
			other->lock != INDEX_NONE ? results->locks[other->lock].what : WHAT_NONE;
		bool is_part = what == WHAT_FUTEX || what == WHAT_BARRIER;
		if (other->thread == finding->thread &&
			(!is_part || other->share >= finding->share))
			return true;
	}
	return false;
}

/* What it says already as a part of the same becomes one with it. */
static void take_over_parts(struct results *results, struct finding *finding)
{
	size_t kept = 0;
	for (size_t i = 0; i < results->finding_count; i++) {
		const struct finding *other = &results->findings[i];
		if (other->thread == finding->thread && other->kind == finding->kind)
			finding->share += other->share;
		else
			results->findings[kept++] = *other;
	}
	results->finding_count = kept;
}

/* What findings about what was waited for say already. */
struct told {
	double ahead; /* by how much of the criticality stack these waits set the first thread apart */
	double saved; /* share that would be saved without them, at most: of what is said about one that is alone */
};

/* Who alone works while one other waits is ahead by twice what that costs: its blame says so, if not all of it. */
static void tell(
	struct told *told, const struct view *view, const struct result_lock *lock, double share)
{
	told->ahead += fmax(share, (double)lock->first_blame_ns / view->elapsed_ns);
	told->saved +=
		(double)lock->contended_ns / view->elapsed_ns * could_be_saved(view->results);
}

static struct told find_waited_for(struct results *results, const struct view *view)
{
	struct told told = { 0 };
	for (uint32_t i = 0; i < results->lock_count; i++) {
		const struct result_lock *lock = &results->locks[i];
		if (result_lock_is_signalled(lock) || lock->what == WHAT_JOIN)
			continue;
		struct finding finding = lock->what == WHAT_BARRIER ? barrier_finding(view, i)
								    : lock_finding(view, i);
		if (is_flag(lock))
			finding.share = flag_share(view, finding.share);
		else if (finding.share >= notable)
			tell(&told, view, lock, finding.share);
		add_finding(results, finding);
	}
	struct finding signals = signal_finding(view), turns = turns_finding(view);
	add_finding(results, signals);
	add_finding(results, turns);
	told.ahead += signals.share;
	/* Beside turns, all that was lost at signals: also by who waits for those that take them. */
	double handed =
		turns.share >= notable ? fmax(view->signal_loss, turns.share) : signals.share;
	told.saved += handed >= notable ? handed : 0;
	return told;
}

static void find_all(struct results *results)
{
	struct view view = look(results);
	struct told told = find_waited_for(results, &view);
	struct finding rest = thread_finding(&view, told.ahead);
	if (rest.share >= notable && !is_known(results, &rest)) {
		take_over_parts(results, &rest);
		add_finding(results, rest);
	}
	add_finding(results, alone_finding(&view, told.saved, view.gap >= notable));
}

int findings_find(struct results *results)
{
	results->findings = calloc(FINDINGS_MAX, sizeof *results->findings);
	if (!results->findings)
		return -ENOMEM;
	if (results->elapsed_ns > 0 && results->thread_count > 0)
		find_all(results);
	if (results->finding_count == 0)
		results->findings[results->finding_count++] =
			(struct finding){ FINDING_NONE, INDEX_NONE, INDEX_NONE, 0, 1, NAN, false };
	double next = results->finding_count > 1 ? results->findings[1].share : 0;
	results->findings[0].is_clear =
		results->lost == 0 && 2 * next < fmax(results->findings[0].share, notable);
	return 0;
}
