/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "criticality/collect_results.h"

#include "base/sorted.h"
#include "criticality/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t ns_of(uint64_t units)
{
	return units >> UNIT_SHIFT;
}

/* A thread and where it stands. */
struct ranked {
	const struct thread *thread;
	uint32_t index;
	uint64_t ns; /* criticality, rounded so that the sum is exact */
};

static int by_identity(const void *a, const void *b)
{
	const struct thread *x = ((const struct ranked *)a)->thread;
	const struct thread *y = ((const struct ranked *)b)->thread;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_criticality(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return by_identity(a, b);
}

/* The sums of the first j threads, rounded down, and their differences: account.h has the proof. */
static void round_shares(struct ranked *ranked, size_t count, uint64_t carry)
{
	uint64_t part = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t units = ranked[i].thread->criticality;
		part += units & ((1u << UNIT_SHIFT) - 1);
		if (i + 1 == count)
			part += carry;
		ranked[i].ns = (units >> UNIT_SHIFT) + (part >> UNIT_SHIFT);
		part &= (1u << UNIT_SHIFT) - 1;
	}
}

static void fill_thread(struct result_thread *ret, struct thread *thread, uint64_t ns)
{
	*ret = (struct result_thread){ .name = TAKE(thread->name),
		.pid = thread->pid,
		.tid = thread->tid,
		.parent = thread->parent,
		.count = 1,
		.routine = thread->routine,
		.life_ns = thread->end_ns - thread->start_ns,
		.running_ns = thread->active_ns,
		.alone_ns = thread->alone_ns,
		.ended_idle_ns = thread->ended_idle_ns,
		.criticality_ns = ns };
	for (size_t i = 0; i <= WHAT_OTHER; i++)
		ret->waited_ns[i] = thread->waited_ns[i];
	for (uint32_t i = 0; i < thread->bin_count; i++)
		thread->bins[i] = ns_of(thread->bins[i]);
	ret->bins_ns = TAKE(thread->bins);
	ret->first_bin = thread->first_bin;
	ret->bin_count = thread->bin_count;
}

/* places[index in the account] = index in the results. */
static int collect_threads(struct analysis *analysis, struct results *results, uint32_t *places)
{
	size_t count = analysis->account.thread_count;
	AUTO_FREE struct ranked *ranked = calloc(count ? count : 1, sizeof *ranked);
	results->threads = calloc(count ? count : 1, sizeof *results->threads);
	if (!ranked || !results->threads)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){ &analysis->account.threads[i], (uint32_t)i, 0 };
	qsort(ranked, count, sizeof *ranked, by_identity);
	round_shares(ranked, count, analysis->account.carry);
	qsort(ranked, count, sizeof *ranked, by_criticality);
	for (size_t i = 0; i < count; i++) {
		uint32_t index = ranked[i].index;
		places[index] = (uint32_t)i;
		fill_thread(&results->threads[i], &analysis->account.threads[index], ranked[i].ns);
	}
	results->thread_count = count;
	return 0;
}

/*
 * What a futex was used for: the end of a thread; signals, if those who wake do not wait for it
 * themselves; else a lock (or a barrier: results_rename_futexes()).
 */
static uint8_t what_of(const struct object *object)
{
	if (object->what != WHAT_FUTEX)
		return object->what;
	if (object->exit_wakes > 0 && object->exit_wakes == object->wakes)
		return WHAT_JOIN;
	return 2 * object->wakes_by_waiters < object->wakes ? WHAT_COND : WHAT_FUTEX;
}

/* What waits for it cost: but for what its holders waited for, and with what others wait for because of it. */
static uint64_t own_loss(uint64_t loss, uint64_t passed_on, uint64_t taken_over)
{
	return ns_of(loss - (passed_on < loss ? passed_on : loss) + taken_over);
}

