/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of a raw chunk that stand for several (trace_again(), trace_both(), trace_taken() of preload/trace_record.h), written out: all
 * that is behind this knows one row for each event only, but for locks that are held.
 */
#ifndef TRACE_EXPAND_H
#define TRACE_EXPAND_H

#include "preload/trace_record.h"

#include <stddef.h>

/*
 * Copies rows to `ret`, which has room for TRACE_AGAINS times as many; the number of rows there.
 * What repeats a row that cannot be repeated is left out and added to *ret_lost.
 */
size_t rows_expand(const struct trace_record *rows, size_t row_count, struct trace_record *ret,
	uint64_t *ret_lost);

#endif
