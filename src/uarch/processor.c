/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/processor.h"

#include "base/mem.h"
#include "uarch/machine_field.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const predictor_names[PREDICTOR_KINDS] = {
	[PREDICTOR_BIMODAL] = "bimodal",
	[PREDICTOR_GSHARE] = "gshare",
	[PREDICTOR_TOURNAMENT] = "tournament",
	[PREDICTOR_TAGE] = "tage",
	[PREDICTOR_PERFECT] = "perfect",
};

const char *const replacement_names[REPLACEMENT_KINDS] = {
	[REPLACEMENT_LRU] = "lru",
	[REPLACEMENT_RANDOM] = "random",
};

const char *const prefetch_names[PREFETCH_KINDS] = {
	[PREFETCH_NONE] = "none",
	[PREFETCH_STRIDE] = "stride",
};

static const char *const level_names[PROCESSOR_LEVELS_MAX] = { "l1", "l2", "l3", "l4" };

void processor_release(struct processor *processor)
{
	free(processor->name);
	free(processor->source);
	*processor = (struct processor){ 0 };
}

double cache_latency_cycles(const struct cache *cache, const struct processor *processor)
{
	return cache->latency_ns > 0 ? cache->latency_ns * processor->frequency_hz / 1e9
				     : cache->latency;
}

void processor_settle(struct processor *processor)
{
	uint32_t *const as_rob[] = { &processor->issue_queue, &processor->load_queue,
		&processor->store_queue };
	for (size_t i = 0; i < ARRAY_SIZE(as_rob); i++)
		*as_rob[i] = *as_rob[i] ? *as_rob[i] : processor->rob;
	if (processor->retire_width == 0)
		processor->retire_width = processor->dispatch_width;
	processor->instruction.shared_by += processor->instruction.shared_by == 0;
	for (uint32_t i = 0; i < PROCESSOR_LEVELS_MAX; i++)
		processor->levels[i].shared_by +=
			processor->levels[i].bytes > 0 && processor->levels[i].shared_by == 0;
	processor->level_count = 0;
	while (processor->level_count < PROCESSOR_LEVELS_MAX &&
		processor->levels[processor->level_count].bytes > 0)
		processor->level_count++;
}

static uint32_t half(uint32_t value)
{
	return value - value / 2; /* what there is stays */
}

static void halve_cache(struct cache *cache)
{
	cache->bytes_per_s /= 2; /* of one core */
	if (cache->shared_by > 1)
		return;
	cache->bytes -= cache->bytes / 2;
	cache->ways = half(cache->ways);
	cache->misses = half(cache->misses);
}

void processor_halve(const struct processor *processor, struct processor *ret)
{
	*ret = *processor;
	uint32_t *const parts[] = { &ret->dispatch_width, &ret->rob, &ret->issue_queue,
		&ret->memory_queue, &ret->vector_queue, &ret->vector_backlog, &ret->port_queue,
		&ret->load_queue, &ret->store_queue, &ret->waiting_loads, &ret->registers,
		&ret->vector_registers, &ret->tlb.entries, &ret->tlb.ways, &ret->tlb.second_entries,
		&ret->tlb.second_ways, &ret->tlb.walks, &ret->targets.entries,
		&ret->targets.second_entries };
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		*parts[i] = half(*parts[i]);
	for (unsigned i = 0; i < CODE_CLASSES; i++)
		if (ret->units[i].interval == 1 && ret->units[i].latency > 0)
			ret->units[i].interval = 2;
	ret->core_bytes_per_s /= 2;
	halve_cache(&ret->instruction);
	for (uint32_t i = 0; i < ret->level_count; i++)
		halve_cache(&ret->levels[i]);
	ret->sibling_busy = 0;
}

static int mismatch(const char **ret_field, const char *field, struct err *err, const char *why)
{
	*ret_field = field;
	return err_set(err, -EINVAL, "%s", why);
}

int processor_check(const struct processor *processor, const char **ret_field, struct err *err)
{
	static const char *const ways[] = { "l1.ways", "l2.ways", "l3.ways", "l4.ways" };
	static const char *const latencies[] = { "l1.latency", "l2.latency", "l3.latency",
		"l4.latency" };
	static const char *const shares[] = { "l1.shared_by", "l2.shared_by", "l3.shared_by",
		"l4.shared_by" };
	uint32_t levels = 0;
	for (uint32_t i = 0; i < PROCESSOR_LEVELS_MAX; i++) {
		const struct cache *cache = &processor->levels[i];
		if (cache->bytes == 0)
			continue;
		if (levels++ != i)
			return mismatch(
				ret_field, level_names[i], err, "the level before it is missing");
		if ((uint64_t)cache->ways * 64 > cache->bytes)
			return mismatch(
				ret_field, ways[i], err, "more ways than lines of 64 bytes");
		if (i > 0 && cache_latency_cycles(cache, processor) <=
				     cache_latency_cycles(&processor->levels[i - 1], processor))
			return mismatch(
				ret_field, latencies[i], err, "faster than the level before it");
		if (i > 0 && cache->shared_by < processor->levels[i - 1].shared_by)
			return mismatch(ret_field, shares[i], err,
				"shared by fewer cores than the level before it");
	}
	const struct tlb *tlb = &processor->tlb;
	if (tlb->ways > tlb->entries)
		return mismatch(ret_field, "tlb.ways", err, "more ways than entries");
	if (tlb->second_ways > tlb->second_entries)
		return mismatch(ret_field, "tlb.second_ways", err, "more ways than entries");
	if (tlb->second_entries > 0 && tlb->second_entries < tlb->entries)
		return mismatch(
			ret_field, "tlb.second_entries", err, "fewer than the level before it has");
	const struct targets *targets = &processor->targets;
	if (targets->second_entries > 0 && targets->second_entries < targets->entries)
		return mismatch(ret_field, "targets.second_entries", err,
			"fewer than the level before it has");
	if (targets->second_entries > 0 && targets->second_delay < targets->delay)
		return mismatch(
			ret_field, "targets.second_delay", err, "faster than the level before it");
	if ((uint64_t)processor->instruction.ways * 64 > processor->instruction.bytes)
		return mismatch(ret_field, "l1i.ways", err, "more ways than lines of 64 bytes");
	if (processor->memory_ns * processor->frequency_hz / 1e9 <=
		cache_latency_cycles(&processor->levels[levels - 1], processor))
		return mismatch(ret_field, "memory.latency", err, "faster than the last cache");
	if (processor->prefetch == PREFETCH_STRIDE && processor->prefetch_distance == 0)
		return mismatch(ret_field, "memory.prefetch_distance", err,
			"a prefetcher needs a distance");
	return 0;
}

