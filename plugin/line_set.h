/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of cache lines that only grows. { 0 } is empty. */
#ifndef PLUGIN_LINE_SET_H
#define PLUGIN_LINE_SET_H

#include <stdbool.h>
#include <stdint.h>

struct line_set {
	uint64_t *lines; /* open addressing: line + 1 */
	uint32_t bits, used;
};

/* Whether the line was not in the set; it is now. False without memory. */
bool line_set_add(struct line_set *set, uint64_t line);

#endif
