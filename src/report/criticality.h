/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An analysis of a timeline for people and for tools, as report.h does it for forecasts: functions
 * append to a string, which the caller checks once. Nothing here reads a program file: names of
 * code come through a struct code_finder.
 */
#ifndef REPORT_CRITICALITY_H
#define REPORT_CRITICALITY_H

#include "base/strbuf.h"
#include "criticality/results.h"
#include "report/text.h"

/* Where an address lies; texts are borrowed until the next call. NULL and 0: unknown. */
struct code_place {
	const char *symbol; /* of a function or of an object */
	uint64_t offset; /* from where that begins; without a symbol: the function, where known */
	const char *file;
	uint32_t line;
	bool is_system; /* of a system header, or of a library that comes with a language */
	bool is_given; /* but `symbol` is what the program gave such a library to run */
};

/* A call on a stack: where it returns to. */
struct code_call {
	const char *module;
	uint64_t site;
};

enum { CODE_INLINED_MAX = 3 };

/*
 * All are given a program file and an address as the file itself counts them. What name_object() and
 * name_local() return is a variable or a member of one ("server.queue.lock", "main: lock"), freed by
 * the caller; NULL: unknown. A frame of the function begins `begin` and the object lies `offset` from
 * the frame's canonical address. name_passed() is what a function that takes a lock was given by those
 * calls, innermost first ("pool.lock"), likewise. find_inlined() tells the functions that the compiler put into the one
 * there, outermost first, and how many; their names are borrowed as long as the finder lives. It may be NULL.
 */
struct code_finder {
	void *context;
	struct code_place (*find)(void *context, const char *module, uint64_t address);
	char *(*name_object)(void *context, const char *module, uint64_t address);
	char *(*name_local)(
		void *context, const char *module, uint64_t code, int64_t begin, int64_t offset);
	char *(*name_passed)(
		void *context, uint8_t what, const struct code_call *calls, size_t count);
	size_t (*find_inlined)(void *context, const char *module, uint64_t address,
		const char *ret[CODE_INLINED_MAX]);
};

/* What all functions below need; `subject`: the file's or program's name. Borrowed. */
struct criticality_input {
	const struct results *results;
	const char *subject;
	const struct code_finder *finder; /* NULL: addresses only */
};

/* Findings, stack, bottle graph, strip over time, locks, code, data quality. */
void report_criticality_text(
	struct strbuf *out, const struct criticality_input *input, const struct text_style *style);

/* docs/formats/criticality.json.md */
void report_criticality_json(struct strbuf *out, const struct criticality_input *input);

void report_criticality_svg(struct strbuf *out, const struct criticality_input *input);
void report_criticality_html(struct strbuf *out, const struct criticality_input *input);

/* The same as sections of a page that others begin and end (page.h). */
void criticality_add_sections(struct strbuf *out, const struct criticality_input *input);
/* The findings, each ended by a line break. */
void criticality_add_findings(struct strbuf *out, const struct criticality_input *input);

/* Blame by line of code as folded stacks: a line for each, nanoseconds last. */
void report_criticality_folded(struct strbuf *out, const struct criticality_input *input);

/* What changed from a to b. */
void report_criticality_change_text(struct strbuf *out, const struct criticality_input *a,
	const struct criticality_input *b, const struct text_style *style);
void report_criticality_change_json(
	struct strbuf *out, const struct criticality_input *a, const struct criticality_input *b);

#endif
