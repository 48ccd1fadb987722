/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/symbols.h"

#include "base/mem.h"
#include "collect/function_table.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>

#if HAVE_DW
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#else
typedef struct Dwfl Dwfl;
typedef struct Dwfl_Module Dwfl_Module;
#endif

enum { PROGRAM_HEADERS_MAX = 128 };

/* One per file: addresses of a file are not mixed up with those of another. */
struct module {
	char *path;
	Dwfl *dwfl; /* NULL: could not be opened */
	Dwfl_Module *loaded;
	uint64_t bias; /* where libdw put it */
	struct function_table functions;
};

struct symbols {
	struct module *modules;
	size_t count;
	size_t capacity;
};

#if HAVE_DW
static void module_open(struct module *module)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	module->dwfl = dwfl_begin(&callbacks);
	if (!module->dwfl)
		return;
	module->loaded = dwfl_report_offline(module->dwfl, module->path, module->path, -1);
	(void)dwfl_report_end(module->dwfl, NULL, NULL); /* cannot fail without a callback */
	GElf_Addr bias = 0;
	if (module->loaded && dwfl_module_getelf(module->loaded, &bias))
		module->bias = bias;
	else
		module->loaded = NULL;
}

static void module_close(struct module *module)
{
	if (module->dwfl)
		dwfl_end(module->dwfl);
	free(module->path);
}

/* clang leaves out the index by address: then every compilation unit is asked. */
static Dwarf_Line *find_line(const struct module *module, uint64_t address)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = dwfl_module_addrdie(module->loaded, address, &bias);
	if (!unit) {
		unit = dwfl_module_nextcu(module->loaded, NULL, &bias);
		while (unit && dwarf_haspc(unit, address - bias) <= 0)
			unit = dwfl_module_nextcu(module->loaded, unit, &bias);
	}
	return unit ? dwarf_getsrc_die(unit, address - bias) : NULL;
}

static struct symbol module_find(const struct module *module, uint64_t address)
{
	struct symbol ret = { 0 };
	GElf_Off offset = 0;
	GElf_Sym symbol;
	address += module->bias;
	ret.function =
		dwfl_module_addrinfo(module->loaded, address, &offset, &symbol, NULL, NULL, NULL);
	ret.offset = offset;
	Dwarf_Line *line = find_line(module, address);
	int number = 0;
	if (line && dwarf_lineno(line, &number) == 0 && number > 0) {
		ret.file = dwarf_linesrc(line, NULL, NULL);
		ret.line = (uint32_t)number;
	}
	return ret;
}
#else
static void module_open(struct module *module)
{
	module->dwfl = NULL;
}

static void module_close(struct module *module)
{
	free(module->path);
}

static struct symbol module_find(const struct module *module, uint64_t address)
{
	(void)module;
	(void)address;
	return (struct symbol){ 0 };
}
#endif

int symbols_new(struct symbols **ret)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	*ret = symbols;
	return 0;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->count; i++) {
		function_table_release(&symbols->modules[i].functions);
		module_close(&symbols->modules[i]);
	}
	free(symbols->modules);
	free(symbols);
}

static struct module *find_module(struct symbols *symbols, const char *path)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (strcmp(symbols->modules[i].path, path) == 0)
			return &symbols->modules[i];
	if (mem_grow(&symbols->modules, &symbols->capacity, symbols->count + 1,
		    sizeof(symbols->modules[0])) < 0)
		return NULL;
	struct module *module = &symbols->modules[symbols->count];
	*module = (struct module){ .path = strdup(path) };
	if (!module->path)
		return NULL;
	module_open(module);
	function_table_read(path, &module->functions);
	symbols->count++;
	return module;
}

struct symbol symbols_find(struct symbols *symbols, const char *path, uint64_t address)
{
	const struct module *module = find_module(symbols, path);
	struct symbol ret = { 0 };
	if (module && module->loaded)
		ret = module_find(module, address);
	if (module) {
		ret.module = module->path;
		ret.start = function_table_find(&module->functions, address);
	}
	return ret;
}

/* The program headers of an ELF file; returns how many, 0 when it cannot be read. */
static size_t read_headers(const char *path, ElfW(Phdr) ret[PROGRAM_HEADERS_MAX])
{
	ElfW(Ehdr) elf;
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &elf, sizeof(elf), 0) != (ssize_t)sizeof(elf) ||
		memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phnum > PROGRAM_HEADERS_MAX)
		return 0;
	size_t bytes = (size_t)elf.e_phnum * sizeof(ret[0]);
	if (pread(fd, ret, bytes, (off_t)elf.e_phoff) != (ssize_t)bytes)
		return 0;
	return elf.e_phnum;
}

uint64_t symbols_address_of_offset(const char *path, uint64_t offset)
{
	ElfW(Phdr) headers[PROGRAM_HEADERS_MAX];
	size_t count = read_headers(path, headers);
	for (size_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_LOAD && offset >= headers[i].p_offset &&
			offset - headers[i].p_offset < headers[i].p_filesz)
			return offset - headers[i].p_offset + headers[i].p_vaddr;
	return offset;
}

uint64_t symbols_end(const char *path)
{
	ElfW(Phdr) headers[PROGRAM_HEADERS_MAX];
	size_t count = read_headers(path, headers);
	uint64_t end = 0;
	for (size_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_LOAD && headers[i].p_vaddr + headers[i].p_memsz > end)
			end = headers[i].p_vaddr + headers[i].p_memsz;
	return end;
}
