/* SPDX-License-Identifier: MIT */
#include "stack.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <unwind.h>

const char *stack_module(const void *address, uintptr_t *ret_bias)
{
	const struct link_map *map = NULL;
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc >= 2.35: takes no lock */
	struct dl_find_object found;
	if (_dl_find_object((void *)address, &found) == 0)
		map = found.dlfo_link_map;
#else
	Dl_info info;
	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP))
		map = NULL;
#endif
	if (!map)
		return NULL;
	*ret_bias = map->l_addr;
	return map->l_name;
}

/*
 * Whether a lock is the unwinder's own: it has it while it is told of code that a just-in-time compiler made, and would
 * wait for itself. Of a program that brings its unwinder in its own file that cannot be told.
 */
static bool is_unwinders(const void *caller)
{
	uintptr_t unwinder, bias;
	const char *name = stack_module((const void *)(uintptr_t)_Unwind_Backtrace, &unwinder);
	return name && *name && stack_module(caller, &bias) && bias == unwinder;
}

struct walk {
	const void *caller;
	const void **frames;
	size_t count;
	size_t max;
	bool has_seen_caller;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data)
{
	struct walk *walk = data;
	/* An address, not an access: the unwinder hands return addresses as integers. */
	const void *address = (const void *)(uintptr_t)_Unwind_GetIP(context);
	if (address == walk->caller)
		walk->has_seen_caller = true;
	if (!walk->has_seen_caller)
		return _URC_NO_REASON; /* frames of this library */
	if (!address || walk->count == walk->max)
		return _URC_END_OF_STACK;
	walk->frames[walk->count++] = address;
	return _URC_NO_REASON;
}

size_t stack_unwind(const void *caller, const void **ret, size_t max)
{
	struct walk walk = { .caller = caller, .frames = ret, .max = max };
	if (!is_unwinders(caller))
		(void)_Unwind_Backtrace(step, &walk); /* what it found counts, not how it ended */
	if (walk.count == 0)
		ret[walk.count++] = caller;
	return walk.count;
}

struct frame_walk {
	const void *caller;
	struct stack_frame *frames;
	size_t count; /* the last one has no end yet */
	size_t max;
};

/* What the unwinder calls a frame's CFA while it stands there is the one of the call before. */
static _Unwind_Reason_Code step_frame(struct _Unwind_Context *context, void *data)
{
	struct frame_walk *walk = data;
	const void *address = (const void *)(uintptr_t)_Unwind_GetIP(context);
	uintptr_t begin = _Unwind_GetCFA(context);
	if (walk->count > 0)
		walk->frames[walk->count - 1].end = begin;
	if (walk->count == walk->max || !address)
		return _URC_END_OF_STACK;
	if (walk->count > 0 || address == walk->caller)
		walk->frames[walk->count++] = (struct stack_frame){ address, begin, 0 };
	return _URC_NO_REASON;
}

size_t stack_frames(const void *caller, struct stack_frame *ret, size_t max)
{
	struct frame_walk walk = { .caller = caller, .frames = ret, .max = max };
	if (!is_unwinders(caller))
		(void)_Unwind_Backtrace(step_frame, &walk); /* as above */
	if (walk.count > 0 && ret[walk.count - 1].end == 0)
		walk.count--;
	return walk.count;
}
