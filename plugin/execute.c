/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each executed block costs one short function, and so does each access; a block's first access stands for both where it is
 * sure to be called once. What there is to do with blocks is done later, for many at once (pending.h).
 */
#include "execute.h"

#include "calls.h"
#include "code_class.h"
#include "decode.h"
#include "guest.h"
#include "out.h"
#include "pages.h"
#include "pending.h"
#include "preload/kernel_clock.h"
#include "record.h"
#include "reuse.h"
#include "stretch.h"
#include "thread.h"

enum {
	WRITE_EVERY_NS = 1000000000,
	CALL_BYTES = 8 /* of an access, for which the emulator calls once */
};

/* Before a block, when there is something special about the virtual cpu. Whether the block counts. */
static bool attend_before(struct vcpu *vcpu, const struct block *block)
{
	if (vcpu->mode & VCPU_UNSTARTED)
		guest_start_thread(vcpu);
	if (vcpu->mode & VCPU_IGNORED) {
		vcpu->slot->instructions +=
			vcpu->slot->stretch != PROFILE_NOT_COUNTED ? block->count : 0;
		return false;
	}
	uint64_t stretch = vcpu->slot->stretch;
	if (stretch != vcpu->stretch)
		stretch_enter(vcpu, stretch);
	if (vcpu->mode & VCPU_RECORDS)
		record_block(vcpu, block);
	return !(vcpu->mode & VCPU_OFF);
}

