/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The objects that threads meet at, and what they and pieces of code are called. */
#include "builder/parts.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/strbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct build_module *build_find_module(
	const struct build_trace *trace, uint32_t pid, uint64_t address)
{
	for (size_t i = 0; i < trace->module_count; i++) {
		const struct build_module *module = &trace->modules[i];
		if (module->pid == pid && address >= module->bias && address < module->end)
			return module;
	}
	return NULL;
}

static struct build_place find_place(
	const struct build *build, const struct build_module *module, uint64_t address)
{
	return module && build->opts.find
		       ? build->opts.find(build->opts.context, module->path, address - module->bias)
		       : (struct build_place){ 0 };
}

char *build_place_name(const struct build *build, uint32_t pid, uint64_t site)
{
	/* Behind the call: the line is that of the call itself. */
	uint64_t address = site > 0 ? site - 1 : 0;
	const struct build_module *module = build_find_module(&build->trace, pid, address);
	struct build_place place = find_place(build, module, address);
	char *text = NULL;
	int code;
	if (place.file)
		code = asprintf(&text, "%s:%" PRIu32, path_file_name(place.file), place.line);
	else if (place.symbol)
		code = asprintf(&text, "%s+0x%" PRIx64, place.symbol, place.offset);
	else if (module) /* the same in each run, unlike the address */
		code = asprintf(&text, "%s+0x%" PRIx64, path_file_name(module->path),
			address - module->bias);
	else
		code = asprintf(&text, "0x%" PRIx64, site);
	return code < 0 ? NULL : text;
}

/* Threads that the program gave no name are called after the routine in which they start; C++'s own is that of all. */
int build_name_threads(struct build *build)
{
	for (size_t i = 0; i < build->trace.thread_count; i++) {
		struct build_thread *thread = &build->trace.threads[i];
		struct build_place place = find_place(build,
			build_find_module(&build->trace, thread->pid, thread->routine),
			thread->routine);
		bool is_known = place.symbol && place.offset == 0 && *place.symbol &&
				strcmp(place.symbol, "execute_native_thread_routine") != 0;
		if ((thread->name && *thread->name) || !is_known)
			continue;
		free(thread->name);
		thread->name = strndup(place.symbol, strcspn(place.symbol, "("));
		if (!thread->name)
			return -ENOMEM;
	}
	return 0;
}

static enum model_object_kind kind_of(const struct build_object *object)
{
	switch (object->what) {
	case WHAT_RWLOCK:
		return MODEL_RWLOCK;
	case WHAT_SPIN:
		return MODEL_SPIN;
	case WHAT_BARRIER:
		return MODEL_BARRIER;
	case WHAT_SEM:
		return MODEL_SEMAPHORE;
	case WHAT_QUEUE:
		return MODEL_QUEUE;
	case WHAT_IO:
		return MODEL_LIMIT;
	case WHAT_DISK:
		return MODEL_DISK;
	default:
		return MODEL_MUTEX;
	}
}

/* What a person would call it: its symbol; of one on the heap or a stack its kind. */
static int base_name(const struct build *build, const struct build_object *object, char **ret)
{
	static const char *const words[MODEL_OBJECT_KINDS] = { [MODEL_MUTEX] = "mutex",
		[MODEL_SPIN] = "spin lock",
		[MODEL_RWLOCK] = "rwlock",
		[MODEL_BARRIER] = "barrier",
		[MODEL_SEMAPHORE] = "semaphore",
		[MODEL_QUEUE] = "queue",
		[MODEL_DISK] = "disk" };
	struct build_place place = find_place(build,
		build_find_module(&build->trace, object->pid, object->address), object->address);
	int code;
	if (object->what == WHAT_IO)
		code = asprintf(ret, "descriptors");
	else if (object->name)
		code = asprintf(ret, "%s", object->name);
	else if (place.symbol && place.offset > 0 && object->what == WHAT_MUTEX)
		code = asprintf(ret, "%s+%" PRIu64, place.symbol, place.offset);
	else if (place.symbol)
		code = asprintf(ret, "%s", place.symbol);
	else
		code = asprintf(ret, "%s", words[kind_of(object)]);
	return code < 0 ? -ENOMEM : 0;
}

