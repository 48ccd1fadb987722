/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers for the names that a person wrote into a timeline instead of numbers. */
#ifndef TRACE_CSV_NAMES_H
#define TRACE_CSV_NAMES_H

#include "base/map.h"

#include <stddef.h>
#include <stdint.h>

/* Above user-space addresses of all processors, so that no numbered object of the file is meant. */
#define CSV_NAMES_OBJECTS (1ull << 60)

/* The top of the range of thread numbers, for the same reason. */
enum { CSV_NAMES_THREADS = 4000000 };

struct csv_name {
	char *text;
	uint64_t number;
};

struct csv_name_list {
	struct csv_name *items; /* sorted by text */
	size_t count, capacity;
};

struct csv_names {
	struct csv_name_list threads, objects;
	struct map told; /* (process and what, object) */
};

/* The number of a name, a new one when it is seen for the first time. 0, -ENOMEM. */
int csv_names_thread(struct csv_names *names, const char *text, uint64_t *ret);
int csv_names_object(struct csv_names *names, const char *text, uint64_t *ret);

/* 1 if this is asked for the first time, else 0; -ENOMEM. */
int csv_names_is_new(struct csv_names *names, uint32_t pid, unsigned what, uint64_t object);

void csv_names_release(struct csv_names *names);

#endif
