/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The window: each micro-operation in program order is dispatched, finds its operands' times, its port and its line,
 * and commits. The traces of a class run one behind the other without the window being emptied, after the
 * last one, so that what is counted is a steady state. All of that one, whatever the window: what fills just the window leaves
 * chains and streams where their length happens to be, and then a larger window can take longer.
 */
#include "base/mem.h"
#include "uarch/core_detours.h"
#include "uarch/core_front.h"
#include "uarch/core_memory.h"
#include "uarch/core_ports.h"
#include "uarch/core_queue.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct core {
	struct processor processor;
	struct core_memory memory;
	struct core_front front;
	struct core_ports ports;
	struct queue window, loads, stores, files[CORE_FILES]; /* a file of size 0: no limit */
	int64_t *done;
	int64_t *left; /* of stores, like done[]: when they have gone to the first level */
	/* Like done[]: when one whose operands were there as it was dispatched would be done if no port were taken; else 0. */
	int64_t *foreseen;
	size_t done_capacity, left_capacity, foreseen_capacity;
	int64_t registers[CORE_REGISTERS], left_registers[CORE_REGISTERS];
	int64_t issued_at; /* the youngest that has issued, where that is in order */
	int64_t dispatch_at, commit_at, drained_at, accesses_after;
	uint32_t dispatched, committed; /* in these cycles */
	uint64_t uops; /* dispatched since the start */
	uint32_t drained_line; /* of the last store, in its trace */
	bool stores_in_pairs, is_pair;
	int64_t forward_latency; /* of a load that a store gives its data to */
	uint32_t slots[CORE_UNITS]; /* of what is dispatched and committed in a cycle */
	uint32_t sooner[CORE_UNITS]; /* cycles, of a result for another operation of the class */
	int64_t blocked_latency; /* of one that a store has some of its bytes, from when that has left */
	enum core_component drain_reason;
	int64_t stack[CORE_COMPONENTS];
	double mispredicted; /* of the branches played */
	double jumps_mispredicted; /* of the indirect ones that are no returns */
	const struct core_detour *detour; /* of the next branch or indirect jump */
	struct core_astrays astrays;
	int64_t asks_at; /* when a detour issued the micro-operation at hand; INT64_MAX: none did */
	int64_t came_at; /* what a load asked for then */
	double stretches_each, stretch_debt; /* that end, per instruction */
};

int core_new(const struct processor *processor, struct core **ret)
{
	if (processor->dispatch_width == 0 || processor->retire_width == 0 || processor->rob == 0 ||
		processor->issue_queue == 0 || processor->load_queue == 0 ||
		processor->store_queue == 0 || processor->level_count == 0 ||
		processor->level_count > PROCESSOR_LEVELS_MAX)
		return -EINVAL;
	AUTO(core) struct core *core = calloc(1, sizeof(*core));
	if (!core)
		return -ENOMEM;
	core->processor = *processor;
	core->astrays.width = processor->dispatch_width;
	core_memory_init(&core->memory, &core->processor);
	core->forward_latency =
		processor->store_forward > 0 ? processor->store_forward : core->memory.hit_latency;
	core->blocked_latency =
		processor->store_blocked > 0 ? processor->store_blocked : core->memory.hit_latency;
	for (unsigned i = 0; i < CORE_UNITS; i++)
		core->slots[i] = 1;
	for (unsigned i = 0; i < CODE_CLASSES; i++) {
		const struct unit *unit = &processor->units[i];
		if (unit->chained > 0)
			core->sooner[i] = unit->latency - unit->chained;
		if (unit->slots > 0)
			core->slots[i] = unit->slots;
	}
	core->slots[CORE_CROSSINGS] = processor->crossings;
	core->stores_in_pairs = __builtin_popcount(processor->store_ports) > 1;
	if (queue_init(&core->window, processor->rob) != 0 ||
		queue_init(&core->loads, processor->load_queue) != 0 ||
		queue_init(&core->stores, processor->store_queue) != 0 ||
		queue_init(&core->files[CORE_GENERAL_FILE], processor->registers) != 0 ||
		queue_init(&core->files[CORE_VECTOR_FILE], processor->vector_registers) != 0)
		return -ENOMEM;
	*ret = TAKE(core);
	return 0;
}

