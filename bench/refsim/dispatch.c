/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reference simulator's core, front end: instructions become micro-operations, along the path that was predicted. */
#include "bench/refsim/core_parts.h"

static void add_sources(const struct refcore *core, struct entry *entry, uint64_t registers)
{
	for (uint32_t i = 0; i < REGISTERS && registers >> i; i++) {
		if (!(registers >> i & 1) || core->writers[i] == 0)
			continue;
		uint64_t writer = core->writers[i] - 1;
		bool is_known = writer < core->oldest;
		for (uint32_t k = 0; k < entry->source_count; k++)
			is_known |= entry->sources[k] == writer;
		if (!is_known && entry->source_count < SOURCES)
			entry->sources[entry->source_count++] = writer;
	}
}

static struct entry *push(
	struct refcore *core, const struct micro_op *op, const struct code *code, enum kind kind)
{
	struct entry *entry = entry_at(core, core->next);
	*entry = (struct entry){ .ready = NEVER,
		.address = op->address,
		.code = op->code,
		.kind = (uint8_t)kind,
		.class = code->class,
		.is_vector = code_uses_vectors(code),
		.renaming = (uint8_t)code_renaming(code) };
	core->waiting[core->waiting_count++] = core->next++;
	core->counts.operations++;
	return entry;
}

static bool is_alone(const struct code *code)
{
	return code->class == CODE_ATOMIC || code->class == CODE_FENCE ||
	       code->class == CODE_SYSTEM;
}

static bool has_operation(const struct code *code)
{
	bool is_memory = code->flags & (CODE_LOAD | CODE_STORE);
	return !(code->class == CODE_MOVE && is_memory);
}

/* Micro-operations that the instruction becomes, by kind. */
struct parts {
	uint32_t loads, operations, stores;
};

static struct parts parts_of(const struct code *code)
{
	if (is_alone(code))
		return (struct parts){ 0, 1, 0 };
	return (struct parts){ .loads = (code->flags & CODE_LOAD) != 0,
		.operations = has_operation(code),
		.stores = (code->flags & CODE_STORE) != 0 };
}

static bool has_room(const struct refcore *core, struct parts parts)
{
	const struct processor *processor = core->processor;
	uint32_t all = parts.loads + parts.operations + parts.stores;
	return core->next - core->oldest + all <= processor->rob &&
	       core->waiting_count + all <= processor->issue_queue &&
	       core->loads + parts.loads <= processor->load_queue &&
	       core->store_count + parts.stores <= processor->store_queue;
}

static void push_store(
	struct refcore *core, const struct micro_op *op, const struct code *code, uint64_t data)
{
	uint64_t number = core->next;
	struct entry *entry = push(core, op, code, KIND_STORE);
	add_sources(core, entry, code->address_reads);
	if (data != NEVER)
		entry->sources[entry->source_count++] = data;
	else
		add_sources(core, entry, code->reads);
	*store_at(core, core->store_count++) = (struct store){ number, NEVER,
		op->address >> WORD_BITS, (uint8_t)code_renaming(code) };
}

/* A push, pop, call or return: its new stack pointer does not wait for what it loads; front ends keep count of it. */
static bool moves_stack(const struct code *code)
{
	uint64_t stack = UINT64_C(1) << STACK_POINTER;
	return code->class == CODE_JUMP ||
	       (code->class == CODE_MOVE && code->flags & (CODE_LOAD | CODE_STORE) &&
		       code->address_reads & stack && code->writes & stack);
}

