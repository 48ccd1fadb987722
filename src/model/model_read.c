/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model file: its sections, but for `threads`. */
#include "base/lines.h"
#include "model/reader.h"
#include "model/value.h"

#include <errno.h>
#include <string.h>

static int read_parameter(const struct reader *r, const struct yaml_entry *entry)
{
	struct yaml_node *node = entry->node;
	const char *note = NULL;
	int code = 0;
	if (node->kind == YAML_MAP) {
		node = reader_take(entry->node, "value");
		code = reader_text(r, entry->node, "note", &note);
		if (code == 0)
			code = reader_finish(r, entry->node, "a parameter");
	}
	if (code < 0)
		return code;
	if (!node)
		return reader_fail(r, entry->line, "the parameter has no 'value'");
	double value;
	enum model_unit unit;
	code = reader_constant(r, node, &value, &unit);
	uint32_t index = 0;
	if (code == 0 && model_add_parameter(r->model, entry->key, &index) < 0)
		code = reader_out_of_memory(r);
	if (code < 0)
		return code;
	struct model_parameter *parameter = &r->model->parameters[index];
	parameter->value = value;
	parameter->unit = unit;
	parameter->note = note;
	parameter->line = entry->line;
	return 0;
}

static int read_parameters(const struct reader *r, struct yaml_node *map)
{
	int code = reader_map(r, map, "'parameters'");
	for (size_t i = 0; code == 0 && i < map->count; i++)
		code = read_parameter(r, &map->entries[i]);
	return code;
}

static int read_smt(const struct reader *r, struct yaml_node *map, struct model_hardware *hardware)
{
	double threads = 0;
	int code = reader_map(r, map, "'smt'");
	if (code == 0)
		code = reader_number(r, map, "threads", MODEL_NUMBER, &threads);
	if (code == 0)
		code = reader_number(r, map, "factor", MODEL_NUMBER, &hardware->smt_factor);
	if (code < 0)
		return code;
	if (!(threads >= 1 && threads <= 8) || threads != (double)(unsigned)threads)
		return reader_fail(
			r, map->line, "'smt' needs 'threads', from 1 to 8 for each core");
	hardware->threads_per_core = (uint32_t)threads;
	return reader_finish(r, map, "'smt'");
}

static int read_scheduler(
	const struct reader *r, struct yaml_node *map, struct model_hardware *hardware)
{
	const char *word = NULL;
	unsigned line = map->line;
	int code = reader_text(r, map, "scheduler", &word);
	if (code < 0 || !word)
		return code;
	hardware->is_round_robin = strcmp(word, "round_robin") == 0;
	if (hardware->is_round_robin || strcmp(word, "fair") == 0)
		return 0;
	return reader_fail(r, line, "'scheduler' is fair or round_robin");
}

static int read_hardware(const struct reader *r, struct yaml_node *map)
{
	struct model_hardware *hardware = &r->model->hardware;
	int code = reader_map(r, map, "'hardware'");
	if (code < 0)
		return code;
	hardware->line = map->line;
	const struct yaml_node *speeds = reader_take(map, "speeds");
	size_t count = 0;
	if (speeds)
		code = reader_list(r, speeds, MODEL_NUMBER, &hardware->speeds, &count);
	if (code == 0 && count > MODEL_CORES_MAX)
		code = reader_fail(r, speeds->line, "more than %d cores", MODEL_CORES_MAX);
	hardware->speed_count = code == 0 ? (uint32_t)count : 0;
	struct yaml_node *smt = reader_take(map, "smt");
	if (code == 0 && smt)
		code = read_smt(r, smt, hardware);
	if (code == 0)
		code = reader_value(r, map, "cores", MODEL_NUMBER, &hardware->cores);
	if (code == 0)
		code = read_scheduler(r, map, hardware);
	if (code == 0)
		code = reader_dist(r, map, "quantum", &hardware->quantum);
	if (code == 0)
		code = reader_value(r, map, "switch", MODEL_TIME, &hardware->switch_time);
	if (code == 0)
		code = reader_dist(r, map, "wake", &hardware->wake);
	if (code == 0)
		code = reader_value(r, map, "wake_cost", MODEL_TIME, &hardware->wake_cost);
	if (code == 0)
		code = reader_value(r, map, "doze", MODEL_TIME, &hardware->doze_time);
	return code < 0 ? code : reader_finish(r, map, "'hardware'");
}