void core_free(struct core *core)
{
	if (!core)
		return;
	core_memory_release(&core->memory);
	queue_release(&core->window);
	queue_release(&core->loads);
	queue_release(&core->stores);
	for (unsigned i = 0; i < CORE_FILES; i++)
		queue_release(&core->files[i]);
	core_astrays_release(&core->astrays);
	free(core->done);
	free(core->left);
	free(core->foreseen);
	free(core);
}

/* Where the result goes; NULL: anywhere. What is done at renaming takes no register. */
static struct queue *file_of(struct core *core, const struct core_uop *uop)
{
	struct queue *file = &core->files[uop->file];
	bool is_renamed = uop->unit == CODE_MOVE && core->processor.units[CODE_MOVE].latency == 0;
	return file->size > 0 && !is_renamed ? file : NULL;
}

/* In order, as soon as there is a place in all queues that it goes through. */
static int64_t dispatch(struct core *core, const struct core_uop *uop, unsigned unit,
	uint32_t places, enum core_component *ret_reason)
{
	int64_t at = core->dispatch_at;
	*ret_reason = CORE_BASE;
	if (core->front.ready > at) {
		at = core->front.ready;
		*ret_reason = core->front.reason;
	}
	if (places > 0 && core->window.free_at[core->window.next] > at)
		at = core->window.free_at[core->window.next];
	if (uop->flags & CORE_LOAD && core->loads.free_at[core->loads.next] > at)
		at = core->loads.free_at[core->loads.next];
	const struct queue *file = file_of(core, uop);
	if (file && file->free_at[file->next] > at)
		at = file->free_at[file->next];
	if (uop->flags & CORE_STORE && core->stores.free_at[core->stores.next] > at) {
		at = core->stores.free_at[core->stores.next];
		*ret_reason = core->stores.component[core->stores.next];
	}
	if (at == core->dispatch_at && core->dispatched > 0 && places > 0 &&
		core->dispatched + places > core->processor.dispatch_width)
		at++;
	core_ports_advance(&core->ports, at);
	while (!core_ports_have_room(&core->ports, unit))
		core_ports_advance(&core->ports, ++at);
	if (at > core->dispatch_at)
		core->dispatched = 0;
	core->dispatched += places;
	core->uops += places;
	core->dispatch_at = at;
	return at;
}

/* `first`: of the trace. Operations of one class may get results of one another sooner than others do. */
static int64_t operands_ready(const struct core *core, const struct core_uop *first,
	const struct core_uop *uop, const uint16_t *operands, int64_t ready)
{
	int64_t sooner = core->sooner[uop->unit];
	for (unsigned i = 0; i < uop->operand_count; i++) {
		uint16_t operand = operands[i];
		int64_t done = core->done[operand];
		if (sooner > 0 && operand >= CORE_REGISTERS &&
			first[operand - CORE_REGISTERS].unit == uop->unit)
			done -= sooner;
		ready = done > ready ? done : ready;
	}
	return ready;
}

/*
 * Behind all that is older, drained stores included; but the line is asked for as soon as the address is known: a Xeon of
 * 2024 does independent atomic additions to lines of its third level, 50 ns away, in 6 to 30 ns each. Younger loads come
 * behind a fence, but not behind an atomic operation: cores read ahead of those and take it back if another core has
 * written in between. A line that others would take again before is asked for when all that is older is done.
 */