/* After `next_instructions`. */
static void attend(struct vcpu *vcpu)
{
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

/* pending_add() said so of the block. */
static __attribute__((noinline)) void look_at_block(struct vcpu *vcpu, struct block *block)
{
	pending_take_back(vcpu);
	vcpu->slot->look_at = 0; /* unless it counts */
	if (vcpu->mode == VCPU_OFF && vcpu->slot->stretch == PROFILE_NOT_COUNTED)
		return; /* the recorder in the program: many blocks */
	if (vcpu->mode & VCPU_CALLED)
		calls_look(vcpu, block);
	if ((vcpu->slot->stretch != vcpu->stretch || vcpu->mode) && !attend_before(vcpu, block))
		return;
	(void)pending_add(vcpu, block, block->count);
	pending_settle(vcpu);
	if (vcpu->slot->accesses > vcpu->next_access)
		vcpu_look(vcpu, LOOKS_SAMPLER);
	if (vcpu->slot->instructions >= vcpu->next_instructions)
		attend(vcpu);
	pending_plan(vcpu);
}

static void on_block(unsigned index, void *userdata)
{
	struct block *block = userdata;
	if (__builtin_expect(index >= VCPUS, 0))
		return;
	struct vcpu *vcpu = &vcpu_table[index];
	if (__builtin_expect(pending_add(vcpu, block, block->count), 0))
		look_at_block(vcpu, block);
}

/* Of a block with string instructions, which is executed again for each of their elements. */
static void on_string_block(unsigned index, void *userdata)
{
	struct block *block = userdata;
	if (index >= VCPUS)
		return;
	struct vcpu *vcpu = &vcpu_table[index];
	if (block_goes_on(block, pending_last(vcpu)))
		return;
	vcpu->string_lines[0] = vcpu->string_lines[1] = UINT64_MAX;
	vcpu->string_index = (uint16_t)(block->count - 1);
	(void)pending_add(vcpu, block, block->count);
	look_at_block(vcpu, block);
}

/*
 * Whether the access is to be sampled, or the next one after an access that did not happen: within a block they come group by
 * group.
 */
static bool is_due(const struct vcpu *vcpu, const struct place *place, uint64_t clock)
{
	return clock == vcpu->next_access || clock - place->access > vcpu->next_access;
}

/* An access that may be to a watched line, or is recorded or sampled. */
static __attribute__((noinline)) void look_at_access(
	struct vcpu *vcpu, const struct place *place, uint64_t address, bool is_store)
{
	const struct profile_slot *slot = vcpu->slot;
	uint64_t line = address >> REUSE_LINE_BITS;
	bool is_filtered = reuse_filtered(line);
	if (!vcpu->sum || !(is_filtered || vcpu->looks))
		return;
	pending_settle_accesses(vcpu);
	bool again = place == vcpu->last_place && line == vcpu->last_line &&
		     slot->accesses == vcpu->last_clock;
	vcpu->last_place = place;
	vcpu->last_line = line;
	vcpu->last_clock = slot->accesses;
	if (vcpu->looks & LOOKS_RECORDER && !again)
		record_access(&vcpu->thread->recorder, place->index, address);
	uint64_t clock = slot->accesses - place->block->accesses + place->access;
	if (is_filtered)
		reuse_access(vcpu, place, line, clock, is_store, again);
	if (!again)
		pages_access(vcpu, place, line, clock);
	if (vcpu->looks & LOOKS_SAMPLER && !again && is_due(vcpu, place, clock)) {
		reuse_sample(vcpu, place, line, clock, is_store);
		if (slot->accesses <= vcpu->next_access)
			vcpu_look_no_more(vcpu, LOOKS_SAMPLER);
	}
}

/* Of others than the leader, the emulator says nothing: what it would have called for. */
static void look_at_member(struct vcpu *vcpu, const struct place *place, uint64_t address)
{
	const struct raw_code *code = blocks_code(place->code);
	uint64_t end = address + code->data_bytes - CALL_BYTES;
	bool has_more = code->data_bytes > CALL_BYTES &&
			end >> REUSE_LINE_BITS != address >> REUSE_LINE_BITS;
	for (unsigned kind = CODE_LOAD; kind <= CODE_STORE; kind++) {
		if (!(code->flags & kind))
			continue;
		look_at_access(vcpu, place, address, kind == CODE_STORE);
		if (has_more)
			look_at_access(vcpu, place, end, kind == CODE_STORE);
	}
}

/* Of a leader. What goes on with its access is not the others'. */
static __attribute__((noinline)) void look_at_group(
	struct vcpu *vcpu, const struct place *leader, uint64_t address, bool is_store)
{
	const struct place *places = leader->block->places;
	pending_settle_accesses(vcpu);
	if (leader == vcpu->last_leader && vcpu->slot->accesses == vcpu->last_leader_clock) {
		vcpu->last_place = leader;
		vcpu->last_line = vcpu->last_leader_line;
		vcpu->last_clock = vcpu->last_leader_clock;
		look_at_access(vcpu, leader, address, is_store);
		return;
	}
	vcpu->last_leader = leader;
	vcpu->last_leader_line = address >> REUSE_LINE_BITS;
	vcpu->last_leader_clock = vcpu->slot->accesses;
	for (uint16_t at = leader->first; at != PLACE_NONE; at = places[at].next)
		if (&places[at] == leader)
			look_at_access(vcpu, leader, address, is_store);
		else
			look_at_member(vcpu, &places[at], address + (uint64_t)places[at].delta);
}

/*
 * What the emulator calls ends in one of these, with what it was called with, so that it has nothing to keep for after.
 * `tell_alone`: the leader has nobody else in its group.
 */
static __attribute__((noinline)) void tell_alone(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	look_at_access(
		&vcpu_table[index % VCPUS], userdata, address, qemu_plugin_mem_is_store(info));
}

static __attribute__((noinline)) void tell_group(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	look_at_group(
		&vcpu_table[index % VCPUS], userdata, address, qemu_plugin_mem_is_store(info));
}

static inline bool group_is_told(const struct place *leader, uint64_t address)
{
	return reuse_any_is_told(address + (uint64_t)leader->low, address + (uint64_t)leader->high);
}

/* `is_alone`, in these two, is a constant. */
static inline __attribute__((always_inline)) void tell_access(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata, bool is_alone)
{
	bool is_told = is_alone ? reuse_is_told(address >> REUSE_LINE_BITS)
				: group_is_told(userdata, address);
	if (__builtin_expect(is_told, 0))
		(is_alone ? tell_alone : tell_group)(index, info, address, userdata);
}

static __attribute__((noinline)) void tell_both(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	const struct place *leader = userdata;
	look_at_block(&vcpu_table[index], leader->block);
	tell_access(index, info, address, userdata, false);
}

/* The first access of a block stands for the block's execution, too: one call less. */
static inline __attribute__((always_inline)) void first_access(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata, bool is_alone)
{
	const struct place *leader = userdata;
	if (__builtin_expect(index >= VCPUS, 0))
		return;
	if (__builtin_expect(pending_add(&vcpu_table[index], leader->block, leader->count), 0))
		tell_both(index, info, address, userdata);
	else
		tell_access(index, info, address, userdata, is_alone);
}

static void on_access(unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	tell_access(index, info, address, userdata, true);
}

static void on_group(unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	tell_access(index, info, address, userdata, false);
}

static void on_block_access(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	first_access(index, info, address, userdata, true);
}

static void on_block_group(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	first_access(index, info, address, userdata, false);
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

static bool is_asked_for(const struct block *block, uint32_t index)
{
	return block_has_operand(block, index) && block->places[index].leader == index;
}

void execute_translate(struct qemu_plugin_tb *tb, struct block *block)
{
	uint32_t first = 0;
	while (first < block->count && !is_asked_for(block, first))
		first++;
	/* Watched calls return at the begin of a block. */
	bool access_tells = first < block->count && block_makes_one_call(block, first) &&
			    !block->has_string && !calls_are_watched();
	if (!access_tells)
		qemu_plugin_register_vcpu_tb_exec_cb(tb,
			block->has_string ? on_string_block : on_block, QEMU_PLUGIN_CB_NO_REGS,
			block);
	for (uint32_t i = first; i < block->count; i++) {
		if (!is_asked_for(block, i))
			continue;
		bool is_alone = block->places[i].first == i && block->places[i].next == PLACE_NONE;
		qemu_plugin_vcpu_mem_cb_t call = is_alone ? on_access : on_group;
		if (code_is_string(block_code(block, i)->class))
			call = on_string_access;
		else if (i == first && access_tells)
			call = is_alone ? on_block_access : on_block_group;
		/* One for reads and writes: two on an instruction count wrongly. */
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), call,
			QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, &block->places[i]);
	}
}

static void on_unseen_access(
	unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
	(void)index, (void)info, (void)address, (void)userdata;
}

void execute_translate_unseen(struct qemu_plugin_tb *tb)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		struct raw_code code;
		(void)decode(qemu_plugin_insn_vaddr(insn), qemu_plugin_insn_data(insn),
			qemu_plugin_insn_size(insn), &code, NULL); /* unknown: not atomic */
		if (code.class == CODE_ATOMIC)
			qemu_plugin_register_vcpu_mem_cb(insn, on_unseen_access,
				QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
	}
}
