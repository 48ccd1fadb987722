/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "code/symbols.h"

#include "base/map.h"
#include "base/mem.h"
#include "code/demangle.h"
#include "code/function_table.h"
#include "base/runtimes.h"
#include "code/variables.h"
#include "code/vdso.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if HAVE_DW
#include "code/code_scopes.h"
#include "code/passed.h"
#include "code/symbol_table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#else
typedef struct Dwfl Dwfl;
typedef struct Dwfl_Module Dwfl_Module;
#endif

enum { PROGRAM_HEADERS_MAX = 128, CALLS_MAX = 16 };

/* One per file: addresses of a file are not mixed up with those of another. */
struct module {
	char *path;
	Dwfl *dwfl; /* NULL: could not be opened */
	Dwfl_Module *loaded;
	uint64_t bias; /* where libdw put it */
	struct function_table functions;
#if HAVE_DW
	struct symbol_table symbols;
	struct code_index index;
#endif
	struct variables variables;
	bool is_vdso;
	bool has_lines; /* that anybody wants: reading the C library's takes longer than all else */
};

struct symbols {
	struct module *modules;
	size_t count;
	size_t capacity;
	struct map
		readable; /* (a name for the linker, where it lies) -> index in texts, plus one */
	char **texts;
	size_t text_count, text_capacity;
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
	module->is_vdso = vdso_is(module->path);
	module->has_lines = !runtime_is(module->path);
	int fd = module->is_vdso ? vdso_open() : -1; /* libdwfl closes it */
	module->loaded = module->is_vdso && fd < 0 ? NULL
						   : dwfl_report_offline(module->dwfl, module->path,
							     module->path, fd);
	(void)dwfl_report_end(module->dwfl, NULL, NULL); /* cannot fail without a callback */
	GElf_Addr bias = 0;
	if (module->loaded && dwfl_module_getelf(module->loaded, &bias))
		module->bias = bias;
	else
		module->loaded = NULL;
}

static void module_close(struct module *module)
{
	variables_release(&module->variables);
	symbol_table_release(&module->symbols);
	code_index_release(&module->index);
	if (module->dwfl)
		dwfl_end(module->dwfl);
	free(module->path);
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Go's units are called after their packages: those that its runtime is made of. */
static bool is_go_runtime(Dwarf_Die *unit)
{
	const char *package = dwarf_diename(unit);
	return dwarf_srclang(unit) == DW_LANG_Go && package &&
	       (strcmp(package, "runtime") == 0 || begins_with(package, "runtime/") ||
		       strcmp(package, "sync") == 0 || begins_with(package, "internal/"));
}

/*
 * Headers of the system's libraries: std::mutex::lock() is nobody's own code. Where a unit was compiled tells it of a path
 * that begins there: those of Rust's libraries, compiled by somebody else, do.
 */
static bool is_system_header(Dwarf_Die *unit, const char *path)
{
	Dwarf_Attribute attribute;
	if (path[0] != '/')
		path = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
	if (!path)
		return false;
	if (is_go_runtime(unit))
		return true;
	if (begins_with(path, "/rustc/") || begins_with(path, "/rust/deps/"))
		return true;
	return begins_with(path, "/usr/") && !begins_with(path, "/usr/local/") &&
	       !begins_with(path, "/usr/src/");
}

/* As the linker would call it. */
static const char *name_of_function(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
	return name ? name : dwarf_diename(die);
}

/* Where the code of a system header, put into other code by the compiler, was called from. */
static void leave_headers(
	struct code_index *index, Dwarf_Die *unit, Dwarf_Addr address, struct symbol *symbol)
{
	Dwarf_Die scopes[CODE_SCOPES_MAX];
	Dwarf_Files *files = NULL;
	if (dwarf_getsrcfiles(unit, &files, NULL) != 0)
		return;
	for (size_t i = code_scopes(index, unit, address, scopes);
		i-- > 0 && is_system_header(unit, symbol->file);) {
		Dwarf_Attribute attribute;
		Dwarf_Word file = 0, line = 0;
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine ||
			dwarf_formudata(
				dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &file) != 0 ||
			dwarf_formudata(
				dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &line) != 0)
			continue;
		const char *path = dwarf_filesrc(files, file, NULL, NULL);
		if (!path)
			return;
		symbol->file = path;
		symbol->line = (uint32_t)line;
		symbol->header_function = name_of_function(&scopes[i]);
	}
}

