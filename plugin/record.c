/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record.h"

#include "code_class.h"
#include "out.h"
#include "preload/kernel_clock.h"
#include "trace_raw.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
	MICRO_INSTRUCTIONS = 1000, /* RPPM, III-A */
	/* A trace that began within a stretch and got less of it says how such stretches end, not what they do:
	 * the next of its class is recorded from its begin. */
	MICRO_LEAST = 100,
	/* A class's first trace is at its begin, the next ones after so many of its instructions or a 12th of them, at
	 * last one in a million (RPPM, III-A): a trace stands for at most 8% of its class. */
	MICRO_FIRST_GAP = 5000,
	MICRO_PART = 12,
	MICRO_LAST_GAP = 1000000,
	/* So many traces in all double the gaps: a program with ten thousand classes needs fewer of each. */
	MICRO_MANY = 2000,
	BLOCK_MAX = 512,
	WORDS_BEYOND = 4 * BLOCK_MAX, /* a block and its addresses */
	MICRO_WORDS = 4 * MICRO_INSTRUCTIONS,
	CHUNK_WORDS = 4096,
	CAPACITY = CHUNK_WORDS + WORDS_BEYOND,
};

/*
 * One buffer of words for each thread. With a full trace it has all of them, is written chunk by chunk, and a micro-trace
 * is a part of it, for which it is emptied first; else it has the micro-trace only.
 */
static bool everything;
static atomic_uint_fast64_t micro_traces;

void record_everything(void)
{
	everything = true;
}

uint64_t record_count(void)
{
	return micro_traces;
}

bool record_start(struct vcpu *vcpu)
{
	struct recorder *recorder = &vcpu->thread->recorder;
	recorder->words = malloc(CAPACITY * sizeof(*recorder->words));
	recorder->capacity = recorder->words ? CAPACITY : 0;
	return recorder->words;
}

void record_end(struct vcpu *vcpu)
{
	record_leave(vcpu);
	free(vcpu->thread->recorder.words);
	vcpu->thread->recorder = (struct recorder){ 0 };
}

/* Writes the words as a chunk of the full trace; the recorder is empty after. */
static void write_chunk(struct vcpu *vcpu)
{
	struct recorder *recorder = &vcpu->thread->recorder;
	uint64_t now = kernel_clock_ns(CLOCK_MONOTONIC);
	struct trace_chunk chunk = { .thread = vcpu->thread->number,
		.stretch = vcpu->stretch,
		.stretches = recorder->stretches,
		.begin_ns = recorder->begin_ns,
		.end_ns = now };
	if (recorder->used)
		out_record(RAW_TRACE_CHUNK, &chunk, sizeof(chunk), recorder->words,
			recorder->used * sizeof(*recorder->words));
	recorder->begin_ns = now;
	recorder->used = 0;
}

static bool is_block(uint64_t word)
{
	return word >> TRACE_TAG_SHIFT == TRACE_BLOCK_WORD;
}

static const struct block *block_of(uint64_t word)
{
	return blocks_get((uint32_t)word);
}

/* Appends the instructions of words[at], a block, and its addresses; returns where the next block is. */
static uint32_t expand_block(const struct recorder *recorder, uint32_t at, const struct block *next,
	struct raw_op *ops, uint32_t *count)
{
	const struct block *block = block_of(recorder->words[at]);
	struct raw_op *first = ops + *count;
	for (uint32_t i = 0; i < block->count; i++)
		first[i] = (struct raw_op){ .code = block->places[i].code };
	uint32_t end = at + 1;
	for (; end < recorder->used && !is_block(recorder->words[end]); end++) {
		uint64_t index = recorder->words[end] >> TRACE_TAG_SHIFT;
		uint64_t address = recorder->words[end] & ((UINT64_C(1) << TRACE_TAG_SHIFT) - 1);
		if (index < block->count && !first[index].address)
			first[index].address = address;
	}
	if (end < recorder->used)
		next = block_of(recorder->words[end]);
	struct raw_op *last = &first[block->count - 1];
	uint8_t class = blocks_code(last->code)->class;
	last->taken =
		class == CODE_JUMP || (class == CODE_BRANCH && next && next->address != block->end);
	*count += block->count;
	return end;
}

static void stop_words(struct vcpu *vcpu)
{
	vcpu->mode &= ~(uint32_t)VCPU_RECORDS;
	vcpu_look_no_more(vcpu, LOOKS_RECORDER);
}