static int read_classes(const struct reader *r, struct yaml_node *map, struct model_object *object)
{
	struct yaml_node *classes = reader_take(map, "classes");
	if (!classes || classes->kind != YAML_MAP || !classes->count)
		return reader_fail(r, classes ? classes->line : object->line,
			"a disk needs 'classes' of requests with their service times");
	object->classes = model_alloc(r->model, classes->count, sizeof *object->classes);
	if (!object->classes)
		return reader_out_of_memory(r);
	int code = 0;
	for (size_t i = 0; code == 0 && i < classes->count; i++) {
		const char *name = model_text(r->model, classes->entries[i].key);
		if (!name)
			return reader_out_of_memory(r);
		object->classes[i].name = name;
		code = reader_dist_node(r, classes->entries[i].node, &object->classes[i].service);
	}
	object->class_count = code == 0 ? (uint32_t)classes->count : 0;
	return code;
}

static int read_disk(const struct reader *r, struct yaml_node *map, struct model_object *object)
{
	const char *order = NULL;
	int code = reader_text(r, map, "order", &order);
	if (code < 0)
		return code;
	for (size_t i = 0; order && i < MODEL_DISK_ORDERS; i++)
		if (strcmp(order, model_disk_orders[i]) == 0) {
			object->order = (enum sim_disk_order)i;
			order = NULL;
		}
	if (order)
		return reader_fail(r, object->line, "'order' is fifo, random or batch");
	code = reader_value(r, map, "latency", MODEL_TIME, &object->latency);
	return code < 0 ? code : read_classes(r, map, object);
}

static int read_use(const struct reader *r, struct yaml_node *map, struct model_use *use)
{
	struct yaml_node *node = reader_take(map, "recorded");
	if (!node)
		return 0;
	int code = reader_map(r, node, "'recorded'");
	if (code == 0)
		code = reader_number(r, node, "waited", MODEL_NUMBER, &use->waited_share);
	if (code == 0)
		code = reader_number(r, node, "busy", MODEL_NUMBER, &use->busy_share);
	use->is_known = code == 0;
	return code < 0 ? code : reader_finish(r, node, "'recorded'");
}

static int read_shares(const struct reader *r, struct yaml_node *map, struct model_object *object)
{
	const struct yaml_node *shares = reader_take(map, "shares");
	size_t count = 0;
	int code = shares ? reader_list(r, shares, MODEL_NUMBER, &object->shares, &count) : 0;
	if (code == 0 && count > MODEL_INSTANCES_MAX)
		return reader_fail(r, shares->line, "more than %d shares", MODEL_INSTANCES_MAX);
	object->share_count = code == 0 ? (uint32_t)count : 0;
	return code;
}

/* Barriers have been read before queues. */
static int read_refill(const struct reader *r, struct yaml_node *map, uint32_t queue)
{
	const char *name = NULL;
	int code = reader_text(r, map, "refilled_by", &name);
	if (code < 0 || !name)
		return code;
	uint32_t barrier = model_find_object(r->model, name);
	if (barrier == MODEL_NONE || r->model->objects[barrier].kind != MODEL_BARRIER)
		return reader_fail(r, r->model->objects[queue].line,
			"refilled_by: there is no barrier '%s'", text_show(name).text);
	r->model->objects[queue].refilled_by = barrier;
	return 0;
}

