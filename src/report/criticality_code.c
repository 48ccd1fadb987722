/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of code and of what lies in memory: through results' modules to a struct code_finder. */
#include "report/criticality_code.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/runtimes.h"
#include "report/criticality_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct code_place criticality_find_code(const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address)
{
	const struct result_module *module = address ? results_module(results, pid, address) : NULL;
	if (!module || !finder)
		return (struct code_place){ 0 };
	return finder->find(finder->context, module->path, address - module->bias);
}

size_t criticality_find_inlined(const struct results *results, const struct code_finder *finder,
	uint32_t pid, uint64_t address, const char *ret[CODE_INLINED_MAX])
{
	const struct result_module *module = address ? results_module(results, pid, address) : NULL;
	if (!module || !finder || !finder->find_inlined)
		return 0;
	return finder->find_inlined(finder->context, module->path, address - module->bias, ret);
}

static void add_place(struct strbuf *out, const struct code_place *place)
{
	strbuf_add(out, place->symbol);
	if (place->file)
		strbuf_addf(out, " (%s:%" PRIu32 ")", path_file_name(place->file), place->line);
}

void criticality_add_code(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address)
{
	const struct result_module *module = address ? results_module(results, pid, address) : NULL;
	struct code_place place = criticality_find_code(results, finder, pid, address);
	if (place.symbol)
		add_place(out, &place);
	else if (module)
		strbuf_addf(
			out, "%s+0x%" PRIx64, path_file_name(module->path), address - module->bias);
	else
		strbuf_addf(out, "0x%" PRIx64, address);
}

void criticality_add_inlined_code(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address)
{
	const char *inlined[CODE_INLINED_MAX];
	size_t count = criticality_find_inlined(results, finder, pid, address, inlined);
	struct code_place place = criticality_find_code(results, finder, pid, address);
	if (!place.symbol || count == 0) {
		criticality_add_code(out, results, finder, pid, address);
		return;
	}
	strbuf_add(out, place.symbol);
	for (size_t i = 0; i < count; i++)
		strbuf_addf(out, " > %s", inlined[i]);
	if (place.file)
		strbuf_addf(out, " (%s:%" PRIu32 ")", path_file_name(place.file), place.line);
}

void criticality_add_function(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, uint32_t pid, uint64_t address)
{
	struct code_place place = criticality_find_code(results, finder, pid, address);
	if (place.symbol)
		strbuf_add(out, place.symbol);
	else
		criticality_add_code(out, results, finder, pid, address);
}

/*
 * Some recorders know a module by its code only: its data lie behind, in the module that begins last
 * before them. Where there is no symbol there is no name.
 */
static const struct result_module *find_data_module(
	const struct results *results, uint32_t pid, uint64_t address)
{
	const struct result_module *best = NULL;
	for (size_t i = 0; i < results->module_count; i++) {
		const struct result_module *module = &results->modules[i];
		if (module->pid == pid && module->bias <= address &&
			(!best || module->bias >= best->bias))
			best = module;
	}
	return best;
}

/* What a library has for all who use it says nothing about the use: the words at which C++'s atomics wait. */
static bool is_inside_library(const char *name)
{
	return strncmp(name, "std::__", strlen("std::__")) == 0;
}

/* An object at a fixed address: a variable, or code (a parallel region). False: no name is known. */
static bool add_object(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, const struct result_lock *lock)
{
	const struct result_module *module = find_data_module(results, lock->pid, lock->address);
	if (!module || !finder)
		return false;
	uint64_t address = lock->address - module->bias;
	AUTO_FREE char *variable = finder->name_object(finder->context, module->path, address);
	if (variable && is_inside_library(variable))
		return false;
	if (variable) {
		strbuf_add(out, variable);
		return true;
	}
	struct code_place place = finder->find(finder->context, module->path, address);
	if (!place.symbol || is_inside_library(place.symbol))
		return false;
	if (place.file) {
		add_place(out, &place);
		return true;
	}
	strbuf_add(out, place.symbol);
	if (place.offset > 0)
		strbuf_addf(out, "+%" PRIu64, place.offset);
	if (runtime_lock(place.symbol))
		strbuf_addf(out, " (%s)", runtime_lock(place.symbol));
	return true;
}

/* An object on a thread's stack, in a function that was there when it started others. */
static bool add_local(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, const struct result_lock *lock)
{
	const struct result_module *module =
		lock->frame ? results_module(results, lock->pid, lock->frame_site) : NULL;
	if (!module || !finder)
		return false;
	/* A return address lies behind the call. */
	AUTO_FREE char *name = finder->name_local(finder->context, module->path,
		lock->frame_site - 1 - module->bias, (int64_t)(lock->frame_begin - lock->frame),
		(int64_t)(lock->address - lock->frame));
	if (name)
		strbuf_add(out, name);
	return name != NULL;
}

