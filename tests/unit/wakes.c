/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What waking a thread takes: found in a recording, or told of the machine; the same in replays and in models. */
#include "replay_fixture.h"

#include "base/strbuf.h"
#include "builder/build.h"
#include "trace/wakes.h"

#include <inttypes.h>
#include <math.h>

#define WAKES_HEAD "time_ns,tid,event,what,object,site,value,woken_ns,cpu_ns,flags\n"

enum { PAIRS = 100, US = 1000, MS = 1000 * US };

/*
 * a: 20 us of work, then the lock for 10 us, PAIRS times; after each second of them b, which waits for it, is woken: cost_ns
 * of a's CPU time. b gets the lock 15 us later, when a is far from it.
 */
static void add_pairs(struct strbuf *text, bool wakes, uint64_t cost_ns)
{
	uint64_t t = 0, b_cpu = 1, a_cpu = 1;
	strbuf_add(text, WAKES_HEAD "0,a,start,,,,,,1,\n0,b,start,,,,,,1,\n");
	for (int i = 0; i < PAIRS; i++) {
		bool is_waited_for = wakes && i % 2;
		uint64_t before = wakes && i > 0 && i % 2 == 0 ? 20 * US + cost_ns : 20 * US;
		t += before;
		a_cpu += before;
		strbuf_addf(text, "%" PRIu64 ",a,pass,mutex,m,1,,,%" PRIu64 ",\n", t, a_cpu);
		if (is_waited_for) {
			b_cpu += 100;
			strbuf_addf(text, "%" PRIu64 ",b,wait,mutex,m,2,,,%" PRIu64 ",\n",
				t + 2 * US, b_cpu);
		}
		t += 10 * US;
		a_cpu += 10 * US;
		strbuf_addf(text, "%" PRIu64 ",a,release,mutex,m,,,,%" PRIu64 ",\n", t, a_cpu);
		if (is_waited_for) {
			b_cpu += 2 * US;
			strbuf_addf(text, "%" PRIu64 ",b,woken,mutex,m,,a,,,\n", t);
			strbuf_addf(text,
				"%" PRIu64 ",b,pass,mutex,m,2,a,%" PRIu64 ",%" PRIu64 ",waited\n",
				t + 15 * US, t, b_cpu);
			b_cpu += 100;
			strbuf_addf(text, "%" PRIu64 ",b,release,mutex,m,,,,%" PRIu64 ",\n",
				t + 15 * US + 100, b_cpu);
		}
	}
	t += 50 * US;
	strbuf_addf(text, "%" PRIu64 ",a,exit,,,,,,%" PRIu64 ",\n", t, a_cpu + 50 * US);
	strbuf_addf(text, "%" PRIu64 ",b,exit,,,,,,%" PRIu64 ",\n", t, b_cpu + US);
	assert_int_equal(strbuf_failed(text), 0);
}

static const struct trace_others unknown;

static int add_to(void *context, const struct event *event, struct err *err)
{
	uint32_t woken;
	(void)err;
	return wakes_add(context, event, &woken);
}

static struct wakes_found find(bool wakes, uint64_t cost_ns, const struct trace_wakes *machine)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	AUTO(wakes) struct wakes *all = NULL;
	add_pairs(&text, wakes, cost_ns);
	assert_int_equal(wakes_new(2, machine, &unknown, &all), 0);
	feed(text.text, &(struct event_sink){ .context = all, .event = add_to });
	return wakes_find(all);
}

static void the_cost_of_waking_is_found(void **state)
{
	(void)state;
	static const struct trace_wakes machine = { .cost_ns = 9000 };
	struct wakes_found found = find(true, 6000, &machine);
	assert_int_equal(found.cost_ns, 6000);
	assert_int_equal(found.latency_ns, 15000);
	assert_true(found.parts_ns[0] == 15000);
	/* a waiter that had not fallen asleep */
	assert_int_equal(find(true, 0, &machine).cost_ns, 0);
}

static void without_two_kinds_it_is_the_machines(void **state)
{
	(void)state;
	static const struct trace_wakes machine = { .cost_ns = 9000 };
	assert_int_equal(find(false, 0, &machine).cost_ns, 9000);
	assert_int_equal(find(false, 0, &(struct trace_wakes){ 0 }).cost_ns, 0);
}

