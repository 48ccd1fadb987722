/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/event_set.h"

#include "base/lines.h"
#include "collect/yaml_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 32, TEXT_MAX_BYTES = 1000, LIST_MAX = 64 };

#define TEXT(key, struct_name, member, flags)                                                      \
	CYAML_FIELD_STRING_PTR(                                                                    \
		key, CYAML_FLAG_POINTER | (flags), struct struct_name, member, 1, TEXT_MAX_BYTES)

static const cyaml_schema_value_t text_schema = { CYAML_VALUE_STRING(
	CYAML_FLAG_POINTER, char, 1, TEXT_MAX_BYTES) };

static const cyaml_strval_t type_names[] = { { "raw", EVENT_RAW }, { "software", EVENT_SOFTWARE } };

static const cyaml_schema_field_t event_fields[] = {
	CYAML_FIELD_STRING_PTR(
		"name", CYAML_FLAG_POINTER, struct event_spec, name, 1, NAME_MAX_BYTES),
	TEXT("event", event_spec, event, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_UINT("config", CYAML_FLAG_OPTIONAL, struct event_spec, config),
	CYAML_FIELD_ENUM("type", CYAML_FLAG_OPTIONAL, struct event_spec, type, type_names,
		CYAML_ARRAY_LEN(type_names)),
	CYAML_FIELD_SEQUENCE("minus", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct event_spec,
		minus, &text_schema, 1, LIST_MAX),
	TEXT("unit", event_spec, unit, 0),
	TEXT("meaning", event_spec, meaning, 0),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t models_fields[] = {
	CYAML_FIELD_UINT("first", CYAML_FLAG_DEFAULT, struct event_models, first),
	CYAML_FIELD_UINT("last", CYAML_FLAG_OPTIONAL, struct event_models, last),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t models_schema = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_DEFAULT, struct event_models, models_fields) };

static const cyaml_schema_field_t match_fields[] = {
	TEXT("vendor", event_match, vendor, 0),
	CYAML_FIELD_UINT("family", CYAML_FLAG_OPTIONAL, struct event_match, family),
	CYAML_FIELD_SEQUENCE("models", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct event_match,
		models, &models_schema, 1, LIST_MAX),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t event_schema = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_DEFAULT, struct event_spec, event_fields) };
static const cyaml_schema_value_t match_schema = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_DEFAULT, struct event_match, match_fields) };

static const cyaml_schema_field_t set_fields[] = {
	TEXT("name", event_set, name, 0),
	TEXT("source", event_set, source, 0),
	TEXT("note", event_set, note, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_SEQUENCE("pmus", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct event_set,
		pmus, &text_schema, 1, LIST_MAX),
	CYAML_FIELD_SEQUENCE(
		"match", CYAML_FLAG_POINTER, struct event_set, match, &match_schema, 1, LIST_MAX),
	CYAML_FIELD_SEQUENCE(
		"events", CYAML_FLAG_POINTER, struct event_set, events, &event_schema, 0, LIST_MAX),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t set_schema = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_POINTER, struct event_set, set_fields) };

/* A letter, then letters, digits and underscores: what a column of RUNS.csv may be called. */
static bool is_name(const char *text)
{
	if (!isalpha((unsigned char)*text))
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '_')
			return false;
	return true;
}