/* The same with a word or a number behind it, if another object has that name. */
static int add_named(struct build *build, const struct build_object *object, uint32_t *ret)
{
	AUTO_FREE char *base = NULL;
	int code = base_name(build, object, &base);
	const char *lock = kind_of(object) == MODEL_MUTEX ? " lock" : "";
	for (unsigned number = 1; code == 0; number++) {
		AUTO_FREE char *name = NULL;
		code = number == 1   ? asprintf(&name, "%.200s", base)
		       : number == 2 ? asprintf(&name, "%.200s%s", base, *lock ? lock : " 2")
				     : asprintf(&name, "%.200s%s %u", base, lock, number);
		if (code < 0)
			return -ENOMEM;
		code = 0;
		if (model_find_object(build->model, name) == MODEL_NONE)
			return model_add_object(build->model, kind_of(object), name, ret);
	}
	return code;
}

/* A put or a get, a post or an acquisition, in the order of time. */
struct flow {
	uint64_t time_ns;
	int64_t by;
};

static int compare_flows(const void *left, const void *right)
{
	const struct flow *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->by > b->by ? -1 : a->by < b->by; /* puts first */
}

static int64_t flow_of(const struct build_step *step)
{
	switch ((enum step_op)step->op) {
	case STEP_POST:
	case STEP_PUT:
		return step->count;
	case STEP_GIVE:
		return 1;
	case STEP_TAKE:
		return step->flags & STEP_REFUSED ? 0 : -1;
	case STEP_GET:
	case STEP_ACQUIRE:
		return step->flags & STEP_REFUSED ? 0 : -(int64_t)step->count;
	default:
		return 0;
	}
}

/*
 * As many as there must have been at first, since more were taken than came: exact if it ran out once, and if it is known when.
 * What follows at once on another core may be told before it: where the program said how many there were, only the end counts.
 */
static int find_initial(const struct build_trace *trace, uint32_t object, uint64_t *ret)
{
	struct flow *flows = NULL;
	size_t count = 0, capacity = 0;
	int64_t balance = 0, least = 0;
	bool is_told = !trace->objects[object].is_pipe && trace->objects[object].first == 0;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			int64_t by = step->object == object ? flow_of(step) : 0;
			if (by == 0)
				continue;
			if (mem_grow(&flows, &capacity, count + 1, sizeof *flows) < 0) {
				free(flows);
				return -ENOMEM;
			}
			uint64_t at = step->begin_ns + (by < 0 ? step->waited_ns : 0);
			flows[count++] = (struct flow){ at, by };
		}
	if (count > 0)
		qsort(flows, count, sizeof *flows, compare_flows);
	for (size_t i = 0; i < count; i++) {
		balance += flows[i].by;
		least = (is_told || i + 1 == count) && balance < least ? balance : least;
	}
	free(flows);
	*ret = (uint64_t)-least;
	return 0;
}