/* Ends the micro-trace before `next` (NULL: unknown) and writes it. */
static void finish_micro(struct vcpu *vcpu, const struct block *next)
{
	struct recorder *recorder = &vcpu->thread->recorder;
	static _Thread_local struct raw_op ops[MICRO_INSTRUCTIONS + 2 * BLOCK_MAX];
	uint32_t count = 0, at = 0;
	while (at < recorder->used && !is_block(recorder->words[at]))
		at++; /* addresses of the block before */
	while (at < recorder->used && count < MICRO_INSTRUCTIONS)
		at = expand_block(recorder, at, next, ops, &count);
	struct raw_micro micro = { .stretch = vcpu->stretch,
		.thread = vcpu->thread->number,
		.count = count < MICRO_INSTRUCTIONS ? count : MICRO_INSTRUCTIONS,
		.at = recorder->at,
		.class_at = recorder->class_at };
	if (micro.count) {
		out_record(RAW_MICRO, &micro, sizeof(micro), ops, micro.count * sizeof(*ops));
		micro_traces++;
	}
	recorder->is_micro = false;
	if (everything)
		return;
	recorder->used = 0;
	stop_words(vcpu);
}

static void start_words(struct vcpu *vcpu)
{
	struct recorder *recorder = &vcpu->thread->recorder;
	recorder->used = 0;
	recorder->has_block = false; /* addresses of the block before are not its own */
	vcpu->mode |= VCPU_RECORDS;
	vcpu_look(vcpu, LOOKS_RECORDER);
}

void record_make_room(struct vcpu *vcpu)
{
	struct recorder *recorder = &vcpu->thread->recorder;
	if (!everything || recorder->used + 1 < recorder->capacity)
		return;
	if (recorder->is_micro)
		finish_micro(vcpu, NULL);
	write_chunk(vcpu);
}

void record_enter(struct vcpu *vcpu)
{
	struct recorder *recorder = &vcpu->thread->recorder;
	if (vcpu->sum)
		recorder->entered_at = vcpu->sum->instructions;
	if (!everything || !recorder->words)
		return;
	recorder->begin_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	start_words(vcpu);
}

/* The stretch ends before the micro-trace. */
static void leave_micro(struct vcpu *vcpu)
{
	struct recorder *recorder = &vcpu->thread->recorder;
	bool is_rest =
		recorder->class_at != recorder->entered_at && recorder->instructions < MICRO_LEAST;
	if (!is_rest || !vcpu->sum) {
		finish_micro(vcpu, NULL);
		return;
	}
	vcpu->sum->next_micro = vcpu->sum->instructions;
	recorder->is_micro = false;
}

void record_leave(struct vcpu *vcpu)
{
	if (!(vcpu->mode & VCPU_RECORDS))
		return;
	if (vcpu->thread->recorder.is_micro)
		leave_micro(vcpu);
	if (everything) {
		write_chunk(vcpu);
		vcpu->thread->recorder.stretches++;
	}
	stop_words(vcpu);
}

uint64_t record_look(struct vcpu *vcpu)
{
	struct recorder *recorder = &vcpu->thread->recorder;
	struct sum *sum = vcpu->sum;
	if (!sum || !recorder->words || recorder->is_micro)
		return UINT64_MAX;
	if (sum->instructions < sum->next_micro)
		return sum->next_micro - sum->instructions;
	uint64_t gap = sum->instructions / MICRO_PART;
	if (gap < MICRO_FIRST_GAP)
		gap = MICRO_FIRST_GAP;
	if (gap > MICRO_LAST_GAP)
		gap = MICRO_LAST_GAP;
	gap *= 1 + micro_traces / MICRO_MANY;
	/* Not in step with the program. */
	gap = gap / 2 + thread_random(vcpu->thread, RANDOM_MICRO) % gap;
	sum->next_micro = sum->instructions + gap;
	recorder->at = vcpu->slot->instructions;
	recorder->class_at = sum->instructions;
	recorder->instructions = 0;
	recorder->is_micro = true;
	if (everything)
		write_chunk(vcpu);
	else
		start_words(vcpu);
	return gap;
}

void record_block(struct vcpu *vcpu, const struct block *block)
{
	struct recorder *recorder = &vcpu->thread->recorder;
	if (block_goes_on(block, vcpu->previous))
		return;
	bool is_full =
		recorder->instructions >= MICRO_INSTRUCTIONS || recorder->used >= MICRO_WORDS;
	if (recorder->is_micro && is_full)
		finish_micro(vcpu, block);
	if (!(vcpu->mode & VCPU_RECORDS))
		return;
	if (everything && recorder->used >= CHUNK_WORDS)
		write_chunk(vcpu);
	recorder->instructions += block->count;
	recorder->has_block = true;
	if (recorder->used < recorder->capacity)
		recorder->words[recorder->used++] = TRACE_BLOCK_WORD << TRACE_TAG_SHIFT | block->id;
}
