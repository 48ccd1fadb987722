/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions of profiles written by hand, against sums. */
#include "cmocka_all.h"

#include "base/mem.h"
#include "base/strbuf.h"
#include "preload/profile_page.h"
#include "trace/csv_read.h"
#include "uarch/predict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "time_ns,tid,cpu_ns,event,what,object,site,value,flags\n"

enum { OPS = 200, CODES = 8, CLASSES_MAX = 8 };

/* 2 GHz, two operations a cycle, every unit on every port, nothing else in the way. */
static struct processor two_wide(void)
{
	struct processor p = { .cores = 4,
		.frequency_hz = 2e9,
		.dispatch_width = 2,
		.retire_width = 2,
		.rob = 128,
		.issue_queue = 128,
		.load_queue = 64,
		.store_queue = 64,
		.front_end = 10,
		.predictor = PREDICTOR_PERFECT,
		.load_ports = 0xff,
		.store_ports = 0xff,
		.port_count = 8,
		.instruction = { .bytes = 32768, .ways = 8, .latency = 3, .shared_by = 1 },
		.levels = { { .bytes = 32768, .ways = 8, .latency = 4, .shared_by = 1 },
			{ .bytes = 1 << 20, .ways = 16, .latency = 20, .shared_by = 4 } },
		.level_count = 2,
		.memory_ns = 100,
		.transfer_ns = 50 };
	for (unsigned i = 0; i < CODE_CLASSES; i++)
		p.units[i] = (struct unit){ .latency = 1, .interval = 1, .ports = 0xff };
	return p;
}

/* A profile of threads that do independent additions (class CODE_ALU), or loads that miss everything. */
struct script {
	struct profile profile;
	struct profile_thread threads[4];
	struct profile_class classes[CLASSES_MAX];
	struct code codes[CODES + 1];
	struct micro_op alu[OPS], loads[OPS];
	struct micro_trace micro[CLASSES_MAX];
	struct profile_reuse reuse[CLASSES_MAX];
	const char *timeline;
	char command[1], timeline_bytes[1]; /* that the predictor does not read */
};

static void begin(struct script *s, const char *timeline)
{
	*s = (struct script){ .timeline = timeline };
	for (unsigned i = 0; i < CODES; i++)
		s->codes[i] =
			(struct code){ .address = 4 * i, .class = CODE_ALU, .writes = 1u << i };
	s->codes[CODES] = (struct code){ .address = 4 * CODES,
		.class = CODE_MOVE,
		.flags = CODE_LOAD,
		.writes = 2,
		.address_reads = 1,
		.data_bytes = 8 };
	for (unsigned i = 0; i < OPS; i++) {
		s->alu[i] = (struct micro_op){ .code = i % CODES };
		bool is_load = i % 10 == 0;
		s->loads[i] = (struct micro_op){ .code = is_load ? CODES : i % CODES,
			.address = is_load ? 0x100000 + i * 64 : 0 };
	}
	s->profile = (struct profile){ .command = s->command,
		.threads = s->threads,
		.classes = s->classes,
		.codes = s->codes,
		.code_count = CODES + 1,
		.reuse = s->reuse,
		.micro = s->micro,
		.timeline = s->timeline_bytes,
		.timeline_bytes = 1 };
}

static void add_thread(struct script *s, uint32_t tid)
{
	s->threads[s->profile.thread_count++] = (struct profile_thread){ .pid = 1, .tid = tid };
}

