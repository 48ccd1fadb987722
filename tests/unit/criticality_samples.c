/* SPDX-License-Identifier: GPL-3.0-or-later */
/* criticality: samples, and spinning that shows as failed tries; timelines made by hand. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/rng.h"
#include "criticality_fixture.h"
#include "report/criticality_code.h"
#include "report/criticality_view.h"

#include <string.h>

static void trylock_loops_count_as_waiting_until_they_stop(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 0, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 0, MAIN, EVENT_PASS, WHAT_MUTEX, 5);
	for (uint64_t i = 1; i <= 100; i++)
		at(a, i * US, MAIN + 1, EVENT_TRY_FAILED, WHAT_MUTEX, 5);
	/* From 2 us, the second failure, to 110 us, 10 after the last. */
	AUTO(results) struct results *r = finish(a, 200 * US);
	assert_int_equal(thread_of(r, MAIN + 1)->waited_ns[WHAT_MUTEX], 108 * US);
	assert_int_equal(r->locks[0].try_failures, 100);
	assert_int_equal(r->findings[0].kind, FINDING_SPIN);
	assert_exact(r);
}

/* As Python's locks, which try before they sleep. */
static void tries_before_a_sleep_are_no_spinning(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 0, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 0, MAIN, EVENT_PASS, WHAT_MUTEX, 5);
	for (uint32_t k = 0; k < 10; k++) {
		uint32_t holder = MAIN + k % 2, other = MAIN + 1 - k % 2;
		uint64_t from = (uint64_t)k * MS, to = from + MS;
		at(a, from + 100 * US, other, EVENT_TRY_FAILED, WHAT_MUTEX, 5);
		at(a, from + 200 * US, other, EVENT_TRY_FAILED, WHAT_MUTEX, 5);
		at(a, from + 300 * US, other, EVENT_WAIT, WHAT_MUTEX, 5);
		at(a, to, holder, EVENT_RELEASE, WHAT_MUTEX, 5);
		at(a, to, other, EVENT_WOKEN, WHAT_MUTEX, 5);
		flagged(a, to, other, EVENT_PASS, WHAT_MUTEX, 5, EVENT_WAITED);
	}
	AUTO(results) struct results *r = finish(a, 10 * MS);
	assert_int_equal(r->locks[0].try_failures, 20);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
}

static void samples_carry_the_criticality_of_their_thread(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 0, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 500, MAIN + 1, EVENT_WAIT, WHAT_COND, 5);
	struct event sample = { .kind = EVENT_SAMPLE, .tid = MAIN, .time_ns = 500, .site = 0xa };
	send(a, sample);
	sample.time_ns = 900;
	sample.site = 0xb;
	send(a, sample);
	AUTO(results) struct results *r = finish(a, 900);
	assert_true(r->has_samples);
	/* The other thread was never sampled: its 250 ns go to where it started, which is unknown. */
	assert_int_equal(r->site_count, 3);
	assert_int_equal(r->sites[0].address, 0xb);
	assert_int_equal(r->sites[0].blame_ns, 400);
	assert_int_equal(r->sites[0].alone_ns, 400);
	assert_int_equal(r->sites[1].blame_ns, 250);
	assert_int_equal(r->sites[2].blame_ns, 250);
	assert_int_equal(r->sites[1].alone_ns + r->sites[2].alone_ns, 0);
}

/* Whatever waits, samples and unknown threads there are. */
static void the_blame_of_sampled_code_is_all_that_accrued(void **state)
{
	(void)state;
	static const uint8_t kinds[] = { EVENT_WAIT, EVENT_PASS, EVENT_SAMPLE, EVENT_SAMPLE,
		EVENT_RELEASE, EVENT_THREAD_EXIT, EVENT_RUN, EVENT_PREEMPT };
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct rng rng;
		rng_init(&rng, seed);
		AUTO(analysis)
		struct analysis *a = new_analysis((struct analysis_opts){ .needs_core = seed % 2 });
		uint64_t now = 0, sum = 0;
		at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
		for (unsigned k = 0; k < 2000; k++) {
			now += rng_below(&rng, 4000);
			send(a, (struct event){ .time_ns = now,
					.tid = MAIN + (uint32_t)rng_below(&rng, 7),
					.kind = kinds[rng_below(&rng, ARRAY_SIZE(kinds))],
					.what = WHAT_MUTEX,
					.object = rng_below(&rng, 3),
					.site = rng_below(&rng, 5) });
		}
		send(a, (struct event){ .time_ns = now, .tid = MAIN, .kind = EVENT_SAMPLE });
		AUTO(results) struct results *r = finish(a, now + 500);
		assert_true(r->has_samples);
		for (size_t i = 0; i < r->site_count; i++)
			sum += r->sites[i].blame_ns;
		assert_int_equal(sum, r->active_ns);
	}
}