static int64_t execute_serial(struct core *core, const struct core_uop *uop,
	const struct core_access *access, int64_t ready, enum core_component *ret_component)
{
	enum core_component component = CORE_BASE;
	enum core_component translation = CORE_BASE;
	int64_t asked = core->asks_at < ready ? core->asks_at : ready, line = 0;
	if (access)
		asked = core_memory_translate(&core->memory, access, asked, &translation);
	if (core->commit_at > ready)
		ready = core->commit_at;
	if (core->drained_at > ready) {
		ready = core->drained_at;
		*ret_component = core->drain_reason;
	}
	if (access && core_memory_is_taken(&core->memory, access, asked, ready))
		asked = ready;
	if (access)
		line = core_memory_access(&core->memory, access, true, asked, &component);
	int64_t longer = 0;
	if (component != CORE_BASE && uop->unit == CODE_ATOMIC)
		longer = core->processor.locked_miss;
	if (component == CORE_BASE)
		component = translation;
	bool waits = component != CORE_BASE && line > ready;
	if (waits)
		ready = line;
	if (waits || longer > 0)
		*ret_component = component;
	int64_t done = ready + core->processor.units[uop->unit].latency + longer;
	if (uop->unit != CODE_ATOMIC)
		core->accesses_after = done;
	if (uop->unit == CODE_SYSTEM)
		core_front_hold(&core->front, done, CORE_BASE);
	return done;
}

/* When the last of the stores that a load waits for has gone to the first level: until then its queue has the data. */
static int64_t stores_left(const struct core *core, const uint16_t *operands, unsigned count)
{
	int64_t left = 0;
	for (unsigned i = 0; i < count; i++)
		left = core->left[operands[i]] > left ? core->left[operands[i]] : left;
	return left;
}

/* When a load knows its address, which may be long before a store has its data. */
static int64_t address_ready(const struct core *core, const uint16_t *operands, unsigned count)
{
	int64_t ready = core->dispatch_at + 1;
	for (unsigned i = 0; i < count; i++)
		if (core->left[operands[i]] == 0 && core->done[operands[i]] > ready)
			ready = core->done[operands[i]];
	return ready;
}

/* Of a load whose data a queue of stores has at `at`. No line is asked for, but where it waits for that all the same. */
static int64_t forward(struct core *core, const struct core_uop *uop, const uint16_t *operands,
	const struct core_access *access, int64_t at, enum core_component *ret_component)
{
	bool is_renamed =
		access->renaming > 0 && access->renaming <= core->processor.renames_memory;
	if (core->processor.forward_waits && !is_renamed && !access->is_blocked) {
		int64_t asks = address_ready(core, operands, uop->operand_count);
		int64_t line =
			core_memory_access(&core->memory, access, false, asks, ret_component);
		return line > at + core->forward_latency ? line : at + core->forward_latency;
	}
	at = core_memory_skip(&core->memory, access, at);
	if (access->is_blocked)
		return stores_left(core, operands, uop->operand_count) + core->blocked_latency;
	return is_renamed ? at : at + core->forward_latency;
}

/* When a load has its data that issues at `at`; its line may have been asked for on a detour, or before. */
static int64_t load(struct core *core, const struct core_access *access, int64_t at,
	enum core_component *ret_component)
{
	enum core_component line = CORE_BASE;
	int64_t asks =
		core_memory_asked(&core->memory, access, core->asks_at < at ? core->asks_at : at);
	int64_t translated = core_memory_translate(&core->memory, access, asks, ret_component);
	int64_t done = core_memory_access(&core->memory, access, false, translated, &line);
	if (line != CORE_BASE && done - translated > translated - asks)
		*ret_component = line;
	core->came_at = done;
	int64_t hit = at + core->memory.hit_latency;
	if (done > hit)
		return done;
	if (asks < at)
		*ret_component = CORE_BASE;
	return hit;
}

/* Behind fences, and where memory is renamed by distance behind the store that it is expected to need. */
static int64_t load_may_issue(
	const struct core *core, const struct core_access *access, int64_t ready)
{
	if (core->accesses_after > ready)
		ready = core->accesses_after;
	if (access->expected && core->processor.renames_memory > 1 &&
		core->done[access->expected] > ready)
		ready = core->done[access->expected];
	return ready;
}