/* By thread, then stretch: as the profile's order wants it. */
static void add_class(struct script *s, uint32_t thread, uint64_t stretch, uint64_t instructions,
	bool misses, bool has_traces)
{
	uint32_t index = (uint32_t)s->profile.class_count++;
	uint64_t loads = misses ? instructions / 10 : 0;
	s->classes[index] = (struct profile_class){ .thread = thread,
		.stretch = stretch,
		.stretches = 1,
		.instructions = instructions,
		.loads = loads,
		.first_touches = loads,
		.first_touches_global = loads,
		.mix = { [CODE_ALU] = instructions - loads, [CODE_MOVE] = loads } };
	if (misses)
		for (uint16_t scope = PROFILE_PRIVATE; scope <= PROFILE_GLOBAL; scope++)
			s->reuse[s->profile.reuse_count++] = (struct profile_reuse){ .class = index,
				.code = CODES,
				.scope = scope,
				.bin = REUSE_INFINITE,
				.samples = 1000,
				.count = (double)loads };
	if (has_traces)
		s->micro[s->profile.micro_count++] = (struct micro_trace){ .class = index,
			.count = OPS,
			.ops = misses ? s->loads : s->alu,
			.weight = (double)instructions };
}

static struct rppm *load(struct script *s)
{
	struct err err = { "" };
	struct rppm *rppm = NULL;
	if (rppm_new(&s->profile, &(struct predict_opts){ 0 }, &rppm, &err) < 0)
		fail_msg("%s", err.text);
	struct event_sink sink = rppm_sink(rppm);
	FILE *in = fmemopen((void *)(uintptr_t)s->timeline, strlen(s->timeline), "r");
	assert_non_null(in);
	if (timeline_csv_read(in, "test", &sink, NULL, &err) < 0)
		fail_msg("%s", err.text);
	(void)fclose(in);
	return rppm;
}

static struct prediction predict_drawn(
	struct rppm *rppm, const struct processor *processor, uint64_t seed)
{
	struct err err = { "" };
	struct prediction prediction = { 0 };
	const struct predict_run run = { .processor = processor, .seed = seed };
	if (rppm_run(rppm, &run, &prediction, &err) < 0)
		fail_msg("%s", err.text);
	return prediction;
}

static struct prediction predict(struct rppm *rppm, const struct processor *processor)
{
	return predict_drawn(rppm, processor, 0);
}

static void assert_near(double value, double expected, double share)
{
	if (!(value >= expected * (1 - share) && value <= expected * (1 + share)))
		fail_msg("%g instead of %g", value, expected);
}

/* Main does 1,000,000, then two threads 2,000,000 and 4,000,000; the timeline's times mean nothing. */
static const char fork_join[] = HEAD "0,main,0,start,,,,,\n"
				     "7000,main,1000000,region_begin,region,r,8,,\n"
				     "7000,a,0,start,,,,main,\n"
				     "7000,b,0,start,,,,main,\n"
				     "7000,main,1000000,wait,join,a,,a,\n"
				     "8000,a,2000000,exit,,,,,\n"
				     "8000,main,1000000,pass,join,a,9,a,waited\n"
				     "8000,main,1000000,wait,join,b,,b,\n"
				     "99000,b,4000000,exit,,,,,\n"
				     "99000,main,1000000,pass,join,b,9,b,waited\n"
				     "99000,main,1000000,exit,,,,,\n";

/* Numbers of threads as timeline_csv_read() gives them to names. */
enum { TID = 4000000 };

static void make_fork_join(struct script *s, bool misses, bool has_traces)
{
	begin(s, fork_join);
	add_thread(s, TID);
	add_thread(s, TID + 1);
	add_thread(s, TID + 2);
	add_class(s, 0, PROFILE_START, 1000000, false, true);
	add_class(s, 1, PROFILE_START, 2000000, misses, true);
	add_class(s, 2, PROFILE_START, 4000000, misses, has_traces);
}

