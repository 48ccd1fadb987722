/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The replay of the timeline with the classes' times, and what comes of it: who ran, who waited. While it is played it
 * is seen, for each class, how much memory traffic others make beside it.
 */
#include "uarch/predict_parts.h"

#include "base/rng.h"
#include "sim/sim.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* What the replay refuses to be longer than; also all work together is not more. */
static const double TOO_LONG_NS = 1.4e14;

/* What a thread does now. */
struct doing {
	uint32_t class; /* plus one; 0: nothing */
	uint64_t until_ns;
	double rest_ns; /* less than one, for its next stretch */
	double uninterrupted_ns; /* that its core has worked since it last had something else to do */
	/* Whether somebody else has the other hardware thread of its core, and until when. */
	bool is_beside;
	uint64_t beside_until_ns;
};

struct play {
	const struct class_curve *curves;
	const struct processor *processor;
	struct prediction *prediction;
	struct overlap *overlaps; /* NULL: not asked for */
	/* Of an instruction, while there is no neighbour, and while there is one; [class_count]: of no class. */
	double (*class_ns)[2];
	bool has_spells; /* neighbours come and go; else times are those of class_ns[][0], theirs included */
	double *class_work; /* instructions that were played */
	uint32_t *owners; /* the class's thread, as of the replay */
	struct doing *doing; /* by thread */
	double *thread_ns; /* active, without what operations cost */
	double *interrupted_ns; /* of that: what its core had to do beside */
	double beside; /* that, for each ns of its own work */
	double *sibling_ns; /* of thread_ns: what it was longer for neighbours */
	uint64_t seed;
	struct rng rng;
	double *unmatched; /* instructions of no class, by thread */
	struct sim *sim;
	uint64_t seen_ns;
	double total_ns;
};

/* Lines per ns that the class moves, at either latency of its curve. */
static double rate_of(const struct play *play, uint32_t class, int loaded)
{
	double cpi = play->curves[class].cpi[loaded];
	return cpi > 0 ? play->prediction->classes[class].memory_lines *
				 play->processor->frequency_hz / 1e9 / cpi
		       : 0;
}

/* For so long, others moved so many lines per ns. */
static void add_overlap(const struct play *play, uint32_t class, double ns, const double others[2])
{
	unsigned level = overlap_level(others[0] * predict_line_ns(play->processor));
	struct overlap_level *overlap = &play->overlaps[class].levels[level];
	overlap->own_ns += ns;
	overlap->others[0] += others[0] * ns;
	overlap->others[1] += others[1] * ns;
}

/* Until somebody's stretch ends, or now. */
static uint64_t next_change(const struct play *play, uint64_t now_ns)
{
	uint64_t next_ns = now_ns;
	for (size_t i = 0; i < play->prediction->thread_count; i++) {
		const struct doing *doing = &play->doing[i];
		if (doing->class > 0 && doing->until_ns > play->seen_ns &&
			doing->until_ns < next_ns)
			next_ns = doing->until_ns;
	}
	return next_ns;
}

/* All who are busy stay so until then. */
static void see_segment(struct play *play, uint64_t until_ns)
{
	size_t threads = play->prediction->thread_count;
	double ns = (double)(until_ns - play->seen_ns), rates[2] = { 0 };
	for (size_t i = 0; i < threads; i++) {
		const struct doing *doing = &play->doing[i];
		if (doing->class == 0 || doing->until_ns <= play->seen_ns)
			continue;
		rates[0] += rate_of(play, doing->class - 1, 0);
		rates[1] += rate_of(play, doing->class - 1, 1);
	}
	for (size_t i = 0; i < threads; i++) {
		const struct doing *doing = &play->doing[i];
		if (doing->class == 0 || doing->until_ns <= play->seen_ns)
			continue;
		uint32_t class = doing->class - 1;
		add_overlap(play, class, ns,
			(const double[]){ rates[0] - rate_of(play, class, 0),
				rates[1] - rate_of(play, class, 1) });
	}
	play->seen_ns = until_ns;
}

/* Who has run together since the last time. */
static void see_overlap(struct play *play, uint64_t now_ns)
{
	while (play->seen_ns < now_ns)
		see_segment(play, next_change(play, now_ns));
}

/*
 * What the thread's core has to do beside this work, all at once: who is late by that at a barrier finds the others asleep, which
 * no share that makes all threads as much slower tells.
 */
static double interruptions(const struct play *play, struct doing *doing, double ns)
{
	double each_ns = play->processor->interruption_ns;
	if (play->beside == 0 || each_ns == 0)
		return ns * play->beside;
	double between_ns = each_ns / play->beside;
	doing->uninterrupted_ns += ns;
	double count = floor(doing->uninterrupted_ns / between_ns);
	doing->uninterrupted_ns -= count * between_ns;
	return count * each_ns;
}