/* From the issue of what accesses no memory to its result. */
static int64_t result_latency(const struct core *core, const struct core_uop *uop, unsigned unit)
{
	unsigned does = unit == CORE_COMPARES ? uop->pair_unit : unit;
	return does == CODE_NOP || does == CORE_CROSSINGS ? 0 : core->processor.units[does].latency;
}

static int64_t execute(struct core *core, const struct core_uop *uop, const uint16_t *operands,
	unsigned unit, const struct core_access *access, int64_t ready,
	enum core_component *ret_component)
{
	*ret_component = CORE_BASE;
	if (core->processor.in_order && core->issued_at > ready)
		ready = core->issued_at;
	if (uop->flags & CORE_SERIAL) {
		int64_t done = execute_serial(core, uop, access, ready, ret_component);
		core->issued_at = done - core->processor.units[uop->unit].latency;
		return done;
	}
	if (uop->flags & CORE_LOAD)
		ready = load_may_issue(core, access, ready);
	int64_t at = core_ports_book(&core->ports, unit, ready);
	if (unit == CORE_STORES && core->processor.store_data)
		core_ports_book_beside(&core->ports, CODE_ALU, ready);
	int64_t longer = unit == CORE_VECTOR_LOADS ? core->processor.vector_load
			 : uop->is_scaled          ? core->processor.scaled_load
						   : 0;
	core->issued_at = at;
	if (uop->unit == CODE_ALU && !(uop->flags & CORE_PAIRED) && uop->is_prefetch)
		core_memory_prefetch(&core->memory, at);
	if (uop->flags & CORE_LOAD && access->is_stored &&
		stores_left(core, operands, uop->operand_count) > at)
		return forward(core, uop, operands, access, at, ret_component) + longer;
	if (uop->flags & CORE_LOAD)
		return load(core, access, at, ret_component) + longer;
	int64_t translated = at;
	if (uop->flags & CORE_STORE)
		translated = core_memory_translate(&core->memory, access, at, ret_component);
	if (uop->flags & CORE_STORE)
		return translated;
	return at + result_latency(core, uop, unit);
}

/*
 * In order. The cycles since the last commit are put down to what kept this one from being dispatched, then to what it
 * waited for: its operands are older and have committed.
 */
static int64_t commit(struct core *core, int64_t dispatched, enum core_component reason,
	int64_t done, enum core_component component, uint32_t places)
{
	int64_t from = core->commit_at, at = done > from ? done : from;
	if (at == from && core->committed > 0 && places > 0 &&
		core->committed + places > core->processor.retire_width)
		at++;
	if (at > from)
		core->committed = 0;
	core->committed += places;
	core->commit_at = at;
	int64_t held = dispatched + 1 < at ? dispatched + 1 : at;
	if (reason != CORE_BASE && held > from) {
		core->stack[reason] += held - from;
		from = held;
	}
	core->stack[component] += at - from;
	return at;
}

/* After commit stores go to the first level in order, one in a cycle, or two where two ports store: to one line, or any. */
static int64_t drain(struct core *core, const struct core_access *access, int64_t committed)
{
	enum core_component component = CORE_BASE;
	int64_t line = core_memory_access(&core->memory, access, true, committed, &component);
	bool is_beside = core->processor.store_lines > 1 || access->line == core->drained_line;
	bool joins = core->stores_in_pairs && !core->is_pair && is_beside;
	int64_t next = core->drained_at + !joins;
	int64_t at = committed + 1 > next ? committed + 1 : next;
	if (component != CORE_BASE && line > at)
		at = line;
	else
		component = CORE_BASE;
	core->is_pair = joins && at == core->drained_at;
	core->drained_line = access->line;
	if (component != CORE_BASE || at > core->drained_at + 1)
		core->drain_reason = component;
	core->drained_at = at;
	queue_push(&core->stores, at, core->drain_reason);
	return at;
}