static void the_longest_chain_is_the_time(void **state)
{
	(void)state;
	struct script s;
	make_fork_join(&s, false, true);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	struct prediction p = predict(rppm, &machine);
	/* two instructions in a cycle of half a ns */
	assert_near((double)p.ns, 5e6 / 2 / 2, 0.01);
	assert_near((double)p.main_ns, 1e6 / 4, 0.01);
	assert_near((double)p.crit_ns, 4e6 / 4, 0.01);
	assert_near(p.instructions, 7e6, 0.0001);
	assert_true(p.own_share == 1 && p.unmatched == 0);
	assert_int_equal(p.thread_count, 3);
	assert_near(p.threads[0].stack[CORE_BASE], 0.5, 0.01);
	/* main waits for b: 4e6 / 4 ns of 2 GHz over its million */
	assert_near(p.threads[0].stack[PREDICT_SYNC], 2, 0.01);
	assert_near(p.threads[0].cpi, 2.5, 0.01);
	assert_near(p.threads[2].cpi, 0.5, 0.01);
	assert_true(p.threads[2].stack[PREDICT_SYNC] == 0);
	prediction_release(&p);
	machine.cores = 1;
	p = predict(rppm, &machine);
	assert_near((double)p.ns, 7e6 / 4, 0.01);
	prediction_release(&p);
	machine.wake_ns = 50000;
	machine.cores = 2;
	p = predict(rppm, &machine);
	assert_near((double)p.ns, 5e6 / 4 + 50000, 0.005);
	prediction_release(&p);
}

/* 1 ms in a class that has no traces; of another thread that is done long before, too. */
static void the_kernel_takes_its_time_where_a_machine_has_one(void **state)
{
	(void)state;
	struct script s;
	make_fork_join(&s, false, false);
	s.classes[1].system_ns = 400000;
	s.classes[2].system_ns = 1000000;
	s.classes[2].system_calls = 1000;
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	struct prediction p = predict(rppm, &machine);
	assert_near((double)p.ns, 5e6 / 4, 0.01);
	prediction_release(&p);
	machine.fault_ns = 700; /* no page is new here */
	p = predict(rppm, &machine);
	assert_near((double)p.ns, 5e6 / 4 + 1e6, 0.01);
	assert_near(p.threads[1].stack[CORE_SYSTEM], 0.4e6 * 2 / 2e6, 0.01);
	assert_near(p.threads[2].stack[CORE_SYSTEM], 1e6 * 2 / 4e6, 0.01);
	assert_near(p.threads[2].cpi, 1, 0.01);
	prediction_release(&p);
	machine.call_ns = 500;
	p = predict(rppm, &machine);
	assert_near((double)p.ns, 5e6 / 4 + 1e6 + 1000 * 500, 0.01);
	prediction_release(&p);
}

/* Work that is as wide as the core takes twice its cycles on half of one: half of the time at either pace. */
static void neighbours_take_half_of_the_core_in_their_time(void **state)
{
	(void)state;
	struct script s;
	make_fork_join(&s, false, false);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	machine.sibling_busy = 0.5;
	struct prediction p = predict(rppm, &machine);
	assert_near((double)p.ns, 5e6 / 4 * 4 / 3, 0.01);
	assert_near(p.threads[2].stack[CORE_BASE], 0.5, 0.01);
	assert_near(p.threads[2].stack[CORE_SIBLING], 0.5 / 3, 0.01);
	assert_near(p.threads[2].cpi, 2.0 / 3, 0.01);
	prediction_release(&p);
}

/* As above: short spells are the same as a share of all times, and each cycle of a thread is told. */
static void neighbours_that_come_and_go_often_are_a_share(void **state)
{
	(void)state;
	struct script s;
	make_fork_join(&s, false, false);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	machine.sibling_busy = 0.5;
	machine.sibling_spell_ns = 1000;
	struct prediction p = predict(rppm, &machine);
	assert_near((double)p.ns, 5e6 / 4 * 4 / 3, 0.05);
	assert_near(p.threads[2].stack[CORE_BASE], 0.5, 0.01);
	assert_near(p.threads[2].stack[CORE_SIBLING], 0.5 / 3, 0.1);
	double sum = 0;
	for (unsigned i = 0; i < PREDICT_PARTS; i++)
		sum += p.threads[2].stack[i];
	assert_near(sum, p.threads[2].cpi, 1e-6);
	prediction_release(&p);
}

/*
 * Neighbours that stay for the whole run are there or not: main's million takes 0.25 ms or 0.5, then the longer thread's four millions
 * 1 ms or 2, of which the other's two are never more. One time in four is as alone.
 */