/*
 * b waits for a lock that a has for 25 us of each 30. When it is woken it takes 20 us to run, or now and then 4 us: it finds the lock taken
 * until a does something else for long.
 */
static void what_was_woken_in_vain_counts(void **state)
{
	(void)state;
	enum { TURNS = 10, WAITS = 40, WAKES = 20, FREE = 5, HELD = 25 };
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	AUTO(wakes) struct wakes *all = NULL;
	uint64_t t = 0, cpu = 1;
	strbuf_add(&text, WAKES_HEAD "0,a,start,,,,,,1,\n0,b,start,,,,,,1,\n");
	for (int i = 0; i < WAITS; i++) {
		for (int j = 0; j < TURNS; j++, t += HELD * US) {
			t += FREE * US;
			strbuf_addf(
				&text, "%" PRIu64 ",a,pass,mutex,m,1,,,%" PRIu64 ",\n", t, cpu + t);
			if (j == 0)
				strbuf_addf(&text, "%" PRIu64 ",b,wait,mutex,m,2,,,%" PRIu64 ",\n",
					t + US, cpu);
			strbuf_addf(&text, "%" PRIu64 ",a,release,mutex,m,,,,%" PRIu64 ",\n",
				t + HELD * US, cpu + t + HELD * US);
		}
		uint64_t got = t + (i % 10 ? WAKES : FREE - 1) * US;
		strbuf_addf(&text, "%" PRIu64 ",b,woken,mutex,m,,a,,,\n", t);
		strbuf_addf(&text,
			"%" PRIu64 ",b,pass,mutex,m,2,a,%" PRIu64 ",%" PRIu64 ",waited\n", got, t,
			cpu + i);
		strbuf_addf(&text, "%" PRIu64 ",b,release,mutex,m,,,,%" PRIu64 ",\n", got + US,
			cpu + i);
		t += 50 * US;
	}
	assert_int_equal(strbuf_failed(&text), 0);
	assert_int_equal(wakes_new(2, &(struct trace_wakes){ .doze_ns = 300 }, &unknown, &all), 0);
	feed(text.text, &(struct event_sink){ .context = all, .event = add_to });
	struct wakes_found found = wakes_find(all);
	/* Nearly all of them, and not nine of ten, took as long as the others that ended. */
	assert_true(found.parts_ns[0] > FREE * US);
	assert_true(found.latency_ns > (WAKES - 1) * US && found.latency_ns < (WAKES + 1) * US);
}

/* b waits again and again, and runs 40 us after it could. c comes back from input 5 us after that, or never, and works for 20 us. */
static uint64_t latency_of_late(const char *what, uint32_t cores, bool has_other)
{
	enum { TURNS = 50, TURN = 1000, LATE = 40 };
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	AUTO(wakes) struct wakes *all = NULL;
	strbuf_add(
		&text, WAKES_HEAD "0,b,start,,,,,,1,\n0,c,start,,,,,,1,\n1,c,wait,io,7,3,5,,2,\n");
	for (uint64_t i = 1; i <= TURNS; i++) {
		uint64_t t = i * TURN * US, woken = t + 500 * US, cpu = i * 30 * US;
		strbuf_addf(&text, "%" PRIu64 ",b,wait,%s,m,2,,,%" PRIu64 ",\n", t, what, cpu);
		strbuf_addf(&text, "%" PRIu64 ",b,woken,%s,m,,,,,\n", woken, what);
		if (has_other) {
			strbuf_addf(&text, "%" PRIu64 ",c,pass,io,7,3,,,%" PRIu64 ",waited\n",
				woken + 5 * US, cpu);
			strbuf_addf(&text, "%" PRIu64 ",c,wait,io,7,3,5,,%" PRIu64 ",\n",
				woken + 25 * US, cpu + 20 * US);
		}
		strbuf_addf(&text, "%" PRIu64 ",b,pass,%s,m,2,,%" PRIu64 ",%" PRIu64 ",waited\n",
			woken + LATE * US, what, woken, cpu + US);
	}
	assert_int_equal(strbuf_failed(&text), 0);
	assert_int_equal(wakes_new(cores, &(struct trace_wakes){ 0 }, &unknown, &all), 0);
	feed(text.text, &(struct event_sink){ .context = all, .event = add_to });
	return wakes_find(all).latency_ns;
}