/* A text for YAML: quoted, whatever it holds. */
static void write_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, "%s: \"", key);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ' || *text == 0x7f)
			fprintf(out, "\\x%02x", (unsigned char)*text);
		else
			fputc(*text, out);
	}
	fputs("\"\n", out);
}

static void write_ports(FILE *out, uint32_t mask)
{
	const char *comma = "";
	fputc('[', out);
	for (unsigned i = 0; i < PROCESSOR_PORTS_MAX; i++)
		if (mask >> i & 1) {
			fprintf(out, "%s%u", comma, i);
			comma = ", ";
		}
	fputs("]", out);
}

/* Whether a section says anything. */
static bool has_section(const struct processor *processor, const char *name)
{
	for (uint32_t i = 0; i < PROCESSOR_LEVELS_MAX; i++)
		if (strcmp(name, level_names[i]) == 0)
			return i < processor->level_count;
	if (strcmp(name, "tlb") == 0)
		return processor->tlb.entries > 0;
	if (strcmp(name, "targets") == 0)
		return processor->targets.entries > 0;
	return strcmp(name, "power") != 0 || processor->power.voltage_count > 0;
}

static void write_section(const struct processor *processor, const char *name, FILE *out)
{
	const char *indent = *name ? "  " : "";
	char value[MACHINE_VALUE_BYTES];
	const struct machine_field *field;
	if (*name)
		fprintf(out, "%s:\n", name);
	for (size_t i = 0; (field = machine_field(i)); i++) {
		if (strcmp(field->section, name) != 0)
			continue;
		double now = machine_field_get(field, processor);
		if (now == 0 && !field->is_needed)
			continue;
		machine_field_format(field, processor, value);
		fprintf(out, "%s%s: %s\n", indent, field->key, value);
	}
}

static void write_units(const struct processor *processor, FILE *out)
{
	fputs("units:\n", out);
	for (unsigned i = 0; i < CODE_CLASSES; i++) {
		const struct unit *unit = &processor->units[i];
		fprintf(out, "  %s: { latency: %u, ", code_class_name((enum code_class)i),
			unit->latency);
		if (unit->chained > 0)
			fprintf(out, "chained: %u, ", unit->chained);
		if (unit->slots > 0)
			fprintf(out, "slots: %u, ", unit->slots);
		fprintf(out, "interval: %u, ports: ", unit->interval);
		write_ports(out, unit->ports);
		if (unit->blocks > 0) {
			fputs(", blocks: ", out);
			write_ports(out, unit->blocks);
		}
		fputs(" }\n", out);
	}
}

static void write_own_ports(const char *key, uint32_t ports, FILE *out)
{
	if (ports == 0)
		return;
	fprintf(out, "%s: ", key);
	write_ports(out, ports);
	fputs("\n", out);
}

void processor_write(const struct processor *processor, FILE *out)
{
	const struct power *power = &processor->power;
	char hz[MACHINE_VALUE_BYTES], volts[MACHINE_VALUE_BYTES];
	write_text(out, "name", processor->name);
	write_text(out, "source", processor->source);
	write_section(processor, "", out);
	fputs("load_ports: ", out);
	write_ports(out, processor->load_ports);
	fputs("\nstore_ports: ", out);
	write_ports(out, processor->store_ports);
	fputs("\n", out);
	write_own_ports("vector_load_ports", processor->vector_load_ports, out);
	write_own_ports("vector_store_ports", processor->vector_store_ports, out);
	write_own_ports("vector_load_blocks", processor->vector_load_blocks, out);
	write_own_ports("compare_ports", processor->compare_ports, out);
	write_units(processor, out);
	for (size_t i = 1; i < MACHINE_SECTIONS; i++)
		if (has_section(processor, machine_sections[i]))
			write_section(processor, machine_sections[i], out);
	if (power->voltage_count > 0)
		fputs("  voltages:\n", out);
	for (uint32_t i = 0; i < power->voltage_count; i++) {
		machine_value_format(MACHINE_HZ, power->voltages[i].hz, hz);
		machine_value_format(MACHINE_VOLT, power->voltages[i].volts, volts);
		fprintf(out, "    - { frequency: %s, voltage: %s }\n", hz, volts);
	}
}
