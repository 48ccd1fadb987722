/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reference simulator's core, back end: which micro-operations begin to execute in a cycle. */
#include "bench/refsim/core_parts.h"

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
	uint32_t longer = entry->is_vector ? core->processor->vector_load : 0;
	const struct store *store = older_store(core, number, entry->address);
	if (store && store->drained > core->clock) {
		if (!is_done(core, store->number))
			return false; /* its data is not there yet */
		uint32_t forward = core->processor->store_forward;
		unsigned renaming = code_renaming_of_both(store->renaming, entry->renaming);
		if (renaming > 0 && renaming <= core->processor->renames_memory)
			entry->ready = core->clock;
		else
			entry->ready =
				core->clock + (forward > 0 ? forward : first->latency) + longer;
		entry->level = 0;
		return true;
	}
	struct refmemory_answer answer = refmemory_access(core->memory, core->number,
		entry->address, REFCACHE_READ, entry->code, core->clock);
	if (answer.is_refused)
		return false;
	entry->ready = answer.ready + longer;
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

static uint32_t ports_of(const struct processor *processor, const struct entry *entry)
{
	if (entry->kind == KIND_LOAD)
		return entry->is_vector && processor->vector_load_ports
			       ? processor->vector_load_ports
			       : processor->load_ports;
	if (entry->kind == KIND_STORE)
		return entry->is_vector && processor->vector_store_ports
			       ? processor->vector_store_ports
			       : processor->store_ports;
	return processor->units[entry->class].ports;
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
	uint32_t mask = ports_of(processor, entry);
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
		fetch_anew(core, entry->ready);
		core->blocked_by = 0;
	}
	return true;
}

uint32_t refcore_issue(struct refcore *core)
{
	uint32_t kept = 0, issued = 0;
	bool is_held =
		false; /* a fence that waits holds back what comes after it; in order everything does */
	for (uint32_t i = 0; i < core->waiting_count; i++) {
		uint64_t number = core->waiting[i];
		bool has_gone = !is_held && issue_one(core, number);
		issued += has_gone;
		const struct entry *entry = entry_at(core, number);
		is_held |= !has_gone && (core->processor->in_order ||
						(entry->kind == KIND_ALONE && !entry->is_load_too));
		if (!has_gone)
			core->waiting[kept++] = number;
	}
	core->waiting_count = kept;
	return issued;
}
