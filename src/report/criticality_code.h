/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of code and of what lies in memory, appended to a string. `finder` may be NULL: addresses. */
#ifndef REPORT_CRITICALITY_CODE_H
#define REPORT_CRITICALITY_CODE_H

#include "report/criticality.h"

/* Where an address of a process lies, as far as the finder knows. */
struct code_place criticality_find_code(const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address);

/* "work (pool.c:41)", "libx.so+0x1234", "0x7f...". */
void criticality_add_code(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address);

/* The same without file and line. */
void criticality_add_function(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address);

/*
 * The name that the timeline gives it; else the variable at its address ("server.queue.lock") or on the
 * stack ("main: lock"); else what it is a member of, and where it was made, or used ("pool.lock made in open
 * (pool.c:41)", "mutex used in work (pool.c:52)").
 */
void criticality_add_lock(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, const struct result_lock *lock);

#endif