static void dispatch_one(struct refcore *core, const struct micro_op *op, const struct code *code,
	struct parts parts)
{
	uint64_t last = NEVER; /* micro-operation that has the value */
	if (parts.loads) {
		last = core->next;
		add_sources(core, push(core, op, code, KIND_LOAD), code->address_reads);
		core->loads++;
	}
	if (parts.operations) {
		enum kind kind = is_alone(code) ? KIND_ALONE : KIND_OPERATION;
		struct entry *entry = push(core, op, code, kind);
		if (last != NEVER)
			entry->sources[entry->source_count++] = last;
		last = core->next - 1;
		add_sources(core, entry, code->reads);
		if (kind == KIND_ALONE)
			add_sources(core, entry, code->address_reads);
		entry->is_load_too = code->class == CODE_ATOMIC && op->address != 0;
		if (code->class == CODE_NOP) {
			entry->ready = core->clock;
			core->waiting_count--;
		}
		if (code->class == CODE_BRANCH) {
			core->counts.branches++;
			if (core->predictor.predict &&
				!core->predictor.predict(
					core->predictor.context, code->address, op->taken)) {
				core->counts.mispredicted++;
				entry->is_mispredicted = true;
				core->blocked_by = core->next;
			}
		}
	}
	if (code->class == CODE_JUMP && code->flags & CODE_INDIRECT &&
		!(code->flags & CODE_RETURN) && last != NEVER) {
		core->jump = last + 1;
		core->jump_address = code->address;
	}
	if (code->address != 0)
		core->address_after = code->address + code->bytes;
	if (parts.stores)
		push_store(core, op, code, last);
	uint64_t writer = last != NEVER ? last : core->next - 1, writes = code->writes;
	if (moves_stack(code))
		writes &= ~(UINT64_C(1) << STACK_POINTER);
	for (uint32_t i = 0; i < REGISTERS && writes >> i; i++)
		if (writes >> i & 1)
			core->writers[i] = writer + 1;
	core->counts.instructions++;
}

/* The jump went elsewhere than predicted: fetch begins anew when it has executed. */
static void redirect(struct refcore *core, uint64_t number)
{
	struct entry *entry = entry_at(core, number);
	if (number < core->oldest)
		return;
	if (entry->ready == NEVER) {
		entry->is_mispredicted = true;
		core->blocked_by = number + 1;
		return;
	}
	fetch_anew(core, entry->ready);
}

/* An instruction comes after the last one: whether that branched, and where an indirect jump went. */
static void follow_path(struct refcore *core, const struct code *code)
{
	const struct refcore_predictor *predictor = &core->predictor;
	if (!predictor->predict_target || code->address == 0)
		return;
	uint64_t jump = core->jump;
	core->jump = 0;
	if (jump != 0 && !predictor->predict_target(
				 predictor->target_context, core->jump_address, code->address))
		redirect(core, jump - 1);
	if (code->address != core->address_after)
		predictor->take(predictor->target_context, code->address);
	core->address_after = code->address; /* it has come */
}

/* False if the line of the instruction is not there yet. */
static bool fetch_line(struct refcore *core, const struct code *code)
{
	uint64_t ready = reffetch_line(core->fetch, code->address, core->clock);
	if (ready <= core->clock)
		return true;
	core->fetch_from = ready;
	core->fetch_part = REFCORE_ICACHE;
	return false;
}

size_t refcore_dispatch(
	struct refcore *core, const struct code *codes, const struct micro_op *ops, size_t count)
{
	size_t done = 0;
	uint32_t width = core->processor->dispatch_width;
	while (done < count && core->width_left > 0 && core->blocked_by == 0 &&
		core->fetch_from <= core->clock) {
		const struct code *code = &codes[ops[done].code];
		struct parts parts = parts_of(code);
		uint32_t all = parts.loads + parts.operations + parts.stores;
		follow_path(core, code);
		if (core->blocked_by != 0 || core->fetch_from > core->clock)
			break;
		bool is_first = core->width_left == width;
		if ((all > core->width_left && !is_first) || !has_room(core, parts) ||
			!fetch_line(core, code))
			break;
		dispatch_one(core, &ops[done++], code, parts);
		core->width_left -= all < core->width_left ? all : core->width_left;
	}
	return done;
}
