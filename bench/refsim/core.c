/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reference simulator's core: its clock, and what leaves it. */
#include "bench/refsim/core_parts.h"

#include <errno.h>
#include <stdlib.h>

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
	*core = (struct refcore){
		.processor = processor, .memory = memory, .number = number, .predictor = predictor
	};
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
	uint32_t issued = refcore_issue(core);
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
		size_t dispatched = refcore_dispatch(core, codes, ops + done, count - done);
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
