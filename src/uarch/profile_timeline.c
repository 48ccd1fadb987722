/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "uarch/profile_timeline.h"

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "preload/profile_page.h"
#include "trace/reader.h"

#include <errno.h>
#include <string.h>

/* A thread of the profile, by the kernel's numbers; those that had the same in order of their start. */
struct known {
	uint32_t pid, tid;
	uint32_t thread; /* index */
};

/* A thread of the timeline that lives. */
struct live {
	ptrdiff_t thread; /* of the profile */
	uint64_t cpu_ns; /* at the event that began the stretch */
	uint64_t site;
	uint8_t kind, what;
};

/* What a thread has executed up to an event of its own. */
struct step {
	ptrdiff_t thread; /* index; negative: nobody counted what it executes */
	ptrdiff_t class; /* index; negative: none; meaningless if there are no instructions */
	uint64_t instructions; /* since the event that began the class */
	/* The event that began it. */
	uint64_t site;
	uint8_t kind, what;
};

struct walk {
	const struct profile *profile;
	struct known *known;
	struct map next; /* by pid and tid: the place in `known` of who has the number next */
	struct map lives; /* by pid and tid: index */
	struct live *live;
	size_t live_count, live_capacity;
};

static void walk_free(struct walk *walk)
{
	if (!walk)
		return;
	free(walk->known);
	free(walk->live);
	map_release(&walk->next);
	map_release(&walk->lives);
	free(walk);
}
CLEANUP_DEFINE(walk, walk_free)