/* A micro-operation's place in the queues, after it has committed. *ret_left: when a store has gone. */
static void leave(struct core *core, const struct core_uop *uop, const struct core_access *access,
	bool takes_place, int64_t committed, int64_t *ret_left)
{
	struct queue *window = &core->window;
	if (takes_place)
		queue_push(window, committed, CORE_BASE);
	else
		window->free_at[window->next ? window->next - 1 : window->size - 1] = committed;
	if (uop->flags & CORE_LOAD)
		queue_push(&core->loads, committed, CORE_BASE);
	struct queue *file = file_of(core, uop);
	if (file)
		queue_push(file, committed, CORE_BASE);
	*ret_left = uop->flags & CORE_STORE ? drain(core, access, committed) : 0;
}

/* When the result of the micro-operation at hand was there on a detour that issued it. */
static int64_t early_result(const struct core *core, const struct core_uop *uop,
	const struct core_access *access, unsigned unit, int64_t issued)
{
	int64_t hit = issued + core->memory.hit_latency;
	if (uop->flags & CORE_LOAD && access->is_stored)
		return issued + core->forward_latency;
	if (uop->flags & CORE_LOAD)
		return core->came_at > hit ? core->came_at : hit;
	return uop->flags & CORE_STORE ? issued : issued + result_latency(core, uop, unit);
}

static void note_astray(struct core *core, const struct core_uop *uop,
	const struct core_access *access, unsigned unit, size_t index)
{
	for (unsigned i = 0; i < CORE_ASTRAYS; i++) {
		struct core_astray *astray = &core->astrays.list[i];
		int64_t early = INT64_MAX;
		if (!astray->is_on)
			continue;
		if (astray->issued < INT64_MAX && !(uop->flags & CORE_SERIAL))
			early = early_result(core, uop, access, unit, astray->issued);
		astray->early[index] = early;
	}
}

/* Started by when its operands were foreseen: where ports were taken and those come later, it takes a port in vain. */
static void replay(struct core *core, const struct core_uop *uop, const uint16_t *operands,
	unsigned unit, size_t index, int64_t dispatched, int64_t ready)
{
	bool is_alu = unit < CODE_CLASSES && !(uop->flags & CORE_SERIAL);
	int64_t latency = uop->flags & CORE_LOAD ? core->memory.hit_latency
			  : is_alu               ? core->processor.units[unit].latency
						 : 0;
	core->foreseen[index] = latency > 0 && ready == dispatched + 1 ? ready + latency : 0;
	for (unsigned i = 0; is_alu && i < uop->operand_count; i++) {
		int64_t foreseen = operands[i] < CORE_REGISTERS ? 0 : core->foreseen[operands[i]];
		if (foreseen <= dispatched || core->done[operands[i]] <= foreseen)
			continue;
		core_ports_book_beside(&core->ports, unit, foreseen);
		break;
	}
}

