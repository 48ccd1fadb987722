/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A space of processors: one machine, figures that vary, others that follow from them by formulas, and what
 * a design may not be. docs/formats/space.md:
 *
 *	base: base
 *	vary:
 *	  dispatch_width: [2, 3, 4, 5, 6]
 *	  l3.size: { from: 4 MiB, to: 32 MiB, times: 2 }
 *	set:
 *	  frequency: 10e9 / dispatch_width
 *	require:
 *	  - { value: rob * frequency, most: 1e12 }
 *
 * A point is one combination of what varies; the last axis changes fastest.
 */
#ifndef UARCH_SPACE_H
#define UARCH_SPACE_H

#include "base/cleanup.h"
#include "uarch/machine_field.h"

enum {
	SPACE_AXES_MAX = 16,
	SPACE_RULES_MAX = 64,
	SPACE_VALUES_MAX = 10000, /* of an axis */
	SPACE_POINTS_MAX = 1000000,
};

struct space;

/* `path` names it in errors: "FILE:LINE: ...". 0, -EINVAL, -ENOMEM. */
int space_parse(
	const char *path, const char *text, size_t length, struct space **ret, struct err *err);
void space_free(struct space *space);
CLEANUP_DEFINE(space, space_free)

/* The machine, as the file names it. Borrowed. */
const char *space_base(const struct space *space);

size_t space_size(const struct space *space);

/* What follows by a formula or is set: the n-th field, NULL: no more. */
const struct machine_field *space_setting(const struct space *space, size_t n);

/* What varies: the n-th field, NULL: no more; and its value in a point. */
const struct machine_field *space_axis(const struct space *space, size_t n);
double space_value(const struct space *space, size_t axis, size_t point);
/* As a file would have it. */
void space_format(
	const struct space *space, size_t axis, size_t point, char ret[MACHINE_VALUE_BYTES]);

/*
 * A point's processor: the base's, whose texts it borrows. 1: there it is; 0: it is not to be, by a requirement or because
 * its figures do not fit one another (a cache that is slower than the next): err says why; -EINVAL: a formula
 * that cannot be worked out, err names its line; -ENOMEM.
 */
int space_point(const struct space *space, const struct processor *base, size_t point,
	struct processor *ret, struct err *err);

#endif
