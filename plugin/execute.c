/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each executed block costs one short function: two comparisons and additions of vectors; its first access calls it
 * where that is sure to be called once. Whatever is rare waits for one of the comparisons: another stretch, or
 * `next_instructions`.
 */
#include "execute.h"

#include "branches.h"
#include "calls.h"
#include "code_class.h"
#include "fetch.h"
#include "guest.h"
#include "loop.h"
#include "out.h"
#include "pages.h"
#include "preload/kernel_clock.h"
#include "record.h"
#include "reuse.h"
#include "stretch.h"
#include "thread.h"

enum { WRITE_EVERY_NS = 1000000000 };

/* Before a block, when there is something special about the virtual cpu. Whether the block counts. */
static __attribute__((noinline)) bool attend_before(struct vcpu *vcpu, const struct block *block)
{
	if (vcpu->mode & VCPU_UNSTARTED)
		guest_start_thread(vcpu);
	if (vcpu->mode & VCPU_IGNORED)
		return vcpu->slot->stretch != PROFILE_NOT_COUNTED;
	uint64_t stretch = vcpu->slot->stretch;
	if (stretch != vcpu->stretch)
		stretch_enter(vcpu, stretch);
	if (vcpu->mode & VCPU_RECORDS)
		record_block(vcpu, block);
	if (vcpu->mode & VCPU_BRANCHES && vcpu->sum)
		branches_block(vcpu, block);
	return !(vcpu->mode & VCPU_OFF);
}

/* After `next_instructions`, or when an access of the block is to be sampled. */
static __attribute__((noinline)) void attend_after(struct vcpu *vcpu)
{
	if (vcpu->slot->accesses > vcpu->next_access)
		vcpu_look(vcpu, LOOKS_SAMPLER);
	if (vcpu->slot->instructions < vcpu->next_instructions)
		return;
	vcpu_settle(vcpu);
	vcpu->next_instructions = vcpu->slot->instructions + STRETCH_ATTEND_EVERY;
	if (!vcpu->sum)
		return;
	stretch_plan(vcpu);
	uint64_t now = kernel_clock_ns(CLOCK_MONOTONIC);
	if (now - vcpu->thread->written_ns < vcpu->thread->write_every_ns)
		return;
	if (vcpu->thread->write_every_ns < WRITE_EVERY_NS)
		vcpu->thread->write_every_ns *= 2;
	vcpu->thread->written_ns = now;
	thread_write(vcpu, false);
	guest_write_quality();
	out_flush();
}

/* Blocks that are new or have string instructions; whether it is not just the next element of one. */
static __attribute__((noinline)) bool attend_to_rare(struct vcpu *vcpu, struct block *block)
{
	if (block->new_lines)
		fetch_first(vcpu, block);
	if (!block_goes_on(block, vcpu->previous)) {
		vcpu->string_lines[0] = vcpu->string_lines[1] = UINT64_MAX;
		vcpu->string_index = (uint16_t)(block->count - 1);
		return true;
	}
	vcpu->previous = block;
	return false;
}

/*
 * The block's part that every execution has. Whether more is to be done: change_line(). What is seldom done is called
 * last everywhere, so that the callbacks, of which a program makes one every few instructions, save no registers.
 */
static inline bool count_block(struct vcpu *vcpu, const struct block *block)
{
	struct profile_slot *slot = vcpu->slot;
	bool changes_line = vcpu->previous->last_line != block->only_line;
	vcpu->previous = block;
	for (unsigned i = 0; i < LANE_PARTS; i++)
		vcpu->counts[i] += block->counts[i];
	uint64_t accesses = slot->accesses + block->accesses;
	uint64_t instructions = slot->instructions + block->count;
	slot->accesses = accesses;
	slot->instructions = instructions;
	return changes_line | vcpu_is_due(vcpu, instructions, accesses);
}

static __attribute__((noinline)) void attend(
	struct vcpu *vcpu, const struct block *previous, const struct block *block)
{
	attend_after(vcpu);
	fetch_look(vcpu, previous->last_line, block);
}

