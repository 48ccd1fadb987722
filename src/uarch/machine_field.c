/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/machine_field.h"

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/number.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

enum { UNITS_MAX = 6 };

/* Words are kept in enumerations. */
static_assert(sizeof(enum predictor_kind) == 4 && sizeof(enum prefetch_kind) == 4 &&
		      sizeof(enum replacement_kind) == 4,
	"MACHINE_U32");

/* The first unit is the one of struct processor. */
static const struct quantity {
	bool needs_unit;
	struct {
		const char *name;
		double factor;
	} units[UNITS_MAX]; /* ends with NULL; ascending but for the first */
	const char *const *words; /* instead of numbers; NULL: numbers */
	size_t word_count;
} quantities[] = {
	[MACHINE_COUNT] = { 0 },
	[MACHINE_NUMBER] = { 0 },
	[MACHINE_SHARE] = { false, { { "%", 0.01 } } },
	[MACHINE_HZ] = { true, { { "Hz", 1 }, { "kHz", 1e3 }, { "MHz", 1e6 }, { "GHz", 1e9 } } },
	[MACHINE_BYTES] = { true,
		{ { "B", 1 }, { "KiB", 1024 }, { "MiB", 1048576 }, { "GiB", 1073741824 } } },
	[MACHINE_NS] = { true, { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 } } },
	[MACHINE_BYTES_PER_S] = { true, { { "B/s", 1 }, { "MB/s", 1e6 }, { "GB/s", 1e9 } } },
	[MACHINE_LATENCY] = { false, { { "ns", 1 }, { "us", 1e3 } } },
	[MACHINE_WATT] = { true, { { "W", 1 }, { "mW", 1e-3 } } },
	[MACHINE_NANOFARAD] = { true, { { "nF", 1 }, { "pF", 1e-3 } } },
	[MACHINE_NANOJOULE] = { true, { { "nJ", 1 }, { "pJ", 1e-3 }, { "uJ", 1e3 } } },
	[MACHINE_VOLT] = { true, { { "V", 1 }, { "mV", 1e-3 } } },
	[MACHINE_PREDICTOR] = { .words = predictor_names, .word_count = PREDICTOR_KINDS },
	[MACHINE_PREFETCH] = { .words = prefetch_names, .word_count = PREFETCH_KINDS },
	[MACHINE_REPLACEMENT] = { .words = replacement_names, .word_count = REPLACEMENT_KINDS },
};

/* Bounds are those of what makes sense to a model, far beyond what is built. */
#define AT(member) offsetof(struct processor, member)
#define CACHE_FIELDS(name, at)                                                                     \
	{ name, "size", MACHINE_BYTES, AT(at.bytes), MACHINE_U64, 64, 0x1p40, true },              \
		{ name, "ways", MACHINE_COUNT, AT(at.ways), MACHINE_U32, 0, 65536, true },         \
		{ name, "latency", MACHINE_LATENCY, AT(at), MACHINE_CACHE, 1, 100000, true },      \
		{ name, "shared_by", MACHINE_COUNT, AT(at.shared_by), MACHINE_U32, 1, 1024,        \
			false },                                                                   \
		{ name, "misses", MACHINE_COUNT, AT(at.misses), MACHINE_U32, 0, 65536, false },    \
		{ name, "bandwidth", MACHINE_BYTES_PER_S, AT(at.bytes_per_s), MACHINE_DOUBLE, 1e3, \
			1e15, false },                                                             \
		{ name, "replacement", MACHINE_REPLACEMENT, AT(at.replacement), MACHINE_U32, 0,    \
			REPLACEMENT_KINDS - 1, false },                                            \
	{                                                                                          \
		name, "lifetime", MACHINE_NS, AT(at.lifetime_ns), MACHINE_DOUBLE, 1, 1e12, false   \
	}

const char *const machine_sections[MACHINE_SECTIONS] = { "", "l1i", "l1", "l2", "l3", "l4", "tlb",
	"targets", "memory", "threads", "power" };