/* Cores are interrupted at their own times: far from one another, however many they are (multiples of the golden section). */
static void set_interruptions(struct play *play)
{
	static const double GOLDEN = 0.6180339887498949;
	const struct processor *processor = play->processor;
	play->beside = processor->interrupted / (1 - processor->interrupted);
	for (size_t i = 0; play->beside > 0 && i < play->prediction->thread_count; i++)
		play->doing[i].uninterrupted_ns = processor->interruption_ns / play->beside *
						  fmod((double)(i + 1) * GOLDEN, 1);
}

/* In [0, 1): for the first draws of the first threads those of one seed and the next lie evenly (multiples of irrational numbers). */
static double draw_evenly(struct play *play, size_t number)
{
	static const double STEPS[] = { M_SQRT2, 1.7320508075688772, 2.23606797749979,
		2.6457513110645907, 3.3166247903554, 3.605551275463989, 4.123105625617661,
		4.358898943540674 };
	return number < sizeof STEPS / sizeof *STEPS
		       ? fmod(((double)play->seed + 0.5) * STEPS[number], 1)
		       : rng_uniform(&play->rng);
}

/* Exponential times, of a share of the time that is sibling_busy. */
static uint64_t spell(const struct play *play, bool is_beside, double uniform)
{
	double busy = play->processor->sibling_busy, mean_ns = play->processor->sibling_spell_ns;
	double ns = (is_beside ? mean_ns : mean_ns * (1 - busy) / busy) * -log1p(-uniform);
	return ns < TOO_LONG_NS ? (uint64_t)ns + 1 : (uint64_t)TOO_LONG_NS;
}

/* Who begins finds them anywhere in what they do. */
static void see_neighbour(struct play *play, uint32_t thread, uint64_t now_ns)
{
	struct doing *doing = &play->doing[thread];
	if (doing->beside_until_ns == 0) {
		doing->is_beside =
			draw_evenly(play, 2 * (size_t)thread) < play->processor->sibling_busy;
		doing->beside_until_ns =
			now_ns +
			spell(play, doing->is_beside, draw_evenly(play, 2 * (size_t)thread + 1));
	}
	while (doing->beside_until_ns <= now_ns) {
		doing->is_beside = !doing->is_beside;
		doing->beside_until_ns += spell(play, doing->is_beside, rng_uniform(&play->rng));
	}
}

/* For the work at hand, or as much of it as is done until a neighbour comes or goes: *work becomes that. */
static double work_time(struct play *play, uint32_t thread, size_t class, uint64_t *work)
{
	const struct doing *doing = &play->doing[thread];
	const double *class_ns = play->class_ns[class];
	if (!play->has_spells)
		return (double)*work * class_ns[0];
	uint64_t now_ns = sim_now(play->sim);
	see_neighbour(play, thread, now_ns);
	double each_ns = class_ns[doing->is_beside];
	double left = (double)(doing->beside_until_ns - now_ns) / each_ns;
	if (left < (double)*work)
		*work = left > 1 ? (uint64_t)left : 1;
	play->sibling_ns[thread] += (double)*work * (each_ns - class_ns[0]);
	return (double)*work * each_ns;
}

static uint64_t duration(void *context, uint32_t thread, uint16_t stretch, uint64_t *work)
{
	struct play *play = context;
	struct doing *doing = &play->doing[thread];
	size_t class = stretch > 0 ? stretch - 1u : play->prediction->class_count;
	uint64_t now = *work;
	double ns = work_time(play, thread, class, &now);
	play->class_work[class] += (double)now;
	if (stretch > 0)
		play->owners[class] = thread;
	else
		play->unmatched[thread] += (double)now;
	*work -= now;
	double beside_ns = interruptions(play, doing, ns);
	play->interrupted_ns[thread] += beside_ns;
	ns += beside_ns;
	play->total_ns += ns;
	if (!(play->total_ns <= TOO_LONG_NS))
		return 0; /* refused at the end */
	play->thread_ns[thread] += ns;
	double all_ns = ns + doing->rest_ns;
	uint64_t whole_ns = (uint64_t)all_ns;
	doing->rest_ns = all_ns - (double)whole_ns;
	if (play->overlaps) {
		uint64_t now_ns = sim_now(play->sim);
		see_overlap(play, now_ns);
		doing->class = stretch;
		doing->until_ns = now_ns + whole_ns;
	}
	return whole_ns;
}

static int begin(void *context, struct sim *sim)
{
	struct play *play = context;
	play->sim = sim;
	return 0;
}

