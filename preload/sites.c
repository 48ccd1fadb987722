/* SPDX-License-Identifier: MIT */
#include "sites.h"

#include "stack.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { SITE_PROBES = 64 };

/* The dynamic linker knows the program itself by an empty name. Empty: not known. */
static char program_path[SYNC_PATH_BYTES];

void sites_init(void)
{
	ssize_t length = readlink("/proc/self/exe", program_path, sizeof(program_path) - 1);
	program_path[length > 0 ? length : 0] = '\0';
}

static bool take_slot(uint32_t *slot)
{
	uint32_t expected = SYNC_FREE;
	return __atomic_compare_exchange_n(
		slot, &expected, SYNC_WRITING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Index + 1 of the module; 0 if there is no room. */
static uint32_t find_module(struct sync_file *file, const char *path)
{
	size_t length = strnlen(path, SYNC_PATH_BYTES - 1);
	for (uint32_t i = 0; i < SYNC_MODULES; i++) {
		struct sync_module *module = &file->modules[i];
		if (take_slot(&module->slot)) {
			module->length = (uint32_t)length;
			memcpy(module->path, path, length); /* the rest of the file is zero */
			__atomic_store_n(&module->slot, SYNC_READY, __ATOMIC_RELEASE);
			return i + 1;
		}
		if (__atomic_load_n(&module->slot, __ATOMIC_ACQUIRE) == SYNC_READY &&
			module->length == length && memcmp(module->path, path, length) == 0)
			return i + 1;
	}
	return 0;
}

static struct sync_frame locate(struct sync_file *file, const void *address)
{
	struct sync_frame frame = { .offset = (uintptr_t)address };
	uintptr_t bias = 0;
	/* One byte back: a call that never returns may be the last of its function. */
	const char *path = stack_module((const char *)address - 1, &bias);
	if (path && !*path)
		path = program_path;
	if (path && *path)
		frame.module = find_module(file, path);
	if (frame.module)
		frame.offset -= bias;
	return frame;
}

static uint64_t hash_frames(enum sync_kind kind, const struct sync_frame *frames, size_t count)
{
	uint64_t hash = (uint64_t)kind + 1;
	for (size_t i = 0; i < count; i++) {
		hash = (hash ^ frames[i].module) * 0x9e3779b97f4a7c15ull;
		hash = (hash ^ frames[i].offset) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return hash;
}

static bool is_same(const struct sync_site *site, const struct sync_site *wanted)
{
	return site->kind == wanted->kind && site->frame_count == wanted->frame_count &&
	       memcmp(site->frames, wanted->frames, sizeof(site->frames)) == 0;
}

static uint32_t find_slot(struct sync_file *file, const struct sync_site *wanted, uint64_t hash)
{
	for (uint32_t probe = 0; probe < SITE_PROBES; probe++) {
		uint32_t index =
			(uint32_t)(SYNC_KINDS + (hash + probe) % (SYNC_SITES - SYNC_KINDS));
		struct sync_site *site = &file->sites[index];
		if (take_slot(&site->slot)) {
			site->kind = wanted->kind;
			site->frame_count = wanted->frame_count;
			memcpy(site->frames, wanted->frames, sizeof(site->frames));
			__atomic_store_n(&site->slot, SYNC_READY, __ATOMIC_RELEASE);
			return index;
		}
		if (__atomic_load_n(&site->slot, __ATOMIC_ACQUIRE) == SYNC_READY &&
			is_same(site, wanted))
			return index;
	}
	return wanted->kind; /* elsewhere */
}

uint32_t sites_find(struct sync_file *file, enum sync_kind kind, const void *caller)
{
	const void *stack[SYNC_FRAMES];
	struct sync_site wanted = { .kind = kind };
	wanted.frame_count = (uint32_t)stack_unwind(caller, stack, SYNC_FRAMES);
	for (uint32_t i = 0; i < wanted.frame_count; i++)
		wanted.frames[i] = locate(file, stack[i]);
	return find_slot(file, &wanted, hash_frames(kind, wanted.frames, wanted.frame_count));
}

void sites_add(struct sync_file *file, uint32_t index, uint64_t waits, uint64_t wait_ns)
{
	struct sync_site *site = &file->sites[index];
	if (index < SYNC_KINDS)
		__atomic_add_fetch(&file->header.elsewhere, (uint32_t)waits, __ATOMIC_RELAXED);
	__atomic_add_fetch(&site->waits, waits, __ATOMIC_RELAXED);
	__atomic_add_fetch(&site->wait_ns, wait_ns, __ATOMIC_RELAXED);
}