static void fill_lock(struct result_lock *ret, struct object *object)
{
	bool is_held = object_is_lock(object);
	*ret = (struct result_lock){ .name = TAKE(object->name),
		.pid = object->pid,
		.what = what_of(object),
		.is_futex = object->what == WHAT_FUTEX,
		.is_held = is_held,
		.address = object->address,
		.site = object->site,
		.entry = object->entry,
		.init_site = object->init_site,
		.acquisitions =
			is_held ? object->acquisitions + object->unseen_shares / SHARE_ONE : 0,
		.recorded = is_held ? object->acquisitions : 0,
		.waits = object->waits,
		.episodes = object->episodes,
		.try_failures = object->try_failures,
		.spins = object->spins,
		.held_ns = is_held ? object->held_ns + object->unseen_held_ns : 0,
		.waited_ns = object->waited_ns,
		.contended_ns = object->contended_ns,
		.blame_ns = ns_of(object_blame(object)),
		.loss_ns = own_loss(object->loss, object->passed_on, object->taken_over),
		.idle_loss_ns = own_loss(
			object->idle_loss, object->passed_on_idle, object->taken_over_idle),
		.taken_over_ns = ns_of(object->taken_over + object->taken_over_idle),
		.typical_wait_ns = object->waited_ns > 0 ? (uint64_t)(object->waited_ns2 /
								      (double)object->waited_ns)
							 : 0,
		.serial_ns = object->serial_ns,
		.is_code = object_is_code(object),
		.worst_thread = INDEX_NONE,
		.blocked_thread = INDEX_NONE };
	if (object->callers)
		memcpy(ret->callers, object->callers, sizeof ret->callers);
}

static void find_signaller(
	struct analysis *analysis, const struct object *object, struct result_lock *lock)
{
	lock->signaller_stack = INDEX_NONE;
	if (object->most_sample == 0)
		return;
	const struct site *ran = &analysis->blame.samples.items[object->most_sample - 1];
	lock->signaller = ran->address;
	lock->signaller_stack = index_find(&analysis->stack_index, ran->stack, ran->pid);
}

