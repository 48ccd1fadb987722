/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/refsim/core.h"

#include "bench/refsim/fetch.h"

#include <errno.h>
#include <stdlib.h>

enum {
	SOURCES = 8, /* micro-operations that one waits for */
	REGISTERS = 64,
	WORD_BITS = 3, /* a load gets what a store to the same 8 bytes has */
	RING_MAX = 4096,
};

#define NEVER UINT64_MAX

enum kind { KIND_OPERATION, KIND_LOAD, KIND_STORE, KIND_ALONE }; /* ALONE: when it is the oldest */

/* A micro-operation in the reorder buffer. */
struct entry {
	uint64_t sources[SOURCES]; /* numbers of micro-operations */
	uint64_t ready; /* cycle of its result; NEVER: not issued */
	uint64_t not_before; /* cycle: what it waits for is not there earlier */
	uint64_t address;
	uint32_t code;
	uint8_t kind, source_count, class;
	uint8_t level; /* that a load came from */
	bool is_mispredicted, is_load_too; /* is_load_too: an atomic operation */
	bool is_asked; /* its line is on its way */
	uint64_t line_ready;
};

struct store {
	uint64_t number; /* of its micro-operation */
	uint64_t drained; /* cycle at which it has left; NEVER: not retired */
	uint64_t word;
};

struct refcore {
	const struct processor *processor;
	struct refmemory *memory;
	struct reffetch *fetch;
	uint32_t number;
	struct refcore_predictor predictor;

	uint64_t clock;
	/* A cycle in which the instructions ran out before the width did: dispatch goes on in it. */
	bool is_open, has_happened; /* has_happened: anything, in it */
	uint32_t width_left;
	enum refcore_part part; /* why nothing retired in it, or base */
	struct entry *ring; /* of micro-operations `oldest` .. `next` - 1 */
	uint32_t ring_mask;
	uint64_t oldest, next;
	uint64_t writers[REGISTERS]; /* number of the last to write it, plus one; 0: long ago */
	uint64_t *waiting; /* issue queue: numbers, oldest first */
	uint32_t waiting_count;
	uint32_t loads; /* in the load queue */
	struct store *stores;
	uint32_t store_first, store_count;
	uint64_t last_drained;

	uint64_t port_free[PROCESSOR_PORTS_MAX];
	uint64_t unit_free[CODE_CLASSES][PROCESSOR_PORTS_MAX];

	uint64_t jump; /* number of an indirect jump whose target is not known yet, plus one */
	uint64_t jump_address, address_after; /* of the last instruction */
	uint64_t blocked_by; /* number of the mispredicted branch that fetch waits for, plus one */
	uint64_t fetch_from; /* cycle */
	enum refcore_part fetch_part; /* why it waits until then */
	struct refcore_counts counts;
};

int refcore_new(const struct processor *processor, struct refmemory *memory, uint32_t number,
	struct refcore_predictor predictor, struct refcore **ret, struct err *err)
{
	if (processor->dispatch_width == 0 || processor->retire_width == 0 || processor->rob == 0 ||
		processor->issue_queue == 0 || processor->load_queue == 0 ||
		processor->store_queue == 0 || processor->rob >= RING_MAX / 2)
		return err_set(err, -EINVAL, "a core needs widths and queues above 0");
	AUTO(refcore) struct refcore *core = calloc(1, sizeof(*core));
	if (!core)
		return err_set(err, -ENOMEM, "out of memory");
	*core = (struct refcore){ .processor = processor,
		.memory = memory,
		.number = number,
		.predictor = predictor,
		.ring_mask = RING_MAX - 1 };
	core->ring = calloc(RING_MAX, sizeof(*core->ring));
	core->waiting = calloc(processor->issue_queue, sizeof(*core->waiting));
	core->stores = calloc(processor->store_queue, sizeof(*core->stores));
	core->fetch = reffetch_new(processor, memory, number);
	if (!core->ring || !core->waiting || !core->stores || !core->fetch)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE(core);
	return 0;
}

void refcore_free(struct refcore *core)
{
	if (!core)
		return;
	free(core->ring);
	free(core->waiting);
	free(core->stores);
	reffetch_free(core->fetch);
	free(core);
}

uint64_t refcore_clock(const struct refcore *core)
{
	return core->clock;
}

static struct entry *entry_at(const struct refcore *core, uint64_t number)
{
	return &core->ring[number & core->ring_mask];
}

static struct store *store_at(const struct refcore *core, uint32_t n)
{
	return &core->stores[(core->store_first + n) % core->processor->store_queue];
}

static bool is_done(const struct refcore *core, uint64_t number)
{
	return number < core->oldest || entry_at(core, number)->ready <= core->clock;
}

/* Retire */

/* False if its line has to be asked for again. */
static bool retire_store(struct refcore *core, const struct entry *entry, uint64_t number)
{
	for (uint32_t i = 0; i < core->store_count; i++) {
		struct store *store = store_at(core, i);
		if (store->number != number)
			continue;
		struct refmemory_answer answer = refmemory_access(core->memory, core->number,
			entry->address, REFCACHE_WRITE, REFMEMORY_NONE, core->clock);
		if (answer.is_refused)
			return false;
		store->drained =
			answer.ready > core->last_drained ? answer.ready : core->last_drained + 1;
		core->last_drained = store->drained;
		return true;
	}
	return true;
}