static void set_class_times(struct play *play)
{
	double cycle_ns = 1e9 / play->processor->frequency_hz;
	for (size_t i = 0; i <= play->prediction->class_count; i++)
		play->class_ns[i][0] = play->prediction->classes[i].cpi * cycle_ns;
	for (size_t i = 0; play->overlaps && i < play->prediction->class_count; i++)
		play->class_ns[i][0] = play->curves[i].cpi_now * cycle_ns;
	for (size_t i = 0; play->has_spells && i <= play->prediction->class_count; i++) {
		const struct predicted_class *class = &play->prediction->classes[i];
		play->class_ns[i][0] = (class->cpi - class->stack[CORE_SIBLING]) * cycle_ns;
		play->class_ns[i][1] = predict_halved(play->processor, class) * cycle_ns;
	}
}

/* Cycles of a thread that are no class's, until all are divided by instructions: what interrupted it and what it waited. */
static void add_thread_times(const struct play *play, size_t index, struct predicted_thread *thread)
{
	const struct replay_time *time = &thread->time;
	double cycles_a_ns = play->processor->frequency_hz / 1e9;
	double cycles =
		(double)(time->waited_ns + time->ready_ns + time->operation_ns) * cycles_a_ns;
	thread->stack[CORE_SYSTEM] += play->interrupted_ns[index] * cycles_a_ns;
	thread->stack[CORE_SIBLING] += play->sibling_ns[index] * cycles_a_ns;
	thread->stack[PREDICT_SYNC] = cycles;
	play->prediction->stack[PREDICT_SYNC] += cycles;
}

/* What neighbours took is the thread's where they come and go, not the same for all of a class. */
static void add_class(
	const struct play *play, size_t class, double instructions, struct predicted_thread *thread)
{
	for (unsigned k = 0; k < CORE_COMPONENTS; k++)
		if (k != CORE_SIBLING || !play->has_spells)
			thread->stack[k] +=
				instructions * play->prediction->classes[class].stack[k];
}

static void collect(struct play *play, const struct replay_time *times)
{
	struct prediction *prediction = play->prediction;
	double lines = 0, uops = 0;
	for (size_t i = 0; i < prediction->thread_count; i++) {
		struct predicted_thread *thread = &prediction->threads[i];
		*thread = (struct predicted_thread){
			.pid = times[i].pid, .tid = times[i].tid, .time = times[i]
		};
		double instructions = play->unmatched[i];
		thread->instructions = (uint64_t)instructions;
		add_class(play, prediction->class_count, instructions, thread);
		add_thread_times(play, i, thread);
		prediction->unmatched += instructions;
	}
	for (size_t i = 0; i < prediction->class_count; i++) {
		struct predicted_thread *thread = &prediction->threads[play->owners[i]];
		if (play->class_work[i] == 0)
			continue;
		thread->instructions += (uint64_t)play->class_work[i];
		add_class(play, i, play->class_work[i], thread);
		lines += play->class_work[i] * prediction->classes[i].memory_lines;
		uops += play->class_work[i] * prediction->classes[i].uops;
	}
	uops += prediction->unmatched * prediction->classes[prediction->class_count].uops;
	prediction->memory_bytes = lines * PROFILE_LINE_BYTES;
	const struct energy_use use = { .seconds = (double)prediction->ns / 1e9,
		.cores = prediction->thread_count < prediction->cores
				 ? (uint32_t)prediction->thread_count
				 : prediction->cores,
		.uops = uops,
		.memory_lines = lines };
	prediction->energy = energy_of(play->processor, &use);
}

static void divide(struct play *play)
{
	struct prediction *prediction = play->prediction;
	double crit_ns = 0;
	for (size_t i = 0; i < prediction->thread_count; i++) {
		struct predicted_thread *thread = &prediction->threads[i];
		double instructions = (double)thread->instructions;
		prediction->instructions += instructions;
		for (unsigned k = 0; k < CORE_COMPONENTS; k++)
			prediction->stack[k] += thread->stack[k];
		for (unsigned k = 0; k < PREDICT_PARTS; k++) {
			thread->stack[k] = instructions > 0 ? thread->stack[k] / instructions : 0;
			thread->cpi += thread->stack[k];
		}
		crit_ns = fmax(crit_ns, play->thread_ns[i]);
	}
	for (unsigned k = 0; k < PREDICT_PARTS; k++)
		prediction->stack[k] = prediction->instructions > 0
					       ? prediction->stack[k] / prediction->instructions
					       : 0;
	prediction->main_ns = (uint64_t)play->thread_ns[0];
	prediction->crit_ns = (uint64_t)crit_ns;
}

static void play_release(struct play *play)
{
	free(play->class_ns);
	free(play->class_work);
	free(play->owners);
	free(play->doing);
	free(play->thread_ns);
	free(play->interrupted_ns);
	free(play->sibling_ns);
	free(play->unmatched);
}

