/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/passed.h"

#include "base/mem.h"
#include "code/code_bytes.h"
#include "code/function_table.h"

#include <stdlib.h>
#include <string.h>

enum {
	FUNCTION_BYTES_MAX = 1 << 18,
	THROUGH_BYTES_MAX = 1 << 12, /* of a function that takes locks for others */
	THROUGH_MAX = 64, /* of these, that are tried for one call */
	STATES_MAX = 1 << 10, /* ways back that are tried in one function */
	STUB_BYTES = 32, /* of a linkage table's entry, and more */
	NEAR_STEPS = 8, /* back to where a register got its value, in unoptimised code */
	/* In place of the address of a function that is called: */
	LOCKS = 0, /* one that takes the lock */
	ELSEWHERE = 1, /* any of another file */
};

/* Arguments are in these, in this order (System V ABI, AMD64 supplement, 3.2.3). */
static const uint8_t argument_registers[] = { CODE_RDI, CODE_RSI, CODE_RDX, CODE_RCX, 8, 9 };

/* The pointer just before a step. */
struct state {
	size_t step;
	struct pointer pointer;
};

struct search {
	const struct code_file *file;
	const struct code_steps *steps;
	struct state *states;
	size_t count, capacity;
	char *name;
	bool is_weak;
	struct pointer argument; /* what the pointer was at the function's start */
	bool has_argument;
	bool is_contradictory; /* different ways lead to different things */
};

/* Of one name. */
struct asking {
	const char *const *functions; /* that take such a lock */
	char *name;
	bool is_weak;
	unsigned tried; /* functions that may lead to one of those */
};

static void search_release(struct search *search)
{
	free(search->states);
	free(search->name);
}

static bool is_same_pointer(const struct pointer *a, const struct pointer *b)
{
	return a->base == b->base && a->count == b->count && a->is_indexed == b->is_indexed &&
	       a->function == b->function &&
	       memcmp(a->offsets, b->offsets, a->count * sizeof *a->offsets) == 0;
}

/* Without memory, or too many: that way is not tried. */
static void push(struct search *search, size_t step, const struct pointer *pointer)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->states[i].step == step &&
			is_same_pointer(&search->states[i].pointer, pointer))
			return;
	if (search->count == STATES_MAX || mem_grow(&search->states, &search->capacity,
						   search->count + 1, sizeof *search->states) < 0)
		return;
	search->states[search->count++] = (struct state){ step, *pointer };
}

/* Memory at base + offset, where a function's own frame is known. */
static void find_place(
	const struct search *search, const struct code_step *step, uint8_t *base, int64_t *offset)
{
	if (*base != CODE_RSP && *base != CODE_RBP)
		return;
	struct frame_rule rule = frame_rule_at(search->file, step->address);
	if (rule.reg != *base)
		return;
	*base = POINTER_FRAME;
	*offset -= rule.offset;
}

static struct pointer from_base(const struct search *search, const struct code_step *step,
	const struct pointer *pointer, uint8_t base, int64_t offset)
{
	struct pointer ret = *pointer;
	find_place(search, step, &base, &offset);
	ret.base = base;
	ret.offsets[0] += offset;
	return ret;
}

/* The register has been loaded. False: more loads than are followed. */
static bool from_memory(const struct search *search, const struct code_step *step,
	const struct pointer *pointer, struct pointer *ret)
{
	uint8_t base = step->from;
	int64_t offset = step->offset;
	if (pointer->count == POINTER_LOADS_MAX)
		return false;
	find_place(search, step, &base, &offset);
	*ret = *pointer;
	ret->base = base;
	ret->count++;
	memmove(ret->offsets + 1, pointer->offsets, pointer->count * sizeof *ret->offsets);
	ret->offsets[0] = offset;
	return true;
}

/* The pointer with what was stored in place of its first `loads` loads. */
static struct pointer from_store(
	const struct code_step *step, const struct pointer *pointer, unsigned loads)
{
	struct pointer ret = *pointer;
	ret.base = step->from;
	ret.count = (uint8_t)(pointer->count - loads);
	memmove(ret.offsets, pointer->offsets + loads, ret.count * sizeof *ret.offsets);
	return ret;
}

/* Whether a register was loaded from a place of the frame just before a step. */
static bool is_loaded_from(
	const struct search *search, size_t index, uint8_t reg, int64_t frame_offset)
{
	for (size_t i = 0; i < NEAR_STEPS && index > 0; i++) {
		const struct code_step *step = code_steps_at(search->steps, --index);
		if (!(step->changed & 1u << reg))
			continue;
		uint8_t base = step->from;
		int64_t offset = step->offset;
		if (step->does != CODE_LOADS)
			return false;
		find_place(search, step, &base, &offset);
		return base == POINTER_FRAME && offset == frame_offset;
	}
	return false;
}