/* One thread, whose samples at known times have known weights, also across a wait. */
static void a_sample_is_worth_what_accrued_since_the_one_before(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	struct event stack = {
		.tid = MAIN, .kind = EVENT_NAME, .what = WHAT_STACK, .object = 7, .text = "10 20"
	};
	struct event sample = { .tid = MAIN, .kind = EVENT_SAMPLE, .object = 7 };
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	send(a, stack);
	sample.time_ns = 100;
	sample.site = 0xa;
	send(a, sample);
	at(a, 300, MAIN, EVENT_WAIT, WHAT_SLEEP, 0);
	at(a, 1000, MAIN, EVENT_PASS, WHAT_SLEEP, 0);
	sample.time_ns = 1050;
	sample.site = 0xb;
	send(a, sample);
	sample.site = 0xc;
	sample.object = 8; /* nobody said which stack that is */
	send(a, sample);
	at(a, 1100, MAIN, EVENT_THREAD_EXIT, WHAT_NONE, 0);
	AUTO(results) struct results *r = finish(a, 1200);
	assert_int_equal(r->samples, 3);
	assert_int_equal(r->site_count, 3);
	assert_int_equal(r->sites[0].address, 0xb);
	assert_int_equal(r->sites[0].blame_ns, 250);
	assert_int_equal(r->sites[1].address, 0xa);
	assert_int_equal(r->sites[1].blame_ns, 100);
	assert_int_equal(r->sites[2].address, 0xc);
	assert_int_equal(r->sites[2].blame_ns, 50);
	assert_int_equal(r->sites[2].stack, INDEX_NONE);
	const struct result_stack *found = &r->stacks[r->sites[0].stack];
	assert_int_equal(found->frame_count, 2);
	assert_int_equal(found->frames[1], 0x20);
}

/* MAIN + 1 yields at 0x1800, gets its core back 1 ms later, and works for `work_us` until it yields again; ten times. */
static struct results *yields(const char *module, uint64_t work_us)
{
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	send(a, (struct event){ .kind = EVENT_NAME,
			.tid = MAIN,
			.what = WHAT_MODULE,
			.object = 0x1000,
			.value = 0x2000,
			.text = module });
	uint64_t now = 0;
	for (uint32_t i = 0; i < 2; i++) {
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 0);
		at(a, 0, MAIN + i, EVENT_RUN, WHAT_NONE, 0);
	}
	for (uint32_t k = 0; k < 10; k++) {
		send(a, (struct event){ .time_ns = now += work_us * US,
				.tid = MAIN + 1,
				.kind = EVENT_TRY_FAILED,
				.what = WHAT_SPIN,
				.object = 0x1800,
				.site = 0x1800 });
		at(a, now, MAIN + 1, EVENT_PREEMPT, WHAT_NONE, 0);
		at(a, now += MS, MAIN + 1, EVENT_RUN, WHAT_NONE, 0);
	}
	return finish(a, now + MS);
}

/* From the second one on, until 10 us after the core came back. */
static void who_yields_in_a_loop_waits_also_without_a_core(void **state)
{
	(void)state;
	AUTO(results) struct results *r = yields("/usr/bin/program", 1);
	assert_int_equal(thread_of(r, MAIN + 1)->waited_ns[WHAT_SPIN], 9 * MS + (8 + 10) * US);
	assert_true(r->locks[0].is_code);
	assert_int_equal(r->locks[0].spins, 1);
	assert_exact(r);
}

static void who_yields_between_pieces_of_work_works(void **state)
{
	(void)state;
	AUTO(results) struct results *r = yields("/usr/bin/program", 100);
	assert_int_equal(thread_of(r, MAIN + 1)->waited_ns[WHAT_SPIN], 0);
	assert_int_equal(r->lock_count, 0);
}

