/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names by the sorted table are libdw's own, which looks through all symbols for each address. */
#include "cmocka_all.h"
#include "code/symbol_table.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_MAX = 400 };

static Dwfl_Module *open_module(Dwfl **ret, const char *path)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	*ret = dwfl_begin(&callbacks);
	assert_non_null(*ret);
	Dwfl_Module *module = dwfl_report_offline(*ret, path, path, -1);
	(void)dwfl_report_end(*ret, NULL, NULL); /* cannot fail without a callback */
	assert_non_null(module);
	return module;
}

static void expect_same(struct symbol_table *table, Dwfl_Module *module, uint64_t address)
{
	GElf_Off offset = 0;
	GElf_Sym symbol;
	uint64_t found_offset = 0;
	const char *name =
		dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	const char *found = symbol_table_find(table, module, address, &found_offset);
	assert_int_equal(found != NULL, name != NULL);
	if (!name)
		return;
	assert_string_equal(found, name);
	assert_int_equal(found_offset, offset);
}

/* At the first, a middle and the last byte of functions, and behind them; returns of how many. */
static int compare(const char *path)
{
	Dwfl *dwfl = NULL;
	struct symbol_table table = { 0 };
	Dwfl_Module *module = open_module(&dwfl, path);
	int functions = 0, count = dwfl_module_getsymtab(module);
	int step = count / FUNCTIONS_MAX + 1;
	for (int i = 1; i < count; i += step) {
		GElf_Sym symbol;
		GElf_Addr start = 0;
		GElf_Word section = SHN_UNDEF;
		if (!dwfl_module_getsym_info(module, i, &symbol, &start, &section, NULL, NULL) ||
			GELF_ST_TYPE(symbol.st_info) != STT_FUNC || section == SHN_UNDEF)
			continue;
		functions++;
		expect_same(&table, module, start);
		if (symbol.st_size == 0)
			continue;
		expect_same(&table, module, start + symbol.st_size / 2);
		expect_same(&table, module, start + symbol.st_size - 1);
		expect_same(&table, module, start + symbol.st_size);
	}
	symbol_table_release(&table);
	dwfl_end(dwfl);
	return functions;
}

static void functions_of_this_program_have_the_names_that_libdw_gives_them(void **state)
{
	(void)state;
	assert_true(compare("/proc/self/exe") >= 5);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *ret)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	*(const char **)ret = info->dlpi_name;
	return 1;
}

/* Stripped, with thousands of symbols, several names for one place, and labels. */
static void functions_of_the_c_library_too(void **state)
{
	(void)state;
	const char *path = NULL;
	(void)dl_iterate_phdr(find_libc, &path); /* tells by path */
	if (!path)
		skip();
	assert_true(compare(path) >= 50);
}

static void no_name_is_made_up(void **state)
{
	(void)state;
	Dwfl *dwfl = NULL;
	uint64_t offset = 0;
	struct symbol_table table = { 0 };
	Dwfl_Module *module = open_module(&dwfl, "/proc/self/exe");
	assert_null(symbol_table_find(&table, module, 1, &offset));
	assert_null(symbol_table_find(&table, module, UINT64_MAX, &offset));
	symbol_table_release(&table);
	dwfl_end(dwfl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_this_program_have_the_names_that_libdw_gives_them),
		cmocka_unit_test(functions_of_the_c_library_too),
		cmocka_unit_test(no_name_is_made_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
