/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The figures of a processor by name: what a machine file says, what a design space varies. One table is
 * behind the reader, the writer, the checks and the names.
 *
 *	frequency	rob	l2.size	l3.latency	memory.bandwidth	power.static
 *
 * Values are text with units ("2.5 GHz", "32 KiB", "65 ns"), or plain numbers in the units of processor.h.
 */
#ifndef UARCH_MACHINE_FIELD_H
#define UARCH_MACHINE_FIELD_H

#include "base/err.h"
#include "uarch/processor.h"

#include <stdbool.h>

/* What a figure measures, and so which units it may have. */
enum machine_quantity {
	MACHINE_COUNT, /* whole */
	MACHINE_NUMBER, /* cycles too */
	MACHINE_SHARE, /* 0.2 or 20% */
	MACHINE_HZ,
	MACHINE_BYTES,
	MACHINE_NS,
	MACHINE_BYTES_PER_S,
	MACHINE_LATENCY, /* cycles, or with a unit the ns of a clock of its own */
	MACHINE_WATT,
	MACHINE_NANOFARAD,
	MACHINE_NANOJOULE,
	MACHINE_VOLT,
	MACHINE_PREDICTOR, /* words: predictor_names, prefetch_names */
	MACHINE_PREFETCH,
	MACHINE_REPLACEMENT, /* replacement_names */
};

enum { MACHINE_SECTIONS = 11 };
extern const char
	*const machine_sections[MACHINE_SECTIONS]; /* of a file, in its order; "": itself */

struct machine_field {
	const char *section; /* of machine_sections */
	const char *key;
	enum machine_quantity quantity;
	size_t offset; /* in struct processor; of a latency: of its struct cache */
	enum { MACHINE_U32, MACHINE_U64, MACHINE_DOUBLE, MACHINE_CACHE } store;
	double least, most;
	bool is_needed; /* of a section that is there */
};

/* The n-th field in the order of a file; NULL: no more. */
const struct machine_field *machine_field(size_t n);

/* By its name, "rob" or "l2.size"; NULL. */
const struct machine_field *machine_field_find(const char *name);

/*
 * A value as people write it, in the field's own unit (of words: which of them); *ret_has_unit: it had one.
 * 0, or -EINVAL (not a number, no such unit or word, a unit is missing).
 */
int machine_value_parse(enum machine_quantity quantity, const char *text, double *ret,
	bool *ret_has_unit, struct err *err);

/* Sets a field. 0, or -EINVAL: out of its bounds, or not whole. A latency: in ns if `has_unit`. */
int machine_field_set(const struct machine_field *field, struct processor *processor, double value,
	bool has_unit, struct err *err);

/* In the unit of the field. */
double machine_field_get(const struct machine_field *field, const struct processor *processor);

enum { MACHINE_VALUE_BYTES = 40 };
/* As a file has it, with the largest unit that needs no fraction. */
void machine_value_format(
	enum machine_quantity quantity, double value, char ret[MACHINE_VALUE_BYTES]);
void machine_field_format(const struct machine_field *field, const struct processor *processor,
	char ret[MACHINE_VALUE_BYTES]);

/* What follows from the other figures where it is 0: queues as large as the ROB, private caches, levels. */
void processor_settle(struct processor *processor);

/* Whether figures fit one another; `name` of the field that does not in *ret_field (not owned). 0, -EINVAL. */
int processor_check(const struct processor *processor, const char **ret_field, struct err *err);

#endif