/* A member of what its users call it by: where they come from, else where it was made. */
static bool add_passed(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, const struct result_lock *lock)
{
	struct code_call calls[LOCK_CALLERS_MAX];
	size_t count = 0;
	const uint64_t first[] = { lock->site ? lock->site : lock->init_site, 0 };
	const uint64_t *sites = lock->callers[0] ? lock->callers : first;
	for (; count < LOCK_CALLERS_MAX && sites[count]; count++) {
		const struct result_module *module =
			results_module(results, lock->pid, sites[count]);
		if (!module)
			break;
		calls[count] = (struct code_call){ module->path, sites[count] - module->bias };
	}
	if (count == 0 || !finder)
		return false;
	AUTO_FREE char *name = finder->name_passed(finder->context, lock->what, calls, count);
	if (name)
		strbuf_add(out, name);
	return name != NULL;
}

static bool is_written(const struct results *results, const struct code_finder *finder,
	uint32_t pid, uint64_t address)
{
	struct code_place place = criticality_find_code(results, finder, pid, address);
	return place.file && !place.is_system;
}

/*
 * Where who signals it comes from: of the functions around that somebody wrote the one that a library called, as an OpenMP
 * region, or the outermost. As what a call returns to; 0: not known.
 */
static uint64_t find_signaller(const struct results *results, const struct code_finder *finder,
	const struct result_lock *lock)
{
	const struct result_stack *stack = lock->signaller && lock->signaller_stack != INDEX_NONE
						   ? &results->stacks[lock->signaller_stack]
						   : NULL;
	uint64_t found = 0, next = lock->signaller ? lock->signaller + 1 : 0;
	for (size_t i = 0; next; i++) {
		bool is_own = is_written(results, finder, lock->pid, next - 1);
		if (found && !is_own)
			break;
		found = is_own ? next : 0;
		next = stack && i < stack->frame_count ? stack->frames[i] : 0;
	}
	return found;
}

/*
 * The innermost of those who wait for it that somebody wrote; else its first use, or, of a barrier of a runtime's own
 * threads, who lets them go.
 */
static uint64_t find_user(const struct results *results, const struct code_finder *finder,
	const struct result_lock *lock)
{
	for (size_t i = 0; i < LOCK_CALLERS_MAX && lock->callers[i]; i++) {
		if (is_written(results, finder, lock->pid, lock->callers[i] - 1))
			return lock->callers[i];
	}
	struct code_place place =
		criticality_find_code(results, finder, lock->pid, lock->site ? lock->site - 1 : 0);
	uint64_t signaller = place.is_system && lock->what == WHAT_BARRIER
				     ? find_signaller(results, finder, lock)
				     : 0;
	return signaller ? signaller : lock->site;
}

bool criticality_is_parking(const struct results *results, const struct code_finder *finder,
	const struct result_lock *lock)
{
	uint64_t user = find_user(results, finder, lock);
	const struct result_module *module =
		user ? results_module(results, lock->pid, user - 1) : NULL;
	if (lock->name || lock->is_code || !module)
		return false;
	/* Of the C library nobody knows for whom it waits. */
	return runtime_is(module->path)
		       ? runtime_parks(module->path)
		       : criticality_find_code(results, finder, lock->pid, user - 1).is_system;
}

void criticality_add_lock(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, const struct result_lock *lock)
{
	if (lock->name) {
		strbuf_add(out, lock->name);
		return;
	}
	/* What lies at a place in the code is no lock. */
	if (!lock->is_code &&
		(add_object(out, results, finder, lock) || add_local(out, results, finder, lock)))
		return;
	uint64_t user = find_user(results, finder, lock);
	bool is_made = lock->init_site && !(lock->is_one_of_many && user);
	uint64_t site = is_made ? lock->init_site : user;
	if (!add_passed(out, results, finder, lock))
		strbuf_add(out, what_name(lock->what));
	if (site) {
		strbuf_add(out, is_made ? " made in " : " used in ");
		criticality_add_inlined_code(out, results, finder, lock->pid, site - 1);
	} else {
		strbuf_addf(out, " 0x%" PRIx64, lock->address);
	}
}

bool criticality_add_use(struct strbuf *out, const struct results *results,
	const struct code_finder *finder, const struct result_lock *lock)
{
	const uint64_t sites[] = { lock->worst_site, find_user(results, finder, lock) };
	for (size_t i = 0; i < ARRAY_SIZE(sites); i++) {
		struct code_place place =
			criticality_find_code(results, finder, lock->pid, sites[i] - 1);
		if (sites[i] == 0 || !place.file || place.is_system)
			continue;
		criticality_add_inlined_code(out, results, finder, lock->pid, sites[i] - 1);
		return i == 0;
	}
	return false;
}