/* Threads of each group that arrive at a barrier, as a sum over the groups' sizes. */
static int size_barrier(struct build *build, uint32_t object, struct model_value *ret)
{
	AUTO_RELEASE(strbuf) struct strbuf text = { 0 };
	uint32_t fixed = 0, with_starters = 0; /* whom the sizes of teams count, too */
	for (uint32_t i = 0; i < build->groups.count; i++) {
		const struct build_group *group = &build->groups.items[i];
		uint32_t arriving = 0;
		for (size_t j = 0; j < group->count; j++) {
			const struct build_thread *thread =
				&build->trace.threads[group->threads[j]];
			bool arrives = false;
			for (size_t k = 0; k < thread->step_count && !arrives; k++)
				arrives = thread->steps[k].op == STEP_ARRIVE &&
					  thread->steps[k].object == object;
			arriving += arrives;
		}
		const struct build_pool *pool = &build->pools[i];
		if (arriving < group->count || pool->parameter == BUILD_NONE) {
			fixed += arriving;
			continue;
		}
		strbuf_addf(&text, "%s%s", text.length > 0 ? " + " : "",
			build->model->parameters[pool->parameter].name);
		with_starters += pool->starter != BUILD_NONE;
	}
	if (text.length == 0) {
		ret->value = fixed > 0 ? fixed : 1;
		return strbuf_failed(&text);
	}
	if (fixed > with_starters)
		strbuf_addf(&text, " + %" PRIu32, fixed - with_starters);
	else if (fixed < with_starters) /* one starts several teams, or only starts them */
		strbuf_addf(&text, " - %" PRIu32, with_starters - fixed);
	return strbuf_failed(&text) < 0 ? -ENOMEM
					: build_formula(build->model, ret, "%s", text.text);
}

static const struct build_channel *channel_of(const struct build *build, uint32_t object)
{
	for (size_t i = 0; i < build->channels.count; i++)
		if (build->channels.items[i].object == object)
			return &build->channels.items[i];
	return NULL;
}

/* How large a thing is, as a parameter: what happens at another size is in the model. */
static int set_size(struct build *build, const struct model_object *object, const char *what,
	double size, const char *note, struct model_value *ret)
{
	uint32_t parameter;
	AUTO_FREE char *text = NULL;
	if (asprintf(&text, "%s '%s'", note, object->name) < 0)
		return -ENOMEM;
	int code = build_add_parameter(build->model, object->name, what, size, text, &parameter);
	return code < 0 ? code
			: build_formula(build->model, ret, "%s",
				  build->model->parameters[parameter].name);
}

static int size_disk(struct build *build, struct model_object *ret)
{
	struct build_disk *disk = &build->disk;
	double span_s = (double)(build->trace.end_ns - build->trace.start_ns) * 1e-9;
	ret->order = disk->order;
	ret->latency.value = disk->latency_s;
	int code = set_size(build, ret, "parallel", disk->parallel,
		"requests served at once by disk", &ret->size);
	if (code < 0)
		return code;
	ret->recorded.is_known = span_s > 0;
	ret->recorded.busy_share = span_s > 0 ? disk->busy_s / span_s : 0;
	ret->classes = model_alloc(build->model, REQUEST_CLASSES, sizeof *ret->classes);
	if (!ret->classes)
		return -ENOMEM;
	for (size_t i = 0; i < REQUEST_CLASSES; i++) {
		struct build_services *services = &disk->services[i];
		if (services->count == 0)
			continue;
		struct model_class *class = &ret->classes[ret->class_count++];
		class->name = build_disk_class_name((enum request_class)i);
		code = build_dist(
			build->model, services->items_s, services->count, &class->service);
		if (code < 0)
			return code;
	}
	return 0;
}

/* What a semaphore had at first: as its program said, or at least as many as were taken before others came. */
static int size_semaphore(struct build *build, uint32_t object, struct model_object *ret)
{
	uint64_t taken = 0, first = build->trace.objects[object].first;
	int code = find_initial(&build->trace, object, &taken);
	uint64_t initial = first > taken + 1 ? first - 1 : taken;
	ret->lends = true;
	if (code < 0 || initial == 0)
		return code;
	return set_size(build, ret, "value", (double)initial, "at first, of semaphore", &ret->size);
}