/* At once: it does nothing else there. At no object that anybody could name. */
static void a_runtime_yields_for_nobody_knows_what(void **state)
{
	(void)state;
	AUTO(results) struct results *r = yields("/usr/lib/libomp.so.5", 1);
	assert_int_equal(thread_of(r, MAIN + 1)->waited_ns[WHAT_NONE], 10 * MS + (9 + 10) * US);
	assert_int_equal(r->lock_count, 0);
	assert_exact(r);
}

/* Two threads on two cores, one of which is seen in OpenMP's runtime from 2 ms on until 7, for all the scheduler knows at work. */
static struct results *sampled_in_a_runtime(const char *module)
{
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	send(a, (struct event){ .kind = EVENT_NAME,
			.tid = MAIN,
			.what = WHAT_MODULE,
			.object = 0x1000,
			.value = 0x2000,
			.text = module });
	for (uint32_t i = 0; i < 2; i++) {
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 0);
		at(a, 0, MAIN + i, EVENT_RUN, WHAT_NONE, 0);
	}
	for (uint64_t ms = 1; ms < 10; ms++) {
		struct event sample = { .kind = EVENT_SAMPLE, .time_ns = ms * MS, .tid = MAIN };
		sample.site = 0x10;
		send(a, sample);
		sample.tid = MAIN + 1;
		sample.site = ms >= 2 && ms < 7 ? 0x1800 : 0x10;
		send(a, sample);
	}
	return finish(a, 10 * MS);
}

static void who_is_sampled_in_a_runtime_that_spins_waits(void **state)
{
	(void)state;
	AUTO(results) struct results *r = sampled_in_a_runtime("/usr/lib/libgomp.so.1.0.0");
	assert_int_equal(thread_of(r, MAIN + 1)->running_ns, 5 * MS);
	assert_int_equal(thread_of(r, MAIN)->alone_ns, 5 * MS);
	assert_int_equal(thread_of(r, MAIN)->criticality_ns, 5 * MS + 5 * MS / 2);
	assert_int_equal(r->denied_core_ns, 0);
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
	assert_exact(r);
}

static void code_of_other_libraries_is_work(void **state)
{
	(void)state;
	AUTO(results) struct results *r = sampled_in_a_runtime("/usr/lib/libgompertz.so");
	assert_int_equal(thread_of(r, MAIN + 1)->running_ns, 10 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_NONE);
}

/* What it does next ends it, and no other wait is taken for it. */
static void spinning_ends_with_the_next_thing_that_a_thread_does(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	struct event sample = { .kind = EVENT_SAMPLE, .tid = MAIN + 1, .site = 0x1800 };
	send(a, (struct event){ .kind = EVENT_NAME,
			.tid = MAIN,
			.what = WHAT_MODULE,
			.object = 0x1000,
			.value = 0x2000,
			.text = "libgomp.so.1" });
	at(a, 0, MAIN, EVENT_RUN, WHAT_NONE, 0);
	at(a, 0, MAIN + 1, EVENT_RUN, WHAT_NONE, 0);
	sample.time_ns = 2 * MS;
	send(a, sample);
	at(a, 3 * MS, MAIN + 1, EVENT_PREEMPT, WHAT_NONE, 0);
	at(a, 4 * MS, MAIN + 1, EVENT_RUN, WHAT_NONE, 0);
	at(a, 5 * MS, MAIN + 1, EVENT_WAIT, WHAT_SLEEP, 0);
	sample.time_ns = 6 * MS; /* it shows late what was before */
	send(a, sample);
	flagged(a, 8 * MS, MAIN + 1, EVENT_PASS, WHAT_SLEEP, 0, EVENT_WAITED);
	AUTO(results) struct results *r = finish(a, 10 * MS);
	assert_int_equal(thread_of(r, MAIN + 1)->running_ns, 4 * MS);
	assert_int_equal(thread_of(r, MAIN + 1)->waited_ns[WHAT_SLEEP], 3 * MS);
	assert_int_equal(thread_of(r, MAIN + 1)->waited_ns[WHAT_NONE], 3 * MS);
	assert_exact(r);
}

/*
 * Threads for 12 ms, each sampled every ms: at which samples one spins (at place 0x50) says a bit of its mask; the rest
 * is work.
 */