static void only_who_has_a_core_all_the_time_tells(void **state)
{
	(void)state;
	assert_int_equal(latency_of_late("cond", 1, false), 40 * US);
	assert_int_equal(latency_of_late("cond", 1, true), 0);
	assert_int_equal(latency_of_late("cond", 2, true), 40 * US);
	/* A timer is late, whoever has the cores. */
	assert_int_equal(latency_of_late("sleep", 2, false), 0);
}

/*
 * A condition is signalled by who holds its mutex, and gives that back `held` us later. Who waited gets the mutex `late` us after the
 * signal: what is recorded is a wait that ends with the signal, and one for the mutex. The machine needs 15 us.
 */
static uint64_t latency_of_signalled(uint64_t held, uint64_t late)
{
	enum { TURNS = 50, TURN = 1000 };
	static const struct trace_wakes machine = { .latency_ns = 15 * US };
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	AUTO(wakes) struct wakes *all = NULL;
	strbuf_add(&text, WAKES_HEAD "0,a,start,,,,,,1,\n0,b,start,,,,,,1,\n");
	for (uint64_t i = 1; i <= TURNS; i++) {
		uint64_t t = i * TURN * US, cpu = i * US, signal = t + 100 * US;
		strbuf_addf(&text, "%" PRIu64 ",b,wait,cond,c,2,m,,%" PRIu64 ",\n", t, cpu);
		strbuf_addf(&text, "%" PRIu64 ",a,pass,mutex,m,1,,,%" PRIu64 ",\n", signal - US,
			signal);
		strbuf_addf(&text, "%" PRIu64 ",b,woken,cond,c,,a,,,\n", signal);
		strbuf_addf(&text, "%" PRIu64 ",b,pass,cond,c,2,a,%" PRIu64 ",%" PRIu64 ",waited\n",
			signal, signal, cpu);
		strbuf_addf(&text, "%" PRIu64 ",b,wait,mutex,m,2,,,%" PRIu64 ",implicit\n", signal,
			cpu);
		strbuf_addf(&text, "%" PRIu64 ",b,woken,mutex,m,,a,,,\n", signal + held * US);
		strbuf_addf(&text, "%" PRIu64 ",a,release,mutex,m,1,,,%" PRIu64 ",\n",
			signal + held * US, signal + held * US);
		strbuf_addf(&text,
			"%" PRIu64 ",b,pass,mutex,m,2,a,%" PRIu64 ",%" PRIu64 ",waited|implicit\n",
			signal + late * US, signal + held * US, cpu + US);
	}
	assert_int_equal(strbuf_failed(&text), 0);
	assert_int_equal(wakes_new(2, &machine, &unknown, &all), 0);
	feed(text.text, &(struct event_sink){ .context = all, .event = add_to });
	return wakes_find(all).latency_ns;
}

static void who_is_signalled_is_woken_then(void **state)
{
	(void)state;
	assert_int_equal(latency_of_signalled(12, 20), 20 * US);
	/* It came before the mutex was free, and slept again. */
	assert_int_equal(latency_of_signalled(80, 98), 18 * US);
}

/* b runs 10 us after it could, or in two of five turns 80 us. It was there long before. */
static double longest_part(const struct trace_others *others)
{
	enum { TURNS = 100, TURN = 1000 };
	const uint64_t before = 10000000000;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	AUTO(wakes) struct wakes *all = NULL;
	strbuf_add(&text, WAKES_HEAD "1,b,tick,,,,,,10000000000,\n");
	for (uint64_t i = 1; i <= TURNS; i++) {
		uint64_t t = i * TURN * US, woken = t + 500 * US, late = i % 5 < 2 ? 80 : 10;
		strbuf_addf(
			&text, "%" PRIu64 ",b,wait,sem,m,2,,,%" PRIu64 ",\n", t, before + i * US);
		strbuf_addf(&text, "%" PRIu64 ",b,woken,sem,m,,,,,\n", woken);
		strbuf_addf(&text, "%" PRIu64 ",b,pass,sem,m,2,,%" PRIu64 ",%" PRIu64 ",waited\n",
			woken + late * US, woken, before + i * US + 100);
	}
	assert_int_equal(strbuf_failed(&text), 0);
	assert_int_equal(wakes_new(2, &(struct trace_wakes){ 0 }, others, &all), 0);
	feed(text.text, &(struct event_sink){ .context = all, .event = add_to });
	return wakes_find(all).parts_ns[WAKES_PARTS - 1];
}