static void find_line(struct module *module, uint64_t address, struct symbol *symbol)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = code_unit(&module->index, module->loaded, address, &bias);
	Dwarf_Line *line = unit ? dwarf_getsrc_die(unit, address - bias) : NULL;
	int number = 0;
	const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (!file || dwarf_lineno(line, &number) != 0 || number <= 0)
		return;
	symbol->file = file;
	symbol->line = (uint32_t)number;
	if (is_system_header(unit, file))
		leave_headers(&module->index, unit, address - bias, symbol);
	symbol->is_system = is_system_header(unit, symbol->file);
}

static struct symbol module_find(struct module *module, uint64_t address)
{
	struct symbol ret = { 0 };
	address += module->bias;
	ret.function = symbol_table_find(&module->symbols, module->loaded, address, &ret.offset);
	if (module->has_lines)
		find_line(module, address, &ret);
	return ret;
}

static size_t module_inlined(
	struct module *module, uint64_t address, const char *ret[SYMBOL_INLINED_MAX])
{
	Dwarf_Addr bias = 0;
	Dwarf_Die scopes[CODE_SCOPES_MAX], *unit = NULL;
	size_t count = 0;
	address += module->bias;
	if (module->has_lines)
		unit = code_unit(&module->index, module->loaded, address, &bias);
	size_t scope_count = unit ? code_scopes(&module->index, unit, address - bias, scopes) : 0;
	for (size_t i = 0; i < scope_count; i++) {
		bool is_inlined = dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine;
		const char *file = is_inlined ? dwarf_decl_file(&scopes[i]) : NULL;
		const char *name =
			file && !is_system_header(unit, file) ? name_of_function(&scopes[i]) : NULL;
		if (!name)
			continue;
		if (count == SYMBOL_INLINED_MAX)
			memmove(ret, ret + 1, --count * sizeof *ret);
		ret[count++] = name;
	}
	return count;
}

static char *module_variable(struct module *module, uint64_t address)
{
	return variables_find(&module->variables, module->loaded, address + module->bias);
}

static char *module_local(struct module *module, uint64_t code, const struct stack_place *place)
{
	return variables_find_local(&module->index, module->loaded, code + module->bias, place);
}

static struct passed_call call_in(struct module *module, uint64_t site)
{
	return (struct passed_call){
		.file = { module->loaded, &module->variables, &module->index },
		.functions = &module->functions,
		.bias = module->bias,
		.site = site + module->bias,
	};
}

static char *modules_passed(struct module *const *modules, const uint64_t *sites, size_t count,
	const char *const *functions)
{
	struct passed_call calls[CALLS_MAX];
	for (size_t i = 0; i < count; i++)
		calls[i] = call_in(modules[i], sites[i]);
	return passed_name(calls, count, functions);
}