static void play_uop(struct core *core, const struct core_program *program,
	const struct core_uop *uop, size_t index)
{
	enum core_component reason = CORE_BASE, component = CORE_BASE;
	const struct core_access *access =
		uop->flags & (CORE_LOAD | CORE_STORE) ? &program->accesses[uop->access] : NULL;
	bool rides = uop->flags & CORE_RIDES && core->processor.fuses;
	bool is_paired = uop->flags & CORE_PAIRED && core->processor.fuses;
	unsigned unit = !is_paired                      ? uop->unit
			: core->processor.compare_ports ? CORE_COMPARES
							: uop->pair_unit;
	if (uop->flags & CORE_FIRST)
		core_front_fetch(&core->front, core->dispatch_at);
	if (uop->is_next_line)
		core_front_next_line(&core->front, core->dispatch_at);
	uint32_t places = rides ? 0 : core->slots[uop->unit];
	int64_t dispatched = dispatch(core, uop, unit, places, &reason);
	static const uint16_t none[1];
	const uint16_t *operands = uop->operand_count > 0 ? &program->operands[uop->operand] : none;
	const struct core_uop *first = uop - (index - CORE_REGISTERS);
	int64_t ready = operands_ready(core, first, uop, operands, dispatched + 1);
	bool is_executed = !rides || !(uop->flags & CORE_PREDICTED);
	if (is_executed && core->processor.replays)
		replay(core, uop, operands, unit, index, dispatched, ready);
	int64_t done = ready; /* a branch that rides has been executed by its compare */
	uint32_t place = (uint32_t)(index - CORE_REGISTERS);
	core->asks_at = core_astrays_issue(&core->astrays, uop, place, operands, core->done);
	if (is_executed)
		done = execute(core, uop, operands, unit, access, ready, &component);
	core->done[index] = done;
	note_astray(core, uop, access, unit, index);
	int64_t committed = commit(core, dispatched, reason, done, component, places);
	leave(core, uop, access, places > 0, committed, &core->left[index]);
	if (uop->unit == CODE_JUMP)
		core_front_take_branch(&core->front, uop, core->dispatch_at, core->uops);
	/* Microcode comes through the front end by itself. */
	if (code_is_string(uop->unit))
		core_front_hold(&core->front,
			dispatched + core->processor.units[uop->unit].interval, CORE_BASE);
	if (!(uop->flags & (CORE_PREDICTED | CORE_INDIRECT)))
		return;
	const struct core_detour *detour = core->detour++;
	double odds = uop->flags & CORE_PREDICTED ? core->mispredicted : core->jumps_mispredicted;
	if (uop->draw >= odds)
		return;
	core_front_redirect(&core->front, done + core->processor.front_end);
	if (core->processor.detours)
		core_astrays_begin(&core->astrays, detour, place, dispatched, done,
			core->processor.rob - queue_kept(&core->window, dispatched));
}

/*
 * A stretch ends in code that the traces do not have, a lock's, a barrier's or the kernel's: what others are told is told when all that is
 * older is done, and a thread that waited begins with nothing under way. Traces end where stretches do, as often as they have to here.
 */
static void end_stretches(struct core *core, const struct core_trace *trace)
{
	core->stretch_debt += core->stretches_each * trace->instructions;
	if (core->stretch_debt < 1)
		return;
	core->stretch_debt -= floor(core->stretch_debt);
	core_front_hold(&core->front, core->commit_at, CORE_BASE);
}

static void play_trace(
	struct core *core, const struct core_program *program, const struct core_trace *trace)
{
	core_memory_start_trace(&core->memory, trace);
	memcpy(core->done, core->registers, sizeof(core->registers));
	memcpy(core->left, core->left_registers, sizeof(core->left_registers));
	core->detour = program->detours ? &program->detours[trace->detour] : NULL;
	core_astrays_end(&core->astrays);
	for (uint32_t i = 0; i < trace->uop_count; i++)
		play_uop(core, program, &program->uops[trace->uop + i], CORE_REGISTERS + i);
	for (unsigned i = 0; i < CORE_REGISTERS; i++) {
		core->registers[i] = core->done[trace->last_writer[i]];
		core->left_registers[i] = core->left[trace->last_writer[i]];
	}
	end_stretches(core, trace);
}

/* What the class's profile says, or its traces, if they have seen more of them: a few jumps are mostly new ones. */
static double jumps_mispredicted(
	const struct core *core, const struct core_class *class, const struct core_input *input)
{
	enum predictor_kind predictor = core->processor.predictor;
	if (predictor == PREDICTOR_PERFECT)
		return 0;
	return input->jumps_seen > (double)class->jumps_played
		       ? input->jumps_mispredicted
		       : class->jumps_unforeseen[predictor == PREDICTOR_BIMODAL];
}

