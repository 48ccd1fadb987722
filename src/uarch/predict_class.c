/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long an instruction of each class takes on a processor: the odds of its accesses by StatStack, its branches by
 * their entropy, both played through the core with its micro-traces. A class without micro-traces takes what
 * the class of another thread takes that begins in the same place, else the mean.
 */
#include "preload/profile_page.h"
#include "uarch/branches.h"
#include "uarch/predict_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Until no pace changes by more, or so often. */
static const double SAME_PACE = 0.02;
enum { PACE_ROUNDS = 8 };

/* The class with micro-traces, of the same stretch, that executes most. */
static size_t find_like(const struct rppm *rppm, size_t index)
{
	const struct profile *profile = rppm->profile;
	const struct profile_class *class = &profile->classes[index];
	size_t best = SIZE_MAX;
	if (core_program_instructions(rppm->program, index) > 0)
		return index;
	for (uint32_t thread = 0; thread < profile->thread_count; thread++) {
		ptrdiff_t other = profile_find_class(profile, thread, class->stretch);
		if (other < 0 || core_program_instructions(rppm->program, (size_t)other) == 0)
			continue;
		if (best == SIZE_MAX ||
			profile->classes[other].instructions > profile->classes[best].instructions)
			best = (size_t)other;
	}
	return best;
}

static int find_slots(struct rppm *rppm)
{
	const struct profile *profile = rppm->profile;
	size_t total = 0;
	for (size_t i = 0; i < profile->class_count; i++) {
		struct predict_class *class = &rppm->classes[i];
		(void)core_program_codes(rppm->program, i, &class->slot_count);
		class->slot = total;
		total += class->slot_count;
	}
	rppm->slots = calloc(total + 1, sizeof *rppm->slots);
	rppm->odds = calloc(total + 1, sizeof *rppm->odds);
	if (!rppm->slots || !rppm->odds)
		return -ENOMEM;
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct predict_class *class = &rppm->classes[i];
		size_t count;
		const uint32_t *codes = core_program_codes(rppm->program, i, &count);
		for (size_t k = 0; k < count; k++)
			rppm->slots[class->slot + k] =
				statstack_find(rppm->statstack, (uint32_t)i, codes[k]);
	}
	return 0;
}