/* true, false; of a queue also "any". */
static int read_lends(const struct reader *r, struct yaml_node *map, struct model_object *object)
{
	const struct yaml_node *node = reader_take(map, "lends");
	object->lends_any =
		object->kind == MODEL_QUEUE && node && node->text && strcmp(node->text, "any") == 0;
	object->lends = object->lends_any;
	if (object->lends_any || object->kind != MODEL_QUEUE)
		return object->lends_any ? 0 : reader_flag(r, map, "lends", &object->lends);
	return reader_flag(r, map, "lends", &object->lends) < 0
		       ? reader_fail(r, node->line, "'lends' is true, false or any")
		       : 0;
}

static int read_object(
	const struct reader *r, enum model_object_kind kind, const struct yaml_entry *entry)
{
	uint32_t index;
	if (model_add_object(r->model, kind, entry->key, &index) < 0)
		return reader_out_of_memory(r);
	struct model_object *object = &r->model->objects[index];
	struct yaml_node *map = entry->node;
	object->line = entry->line;
	const char *size_word = model_size_word(kind);
	int code = reader_map(r, map, "this");
	if (code == 0 && size_word)
		code = reader_value(r, map, size_word, MODEL_NUMBER, &object->size);
	if (code == 0 && kind == MODEL_QUEUE)
		code = reader_value(r, map, "initial", MODEL_NUMBER, &object->initial);
	if (code == 0 && object->kind == MODEL_QUEUE)
		code = reader_value(r, map, "instances", MODEL_NUMBER, &object->instances);
	if (code == 0 && kind == MODEL_QUEUE)
		code = read_refill(r, map, index);
	if (code == 0 && kind == MODEL_BARRIER)
		code = reader_value(r, map, "spins", MODEL_TIME, &object->spins);
	if (code == 0 && (kind == MODEL_QUEUE || kind == MODEL_SEMAPHORE || kind == MODEL_LIMIT))
		code = read_lends(r, map, object);
	if (code == 0 && kind == MODEL_QUEUE)
		code = reader_flag(r, map, "signals", &object->are_signals);
	if (code == 0 && kind == MODEL_QUEUE)
		code = reader_flag(r, map, "calls", &object->are_calls);
	if (code == 0 && kind == MODEL_QUEUE)
		code = reader_flag(r, map, "replies", &object->are_replies);
	if (code == 0 && kind <= MODEL_RWLOCK)
		code = read_shares(r, map, object);
	if (code == 0 && kind == MODEL_RWLOCK)
		code = reader_flag(r, map, "writers_first", &object->has_writers_first);
	if (code == 0 && kind == MODEL_DISK)
		code = read_disk(r, map, object);
	if (code == 0)
		code = read_use(r, map, &object->recorded);
	return code < 0 ? code : reader_finish(r, map, model_object_word(kind));
}

static int read_objects(const struct reader *r, struct yaml_node *root)
{
	int code = 0;
	for (int kind = 0; code == 0 && kind < MODEL_OBJECT_KINDS; kind++) {
		const char *section = model_object_section((enum model_object_kind)kind);
		struct yaml_node *map = reader_take(root, section);
		if (!map)
			continue;
		code = reader_map(r, map, section);
		for (size_t i = 0; code == 0 && i < map->count; i++)
			code = read_object(r, (enum model_object_kind)kind, &map->entries[i]);
	}
	return code;
}

/* Which of the fields that say how requests arrive is there. */
static int find_source_kind(const struct reader *r, const struct yaml_node *map, unsigned line,
	enum model_source_kind *ret)
{
	static const char *const words[] = {
		[MODEL_POISSON] = "poisson",
		[MODEL_INTERVALS] = "every",
		[MODEL_CLOSED] = "clients",
		[MODEL_ARRIVALS] = "arrivals",
		[MODEL_BATCH] = "batch",
	};
	size_t found = 0;
	for (size_t i = 0; map->kind == YAML_MAP && i < map->count; i++)
		for (size_t kind = 0; kind < sizeof words / sizeof *words; kind++)
			if (strcmp(map->entries[i].key, words[kind]) == 0) {
				found++;
				*ret = (enum model_source_kind)kind;
			}
	if (found == 1)
		return 0;
	return reader_fail(r, line, "a source has one of poisson, every, clients, arrivals, batch");
}

