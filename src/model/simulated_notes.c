/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where results should not be trusted: queues that grow, runs that did not settle, what was dropped, and
 * where the simulation leaves what the recorded run has shown.
 */
#include "model/simulated.h"

#include "base/lines.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>

void simulated_add_setting(struct strbuf *out, const struct simulated *simulated, size_t setting)
{
	const struct grid *grid = simulated->grid;
	for (size_t i = 0; i < grid->axis_count; i++) {
		const struct model_parameter *parameter =
			&simulated->model->parameters[grid->axes[i].parameter];
		char text[MODEL_FORMAT_BYTES];
		model_format(grid_value(grid, i, setting), parameter->unit, text);
		strbuf_addf(out, "%s%s=%s", i ? ", " : "", parameter->name, text);
	}
}

static int add_note(struct simulated *simulated, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int add_note(struct simulated *simulated, const char *fmt, ...)
{
	char text[ERR_TEXT_BYTES];
	va_list args;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args); /* cut at its size */
	va_end(args);
	return model_add_note(simulated->notes, text);
}

/*
 * A note on the settings of which something is true: "at 3 of 52 settings (first: workers=2) ...".
 * `object` is handed to the fact.
 */
static int add_note_on(struct simulated *simulated,
	bool (*fact)(const struct simulated *simulated, const struct simulated_setting *setting,
		size_t object),
	size_t object, const char *text)
{
	size_t hits = 0, first = 0;
	for (size_t i = simulated->count; i-- > 0;)
		if (simulated->settings[i].code == 0 &&
			fact(simulated, &simulated->settings[i], object)) {
			hits++;
			first = i;
		}
	if (!hits)
		return 0;
	AUTO_RELEASE(strbuf) struct strbuf where = { 0 };
	if (simulated->count > 1) {
		strbuf_addf(&where, "At %zu of %zu settings (first: ", hits, simulated->count);
		simulated_add_setting(&where, simulated, first);
		strbuf_add(&where, "): ");
	}
	if (strbuf_failed(&where) < 0)
		return -ENOMEM;
	return add_note(simulated, "%s%s", where.text ? where.text : "", text);
}

static bool grows(
	const struct simulated *simulated, const struct simulated_setting *setting, size_t object)
{
	(void)simulated;
	(void)object;
	return setting->does_grow;
}

static bool is_unsettled(
	const struct simulated *simulated, const struct simulated_setting *setting, size_t object)
{
	(void)simulated;
	(void)object;
	return setting->is_unsettled && !setting->does_grow;
}

static bool is_helped(
	const struct simulated *simulated, const struct simulated_setting *setting, size_t object)
{
	(void)simulated;
	(void)object;
	return setting->is_helped;
}

static bool are_stranded(
	const struct simulated *simulated, const struct simulated_setting *setting, size_t object)
{
	(void)simulated;
	(void)object;
	return setting->are_stranded;
}

static bool loses(
	const struct simulated *simulated, const struct simulated_setting *setting, size_t object)
{
	(void)simulated;
	(void)object;
	return setting->error_share.mean + setting->dropped_share.mean > 0.01;
}

/* The cores were not seen at this load. */
static bool is_busier(
	const struct simulated *simulated, const struct simulated_setting *setting, size_t object)
{
	(void)object;
	double recorded = simulated->model->recorded.core_utilisation;
	return recorded > 0 && recorded < 0.8 && setting->cores.mean > 0.9;
}

/* More cores than were there to be recorded. */
static bool is_larger(
	const struct simulated *simulated, const struct simulated_setting *setting, size_t object)
{
	(void)object;
	uint32_t recorded = simulated->model->recorded.cores;
	return recorded > 0 && setting->core_count > recorded;
}

static bool is_newly_contended(
	const struct simulated *simulated, const struct simulated_setting *setting, size_t object)
{
	const struct model_use *recorded = &simulated->model->objects[object].recorded;
	return recorded->is_known && recorded->waited_share < 0.01 &&
	       setting->objects[object].wait_share > 0.1;
}

static bool is_newly_busy(
	const struct simulated *simulated, const struct simulated_setting *setting, size_t object)
{
	const struct model_use *recorded = &simulated->model->objects[object].recorded;
	return recorded->is_known && recorded->busy_share < 0.5 &&
	       setting->objects[object].utilisation.mean > 0.9;
}

/* Each request that waits, or has been accepted and waits, holds a descriptor, or a place of the kernel's. */
static bool is_out_of_descriptors(
	const struct simulated *simulated, const struct simulated_setting *setting, size_t object)
{
	uint32_t most = simulated->model->recorded.descriptors;
	return simulated->has_requests && most > 0 && setting->objects[object].peak > most;
}

static int add_object_notes(struct simulated *simulated, size_t index)
{
	const struct model_object *object = &simulated->model->objects[index];
	struct text_shown name = text_show(object->name);
	char text[ERR_TEXT_BYTES];
	bool is_lock = object->kind == MODEL_MUTEX || object->kind == MODEL_SPIN ||
		       object->kind == MODEL_RWLOCK;
	if (is_lock) {
		snprintf(text, sizeof text,
			"one use of %s '%s' in ten or more waits; in the recording %.2g%% did: how "
			"the "
			"program behaves when it is contended was not seen.",
			model_object_word(object->kind), name.text,
			100 * object->recorded.waited_share);
		return add_note_on(simulated, is_newly_contended, index, text);
	}
	if (object->kind == MODEL_QUEUE) {
		snprintf(text, sizeof text,
			"more than %u requests wait in queue '%s' at a time, and the program may "
			"have "
			"%u descriptors, which the recording did not reach: what it does without "
			"was "
			"not seen. Record it above saturation.",
			simulated->model->recorded.descriptors, name.text,
			simulated->model->recorded.descriptors);
		return add_note_on(simulated, is_out_of_descriptors, index, text);
	}
	if (object->kind != MODEL_DISK)
		return 0;
	snprintf(text, sizeof text,
		"disk '%s' is busy for more than 90%% of the time, in the recording for %.2g%%: "
		"how its "
		"service times change under such a load was not seen.",
		name.text, 100 * object->recorded.busy_share);
	return add_note_on(simulated, is_newly_busy, index, text);
}

