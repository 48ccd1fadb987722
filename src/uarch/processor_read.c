/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machine files. Figures are fields of a table (machine_field.h); what is no single figure is read here. */
#include "uarch/processor.h"

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/mem.h"
#include "model/reader.h"
#include "uarch/machine_field.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct reader r; /* places and errors */
	struct yaml_node *file;
	struct processor *processor;
};

static int read_text(const struct reading *g, const char *key, char **ret)
{
	const struct yaml_node *node = reader_take(g->file, key);
	if (!node)
		return reader_fail(&g->r, 1, "the field '%s' is missing", key);
	if (node->kind != YAML_TEXT || !*node->text)
		return reader_fail(&g->r, node->line, "a text was expected, in '%s'", key);
	*ret = strdup(node->text);
	return *ret ? 0 : reader_out_of_memory(&g->r);
}

static int read_field(
	const struct reading *g, struct yaml_node *map, const struct machine_field *field)
{
	const char *dot = *field->section ? "." : "";
	const struct yaml_node *node = reader_take(map, field->key);
	double value = 0;
	bool has_unit = false;
	if (!node && !field->is_needed)
		return 0;
	if (!node)
		return reader_fail(&g->r, map->line, "the field '%s%s%s' is missing",
			field->section, dot, field->key);
	if (node->kind != YAML_TEXT)
		return reader_fail(&g->r, node->line, "a value was expected, in '%s%s%s'",
			field->section, dot, field->key);
	struct err why = { "" };
	int code = machine_value_parse(field->quantity, node->text, &value, &has_unit, &why);
	if (code == 0)
		code = machine_field_set(field, g->processor, value, has_unit, &why);
	return code < 0 ? reader_fail(&g->r, node->line, "%s, in '%s%s%s'", why.text,
				  field->section, dot, field->key)
			: 0;
}

/* Ports as a list of numbers: [0, 1, 5]. */
static int read_ports(
	const struct reading *g, const struct yaml_node *node, const char *what, uint32_t *ret)
{
	uint32_t mask = 0;
	if (node->kind != YAML_LIST || node->count == 0)
		return reader_fail(&g->r, node->line,
			"a list of ports was expected, such as [0, 1], in '%s'", what);
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_node *item = node->entries[i].node;
		double number = -1;
		bool has_unit;
		int code = item->kind == YAML_TEXT ? machine_value_parse(MACHINE_COUNT, item->text,
							     &number, &has_unit, NULL)
						   : -EINVAL;
		if (code < 0 || !(number >= 0 && number < g->processor->port_count) ||
			number != floor(number))
			return reader_fail(&g->r, item->line,
				"a port is a number from 0 to %u, in '%s'",
				g->processor->port_count - 1, what);
		mask |= UINT32_C(1) << (unsigned)number;
	}
	*ret = mask;
	return 0;
}

static int read_port_field(const struct reading *g, const char *key, bool is_needed, uint32_t *ret)
{
	const struct yaml_node *node = reader_take(g->file, key);
	if (!node && !is_needed)
		return 0;
	return node ? read_ports(g, node, key, ret)
		    : reader_fail(&g->r, 1, "the field '%s' is missing", key);
}

/* A figure of a unit: whole cycles. */
static int read_cycles(const struct reading *g, struct yaml_node *map, const char *unit,
	const char *key, uint32_t least, uint32_t *ret)
{
	const struct yaml_node *node = reader_take(map, key);
	double value = 0;
	bool has_unit;
	if (!node)
		return 0;
	int code = node->kind == YAML_TEXT
			   ? machine_value_parse(MACHINE_COUNT, node->text, &value, &has_unit, NULL)
			   : -EINVAL;
	if (code < 0 || !(value >= least && value <= 10000) || value != floor(value))
		return reader_fail(&g->r, node->line,
			"cycles are a whole number from %u to 10000, in 'units.%s.%s'", least, unit,
			key);
	*ret = (uint32_t)value;
	return 0;
}