static int read_arrivals(const struct reader *r, struct yaml_node *map, struct model_source *source)
{
	struct yaml_node *node = reader_take(map, "arrivals");
	if (source->kind == MODEL_BATCH)
		return reader_value(r, map, "batch", MODEL_NUMBER, &source->requests);
	if (source->kind == MODEL_POISSON)
		return reader_value(r, map, "poisson", MODEL_RATE, &source->rate);
	if (source->kind == MODEL_INTERVALS)
		return reader_dist(r, map, "every", &source->interval);
	if (source->kind == MODEL_ARRIVALS)
		return reader_list(r, node, MODEL_TIME, &source->times, &source->time_count);
	int code = reader_value(r, map, "clients", MODEL_NUMBER, &source->clients);
	return code < 0 ? code : reader_dist(r, map, "think", &source->interval);
}

/* The object that a field names, MODEL_NONE without the field. */
static int read_reference(const struct reader *r, struct yaml_node *map, const char *key,
	enum model_object_kind kind, uint32_t *ret)
{
	const struct yaml_node *node = reader_take(map, key);
	if (!node)
		return 0;
	*ret = node->text ? model_find_object(r->model, node->text) : (uint32_t)MODEL_NONE;
	if (*ret != MODEL_NONE && r->model->objects[*ret].kind == kind)
		return 0;
	return reader_fail(r, node->line, "there is no %s '%s'", key,
		node->text ? text_show(node->text).text : "");
}

static int read_source(const struct reader *r, const struct yaml_entry *entry)
{
	uint32_t index;
	if (model_add_source(r->model, entry->key, &index) < 0)
		return reader_out_of_memory(r);
	struct model_source *source = &r->model->sources[index];
	struct yaml_node *map = entry->node;
	source->line = entry->line;
	const char *full = NULL;
	int code = find_source_kind(r, map, entry->line, &source->kind);
	if (code == 0)
		code = read_arrivals(r, map, source);
	if (code == 0 && source->kind != MODEL_BATCH)
		code = reader_value(r, map, "requests", MODEL_NUMBER, &source->requests);
	if (code == 0)
		code = read_reference(r, map, "queue", MODEL_QUEUE, &source->queue);
	if (code == 0)
		code = read_reference(r, map, "limit", MODEL_LIMIT, &source->limit);
	if (code == 0)
		code = reader_text(r, map, "full", &full);
	if (code < 0)
		return code;
	if (source->queue == MODEL_NONE)
		return reader_fail(r, entry->line, "a source needs a 'queue'");
	source->does_wait_for_room = full && strcmp(full, "wait") == 0;
	if (full && !source->does_wait_for_room && strcmp(full, "refuse") != 0)
		return reader_fail(r, entry->line, "'full' is refuse or wait");
	return reader_finish(r, map, "a source");
}

static int read_sources(const struct reader *r, struct yaml_node *map)
{
	int code = reader_map(r, map, "'sources'");
	for (size_t i = 0; code == 0 && i < map->count; i++)
		code = read_source(r, &map->entries[i]);
	return code;
}

static int read_notes(const struct reader *r, const struct yaml_node *node)
{
	if (node->kind != YAML_LIST)
		return reader_fail(r, node->line, "'notes' is a list of texts");
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_node *note = node->entries[i].node;
		if (note->kind != YAML_TEXT)
			return reader_fail(r, note->line, "a note is a text");
		if (model_add_note(r->model, note->text) < 0)
			return reader_out_of_memory(r);
	}
	return 0;
}