/* Whether a setting is the one that was recorded. */
static bool is_recorded(const struct simulated *simulated, size_t setting)
{
	const struct grid *grid = simulated->grid;
	bool is_same = simulated->settings[setting].code == 0;
	for (size_t i = 0; i < grid->axis_count; i++)
		is_same &= grid_value(grid, i, setting) ==
			   simulated->model->parameters[grid->axes[i].parameter].value;
	return is_same;
}

/* How far the model is from the run that it was made from, if that setting was simulated. */
static int add_check(struct simulated *simulated)
{
	const struct model_recorded *recorded = &simulated->model->recorded;
	bool has_requests = simulated->has_requests;
	double measured = has_requests ? recorded->response_s : recorded->duration_s;
	for (size_t i = 0; i < simulated->count; i++) {
		const struct simulated_setting *setting = &simulated->settings[i];
		if (!(measured > 0) || !is_recorded(simulated, i))
			continue;
		double value = has_requests ? setting->response_s.mean : setting->run_s.mean;
		char texts[2][MODEL_FORMAT_BYTES];
		if (!(value > 0))
			return 0;
		model_format(measured, MODEL_TIME, texts[0]);
		model_format(value, MODEL_TIME, texts[1]);
		return add_note(simulated,
			"At the recorded setting the %s was %s; simulated it is %s (%+.1f%%).",
			has_requests ? "response time" : "run time", texts[0], texts[1],
			100 * (value / measured - 1));
	}
	return 0;
}

static int add_failures(struct simulated *simulated)
{
	size_t failed = 0, first = 0, missing = 0;
	for (size_t i = simulated->count; i-- > 0;) {
		const struct simulated_setting *setting = &simulated->settings[i];
		missing += setting->code == -EINTR;
		if (setting->code < 0 && setting->code != -EINTR) {
			failed++;
			first = i;
		}
	}
	if (missing && add_note(simulated, "Interrupted: %zu of %zu settings were not simulated.",
			       missing, simulated->count) < 0)
		return -ENOMEM;
	if (!failed)
		return 0;
	return add_note(simulated,
		"%zu of %zu settings could not be simulated, the first because: %s", failed,
		simulated->count, simulated->settings[first].error);
}

/* What was set for nothing. */
static int add_unused(struct simulated *simulated)
{
	int code = 0;
	for (size_t i = 0; code == 0 && i < simulated->grid->axis_count; i++) {
		uint32_t parameter = simulated->grid->axes[i].parameter;
		int uses = model_uses(simulated->model, parameter);
		code = uses != 0 ? uses
				 : add_note(simulated,
					   "'%s' was set, and nothing in the model depends on it.",
					   simulated->model->parameters[parameter].name);
		code = code < 0 ? code : 0;
	}
	return code;
}

int simulated_add_notes(struct simulated *simulated)
{
	static const struct {
		bool (*fact)(const struct simulated *simulated,
			const struct simulated_setting *setting, size_t object);
		const char *text;
	} notes[] = {
		{ grows, "requests arrive faster than they end. Response times and queues there "
			 "grow "
			 "with the length of the simulation; only throughput and utilisation mean "
			 "something." },
		{ is_unsettled,
			"response times still changed in the second half of the runs: the "
			"results depend on how long is simulated; try --requests with more." },
		{ is_helped,
			"threads came to a standstill from which they were helped on, more than a "
			"few times: how they wait for one another at such a setting is not in the "
			"recording. Take the figures as rough, or record nearer to it." },
		{ are_stranded,
			"threads still waited when the program ended, while others like them had "
			"done their part: who lets them go on at such a setting is not in the "
			"recording, and what they would have done is missing. Record nearer to "
			"it." },
		{ loses, "more than 1% of the requests end in errors or are dropped; response "
			 "times and "
			 "throughput are of those that were served." },
		{ is_larger, "there are more cores than the recording ran on: what threads do to "
			     "one another "
			     "through caches and memory is not in the model." },
		{ is_busier,
			"the cores are busy for more than 90% of the time, which the recording has "
			"not shown: how the program's own times change then (caches, memory) is "
			"not "
			"in the model." },
	};
	const struct model_recorded *recorded = &simulated->model->recorded;
	int code = add_failures(simulated);
	if (code == 0)
		code = add_unused(simulated);
	for (size_t i = 0; code == 0 && i < sizeof notes / sizeof *notes; i++)
		code = add_note_on(simulated, notes[i].fact, 0, notes[i].text);
	for (size_t i = 0; code == 0 && i < simulated->model->object_count; i++)
		code = add_object_notes(simulated, i);
	if (code == 0)
		code = add_check(simulated);
	for (size_t i = 0; code == 0 && i < recorded->note_count; i++)
		code = add_note(simulated, "The recording: %s", recorded->notes[i]);
	return code;
}
