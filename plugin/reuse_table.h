/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often a code's accesses of a stretch had which reuse distance (struct reuse_table). */
#ifndef PLUGIN_REUSE_TABLE_H
#define PLUGIN_REUSE_TABLE_H

#include "thread.h"

/* Adds a sample that stands for `weight` accesses; without memory it is lost. */
void reuse_table_add(struct reuse_table *table, struct sum *sum, uint32_t code,
	enum raw_scope scope, unsigned bin, double weight);

/* The code of an entry's key; UINT32_MAX: none. */
uint32_t reuse_table_code(uint64_t key);

#endif