int predict_classes_prepare(struct rppm *rppm, uint64_t seed, struct err *err)
{
	const struct profile *profile = rppm->profile;
	if (rppm->program && rppm->seed == seed)
		return 0;
	core_program_free(rppm->program);
	free(rppm->classes);
	free(rppm->slots);
	free(rppm->odds);
	rppm->program = NULL;
	rppm->slots = NULL;
	rppm->odds = NULL;
	rppm->classes = calloc(profile->class_count + 1, sizeof *rppm->classes);
	if (!rppm->classes ||
		core_program_new(profile, rppm->micro_instructions, seed, &rppm->program) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	rppm->seed = seed;
	for (size_t i = 0; i < profile->class_count; i++)
		rppm->classes[i].like = find_like(rppm, i);
	return find_slots(rppm) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

/* Of accesses to data, for each instruction. */
static double lines_fetched(const struct profile_class *class, const struct statstack_class *odds,
	const struct processor *processor)
{
	return share(class->loads + class->stores, class->instructions) *
	       odds->access.beyond[processor->level_count - 1];
}

/*
 * As many lines leave the last caches as come into them, but for those that are there at the end: all that the program touches,
 * or what they have room for. Where others push lines out, they go sooner or later.
 */
static double find_written_back(const struct rppm *rppm, const struct processor *processor)
{
	const struct profile *profile = rppm->profile;
	const struct cache *last = &processor->levels[processor->level_count - 1];
	double fetched = 0, touched = 0;
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		fetched += (double)class->instructions *
			   lines_fetched(class, &rppm->answer.classes[i], processor);
		touched += (double)class->first_touches_global;
	}
	uint32_t threads =
		profile->thread_count < processor->cores ? profile->thread_count : processor->cores;
	uint32_t caches =
		last->shared_by > 0 ? (threads + last->shared_by - 1) / last->shared_by : 1;
	double room = (double)caches * (double)last->bytes / PROFILE_LINE_BYTES;
	double left = touched < room ? touched : room;
	return last->lifetime_ns > 0 ? 1 : left < fetched ? 1 - left / fetched : 0;
}

/* Lines to and from memory for each instruction. */
static double memory_lines(const struct profile_class *class, const struct statstack_class *odds,
	const struct processor *processor, double written_back)
{
	uint32_t last = processor->level_count - 1;
	double fetched = lines_fetched(class, odds, processor);
	double loaded = share(class->loads, class->instructions) * odds->load.beyond[last];
	double written = fetched > loaded ? fetched - loaded : 0;
	return fetched + written_back * written +
	       share(class->fetches, class->instructions) * odds->fetch_beyond[last];
}

/* No more accesses miss than the class's do, of an instruction that one trace executes as often as many traces would. */
static void scale_odds(struct core_odds *odds, double factor)
{
	double *const parts[] = { &odds->transfer, &odds->untranslated[0], &odds->untranslated[1] };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		*parts[i] *= factor;
	for (size_t i = 0; i < PROCESSOR_LEVELS_MAX; i++)
		odds->beyond[i] *= factor;
}

/* The input of a class; its odds by instruction are in rppm->odds. */
static struct core_input input_of(struct rppm *rppm, size_t index,
	const struct processor *processor, struct predicted_class *ret)
{
	const struct profile_class *class = &rppm->profile->classes[index];
	const struct predict_class *known = &rppm->classes[index];
	const struct statstack_class *odds = &rppm->answer.classes[index];
	struct core_input input = { .odds = &rppm->odds[known->slot] };
	const double *lone = core_program_lone(rppm->program, index);
	for (size_t i = known->slot; i < known->slot + known->slot_count; i++) {
		const struct statstack_odds *of =
			rppm->slots[i] >= 0 ? &rppm->answer.codes[rppm->slots[i]] : &odds->access;
		memcpy(rppm->odds[i].beyond, of->beyond, sizeof of->beyond);
		rppm->odds[i].transfer = of->transfer;
		memcpy(rppm->odds[i].untranslated, of->untranslated, sizeof of->untranslated);
		double known_accesses =
			rppm->slots[i] >= 0 ? statstack_accesses(rppm->statstack, rppm->slots[i])
					    : 0;
		if (known_accesses > 0 && known_accesses < lone[i - known->slot])
			scale_odds(&rppm->odds[i], known_accesses / lone[i - known->slot]);
	}
	input.writers = rppm->profile->quality.writers;
	input.stretch =
		class->stretches ? (double)class->instructions / (double)class->stretches : 0;
	double fetches = share(class->fetches, class->instructions);
	input.fetches = fetches;
	for (unsigned i = 0; i < PROCESSOR_LEVELS_MAX; i++)
		input.fetch_beyond[i] = fetches * odds->fetch_beyond[i];
	for (unsigned i = 0; i < STATSTACK_TARGETS; i++)
		input.targets_late[i] = fetches * odds->targets_beyond[i];
	input.mispredicted = processor->predictor == PREDICTOR_PERFECT
				     ? 0
				     : branches_mispredicted(class, processor->predictor,
					       processor->predictor_bytes);
	input.jumps_mispredicted = branches_jumps_mispredicted(
		class, processor->predictor, processor->predictor_bytes, &input.jumps_seen);
	memcpy(ret->beyond, odds->access.beyond, sizeof ret->beyond);
	ret->mispredicted = input.mispredicted;
	ret->memory_lines = memory_lines(class, odds, processor, rppm->written_back);
	return input;
}

/*
 * Page faults, cycles per instruction: as many pages are touched for the first time, by any thread, as the lines that
 * are would fill. Memory of which a line here and there is used has more.
 */
static double fault_cycles(const struct profile_class *class, const struct processor *processor)
{
	double lines = share(class->first_touches_global, class->instructions);
	return lines * PROFILE_LINE_BYTES / PROFILE_PAGE_BYTES * processor->fault_ns *
	       processor->frequency_hz / 1e9;
}

/* Per instruction of what the first thread does until its first event, which begins behind it: the process is started. */
static double start_cycles(const struct rppm *rppm, const struct profile_class *class,
	const struct processor *processor)
{
	if (class->thread != 0 || class->stretch != PROFILE_START)
		return 0;
	double libraries = rppm->modules > 0 ? rppm->modules - 1 : 0; /* one is the program */
	double ns = processor->exec_ns + libraries * processor->library_ns;
	return class->instructions > 0
		       ? ns * processor->frequency_hz / 1e9 / (double)class->instructions
		       : 0;
}

/* Of the kernel's calls and faults, cycles per instruction. What a call does took as long where the program was profiled. */
static double call_cycles(const struct profile_class *class, const struct processor *processor)
{
	if (processor->fault_ns == 0)
		return 0;
	double ns = (double)class->system_ns + (double)class->system_calls * processor->call_ns;
	return fault_cycles(class, processor) +
	       share(ns, class->instructions) * processor->frequency_hz / 1e9;
}

static double kernel_cycles(
	const struct rppm *rppm, size_t index, const struct processor *processor)
{
	const struct profile_class *class = &rppm->profile->classes[index];
	return call_cycles(class, processor) + start_cycles(rppm, class, processor);
}

static int play_class(struct rppm *rppm, struct core *core, size_t index,
	const struct processor *processor, const struct core_input *input,
	struct predicted_class *ret)
{
	struct core_result result = { 0 };
	int code = core_play(core, rppm->program, index, input, &result);
	if (code < 0)
		return code;
	ret->cpi = result.cpi;
	ret->uops = result.uops;
	memcpy(ret->stack, result.stack, sizeof ret->stack);
	ret->stack[CORE_SYSTEM] = kernel_cycles(rppm, index, processor);
	ret->cpi += ret->stack[CORE_SYSTEM];
	return 0;
}

static int play_curve(struct rppm *rppm, struct core *core, size_t index,
	const struct processor *processor, struct class_curve *curve, struct predicted_class *ret)
{
	double memory_cycles = processor->memory_ns * processor->frequency_hz / 1e9;
	struct core_input input = input_of(rppm, index, processor, ret);
	struct predicted_class loaded = { 0 };
	int code = play_class(rppm, core, index, processor, &input, ret);
	curve->cpi_now = curve->cpi[0] = curve->cpi[1] = ret->cpi;
	if (code < 0 || ret->memory_lines == 0 || processor->memory_bytes_per_s == 0)
		return code;
	input.memory_cycles = PREDICT_LOADED * memory_cycles;
	code = play_class(rppm, core, index, processor, &input, &loaded);
	curve->cpi[1] = loaded.cpi > ret->cpi ? loaded.cpi : ret->cpi;
	return code;
}

/* What the kernel takes is the class's own, also where its instructions take as long as those of others. */
static void add_kernel(double more, struct class_curve *curve, struct predicted_class *ret)
{
	ret->stack[CORE_SYSTEM] += more;
	ret->cpi += more;
	curve->cpi[0] += more;
	curve->cpi[1] += more;
	curve->cpi_now += more;
}

/* Classes without micro-traces of their own. */
static void fill_others(const struct rppm *rppm, const struct processor *processor,
	struct class_curve *curves, struct prediction *prediction)
{
	const struct profile *profile = rppm->profile;
	struct predicted_class mean = { 0 };
	struct class_curve curve = { 0 };
	double weight = 0, mean_kernel = 0;
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct predicted_class *class = &prediction->classes[i];
		double instructions = (double)profile->classes[i].instructions;
		if (rppm->classes[i].like != i)
			continue;
		weight += instructions;
		mean_kernel += instructions * kernel_cycles(rppm, i, processor);
		mean.cpi += instructions * class->cpi;
		mean.uops += instructions * class->uops;
		mean.mispredicted += instructions * class->mispredicted;
		mean.memory_lines += instructions * class->memory_lines;
		mean.queue_cycles += instructions * class->queue_cycles;
		for (unsigned k = 0; k < CORE_COMPONENTS; k++)
			mean.stack[k] += instructions * class->stack[k];
		for (unsigned k = 0; k < PROCESSOR_LEVELS_MAX; k++)
			mean.beyond[k] += instructions * class->beyond[k];
		for (unsigned k = 0; k < 2; k++)
			curve.cpi[k] += instructions * curves[i].cpi[k];
		curve.cpi_now += instructions * curves[i].cpi_now;
	}
	double *const sums[] = { &mean.cpi, &mean.uops, &mean.mispredicted, &mean.memory_lines,
		&mean.queue_cycles, &curve.cpi[0], &curve.cpi[1], &curve.cpi_now, &mean_kernel };
	double scale = weight > 0 ? 1 / weight : 0;
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
		*sums[i] *= scale;
	for (unsigned k = 0; k < CORE_COMPONENTS; k++)
		mean.stack[k] *= scale;
	for (unsigned k = 0; k < PROCESSOR_LEVELS_MAX; k++)
		mean.beyond[k] *= scale;
	for (size_t i = 0; i < profile->class_count; i++) {
		size_t like = rppm->classes[i].like;
		if (like == i)
			continue;
		prediction->classes[i] = like == SIZE_MAX ? mean : prediction->classes[like];
		prediction->classes[i].is_own = false;
		curves[i] = like == SIZE_MAX ? curve : curves[like];
		double kernel =
			like == SIZE_MAX ? mean_kernel : kernel_cycles(rppm, like, processor);
		add_kernel(kernel_cycles(rppm, i, processor) - kernel, &curves[i],
			&prediction->classes[i]);
	}
	prediction->classes[profile->class_count] = mean; /* of work of no class */
	double all = 0;
	for (size_t i = 0; i < profile->class_count; i++)
		all += (double)profile->classes[i].instructions;
	prediction->own_share = all > 0 ? weight / all : 0;
}