static int read_unit(const struct reading *g, const struct yaml_entry *entry)
{
	unsigned class = 0;
	while (class < CODE_CLASSES && strcmp(code_class_name(class), entry->key) != 0)
		class ++;
	if (class == CODE_CLASSES)
		return reader_fail(&g->r, entry->line,
			"'%s' is no class of instructions, in 'units'", text_show(entry->key).text);
	struct unit *unit = &g->processor->units[class];
	int code = reader_map(&g->r, entry->node, "a unit");
	if (code == 0)
		code = read_cycles(g, entry->node, entry->key, "latency", 0, &unit->latency);
	if (code == 0)
		code = read_cycles(g, entry->node, entry->key, "chained", 1, &unit->chained);
	if (code == 0 && unit->chained > unit->latency)
		return reader_fail(&g->r, entry->line,
			"an operation behind another one would wait longer than others, in "
			"'units.%s.chained'",
			entry->key);
	if (code == 0)
		code = read_cycles(g, entry->node, entry->key, "slots", 1, &unit->slots);
	if (code == 0)
		code = read_cycles(g, entry->node, entry->key, "interval", 1, &unit->interval);
	const struct {
		const char *key;
		uint32_t *ret;
	} lists[] = { { "ports", &unit->ports }, { "blocks", &unit->blocks } };
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct yaml_node *ports = reader_take(entry->node, lists[i].key);
		char name[64]; /* a class's name is short */
		(void)snprintf(name, sizeof name, "units.%s.%s", entry->key, lists[i].key);
		if (code == 0 && ports)
			code = read_ports(g, ports, name, lists[i].ret);
	}
	return code < 0 ? code : reader_finish(&g->r, entry->node, "a unit");
}

static int read_units(const struct reading *g)
{
	uint32_t all = (uint32_t)((UINT64_C(1) << g->processor->port_count) - 1);
	for (unsigned i = 0; i < CODE_CLASSES; i++)
		g->processor->units[i] = (struct unit){ .latency = 1, .interval = 1, .ports = all };
	const struct yaml_node *units = reader_take(g->file, "units");
	if (!units)
		return reader_fail(&g->r, 1, "the field 'units' is missing");
	int code = reader_map(&g->r, units, "'units'");
	bool has[CODE_CLASSES] = { false };
	for (size_t i = 0; code == 0 && i < units->count; i++) {
		for (unsigned class = 0; class < CODE_CLASSES; class ++)
			has[class] |= strcmp(units->entries[i].key, code_class_name(class)) == 0;
		code = read_unit(g, &units->entries[i]);
	}
	/* Finer classes, which a file may leave to the coarser ones. */
	static const struct {
		enum code_class fine, coarse;
	} finer[] = { { CODE_CONVERT, CODE_FP_ADD }, { CODE_FP_DIVIDE_SINGLE, CODE_FP_DIVIDE },
		{ CODE_DIVIDE_LONG, CODE_DIVIDE }, { CODE_FP_ROOT, CODE_FP_DIVIDE },
		{ CODE_FP_ROOT_SINGLE, CODE_FP_DIVIDE_SINGLE }, { CODE_STRING_WORDS, CODE_STRING },
		{ CODE_LEA, CODE_ALU }, { CODE_CONDITION, CODE_ALU },
		{ CODE_SELECT, CODE_CONDITION }, { CODE_BIT_COUNT, CODE_MULTIPLY },
		{ CODE_CROSS, CODE_SHUFFLE } };
	for (size_t i = 0; i < ARRAY_SIZE(finer); i++)
		if (!has[finer[i].fine])
			g->processor->units[finer[i].fine] = g->processor->units[finer[i].coarse];
	return code;
}

static int read_voltage(const struct reading *g, struct yaml_node *node)
{
	struct power *power = &g->processor->power;
	const struct {
		const char *key;
		enum machine_quantity quantity;
		double least, most, *ret;
	} parts[] = {
		{ "frequency", MACHINE_HZ, 1e6, 1e12, &power->voltages[power->voltage_count].hz },
		{ "voltage", MACHINE_VOLT, 0.01, 10, &power->voltages[power->voltage_count].volts },
	};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct yaml_node *part = reader_take(node, parts[i].key);
		bool has_unit;
		if (!part || part->kind != YAML_TEXT)
			return reader_fail(&g->r, node->line,
				"such as { frequency: 2 GHz, voltage: 0.9 V }, in "
				"'power.voltages'");
		struct err why = { "" };
		if (machine_value_parse(
			    parts[i].quantity, part->text, parts[i].ret, &has_unit, &why) < 0)
			return reader_fail(&g->r, part->line, "%s, in 'power.voltages'", why.text);
		if (!(*parts[i].ret >= parts[i].least && *parts[i].ret <= parts[i].most))
			return reader_fail(&g->r, part->line,
				"this %s cannot be, in 'power.voltages'", parts[i].key);
	}
	return reader_finish(&g->r, node, "'power.voltages'");
}

static int read_voltages(const struct reading *g, struct yaml_node *map)
{
	struct power *power = &g->processor->power;
	const struct yaml_node *list = reader_take(map, "voltages");
	if (!list || list->kind != YAML_LIST || list->count == 0 ||
		list->count > PROCESSOR_VOLTAGES_MAX)
		return reader_fail(&g->r, list ? list->line : map->line,
			"a list of 1 to %d voltages is needed, in 'power.voltages'",
			PROCESSOR_VOLTAGES_MAX);
	for (size_t i = 0; i < list->count; i++) {
		int code = read_voltage(g, list->entries[i].node);
		if (code < 0)
			return code;
		if (i > 0 && !(power->voltages[i].hz > power->voltages[i - 1].hz))
			return reader_fail(&g->r, list->entries[i].node->line,
				"frequencies ascend, in 'power.voltages'");
		power->voltage_count++;
	}
	return 0;
}