static int size_lock(struct build *build, uint32_t object, struct model_object *ret)
{
	ret->has_writers_first = build->trace.objects[object].has_writers_first;
	struct build_instances instances;
	if (build_class_instances(&build->trace, object, &instances) < 0)
		return -ENOMEM;
	ret->size.value = instances.count > 1 ? instances.count : 0;
	if (instances.share_count == 0)
		return 0;
	ret->shares = model_alloc(build->model, instances.share_count, sizeof *ret->shares);
	if (!ret->shares)
		return -ENOMEM;
	for (uint32_t i = 0; i < instances.share_count; i++)
		ret->shares[i] = instances.shares[i];
	ret->share_count = instances.share_count;
	return 0;
}

static int size_object(struct build *build, uint32_t object, struct model_object *ret)
{
	const struct build_channel *channel = channel_of(build, object);
	uint64_t first = build->trace.objects[object].first, initial = 0;
	int code = 0;
	switch (ret->kind) {
	case MODEL_BARRIER:
		ret->spins.value = build->trace.objects[object].spins ? WAKES_SPIN_NS * 1e-9 : 0;
		return size_barrier(build, object, &ret->size);
	case MODEL_SEMAPHORE:
		return size_semaphore(build, object, ret);
	case MODEL_LIMIT:
		ret->lends = true; /* as of queues: what is given back is drawn, too */
		code = find_initial(&build->trace, object, &initial);
		return code < 0 ? code
				: set_size(build, ret, "limit", (double)initial,
					  "how many there are of", &ret->size);
	case MODEL_MUTEX:
	case MODEL_SPIN:
	case MODEL_RWLOCK:
		return size_lock(build, object, ret);
	case MODEL_DISK:
		return size_disk(build, ret);
	case MODEL_QUEUE:
		if (object == build->requests.arrivals)
			return 0;
		ret->are_replies = build->trace.objects[object].are_replies;
		if (ret->are_replies) {
			ret->lends = true;
			return build_own_instances(build, object, ret);
		}
		if (!channel && first > 0)
			initial = first - 1;
		else if (!channel)
			code = find_initial(&build->trace, object, &initial);
		ret->initial.value = (double)(channel ? channel->initial : initial);
		if (code == 0 && channel && channel->capacity > 0)
			code = set_size(build, ret, "capacity", (double)channel->capacity,
				"places of queue", &ret->size);
		else if (code == 0 && ret->initial.value > 0 &&
			 (channel ? !channel->is_told : first > 0))
			code = set_size(build, ret, "initial", ret->initial.value,
				"items at first, of queue", &ret->initial);
		/* Ways of threads are drawn: puts and gets are not as many to the last one. */
		ret->are_signals =
			build->trace.objects[object].are_signals || (channel && channel->is_told);
		ret->are_calls = build->trace.objects[object].are_calls;
		ret->lends = !ret->are_signals;
		ret->lends_any = build->trace.objects[object].has_tasks;
		return code;
	default:
		return 0;
	}
}

static bool has_model_object(const struct build_step *step)
{
	return step->object != BUILD_NONE && step->op != STEP_SPAWN && step->op != STEP_JOIN &&
	       step->op != STEP_SLEEP && step->op != STEP_IO && step->op != STEP_EXIT;
}

int build_objects(struct build *build)
{
	struct build_trace *trace = &build->trace;
	build->objects = calloc(trace->object_count + 1, sizeof *build->objects);
	if (!build->objects)
		return -ENOMEM;
	for (size_t i = 0; i < trace->object_count; i++)
		build->objects[i] = BUILD_NONE;
	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t j = 0; j < trace->threads[i].step_count; j++) {
			const struct build_step *step = &trace->threads[i].steps[j];
			uint32_t object = has_model_object(step)
						  ? build_class_of(trace, step->object)
						  : (uint32_t)BUILD_NONE;
			if (object == BUILD_NONE || build->objects[object] != BUILD_NONE)
				continue;
			int code =
				add_named(build, &trace->objects[object], &build->objects[object]);
			if (code == 0)
				code = size_object(build, object,
					&build->model->objects[build->objects[object]]);
			if (code < 0)
				return code;
		}
	return 0;
}