static int play_init(struct play *play)
{
	size_t classes = play->prediction->class_count + 1;
	size_t threads = play->prediction->thread_count + 1;
	play->class_ns = calloc(classes, sizeof *play->class_ns);
	play->class_work = calloc(classes, sizeof *play->class_work);
	play->owners = calloc(classes, sizeof *play->owners);
	play->doing = calloc(threads, sizeof *play->doing);
	play->thread_ns = calloc(threads, sizeof *play->thread_ns);
	play->interrupted_ns = calloc(threads, sizeof *play->interrupted_ns);
	play->sibling_ns = calloc(threads, sizeof *play->sibling_ns);
	play->unmatched = calloc(threads, sizeof *play->unmatched);
	return play->class_ns && play->class_work && play->owners && play->doing &&
			       play->thread_ns && play->interrupted_ns && play->sibling_ns &&
			       play->unmatched
		       ? 0
		       : -ENOMEM;
}

/* 0: no cores share one. */
static uint32_t last_cache_cores(const struct processor *processor)
{
	uint32_t cores = processor->levels[processor->level_count - 1].shared_by;
	return cores > 1 ? cores : 0;
}

static struct sim_dist wake_of(const struct processor *processor)
{
	double off = sqrt(3) * processor->wake_spread; /* of an even distribution */
	return (struct sim_dist){ off > 0 ? SIM_UNIFORM : SIM_FIXED,
		.a = floor(processor->wake_ns * fmax(1 - off, 0)),
		.b = processor->wake_ns * (1 + off) };
}

struct sim_kernel processor_kernel(const struct processor *processor)
{
	return (struct sim_kernel){
		.wake = wake_of(processor),
		.wake_cost_ns = (uint64_t)processor->wake_cost_ns,
		.doze_ns = (uint64_t)processor->doze_ns,
		.doze_cost_ns = (uint64_t)processor->doze_ns, /* a call as that of who waits */
		.switch_ns = (uint64_t)processor->switch_ns,
		.yield_switch_ns = (uint64_t)processor->yield_switch_ns,
		.hot_ns = (uint64_t)processor->hot_ns,
		.wakes_in_place = processor->in_place,
		.cache_cores = last_cache_cores(processor),
		.part_ns = (uint64_t)processor->part_ns,
		.hold_ns = (uint64_t)processor->hold_ns,
		.halt_ns = (uint64_t)processor->halt_ns,
		.halt_start_ns = (uint64_t)processor->halt_start_ns,
		.halted_wake_ns = (uint64_t)processor->halted_wake_ns,
		.halted_wake_cost_ns = (uint64_t)processor->halted_wake_cost_ns,
		.interrupt_ns = (uint64_t)processor->interrupt_ns,
		.interrupt_cost_ns = (uint64_t)processor->interrupt_cost_ns,
		.queued_cost_ns = (uint64_t)processor->queued_cost_ns,
	};
}

static int play_all(
	struct play *play, struct rppm *rppm, const struct predict_run *run, struct err *err)
{
	const struct processor *processor = run->processor;
	struct prediction *prediction = play->prediction;
	AUTO_FREE struct replay_time *times = calloc(prediction->thread_count + 1, sizeof *times);
	if (!times || play_init(play) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	set_class_times(play);
	set_interruptions(play);
	const struct replay_run replay = { .cores = run->cores,
		.sink = run->sink,
		.begin = begin,
		.begin_context = play,
		.duration = duration,
		.duration_context = play,
		/* A pair of operations, in the middle of which is the work. */
		.operation_ns = processor->lock_cycles / 2 * 1e9 / processor->frequency_hz,
		.yield_ns = (uint64_t)processor->yield_ns,
		.kernel = processor_kernel(processor),
		.transfer_ns = (uint64_t)processor->transfer_ns,
		.locks_overlap = processor->overlap,
		.transfer_spread = processor->memory_spread,
		.times = times };
	int code = replay_run(rppm->replay, &replay, &prediction->ns, err);
	if (code < 0)
		return code;
	if (!(play->total_ns <= TOO_LONG_NS))
		return err_set(err, -ERANGE, "it would take more than 39 hours");
	if (play->overlaps)
		see_overlap(play, prediction->ns);
	if (play->overlaps)
		return 0;
	collect(play, times);
	divide(play);
	return 0;
}

int predict_play(struct rppm *rppm, const struct predict_run *run, const struct class_curve *curves,
	struct prediction *prediction, struct overlap *overlaps, struct err *err)
{
	struct play play = { .curves = curves,
		.processor = run->processor,
		.prediction = prediction,
		.seed = run->seed,
		.has_spells = !overlaps && predict_has_spells(run->processor),
		.overlaps = overlaps };
	rng_init(&play.rng, run->seed);
	for (size_t i = 0; overlaps && i < prediction->class_count; i++)
		overlaps[i] = (struct overlap){ 0 };
	int code = play_all(&play, rppm, run, err);
	play_release(&play);
	return code;
}