static int frames_by_end(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

struct frame_place {
	uint32_t pid;
	uint64_t address;
};

static bool ends_by(const void *item, const void *key)
{
	const struct frame *frame = item;
	const struct frame_place *place = key;
	return frame->pid < place->pid ||
	       (frame->pid == place->pid && frame->end <= place->address);
}

/* Index of the first frame that ends behind an address of a process. */
static size_t first_behind(const struct analysis *analysis, uint32_t pid, uint64_t address)
{
	struct frame_place place = { pid, address };
	return sorted_before(
		analysis->frames, analysis->frame_count, sizeof *analysis->frames, ends_by, &place);
}

/* Frames may be old and overlap: the first that holds it is the innermost. */
static void find_frame(const struct analysis *analysis, struct result_lock *lock)
{
	enum { FRAMES_TRIED = 64 }; /* as deep as anyone looks */
	size_t first = first_behind(analysis, lock->pid, lock->address);
	for (size_t i = first; i < analysis->frame_count && i < first + FRAMES_TRIED; i++) {
		const struct frame *frame = &analysis->frames[i];
		if (frame->pid != lock->pid)
			return;
		if (frame->begin > lock->address)
			continue;
		lock->frame_begin = frame->begin;
		lock->frame = frame->end;
		lock->frame_site = frame->site;
		return;
	}
}

static void find_worst(struct analysis *analysis, struct results *results, const uint32_t *places)
{
	const struct object *objects = analysis->blame.objects;
	const struct pairing_table *threads = &analysis->blame.by_thread;
	for (size_t i = 0; i < threads->count; i++) {
		const struct pairing *p = &threads->items[i];
		struct result_lock *lock = &results->locks[p->object];
		uint64_t blame_ns = ns_of(pairing_blame(p, &objects[p->object]));
		if (places[p->other] == 0)
			lock->first_blame_ns = blame_ns;
		if (blame_ns <= lock->worst_ns)
			continue;
		lock->worst_ns = blame_ns;
		lock->worst_thread = places[p->other];
	}
	const struct pairing_table *sites = &analysis->blame.by_site;
	AUTO_FREE uint64_t *most = calloc(results->lock_count + 1, sizeof *most);
	for (size_t i = 0; most && i < sites->count; i++) {
		const struct pairing *p = &sites->items[i];
		uint64_t blame = pairing_blame(p, &objects[p->object]);
		if (blame <= most[p->object])
			continue;
		most[p->object] = blame;
		results->locks[p->object].worst_site = p->other;
	}
}

/* Of who held a lock while it slept or waited for a device: whose work and that time take longest. */
static int find_blocked(
	const struct analysis *analysis, struct results *results, const uint32_t *places)
{
	const struct pairing_table *threads = &analysis->blame.by_thread;
	AUTO_FREE uint64_t *longest = calloc(results->lock_count + 1, sizeof *longest);
	if (!longest)
		return -ENOMEM;
	for (size_t i = 0; i < threads->count; i++) {
		const struct pairing *p = &threads->items[i];
		struct result_lock *lock = &results->locks[p->object];
		uint64_t own_ns = results->threads[places[p->other]].running_ns + p->blocked_ns;
		if (p->blocked_ns == 0 || own_ns <= longest[p->object])
			continue;
		longest[p->object] = own_ns;
		lock->blocked_ns = p->blocked_ns;
		lock->blocked_thread = places[p->other];
	}
	return 0;
}

/* What a thread lost counts as far as it let others go on. */
static void find_turns(const struct analysis *analysis, struct results *results)
{
	const struct pairing_table *threads = &analysis->blame.by_thread;
	for (size_t i = 0; i < threads->count; i++) {
		const struct pairing *p = &threads->items[i];
		const struct blame_thread *thread = &analysis->blame.threads[p->other];
		double share = thread->ended < thread->ended_by_others
				       ? (double)thread->ended / (double)thread->ended_by_others
				       : 1;
		results->locks[p->object].turns_ns += (uint64_t)((double)ns_of(p->lost) * share);
	}
}

static void find_spinners(
	const struct analysis *analysis, struct results *results, const uint32_t *places)
{
	const struct pairing_table *threads = &analysis->blame.by_thread;
	for (size_t i = 0; i < threads->count; i++) {
		const struct pairing *p = &threads->items[i];
		struct result_lock *lock = &results->locks[p->object];
		lock->spinners += p->waited_ns > 0;
		if (places[p->other] == 0)
			lock->first_spun_ns = p->waited_ns;
	}
}

static int locks_by_blame(const void *a, const void *b)
{
	const struct result_lock *x = a, *y = b;
	if (x->blame_ns != y->blame_ns)
		return x->blame_ns > y->blame_ns ? -1 : 1;
	if (x->waited_ns != y->waited_ns)
		return x->waited_ns > y->waited_ns ? -1 : 1;
	if (x->acquisitions != y->acquisitions)
		return x->acquisitions > y->acquisitions ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* What was only initialised, or looked at, is of no interest. */
static size_t drop_unused(struct result_lock *locks, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		struct result_lock *lock = &locks[i];
		if (!lock->name && lock->acquisitions == 0 && lock->waits == 0 &&
			lock->try_failures == 0 && lock->waited_ns == 0 && lock->held_ns == 0)
			continue;
		locks[kept++] = *lock;
	}
	return kept;
}

static bool are_made_together(const struct result_lock *a, const struct result_lock *b)
{
	return a->pid == b->pid && a->init_site == b->init_site;
}

static int by_origin_and_use(const void *a, const void *b)
{
	const struct result_lock *x = *(struct result_lock *const *)a,
				 *y = *(struct result_lock *const *)b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->init_site != y->init_site)
		return x->init_site < y->init_site ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

/* The place where several were made tells none of them from those that are used elsewhere. */
static int mark_many(struct result_lock *locks, size_t count)
{
	AUTO_FREE struct result_lock **made = calloc(count + 1, sizeof(struct result_lock *));
	size_t n = 0;
	if (!made)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (locks[i].init_site)
			made[n++] = &locks[i];
	qsort(made, n, sizeof(struct result_lock *), by_origin_and_use);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && are_made_together(made[first], made[end]);)
			end++;
		for (size_t i = first; i < end; i++)
			made[i]->is_one_of_many = made[first]->site != made[end - 1]->site;
	}
	return 0;
}