static void neighbours_that_stay_have_one_core_or_the_other(void **state)
{
	(void)state;
	enum { SEEDS = 64 };
	struct script s;
	make_fork_join(&s, false, false);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	machine.sibling_busy = 0.5;
	machine.sibling_spell_ns = 1e11;
	unsigned alone = 0, all = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct prediction p = predict_drawn(rppm, &machine, seed);
		double ms = (double)p.ns / 1e6;
		alone += ms < 1.26;
		all += ms > 2.49;
		assert_true(ms > 1.24 && ms < 2.52);
		prediction_release(&p);
	}
	assert_in_range(alone, SEEDS / 8, SEEDS * 3 / 8);
	assert_in_range(all, SEEDS / 8, SEEDS * 3 / 8);
}

/* Main alone, whose file needs two others; the recorder's does not count. */
static void a_process_is_started_with_its_libraries(void **state)
{
	(void)state;
	static const char timeline[] =
		"time_ns,tid,cpu_ns,event,what,object,value,text\n"
		"0,main,,name,module,0x1000,0x2000,\"/bin/program\"\n"
		"0,main,,name,module,0x3000,0x4000,\"/lib/libm.so.6\"\n"
		"0,main,,name,module,0x5000,0x6000,\"/lib/preload/libcorecast-sync.so\"\n"
		"0,main,,name,module,0x7000,0x8000,\"/lib/libc.so.6\"\n"
		"0,main,0,start,,,,\n"
		"9000,main,1000000,exit,,,,\n";
	struct script s;
	begin(&s, timeline);
	add_thread(&s, TID);
	add_class(&s, 0, PROFILE_START, 1000000, false, true);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	struct prediction p = predict(rppm, &machine);
	assert_near((double)p.ns, 1e6 / 4, 0.01);
	prediction_release(&p);
	machine.exec_ns = 40000;
	machine.library_ns = 5000;
	p = predict(rppm, &machine);
	assert_near((double)p.ns, 1e6 / 4 + 40000 + 2 * 5000, 0.01);
	assert_near(p.threads[0].stack[CORE_SYSTEM], 50000 * 2 / 1e6, 0.01);
	prediction_release(&p);
}

/* A fifth of the time: what took four parts takes five. */
static void interrupts_make_all_longer(void **state)
{
	(void)state;
	struct script s;
	make_fork_join(&s, false, false);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	machine.interrupted = 0.2;
	struct prediction p = predict(rppm, &machine);
	assert_near((double)p.ns, 5e6 / 4 * 5 / 4, 0.01);
	assert_near(p.threads[2].stack[CORE_BASE], 0.5, 0.01);
	assert_near(p.threads[2].stack[CORE_SYSTEM], 0.125, 0.01);
	prediction_release(&p);
}

/* Two threads of 10 us a round. Once one is late, the others' waking makes them late in turn, in all rounds. */
static void an_interruption_ends_a_lockstep(void **state)
{
	(void)state;
	enum { ROUNDS = 100, ROUND = 40000 };
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	strbuf_add(&text, HEAD "0,a,0,start,,,,,\n0,b,0,start,,,,a,\n");
	for (int i = 1; i <= ROUNDS; i++)
		strbuf_addf(&text,
			"%d,a,%d,wait,barrier,x,,,\n%d,b,%d,pass,barrier,x,,,\n%d,a,%d,pass,"
			"barrier,x,,,waited\n",
			i, i * ROUND, i, i * ROUND, i, i * ROUND);
	strbuf_addf(&text, "%d,a,%d,exit,,,,,\n%d,b,%d,exit,,,,,\n", ROUNDS, ROUNDS * ROUND, ROUNDS,
		ROUNDS * ROUND);
	assert_int_equal(strbuf_failed(&text), 0);
	struct script s;
	begin(&s, text.text);
	add_thread(&s, TID);
	add_thread(&s, TID + 1);
	for (uint32_t i = 0; i < 2; i++)
		add_class(&s, i, PROFILE_START, ROUND, false, true);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	machine.wake_ns = 20000;
	machine.doze_ns = 1000;
	machine.interrupted = 0.05;
	/* One of the two waits for the other each time, for so short that it does not sleep. */
	double alone_ns = ROUNDS * ROUND / 4.0,
	       even_ns = alone_ns / 0.95 + ROUNDS * machine.doze_ns;
	struct prediction p = predict(rppm, &machine);
	assert_near((double)p.ns, even_ns, 0.01);
	prediction_release(&p);
	machine.interruption_ns = 40000;
	p = predict(rppm, &machine);
	assert_true((double)p.ns > 2 * even_ns);
	for (unsigned i = 0; i < 2; i++) {
		double lost_ns = p.threads[i].stack[CORE_SYSTEM] * ROUNDS * ROUND / 2;
		assert_in_range((uint64_t)(lost_ns + 0.5), 40000, 2 * 40000); /* of 0.76 ms each */
	}
	prediction_release(&p);
}

