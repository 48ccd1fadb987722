/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/profile_names.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/path.h"
#include "criticality/analysis.h"
#include "report/criticality_code.h"
#include "uarch/profile_timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct naming {
	struct profile *profile;
	struct results *results;
	const struct code_finder *finder;
	struct map known; /* process, address */
	size_t capacity; /* of the profile's names */
};

static void naming_release(struct naming *naming)
{
	map_release(&naming->known);
	results_free(naming->results);
}

/* Takes `text`. 0 or -ENOMEM; an address that has a name keeps it. */
static int add(struct naming *naming, const struct profile_name *place, struct strbuf *text)
{
	struct profile *profile = naming->profile;
	uint64_t *index = NULL;
	int added =
		map_add(&naming->known, place->pid, place->address, profile->name_count, &index);
	if (added <= 0)
		return added;
	if (strbuf_failed(text) < 0 || mem_grow(&profile->names, &naming->capacity,
					       profile->name_count + 1, sizeof *profile->names) < 0)
		return -ENOMEM;
	struct profile_name *name = &profile->names[profile->name_count++];
	*name = *place;
	name->name = TAKE(text->text);
	name->file = place->file ? strdup(place->file) : NULL;
	return place->file && !name->file ? -ENOMEM : 0;
}

static int name_code(struct naming *naming, uint32_t pid, uint64_t address)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	if (address == 0 || map_find(&naming->known, pid, address))
		return 0;
	/* The call is before the address that it returns to. */
	criticality_add_function(&text, naming->results, naming->finder, pid, address - 1);
	struct code_place code =
		criticality_find_code(naming->results, naming->finder, pid, address - 1);
	const struct profile_name place = {
		.pid = pid, .address = address, .file = (char *)code.file, .line = code.line
	};
	return add(naming, &place, &text);
}

static int name_objects(struct naming *naming)
{
	int code = 0;
	for (size_t i = 0; code == 0 && i < naming->results->lock_count; i++) {
		const struct result_lock *lock = &naming->results->locks[i];
		AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
		const struct profile_name place = { .pid = lock->pid, .address = lock->address };
		criticality_add_lock(&text, naming->results, naming->finder, lock);
		code = add(naming, &place, &text);
	}
	return code;
}

/* Calls of a timeline, each once, beside its analysis: a timeline may have millions of events. */
struct calls {
	struct event_sink analysis;
	struct map known; /* process, address */
	struct call {
		uint64_t site;
		uint32_t pid;
	} * items;
	size_t count, capacity;
};

static void calls_release(struct calls *calls)
{
	map_release(&calls->known);
	free(calls->items);
}

static int take_call(struct calls *calls, const struct event *event)
{
	uint64_t *index = NULL;
	int added = map_add(&calls->known, event->pid, event->site, calls->count, &index);
	if (added <= 0)
		return added;
	if (mem_grow(&calls->items, &calls->capacity, calls->count + 1, sizeof *calls->items) < 0)
		return -ENOMEM;
	calls->items[calls->count++] = (struct call){ event->site, event->pid };
	return 0;
}

static int take_event(void *context, const struct event *event, struct err *err)
{
	struct calls *calls = context;
	if (event->site != 0 && take_call(calls, event) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return sink_event(&calls->analysis, event, err);
}

static int take_end(void *context, uint64_t end_ns, struct err *err)
{
	struct calls *calls = context;
	return sink_finish(&calls->analysis, end_ns, err);
}

static int analyse(
	const struct profile *profile, struct calls *calls, struct results **ret, struct err *err)
{
	AUTO(analysis) struct analysis *analysis = NULL;
	int code = analysis_new(&(struct analysis_opts){ .cores = 1 }, &analysis, err);
	if (code < 0)
		return code;
	calls->analysis = analysis_sink(analysis);
	const struct event_sink sink = { calls, take_event, take_end };
	code = profile_timeline_replay(profile, "the timeline", &sink, err);
	return code < 0 ? code : analysis_results(analysis, ret, err);
}

static int name_calls(struct naming *naming, const struct calls *calls)
{
	int code = 0;
	for (size_t i = 0; code == 0 && i < calls->count; i++)
		code = name_code(naming, calls->items[i].pid, calls->items[i].site);
	return code;
}

/* Weights of instructions by code, as micro-traces have them. */
static double *weigh_codes(const struct profile *profile)
{
	double *weights = calloc(profile->code_count + 1, sizeof *weights);
	for (size_t i = 0; weights && i < profile->micro_count; i++) {
		const struct micro_trace *micro = &profile->micro[i];
		for (uint32_t k = 0; k < micro->count; k++)
			weights[micro->ops[k].code] += micro->weight / micro->count;
	}
	return weights;
}

static double share_of(const struct naming *naming, const double *weights, uint32_t pid,
	const struct result_module *module)
{
	const struct profile *profile = naming->profile;
	double all = 0, own = 0;
	for (size_t i = 0; i < profile->code_count; i++) {
		all += weights[i];
		if (weights[i] > 0 &&
			results_module(naming->results, pid, profile->codes[i].address) == module)
			own += weights[i];
	}
	return all > 0 ? own / all : 0;
}

/* The file that asks what the processor can do and executes most. */
static int find_asking(struct naming *naming)
{
	struct profile *profile = naming->profile;
	struct profile_quality *quality = &profile->quality;
	AUTO_FREE double *weights = weigh_codes(profile);
	if (!weights)
		return -ENOMEM;
	const struct result_module *last = NULL;
	for (size_t i = 0; i < profile->ask_count && profile->thread_count > 0; i++) {
		uint32_t pid = profile->threads[0].pid;
		const struct result_module *module =
			results_module(naming->results, pid, profile->asks[i]);
		if (!module || module == last)
			continue;
		last = module;
		double share = share_of(naming, weights, pid, module);
		if (share <= quality->asking_share)
			continue;
		quality->asking_share = share;
		snprintf(quality->asking, sizeof quality->asking, "%s",
			path_file_name(module->path));
	}
	return 0;
}

int profile_names_find(struct profile *profile, const struct code_finder *finder, struct err *err)
{
	AUTO_RELEASE(naming) struct naming naming = { .profile = profile, .finder = finder };
	if (!profile->timeline)
		return 0;
	AUTO_RELEASE(calls) struct calls calls = { 0 };
	int code = analyse(profile, &calls, &naming.results, err);
	if (code < 0)
		return code;
	if (name_objects(&naming) < 0 || find_asking(&naming) < 0 ||
		name_calls(&naming, &calls) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}
