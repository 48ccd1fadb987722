/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of code and of what lies in memory, appended to a string. `finder` may be NULL: addresses. */
#ifndef REPORT_CRITICALITY_CODE_H
#define REPORT_CRITICALITY_CODE_H

#include "report/criticality.h"

/* Where an address of a process lies, as far as the finder knows. */
struct code_place criticality_find_code(const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address);

/* Functions that the compiler put into the one at an address, as struct code_finder has them. */
size_t criticality_find_inlined(const struct results *results, const struct code_finder *finder,
	uint32_t pid, uint64_t address, const char *ret[CODE_INLINED_MAX]);

/* "work (pool.c:41)", "libx.so+0x1234", "0x7f...". */
void criticality_add_code(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address);

/* The same with what was put into the function: "work > insert (pool.c:41)". */
void criticality_add_inlined_code(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address);

/* The same without file and line. */
void criticality_add_function(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address);

struct criticality_view;
struct code_label;

/*
 * What ran at a site by samples: its own address, but of the recorder's code the address in the program that led to it, behind
 * *ret_above of its callers. 0: not known.
 */
uint64_t criticality_program_code(const struct results *results, const struct code_finder *finder,
	const struct result_site *site, size_t *ret_above);

/*
 * "main > run > ": who called a function most of the time that it ran alone, as far as samples agree. NULL: not known, or
 * no memory. The caller frees it.
 */
char *criticality_callers(const struct criticality_view *view, const struct code_finder *finder,
	const struct code_label *label);

/*
 * The name that the timeline gives it; else the variable at its address ("server.queue.lock") or on the
 * stack ("main: lock"); else what it is a member of, and where it was made, or used ("pool.lock made in open
 * (pool.c:41)", "mutex used in work (pool.c:52)").
 */
void criticality_add_lock(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, const struct result_lock *lock);

/*
 * Whether threads that somebody's runtime (Go's, Java's) parks wait there, as far as anybody knows: of what the program
 * waits for meanwhile its word says nothing.
 */
bool criticality_is_parking(const struct results *results, const struct code_finder *finder,
	const struct result_lock *lock);

/*
 * Where the program uses a lock, in code that somebody wrote: true: where who is blamed most took it; false: where the
 * first that waited for it did, or nothing where that is not known.
 */
bool criticality_add_use(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, const struct result_lock *lock);

#endif