/* Loads that all wait for memory's bandwidth: who has half a core waits as long. */
static void neighbours_add_to_what_waits_for_memory(void **state)
{
	(void)state;
	struct script s;
	make_fork_join(&s, true, true);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	machine.memory_bytes_per_s = 1e9;
	struct prediction alone = predict(rppm, &machine);
	machine.sibling_busy = 1;
	struct prediction beside = predict(rppm, &machine);
	assert_true(beside.ns >= alone.ns && (double)beside.ns < 1.1 * (double)alone.ns);
	const struct predicted_thread *thread = &beside.threads[2];
	double sum = 0;
	for (unsigned i = 0; i < PREDICT_PARTS; i++)
		sum += thread->stack[i];
	assert_near(sum, thread->cpi, 1e-6);
	prediction_release(&alone);
	prediction_release(&beside);
}

static void a_class_without_traces_takes_what_another_threads_takes(void **state)
{
	(void)state;
	struct script s;
	make_fork_join(&s, true, false);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	struct prediction p = predict(rppm, &machine);
	assert_true(p.classes[1].is_own && !p.classes[2].is_own);
	assert_true(p.classes[2].cpi == p.classes[1].cpi && p.classes[1].cpi > 0.6);
	assert_near(p.own_share, 3.0 / 7, 0.001);
	assert_near(p.classes[2].memory_lines, 0.1, 0.05);
	assert_near(p.memory_bytes, 6e6 * 0.1 * 64, 0.05);
	prediction_release(&p);
}

/* Both threads ask for more than there is: it takes as long as memory needs for all of their lines. */
static void bandwidth_is_shared(void **state)
{
	(void)state;
	struct script s;
	make_fork_join(&s, true, true);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	struct prediction free_of_it = predict(rppm, &machine);
	machine.memory_bytes_per_s = 1e8;
	struct prediction p = predict(rppm, &machine);
	double lines_ns = 6e6 * 0.1 * 64 / 1e8 * 1e9;
	assert_near((double)p.ns, 1e6 / 4 + lines_ns, 0.03);
	assert_true(p.classes[1].queue_cycles > 0 && p.classes[0].queue_cycles == 0);
	assert_true((double)free_of_it.ns < 0.2 * (double)p.ns);
	machine.memory_bytes_per_s = 1e13;
	struct prediction plenty = predict(rppm, &machine);
	assert_int_equal(plenty.ns, free_of_it.ns);
	prediction_release(&p);
	prediction_release(&plenty);
	prediction_release(&free_of_it);
}

static void work_of_no_class_is_told(void **state)
{
	(void)state;
	struct script s;
	make_fork_join(&s, false, true);
	s.profile.class_count = 2;
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	struct prediction p = predict(rppm, &machine);
	assert_near(p.unmatched, 4e6, 0.0001);
	assert_near((double)p.ns, 5e6 / 4, 0.01); /* at the mean of the others */
	prediction_release(&p);
}

