/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/expand.h"

#include <stdbool.h>
#include <string.h>

/* Where a chunk's thread stands behind its last event. */
struct expansion {
	const struct trace_record *rows;
	struct trace_record *ret;
	size_t ret_count;
	uint64_t time_ns, cpu_ns; /* cpu_ns 0: unknown */
};

static bool is_pass(const struct trace_record *row)
{
	return row->kind == TRACE_PASS && !(row->flags & TRACE_WAITED);
}

static void put_row(struct expansion *expansion, const struct trace_record *row)
{
	uint64_t held_ns = is_pass(row) && row->flags & TRACE_HELD ? row->value : 0;
	expansion->ret[expansion->ret_count++] = *row;
	expansion->time_ns = row->time_ns + held_ns;
	expansion->cpu_ns = row->cpu_ns ? row->cpu_ns + held_ns : 0;
}

static bool can_repeat(const struct trace_record *row, uint32_t tid)
{
	return row->tid == tid && (is_pass(row) || row->kind == TRACE_RELEASE);
}

/* The words of row `at`, up to the first 0; false at one that repeats nothing known. */
static bool put_again(struct expansion *expansion, size_t at)
{
	struct trace_again_record again;
	memcpy(&again, &expansion->rows[at], sizeof again);
	for (size_t i = 0; i < TRACE_AGAINS && again.words[i]; i++) {
		uint64_t word = again.words[i];
		size_t number = (word >> TRACE_AGAIN_ROW_SHIFT) - 1; /* of none: none */
		if (number >= at || !can_repeat(&expansion->rows[number], again.tid))
			return false;
		uint64_t after_ns = word & TRACE_AGAIN_AFTER_MAX;
		uint64_t held = word >> TRACE_AGAIN_AFTER_BITS & (TRACE_AGAIN_HELD_MAX + 1);
		struct trace_record row = expansion->rows[number];
		row.time_ns = expansion->time_ns + after_ns;
		row.cpu_ns = expansion->cpu_ns ? expansion->cpu_ns + after_ns : 0;
		row.value = held ? held - 1 : 0;
		row.flags = (uint16_t)((row.flags & ~TRACE_HELD) | (held ? TRACE_HELD : 0));
		put_row(expansion, &row);
	}
	return true;
}

static bool is_both(const struct trace_record *row)
{
	return row->flags & TRACE_BOTH && (row->kind == TRACE_WAIT || is_pass(row));
}

static void put_pass_and_release(struct expansion *expansion, const struct trace_record *both)
{
	struct trace_record row = *both;
	row.flags = (uint16_t)(row.flags & ~(TRACE_BOTH | TRACE_HELD));
	row.value = 0;
	put_row(expansion, &row);
	row.kind = TRACE_RELEASE;
	row.flags = 0;
	row.time_ns += trace_taken_ns(both->value);
	row.site += (uint64_t)trace_taken_sites(both->value);
	if (row.cpu_ns)
		row.cpu_ns += trace_taken_cpu_ns(both->value);
	put_row(expansion, &row);
}

static void put_wait_and_pass(struct expansion *expansion, const struct trace_record *both)
{
	struct trace_record row = *both;
	row.flags = (uint16_t)(row.flags & ~TRACE_BOTH);
	row.value &= TRACE_BOTH_VALUE_MAX;
	put_row(expansion, &row);
	row.kind = TRACE_PASS;
	row.flags |= TRACE_WAITED;
	row.value = 0;
	row.time_ns += both->value >> TRACE_BOTH_TOOK_SHIFT;
	if (row.cpu_ns)
		row.cpu_ns += both->value >> TRACE_BOTH_CPU_SHIFT & TRACE_BOTH_CPU_MAX;
	put_row(expansion, &row);
}

/* Rows of text behind a name may look like anything. */
static size_t text_rows(const struct trace_record *row, size_t rows_left)
{
	if (row->kind != TRACE_NAME || row->site >= TRACE_NAME_BYTES)
		return 0;
	size_t count = trace_name_rows((uint32_t)row->site) - 1;
	return count <= rows_left ? count : 0;
}

size_t rows_expand(const struct trace_record *rows, size_t row_count, struct trace_record *ret,
	uint64_t *ret_lost)
{
	struct expansion expansion = { .rows = rows, .ret = ret };
	for (size_t i = 0; i < row_count; i++) {
		if (rows[i].kind == TRACE_AGAIN) {
			*ret_lost += !put_again(&expansion, i);
			continue;
		}
		if (is_both(&rows[i])) {
			if (rows[i].kind == TRACE_WAIT)
				put_wait_and_pass(&expansion, &rows[i]);
			else
				put_pass_and_release(&expansion, &rows[i]);
			continue;
		}
		put_row(&expansion, &rows[i]);
		size_t text = text_rows(&rows[i], row_count - i - 1);
		memcpy(&ret[expansion.ret_count], &rows[i + 1], text * sizeof *rows);
		expansion.ret_count += text;
		i += text;
	}
	return expansion.ret_count;
}