int event_set_find(const struct event_set *set, const char *name)
{
	for (uint32_t i = 0; i < set->events_count; i++)
		if (strcmp(set->events[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* Texts of the file go through text_show(): they may hold anything. */
static int check_event(
	const char *path, const struct event_set *set, uint32_t index, struct err *err)
{
	const struct event_spec *event = &set->events[index];
	if (!is_name(event->name))
		return err_set(err, -EINVAL,
			"%s: event %u: name '%s' must be a letter, then letters, digits or '_'",
			path, index + 1, text_show(event->name).text);
	if (event_set_find(set, event->name) != (int)index)
		return err_set(err, -EINVAL, "%s: event %u: a second event is named '%s'", path,
			index + 1, event->name);
	if (!event->event && event->config == 0)
		return err_set(err, -EINVAL, "%s: event '%s': needs 'event' or 'config'", path,
			event->name);
	for (uint32_t i = 0; i < event->minus_count; i++) {
		int other = event_set_find(set, event->minus[i]);
		if (other < 0 || other == (int)index)
			return err_set(err, -EINVAL,
				"%s: event '%s': minus names no other event: '%s'", path,
				event->name, text_show(event->minus[i]).text);
	}
	return 0;
}

static int check_set(const char *path, const struct event_set *set, struct err *err)
{
	if (set->events_count == 0 && !set->note)
		return err_set(err, -EINVAL,
			"%s: no events: the note must say why this family has none", path);
	for (uint32_t i = 0; i < set->events_count; i++) {
		int r = check_event(path, set, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_checked(const char *path, void *data, struct event_set **ret, struct err *err)
{
	AUTO(event_set) struct event_set *set = data;
	int r = check_set(path, set, err);
	if (r < 0)
		return r;
	*ret = TAKE(set);
	return 0;
}

int event_set_parse(
	const char *path, const char *text, size_t length, struct event_set **ret, struct err *err)
{
	void *data = NULL;
	int r = yaml_file_parse(path, text, length, &set_schema, &data, err);
	return r < 0 ? r : take_checked(path, data, ret, err);
}

int event_set_load(const char *path, struct event_set **ret, struct err *err)
{
	void *data = NULL;
	int r = yaml_file_load(path, &set_schema, &data, err);
	return r < 0 ? r : take_checked(path, data, ret, err);
}

void event_set_free(struct event_set *set)
{
	yaml_file_free(&set_schema, set);
}

static bool is_match(const struct event_match *match, const struct machine_cpu *cpu)
{
	bool is_arm = strcmp(cpu->vendor, "Arm") == 0;
	uint32_t model = is_arm ? cpu->part : cpu->model;
	if (strcmp(match->vendor, cpu->vendor) != 0 || match->family != cpu->family)
		return false;
	for (uint32_t i = 0; i < match->models_count; i++) {
		const struct event_models *m = &match->models[i];
		if (model == m->first || (model > m->first && model <= m->last))
			return true;
	}
	return match->models_count == 0;
}

static bool fits(const struct event_set *set, const struct machine_cpu *cpu)
{
	for (uint32_t i = 0; i < set->match_count; i++)
		if (is_match(&set->match[i], cpu))
			return true;
	return false;
}

static int is_yaml(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);
	return length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

/* 1 and *ret if the file's set fits the processor, 0 if it does not, negative errno. */
static int try_file(const char *folder, const char *name, const struct machine_cpu *cpu,
	struct event_set **ret, struct err *err)
{
	AUTO_FREE char *path = NULL;
	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		path = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	AUTO(event_set) struct event_set *set = NULL;
	int r = event_set_load(path, &set, err);
	if (r < 0)
		return r;
	if (!fits(set, cpu))
		return 0;
	*ret = TAKE(set);
	return 1;
}

int event_set_for_cpu(
	const char *folder, const struct machine_cpu *cpu, struct event_set **ret, struct err *err)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_yaml, alphasort);
	if (count < 0)
		return err_set(err, -errno, "cannot read the folder of event sets '%s': %s", folder,
			strerror(errno));
	AUTO(event_set) struct event_set *found = NULL;
	int r = 0;
	for (int i = 0; i < count && r >= 0; i++) {
		AUTO(event_set) struct event_set *set = NULL;
		r = try_file(folder, entries[i]->d_name, cpu, &set, err);
		if (r == 1 && !found)
			found = TAKE(set);
	}
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	if (r < 0)
		return r;
	if (!found)
		return err_set(err, -ENODEV,
			"no event set in '%s' is for this processor (vendor %s, family %u, model "
			"%u, part %#x); docs/formats/event-set.md tells how to add one",
			folder, *cpu->vendor ? cpu->vendor : "not told", cpu->family, cpu->model,
			cpu->part);
	*ret = TAKE(found);
	return 0;
}