/* Whether the step stored what the pointer's first loads read; returns how many, 0: it did not. */
static unsigned stored_loads(
	const struct search *search, size_t index, const struct pointer *pointer)
{
	const struct code_step *step = code_steps_at(search->steps, index);
	uint8_t base = step->to;
	int64_t offset = step->offset;
	if (step->does != CODE_STORES || pointer->count < 2)
		return 0;
	find_place(search, step, &base, &offset);
	if (base == pointer->base && offset == pointer->offsets[0])
		return 1;
	if (pointer->count > 2 && pointer->base == POINTER_FRAME && base < CODE_REGISTERS &&
		offset == pointer->offsets[1] &&
		is_loaded_from(search, index, base, pointer->offsets[0]))
		return 2;
	return 0;
}

/* What was added to a register just before a step, to compute a distance; whether that is all of it. */
static bool find_distance(
	const struct search *search, size_t index, uint8_t reg, int64_t *ret_distance)
{
	int64_t sum = *ret_distance = 0;
	for (size_t i = 0; i < NEAR_STEPS && index > 0; i++) {
		const struct code_step *step = code_steps_at(search->steps, --index);
		if (!(step->changed & 1u << reg))
			continue;
		if (step->does != CODE_ADDS && step->does != CODE_SETS)
			break;
		if (step->does == CODE_ADDS && step->from >= CODE_REGISTERS)
			break;
		sum += step->offset;
		*ret_distance = sum;
		if (step->does == CODE_SETS)
			return true;
		reg = step->from;
	}
	return false;
}

/* Before a sum: the pointer is in `reg`, and `other` is a distance. */
static void follow_addend(struct search *search, size_t index, const struct pointer *pointer,
	uint8_t reg, uint8_t other)
{
	struct pointer before = *pointer;
	int64_t distance = 0;
	before.base = reg;
	before.is_indexed |=
		other >= CODE_REGISTERS || !find_distance(search, index, other, &distance);
	before.offsets[0] += distance;
	push(search, index, &before);
}

/* One of the two is the pointer, the other a distance. */
static void follow_sum(struct search *search, size_t index, const struct pointer *pointer)
{
	const struct code_step *step = code_steps_at(search->steps, index);
	struct pointer before = *pointer;
	int64_t number;
	before.offsets[0] += step->offset;
	if (step->index < CODE_REGISTERS && !find_distance(search, index, step->index, &number))
		follow_addend(search, index, &before, step->index, step->from);
	follow_addend(search, index, &before, step->from, step->index);
}

static void follow_memory_sum(struct search *search, size_t index, const struct pointer *pointer)
{
	const struct code_step *step = code_steps_at(search->steps, index);
	struct pointer before = *pointer, loaded;
	int64_t distance = 0;
	if (!find_distance(search, index, step->to, &distance)) {
		before.is_indexed = true;
		push(search, index, &before);
	}
	if (!from_memory(search, step, &before, &loaded))
		return;
	loaded.offsets[1] += distance;
	push(search, index, &loaded);
}

/* From what the pointer is behind a step to what it was before. */
static void follow_step(struct search *search, size_t index, const struct pointer *pointer)
{
	const struct code_step *step = code_steps_at(search->steps, index);
	struct pointer before = *pointer;
	unsigned loads = stored_loads(search, index, pointer);
	if (loads > 0) {
		before = from_store(step, pointer, loads);
		push(search, index, &before);
		return;
	}
	if (pointer->base >= CODE_REGISTERS || !(step->changed & 1u << pointer->base)) {
		push(search, index, pointer);
		return;
	}
	if (step->does == CODE_CALLS && pointer->base == CODE_RAX) {
		before.base = POINTER_RETURNED;
		before.function = step->target;
		push(search, index, &before);
		return;
	}
	if (step->to != pointer->base)
		return;
	switch (step->does) {
	case CODE_CHOOSES:
		push(search, index, pointer);
		/* fall through */
	case CODE_ADDS:
		before = from_base(search, step, pointer, step->from, step->offset);
		push(search, index, &before);
		return;
	case CODE_INDEXES:
		follow_sum(search, index, pointer);
		return;
	case CODE_ADDS_MEMORY:
		follow_memory_sum(search, index, pointer);
		return;
	case CODE_LOADS:
		if (from_memory(search, step, pointer, &before))
			push(search, index, &before);
		return;
	default:
		return;
	}
}

