/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model's memory, names and words. */
#include "model/value.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const model_disk_orders[MODEL_DISK_ORDERS] = {
	[SIM_DISK_FIFO] = "fifo", [SIM_DISK_RANDOM] = "random", [SIM_DISK_BATCH] = "batch"
};

struct model_block {
	struct model_block *next;
	max_align_t bytes[];
};

struct model *model_new(void)
{
	return calloc(1, sizeof(struct model));
}

void model_free(struct model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->group_count; i++)
		free(model->groups[i].fragments);
	free(model->parameters);
	free(model->objects);
	free(model->sources);
	free(model->groups);
	free(model->parts);
	free(model->recorded.notes);
	while (model->blocks) {
		struct model_block *next = model->blocks->next;
		free(model->blocks);
		model->blocks = next;
	}
	free(model);
}

void *model_alloc(struct model *model, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes) ||
		__builtin_add_overflow(bytes, sizeof(struct model_block), &bytes))
		return NULL;
	struct model_block *block = calloc(1, bytes);
	if (!block)
		return NULL;
	block->next = model->blocks;
	model->blocks = block;
	return block->bytes;
}

/* Bytes of the UTF-8 character at `s` if it is whole and printable, else 0. */
static size_t character_bytes(const unsigned char *s)
{
	if (s[0] < 0x80)
		return s[0] >= ' ' && s[0] != 0x7f;
	size_t n = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
		   : (s[0] & 0xf0) == 0xe0       ? 3
		   : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
						 : 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	bool is_odd = (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
		      (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
		      (s[0] == 0xf4 && s[1] >= 0x90) || (s[0] == 0xef && s[1] >= 0xbb);
	return is_odd ? 0 : n;
}

const char *model_text(struct model *model, const char *text)
{
	size_t length = strlen(text);
	char *copy = model_alloc(model, length + 1, 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, length + 1);
	for (size_t i = 0; i < length;) {
		size_t bytes = character_bytes((const unsigned char *)copy + i);
		if (!bytes)
			copy[i] = '?';
		i += bytes ? bytes : 1;
	}
	return copy;
}

/* Room for one more; the caller fills the element and counts it. NULL: out of memory. */
static void *grow(void *array, size_t *capacity, size_t count, size_t size)
{
	if (count >= MODEL_STOP || mem_grow(array, capacity, count + 1, size) < 0)
		return NULL;
	char *elements;
	memcpy(&elements, array, sizeof elements);
	return elements + count * size;
}

int model_add_parameter(struct model *model, const char *name, uint32_t *ret)
{
	struct model_parameter *added = grow(&model->parameters, &model->parameter_capacity,
		model->parameter_count, sizeof *added);
	const char *copy = added ? model_text(model, name) : NULL;
	if (!copy)
		return -ENOMEM;
	*added = (struct model_parameter){ .name = copy };
	*ret = (uint32_t)model->parameter_count++;
	return 0;
}

int model_add_object(
	struct model *model, enum model_object_kind kind, const char *name, uint32_t *ret)
{
	struct model_object *added =
		grow(&model->objects, &model->object_capacity, model->object_count, sizeof *added);
	const char *copy = added ? model_text(model, name) : NULL;
	if (!copy)
		return -ENOMEM;
	*added = (struct model_object){ .kind = kind, .name = copy, .refilled_by = MODEL_NONE };
	*ret = (uint32_t)model->object_count++;
	return 0;
}

int model_add_source(struct model *model, const char *name, uint32_t *ret)
{
	struct model_source *added =
		grow(&model->sources, &model->source_capacity, model->source_count, sizeof *added);
	const char *copy = added ? model_text(model, name) : NULL;
	if (!copy)
		return -ENOMEM;
	*added = (struct model_source){ .name = copy, .queue = MODEL_NONE, .limit = MODEL_NONE };
	*ret = (uint32_t)model->source_count++;
	return 0;
}

int model_add_group(struct model *model, const char *name, uint32_t *ret)
{
	struct model_group *added =
		grow(&model->groups, &model->group_capacity, model->group_count, sizeof *added);
	const char *copy = added ? model_text(model, name) : NULL;
	if (!copy)
		return -ENOMEM;
	*added = (struct model_group){ .name = copy };
	*ret = (uint32_t)model->group_count++;
	return 0;
}

int model_add_fragment(struct model *model, uint32_t group, const char *name, uint32_t *ret)
{
	struct model_group *to = &model->groups[group];
	struct model_fragment *added =
		grow(&to->fragments, &to->fragment_capacity, to->fragment_count, sizeof *added);
	const char *copy = added ? model_text(model, name) : NULL;
	if (!copy)
		return -ENOMEM;
	*added = (struct model_fragment){
		.name = copy,
		.object = MODEL_NONE,
		.other = MODEL_NONE,
		.otherwise = MODEL_NONE,
		.body = MODEL_NONE,
		.last = MODEL_NONE,
		.part = MODEL_NONE,
	};
	*ret = to->fragment_count++;
	return 0;
}

int model_add_part(struct model *model, const char *name, uint32_t *ret)
{
	for (size_t i = 0; i < model->part_count; i++)
		if (strcmp(model->parts[i], name) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	const char **added =
		grow(&model->parts, &model->part_capacity, model->part_count, sizeof *added);
	const char *copy = added ? model_text(model, name) : NULL;
	if (!copy)
		return -ENOMEM;
	*added = copy;
	*ret = (uint32_t)model->part_count++;
	return 0;
}

int model_add_note(struct model *model, const char *text)
{
	struct model_recorded *recorded = &model->recorded;
	const char **added = grow(
		&recorded->notes, &recorded->note_capacity, recorded->note_count, sizeof *added);
	const char *copy = added ? model_text(model, text) : NULL;
	if (!copy)
		return -ENOMEM;
	*added = copy;
	recorded->note_count++;
	return 0;
}

uint32_t model_find_parameter(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->parameter_count; i++)
		if (strcmp(model->parameters[i].name, name) == 0)
			return (uint32_t)i;
	return MODEL_NONE;
}

uint32_t model_find_object(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->object_count; i++)
		if (strcmp(model->objects[i].name, name) == 0)
			return (uint32_t)i;
	return MODEL_NONE;
}

uint32_t model_find_group(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->group_count; i++)
		if (strcmp(model->groups[i].name, name) == 0)
			return (uint32_t)i;
	return MODEL_NONE;
}

