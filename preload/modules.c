/* SPDX-License-Identifier: MIT */
#include "modules.h"

#include "real.h"
#include "trace.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	MODULES_MAX = 256, /* beyond these code has no names */
};

/* Threads that find the same new file both record it: a name given twice does no harm. */
static struct module modules[MODULES_MAX];
static uint32_t module_count;
static unsigned long long loads_seen;
static bool is_forked;

static bool is_known(uint64_t bias, const char *path)
{
	for (uint32_t i = 0; i < module_count; i++)
		if (modules[i].bias == bias && (!*path || strcmp(modules[i].path, path) == 0))
			return true;
	return false;
}

static void find_ends(const struct dl_phdr_info *info, struct module *module)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + header->p_vaddr;
		uint64_t behind = begin + header->p_memsz;
		if (header->p_type != PT_LOAD)
			continue;
		if (behind > module->end)
			module->end = behind;
		if (header->p_flags & PF_X) {
			module->code = begin;
			module->code_end = behind;
		}
	}
}

static void add(const struct dl_phdr_info *info)
{
	uint32_t index = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
	if (index >= MODULES_MAX)
		return;
	struct module *module = &modules[index];
	module->bias = info->dlpi_addr;
	find_ends(info, module);
	/* The dynamic linker knows the program itself by an empty name. */
	if (*info->dlpi_name)
		strncpy(module->path, info->dlpi_name, MODULE_PATH_BYTES - 1);
	else if (readlink("/proc/self/exe", module->path, MODULE_PATH_BYTES - 1) < 0)
		return;
	__atomic_store_n(&module_count, index + 1, __ATOMIC_RELEASE);
	modules_put(module->bias, module->end, module->path);
}

/* Stops at the first when nothing was loaded since. */
static int visit(struct dl_phdr_info *info, size_t bytes, void *is_first)
{
	(void)bytes;
	if (*(bool *)is_first && info->dlpi_adds == loads_seen)
		return 1;
	if (*(bool *)is_first)
		loads_seen = info->dlpi_adds;
	*(bool *)is_first = false;
	if (!is_known(info->dlpi_addr, info->dlpi_name))
		add(info);
	return 0;
}

/* In the child of a fork another thread may have held the dynamic linker's lock, for good. */
void modules_note(void)
{
	if (is_forked)
		return;
	bool is_first = true;
	(void)dl_iterate_phdr(visit, &is_first); /* the last result of visit() */
}

static int mark_loaded(struct dl_phdr_info *info, size_t bytes, void *is_loaded)
{
	(void)bytes;
	for (uint32_t i = 0; i < module_count; i++)
		if (modules[i].bias == info->dlpi_addr)
			((bool *)is_loaded)[i] = true;
	return 0;
}

/*
 * After some may have been unloaded: nothing else may come to stand at their addresses, so that an address of the
 * process is one place for all of the recording.
 */
static void keep_places(void)
{
	bool is_loaded[MODULES_MAX] = { false };
	uint32_t count = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
	if (is_forked)
		return;
	(void)dl_iterate_phdr(mark_loaded, is_loaded); /* the last result of mark_loaded() */
	for (uint32_t i = 0; i < count; i++) {
		struct module *module = &modules[i];
		void *place = (void *)(uintptr_t)module->bias; /* fails where something is */
		if (!is_loaded[i] && !module->is_kept)
			module->is_kept = mmap(place, module->end - module->bias, PROT_NONE,
						  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
							  MAP_FIXED_NOREPLACE,
						  -1, 0) == place;
	}
}

const struct module *module_of(uint64_t address)
{
	uint32_t count = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count; i++)
		if (address >= modules[i].bias && address < modules[i].end && !modules[i].is_kept)
			return &modules[i];
	return NULL;
}

void modules_repeat(void)
{
	is_forked = true;
	for (uint32_t i = 0; i < module_count; i++)
		modules_put(modules[i].bias, modules[i].end, modules[i].path);
}

/* What is unloaded has names, and its destructors may lock. */
EXPORT int dlclose(void *library)
{
	if (!is_tracing())
		return real()->dlclose(library);
	int kept = errno;
	trace_modules();
	errno = kept;
	int result = real()->dlclose(library);
	kept = errno;
	keep_places();
	errno = kept;
	return result;
}