static void no_more_are_disturbed_than_others_can_disturb(void **state)
{
	(void)state;
	assert_true(longest_part(&unknown) == 10 * US);
	assert_true(
		longest_part(&(struct trace_others){ .cpu_ns = 0, .wall_ns = 1000 }) == 80 * US);
	/* Half of the two cores, of which the run took next to nothing. */
	assert_true(
		longest_part(&(struct trace_others){ .cpu_ns = 1000, .wall_ns = 1000 }) == 10 * US);
}

static void a_replay_plays_it(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	add_pairs(&text, true, 6000);
	struct replay_opts opts = { .cores = 2, .wakes = { .cost_ns = 9000, .latency_ns = 1000 } };
	struct fixture f = { 0 };
	struct replay_facts facts;
	assert_int_equal(replay_new(&opts, &f.replay, NULL), 0);
	struct event_sink sink = replay_sink(f.replay);
	feed(text.text, &sink);
	replay_facts(f.replay, &facts);
	release(&f);
	assert_int_equal(facts.wake_cost_ns, 6000);
	assert_int_equal(facts.wake_ns, 15000);
}

static int add_spinning_to(void *context, const struct event *event, struct err *err)
{
	uint32_t woken;
	struct event copy = *event;
	(void)err;
	copy.flags |= event->kind == EVENT_WAIT ? EVENT_SPINS : 0;
	int code = wakes_add(context, &copy, &woken);
	assert_int_equal(woken, 0);
	return code;
}

static void who_spins_is_not_woken(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	AUTO(wakes) struct wakes *all = NULL;
	add_pairs(&text, true, 6000);
	assert_int_equal(wakes_new(2, &(struct trace_wakes){ .cost_ns = 9000 }, &unknown, &all), 0);
	feed(text.text, &(struct event_sink){ .context = all, .event = add_spinning_to });
	assert_int_equal(wakes_find(all).cost_ns, 9000);
}

static double mean_of(const struct model_dist *dist)
{
	double sum = 0;
	if (dist->kind != MODEL_QUANTILES)
		return dist->a.value;
	for (uint32_t i = 0; i + 1 < dist->quantile_count; i++)
		sum += (dist->quantiles[i] + dist->quantiles[i + 1]) / 2;
	return sum / (dist->quantile_count - 1);
}

/* The work before the lock of `a`, whose every second turn had the waking in it, and before that of `b`. */
static void a_model_has_it_as_hardware(void **state)
{
	(void)state;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	AUTO(build) struct build *build = NULL;
	AUTO(model) struct model *model = NULL;
	add_pairs(&text, true, 6000);
	struct build_opts opts = {
		.name = "test", .cores = 2, .wakes = { .cost_ns = 9000, .doze_ns = 300 }
	};
	assert_int_equal(build_new(&opts, &build), 0);
	struct event_sink sink = build_sink(build);
	feed(text.text, &sink);
	assert_int_equal(build_model(build, &model, NULL), 0);
	const struct model_hardware *hardware = &model->hardware;
	assert_true(fabs(mean_of(&hardware->wake) - 15e-6) < 1e-12);
	assert_true(fabs(hardware->wake_cost.value - 6e-6) < 1e-12);
	assert_true(fabs(hardware->doze_time.value - 300e-9) < 1e-12);
	double longest_s = 0;
	for (size_t i = 0; i < model->group_count; i++)
		for (size_t j = 0; j < model->groups[i].fragment_count; j++) {
			const struct model_fragment *fragment = &model->groups[i].fragments[j];
			if (fragment->op == MODEL_LOCK)
				longest_s = fmax(longest_s, mean_of(&fragment->cpu));
		}
	assert_true(fabs(longest_s - 20e-6) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cost_of_waking_is_found),
		cmocka_unit_test(without_two_kinds_it_is_the_machines),
		cmocka_unit_test(what_was_woken_in_vain_counts),
		cmocka_unit_test(only_who_has_a_core_all_the_time_tells),
		cmocka_unit_test(who_is_signalled_is_woken_then),
		cmocka_unit_test(no_more_are_disturbed_than_others_can_disturb),
		cmocka_unit_test(a_replay_plays_it),
		cmocka_unit_test(who_spins_is_not_woken),
		cmocka_unit_test(a_model_has_it_as_hardware),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