static int start_class(struct core *core, const struct core_program *program,
	const struct core_class *class, const struct core_input *input)
{
	int rc = core_memory_start(&core->memory, program, class, input);
	const struct {
		int64_t **list;
		size_t *capacity;
	} results[] = { { &core->done, &core->done_capacity },
		{ &core->left, &core->left_capacity },
		{ &core->foreseen, &core->foreseen_capacity } };
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(results); i++)
		rc = mem_grow(results[i].list, results[i].capacity,
			CORE_REGISTERS + program->uops_max, sizeof(**results[i].list));
	if (rc == 0)
		rc = core_astrays_make_room(&core->astrays, CORE_REGISTERS + program->uops_max);
	if (rc != 0)
		return rc;
	core_ports_start(&core->ports, &core->processor, class->units);
	queue_start(&core->window);
	queue_start(&core->loads);
	queue_start(&core->stores);
	for (unsigned i = 0; i < CORE_FILES; i++)
		queue_start(&core->files[i]);
	memset(core->registers, 0, sizeof(core->registers));
	memset(core->left_registers, 0, sizeof(core->left_registers));
	for (unsigned i = 0; i < CORE_COMPONENTS; i++)
		core->stack[i] = 0;
	core->dispatch_at = core->commit_at = core->drained_at = 0;
	core->accesses_after = core->issued_at = 0;
	core->dispatched = core->committed = 0;
	core->uops = 0;
	core->drained_line = CORE_NONE;
	core->is_pair = false;
	core->drain_reason = CORE_BASE;
	core->mispredicted = input->mispredicted;
	if (class->branch_share >= 0 && class->branches_played > 0)
		core->mispredicted *= class->branch_share / class->branches_played;
	core->jumps_mispredicted = jumps_mispredicted(core, class, input);
	bool drains = input->stretch > 0 && !core->processor.overlap;
	core->stretches_each = drains ? 1 / input->stretch : 0;
	core->stretch_debt = 0;
	core_front_start(&core->front, &core->processor, input, &core->memory);
	return 0;
}

static void warm_up(
	struct core *core, const struct core_program *program, const struct core_class *class)
{
	const struct core_trace *last = &program->traces[class->trace + class->trace_count - 1];
	play_trace(core, program, last);
	core->memory.lines_fetched = core->memory.fetch_cycles = core->memory.busy_cycles = 0;
}

int core_play(struct core *core, const struct core_program *program, size_t index,
	const struct core_input *input, struct core_result *ret)
{
	if (core_program_instructions(program, index) == 0)
		return -ENOENT;
	const struct core_class *class = &program->classes[index];
	int rc = start_class(core, program, class, input);
	if (rc != 0)
		return rc;
	warm_up(core, program, class);
	struct core_result result = { .mlp = 1 };
	double instructions = 0;
	for (size_t t = 0; t < class->trace_count; t++) {
		const struct core_trace *trace = &program->traces[class->trace + t];
		double weight = trace->weight / trace->instructions;
		double lines = core->memory.lines_fetched;
		uint64_t uops = core->uops;
		int64_t before[CORE_COMPONENTS];
		for (unsigned i = 0; i < CORE_COMPONENTS; i++)
			before[i] = core->stack[i];
		play_trace(core, program, trace);
		instructions += trace->weight;
		result.uops += weight * (double)(core->uops - uops);
		result.memory_lines += weight * (core->memory.lines_fetched - lines);
		for (unsigned i = 0; i < CORE_COMPONENTS; i++)
			result.stack[i] += weight * (double)(core->stack[i] - before[i]);
	}
	if (instructions <= 0)
		return -ENOENT;
	result.uops /= instructions;
	result.memory_lines /= instructions;
	for (unsigned i = 0; i < CORE_COMPONENTS; i++) {
		result.stack[i] /= instructions;
		result.cpi += result.stack[i];
	}
	if (result.stack[CORE_BASE] > 0)
		result.dispatch_rate = result.uops / result.stack[CORE_BASE];
	if (core->memory.busy_cycles > 0)
		result.mlp = core->memory.fetch_cycles / core->memory.busy_cycles;
	*ret = result;
	return 0;
}