static const char *module_callee(struct module *module, uint64_t site)
{
	const struct passed_call call = call_in(module, site);
	return passed_callee(&call);
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

static struct symbol module_find(struct module *module, uint64_t address)
{
	(void)module;
	(void)address;
	return (struct symbol){ 0 };
}

static size_t module_inlined(
	struct module *module, uint64_t address, const char *ret[SYMBOL_INLINED_MAX])
{
	(void)module;
	(void)address;
	(void)ret;
	return 0;
}

static char *module_variable(struct module *module, uint64_t address)
{
	(void)module;
	(void)address;
	return NULL;
}

static char *module_local(struct module *module, uint64_t code, const struct stack_place *place)
{
	(void)module;
	(void)code;
	(void)place;
	return NULL;
}

static char *modules_passed(struct module *const *modules, const uint64_t *sites, size_t count,
	const char *const *functions)
{
	(void)modules;
	(void)sites;
	(void)count;
	(void)functions;
	return NULL;
}

static const char *module_callee(struct module *module, uint64_t site)
{
	(void)module;
	(void)site;
	return NULL;
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
	for (size_t i = 0; i < symbols->text_count; i++)
		free(symbols->texts[i]);
	free(symbols->texts);
	map_release(&symbols->readable);
	free(symbols->modules);
	free(symbols);
}

/* What is shown in place of a symbol; NULL: the symbol itself. */
static char *readable_new(const struct module *module, const char *symbol)
{
	char *text = NULL;
	if (!module->is_vdso)
		return name_in_source(symbol);
	return asprintf(&text, "[vdso]+%s", symbol) < 0 ? NULL : text;
}

/* Lives as long as `symbols`. The symbol as it is without memory. */
static const char *readable(
	struct symbols *symbols, const struct module *module, const char *symbol)
{
	uint64_t *place;
	if (mem_grow(&symbols->texts, &symbols->text_capacity, symbols->text_count + 1,
		    sizeof symbols->texts[0]) < 0 ||
		map_add(&symbols->readable, (uintptr_t)symbol, 0, 0, &place) < 0)
		return symbol;
	if (*place == 0) {
		symbols->texts[symbols->text_count++] = readable_new(module, symbol);
		*place = symbols->text_count;
	}
	const char *text = symbols->texts[*place - 1];
	return text ? text : symbol;
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
	struct module *module = find_module(symbols, path);
	struct symbol ret = { 0 };
	if (module && module->loaded)
		ret = module_find(module, address);
	ret.is_given = ret.function && is_around_given(ret.function);
	if (ret.function)
		ret.function = readable(symbols, module, ret.function);
	if (module) {
		ret.module = module->path;
		ret.start = function_table_find(&module->functions, address);
	}
	return ret;
}

size_t symbols_inlined(struct symbols *symbols, const char *path, uint64_t address,
	const char *ret[SYMBOL_INLINED_MAX])
{
	struct module *module = find_module(symbols, path);
	if (!module || !module->loaded)
		return 0;
	size_t count = module_inlined(module, address, ret);
	for (size_t i = 0; i < count; i++)
		ret[i] = readable(symbols, module, ret[i]);
	return count;
}

char *symbols_variable(struct symbols *symbols, const char *path, uint64_t address)
{
	struct module *module = find_module(symbols, path);
	return module && module->loaded ? module_variable(module, address) : NULL;
}

char *symbols_local(
	struct symbols *symbols, const char *path, uint64_t code, const struct stack_place *place)
{
	struct module *module = find_module(symbols, path);
	return module && module->loaded ? module_local(module, code, place) : NULL;
}

char *symbols_passed(struct symbols *symbols, const struct call_place *calls, size_t count,
	const char *const *functions)
{
	struct module *modules[CALLS_MAX];
	uint64_t sites[CALLS_MAX];
	size_t known = 0;
	/* All are opened before any is pointed to: opening one may move the others. */
	for (size_t i = 0; i < count && i < CALLS_MAX; i++)
		(void)find_module(symbols, calls[i].path); /* asked again below */
	for (; known < count && known < CALLS_MAX; known++) {
		modules[known] = find_module(symbols, calls[known].path);
		sites[known] = calls[known].site;
		if (!modules[known] || !modules[known]->loaded)
			break;
	}
	return modules_passed(modules, sites, known, functions);
}

const char *symbols_callee(struct symbols *symbols, const struct call_place *call)
{
	struct module *module = find_module(symbols, call->path);
	return module && module->loaded ? module_callee(module, call->site) : NULL;
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
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < count; i++) {
		const ElfW(Phdr) *header = &headers[i];
		uint64_t mapped = header->p_offset / page * page; /* where its first page begins */
		if (header->p_type == PT_LOAD && header->p_flags & PF_X && offset >= mapped &&
			offset < header->p_offset + header->p_filesz)
			return offset - header->p_offset + header->p_vaddr;
	}
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