static bool has_lifetimes(const struct processor *processor)
{
	for (uint32_t i = 0; i < processor->level_count; i++)
		if (processor->levels[i].lifetime_ns > 0)
			return true;
	return false;
}

/* How long a thread takes from one access to its next. Whether that has changed since the last time, for any class. */
static bool see_pace(
	struct rppm *rppm, const struct processor *processor, const struct prediction *prediction)
{
	bool has_changed = false;
	for (size_t i = 0; i < prediction->class_count; i++) {
		const struct profile_class *class = &rppm->profile->classes[i];
		double accesses = share(class->loads + class->stores, class->instructions);
		double *now = &rppm->answer.access_ns[i], before = *now;
		if (rppm->classes[i].like != i || accesses == 0)
			continue;
		*now = prediction->classes[i].cpi / accesses * 1e9 / processor->frequency_hz;
		has_changed |= fabs(*now - before) > SAME_PACE * *now;
	}
	return has_changed;
}

static int play_classes(struct rppm *rppm, struct core *core, const struct processor *processor,
	struct class_curve *curves, struct prediction *prediction)
{
	statstack_ask(rppm->statstack, processor, &rppm->answer);
	rppm->written_back = find_written_back(rppm, processor);
	for (size_t i = 0; i < prediction->class_count; i++) {
		if (rppm->classes[i].like != i)
			continue;
		int code =
			play_curve(rppm, core, i, processor, &curves[i], &prediction->classes[i]);
		if (code < 0)
			return code;
		prediction->classes[i].is_own = true;
	}
	return 0;
}