static struct results *seen_to_spin(const uint32_t *masks, uint32_t count)
{
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 8 });
	for (uint32_t i = 0; i < count; i++)
		at(a, 0, MAIN + i, EVENT_THREAD_START, WHAT_NONE, 0);
	for (uint32_t ms = 0; ms < 12; ms++)
		for (uint32_t i = 0; i < count; i++) {
			bool spins = masks[i] >> ms & 1;
			send(a, (struct event){ .kind = EVENT_SAMPLE,
					.time_ns = ms * MS,
					.tid = MAIN + i,
					.site = spins ? 0x58 : 0x10,
					.value = spins ? 0x50 : 0 });
		}
	return finish(a, 12 * MS);
}

/* As at a lock: one works, two wait, by turns; nobody knows who has it. */
static void threads_that_spin_by_turns_wait_for_a_lock(void **state)
{
	(void)state;
	static const uint32_t masks[] = { 0xff0, 0xf0f, 0x0ff };
	AUTO(results) struct results *r = seen_to_spin(masks, ARRAY_SIZE(masks));
	assert_int_equal(r->findings[0].kind, FINDING_SPIN);
	const struct result_lock *place = &r->locks[r->findings[0].lock];
	assert_true(place->is_code);
	assert_int_equal(place->address, 0x50);
	assert_int_equal(place->waited_ns, 24 * MS);
	assert_int_equal(place->contended_ns, 12 * MS);
	assert_int_equal(place->held_ns, 0);
	assert_int_equal(place->spinners, 3);
	assert_int_equal(r->finding_count, 1);
	assert_exact(r);
}

/* Who is let go first may have to spin less: it is the same lock. */
static void a_lock_that_is_not_fair_is_one(void **state)
{
	(void)state;
	static const uint32_t masks[] = { 0x00f, 0xff8, 0xffa };
	AUTO(results) struct results *r = seen_to_spin(masks, ARRAY_SIZE(masks));
	assert_int_equal(r->findings[0].kind, FINDING_SPIN);
	assert_exact(r);
}

static void threads_that_spin_for_one_that_works_wait_for_it(void **state)
{
	(void)state;
	static const uint32_t masks[] = { 0x000, 0xff0, 0xff0 };
	AUTO(results) struct results *r = seen_to_spin(masks, ARRAY_SIZE(masks));
	assert_int_equal(r->findings[0].kind, FINDING_SERIAL);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
	assert_int_equal(thread_of(r, MAIN)->alone_ns, 8 * MS);
	assert_exact(r);
}

/* More is lost by them together than that one stands out by: it still is what they wait for. */
static void who_never_spins_is_waited_for_by_all_that_do(void **state)
{
	(void)state;
	static const uint32_t masks[] = { 0x000, 0x333, 0x333, 0xccc, 0xccc };
	AUTO(results) struct results *r = seen_to_spin(masks, ARRAY_SIZE(masks));
	assert_int_equal(r->finding_count, 1);
	assert_int_equal(r->findings[0].kind, FINDING_THREAD);
	assert_int_equal(r->threads[r->findings[0].thread].tid, MAIN);
	assert_exact(r);
}

/* The call that led into a runtime is the place; its own threads, which no call led there, wait for nobody knows what. */
static void a_runtime_spins_for_who_called_it(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ .cores = 2 });
	send(a, (struct event){ .kind = EVENT_NAME,
			.tid = MAIN,
			.what = WHAT_MODULE,
			.object = 0x1000,
			.value = 0x2000,
			.text = "libgomp.so.1" });
	for (uint32_t i = 0; i < 3; i++)
		at(a, 0, MAIN + i, EVENT_RUN, WHAT_NONE, 0);
	for (uint64_t ms = 0; ms < 10; ms++)
		for (uint32_t i = 0; i < 3; i++) {
			bool spins = i == 2 || ms % 2 == i;
			send(a, (struct event){ .kind = EVENT_SAMPLE,
					.time_ns = ms * MS,
					.tid = MAIN + i,
					.site = spins ? 0x1800 : 0x10,
					.value = !spins   ? 0
						 : i == 2 ? 0x1801
							  : 0x50 });
		}
	AUTO(results) struct results *r = finish(a, 10 * MS);
	assert_int_equal(r->findings[0].kind, FINDING_SPIN);
	assert_int_equal(r->lock_count, 1);
	assert_int_equal(r->locks[0].address, 0x50);
	assert_int_equal(r->locks[0].waited_ns, 10 * MS);
	assert_int_equal(thread_of(r, MAIN + 2)->waited_ns[WHAT_NONE], 10 * MS);
	assert_exact(r);
}