uint32_t model_find_fragment(const struct model_group *group, const char *name)
{
	for (uint32_t i = 0; i < group->fragment_count; i++)
		if (strcmp(group->fragments[i].name, name) == 0)
			return i;
	return MODEL_NONE;
}

static const struct {
	const char *section, *word;
} object_words[MODEL_OBJECT_KINDS] = {
	[MODEL_MUTEX] = { "mutexes", "mutex" },
	[MODEL_SPIN] = { "spins", "spin lock" },
	[MODEL_RWLOCK] = { "rwlocks", "read-write lock" },
	[MODEL_BARRIER] = { "barriers", "barrier" },
	[MODEL_CONDITION] = { "conditions", "condition" },
	[MODEL_SEMAPHORE] = { "semaphores", "semaphore" },
	[MODEL_QUEUE] = { "queues", "queue" },
	[MODEL_LIMIT] = { "limits", "limit" },
	[MODEL_DISK] = { "disks", "disk" },
};

const char *model_object_section(enum model_object_kind kind)
{
	return object_words[kind].section;
}

const char *model_object_word(enum model_object_kind kind)
{
	return object_words[kind].word;
}

const char *model_size_word(enum model_object_kind kind)
{
	static const char *const words[MODEL_OBJECT_KINDS] = {
		[MODEL_MUTEX] = "instances",
		[MODEL_SPIN] = "instances",
		[MODEL_RWLOCK] = "instances",
		[MODEL_BARRIER] = "threads",
		[MODEL_SEMAPHORE] = "value",
		[MODEL_QUEUE] = "capacity",
		[MODEL_LIMIT] = "count",
		[MODEL_DISK] = "parallel",
	};
	return words[kind];
}

const char *model_op_word(enum model_op op)
{
	static const char *const words[MODEL_OPS] = {
		[MODEL_COMPUTE] = "compute",
		[MODEL_LOCK] = "lock",
		[MODEL_TRY_LOCK] = "try_lock",
		[MODEL_READ_LOCK] = "read_lock",
		[MODEL_UNLOCK] = "unlock",
		[MODEL_ARRIVE] = "arrive",
		[MODEL_WAIT] = "wait",
		[MODEL_SIGNAL] = "signal",
		[MODEL_BROADCAST] = "broadcast",
		[MODEL_ACQUIRE] = "acquire",
		[MODEL_POST] = "post",
		[MODEL_PUT] = "put",
		[MODEL_GET] = "get",
		[MODEL_TRY_PUT] = "try_put",
		[MODEL_TRY_GET] = "try_get",
		[MODEL_CLOSE] = "close",
		[MODEL_TAKE] = "take",
		[MODEL_GIVE] = "give",
		[MODEL_IO] = "io",
		[MODEL_SLEEP] = "sleep",
		[MODEL_SPAWN] = "spawn",
		[MODEL_JOIN] = "join",
		[MODEL_BEGIN] = "begin_request",
		[MODEL_END] = "end_request",
		[MODEL_FAIL] = "fail_request",
		[MODEL_TICK] = "tick",
		[MODEL_LOOP] = "loop",
		[MODEL_YIELD] = "yield",
	};
	return words[op];
}