/* Half of the accesses hit after all: which, is drawn. */
static void let_half_hit(struct script *s)
{
	struct profile_reuse rows[CLASSES_MAX];
	size_t count = 0;
	for (size_t i = 0; i < s->profile.reuse_count; i++) {
		rows[count] = rows[count + 1] = s->reuse[i];
		rows[count].count = rows[count + 1].count = s->reuse[i].count / 2;
		rows[count].bin = 1;
		count += 2;
	}
	memcpy(s->reuse, rows, count * sizeof *rows);
	s->profile.reuse_count = count;
}

/* Of lines that others take away after so long: the share that is gone when it is touched again, 8,000 accesses later. */
static double gone_after(double lifetime_ns)
{
	struct script s;
	make_fork_join(&s, true, true);
	for (size_t i = 0; i < s.profile.reuse_count; i++)
		s.reuse[i].bin = (uint16_t)reuse_bin(8000);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	machine.levels[1].lifetime_ns = lifetime_ns;
	struct prediction p = predict(rppm, &machine);
	double gone = p.classes[2].beyond[1];
	prediction_release(&p);
	return gone;
}

/* In 30 us they would be there if they were, since who has them is four times as fast; but they never were. */
static void what_is_slow_as_its_lines_are_gone_stays_slow(void **state)
{
	(void)state;
	assert_true(gone_after(10000) > 0.9);
	assert_true(gone_after(30000) > 0.9);
	assert_true(gone_after(100000) < 0.1);
}

static void the_same_seed_gives_the_same(void **state)
{
	(void)state;
	struct script s;
	make_fork_join(&s, true, true);
	let_half_hit(&s);
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor machine = two_wide();
	struct prediction first = { 0 }, other = { 0 }, again = { 0 };
	struct predict_run run = { .processor = &machine, .seed = 1 };
	assert_int_equal(rppm_run(rppm, &run, &first, NULL), 0);
	run.seed = 2;
	assert_int_equal(rppm_run(rppm, &run, &other, NULL), 0);
	run.seed = 1;
	assert_int_equal(rppm_run(rppm, &run, &again, NULL), 0);
	assert_int_equal(first.ns, again.ns);
	assert_near((double)other.ns, (double)first.ns, 0.5); /* 20 loads decide */
	prediction_release(&first);
	prediction_release(&other);
	prediction_release(&again);
}

static void what_cannot_be_predicted_is_refused(void **state)
{
	(void)state;
	struct script s;
	struct rppm *none = NULL;
	struct err err = { "" };
	make_fork_join(&s, false, true);
	s.profile.timeline_bytes = 0;
	assert_int_equal(rppm_new(&s.profile, &(struct predict_opts){ 0 }, &none, &err), -EINVAL);
	s.profile.timeline_bytes = 1;
	AUTO(rppm) struct rppm *rppm = load(&s);
	struct processor slow = two_wide();
	struct prediction p = { 0 };
	slow.frequency_hz = 1e-6;
	const struct predict_run run = { .processor = &slow };
	assert_int_equal(rppm_run(rppm, &run, &p, &err), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_chain_is_the_time),
		cmocka_unit_test(the_kernel_takes_its_time_where_a_machine_has_one),
		cmocka_unit_test(neighbours_take_half_of_the_core_in_their_time),
		cmocka_unit_test(neighbours_that_come_and_go_often_are_a_share),
		cmocka_unit_test(neighbours_that_stay_have_one_core_or_the_other),
		cmocka_unit_test(a_process_is_started_with_its_libraries),
		cmocka_unit_test(interrupts_make_all_longer),
		cmocka_unit_test(an_interruption_ends_a_lockstep),
		cmocka_unit_test(neighbours_add_to_what_waits_for_memory),
		cmocka_unit_test(a_class_without_traces_takes_what_another_threads_takes),
		cmocka_unit_test(bandwidth_is_shared),
		cmocka_unit_test(work_of_no_class_is_told),
		cmocka_unit_test(what_is_slow_as_its_lines_are_gone_stays_slow),
		cmocka_unit_test(the_same_seed_gives_the_same),
		cmocka_unit_test(what_cannot_be_predicted_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