/* What it is seen to spin for while it waits for something that is known is that. */
static void a_wait_that_is_known_stays_what_it_is(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	struct event sample = { .kind = EVENT_SAMPLE, .tid = MAIN, .site = 0x58, .value = 0x50 };
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 1 * MS, MAIN, EVENT_WAIT, WHAT_SPIN, 7);
	sample.time_ns = 2 * MS;
	send(a, sample);
	flagged(a, 3 * MS, MAIN, EVENT_PASS, WHAT_SPIN, 7, EVENT_WAITED);
	AUTO(results) struct results *r = finish(a, 4 * MS);
	assert_int_equal(r->lock_count, 1);
	assert_int_equal(r->locks[0].address, 7);
	assert_int_equal(r->locks[0].waited_ns, 2 * MS);
	assert_false(r->locks[0].is_code);
	assert_exact(r);
}

/* Two copies of mix() in work(): one that work() calls by itself, one by way of load(). */
static struct code_place one_line(void *context, const char *module, uint64_t address)
{
	(void)context;
	(void)module;
	(void)address;
	return (struct code_place){ .symbol = "work", .file = "a.c", .line = 7 };
}

static size_t two_copies(
	void *context, const char *module, uint64_t address, const char *ret[CODE_INLINED_MAX])
{
	static const char *const names[] = { "load", "mix" };
	size_t first = address < 0x2000 ? 1 : 0, count = 0;
	(void)context;
	(void)module;
	while (first < ARRAY_SIZE(names))
		ret[count++] = names[first++];
	return count;
}