static const struct machine_field fields[] = {
	{ "", "cores", MACHINE_COUNT, AT(cores), MACHINE_U32, 1, 1024, true },
	{ "", "frequency", MACHINE_HZ, AT(frequency_hz), MACHINE_DOUBLE, 1e6, 1e12, true },
	{ "", "dispatch_width", MACHINE_COUNT, AT(dispatch_width), MACHINE_U32, 1, 64, true },
	{ "", "retire_width", MACHINE_COUNT, AT(retire_width), MACHINE_U32, 1, 64, false },
	{ "", "fuses", MACHINE_COUNT, AT(fuses), MACHINE_U32, 0, 1, false },
	{ "", "binds", MACHINE_COUNT, AT(binds), MACHINE_U32, 0, 2, false },
	{ "", "store_data", MACHINE_COUNT, AT(store_data), MACHINE_U32, 0, 1, false },
	{ "", "store_lines", MACHINE_COUNT, AT(store_lines), MACHINE_U32, 0, 2, false },
	{ "", "crossings", MACHINE_COUNT, AT(crossings), MACHINE_U32, 0, 1, false },
	{ "", "replays", MACHINE_COUNT, AT(replays), MACHINE_U32, 0, 1, false },
	{ "", "port_queue", MACHINE_COUNT, AT(port_queue), MACHINE_U32, 0, 65536, false },
	{ "", "in_order", MACHINE_COUNT, AT(in_order), MACHINE_U32, 0, 1, false },
	{ "", "rob", MACHINE_COUNT, AT(rob), MACHINE_U32, 1, 65536, true },
	{ "", "issue_queue", MACHINE_COUNT, AT(issue_queue), MACHINE_U32, 1, 65536, false },
	{ "", "memory_queue", MACHINE_COUNT, AT(memory_queue), MACHINE_U32, 0, 65536, false },
	{ "", "vector_queue", MACHINE_COUNT, AT(vector_queue), MACHINE_U32, 0, 65536, false },
	{ "", "vector_backlog", MACHINE_COUNT, AT(vector_backlog), MACHINE_U32, 0, 65536, false },
	{ "", "load_queue", MACHINE_COUNT, AT(load_queue), MACHINE_U32, 1, 65536, false },
	{ "", "store_queue", MACHINE_COUNT, AT(store_queue), MACHINE_U32, 1, 65536, false },
	{ "", "waiting_loads", MACHINE_COUNT, AT(waiting_loads), MACHINE_U32, 0, 128, false },
	{ "", "registers", MACHINE_COUNT, AT(registers), MACHINE_U32, 0, 65536, false },
	{ "", "vector_registers", MACHINE_COUNT, AT(vector_registers), MACHINE_U32, 0, 65536,
		false },
	{ "", "store_forward", MACHINE_COUNT, AT(store_forward), MACHINE_U32, 0, 1000, false },
	{ "", "forward_waits", MACHINE_COUNT, AT(forward_waits), MACHINE_U32, 0, 1, false },
	{ "", "renames_memory", MACHINE_COUNT, AT(renames_memory), MACHINE_U32, 0, 2, false },
	{ "", "vector_load", MACHINE_COUNT, AT(vector_load), MACHINE_U32, 0, 1000, false },
	{ "", "scaled_load", MACHINE_COUNT, AT(scaled_load), MACHINE_U32, 0, 1000, false },
	{ "", "locked_miss", MACHINE_COUNT, AT(locked_miss), MACHINE_U32, 0, 1000, false },
	{ "", "store_blocked", MACHINE_COUNT, AT(store_blocked), MACHINE_U32, 0, 1000, false },
	{ "", "front_end", MACHINE_COUNT, AT(front_end), MACHINE_U32, 0, 1000, true },
	{ "", "detours", MACHINE_COUNT, AT(detours), MACHINE_U32, 0, 1, false },
	{ "", "fetch_ahead", MACHINE_COUNT, AT(fetch_ahead), MACHINE_U32, 0, 256, false },
	{ "", "predictor", MACHINE_PREDICTOR, AT(predictor), MACHINE_U32, 0, PREDICTOR_KINDS - 1,
		true },
	{ "", "predictor_size", MACHINE_BYTES, AT(predictor_bytes), MACHINE_U32, 0, 0x1p30, false },
	{ "", "ports", MACHINE_COUNT, AT(port_count), MACHINE_U32, 1, PROCESSOR_PORTS_MAX, true },
	CACHE_FIELDS("l1i", instruction),
	CACHE_FIELDS("l1", levels[0]),
	{ "l1", "same_set", MACHINE_COUNT, AT(levels[0].same_set), MACHINE_U32, 0, 1000, false },
	CACHE_FIELDS("l2", levels[1]),
	{ "l2", "same_set", MACHINE_COUNT, AT(levels[1].same_set), MACHINE_U32, 0, 1000, false },
	{ "l2", "fetch_interval", MACHINE_COUNT, AT(levels[1].fetch_interval), MACHINE_U32, 0, 1000,
		false },
	CACHE_FIELDS("l3", levels[2]),
	{ "l3", "fetch_interval", MACHINE_COUNT, AT(levels[2].fetch_interval), MACHINE_U32, 0, 1000,
		false },
	CACHE_FIELDS("l4", levels[3]),
	{ "tlb", "entries", MACHINE_COUNT, AT(tlb.entries), MACHINE_U32, 1, 1 << 20, true },
	{ "tlb", "ways", MACHINE_COUNT, AT(tlb.ways), MACHINE_U32, 0, 65536, true },
	{ "tlb", "second_entries", MACHINE_COUNT, AT(tlb.second_entries), MACHINE_U32, 0, 1 << 20,
		false },
	{ "tlb", "second_ways", MACHINE_COUNT, AT(tlb.second_ways), MACHINE_U32, 0, 65536, false },
	{ "tlb", "second_latency", MACHINE_COUNT, AT(tlb.second_latency), MACHINE_U32, 0, 10000,
		false },
	{ "tlb", "walk", MACHINE_NS, AT(tlb.walk_ns), MACHINE_DOUBLE, 0, 1e6, true },
	{ "tlb", "walks", MACHINE_COUNT, AT(tlb.walks), MACHINE_U32, 0, 128, false },
	{ "targets", "entries", MACHINE_COUNT, AT(targets.entries), MACHINE_U32, 1, 1 << 20, true },
	{ "targets", "delay", MACHINE_COUNT, AT(targets.delay), MACHINE_U32, 1, 1000, true },
	{ "targets", "second_entries", MACHINE_COUNT, AT(targets.second_entries), MACHINE_U32, 0,
		1 << 20, false },
	{ "targets", "second_delay", MACHINE_COUNT, AT(targets.second_delay), MACHINE_U32, 0, 1000,
		false },
	{ "targets", "computed_delay", MACHINE_COUNT, AT(targets.computed_delay), MACHINE_U32, 0,
		1000, false },
	{ "targets", "return_delay", MACHINE_COUNT, AT(targets.return_delay), MACHINE_U32, 0, 1000,
		false },
	{ "targets", "split_branch", MACHINE_COUNT, AT(targets.split_branch), MACHINE_U32, 0, 1000,
		false },
	{ "targets", "taken", MACHINE_COUNT, AT(targets.taken), MACHINE_U32, 0, 64, false },
	{ "targets", "short_block", MACHINE_COUNT, AT(targets.short_block), MACHINE_U32, 0, 1000,
		false },
	{ "targets", "long_block", MACHINE_COUNT, AT(targets.long_block), MACHINE_U32, 0, 1000,
		false },
	{ "targets", "next_line", MACHINE_COUNT, AT(targets.next_line), MACHINE_U32, 0, 1000,
		false },
	{ "memory", "latency", MACHINE_NS, AT(memory_ns), MACHINE_DOUBLE, 0.1, 1e6, true },
	{ "memory", "spread", MACHINE_SHARE, AT(memory_spread), MACHINE_DOUBLE, 0, 1, false },
	{ "memory", "bandwidth", MACHINE_BYTES_PER_S, AT(memory_bytes_per_s), MACHINE_DOUBLE, 1e3,
		1e15, false },
	{ "memory", "core_bandwidth", MACHINE_BYTES_PER_S, AT(core_bytes_per_s), MACHINE_DOUBLE,
		1e3, 1e15, false },
	{ "memory", "transfer", MACHINE_NS, AT(transfer_ns), MACHINE_DOUBLE, 0.1, 1e6, true },
	{ "memory", "turn", MACHINE_NS, AT(turn_ns), MACHINE_DOUBLE, 0, 1e6, false },
	{ "memory", "stay", MACHINE_COUNT, AT(stay), MACHINE_U32, 0, 65536, false },
	{ "memory", "hold", MACHINE_NS, AT(hold_ns), MACHINE_DOUBLE, 0, 1e6, false },
	{ "memory", "prefetch", MACHINE_PREFETCH, AT(prefetch), MACHINE_U32, 0, PREFETCH_KINDS - 1,
		false },
	{ "memory", "region_ahead", MACHINE_COUNT, AT(region_ahead), MACHINE_U32, 0, 8, false },
	{ "memory", "region_behind", MACHINE_COUNT, AT(region_behind), MACHINE_U32, 0, 8, false },
	{ "memory", "prefetch_distance", MACHINE_COUNT, AT(prefetch_distance), MACHINE_U32, 0, 1024,
		false },
	{ "threads", "lock", MACHINE_NUMBER, AT(lock_cycles), MACHINE_DOUBLE, 0, 1e6, true },
	{ "threads", "overlap", MACHINE_COUNT, AT(overlap), MACHINE_U32, 0, 1, false },
	{ "threads", "wake", MACHINE_NS, AT(wake_ns), MACHINE_DOUBLE, 0, 1e9, true },
	{ "threads", "wake_spread", MACHINE_SHARE, AT(wake_spread), MACHINE_DOUBLE, 0, 1, false },
	{ "threads", "wake_cost", MACHINE_NS, AT(wake_cost_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "doze", MACHINE_NS, AT(doze_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "switch", MACHINE_NS, AT(switch_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "yield", MACHINE_NS, AT(yield_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "yield_switch", MACHINE_NS, AT(yield_switch_ns), MACHINE_DOUBLE, 0, 1e9,
		false },
	{ "threads", "hot", MACHINE_NS, AT(hot_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "in_place", MACHINE_COUNT, AT(in_place), MACHINE_U32, 0, 1, false },
	{ "threads", "part", MACHINE_NS, AT(part_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "halt", MACHINE_NS, AT(halt_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "halt_start", MACHINE_NS, AT(halt_start_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "halted_wake", MACHINE_NS, AT(halted_wake_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "halted_wake_cost", MACHINE_NS, AT(halted_wake_cost_ns), MACHINE_DOUBLE, 0,
		1e9, false },
	{ "threads", "interrupt", MACHINE_NS, AT(interrupt_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "interrupt_cost", MACHINE_NS, AT(interrupt_cost_ns), MACHINE_DOUBLE, 0, 1e9,
		false },
	{ "threads", "queued_cost", MACHINE_NS, AT(queued_cost_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "exec", MACHINE_NS, AT(exec_ns), MACHINE_DOUBLE, 0, 1e10, false },
	{ "threads", "library", MACHINE_NS, AT(library_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "call", MACHINE_NS, AT(call_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "fault", MACHINE_NS, AT(fault_ns), MACHINE_DOUBLE, 0, 1e9, false },
	{ "threads", "interrupted", MACHINE_SHARE, AT(interrupted), MACHINE_DOUBLE, 0, 0.9, false },
	{ "threads", "interruption", MACHINE_NS, AT(interruption_ns), MACHINE_DOUBLE, 0, 1e9,
		false },
	{ "threads", "sibling_busy", MACHINE_SHARE, AT(sibling_busy), MACHINE_DOUBLE, 0, 1, false },
	{ "threads", "sibling_spell", MACHINE_NS, AT(sibling_spell_ns), MACHINE_DOUBLE, 1e5, 1e11,
		false },
	{ "power", "static", MACHINE_WATT, AT(power.static_w), MACHINE_DOUBLE, 0, 1e4, true },
	{ "power", "dynamic", MACHINE_NANOFARAD, AT(power.dynamic_nf), MACHINE_DOUBLE, 0, 1e4,
		true },
	{ "power", "idle", MACHINE_SHARE, AT(power.idle_fraction), MACHINE_DOUBLE, 0, 1, true },
	{ "power", "uncore", MACHINE_WATT, AT(power.uncore_w), MACHINE_DOUBLE, 0, 1e5, true },
	{ "power", "memory", MACHINE_NANOJOULE, AT(power.memory_nj), MACHINE_DOUBLE, 0, 1e6, true },
};

const struct machine_field *machine_field(size_t n)
{
	return n < ARRAY_SIZE(fields) ? &fields[n] : NULL;
}

const struct machine_field *machine_field_find(const char *name)
{
	const char *dot = strchr(name, '.');
	const char *key = dot ? dot + 1 : name;
	size_t length = dot ? (size_t)(dot - name) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (strlen(fields[i].section) == length &&
			strncmp(fields[i].section, name, length) == 0 &&
			strcmp(fields[i].key, key) == 0)
			return &fields[i];
	return NULL;
}

static int fail_unit(const struct quantity *quantity, const char *text, struct err *err)
{
	char known[80] = "";
	for (size_t i = 0; i < UNITS_MAX && quantity->units[i].name; i++) {
		size_t used = strlen(known);
		snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
			quantity->units[i].name);
	}
	if (!*known)
		return err_set(err, -EINVAL, "'%s' is not a number", text_show(text).text);
	return err_set(
		err, -EINVAL, "'%s' is not a number with a unit (%s)", text_show(text).text, known);
}

static int parse_word(
	const struct quantity *quantity, const char *text, double *ret, struct err *err)
{
	char known[120] = "";
	for (size_t i = 0; i < quantity->word_count; i++) {
		size_t used = strlen(known);
		if (strcmp(quantity->words[i], text) == 0) {
			*ret = (double)i;
			return 0;
		}
		snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
			quantity->words[i]);
	}
	return err_set(err, -EINVAL, "'%s' is none of %s", text_show(text).text, known);
}

int machine_value_parse(enum machine_quantity kind, const char *text, double *ret,
	bool *ret_has_unit, struct err *err)
{
	const struct quantity *quantity = &quantities[kind];
	char number[48];
	*ret_has_unit = false;
	if (quantity->words)
		return parse_word(quantity, text, ret, err);
	size_t length = strspn(text, "0123456789.eE+-");
	/* "5 EiB": an 'e' that no digit follows is no exponent, but there is no unit with one either. */
	if (length == 0 || length >= sizeof number)
		return fail_unit(quantity, text, err);
	memcpy(number, text, length);
	number[length] = '\0';
	double value = 0;
	const char *unit = text + length + strspn(text + length, " ");
	int code = number_parse_double(number, &value);
	if (code == -ENOMEM)
		return err_set(err, code, "out of memory");
	if (code < 0 || !isfinite(value))
		return fail_unit(quantity, text, err);
	if (!*unit && !quantity->needs_unit) {
		*ret = value;
		return 0;
	}
	for (size_t i = 0; i < UNITS_MAX && quantity->units[i].name; i++)
		if (strcmp(quantity->units[i].name, unit) == 0) {
			*ret = value * quantity->units[i].factor;
			*ret_has_unit = true;
			return 0;
		}
	return fail_unit(quantity, text, err);
}

void machine_value_format(enum machine_quantity kind, double value, char ret[MACHINE_VALUE_BYTES])
{
	const struct quantity *quantity = &quantities[kind];
	size_t best = 0;
	if (quantity->words) {
		snprintf(ret, MACHINE_VALUE_BYTES, "%s",
			value >= 0 && value < (double)quantity->word_count
				? quantity->words[(size_t)value]
				: "unknown");
		return;
	}
	for (size_t i = 1; i < UNITS_MAX && quantity->units[i].name; i++) {
		double factor = quantity->units[i].factor;
		if (factor > quantity->units[best].factor && fabs(value) >= factor &&
			(kind != MACHINE_BYTES || fmod(value, factor) == 0))
			best = i;
	}
	const char *unit = quantity->needs_unit ? quantity->units[best].name : NULL;
	snprintf(ret, MACHINE_VALUE_BYTES, "%.15g%s%s",
		unit ? value / quantity->units[best].factor : value, unit ? " " : "",
		unit ? unit : "");
}

int machine_field_set(const struct machine_field *field, struct processor *processor, double value,
	bool has_unit, struct err *err)
{
	char bound[MACHINE_VALUE_BYTES], given[MACHINE_VALUE_BYTES];
	machine_value_format(field->quantity, value, given);
	if (!(value >= field->least && value <= field->most)) {
		bool is_low = !(value >= field->least);
		machine_value_format(field->quantity, is_low ? field->least : field->most, bound);
		return err_set(err, -EINVAL, "%s is too %s: the %s is %s", given,
			is_low ? "little" : "much", is_low ? "least" : "most", bound);
	}
	bool is_whole = field->store == MACHINE_U32 || field->store == MACHINE_U64 ||
			(field->store == MACHINE_CACHE && !has_unit);
	if (is_whole && value != floor(value))
		return err_set(err, -EINVAL, "%s is not a whole number", given);
	char *at = (char *)processor + field->offset;
	uint32_t u32 =
		field->store == MACHINE_U32 || field->store == MACHINE_CACHE ? (uint32_t)value : 0;
	uint64_t u64 = (uint64_t)value;
	struct cache *cache = (struct cache *)(void *)at;
	switch (field->store) {
	case MACHINE_U32:
		memcpy(at, &u32, sizeof u32);
		break;
	case MACHINE_U64:
		memcpy(at, &u64, sizeof u64);
		break;
	case MACHINE_DOUBLE:
		memcpy(at, &value, sizeof value);
		break;
	case MACHINE_CACHE:
		cache->latency = has_unit ? 0 : u32;
		cache->latency_ns = has_unit ? value : 0;
		break;
	}
	return 0;
}

double machine_field_get(const struct machine_field *field, const struct processor *processor)
{
	const char *at = (const char *)processor + field->offset;
	const struct cache *cache = (const struct cache *)(const void *)at;
	uint32_t u32 = 0;
	uint64_t u64 = 0;
	double value = 0;
	switch (field->store) {
	case MACHINE_U32:
		memcpy(&u32, at, sizeof u32);
		return u32;
	case MACHINE_U64:
		memcpy(&u64, at, sizeof u64);
		return (double)u64;
	case MACHINE_DOUBLE:
		memcpy(&value, at, sizeof value);
		return value;
	case MACHINE_CACHE:
		return cache->latency_ns > 0 ? cache->latency_ns : cache->latency;
	}
	return 0;
}

void machine_field_format(const struct machine_field *field, const struct processor *processor,
	char ret[MACHINE_VALUE_BYTES])
{
	machine_value_format(field->quantity, machine_field_get(field, processor), ret);
	const struct cache *cache =
		(const struct cache *)(const void *)((const char *)processor + field->offset);
	if (field->store == MACHINE_CACHE && cache->latency_ns > 0)
		machine_value_format(MACHINE_NS, cache->latency_ns, ret);
}
