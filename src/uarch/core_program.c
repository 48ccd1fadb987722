/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which micro-traces stand for a profile. */
#include "base/rng.h"
#include "uarch/core_parts.h"
#include "uarch/core_weights.h"

#include <errno.h>
#include <stdlib.h>

/* The micro-traces that a class has, and how many of them are taken. */
struct share {
	size_t first, count, taken;
	double weight; /* instructions that they stand for */
	double length; /* mean instructions of one */
};

static void count_traces(const struct profile *profile, struct share *shares)
{
	for (size_t i = 0; i < profile->micro_count; i++) {
		const struct micro_trace *micro = &profile->micro[i];
		struct share *share = &shares[micro->class];
		if (share->count++ == 0)
			share->first = i;
		share->weight += micro->weight;
		share->length += micro->count;
	}
	for (size_t i = 0; i < profile->class_count; i++)
		shares[i].length = (shares[i].length + 1) / ((double)shares[i].count + 1);
}

/*
 * In proportion to weight, as seats are to votes (Sainte-Lague): the next trace goes to the class that has the most
 * weight for the instructions that it would then play.
 */
static void share_out(struct share *shares, size_t count, size_t instructions_max)
{
	double played = 0;
	while (played < (double)instructions_max) {
		struct share *best = NULL;
		double most = 0;
		for (size_t i = 0; i < count; i++) {
			struct share *share = &shares[i];
			double votes =
				share->weight / (((double)share->taken + 0.5) * share->length);
			if (share->taken == share->count || votes <= most)
				continue;
			most = votes;
			best = share;
		}
		if (!best)
			return;
		best->taken++;
		played += best->length;
	}
}

/* Of a class, so that together they have the instructions of each kind that it executed. */
static int weigh_traces(struct core_program *program, const struct profile *profile,
	const struct profile_class *of, const struct micro_trace *const *micros, size_t count)
{
	struct core_trace *traces = program->traces + program->trace_count - count;
	AUTO_FREE double *weights = calloc(count + 1, sizeof(*weights));
	AUTO_FREE double *shares = calloc(count * CODE_CLASSES + 1, sizeof(*shares));
	double known[CODE_CLASSES], instructions = 0;
	if (!weights || !shares)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		weights[i] = traces[i].weight;
		instructions += micros[i]->count;
		for (uint32_t j = 0; j < micros[i]->count; j++)
			shares[i * CODE_CLASSES + profile->codes[micros[i]->ops[j].code].class] +=
				1.0 / micros[i]->count;
	}
	for (size_t k = 0; k < CODE_CLASSES; k++)
		known[k] = (double)of->mix[k] / (double)of->instructions;
	core_weights(weights, shares, count, known, CODE_CLASSES, instructions / (double)count);
	for (size_t i = 0; i < count; i++)
		traces[i].weight = weights[i];
	return 0;
}

/* Decodes the traces of a class, one of each of as many equal parts of them as are taken. */
static int decode_class(struct core_decoder *decoder, struct core_program *program,
	const struct profile *profile, const struct share *share, size_t index)
{
	struct core_class *class = &program->classes[index];
	class->trace = program->trace_count;
	class->slot = program->slot_count;
	class->access = program->access_count;
	AUTO_FREE const struct micro_trace **micros = calloc(share->taken + 1, sizeof(*micros));
	if (!micros)
		return -ENOMEM;
	for (size_t i = 0; i < share->taken; i++) {
		size_t from = share->first + i * share->count / share->taken;
		size_t to = share->first + (i + 1) * share->count / share->taken;
		micros[i] = &profile->micro[from + (to - from) / 2];
		int rc = core_decode(decoder, profile, micros[i]);
		if (rc != 0)
			return rc;
		double weight = 0;
		for (size_t m = from; m < to; m++)
			weight += profile->micro[m].weight;
		program->traces[program->trace_count - 1].weight = weight;
	}
	class->access_count = program->access_count - class->access;
	const struct profile_class *of = &profile->classes[index];
	return share->taken > 1 && of->instructions > 0
		       ? weigh_traces(program, profile, of, micros, share->taken)
		       : 0;
}

static int decode_classes(
	struct core_program *program, const struct profile *profile, size_t instructions_max)
{
	AUTO_FREE struct share *shares = calloc(profile->class_count + 1, sizeof(*shares));
	AUTO(core_decoder) struct core_decoder *decoder = NULL;
	if (!shares)
		return -ENOMEM;
	int rc = core_decoder_new(program, &decoder);
	if (rc != 0)
		return rc;
	count_traces(profile, shares);
	share_out(shares, profile->class_count, instructions_max);
	for (size_t i = 0; rc == 0 && i < profile->class_count; i++)
		rc = decode_class(decoder, program, profile, &shares[i], i);
	return rc;
}