int predict_classes(struct rppm *rppm, const struct processor *processor,
	struct class_curve *curves, struct prediction *prediction, struct err *err)
{
	AUTO(core) struct core *core = NULL;
	int code = core_new(processor, &core);
	if (code < 0)
		return err_set(err, code, "this processor has no core that could be played");
	/*
	 * Lines that do not live for ever are gone the sooner, in accesses, the slower the class is, which is slower then. Where both is so, that it is
	 * slow and its lines gone, and that it is fast and they are there, it stays as it began: with no lines.
	 */
	double slowest_ns = has_lifetimes(processor) ? processor->memory_ns : 0;
	for (size_t i = 0; i < prediction->class_count; i++)
		rppm->answer.access_ns[i] = slowest_ns;
	code = play_classes(rppm, core, processor, curves, prediction);
	for (unsigned round = 0; code == 0 && round < PACE_ROUNDS && has_lifetimes(processor) &&
				 see_pace(rppm, processor, prediction);
		round++)
		code = play_classes(rppm, core, processor, curves, prediction);
	if (code < 0)
		return err_set(err, code, "out of memory");
	fill_others(rppm, processor, curves, prediction);
	return 0;
}

int predict_classes_queued(struct rppm *rppm, const struct processor *processor,
	struct class_curve *curves, struct prediction *prediction, struct err *err)
{
	double memory_cycles = processor->memory_ns * processor->frequency_hz / 1e9;
	AUTO(core) struct core *core = NULL;
	int code = core_new(processor, &core);
	for (size_t i = 0; code == 0 && i < prediction->class_count; i++) {
		struct predicted_class *class = &prediction->classes[i];
		if (rppm->classes[i].like != i || class->queue_cycles == curves[i].queue_cycles)
			continue;
		struct core_input input = input_of(rppm, i, processor, class);
		input.memory_cycles = memory_cycles + curves[i].queue_cycles;
		code = play_class(rppm, core, i, processor, &input, class);
		class->queue_cycles = curves[i].queue_cycles;
		predict_add_sibling(processor, &curves[i], class);
	}
	if (code < 0)
		return err_set(err, code, "out of memory");
	fill_others(rppm, processor, curves, prediction);
	return 0;
}