static int read_recorded(const struct reader *r, struct yaml_node *map)
{
	struct model_recorded *recorded = &r->model->recorded;
	double cores = 0, descriptors = 0;
	int code = reader_map(r, map, "'recorded'");
	if (code == 0)
		code = reader_text(r, map, "program", &recorded->program);
	if (code == 0)
		code = reader_number(r, map, "duration", MODEL_TIME, &recorded->duration_s);
	if (code == 0)
		code = reader_number(r, map, "cores", MODEL_NUMBER, &cores);
	if (code == 0)
		code = reader_number(
			r, map, "utilisation", MODEL_NUMBER, &recorded->core_utilisation);
	if (code == 0)
		code = reader_number(r, map, "throughput", MODEL_RATE, &recorded->throughput_per_s);
	if (code == 0)
		code = reader_number(r, map, "response", MODEL_TIME, &recorded->response_s);
	if (code == 0)
		code = reader_number(r, map, "descriptors", MODEL_NUMBER, &descriptors);
	if (code < 0)
		return code;
	if (!(cores >= 0 && cores <= 1e6))
		return reader_fail(r, map->line, "'cores' is a count");
	if (!(descriptors >= 0 && descriptors <= UINT32_MAX))
		return reader_fail(r, map->line, "'descriptors' is a count");
	recorded->cores = (uint32_t)cores;
	recorded->descriptors = (uint32_t)descriptors;
	recorded->is_known = true;
	const struct yaml_node *notes = reader_take(map, "notes");
	code = notes ? read_notes(r, notes) : 0;
	return code < 0 ? code : reader_finish(r, map, "'recorded'");
}

static int check_version(const struct reader *r, struct yaml_node *root)
{
	const struct yaml_node *version = reader_take(root, "corecast_model");
	if (!version)
		return reader_fail(
			r, root->line, "not a model: it does not begin with 'corecast_model: 1'");
	if (version->kind != YAML_TEXT || strcmp(version->text, "1") != 0)
		return reader_fail(r, version->line,
			"this version of the format is not known; 'corecast_model: 1' is");
	return 0;
}

/* In the order in which they refer to one another. */
static int read_sections(const struct reader *r, struct yaml_node *root)
{
	static const struct {
		const char *key;
		int (*read)(const struct reader *r, struct yaml_node *map);
	} sections[] = {
		{ "parameters", read_parameters },
		{ "hardware", read_hardware },
		{ NULL, read_objects },
		{ "sources", read_sources },
		{ "threads", reader_threads },
		{ "recorded", read_recorded },
	};
	int code = check_version(r, root);
	for (size_t i = 0; code == 0 && i < sizeof sections / sizeof *sections; i++) {
		struct yaml_node *map = sections[i].key ? reader_take(root, sections[i].key) : root;
		code = map ? sections[i].read(r, map) : 0;
	}
	if (code == 0)
		code = reader_text(r, root, "name", &r->model->name);
	if (code == 0)
		code = reader_value(r, root, "duration", MODEL_TIME, &r->model->duration);
	if (code == 0)
		code = reader_value(r, root, "way", MODEL_TIME, &r->model->way);
	return code < 0 ? code : reader_finish(r, root, "a model");
}

int model_read(FILE *in, const char *name, struct model **ret, struct err *err)
{
	AUTO(yaml_node) struct yaml_node *root = NULL;
	int code = yaml_tree_read(in, name, &root, err);
	if (code < 0)
		return code;
	AUTO(model) struct model *model = model_new();
	if (model)
		model->file = model_text(model, name);
	if (!model || !model->file)
		return err_set(err, -ENOMEM, "out of memory");
	const struct reader r = { .model = model, .file = name, .err = err };
	if (root->kind != YAML_MAP)
		return reader_fail(&r, root->line, "not a model");
	code = read_sections(&r, root);
	if (code == 0)
		code = model_check(model, err);
	if (code == 0)
		*ret = TAKE(model);
	return code;
}
