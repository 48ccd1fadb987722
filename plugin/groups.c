/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "groups.h"

#include "code_class.h"

enum {
	/* Further apart, more accesses are looked at in vain. */
	SPAN_MOST = 256,
	BYTES_MOST = 32, /* of an access */
	REGISTERS = DECODED_REGISTERS,
};

/* What is known of registers: how often each was given an unknown value, and what has been added since. */
struct registers {
	uint32_t versions[REGISTERS + 1];
	int64_t offsets[REGISTERS + 1];
};

/* Addresses with the same `terms` differ by their constants. */
struct sum_address {
	uint64_t terms;
	int64_t constant;
};

static struct sum_address sum_of(
	const struct registers *registers, const struct decoded_address *address)
{
	uint64_t terms = address->base | (uint64_t)address->index << 5 |
			 (uint64_t)(address->index < REGISTERS ? address->scale : 0) << 10 |
			 (uint64_t)address->segment << 14 |
			 (uint64_t)(registers->versions[address->base] & 0xffff) << 16 |
			 (uint64_t)(registers->versions[address->index] & 0xffff) << 32;
	return (struct sum_address){ terms,
		address->displacement + registers->offsets[address->base] +
			registers->offsets[address->index] * address->scale };
}

static void execute(struct registers *registers, const struct raw_code *code,
	const struct decoded_address *address)
{
	bool is_unknown = code->class == CODE_OTHER; /* may write anything */
	for (unsigned i = 0; i < REGISTERS; i++) {
		if (i == address->moved || !(is_unknown || code->writes >> i & 1))
			continue;
		registers->versions[i]++;
		registers->offsets[i] = 0;
	}
	if (address->moved < REGISTERS)
		registers->offsets[address->moved] += address->move;
}

struct group {
	uint64_t terms;
	int64_t constant, low, high; /* of the first's address; of the lowest and the highest */
	uint16_t first, last; /* places */
};

struct groups {
	struct group groups[BLOCK_PLACES];
	uint32_t count;
};

/* The group that the address is near to; NULL: none. */
static struct group *find_group(struct groups *all, struct sum_address address)
{
	for (uint32_t i = all->count; i > 0; i--) {
		struct group *group = &all->groups[i - 1];
		if (group->terms == address.terms && address.constant - group->low <= SPAN_MOST &&
			group->high - address.constant <= SPAN_MOST)
			return group;
	}
	return NULL;
}

/* `delta` is from the first of the group, until the leader is chosen. */
static void join(struct groups *all, struct place *places, uint16_t index, struct sum_address at)
{
	struct group *group = find_group(all, at);
	if (!group) {
		all->groups[all->count++] = (struct group){ at.terms, at.constant, at.constant,
			at.constant, index, index };
		return;
	}
	places[group->last].next = index;
	places[index].delta = (int16_t)(at.constant - group->constant);
	group->last = index;
	group->low = at.constant < group->low ? at.constant : group->low;
	group->high = at.constant > group->high ? at.constant : group->high;
}

/* One that is made in one call, which is the cheapest; else the first. */
static uint16_t choose_leader(const struct block *block, const struct group *group)
{
	for (uint16_t at = group->first; at != PLACE_NONE; at = block->places[at].next)
		if (block_makes_one_call(block, at))
			return at;
	return group->first;
}

static void set_leader(struct block *block, const struct group *group)
{
	struct place *places = block->places;
	uint16_t leader = choose_leader(block, group);
	int16_t delta = places[leader].delta;
	for (uint16_t at = group->first; at != PLACE_NONE; at = places[at].next) {
		places[at].leader = leader;
		places[at].delta = (int16_t)(places[at].delta - delta);
	}
	places[leader].first = group->first;
	places[leader].low = (int16_t)(group->low - group->constant - delta);
	places[leader].high = (int16_t)(group->high - group->constant - delta);
}

void groups_find(struct block *block, const struct decoded_address *const *addresses)
{
	static struct groups all; /* translation is one thread at a time */
	struct registers registers = { 0 };
	all.count = 0;
	for (uint32_t i = 0; i < block->count; i++) {
		const struct raw_code *code = block_code(block, i);
		struct place *place = &block->places[i];
		place->leader = place->first = (uint16_t)i;
		place->next = PLACE_NONE;
		bool is_plain = block_makes_calls(block, i) && code->data_bytes <= BYTES_MOST;
		if (is_plain && addresses[i]->is_known)
			join(&all, block->places, (uint16_t)i, sum_of(&registers, addresses[i]));
		execute(&registers, code, addresses[i]);
	}
	for (uint32_t i = 0; i < all.count; i++)
		set_leader(block, &all.groups[i]);
}