/* Traces have more or fewer branches than their class: as many are mispredicted as the class has. */
static void count_branches(
	struct core_program *program, struct core_class *class, const struct profile_class *of)
{
	double branches = 0, instructions = 0;
	class->branch_share =
		of->instructions > 0 ? (double)of->mix[CODE_BRANCH] / (double)of->instructions : -1;
	for (size_t t = class->trace; t < class->trace + class->trace_count; t++) {
		const struct core_trace *trace = &program->traces[t];
		double weight = trace->instructions ? trace->weight / trace->instructions : 0;
		for (uint32_t u = trace->uop; u < trace->uop + trace->uop_count; u++)
			branches += program->uops[u].flags & CORE_PREDICTED ? weight : 0;
		instructions += trace->weight;
	}
	class->branches_played = instructions > 0 ? branches / instructions : 0;
}

/*
 * How often the class would execute the instructions that access memory and that only one of its traces has. One trace stands
 * for many instructions, but may have come upon something that is done once.
 */
static void count_lone(struct core_program *program, const struct core_class *class)
{
	double *executions = program->slot_executions + class->slot;
	for (size_t t = class->trace; t < class->trace + class->trace_count; t++) {
		const struct core_trace *trace = &program->traces[t];
		double weight = trace->instructions ? trace->weight / trace->instructions : 0;
		uint32_t last = CORE_NONE; /* a load and a store share theirs */
		for (uint32_t u = trace->uop; u < trace->uop + trace->uop_count; u++) {
			const struct core_uop *uop = &program->uops[u];
			if (!(uop->flags & (CORE_LOAD | CORE_STORE)) || uop->access == last)
				continue;
			last = uop->access;
			struct core_slot *slot =
				&program->slots[class->slot + program->accesses[last].slot];
			executions[program->accesses[last].slot] += weight;
			slot->is_common |= slot->trace > 0 && slot->trace != t + 1;
			slot->trace = t + 1;
		}
	}
	for (size_t i = 0; i < class->slot_count; i++)
		if (program->slots[class->slot + i].is_common || class->trace_count == 1)
			executions[i] = 0;
}

static int list_slots(struct core_program *program)
{
	program->slot_codes = calloc(program->slot_count + 1, sizeof(*program->slot_codes));
	program->slot_executions =
		calloc(program->slot_count + 1, sizeof(*program->slot_executions));
	if (!program->slot_codes || !program->slot_executions)
		return -ENOMEM;
	for (size_t i = 0; i < program->slot_count; i++)
		program->slot_codes[i] = program->slots[i].code;
	for (size_t i = 0; i < program->class_count; i++)
		count_lone(program, &program->classes[i]);
	return 0;
}

int core_program_new(const struct profile *profile, size_t instructions_max, uint64_t seed,
	struct core_program **ret)
{
	AUTO(core_program) struct core_program *program = calloc(1, sizeof(*program));
	if (!program)
		return -ENOMEM;
	program->class_count = profile->class_count;
	program->classes = calloc(profile->class_count + 1, sizeof(*program->classes));
	if (!program->classes)
		return -ENOMEM;
	int rc = decode_classes(program, profile, instructions_max);
	if (rc != 0)
		return rc;
	struct rng rng;
	rng_init(&rng, seed);
	for (size_t i = 0; rc == 0 && i < program->class_count; i++) {
		rc = core_draw(program, &program->classes[i], &rng);
		count_branches(program, &program->classes[i], &profile->classes[i]);
	}
	if (rc == 0)
		rc = list_slots(program);
	if (rc != 0)
		return rc;
	*ret = TAKE(program);
	return 0;
}

void core_program_free(struct core_program *program)
{
	if (!program)
		return;
	free(program->classes);
	free(program->traces);
	free(program->uops);
	free(program->operands);
	free(program->detours);
	free(program->accesses);
	free(program->slots);
	free(program->slot_codes);
	free(program->slot_executions);
	free(program);
}

size_t core_program_instructions(const struct core_program *program, size_t class)
{
	return class < program->class_count ? program->classes[class].instructions : 0;
}

const uint32_t *core_program_codes(
	const struct core_program *program, size_t class, size_t *ret_count)
{
	*ret_count = class < program->class_count ? program->classes[class].slot_count : 0;
	return class < program->class_count ? program->slot_codes + program->classes[class].slot
					    : NULL;
}

const double *core_program_lone(const struct core_program *program, size_t class)
{
	return class < program->class_count
		       ? program->slot_executions + program->classes[class].slot
		       : NULL;
}

const char *core_component_name(enum core_component component)
{
	static const char *const names[CORE_COMPONENTS] = {
		[CORE_BASE] = "base",
		[CORE_BRANCH] = "branch",
		[CORE_ICACHE] = "icache",
		[CORE_L2] = "l2",
		[CORE_LLC] = "llc",
		[CORE_MEMORY] = "memory",
		[CORE_COHERENCE] = "coherence",
		[CORE_TLB] = "tlb",
		[CORE_SYSTEM] = "system",
		[CORE_SIBLING] = "sibling",
	};
	return component < CORE_COMPONENTS ? names[component] : "unknown";
}