/* After count_block(): whether to attend(). `previous` was executed before the block. */
static inline bool change_line(
	struct vcpu *vcpu, const struct block *previous, const struct block *block)
{
	bool is_watched = fetch_block(vcpu, previous->last_line, block);
	return is_watched | vcpu_is_due(vcpu, vcpu->slot->instructions, vcpu->slot->accesses);
}

static __attribute__((noinline)) void on_other_line(
	struct vcpu *vcpu, const struct block *previous, const struct block *block)
{
	if (change_line(vcpu, previous, block))
		attend(vcpu, previous, block);
	else if (loop_begins(vcpu, previous, block))
		loop_enter(vcpu, block);
}

static __attribute__((noinline)) void on_special_block(struct vcpu *vcpu, struct block *block)
{
	if (vcpu->mode == VCPU_OFF && vcpu->slot->stretch == PROFILE_NOT_COUNTED)
		return; /* the recorder in the program: many blocks */
	if (vcpu->mode & VCPU_LOOPS)
		loop_leave(vcpu);
	if (vcpu->mode & VCPU_CALLED)
		calls_look(vcpu, block);
	if ((vcpu->slot->stretch != vcpu->stretch || vcpu->mode) && !attend_before(vcpu, block))
		return;
	if (block->is_rare && !attend_to_rare(vcpu, block))
		return;
	const struct block *previous = vcpu->previous;
	if (count_block(vcpu, block))
		on_other_line(vcpu, previous, block);
}

static void on_block(unsigned index, void *userdata)
{
	struct block *block = userdata;
	if (__builtin_expect(index >= VCPUS, 0))
		return;
	struct vcpu *vcpu = &vcpu_table[index];
	if (is_in_loop(vcpu, block))
		return;
	if (__builtin_expect(vcpu_is_special(vcpu, block), 0)) {
		on_special_block(vcpu, block);
		return;
	}
	const struct block *previous = vcpu->previous;
	if (count_block(vcpu, block))
		on_other_line(vcpu, previous, block);
}

/* An access that may be to a watched line, or is recorded or sampled. */
static __attribute__((noinline)) void look_at_access(
	struct vcpu *vcpu, const struct place *place, uint64_t address, qemu_plugin_meminfo_t info)
{
	const struct profile_slot *slot = vcpu->slot;
	uint64_t line = address >> REUSE_LINE_BITS;
	if (!vcpu->sum)
		return;
	loop_settle(vcpu);
	bool again = place == vcpu->last_place && line == vcpu->last_line &&
		     slot->accesses == vcpu->last_clock;
	vcpu->last_place = place;
	vcpu->last_line = line;
	vcpu->last_clock = slot->accesses;
	if (vcpu->looks & LOOKS_RECORDER && !again)
		record_access(&vcpu->thread->recorder, place->index, address);
	uint64_t clock = slot->accesses - place->block->accesses + place->access;
	if (reuse_filtered(line))
		reuse_access(vcpu, place, line, clock, qemu_plugin_mem_is_store(info), again);
	if (!again)
		pages_access(vcpu, place, line, clock);
	if (vcpu->looks & LOOKS_SAMPLER && !again && clock >= vcpu->next_access) {
		reuse_sample(vcpu, place, line, clock, qemu_plugin_mem_is_store(info));
		if (slot->accesses <= vcpu->next_access)
			vcpu_look_no_more(vcpu, LOOKS_SAMPLER);
	}
}

static inline bool is_looked_at(uint64_t address)
{
	return __builtin_expect(reuse_filtered(address >> REUSE_LINE_BITS), 0) ||
	       __builtin_expect(vcpu_lookers != 0, 0);
}

static inline void count_access(
	struct vcpu *vcpu, const struct place *place, uint64_t address, qemu_plugin_meminfo_t info)
{
	if (is_looked_at(address))
		look_at_access(vcpu, place, address, info);
}

static void on_access(unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	if (is_looked_at(address))
		look_at_access(&vcpu_table[index % VCPUS], userdata, address, info);
}