static void the_copy_that_ran_alone_is_named(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	send(a, (struct event){ .kind = EVENT_NAME,
			.tid = MAIN,
			.what = WHAT_MODULE,
			.object = 0,
			.value = 0x10000,
			.text = "/app" });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	send(a, (struct event){
			.kind = EVENT_SAMPLE, .tid = MAIN, .time_ns = 30 * MS, .site = 0x2000 });
	at(a, 40 * MS, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	send(a, (struct event){
			.kind = EVENT_SAMPLE, .tid = MAIN, .time_ns = 200 * MS, .site = 0x1000 });
	AUTO(results) struct results *r = finish(a, 200 * MS);
	const struct code_finder finder = { .find = one_line, .find_inlined = two_copies };
	struct criticality_view view;
	criticality_view_init(&view, r, "", &finder);
	assert_false(view.failed);
	assert_non_null(strstr(view.findings[0], " work > load > mix (a.c:7)"));
	assert_string_equal(view.sites[0].text, "work > mix (a.c:7)");
	criticality_view_release(&view);
}

/* A region at 0x1000 calls a function at 0x2000; all else is a runtime's. */
static struct code_place region(void *context, const char *module, uint64_t address)
{
	(void)context;
	(void)module;
	if (address >= 0x5000)
		return (struct code_place){ 0 };
	return (struct code_place){ .symbol = address < 0x2000 ? "region" : "function",
		.file = "a.c",
		.line = 7,
		.is_system = address < 0x1000 || address >= 0x3000 };
}

static char *no_name(void *context, const char *module, uint64_t address)
{
	(void)context;
	(void)module;
	(void)address;
	return NULL;
}

static char *no_member(void *context, uint8_t what, const struct code_call *calls, size_t count)
{
	(void)context;
	(void)what;
	(void)calls;
	(void)count;
	return NULL;
}

/* Its threads were called by nobody: the last to come was. */
static void a_barrier_of_a_runtime_is_called_after_who_comes_last(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	send(a, (struct event){ .kind = EVENT_NAME,
			.tid = MAIN,
			.what = WHAT_MODULE,
			.value = 0x10000,
			.text = "/app" });
	send(a, (struct event){ .kind = EVENT_NAME,
			.tid = MAIN,
			.what = WHAT_STACK,
			.object = 7,
			.text = "1100 4100 1200" });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 0, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	send(a, (struct event){ .kind = EVENT_WAIT,
			.tid = MAIN + 1,
			.time_ns = 1 * MS,
			.what = WHAT_FUTEX,
			.object = 0x8000,
			.site = 0x4000 });
	send(a, (struct event){ .kind = EVENT_SAMPLE,
			.tid = MAIN,
			.time_ns = 5 * MS,
			.site = 0x2000,
			.object = 7 });
	send(a, (struct event){ .kind = EVENT_WOKEN,
			.tid = MAIN + 1,
			.time_ns = 9 * MS,
			.what = WHAT_FUTEX,
			.object = 0x8000,
			.value = MAIN });
	AUTO(results) struct results *r = finish(a, 10 * MS);
	AUTO_RELEASE(strbuf) struct strbuf name = { 0 };
	const struct code_finder finder = {
		.find = region, .name_object = no_name, .name_passed = no_member
	};
	results_set_futex(r, 0, WHAT_BARRIER);
	criticality_add_lock(&name, r, &finder, &r->locks[0]);
	assert_string_equal(name.text, "barrier used in region (a.c:7)");
}

/* Each at a word of its own, from a runtime's code, while the other one runs. */
static void threads_that_a_runtime_parks_are_told_by_what_ran(void **state)
{
	(void)state;
	AUTO(analysis) struct analysis *a = new_analysis((struct analysis_opts){ 0 });
	send(a, (struct event){ .kind = EVENT_NAME,
			.tid = MAIN,
			.what = WHAT_MODULE,
			.value = 0x10000,
			.text = "/app" });
	at(a, 0, MAIN, EVENT_THREAD_START, WHAT_NONE, 0);
	at(a, 0, MAIN + 1, EVENT_THREAD_START, WHAT_NONE, 0);
	for (uint32_t i = 1; i < 20; i++) {
		struct event wait = { .kind = EVENT_WAIT,
			.tid = MAIN + i % 2,
			.time_ns = i * 10 * MS,
			.what = WHAT_FUTEX,
			.object = 0x8000 + 8 * (i % 2),
			.site = 0x4000 };
		struct event woken = wait;
		woken.kind = EVENT_WOKEN;
		woken.time_ns += 9 * MS;
		woken.value = MAIN + 1 - i % 2;
		send(a, wait);
		send(a, (struct event){ .kind = EVENT_SAMPLE,
				.tid = MAIN + 1 - i % 2,
				.time_ns = wait.time_ns + 8 * MS,
				.site = 0x2000 });
		send(a, woken);
	}
	AUTO(results) struct results *r = finish(a, 200 * MS);
	const struct code_finder finder = {
		.find = region, .name_object = no_name, .name_passed = no_member
	};
	struct criticality_view view;
	criticality_view_init(&view, r, "", &finder);
	assert_false(view.failed);
	assert_int_equal(r->findings[0].kind, FINDING_LOCK);
	assert_non_null(strstr(view.findings[0],
		" of the time went to function (a.c:7). Meanwhile threads were parked by the "
		"program's runtime"));
	AUTO_FREE char *subject = finding_subject(&view, &r->findings[0]);
	assert_string_equal(subject, "function (a.c:7)");
	criticality_view_release(&view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trylock_loops_count_as_waiting_until_they_stop),
		cmocka_unit_test(tries_before_a_sleep_are_no_spinning),
		cmocka_unit_test(who_yields_in_a_loop_waits_also_without_a_core),
		cmocka_unit_test(who_yields_between_pieces_of_work_works),
		cmocka_unit_test(a_runtime_yields_for_nobody_knows_what),
		cmocka_unit_test(samples_carry_the_criticality_of_their_thread),
		cmocka_unit_test(the_blame_of_sampled_code_is_all_that_accrued),
		cmocka_unit_test(a_sample_is_worth_what_accrued_since_the_one_before),
		cmocka_unit_test(who_is_sampled_in_a_runtime_that_spins_waits),
		cmocka_unit_test(code_of_other_libraries_is_work),
		cmocka_unit_test(spinning_ends_with_the_next_thing_that_a_thread_does),
		cmocka_unit_test(threads_that_spin_by_turns_wait_for_a_lock),
		cmocka_unit_test(a_lock_that_is_not_fair_is_one),
		cmocka_unit_test(threads_that_spin_for_one_that_works_wait_for_it),
		cmocka_unit_test(who_never_spins_is_waited_for_by_all_that_do),
		cmocka_unit_test(a_runtime_spins_for_who_called_it),
		cmocka_unit_test(a_wait_that_is_known_stays_what_it_is),
		cmocka_unit_test(the_copy_that_ran_alone_is_named),
		cmocka_unit_test(a_barrier_of_a_runtime_is_called_after_who_comes_last),
		cmocka_unit_test(threads_that_a_runtime_parks_are_told_by_what_ran),
	};
	return cmocka_run_group_tests_name("criticality_samples", tests, NULL, NULL);
}