/* Keeps the name; of different ones none. */
static void found_name(struct search *search, char *name, bool is_weak)
{
	if (search->name && strcmp(search->name, name) != 0)
		search->is_contradictory = true;
	free(search->name);
	search->name = name;
	search->is_weak = is_weak;
}

static void found_argument(struct search *search, const struct pointer *pointer)
{
	if (search->has_argument && !is_same_pointer(&search->argument, pointer))
		search->is_contradictory = true;
	search->argument = *pointer;
	search->has_argument = true;
}

static bool is_argument(const struct pointer *pointer)
{
	return memchr(argument_registers, pointer->base, sizeof argument_registers) != NULL;
}

static void look(struct search *search, size_t index, struct pointer pointer)
{
	bool is_weak = false;
	char *name = pointee_name(
		search->file, code_steps_at(search->steps, index)->address, &pointer, &is_weak);
	if (name) {
		found_name(search, name, is_weak);
		if (!is_weak)
			return;
	}
	if (pointer.base == CODE_STATIC || pointer.base == POINTER_RETURNED)
		return;
	if (index == 0 && is_argument(&pointer))
		found_argument(search, &pointer);
	size_t before[CODE_BEFORE_MAX];
	size_t count = code_steps_preceding(search->steps, index, before);
	for (size_t i = 0; i < count; i++)
		follow_step(search, before[i], &pointer);
}

/* From `pointer` before the step `from` back to where it comes from in the function. */
static void search_run(struct search *search, size_t from, const struct pointer *pointer)
{
	push(search, from, pointer);
	for (size_t i = 0; i < search->count && !search->is_contradictory; i++)
		look(search, search->states[i].step, search->states[i].pointer);
}

/* The function around an address of the call's file. */
static int read_function(
	const struct passed_call *call, uint64_t address, size_t size_max, struct code_steps **ret)
{
	uint64_t start = function_table_find(call->functions, address - call->bias);
	uint64_t next = function_table_next(call->functions, address - call->bias);
	size_t size = next > start ? next - start : size_max;
	if (start == 0 || size > size_max)
		return -1;
	const void *bytes = code_bytes(call->file.module, start + call->bias, &size);
	return bytes ? code_steps_new(start + call->bias, bytes, size, ret) : -1;
}

/* The function of another file that a step goes to; NULL: none. */
static const char *import_of(const struct passed_call *call, const struct code_step *step)
{
	AUTO(code_steps) struct code_steps *stub = NULL;
	size_t size = STUB_BYTES;
	if (step->slot)
		return code_import(call->file.module, step->slot);
	const void *bytes =
		step->target ? code_bytes(call->file.module, step->target, &size) : NULL;
	if (!bytes || code_steps_new(step->target, bytes, size, &stub) < 0)
		return NULL;
	for (size_t i = 0; i < code_steps_count(stub); i++) {
		const struct code_step *inside = code_steps_at(stub, i);
		if (inside->slot)
			return code_import(call->file.module, inside->slot);
		if (!inside->goes_on || inside->does == CODE_CALLS)
			return NULL;
	}
	return NULL;
}

/* "pthread_mutex_lock", not "pthread_mutex_unlock". */
static bool takes_lock(const struct asking *asking, const char *import)
{
	if (!import || strstr(import, "unlock") || strstr(import, "destroy"))
		return false;
	for (const char *const *prefix = asking->functions; *prefix; prefix++)
		if (strncmp(import, *prefix, strlen(*prefix)) == 0)
			return true;
	return false;
}

/* Whether a step leaves for the function that is expected. What is computed may go anywhere. */
static bool goes_to(const struct asking *asking, const struct passed_call *call,
	const struct code_step *step, uint64_t callee)
{
	if (callee == LOCKS)
		return takes_lock(asking, import_of(call, step));
	if (step->target == 0 && step->slot == 0)
		return true;
	return callee == ELSEWHERE ? import_of(call, step) != NULL : step->target == callee;
}

/*
 * From a step that hands the pointer on back to the start of its function. *pointer becomes what it is
 * there. False: that is not known; it may have a name even so.
 */
static bool pass_step(struct asking *asking, const struct passed_call *call,
	const struct code_steps *steps, size_t from, struct pointer *pointer)
{
	AUTO_RELEASE(search)
	struct search search = { .file = &call->file, .steps = steps };
	search_run(&search, from, pointer);
	if (search.is_contradictory)
		return false;
	if (search.name) { /* what is known last replaces what was known before */
		free(asking->name);
		asking->name = TAKE(search.name);
		asking->is_weak = search.is_weak;
	}
	*pointer = search.argument;
	return search.has_argument;
}

