/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who called the code that ran. A helper that all call says little by its own name: of the one function that a finding
 * names, the callers are told as far as more than half of its time came by the same way.
 */
#include "report/criticality_code.h"
#include "report/criticality_view.h"

#include "base/cleanup.h"
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

enum { LEVELS = 3 }; /* callers that are told; as many are read at once */

/* One site's way to the function: names of its callers, innermost first, up to NULL. */
struct way {
	char *names[LEVELS];
	uint64_t ns;
};

static bool is_recorder(const struct result_module *module)
{
	return module &&
	       strncmp(path_file_name(module->path), "libcorecast-", strlen("libcorecast-")) == 0;
}

static const struct result_stack *stack_of(
	const struct results *results, const struct result_site *site)
{
	return results->has_samples && site->stack != INDEX_NONE ? &results->stacks[site->stack]
								 : NULL;
}

/* Code that may be there on behalf of the recorder: its own, and of the libraries that it calls. */
static bool may_be_recorder(const struct results *results, const struct code_finder *finder,
	uint32_t pid, uint64_t address)
{
	return is_recorder(results_module(results, pid, address)) ||
	       (criticality_find_code(results, finder, pid, address).is_system);
}

uint64_t criticality_program_code(const struct results *results, const struct code_finder *finder,
	const struct result_site *site, size_t *ret_above)
{
	const struct result_stack *stack = stack_of(results, site);
	uint64_t address = site->address, program = site->address;
	size_t above = 0, frame_count = stack ? stack->frame_count : 0;
	while (may_be_recorder(results, finder, site->pid, address)) {
		bool is_ours = is_recorder(results_module(results, site->pid, address));
		/* What a call returns to lies behind the call. */
		uint64_t caller = above < frame_count ? stack->frames[above++] : 0;
		address = caller ? caller - 1 : 0;
		if (is_ours) {
			program = address;
			*ret_above = above;
		}
	}
	return program;
}

/* Whether one of the program's own functions. */
static bool is_own(const struct code_place *place)
{
	return place->symbol && !place->is_system && strncmp(place->symbol, "std::", 5) != 0 &&
	       strncmp(place->symbol, "__", 2) != 0 && strncmp(place->symbol, "core::", 6) != 0 &&
	       strcmp(place->symbol, "_start") != 0;
}

/* Recursion is one level. False: no memory. */
static bool add_level(struct way *way, size_t *level, const char *name, const char *function)
{
	const char *last = *level > 0 ? way->names[*level - 1] : function;
	if (*level == LEVELS || strcmp(name, last) == 0)
		return true;
	way->names[*level] = strdup(name);
	return way->names[(*level)++] != NULL;
}

static bool read_way(struct way *way, const struct results *results,
	const struct code_finder *finder, const struct result_site *site, size_t above,
	const char *function)
{
	const struct result_stack *stack = stack_of(results, site);
	bool is_fine = true;
	size_t level = 0;
	for (size_t i = above; stack && i < stack->frame_count && level < LEVELS && is_fine; i++) {
		const char *inlined[CODE_INLINED_MAX];
		uint64_t address = stack->frames[i] - 1;
		size_t count =
			criticality_find_inlined(results, finder, site->pid, address, inlined);
		while (count > 0 && is_fine)
			is_fine = add_level(way, &level, inlined[--count], function);
		/* Borrowed until the next question. */
		struct code_place place =
			criticality_find_code(results, finder, site->pid, address);
		if (is_fine && is_own(&place))
			is_fine = add_level(way, &level, place.symbol, function);
	}
	return is_fine;
}

/* The name at a level that has more than half of the time of all ways, among those whose levels below are the same as `first`'s. */
static const struct way *majority(
	const struct way *ways, size_t count, const struct way *first, size_t level, uint64_t all)
{
	const struct way *candidate =
		NULL; /* by majority vote: whoever has more than half is left */
	uint64_t ahead = 0, its = 0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < count; i++) {
			const char *name = ways[i].names[level];
			bool is_on_it = name != NULL;
			for (size_t k = 0; k < level && is_on_it; k++)
				is_on_it = strcmp(ways[i].names[k], first->names[k]) == 0;
			if (!is_on_it)
				continue;
			bool is_same = candidate && strcmp(candidate->names[level], name) == 0;
			if (pass == 1)
				its += is_same ? ways[i].ns : 0;
			else if (is_same)
				ahead += ways[i].ns;
			else if (ahead >= ways[i].ns)
				ahead -= ways[i].ns;
			else {
				ahead = ways[i].ns - ahead;
				candidate = &ways[i];
			}
		}
	return candidate && its > all / 2 ? candidate : NULL;
}

/* "main > run > "; NULL: not known, or no memory. */
static char *common_way(const struct way *ways, size_t count, uint64_t all)
{
	const struct way *way = NULL;
	size_t levels = 0;
	for (const struct way *next;
		levels < LEVELS && (next = majority(ways, count, way, levels, all)); levels++)
		way = next;
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	for (size_t i = levels; i-- > 0;)
		strbuf_addf(&text, "%s > ", way->names[i]);
	return levels > 0 && strbuf_failed(&text) == 0 ? TAKE(text.text) : NULL;
}

static bool is_at(const struct code_place *place, const struct code_label *label)
{
	return place->symbol && strcmp(place->symbol, label->function) == 0 &&
	       (!place->file || !label->file || strcmp(place->file, label->file) == 0);
}

char *criticality_callers(const struct criticality_view *view, const struct code_finder *finder,
	const struct code_label *label)
{
	const struct results *results = view->results;
	size_t count = 0;
	uint64_t all = 0;
	if (!results->has_samples || !label->function)
		return NULL;
	struct way *ways = calloc(results->site_count + 1, sizeof *ways);
	bool is_fine = ways != NULL;
	for (size_t i = 0; i < results->site_count && is_fine; i++) {
		const struct result_site *site = &results->sites[i];
		size_t above = 0;
		if (site->alone_ns == 0)
			continue;
		uint64_t address = criticality_program_code(results, finder, site, &above);
		struct code_place place =
			criticality_find_code(results, finder, site->pid, address);
		if (!is_at(&place, label))
			continue;
		ways[count].ns = site->alone_ns;
		all += site->alone_ns;
		is_fine = read_way(&ways[count++], results, finder, site, above, label->function);
	}
	char *text = is_fine ? common_way(ways, count, all) : NULL;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < LEVELS; k++)
			free(ways[i].names[k]);
	free(ways);
	return text;
}