static int compare_known(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int walk_new(const struct profile *profile, struct walk **ret, struct err *err)
{
	size_t count = profile->thread_count;
	AUTO(walk) struct walk *walk = calloc(1, sizeof *walk);
	if (!walk)
		return err_set(err, -ENOMEM, "out of memory");
	walk->profile = profile;
	walk->known = calloc(count + 1, sizeof *walk->known); /* the last one is nobody's */
	if (!walk->known)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		walk->known[i] = (struct known){ profile->threads[i].pid, profile->threads[i].tid,
			(uint32_t)i };
	qsort(walk->known, count, sizeof *walk->known, compare_known);
	for (size_t i = 0; i < count; i++) {
		uint64_t *first = NULL;
		if (map_add(&walk->next, walk->known[i].pid, walk->known[i].tid, i, &first) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = TAKE(walk);
	return 0;
}

/* Who has the number now. */
static ptrdiff_t take_thread(struct walk *walk, const struct event *event)
{
	uint64_t *next = map_find(&walk->next, event->pid, event->tid);
	if (!next || *next >= walk->profile->thread_count)
		return -ENOENT;
	const struct known *known = &walk->known[*next];
	if (known->pid != event->pid || known->tid != event->tid)
		return -ENOENT;
	++*next;
	return (ptrdiff_t)known->thread;
}

static int find_live(struct walk *walk, const struct event *event, struct live **ret)
{
	uint64_t *index = NULL;
	int added = map_add(&walk->lives, event->pid, event->tid, walk->live_count, &index);
	if (added < 0)
		return added;
	if (added) {
		uint64_t at = *index;
		if (mem_grow(&walk->live, &walk->live_capacity, walk->live_count + 1,
			    sizeof *walk->live) < 0)
			return -ENOMEM;
		walk->live_count++;
		walk->live[at] = (struct live){ .thread = take_thread(walk, event),
			.kind = EVENT_THREAD_START };
		*ret = &walk->live[at];
		return 0;
	}
	*ret = &walk->live[*index];
	if (event->kind == EVENT_THREAD_START && (*ret)->kind == EVENT_THREAD_EXIT)
		**ret = (struct live){ .thread = take_thread(walk, event),
			.kind = EVENT_THREAD_START };
	return 0;
}

static ptrdiff_t find_class(const struct profile *profile, const struct live *live)
{
	uint64_t stretch = profile_stretch(live->kind, live->what, live->site);
	return live->thread < 0 ? -ENOENT
				: profile_find_class(profile, (uint32_t)live->thread, stretch);
}

/* Events in order of time. True if the event ends a stretch, which is in *ret then, however short it was. */
static int walk_event(
	struct walk *walk, const struct event *event, struct step *ret, struct err *err)
{
	if (!profile_is_border(event->kind))
		return 0;
	struct live *live = NULL;
	if (find_live(walk, event, &live) < 0 || !live)
		return err_set(err, -ENOMEM, "out of memory");
	bool is_start = event->kind == EVENT_THREAD_START;
	*ret = (struct step){ .thread = live->thread,
		.class = -ENOENT,
		.site = live->site,
		.kind = live->kind,
		.what = live->what };
	if (!is_start && event->cpu_ns > live->cpu_ns)
		ret->instructions = event->cpu_ns - live->cpu_ns;
	if (ret->instructions > 0)
		ret->class = find_class(walk->profile, live);
	live->kind = event->kind;
	live->what = event->what;
	live->site = event->site;
	if (event->cpu_ns > live->cpu_ns)
		live->cpu_ns = event->cpu_ns;
	return is_start ? 0 : 1;
}

static int take_name(struct profile *profile, struct walk *walk, const struct event *event)
{
	if (event->what == WHAT_PROGRAM && !profile->command) {
		profile->command = strdup(event->text);
		return profile->command ? 0 : -ENOMEM;
	}
	if (event->what != WHAT_THREAD)
		return 0;
	struct event of = { .pid = event->pid, .tid = (uint32_t)event->object };
	const uint64_t *index = map_find(&walk->lives, of.pid, of.tid);
	if (!index || walk->live[*index].thread < 0)
		return 0;
	struct profile_thread *thread = &profile->threads[walk->live[*index].thread];
	snprintf(thread->name, sizeof thread->name, "%s", event->text);
	return 0;
}

static void take_step(struct profile *profile, const struct step *step)
{
	if (step->instructions == 0)
		return;
	if (step->class < 0) {
		profile->quality.unmatched++;
		return;
	}
	struct profile_class *class = &profile->classes[step->class];
	class->stretches++;
	class->kind = step->kind;
	class->what = step->what;
	class->site = class->stretch == PROFILE_START ? 0 : step->site;
}

static int walk_all(
	struct profile *profile, struct walk *walk, struct trace_reader *reader, struct err *err)
{
	struct event event;
	struct step step = { 0 };
	int code = 0;
	while ((code = trace_reader_next(reader, &event, err)) > 0) {
		code = event.kind == EVENT_NAME ? take_name(profile, walk, &event) : 0;
		if (code < 0)
			return err_set(err, code, "out of memory");
		code = walk_event(walk, &event, &step, err);
		if (code < 0)
			return code;
		if (code > 0)
			take_step(profile, &step);
	}
	const struct trace_quality *quality = trace_reader_quality(reader);
	profile->quality.lost += quality->lost;
	profile->quality.is_partial |= !quality->is_ended || quality->is_full;
	return code;
}

int profile_timeline_join(struct profile *profile, const void *bytes, size_t count, struct err *err)
{
	AUTO(walk) struct walk *walk = NULL;
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	for (size_t i = 0; i < profile->class_count; i++)
		profile->classes[i].stretches = 0; /* the backend has counted pauses as ends */
	int code = trace_reader_open_bytes(bytes, count, "the timeline", &reader, err);
	if (code == 0)
		code = walk_new(profile, &walk, err);
	if (code == 0 && walk)
		code = walk_all(profile, walk, reader, err);
	if (code < 0)
		return code;
	void *copy = malloc(count ? count : 1);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(copy, bytes, count);
	free(profile->timeline);
	profile->timeline = copy;
	profile->timeline_bytes = count;
	profile->quality.has_timeline = true;
	return 0;
}

int profile_timeline_replay(const struct profile *profile, const char *name,
	const struct event_sink *sink, struct err *err)
{
	AUTO(trace_reader) struct trace_reader *reader = NULL;
	int code = trace_reader_open_bytes(
		profile->timeline, profile->timeline_bytes, name, &reader, err);
	return code < 0 ? code : trace_reader_replay(reader, sink, err);
}