static bool has_good_name(const struct asking *asking)
{
	return asking->name && !asking->is_weak;
}

static bool is_inside(const struct code_steps *steps, uint64_t address)
{
	size_t count = code_steps_count(steps);
	return address >= code_steps_at(steps, 0)->address &&
	       address <= code_steps_at(steps, count - 1)->address;
}

/* The steps of the function around the call, and which of them it is; NULL: neither is known. */
static const struct code_step *find_call(
	const struct passed_call *call, struct code_steps **ret_steps, size_t *ret_at)
{
	if (read_function(call, call->site - 1, FUNCTION_BYTES_MAX, ret_steps) < 0)
		return NULL;
	*ret_at = code_steps_before(*ret_steps, call->site);
	if (*ret_at == code_steps_count(*ret_steps))
		return NULL;
	const struct code_step *step = code_steps_at(*ret_steps, *ret_at);
	return step->does == CODE_CALLS ? step : NULL;
}

const char *passed_callee(const struct passed_call *call)
{
	AUTO(code_steps) struct code_steps *steps = NULL;
	size_t at;
	const struct code_step *step = find_call(call, &steps, &at);
	return step ? import_of(call, step) : NULL;
}

/*
 * A call goes to a function that is not on the stack, but calls the expected one or ends with a jump to
 * it, or leads to one that does: `from` hands *pointer to it. *pointer becomes what `from` is given; of
 * several such calls all must be given the same. False: that is not known.
 */
static bool pass_through(struct asking *asking, const struct passed_call *call,
	const struct code_step *from, uint64_t callee, struct pointer *pointer)
{
	AUTO(code_steps) struct code_steps *steps = NULL;
	struct pointer found = { 0 };
	if (from->target == 0 || import_of(call, from) || ++asking->tried > THROUGH_MAX ||
		read_function(call, from->target, THROUGH_BYTES_MAX, &steps) < 0)
		return false;
	for (size_t i = 0; i < code_steps_count(steps); i++) {
		const struct code_step *step = code_steps_at(steps, i);
		struct pointer inside = *pointer;
		if (step->jumps_anywhere || (!step->is_jump && step->does != CODE_CALLS) ||
			is_inside(steps, step->target))
			continue;
		if (!goes_to(asking, call, step, callee) &&
			!pass_through(asking, call, step, callee, &inside))
			continue;
		if (has_good_name(asking) || !pass_step(asking, call, steps, i, &inside) ||
			(found.count > 0 && !is_same_pointer(&found, &inside)))
			return false;
		found = inside;
	}
	if (found.count > 0)
		*pointer = found;
	return found.count > 0;
}

/* What a function is given that is on the stack, when its code does not tell where that comes from. */
static bool guess_argument(const struct passed_call *call, struct pointer *ret)
{
	int number = pointee_lock_argument(&call->file, call->site - 1);
	if (number < 0 || number >= (int)sizeof argument_registers)
		return false;
	*ret = (struct pointer){ .base = argument_registers[number], .count = 1 };
	return true;
}

/* Through one function of the stack, from its call to `callee`. Otherwise as pass_step(). */
static bool pass_call(struct asking *asking, const struct passed_call *call, uint64_t callee,
	struct pointer *pointer)
{
	AUTO(code_steps) struct code_steps *steps = NULL;
	size_t at;
	const struct code_step *step = find_call(call, &steps, &at);
	if (!step)
		return false;
	if (!goes_to(asking, call, step, callee) &&
		!pass_through(asking, call, step, callee, pointer))
		return false;
	return pass_step(asking, call, steps, at, pointer) ||
	       (!asking->name && guess_argument(call, pointer));
}

char *passed_name(const struct passed_call *calls, size_t count, const char *const *functions)
{
	struct asking asking = { .functions = functions };
	struct pointer pointer = { .base = CODE_RDI, .count = 1 };
	uint64_t callee = LOCKS;
	for (size_t i = 0; i < count; i++) {
		const struct passed_call *call = &calls[i];
		if (!pass_call(&asking, call, callee, &pointer) || has_good_name(&asking))
			break;
		bool stays = i + 1 < count && calls[i + 1].file.module == call->file.module;
		callee = ELSEWHERE;
		if (stays)
			callee = function_table_find(call->functions, call->site - 1 - call->bias) +
				 call->bias;
	}
	return asking.name;
}