static int collect_locks(struct analysis *analysis, struct results *results, const uint32_t *places)
{
	size_t count = analysis->blame.object_count;
	results->locks = calloc(count ? count : 1, sizeof *results->locks);
	if (!results->locks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		fill_lock(&results->locks[i], &analysis->blame.objects[i]);
		find_signaller(analysis, &analysis->blame.objects[i], &results->locks[i]);
	}
	results->lock_count = count;
	find_worst(analysis, results, places);
	if (find_blocked(analysis, results, places) < 0)
		return -ENOMEM;
	find_turns(analysis, results);
	find_spinners(analysis, results, places);
	if (analysis->frame_count > 0)
		qsort(analysis->frames, analysis->frame_count, sizeof *analysis->frames,
			frames_by_end);
	for (size_t i = 0; i < count; i++)
		find_frame(analysis, &results->locks[i]);
	results->lock_count = drop_unused(results->locks, count);
	qsort(results->locks, results->lock_count, sizeof *results->locks, locks_by_blame);
	return mark_many(results->locks, results->lock_count);
}

static int sites_by_blame(const void *a, const void *b)
{
	const struct result_site *x = a, *y = b;
	if (x->blame_ns != y->blame_ns)
		return x->blame_ns > y->blame_ns ? -1 : 1;
	if (x->address != y->address)
		return x->address > y->address ? 1 : -1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* In the order in which sites were first seen, rounded as threads are (account.h). */
static void fill_sites(
	struct analysis *analysis, const struct site_table *from, struct results *results)
{
	uint64_t part = results->has_samples ? analysis->account.carry : 0;
	for (size_t i = 0; i < from->count; i++) {
		const struct site *site = &from->items[i];
		part += site->blame & ((1u << UNIT_SHIFT) - 1);
		results->sites[i] = (struct result_site){ .pid = site->pid,
			.stack = index_find(&analysis->stack_index, site->stack, site->pid),
			.address = site->address,
			.blame_ns = ns_of(site->blame) + ns_of(part),
			.alone_ns = site->alone_ns,
			.count = site->count };
		part &= (1u << UNIT_SHIFT) - 1;
	}
	results->site_count = from->count;
}

static int collect_sites(struct analysis *analysis, struct results *results)
{
	results->samples = analysis->blame.sample_count;
	results->has_samples = results->samples > 0;
	const struct site_table *from =
		results->has_samples ? &analysis->blame.samples : &analysis->blame.segments;
	results->sites = calloc(from->count ? from->count : 1, sizeof *results->sites);
	if (!results->sites)
		return -ENOMEM;
	fill_sites(analysis, from, results);
	qsort(results->sites, results->site_count, sizeof *results->sites, sites_by_blame);
	return 0;
}

static int idles_by_time(const void *a, const void *b)
{
	const struct result_idle *x = a, *y = b;
	if (x->idle_ns != y->idle_ns)
		return x->idle_ns > y->idle_ns ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

static int collect_idles(const struct analysis *analysis, struct results *results)
{
	const struct site_table *from = &analysis->blame.idles;
	results->idles = calloc(from->count + 1, sizeof *results->idles);
	if (!results->idles)
		return -ENOMEM;
	for (size_t i = 0; i < from->count; i++) {
		const struct site *site = &from->items[i];
		results->idles[i] = (struct result_idle){ site->pid, site->what, site->address,
			site->alone_ns, site->count };
	}
	results->idle_count = from->count;
	qsort(results->idles, results->idle_count, sizeof *results->idles, idles_by_time);
	return 0;
}

/*
 * Where no event says who had a core, the scheduler's sums do when threads end: they waited longer for cores than this
 * program's own threads, of which more were active than there are cores, can have kept them.
 */
static void sum_denied(const struct analysis *analysis, struct results *results)
{
	uint64_t queued_ns = 0, own_ns = 0, cores = results->cores;
	for (size_t i = 0; i < analysis->blame.thread_count; i++)
		queued_ns += analysis->blame.threads[i].queued_ns;
	for (uint64_t r = 1; r <= PARALLELISM_MAX && cores > 0 && queued_ns > 0; r++) {
		results->wanted_core_ns += results->parallelism_ns[r] * (r < cores ? r : cores);
		own_ns += results->parallelism_ns[r] * (r < cores ? 0 : r - cores);
	}
	uint64_t denied_ns = queued_ns > own_ns ? queued_ns - own_ns : 0;
	results->denied_core_ns =
		denied_ns < results->wanted_core_ns ? denied_ns : results->wanted_core_ns;
}

/* Threads wait for a core beside an idle one, too, as the scheduler has it: others had no more than was seen. */
static void find_denied(const struct analysis *analysis, struct results *results)
{
	const struct account *account = &analysis->account;
	if (account->has_cores) {
		results->wanted_core_ns = account->wanted_ns;
		results->denied_core_ns = account->denied_ns;
	} else {
		sum_denied(analysis, results);
	}
	if (analysis->others_wall_ns == 0)
		return;
	double others_ns = (double)analysis->others_ns * (double)results->elapsed_ns /
			   (double)analysis->others_wall_ns;
	uint64_t denied_ns = results->denied_core_ns;
	if (others_ns < (double)denied_ns)
		results->denied_core_ns = (uint64_t)others_ns;
	results->spared_core_ns = denied_ns - results->denied_core_ns;
}

int collect_results(struct analysis *analysis, struct results *results)
{
	const struct account *account = &analysis->account;
	results->program = TAKE(analysis->program);
	results->elapsed_ns = account->now_ns;
	results->idle_ns = account->idle_ns;
	results->active_ns = account->now_ns - account->idle_ns;
	results->events = analysis->events;
	results->lost = analysis->lost;
	results->free_locks = analysis->blame.free_locks;
	results->left_out = analysis->blame.left_out;
	for (size_t i = 0; i < analysis->blame.thread_count; i++)
		results->unseen_ns += analysis->blame.threads[i].unseen_ns;
	results->has_cores = account->has_cores;
	results->cores = account->run_cores;
	results->served_cores = account->cores;
	results->live_max = account->live_max;
	for (size_t i = 0; i <= PARALLELISM_MAX; i++)
		results->parallelism_ns[i] = account->parallelism_ns[i];
	find_denied(analysis, results);
	results->bin_ns = (uint64_t)1 << account->strip_shift;
	results->bin_count = (uint32_t)((account->now_ns + results->bin_ns - 1) / results->bin_ns);
	results->modules = TAKE(analysis->modules);
	results->module_count = analysis->module_count;
	analysis->module_count = 0;
	results->stacks = TAKE(analysis->stacks);
	results->stack_count = analysis->stack_count;
	analysis->stack_count = 0;
	AUTO_FREE uint32_t *places = calloc(account->thread_count + 1, sizeof *places);
	if (!places || collect_threads(analysis, results, places) < 0 ||
		collect_locks(analysis, results, places) < 0 ||
		collect_sites(analysis, results) < 0 || collect_idles(analysis, results) < 0)
		return -ENOMEM;
	return findings_find(results);
}