static uint32_t retire(struct refcore *core)
{
	uint32_t count = 0;
	while (count < core->processor->retire_width && core->oldest < core->next) {
		struct entry *entry = entry_at(core, core->oldest);
		if (entry->ready > core->clock)
			break;
		if (entry->kind == KIND_STORE && !retire_store(core, entry, core->oldest))
			break;
		core->loads -= entry->kind == KIND_LOAD;
		core->oldest++;
		count++;
	}
	while (core->store_count > 0 && store_at(core, 0)->drained <= core->clock) {
		core->store_first = (core->store_first + 1) % core->processor->store_queue;
		core->store_count--;
	}
	return count;
}

/* Why nothing retires now. */
static enum refcore_part blame(const struct refcore *core)
{
	if (core->oldest == core->next)
		return core->fetch_part;
	const struct entry *entry = entry_at(core, core->oldest);
	bool is_load = entry->kind == KIND_LOAD || entry->is_load_too;
	if (!is_load || entry->ready == NEVER || entry->level == 0)
		return REFCORE_BASE;
	if (entry->level == core->processor->level_count)
		return REFCORE_MEMORY;
	return entry->level + 1u == core->processor->level_count ? REFCORE_LLC : REFCORE_L2;
}

/* Issue */

static int free_port(const struct refcore *core, uint32_t mask, uint32_t class)
{
	for (uint32_t port = 0; port < PROCESSOR_PORTS_MAX; port++)
		if ((mask >> port & 1) && core->port_free[port] <= core->clock &&
			(class >= CODE_CLASSES || core->unit_free[class][port] <= core->clock))
			return (int)port;
	return -1;
}

/* The youngest older store to the same word; NULL: none. */
static const struct store *older_store(
	const struct refcore *core, uint64_t number, uint64_t address)
{
	for (uint32_t i = core->store_count; i-- > 0;) {
		const struct store *store = store_at(core, i);
		if (store->number < number && store->word == address >> WORD_BITS)
			return store;
	}
	return NULL;
}

static bool issue_load(struct refcore *core, struct entry *entry, uint64_t number)
{
	const struct cache *first = &core->processor->levels[0];
	const struct store *store = older_store(core, number, entry->address);
	if (store && store->drained > core->clock) {
		if (!is_done(core, store->number))
			return false; /* its data is not there yet */
		uint32_t forward = core->processor->store_forward;
		entry->ready = core->clock + (forward > 0 ? forward : first->latency);
		entry->level = 0;
		return true;
	}
	struct refmemory_answer answer = refmemory_access(core->memory, core->number,
		entry->address, REFCACHE_READ, entry->code, core->clock);
	if (answer.is_refused)
		return false;
	entry->ready = answer.ready;
	entry->level = (uint8_t)answer.level;
	return true;
}

static bool issue_alone(struct refcore *core, struct entry *entry, uint64_t number)
{
	bool has_lost = entry->is_asked && number == core->oldest &&
			entry->line_ready <= core->clock &&
			refmemory_has_lost(core->memory, core->number, entry->address);
	if (entry->is_load_too && (!entry->is_asked || has_lost)) {
		struct refmemory_answer answer = refmemory_access(core->memory, core->number,
			entry->address, REFCACHE_WRITE, REFMEMORY_NONE, core->clock);
		if (answer.is_refused)
			return false;
		entry->is_asked = true;
		entry->level = (uint8_t)answer.level;
		entry->line_ready = answer.ready;
	}
	bool has_older_store = core->store_count > 0 && store_at(core, 0)->number < number;
	if (number != core->oldest || has_older_store)
		return false;
	uint64_t start = entry->line_ready > core->clock ? entry->line_ready : core->clock;
	entry->ready = start + core->processor->units[entry->class].latency;
	return true;
}

static bool issue_one(struct refcore *core, uint64_t number)
{
	struct entry *entry = entry_at(core, number);
	if (entry->not_before > core->clock)
		return false;
	for (uint32_t i = 0; i < entry->source_count; i++)
		if (!is_done(core, entry->sources[i])) {
			uint64_t ready = entry_at(core, entry->sources[i])->ready;
			entry->not_before = ready != NEVER ? ready : core->clock + 1;
			return false;
		}
	const struct processor *processor = core->processor;
	uint32_t mask = entry->kind == KIND_LOAD    ? processor->load_ports
			: entry->kind == KIND_STORE ? processor->store_ports
						    : processor->units[entry->class].ports;
	uint32_t class = entry->kind == KIND_OPERATION ? entry->class : CODE_CLASSES;
	int port = free_port(core, mask, class);
	bool is_renamed = entry->kind == KIND_OPERATION && processor->units[class].latency == 0;
	if (port < 0 && entry->kind != KIND_ALONE && !is_renamed)
		return false;
	if (is_renamed)
		port = -1;
	switch ((enum kind)entry->kind) {
	case KIND_LOAD:
		if (!issue_load(core, entry, number))
			return false;
		break;
	case KIND_ALONE:
		if (!issue_alone(core, entry, number))
			return false;
		break;
	case KIND_STORE:
		entry->ready = core->clock + 1;
		break;
	case KIND_OPERATION:
		entry->ready = core->clock + processor->units[class].latency;
		break;
	}
	if (port >= 0) {
		core->port_free[port] = core->clock + 1;
		if (class < CODE_CLASSES)
			core->unit_free[class][port] =
				core->clock + processor->units[class].interval;
	}
	if (entry->is_mispredicted && core->blocked_by == number + 1) {
		core->fetch_from = entry->ready + processor->front_end;
		core->fetch_part = REFCORE_BRANCH;
		core->blocked_by = 0;
	}
	return true;
}