/* The ways that are seldom taken, with the access at their end. */
static __attribute__((noinline)) void on_special_access(
	struct vcpu *vcpu, const struct place *place, uint64_t address, qemu_plugin_meminfo_t info)
{
	on_special_block(vcpu, place->block);
	count_access(vcpu, place, address, info);
}

static __attribute__((noinline)) void attend_access(struct vcpu *vcpu, const struct place *place,
	uint64_t address, qemu_plugin_meminfo_t info, const struct block *previous)
{
	attend(vcpu, previous, place->block);
	count_access(vcpu, place, address, info);
}

static __attribute__((noinline)) void begin_loop_access(
	struct vcpu *vcpu, const struct place *place, uint64_t address, qemu_plugin_meminfo_t info)
{
	loop_enter(vcpu, place->block);
	count_access(vcpu, place, address, info);
}

static __attribute__((noinline)) void on_other_line_access(struct vcpu *vcpu,
	const struct place *place, uint64_t address, qemu_plugin_meminfo_t info,
	const struct block *previous)
{
	if (__builtin_expect(change_line(vcpu, previous, place->block), 0))
		attend_access(vcpu, place, address, info, previous);
	else if (__builtin_expect(loop_begins(vcpu, previous, place->block), 0))
		begin_loop_access(vcpu, place, address, info);
	else
		count_access(vcpu, place, address, info);
}

/* The first access of a block stands for the block's execution, too: one call less. */
static void on_block_access(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	const struct place *place = userdata;
	if (__builtin_expect(index >= VCPUS, 0))
		return;
	struct vcpu *vcpu = &vcpu_table[index];
	if (is_in_loop(vcpu, place->block)) {
		count_access(vcpu, place, address, info);
		return;
	}
	if (__builtin_expect(vcpu_is_special(vcpu, place->block), 0)) {
		on_special_access(vcpu, place, address, info);
		return;
	}
	const struct block *previous = vcpu->previous;
	if (count_block(vcpu, place->block))
		on_other_line_access(vcpu, place, address, info, previous);
	else
		count_access(vcpu, place, address, info);
}

/* Of a string instruction, which may have any number: counted here, one for each line that it comes to. */
static void on_string_access(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	struct vcpu *vcpu = &vcpu_table[index % VCPUS];
	const struct place *place = userdata;
	uint64_t line = address >> REUSE_LINE_BITS;
	if (!vcpu->sum)
		return;
	bool is_store = qemu_plugin_mem_is_store(info);
	if (vcpu->string_lines[is_store] == line)
		return;
	vcpu->string_lines[is_store] = line;
	*(is_store ? &vcpu->sum->counts.stores : &vcpu->sum->counts.loads) += 1;
	uint64_t clock = vcpu->slot->accesses++;
	if (vcpu->looks & LOOKS_RECORDER) {
		record_make_room(vcpu);
		record_access(&vcpu->thread->recorder,
			place->block->is_string ? vcpu->string_index : place->index, address);
	}
	if (reuse_filtered(line))
		reuse_access(vcpu, place, line, clock, is_store, false);
	pages_access(vcpu, place, line, clock);
	if (clock >= vcpu->next_access)
		reuse_sample(vcpu, place, line, clock, is_store);
}

void execute_translate(struct qemu_plugin_tb *tb, struct block *block)
{
	uint32_t first = 0;
	while (first < block->count && !block_has_operand(block, first))
		first++;
	/* Watched calls return at the begin of a block. */
	bool access_tells =
		first < block->count && block_makes_one_call(block, first) && !calls_are_watched();
	if (!access_tells)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
	for (uint32_t i = first; i < block->count; i++) {
		if (!block_has_operand(block, i))
			continue;
		qemu_plugin_vcpu_mem_cb_t call = on_access;
		if (code_is_string(block_code(block, i)->class))
			call = on_string_access;
		else if (i == first && access_tells)
			call = on_block_access;
		/* One for reads and writes: two on an instruction count wrongly. */
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), call,
			QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, &block->places[i]);
	}
}
