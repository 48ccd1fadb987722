/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libyaml's events into a tree; what is open is a stack, so the depth of a file costs no C stack. */
#include "model/yaml_tree.h"

#include "base/lines.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

struct builder {
	const char *name;
	struct err *err;
	struct yaml_node *root;
	struct yaml_node *open[YAML_TREE_DEPTH_MAX];
	size_t depth, node_count;
	char *key; /* of the entry that comes next, NULL: a key is expected */
	unsigned key_line;
};

void yaml_node_free(struct yaml_node *node)
{
	if (!node)
		return;
	for (size_t i = 0; i < node->count; i++) {
		free(node->entries[i].key);
		yaml_node_free(node->entries[i].node); /* at most YAML_TREE_DEPTH_MAX deep */
	}
	free(node->entries);
	free(node->text);
	free(node);
}

static int out_of_memory(const struct builder *b)
{
	return err_set(b->err, -ENOMEM, "out of memory");
}

static int fail(const struct builder *b, const yaml_event_t *event, const char *why)
{
	return err_set(b->err, -EINVAL, "%s:%zu: %s", b->name, event->start_mark.line + 1, why);
}

static int take_key(struct builder *b, const yaml_event_t *event)
{
	const struct yaml_node *map = b->open[b->depth - 1];
	if (event->type != YAML_SCALAR_EVENT)
		return fail(b, event, "a name was expected here");
	const char *text = (const char *)event->data.scalar.value;
	if (strlen(text) != event->data.scalar.length)
		return fail(b, event, "a zero byte");
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->entries[i].key, text) == 0)
			return err_set(b->err, -EINVAL, "%s:%zu: '%s' is already in line %u",
				b->name, event->start_mark.line + 1, text_show(text).text,
				map->entries[i].line);
	b->key = strdup(text);
	b->key_line = (unsigned)event->start_mark.line + 1;
	return b->key ? 0 : out_of_memory(b);
}

/* Hangs `node` where the next one belongs; the tree owns it from then on. */
static int attach(struct builder *b, const yaml_event_t *event, struct yaml_node *node)
{
	if (!b->depth) {
		b->root = node;
		return 0;
	}
	struct yaml_node *parent = b->open[b->depth - 1];
	if (parent->kind == YAML_MAP && parent->count == YAML_TREE_ENTRIES_MAX) {
		yaml_node_free(node);
		return fail(b, event, "too many entries");
	}
	if (mem_grow(&parent->entries, &parent->capacity, parent->count + 1,
		    sizeof *parent->entries) < 0) {
		yaml_node_free(node);
		return out_of_memory(b);
	}
	parent->entries[parent->count++] =
		(struct yaml_entry){ .key = TAKE(b->key), .line = b->key_line, .node = node };
	return 0;
}

static int add_node(struct builder *b, const yaml_event_t *event, enum yaml_node_kind kind)
{
	const yaml_char_t *anchor = kind == YAML_TEXT  ? event->data.scalar.anchor
				    : kind == YAML_MAP ? event->data.mapping_start.anchor
						       : event->data.sequence_start.anchor;
	if (anchor)
		return fail(b, event, "anchors and aliases are not used here");
	if (++b->node_count > YAML_TREE_NODES_MAX)
		return fail(b, event, "too many values");
	if (kind != YAML_TEXT && b->depth == YAML_TREE_DEPTH_MAX)
		return fail(b, event, "nested too deeply");
	struct yaml_node *node = calloc(1, sizeof *node);
	if (!node)
		return out_of_memory(b);
	node->kind = kind;
	node->line = (unsigned)event->start_mark.line + 1;
	if (kind == YAML_TEXT) {
		const char *text = (const char *)event->data.scalar.value;
		node->text = strdup(text);
		if (!node->text || strlen(text) != event->data.scalar.length) {
			int code = node->text ? fail(b, event, "a zero byte") : out_of_memory(b);
			yaml_node_free(node);
			return code;
		}
	}
	int code = attach(b, event, node);
	if (code == 0 && kind != YAML_TEXT)
		b->open[b->depth++] = node;
	return code;
}

static int take_event(struct builder *b, const yaml_event_t *event)
{
	bool is_end =
		event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT;
	if (is_end) {
		b->depth--;
		return 0;
	}
	if (b->depth && b->open[b->depth - 1]->kind == YAML_MAP && !b->key)
		return take_key(b, event);
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return add_node(b, event, YAML_TEXT);
	case YAML_SEQUENCE_START_EVENT:
		return add_node(b, event, YAML_LIST);
	case YAML_MAPPING_START_EVENT:
		return add_node(b, event, YAML_MAP);
	case YAML_ALIAS_EVENT:
		return fail(b, event, "anchors and aliases are not used here");
	case YAML_DOCUMENT_START_EVENT:
		return b->root ? fail(b, event, "a second document") : 0;
	default:
		return 0;
	}
}

static int read_events(struct builder *b, yaml_parser_t *parser)
{
	for (bool is_end = false; !is_end;) {
		yaml_event_t event;
		if (!yaml_parser_parse(parser, &event)) {
			if (parser->error == YAML_MEMORY_ERROR)
				return out_of_memory(b);
			return err_set(b->err, -EINVAL, "%s:%zu: not YAML: %s", b->name,
				parser->problem_mark.line + 1,
				parser->problem ? parser->problem : "unreadable");
		}
		is_end = event.type == YAML_STREAM_END_EVENT;
		int code = take_event(b, &event);
		yaml_event_delete(&event);
		if (code < 0)
			return code;
	}
	return b->root ? 0 : err_set(b->err, -EINVAL, "%s:1: the file says nothing", b->name);
}

static int read_bytes(FILE *in, const char *name, char **ret, size_t *ret_length, struct err *err)
{
	AUTO_FREE char *text = NULL;
	size_t length = 0, capacity = 0;
	while (!feof(in)) {
		if (mem_grow(&text, &capacity, length + 65536, 1) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		length += fread(text + length, 1, capacity - length, in);
		if (ferror(in))
			return err_set(err, -EIO, "cannot read '%s': %s", name, strerror(errno));
		if (length > YAML_TREE_BYTES_MAX)
			return err_set(err, -EFBIG, "'%s' is larger than %d MiB", name,
				YAML_TREE_BYTES_MAX >> 20);
	}
	*ret = TAKE(text);
	*ret_length = length;
	return 0;
}

int yaml_tree_read(FILE *in, const char *name, struct yaml_node **ret, struct err *err)
{
	AUTO_FREE char *text = NULL;
	size_t length = 0;
	int code = read_bytes(in, name, &text, &length, err);
	if (code < 0)
		return code;
	yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser))
		return err_set(err, -ENOMEM, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	struct builder b = { .name = name, .err = err };
	code = read_events(&b, &parser);
	yaml_parser_delete(&parser);
	free(b.key);
	AUTO(yaml_node) struct yaml_node *root = b.root;
	if (code == 0)
		*ret = TAKE(root);
	return code;
}
