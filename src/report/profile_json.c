/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A profile as JSON: docs/formats/profile.json.md. */
#include "report/json.h"
#include "report/profile_view.h"
#include "trace/vocabulary.h"

static json_t *count(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *mix_json(const uint64_t mix[CODE_CLASSES])
{
	json_t *object = json_object();
	for (int i = 0; i < CODE_CLASSES; i++)
		if (mix[i] > 0)
			object = json_with(
				object, code_class_name((enum code_class)i), count(mix[i]));
	return object;
}

static json_t *with_totals(json_t *object, const struct profile_totals *totals)
{
	object = json_with(object, "instructions", count(totals->instructions));
	object = json_with(object, "stretches", count(totals->stretches));
	object = json_with(object, "loads", count(totals->loads));
	object = json_with(object, "stores", count(totals->stores));
	object = json_with(object, "first_touches", count(totals->first_touches));
	return json_with(object, "mix", mix_json(totals->mix));
}

static json_t *threads_json(const struct profile *profile)
{
	json_t *threads = json_array();
	for (size_t i = 0; i < profile->thread_count; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		struct profile_totals totals = profile_totals_of(profile, (ptrdiff_t)i);
		json_t *object = json_object();
		object = json_with(object, "pid", count(thread->pid));
		object = json_with(object, "tid", count(thread->tid));
		object = json_with(object, "name", json_text(thread->name));
		object = json_with(object, "counted_with",
			thread->counted_with ? count(thread->counted_with - 1) : json_null());
		threads = json_push(threads, with_totals(object, &totals));
	}
	return threads;
}

static json_t *classes_json(const struct profile *profile)
{
	json_t *classes = json_array();
	for (size_t i = 0; i < profile->class_count; i++) {
		const struct profile_class *class = &profile->classes[i];
		json_t *object = json_object();
		object = json_with(object, "thread", count(class->thread));
		object = json_with(object, "kind", json_text(event_kind_word(class->kind)));
		object = json_with(object, "what", json_text(event_what_word(class->what)));
		object = json_with(object, "site", count(class->site));
		object = json_with(object, "stretches", count(class->stretches));
		object = json_with(object, "instructions", count(class->instructions));
		classes = json_push(classes, object);
	}
	return classes;
}

static json_t *quality_json(const struct profile_quality *quality)
{
	json_t *object = json_object();
	object = json_with(object, "is_partial", json_boolean(quality->is_partial));
	object = json_with(object, "has_timeline", json_boolean(quality->has_timeline));
	object = json_with(object, "backend", json_text(quality->backend));
	object = json_with(object, "reuse_rate", json_number(quality->reuse_rate));
	object = json_with(object, "micro_period", json_number(quality->micro_period));
	object = json_with(object, "reuse_samples", count(quality->reuse_samples));
	object = json_with(object, "micro_traces", count(quality->micro_traces));
	object = json_with(object, "lost", count(quality->lost));
	object = json_with(object, "unmatched", count(quality->unmatched));
	object = json_with(object, "undecoded", count(quality->undecoded));
	object = json_with(object, "unpaced", count(quality->unpaced));
	object = json_with(
		object, "asking", *quality->asking ? json_text(quality->asking) : json_null());
	object = json_with(object, "asking_share", json_number(quality->asking_share));
	object = json_with(object, "profiled_s", json_number(quality->profiled_s));
	return json_with(object, "native_s",
		quality->native_s > 0 ? json_number(quality->native_s) : json_null());
}

void report_profile_json(struct strbuf *out, const struct profile *profile, const char *subject)
{
	struct profile_totals totals = profile_totals_of(profile, -1);
	json_t *object = json_object();
	object = json_with(object, "version", json_integer(1));
	object = json_with(object, "profile", json_text(subject));
	object = json_with(
		object, "command", profile->command ? json_text(profile->command) : json_null());
	object = with_totals(object, &totals);
	object = json_with(object, "threads", threads_json(profile));
	object = json_with(object, "classes", classes_json(profile));
	json_add(out, json_with(object, "quality", quality_json(&profile->quality)));
}