static int read_section(const struct reading *g, const char *name)
{
	struct yaml_node *map = *name ? reader_take(g->file, name) : g->file;
	bool may_lack = strcmp(name, "power") == 0 || strcmp(name, "l2") == 0 ||
			strcmp(name, "l3") == 0 || strcmp(name, "l4") == 0 ||
			strcmp(name, "tlb") == 0 || strcmp(name, "targets") == 0;
	if (!map)
		return may_lack ? 0 : reader_fail(&g->r, 1, "the section '%s' is missing", name);
	if (map->kind != YAML_MAP)
		return reader_fail(&g->r, map->line, "'%s' needs fields, such as { name: value }",
			*name ? name : "a machine file");
	int code = 0;
	const struct machine_field *field;
	for (size_t i = 0; code == 0 && (field = machine_field(i)); i++)
		if (strcmp(field->section, name) == 0)
			code = read_field(g, map, field);
	if (code == 0 && strcmp(name, "power") == 0)
		code = read_voltages(g, map);
	return code < 0 || !*name ? code : reader_finish(&g->r, map, name);
}

static int read_parts(const struct reading *g)
{
	int code = g->file->kind == YAML_MAP
			   ? 0
			   : reader_fail(&g->r, g->file->line, "a machine file has fields");
	if (code == 0)
		code = read_text(g, "name", &g->processor->name);
	if (code == 0)
		code = read_text(g, "source", &g->processor->source);
	for (size_t i = 0; code == 0 && i < MACHINE_SECTIONS; i++)
		code = read_section(g, machine_sections[i]);
	const struct {
		const char *key;
		bool is_needed;
		uint32_t *ret;
	} ports[] = {
		{ "load_ports", true, &g->processor->load_ports },
		{ "store_ports", true, &g->processor->store_ports },
		{ "vector_load_ports", false, &g->processor->vector_load_ports },
		{ "vector_store_ports", false, &g->processor->vector_store_ports },
		{ "vector_load_blocks", false, &g->processor->vector_load_blocks },
		{ "compare_ports", false, &g->processor->compare_ports },
	};
	for (size_t i = 0; code == 0 && i < ARRAY_SIZE(ports); i++)
		code = read_port_field(g, ports[i].key, ports[i].is_needed, ports[i].ret);
	if (code == 0)
		code = read_units(g);
	return code < 0 ? code : reader_finish(&g->r, g->file, "a machine file");
}

/* The line of the field that a check names. */
static unsigned line_of(const struct yaml_node *file, const char *name)
{
	const char *dot = strchr(name, '.');
	const char *key = name;
	size_t length = dot ? (size_t)(dot - name) : strlen(name);
	unsigned line = file->line;
	for (const struct yaml_node *map = file; map;) {
		const struct yaml_node *next = NULL;
		for (size_t i = 0; map->kind == YAML_MAP && i < map->count; i++)
			if (strlen(map->entries[i].key) == length &&
				strncmp(map->entries[i].key, key, length) == 0) {
				line = map->entries[i].line;
				next = map->entries[i].node;
			}
		if (!dot)
			break;
		key = dot + 1;
		length = strlen(key);
		dot = NULL;
		map = next;
	}
	return line;
}

static int read_checked(const struct reading *g)
{
	const char *field = NULL;
	struct err why = { "" };
	int code = read_parts(g);
	if (code < 0)
		return code;
	processor_settle(g->processor);
	if (processor_check(g->processor, &field, &why) == 0)
		return 0;
	return reader_fail(&g->r, line_of(g->file, field), "%s, in '%s'", why.text, field);
}

int processor_parse(
	const char *path, const char *text, size_t length, struct processor *ret, struct err *err)
{
	AUTO_RELEASE(processor) struct processor processor = { 0 };
	AUTO(yaml_node) struct yaml_node *file = NULL;
	AUTO_FILE FILE *in = fmemopen((void *)text, length, "r");
	if (!in)
		return err_set(err, -ENOMEM, "out of memory");
	int code = yaml_tree_read(in, path, &file, err);
	if (code < 0)
		return code;
	const struct reading reading = {
		.r = { .file = path, .err = err }, .file = file, .processor = &processor
	};
	code = read_checked(&reading);
	if (code < 0)
		return code;
	*ret = processor;
	processor = (struct processor){ 0 };
	return 0;
}