static uint32_t issue(struct refcore *core)
{
	uint32_t kept = 0, issued = 0;
	bool is_held = false; /* a fence that waits holds back what comes after it */
	for (uint32_t i = 0; i < core->waiting_count; i++) {
		uint64_t number = core->waiting[i];
		bool has_gone = !is_held && issue_one(core, number);
		issued += has_gone;
		const struct entry *entry = entry_at(core, number);
		is_held |= !has_gone && entry->kind == KIND_ALONE && !entry->is_load_too;
		if (!has_gone)
			core->waiting[kept++] = number;
	}
	core->waiting_count = kept;
	return issued;
}

/* Fetch and dispatch */

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
		.class = code->class };
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
	*store_at(core, core->store_count++) =
		(struct store){ number, NEVER, op->address >> WORD_BITS };
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
	uint64_t writer = last != NEVER ? last : core->next - 1;
	for (uint32_t i = 0; i < REGISTERS && code->writes >> i; i++)
		if (code->writes >> i & 1)
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
	core->fetch_from = entry->ready + core->processor->front_end;
	core->fetch_part = REFCORE_BRANCH;
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

static size_t dispatch(
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

/* The clock */

/* The next cycle at which a unit that is not pipelined takes another operation. */
static uint64_t next_free_unit(const struct refcore *core)
{
	uint64_t next = NEVER;
	for (uint32_t class = 0; class < CODE_CLASSES; class ++)
		for (uint32_t port = 0;
			core->processor->units[class].interval > 1 && port < PROCESSOR_PORTS_MAX;
			port++)
			if (core->unit_free[class][port] > core->clock &&
				core->unit_free[class][port] < next)
				next = core->unit_free[class][port];
	return next;
}

/* The next cycle at which something can happen, when nothing did in this one. */
static uint64_t next_event(const struct refcore *core)
{
	uint64_t next = core->waiting_count > 0 ? next_free_unit(core) : NEVER;
	for (uint64_t number = core->oldest; number < core->next; number++) {
		uint64_t ready = entry_at(core, number)->ready;
		if (ready > core->clock && ready < next)
			next = ready;
	}
	if (core->store_count > 0 && store_at(core, 0)->drained > core->clock &&
		store_at(core, 0)->drained < next)
		next = store_at(core, 0)->drained;
	if (core->blocked_by == 0 && core->fetch_from > core->clock && core->fetch_from < next)
		next = core->fetch_from;
	return next == NEVER ? core->clock + 1 : next;
}

static void begin_cycle(struct refcore *core)
{
	enum refcore_part part = blame(core);
	uint32_t retired = retire(core);
	uint32_t issued = issue(core);
	core->is_open = true;
	core->has_happened = retired > 0 || issued > 0;
	core->part = retired > 0 ? REFCORE_BASE : part;
	core->width_left = core->processor->dispatch_width;
}

/* The next cycle, or the next in which something can happen. */
static void end_cycle(struct refcore *core)
{
	uint64_t next = core->has_happened ? core->clock + 1 : next_event(core);
	core->is_open = false;
	core->counts.parts[core->part] += next - core->clock;
	core->counts.cycles += next - core->clock;
	core->clock = next;
}

size_t refcore_run(struct refcore *core, const struct code *codes, const struct micro_op *ops,
	size_t count, uint64_t until)
{
	size_t done = 0;
	while (done < count && (core->is_open || core->clock < until)) {
		if (!core->is_open)
			begin_cycle(core);
		size_t dispatched = dispatch(core, codes, ops + done, count - done);
		core->has_happened |= dispatched > 0;
		done += dispatched;
		if (done < count || core->width_left == 0)
			end_cycle(core);
	}
	return done;
}

void refcore_drain(struct refcore *core)
{
	if (core->is_open)
		end_cycle(core);
	while (core->oldest < core->next || core->store_count > 0) {
		begin_cycle(core);
		end_cycle(core);
	}
}

void refcore_advance(struct refcore *core, uint64_t cycle)
{
	if (cycle <= core->clock)
		return;
	refcore_drain(core);
	if (cycle > core->clock)
		core->clock = cycle;
}

struct refcore_counts refcore_counts(const struct refcore *core)
{
	return core->counts;
}
