/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * YAML as a tree that knows the line of each node, for a reader that must name the place of what only it
 * can know to be wrong (an unknown lock, a missing unit). Scalars stay text. Anchors, aliases, more than
 * one document and keys that are not text or come twice are refused.
 */
#ifndef MODEL_YAML_TREE_H
#define MODEL_YAML_TREE_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
	YAML_TREE_BYTES_MAX = 8 << 20,
	YAML_TREE_NODES_MAX = 200000,
	YAML_TREE_ENTRIES_MAX = 10000, /* of one mapping */
	YAML_TREE_DEPTH_MAX = 32,
};

struct yaml_node {
	enum yaml_node_kind { YAML_TEXT, YAML_LIST, YAML_MAP } kind;
	unsigned line; /* from 1 */
	char *text; /* YAML_TEXT */
	struct yaml_entry {
		char *key; /* YAML_MAP; NULL in a list */
		unsigned line; /* of the key */
		struct yaml_node *node;
		bool is_used; /* the reader's own mark */
	} * entries;
	size_t count, capacity;
};

/* 0; -EINVAL ("NAME:LINE: ..."), -EFBIG, -EIO, -ENOMEM. */
int yaml_tree_read(FILE *in, const char *name, struct yaml_node **ret, struct err *err);
void yaml_node_free(struct yaml_node *node);
CLEANUP_DEFINE(yaml_node, yaml_node_free)

#endif
